import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { finder, wordFinder } from "../../../src/formats/filter/text-search.ts";

/** Almost all the same letter: the worst case of a search. */
const monotonous = (min: number, max: number) =>
  fc
    .array(fc.constantFrom("a", "a", "a", "a", "a", "a", "a", "a", "b"), { minLength: min, maxLength: max })
    .map((units) => units.join(""));

describe("a search for a text", () => {
  it("finds what the runtime's own finds, long or short, there or not", () => {
    const wanted = fc.oneof(monotonous(251, 300), monotonous(0, 8), fc.string({ unit: "binary", maxLength: 300 }));
    const searched = fc.tuple(monotonous(0, 600), wanted, monotonous(0, 50), fc.boolean(), fc.nat());
    fc.assert(
      fc.property(searched, ([before, text, after, isThere, drop]) => {
        // Sometimes with one unit missing: almost a match is no match.
        const at = drop % Math.max(text.length, 1);
        const inside = isThere ? text : text.slice(0, at) + text.slice(at + 1);
        expect(finder(text)(before + inside + after)).toBe((before + inside + after).includes(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(["", "a".repeat(250), "a".repeat(251), "é😀".repeat(200)])(
    "finds a text in itself, and not in less",
    (text) => {
      expect(finder(text)(text)).toBe(true);
      expect(finder(text)(`x${text}x`)).toBe(true);
      expect(finder(text)(text.slice(1))).toBe(text === "");
    },
  );

  it("looks at each unit of a long text a bounded number of times", () => {
    const wanted = `${"a".repeat(4_000)}b${"a".repeat(4_000)}`;
    let looks = 0;
    const text = {
      length: 100_000,
      charCodeAt: () => {
        looks += 1;
        return 97;
      },
    };
    expect(finder(wanted)(text as unknown as string)).toBe(false);
    expect(looks).toBe(100_000);
  });

  it("finds words as a slow search does, however often they are a part of others", () => {
    const sought = fc.string({ unit: fc.constantFrom("a", "a", "a", "b", "-", " ", "…", "の"), maxLength: 12 });
    const text = fc.string({ unit: fc.constantFrom("a", "a", "a", "b", "-", " ", "…", "の"), maxLength: 80 });
    const isOfWord = (unit: string): boolean => unit === "a" || unit === "b";
    fc.assert(
      fc.property(sought, text, fc.boolean(), fc.boolean(), (wanted, searched, begins, ends) => {
        const isWhole = (at: number): boolean => {
          const [before, after] = [searched.charAt(at - 1), searched.charAt(at + wanted.length)];
          const isBegun = !begins || !isOfWord(wanted.charAt(0)) || !isOfWord(before);
          return isBegun && (!ends || !isOfWord(wanted.charAt(wanted.length - 1)) || !isOfWord(after));
        };
        const places = Array.from({ length: searched.length + 1 }, (_, at) => at);
        const is = places.some((at) => searched.startsWith(wanted, at) && isWhole(at));
        expect(wordFinder({ text: wanted, begins, ends })(searched)).toBe(is);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ["a".repeat(200), "a".repeat(100_000)],
    ["a".repeat(1_900), "a".repeat(100_000)],
    [`${"ab ".repeat(600)}a`, "ab ".repeat(30_000)],
    [`${"ab ".repeat(60)}a`, "ab ".repeat(30_000)],
  ])("looks for a word that is everywhere a part of another a bounded number of times", (wanted, searched) => {
    const whole = `${searched}b`;
    let looks = 0;
    const text = {
      length: whole.length,
      charCodeAt: (at: number) => whole.charCodeAt(at + 0 * looks++),
      charAt: (at: number) => whole.charAt(at + 0 * looks++),
      // It compares the text that it finds.
      indexOf: (part: string, from: number) => {
        looks += part.length;
        return whole.indexOf(part, from);
      },
    };
    expect(wordFinder({ text: wanted, begins: false, ends: true })(text as unknown as string)).toBe(false);
    expect(looks).toBeLessThan(3 * whole.length);
  });
});
