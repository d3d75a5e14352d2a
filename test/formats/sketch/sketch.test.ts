import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinWords, mayHold, nodeAt, sketchOf } from "../../../src/formats/sketch/sketch.ts";
import { isHeld, type Wanted } from "../../../src/formats/sketch/wanted.ts";

/** So many distinct hashes, ascending, from a seed of their own (xorshift). */
function hashes(count: number, seed: number): Uint32Array {
  const found = new Set<number>();
  let state = seed >>> 0 || 1;
  while (found.size < count) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    found.add(Math.imul(state, 0x9e3779b1) >>> 0 || 1);
  }
  return Uint32Array.from(found).sort();
}

const reader = (sketch: readonly Uint8Array[]) => (segment: number) => sketch[segment] as Uint8Array;

describe("a sketch", () => {
  it("never denies a word that it was made of", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30_000 }), fc.nat(), (count, seed) => {
        const words = hashes(count, seed);
        const sketch = sketchOf(words);
        const denied = words.filter((word) => !isHeld(word, sketch.length, reader(sketch)));
        expect([...denied]).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it.each([100, 5_000, 160_000])(
    "of %d words takes 11.6 bits for each, and 1 word in 180 at most is wrong",
    (count) => {
      const sketch = sketchOf(hashes(count, 7));
      const others = hashes(100_000, 12_345);
      const wrong = others.filter((word) => isHeld(word, sketch.length, reader(sketch))).length / others.length;
      const bytes = sketch.reduce((sum, { length }) => sum + length, 0);
      expect(wrong).toBeLessThan(1 / 180);
      expect((bytes * 8) / count).toBeLessThan(11.6 + (8 * sketch.length) / count);
    },
  );

  it("of no words denies all", () => {
    const sketch = sketchOf(new Uint32Array());
    expect(sketch).toHaveLength(1);
    expect(mayHold(sketch[0] as Uint8Array, 7)).toBe(false);
  });

  it("has segments of at most some 47 kB, whatever its size", () => {
    expect(sketchOf(hashes(30_000, 3))).toHaveLength(1);
    const sketch = sketchOf(hashes(160_000, 3));
    expect(sketch).toHaveLength(8);
    for (const { length } of sketch) expect(length).toBeLessThan(48_000);
    expect([0, 0x7fffffff, 0xffffffff].map((hash) => nodeAt(hash, 32))).toEqual([0, 15, 31]);
  });

  it("holds what is wanted if all, or any, of its words are there", () => {
    const sketch = sketchOf(Uint32Array.of(10, 20));
    const held = (wanted: Wanted) => isHeld(wanted, sketch.length, reader(sketch));
    expect(held({ all: [10, 20] })).toBe(true);
    expect(held({ all: [10, 999_999] })).toBe(false);
    expect(held({ any: [999_999, 20] })).toBe(true);
    expect(held({ any: [999_999, { all: [10, 888_888] }] })).toBe(false);
    expect(held({ all: [] })).toBe(true);
  });
});

describe("words of several parts", () => {
  it("are joined, each once and in order; too many are none", () => {
    const parts = [Uint32Array.of(1, 5, 9), Uint32Array.of(5, 7)];
    expect([...(joinWords(parts, 4)?.sort() ?? [])]).toEqual([1, 5, 7, 9]);
    expect(joinWords(parts, 3)).toBeNull();
    expect([...(joinWords([], 3) ?? [1])]).toEqual([]);
  });
});
