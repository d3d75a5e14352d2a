/** The ledger and the blob store die, refuse, lose their answer or hang. */
import { describe } from "vitest";
import { AccountLedger, BlobStore } from "../../src/index.ts";
import { changed, large, rows, shipped, unloaded, unreadable } from "./crashes.ts";

describe("the ledger", () => {
  rows(AccountLedger, "ledger", ["count"], shipped("the caller"));
  rows(AccountLedger, "ledger", ["counted"], large);
  rows(AccountLedger, "ledger", ["expectAgain"], unloaded);
  rows(AccountLedger, "ledger", ["setAside"], unreadable);
  rows(AccountLedger, "ledger", ["keepJobs"], changed);
});

describe("the blob store", () => {
  rows(BlobStore, "blob store", ["put", "get", "drop"], large);
});
