import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Edge, type Needed, wordsWithin } from "../../../src/formats/query/needed-terms.ts";
import { fold, termsIn } from "../../../src/formats/sketch/terms.ts";

const UUID = "8f14e45f-ceea-167a-9e8b-0123456789ab";

/** Runs that are, or nearly are, groups of a UUID, and what may stand between them. */
const run = fc.oneof(
  fc.constantFrom("8F14e45f", "ceea", "167a", "9e8b", "0123456789ab", "declined", "abc", "é", UUID),
  fc.string({ unit: fc.constantFrom("a", "0", "x"), minLength: 1, maxLength: 13 }),
);
const between = fc.oneof({ weight: 5, arbitrary: fc.constant("-") }, fc.constantFrom(" ", "", "--", "/"));
const value = fc.array(fc.tuple(between, run), { maxLength: 9 }).map((parts) => parts.flat().join(""));

function isIn(words: ReadonlySet<string>, needed: Needed): boolean {
  if (needed === null) return true;
  if (typeof needed === "string") return words.has(needed);
  return "all" in needed ? needed.all.every((each) => isIn(words, each)) : needed.any.some((each) => isIn(words, each));
}

describe("the words within a part of a value", () => {
  it("are in every such value", () => {
    fc.assert(
      fc.property(value, fc.nat(), fc.nat(), (whole, a, b) => {
        const from = a % (whole.length + 1);
        const to = from + (b % (whole.length - from + 1));
        const words = new Set(termsIn(fold(whole)).map(({ word }) => word));
        const [text, ofWord] = [whole.slice(from, to), /[a-z0-9é]/i];
        const goesOn = (...at: number[]): boolean => at.every((each) => ofWord.test(whole.charAt(each)));
        const edges = (known: Edge): [Edge, Edge] => [
          from === 0 ? known : goesOn(from - 1, from) ? "part" : "word",
          to === whole.length ? known : goesOn(to - 1, to) ? "part" : "word",
        ];
        expect(isIn(words, wordsWithin(text, ...edges("value")))).toBe(true);
        expect(isIn(words, wordsWithin(text, ...edges("word")))).toBe(true);
        expect(isIn(words, wordsWithin(text, "part", "part"))).toBe(true);
      }),
      { numRuns: 20_000 },
    );
  });

  const uuidOrGroups = { any: [UUID, { all: ["ceea", "167a", "9e8b"] }] };

  it.each<[string, string, Edge, Edge, Needed]>([
    ["a UUID that may go on", UUID, "part", "part", { all: [uuidOrGroups] }],
    ["a whole UUID", UUID.toUpperCase(), "value", "value", { all: [UUID] }],
    ["a UUID between words", `user ${UUID}, card`, "part", "part", { all: [UUID] }],
    ["a UUID behind a prefix that may go on", `req-${UUID}`, "part", "value", { all: [UUID] }],
    [
      "a UUID that only begins",
      `user ${UUID}`,
      "value",
      "part",
      { all: [{ any: [UUID, { all: ["8f14e45f", "ceea", "167a", "9e8b"] }] }, { all: ["user"] }] },
    ],
    ["a word", "declined", "word", "word", { all: [{ all: ["declined"] }] }],
    ["words, of which one goes on", "cus_8h2 decl", "word", "part", { all: [{ all: ["cus", "8h2"] }] }],
    ["a word that may be a group of a UUID", "ceea", "word", "word", null],
    ["groups that may be of a UUID", "ceea-167a-9e8b", "part", "part", null],
    [
      "groups that no UUID has so",
      "ceea-167a-9e8b-ceea-xyz",
      "part",
      "part",
      { all: [{ all: ["167a", "9e8b", "ceea"] }] },
    ],
    ["hexadecimal words without hyphens", "x ceea 167a y", "part", "part", { all: [{ all: ["ceea", "167a"] }] }],
    ["a value with the groups of a UUID alone", "ceea-167a", "value", "value", { all: [{ all: ["ceea", "167a"] }] }],
  ])("of %s: %s", (_what, text, begins, ends, needed) => {
    expect(wordsWithin(text, begins, ends)).toEqual(needed);
  });
});
