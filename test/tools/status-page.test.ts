/** docs/status.md agrees with the rules. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SHARD_LOAD } from "../../src/base/limits.ts";
import { KINDS, WATCH_KINDS } from "../../src/operate/status/kinds.ts";
import {
  AFTER,
  BACKLOG_MIN,
  LEDGER_LARGE_BYTES,
  NAMED_MAX,
  QUEUE_FULL_BYTES,
  QUEUE_LARGE_BYTES,
  READER_LARGE_BYTES,
  REFUSED_MIN,
  RHYTHM_BOUNDS,
} from "../../src/operate/status/thresholds.ts";

const doc = readFileSync(join(import.meta.dirname, "../../docs/status.md"), "utf8");
const rows = [...doc.matchAll(/^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].map(
  ([, kind = "", severity = "", after = "", todo = ""]) => ({ kind, severity, after, todo }),
);
const said = (kind: string): string => rows.find((row) => row.kind === kind)?.after ?? "";

describe("the page about status", () => {
  it("has each kind once, with when it is said and what to do", () => {
    expect(rows.map(({ kind }) => kind).toSorted()).toEqual([...KINDS, ...WATCH_KINDS].toSorted());
    for (const { severity, after, todo } of rows) {
      expect(severity).toMatch(/\b(error|warning)\b/);
      expect(after.length).toBeGreaterThan(2);
      expect(todo.length).toBeGreaterThan(2);
    }
  });

  it.each([
    ["failing", `${AFTER.failing / 60_000} minutes`],
    ["lagging", `${AFTER.uploadStarts / 1_000} seconds, and ${AFTER.lagging / 60_000} minutes`],
    ["nothing_received", `${AFTER.nothingReceived / 60_000} minutes`],
    ["no_events", `${AFTER.nothingReceived / 60_000} minutes`],
    ["no_events", `at least ${AFTER.quiet / 60_000} minutes`],
    ["function_quiet", `at least ${AFTER.quiet / 60_000} minutes`],
    ["function_failing", "with 20 failed invocations"],
    ["function_failing", "at least 5 % of all"],
    ["queue_old", `${AFTER.queueOld / 60_000} minutes`],
    ["queue_backlog", `${AFTER.backlog / 60_000} minutes with at least ${BACKLOG_MIN.toLocaleString("en")} messages`],
    ["filter_keeps_nothing", `an hour and ${REFUSED_MIN} records`],
    ["sample_keeps_nothing", `an hour and ${REFUSED_MIN} times`],
    ["log_large", `${READER_LARGE_BYTES / 1e9} GB`],
    ["queue_large", `half of the ${(2 * QUEUE_LARGE_BYTES) / 1e9} GB`],
    ["queue_large", `an error with ${QUEUE_FULL_BYTES / 1e9} GB`],
    ["ledger_large", `half of the ${(2 * LEDGER_LARGE_BYTES) / 1e9} GB`],
    ["ledger_busy", `more than ${SHARD_LOAD.parts} parts or ${SHARD_LOAD.bytes / 1e6} MB a second`],
    ["functions_more", `more than ${NAMED_MAX} Workers`],
    ["functions_not_watched", `more than ${RHYTHM_BOUNDS.names.toLocaleString("en")} names`],
  ])("says of %s what holds: %s", (kind, words) => {
    expect(said(kind)).toContain(words);
  });
});
