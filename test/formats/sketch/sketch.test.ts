import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat } from "../../../src/base/bytes.ts";
import {
  encodeHead,
  entryOf,
  membersIn,
  membersOut,
  readHead,
  segmentsFor,
  segmentsOf,
  shapeIn,
  shapeOf,
  sumOf,
} from "../../../src/formats/sketch/group.ts";
import { numbersIn, packed } from "../../../src/formats/sketch/pairs.ts";
import { HASHES, joinWords, listedHashes, partAt, partsOf } from "../../../src/formats/sketch/sketch.ts";
import { ALL, hashesIn, heldBy, type Wanted } from "../../../src/formats/sketch/wanted.ts";

/** So many distinct hashes, from a seed of their own (xorshift). */
function hashes(count: number, seed: number): Uint32Array {
  const found = new Set<number>();
  let state = seed >>> 0 || 1;
  while (found.size < count) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    found.add(Math.imul(state, 0x9e3779b1) >>> 0 || 1);
  }
  return Uint32Array.from(found);
}

/** The sketch of objects with these words. */
function grouped(objects: readonly Uint32Array[]) {
  const parts = objects.map(partsOf);
  const most = Math.max(...parts.map(({ length }) => length));
  const words = objects.reduce((sum, { length }) => sum + length, 0);
  const shape = shapeOf(objects.length, words, most);
  const partsAt = (part: number) => parts.map((own) => own[Math.floor((part * own.length) / most)] as Uint32Array);
  const segments = [...segmentsOf(shape, most, partsAt)];
  const holders = (hash: number) => membersIn(segments[partAt(hash, shape.segments)] as Uint8Array, shape, hash);
  return { shape, segments, holders };
}

