import { describe, expect, it } from "vitest";
import { Random } from "./random.ts";

const draws = (seed: number, count = 1_000): number[] => {
  const random = new Random(seed);
  return Array.from({ length: count }, () => random.next());
};

describe("chance", () => {
  it("is the same for the same seed, and another for another", () => {
    expect(draws(7)).toEqual(draws(7));
    expect(draws(7).filter((draw, i) => draw === draws(8)[i])).toEqual([]);
  });

  it("is even enough, also over the first draws of neighbouring seeds", () => {
    const firsts = Array.from({ length: 1_000 }, (_, seed) => draws(seed, 1)[0] ?? 0);
    for (const series of [draws(1), firsts]) {
      const mean = series.reduce((sum, draw) => sum + draw, 0) / series.length;
      // Five standard deviations of the mean of a thousand.
      expect(Math.abs(mean - 0.5)).toBeLessThan(5 * Math.sqrt(1 / 12 / 1_000));
      expect(series.every((draw) => draw >= 0 && draw < 1)).toBe(true);
    }
  });

  it("reaches both ends of a range, and nothing beyond", () => {
    const random = new Random(3);
    expect(new Set(Array.from({ length: 1_000 }, () => random.int(-1, 2)))).toEqual(new Set([-1, 0, 1, 2]));
  });

  it("follows weights", () => {
    const random = new Random(4);
    const items = [{ weight: 0 }, { weight: 1 }, { weight: 9 }];
    const counts = items.map(() => 0);
    for (let i = 0; i < 10_000; i++) {
      const at = items.indexOf(random.weighted(items));
      counts[at] = (counts[at] ?? 0) + 1;
    }
    expect(counts[0]).toBe(0);
    expect(Math.abs((counts[1] ?? 0) - 1_000)).toBeLessThan(150);
  });

  it("shuffles without losing anything, and picks from nothing loudly", () => {
    const random = new Random(5);
    const items = Array.from({ length: 50 }, (_, i) => i);
    const shuffled = random.shuffled(items);
    expect(shuffled).not.toEqual(items);
    expect(shuffled.toSorted((a, b) => a - b)).toEqual(items);
    expect(() => random.pick([])).toThrow(RangeError);
  });
});
