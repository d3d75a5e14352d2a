/** When a search is to be looked at again. */
import { expect, it } from "vitest";
import { factOf } from "../../../src/operate/status/search-rules.ts";
import { type AlertedSearch, bucketEndMs, bucketsAt } from "../../../src/ship/job/searches.ts";
import { NOON } from "../../formats/record/samples.ts";

const MINUTE_MS = 60_000;

const search: AlertedSearch = {
  ...{ id: 1, stamp: "s", sinceMs: NOON - 60 * MINUTE_MS, name: "Mine", query: "" },
  alert: {
    measure: { op: "count" },
    threshold: 100,
    when: "below",
    overMs: MINUTE_MS,
    forMs: 0,
    severity: "warning",
  },
};
const { first, last } = bucketsAt(search.alert, NOON);

const dueMs = (buckets: readonly [number, number][]): number | null => {
  const sums = [{ id: 1, stamp: "s", total: 999, buckets: buckets.map(([n, count]) => [n, count, ""] as const) }];
  return factOf(search, [sums], {}, { nowMs: NOON, waitsMs: 0 }).dueMs;
};

it("one that stays just above its threshold is looked at once a minute, and not with each bucket", () => {
  const each = Array.from({ length: last - first + 1 }, (_, i): [number, number] => [first + i, 8]);
  expect(dueMs(each)).toBe(NOON + MINUTE_MS);
});

it("one whose records all came at once is looked at when they are no longer in its time", () => {
  expect(dueMs([[first + 3, 200]])).toBe(bucketEndMs(search.alert, first + 3));
});
