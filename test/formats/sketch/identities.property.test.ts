import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat } from "../../../src/base/bytes.ts";
import { fieldsIn, Identities, IdentityWriter, recordId } from "../../../src/formats/sketch/identities.ts";

/** Some have their first bytes in common. */
const part = fc
  .tuple(fc.constantFrom("00000000", "8f14e45f", "ffffffff"), fc.nat(3))
  .map(([prefix, n]) => `${prefix}${n.toString(16).padStart(24, "0")}`);

/** Places of a part that become lines: some are left out, and some runs are far apart. */
const run = fc.record({
  part,
  places: fc.uniqueArray(fc.oneof(fc.nat(40), fc.nat(2_000), fc.integer({ min: 2 ** 20, max: 2 ** 20 + 9 })), {
    minLength: 1,
    maxLength: 30,
  }),
});

/** An object: fragments of runs. */
const object = fc.array(fc.array(run, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 });
type Lines = { part: string; place: number }[];

const linesOf = (fragment: { part: string; places: number[] }[]): Lines =>
  fragment.flatMap(({ part, places }) => places.toSorted((a, b) => a - b).map((place) => ({ part, place })));

function encode(fragments: readonly Lines[], fields = 5): Uint8Array {
  return concat(
    fragments.map((lines) => {
      const writer = new IdentityWriter(fields);
      for (const { part, place } of lines) writer.add(part, place);
      return writer.finish();
    }),
  );
}

const read = (lines: readonly Lines[], fields = 5): Identities => {
  const identities = Identities.read(encode(lines, fields), lines.flat().length);
  if (identities === null) throw new Error("they cannot be read");
  return identities;
};

const idOf = ({ part, place }: Lines[number]): string => recordId(part, place);

describe("identities", () => {
  it("say of each line which record it is, and of each record whether it is there", () => {
    fc.assert(
      fc.property(object, fc.array(fc.record({ part, place: fc.nat(60) }), { maxLength: 20 }), (fragments, others) => {
        const lines = fragments.map(linesOf);
        const identities = read(lines);
        const all = lines.flat().map(idOf);
        expect(all.map((_, i) => identities.at(i + 1))).toEqual(all);
        for (const id of [...all, ...others.map(idOf)]) expect(identities.holds(id)).toBe(all.includes(id));
      }),
      { numRuns: 300 },
    );
  });

  it("say whether all records of an object are in others", () => {
    fc.assert(
      fc.property(object, fc.array(fc.nat(2), { minLength: 120, maxLength: 120 }), (fragments, places) => {
        const lines = fragments.map(linesOf);
        const [first, second, nowhere]: [Lines, Lines, Lines] = [[], [], []];
        for (const [i, line] of lines.flat().entries()) ([first, second, nowhere][places[i] ?? 0] as Lines).push(line);
        const known = new Set([...first, ...second].map(idOf));
        const isIn = lines.flat().every((line) => known.has(idOf(line)));
        const others = [first, second].filter(({ length }) => length > 0).map((some) => read([some]));
        expect(read(lines).isIn(others)).toBe(isIn);
        const whole = [first, second, nowhere].filter(({ length }) => length > 0).map((some) => read([some]));
        expect(read(lines).isIn(whole)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("take 16 bytes a part and a bit a record, and less where all of a part is there", () => {
    const whole = Array.from({ length: 1_000 }, (_, place) => ({ part: "ab".repeat(16), place }));
    const half = whole.filter(({ place }) => place % 2 === 0);
    expect([encode([whole]).length, encode([half]).length]).toEqual([9 + 16 + 3, 9 + 16 + 3 + 125]);
    expect(fieldsIn(encode([half], 77))).toBe(77);
  });

  it("of which some have less, say what all of them have", () => {
    const line = { part: "ab".repeat(16), place: 1 };
    const joined = concat([encode([[line]], 0b0111), encode([[{ ...line, place: 2 }]], 0b1101)]);
    expect(Identities.read(joined, 2)?.fields).toBe(0b0101);
  });

  it("of another number of lines, cut off or changed in any way, are none, or answer without a fault", () => {
    const bytes = fc.uint8Array({ maxLength: 40 });
    fc.assert(
      fc.property(object, bytes, fc.nat(), fc.nat(255), (fragments, foreign, at, byte) => {
        const lines = fragments.map(linesOf);
        const count = lines.flat().length;
        const known = encode(lines);
        for (const records of [0, count - 1, count + 1]) expect(Identities.read(known, records)).toBeNull();
        expect(Identities.read(known.subarray(0, at % known.length), count)).toBeNull();
        const changed = known.slice();
        changed[at % known.length] = byte;
        for (const some of [changed, foreign, concat([known, foreign])]) {
          const identities = Identities.read(some, null);
          if (identities === null) continue;
          expect(identities.records).toBeLessThan(2 ** 31);
          for (const line of [1, identities.records]) expect(identities.holds(identities.at(line))).toBe(true);
          expect(() => identities.at(identities.records + 1)).toThrow("no such line");
        }
      }),
      { numRuns: 500 },
    );
  });

  it("of a run without an end are none", () => {
    const head = encode([[{ part: "ab".repeat(16), place: 0 }]]).slice(0, 25);
    const endless = concat([head, Uint8Array.of(0), Uint8Array.of(254, 255, 255, 255, 15)]);
    new DataView(endless.buffer).setUint32(5, endless.length - 9);
    expect(Identities.read(endless, 1_000)).toBeNull();
    expect(Identities.read(endless, null)?.records ?? 0).toBeLessThan(2 ** 31);
  });
});