describe("numbers that are packed", () => {
  it("are all found, and those of a range alone", () => {
    const below = fc.constantFrom(2, 100, 2 ** 20, 2 ** 32);
    const drawn = below.chain((max) => fc.tuple(fc.array(fc.nat(max - 1)), fc.nat(max), fc.nat(max)));
    fc.assert(
      fc.property(drawn, ([numbers, from, length]) => {
        const sorted = Uint32Array.from(numbers).sort();
        const bytes = packed(sorted);
        expect(numbersIn(bytes, 0, 2 ** 32)).toEqual([...sorted]);
        const within = [...sorted].filter((number) => number >= from && number < from + length);
        expect(numbersIn(bytes, from, from + length)).toEqual(within);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the sketch of a group", () => {
  it("never denies a word that one of its objects has, whatever their sizes", () => {
    const sizes = fc.array(fc.oneof(fc.nat(50), fc.constantFrom(0, 5_000, 70_000)), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(sizes, fc.nat(), (counts, seed) => {
        const objects = counts.map((count, i) => hashes(count, seed + i));
        const { holders } = grouped(objects);
        const denied = objects.flatMap((words, i) =>
          [...words].filter((word, at) => at % 97 === 0 && (holders(word) & (1n << BigInt(i))) === 0n),
        );
        expect(denied).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });

  it("takes about 12 bits for a word, and one object in ten groups is wrong for another word", () => {
    const objects = Array.from({ length: 100 }, (_, i) => hashes(3_000, 1_000 * i + 7));
    const { segments, shape, holders } = grouped(objects);
    const bytes = segments.reduce((sum, { length }) => sum + length, 0);
    expect((bytes * 8) / 300_000).toBeLessThan(12.6);
    const others = hashes(3_000, 99_999_999);
    const wrong = [...others].reduce((sum, hash) => sum + holders(hash).toString(2).replaceAll("0", "").length, 0);
    expect(wrong / others.length).toBeLessThan(0.14);
    expect(wrong).toBeGreaterThan(0);
    expect(shape.segments).toBe(16);
    for (const { length } of segments) expect(length).toBeLessThan(48_000);
  });

  it("of words that all objects have names all of them", () => {
    const { holders } = grouped(Array.from({ length: 128 }, () => Uint32Array.of(7, 2 ** 31, 2 ** 32 - 1)));
    for (const hash of [7, 2 ** 31, 2 ** 32 - 1]) expect(holders(hash)).toBe(2n ** 128n - 1n);
  });

  it("has a head that says where a segment is, and by which sum it is known", () => {
    const { shape, segments } = grouped([hashes(150_000, 3), hashes(10, 4)]);
    const entries = segments.map(entryOf).join("");
    const head = { bits: shape.bits, members: ["a".repeat(16), "b".repeat(16)], segments: entries };
    const read = readHead(encodeHead(head));
    expect(read).toMatchObject(head);
    if (read === null) throw new Error("there is no head");
    expect(shapeIn(read)).toEqual(shape);
    const file = concat(segments);
    const looked = segmentsFor(read, [0, 1, 2 ** 32 - 1]);
    expect(looked.map((segment) => segment.hashes)).toEqual([[0, 1], [2 ** 32 - 1]]);
    for (const segment of looked) {
      const bytes = file.slice(segment.from, segment.from + segment.bytes);
      expect(sumOf(bytes)).toBe(segment.sum);
      bytes[3] = (bytes[3] as number) ^ 1;
      expect(sumOf(bytes)).not.toBe(segment.sum);
    }
    const text = new TextDecoder().decode(encodeHead(head));
    for (const [from, to] of [
      ['"version":1', '"version":2'],
      [`"hashes":${HASHES}`, `"hashes":${HASHES - 1}`],
      ["logship sketch", "logship manifest"],
    ] as const)
      expect(readHead(new TextEncoder().encode(text.replace(from, to)))).toBeNull();
    expect(readHead(new Uint8Array([1, 2]))).toBeNull();
  });
});

describe("the words of an object", () => {
  it("are in parts by their first bits, each once", () => {
    const words = hashes(100_000, 9);
    const parts = partsOf(words);
    expect(parts).toHaveLength(4);
    expect(concat(parts.map((part) => new Uint8Array(part.buffer))).length).toBe(400_000);
    for (const [i, part] of parts.entries()) expect(part.every((word) => partAt(word, 4) === i)).toBe(true);
    expect(partsOf(new Uint32Array())).toEqual([new Uint32Array()]);
    expect([0, 0x7fffffff, 0xffffffff].map((hash) => partAt(hash, 32))).toEqual([0, 15, 31]);
  });

  it("are none where they were chosen to be of one part", () => {
    expect(() => partsOf(Uint32Array.from({ length: 70_000 }, (_, i) => i))).toThrow("unevenly");
  });

  const list = (...hashes: number[]) => Uint32Array.of(HASHES, ...hashes);
  const joined = (lists: Uint32Array[], most: number) => {
    const words = joinWords(lists, most);
    return words && [...(listedHashes(words) ?? ["of another version"])].sort();
  };

  it("are joined, each once; a list that is too long is none", () => {
    const lists = [list(10, 50, 90), list(50, 70)];
    expect(joined(lists, 5)).toEqual([10, 50, 70, 90]);
    expect(joined(lists, 4)).toBeNull();
    expect(joined(lists, -1)).toBeNull();
    expect(joined([list()], 5)).toEqual([]);
    expect(joined([], 3)).toEqual([]);
  });

  it("are unknown where some of them are of another version", () => {
    expect(joined([list(10), Uint32Array.of(HASHES + 1, 20)], 9)).toBeNull();
    expect(joined([Uint32Array.of(10, 20), list(10)], 9)).toBeNull();
    expect(listedHashes(Uint32Array.of(HASHES - 1, 10))).toBeNull();
    expect(listedHashes(new Uint32Array())).toBeNull();
  });
});

describe("what is wanted", () => {
  it("is held where all, or any, of its words are", () => {
    const held = (wanted: Wanted) => heldBy(wanted, (hash) => ({ 10: 0b011n, 20: 0b110n })[hash] ?? 0n);
    expect(held({ all: [10, 20] })).toBe(0b010n);
    expect(held({ all: [10, 99] })).toBe(0n);
    expect(held({ any: [99, 20] })).toBe(0b110n);
    expect(held({ any: [99, { all: [10, 88] }] })).toBe(0n);
    expect(held({ all: [] })).toBe(ALL);
    expect(hashesIn({ any: [99, { all: [10, 99] }] })).toEqual([99, 10]);
    expect(membersOut(["a", "b", "c"], 0b010n)).toEqual(["a", "c"]);
    expect(membersOut(["a", "b"], ALL)).toEqual([]);
  });
});
