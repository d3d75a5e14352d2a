/** A shard of the log dies, refuses, loses its answer or hangs at any of its steps. */
import { TraceLog } from "../../src/index.ts";
import { changed, large, late, resharded, rows, shipped, steps, swept, unreadable } from "./crashes.ts";

rows("log", [
  ...steps(TraceLog, ["append", "known"], shipped("the caller")),
  ...steps(TraceLog, ["append"], large),
  ...steps(TraceLog, ["append"], resharded),
  ...steps(TraceLog, ["read", "alarm"], shipped("the platform")),
  ...steps(TraceLog, ["expectAgain"], late),
  ...steps(TraceLog, ["hold"], unreadable),
  ...steps(TraceLog, ["configure"], changed),
  ...steps(TraceLog, ["drive", "sweep"], swept),
]);
