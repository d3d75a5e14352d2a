/** The ledger dies, refuses, loses its answer or hangs. */
import { describe } from "vitest";
import { TraceLog } from "../../src/index.ts";
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
