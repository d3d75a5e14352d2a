/** Sketches of times against the times themselves, and sums in any order. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addedErrors,
  addedHealth,
  bucketOf,
  ERRORS_KEPT,
  type ErrorCount,
  folded,
  type Health,
  invocations,
  isFailed,
  NO_HEALTH,
  OTHER_OUTCOMES,
  OUTCOMES_KEPT,
  quantile,
  type Sketch,
} from "../../../src/ship/log/function-health.ts";

function sketched(times: readonly number[]): Sketch {
  const counts = new Map<number, number>();
  for (const ms of times) counts.set(bucketOf(ms), (counts.get(bucketOf(ms)) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a - b).flat();
}

/** By nearest rank. */
function exact(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share - 1e-9) - 1)] ?? Number.NaN;
}

const time = fc.oneof(
  fc.nat({ max: 25 }),
  fc.nat({ max: 2_000 }),
  fc.nat({ max: 900_000 }),
  fc.integer({ min: 0, max: 1e9 }),
);
const shares = [0.001, 0.5, 0.9, 0.95, 0.99, 1];

describe("quantiles", () => {
  it("are within 5 % of those of the times themselves, over any parts they are summed from", () => {
    fc.assert(
      fc.property(fc.array(fc.array(time, { maxLength: 40 }), { minLength: 1, maxLength: 6 }), (parts) => {
        const times = parts.flat();
        const sum = parts.map((part) => ({ ...NO_HEALTH, wall: sketched(part) })).reduce(addedHealth);
        expect(sum.wall).toEqual(sketched(times));
        for (const share of shares) {
          const found = quantile(sum.wall, share);
          if (times.length === 0) expect(found).toBeNull();
          else {
            const is = exact(times, share);
            expect(Math.abs((found ?? Number.NaN) - is)).toBeLessThanOrEqual(is * 0.05);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it("are exact up to 20 ms", () => {
    for (let ms = 0; ms <= 20; ms++) expect(quantile(sketched([ms]), 0.5)).toBe(ms);
  });

  it("take what is no time for 0, and what is too long for the longest, in a few hundred buckets", () => {
    for (const ms of [-1, Number.NaN, Number.NEGATIVE_INFINITY]) expect(bucketOf(ms)).toBe(0);
    expect(bucketOf(Number.POSITIVE_INFINITY)).toBe(bucketOf(1e9));
    expect(bucketOf(1e300)).toBeLessThan(250);
  });
});

const error = (n: number, fields: Partial<ErrorCount> = {}): ErrorCount => ({
  ...{ name: "Error", message: `kind ${"x".repeat(n)}`, count: 1, firstMs: n, lastMs: n, rayId: `r${n}` },
  ...fields,
});
const withErrors = (...errors: ErrorCount[]): Health => ({ ...NO_HEALTH, errors });

describe("errors", () => {
  it("are one where only numbers and ids differ; the latest can be searched for", () => {
    expect(folded("order 4711 of 8f3a9c1d-2b4e-5f60-a1b2-0123456789ab took 3.5 s")).toBe("order # of # took #.# s");
    expect(folded("deadbeef cafe feedface")).toBe("deadbeef cafe feedface");
    const sum = addedErrors([error(5, { message: "m" }), error(9, { message: "m" }), error(1, { message: "m" })]);
    expect(sum).toEqual([{ name: "Error", message: "m", count: 3, firstMs: 1, lastMs: 9, rayId: "r9" }]);
  });

  it("are two where name and message together are the same text", () => {
    const twins = [error(1, { name: "1 a", message: "bc" }), error(2, { name: "1 ab", message: "c" })];
    expect(addedErrors(twins)).toHaveLength(2);
  });

  it("are bounded: the most frequent stay, and so does one that has begun late and comes again", () => {
    const frequent = Array.from({ length: 50 }, (_, n) => error(n, { count: 100 }));
    let sum = addedHealth(NO_HEALTH, withErrors(...frequent));
    expect(sum.errors).toHaveLength(ERRORS_KEPT);
    const late = { name: "Late", message: "late" };
    for (let n = 1; n <= 200; n++) sum = addedHealth(sum, withErrors(error(1_000 + n, late)));
    expect(sum.errors[0]).toMatchObject({ ...late, count: 200, firstMs: 1_001, lastMs: 1_200 });
    expect(sum.errors).toHaveLength(ERRORS_KEPT);
  });

  it("have bounded texts, which end with no half of a character", () => {
    const message = folded(`${"a".repeat(159)}\u{1f600}`);
    expect(message).toBe("a".repeat(159));
    expect(folded("z".repeat(1e6))).toHaveLength(160);
  });
});

describe("outcomes", () => {
  it("are bounded, and their sum stays exact", () => {
    const many: Health[] = Array.from({ length: 100 }, (_, n) => ({
      ...NO_HEALTH,
      outcomes: [{ outcome: `o${n}`, count: 2 }],
    }));
    const sum = many.reduce(addedHealth);
    expect(invocations(sum)).toBe(200);
    expect(sum.outcomes.length).toBeLessThanOrEqual(OUTCOMES_KEPT + 1);
    expect(sum.outcomes.find(({ outcome }) => outcome === OTHER_OUTCOMES)?.count).toBe(160);
  });

  it("are failures unless the function did its part", () => {
    expect(["ok", "canceled", "responseStreamDisconnected", "unknown", ""].some((each) => isFailed(each, 200))).toBe(
      false,
    );
    expect(["exception", "exceededCpu", "made up"].every((each) => isFailed(each, 0))).toBe(true);
    expect([isFailed("ok", 499), isFailed("ok", 500)]).toEqual([false, true]);
  });
});
