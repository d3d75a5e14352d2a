/** From when on a function is said to be slow, and since when. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SLOW, slowOf } from "../../../src/operate/status/slow.ts";
import { bucketOf, type Sketch } from "../../../src/ship/log/function-health.ts";
import { SLOT_MS } from "../../../src/ship/log/health-slots.ts";
import type { FunctionTimes } from "../../../src/ship/log/last-hour.ts";
import { NOON } from "../../formats/record/samples.ts";

const NOW = NOON + 3 * 60_000;
const NOW_SLOT = Math.floor(NOW / SLOT_MS);

/** Times in ms, each with how many took that long. */
const sketch = (...times: readonly (readonly [ms: number, count: number])[]): Sketch => {
  const counts = new Map<number, number>();
  for (const [ms, count] of times) if (count > 0) counts.set(bucketOf(ms), (counts.get(bucketOf(ms)) ?? 0) + count);
  return [...counts].sort(([a], [b]) => a - b).flat();
};

/** Slots up to now, the newest last, of requests that take 100 ms, or a second. */
const slots = (...each: readonly (readonly [events: number, slow: number])[]): FunctionTimes["slots"] =>
  each.map(([events, slow], i) => ({
    ...{ slot: NOW_SLOT - each.length + 1 + i, events },
    wall: sketch([100, events - slow], [1_000, slow]),
  }));

const USUAL = sketch([100, 10_000]);
const slow = (of: FunctionTimes["slots"], usual = USUAL, nowMs = NOW) =>
  slowOf([{ scriptName: "shop", source: "tail", slots: of, usual }], nowMs)[0];

describe("a function is slow", () => {
  it.each<[string, FunctionTimes["slots"], Sketch, boolean]>([
    ["ten requests, 5 %", slots([200, 10]), USUAL, true],
    ["nine requests", slots([9, 9]), USUAL, false],
    ["less than 5 %", slots([201, 10]), USUAL, false],
    ["over fifteen minutes together", slots([100, 4], [50, 3], [50, 3]), USUAL, true],
    ["but not longer ago", slots([200, 20], [100, 0], [100, 0], [100, 0]), USUAL, false],
    ["nor when nothing comes any more", slots([200, 90], [0, 0], [0, 0], [0, 0]), USUAL, false],
    ["as it always was", slots([200, 100]), sketch([100, 5_000], [1_000, 5_000]), false],
    ["less than twice as long", slots([200, 100]), sketch([600, 10_000]), false],
    [
      "of a few ms, by less than 100 ms",
      [{ slot: NOW_SLOT, events: 99, wall: sketch([90, 99]) }],
      sketch([4, 999]),
      false,
    ],
    ["of a few ms, by more", [{ slot: NOW_SLOT, events: 99, wall: sketch([150, 99]) }], sketch([4, 999]), true],
    ["of which too little is known", slots([200, 100]), sketch([100, SLOW.usualEvents - 1]), false],
    ["that is new", slots([200, 100]), [], false],
  ])("%s", (_what, of, usual, isSo) => {
    expect(slow(of, usual) !== undefined).toBe(isSo);
  });

  it("since the first slot without a break, as far back as is known, by its sender", () => {
    const bad = [100, 30] as const;
    const start = (ago: number): number => (NOW_SLOT - ago) * SLOT_MS;
    expect(slow(slots([100, 1], bad, bad, bad, bad))).toMatchObject({
      ...{ name: "shop", events: 300, slow: 90, overMs: 13 * 60_000, sinceMs: start(3), isLonger: false },
    });
    expect(slow(slots([100, 0], [100, 0], [100, 50]))?.sinceMs).toBe(start(0));
    const hour = slots(...Array.from({ length: 12 }, () => bad));
    expect(slow([...hour].reverse())).toMatchObject({ sinceMs: start(11), isLonger: true });
    const found = slow(slots(bad));
    expect(Math.abs((found?.p95 ?? 0) - 1_000)).toBeLessThan(50);
    expect(Math.abs((found?.usualP95 ?? 0) - 100)).toBeLessThan(5);
    const sent = slowOf([{ scriptName: "shop", source: "http:ci", slots: slots(bad), usual: USUAL }], NOW);
    expect(sent).toMatchObject([{ sender: "http:ci" }]);
  });

  it("and told first where it is slowest against what is usual", () => {
    const one = { source: "tail", slots: slots([100, 50]) };
    const both = [
      { ...one, scriptName: "half", usual: sketch([400, 999]) },
      { ...one, scriptName: "tenth", usual: USUAL },
    ];
    expect(slowOf(both, NOW).map(({ name }) => name)).toEqual(["tenth", "half"]);
  });

  it("never without the requests that make it so, whatever the times", () => {
    const times = fc.array(fc.tuple(fc.nat(5_000), fc.nat(40)), { maxLength: 6 });
    const anySlots = fc.array(fc.tuple(fc.nat(11), times), { maxLength: 8 });
    let found = 0;
    fc.assert(
      fc.property(anySlots, times, (each, usual) => {
        const byAge = new Map(each);
        const of = [...byAge].map(([ago, own]) => {
          const events = own.reduce((sum, [, count]) => sum + count, 0);
          return { slot: NOW_SLOT - ago, events, wall: sketch(...own) };
        });
        const one = slow(of, sketch(...usual, [50, 200]));
        if (one === undefined) return;
        found += 1;
        const events = of.filter(({ slot }) => slot > NOW_SLOT - 3).reduce((sum, each) => sum + each.events, 0);
        expect(one.events).toBe(events);
        expect(one.slow).toBeGreaterThanOrEqual(Math.max(SLOW.least, SLOW.share * events));
        expect(one.p95).toBeGreaterThan(SLOW.times * one.usualP95 * 0.9);
        expect(one.sinceMs).toBeGreaterThanOrEqual((NOW_SLOT - 11) * SLOT_MS);
        expect(one.sinceMs).toBeLessThanOrEqual(NOW);
      }),
      { numRuns: 500 },
    );
    expect(found).toBeGreaterThan(20);
  });
});
