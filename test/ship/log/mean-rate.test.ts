import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MeanRate } from "../../../src/ship/log/mean-rate.ts";
import { NOON } from "../../formats/record/samples.ts";

const MINUTE_MS = 60_000;

/** @param add what comes in each minute, from {@link NOON} on. */
function loadOf(add: readonly number[], minutes = 5): MeanRate {
  const load = new MeanRate(minutes);
  add.forEach((count, minute) => {
    load.add(count, NOON + minute * MINUTE_MS);
  });
  return load;
}

describe("the load", () => {
  it("is unknown until it was measured for whole minutes", () => {
    const load = loadOf([600, 600, 600, 600, 600]);
    expect(load.perSecond(NOON + 5 * MINUTE_MS - 1)).toBeNull();
    expect(load.perSecond(NOON + 5 * MINUTE_MS)).toBe(10);
    expect(new MeanRate(1).perSecond(NOON)).toBeNull();
  });

  it("is that of a list of all that ever came", () => {
    const step = fc.record({ afterMs: fc.nat({ max: 4 * MINUTE_MS }), count: fc.nat({ max: 100 }) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 6 }), (steps, minutes) => {
        const load = new MeanRate(minutes);
        const all: { count: number; at: number }[] = [];
        let now = NOON;
        for (const { afterMs, count } of steps) {
          now += afterMs;
          load.add(count, now);
          all.push({ count, at: now });
          const end = Math.floor(now / MINUTE_MS) * MINUTE_MS;
          const start = end - minutes * MINUTE_MS;
          const sum = all.filter(({ at }) => at >= start && at < end).reduce((total, each) => total + each.count, 0);
          expect(load.perSecond(now)).toBe((all[0]?.at ?? now) > start ? null : sum / (minutes * 60));
        }
      }),
    );
  });
});
