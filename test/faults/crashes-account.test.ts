/** The ledger and the blob store die, refuse, lose their answer or hang. */
import { describe } from "vitest";
import { BlobStore, TraceLog } from "../../src/index.ts";
import { changed, large, rows, shipped, steps, unloaded, unreadable } from "./crashes.ts";

describe("the ledger", () => {
  rows("ledger", [
    ...steps(TraceLog, ["count"], shipped("the caller")),
    ...steps(TraceLog, ["counted"], large),
    ...steps(TraceLog, ["expectAgain"], unloaded),
    ...steps(TraceLog, ["setAside"], unreadable),
    ...steps(TraceLog, ["keepJobs"], changed),
  ]);
});

describe("the blob store", () => {
  rows("blob store", steps(BlobStore, ["put", "get", "drop"], large));
});
