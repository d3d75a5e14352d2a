/** Sketches of times against the times themselves, and sums in any order. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addedHealth,
  bucketOf,
  type ErrorCount,
  type Health,
  invocations,
  isFailed,
  NO_HEALTH,
  OTHER,
  OTHER_OUTCOMES,
  OUTCOMES_KEPT,
  PROBLEMS_KEPT,
  problemsOf,
  quantile,
  type Sketch,
  storedHealth,
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

const problem = (id: string, count: number): ErrorCount => ({
  ...{ id, name: "Error", message: id, frame: "", count },
  ...{ firstMs: 1, lastMs: 2, firstRay: "a", lastRay: "b" },
});
const withErrors = (...errors: ErrorCount[]): Health => ({ ...NO_HEALTH, errors });
const sumOf = (health: Health): number => problemsOf(health).reduce((sum, [, count]) => sum + count, 0);

describe("problems", () => {
  it("that have no id are all in the sum", () => {
    const earlier = withErrors(problem(OTHER, 2), problem(OTHER, 3));
    expect(sumOf(addedHealth(earlier, withErrors(problem("a", 1))))).toBe(6);
  });

  it("are stored as counts, each once", () => {
    const sum = addedHealth(withErrors(problem("a", 2), problem("b", 1)), withErrors(problem("a", 3)));
    expect([sum.errors, sum.problems]).toEqual([
      [],
      [
        ["b", 1],
        ["a", 5],
      ],
    ]);
    expect(storedHealth(withErrors(problem("a", 2)))).toEqual({ ...NO_HEALTH, problems: [["a", 2]] });
  });

  it("of an earlier release are counted, without their texts", () => {
    const { id, firstRay, lastRay, frame, ...old } = problem("a", 7);
    const row = JSON.parse(JSON.stringify(withErrors({ ...old, rayId: lastRay } as never))) as Health;
    expect(problemsOf(row)).toEqual([[OTHER, 7]]);
    expect(addedHealth(row, withErrors(problem("a", 1))).problems).toEqual([
      [OTHER, 7],
      ["a", 1],
    ]);
  });

  it("are bounded, and their sum stays exact, in any order", () => {
    const some = fc.array(fc.tuple(fc.nat({ max: 200 }), fc.integer({ min: 1, max: 50 })), { maxLength: 60 });
    fc.assert(
      fc.property(fc.array(some, { maxLength: 12 }), (parts) => {
        const each = parts.map((part) => withErrors(...part.map(([n, count]) => problem(`p${n}`, count))));
        const sum = each.reduce(addedHealth, NO_HEALTH);
        expect(sumOf(sum)).toBe(parts.flat().reduce((all, [, count]) => all + count, 0));
        expect(problemsOf(sum).length).toBeLessThanOrEqual(PROBLEMS_KEPT + 1);
        expect(new Set(problemsOf(sum).map(([id]) => id)).size).toBe(problemsOf(sum).length);
      }),
    );
  });

  it("stay if they are the most frequent, and if one has begun late and comes again", () => {
    let sum = storedHealth(withErrors(...Array.from({ length: 50 }, (_, n) => problem(`p${n}`, 100 + n))));
    for (let n = 0; n < 300; n++) sum = addedHealth(sum, withErrors(problem("late", 1)));
    expect(Object.fromEntries(problemsOf(sum))).toMatchObject({ late: 300, p49: 149 });
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
