/** The ledger and the blob store die, refuse, lose their answer or hang. */
import { describe } from "vitest";
import { AccountLedger, BlobStore } from "../../src/index.ts";
import { changed, large, rows, shipped, steps, unloaded, unreadable } from "./crashes.ts";

describe("the ledger", () => {
  rows("ledger", [
    ...steps(AccountLedger, ["count"], shipped("the caller")),
    ...steps(AccountLedger, ["counted"], large),
    ...steps(AccountLedger, ["expectAgain"], unloaded),
    ...steps(AccountLedger, ["setAside"], unreadable),
    ...steps(AccountLedger, ["keepJobs"], changed),
  ]);
});

describe("the blob store", () => {
  rows("blob store", steps(BlobStore, ["put", "get", "drop"], large));
});
