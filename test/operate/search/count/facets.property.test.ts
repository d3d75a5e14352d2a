/** Values of a facet, against a slow count of the same; and where there are too many. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ValueCounts } from "../../../../src/operate/search/count/facets.ts";

const value = fc.oneof(fc.constantFrom("a", "b", 1, "1", true, "true", null), fc.integer({ min: 0, max: 20 }));
const counted = (values: readonly Parameters<ValueCounts["add"]>[0][], maxWeight = 1e9) => {
  const counts = new ValueCounts(maxWeight);
  for (const each of values) counts.add(each);
  return counts;
};

describe("the values of a facet", () => {
  it("are exact, in whatever parts they come", () => {
    fc.assert(
      fc.property(fc.array(fc.array(value)), fc.nat(5), (parts, top) => {
        const sum = counted([]);
        for (const part of parts) sum.merge(counted(part));
        const all = [...Map.groupBy(parts.flat(), (each) => each)].map(([each, own]) => [each, own.length]);
        const { values, other, overflow } = sum.answer("x", null);
        expect(new Map(values.map(({ value, records }) => [value, records]))).toEqual(new Map(all as never));
        expect([other, overflow]).toEqual([0, false]);
        const some = sum.answer("x", top);
        expect(some.values).toEqual(values.slice(0, top));
        const told = some.values.reduce((sum, { records }) => sum + records, 0);
        expect([told + some.other, some.overflow]).toEqual([parts.flat().length, false]);
      }),
    );
  });

  it("lose the least frequent ones where there are too many, which is said; none is counted twice", () => {
    const rare = Array.from({ length: 5_000 }, (_, i) => `rare ${i}`);
    // It comes first, and again and again.
    const { values, other, overflow } = counted(
      rare.flatMap((each) => ["often", each]),
      100_000,
    ).answer("x", null);
    expect(values[0]).toEqual({ value: "often", records: 5_000 });
    expect(values.length).toBeLessThan(1_000);
    expect(values.length).toBeGreaterThan(300);
    expect(values.reduce((sum, { records }) => sum + records, other)).toBe(10_000);
    expect(overflow).toBe(true);
  });
});
