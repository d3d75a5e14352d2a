import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { HashSet } from "../../../src/formats/sketch/hash-set.ts";
import { fold, hashJson, termHash, termsIn } from "../../../src/formats/sketch/terms.ts";

/** Texts with escapes, letters whose case changes their length, and words at every edge. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: "grapheme" }),
  fc
    .array(
      fc.constantFrom(
        "a",
        "Z",
        "0",
        " ",
        "-",
        '"',
        "\\",
        "\n",
        "\u001b",
        "\u0000",
        "é",
        "ß",
        "İ",
        "ς",
        "Σ",
        "K",
        "😀",
        "/",
        "8f14e45f",
        "-ceea-167a-9e8b",
        "-0123456789ab",
      ),
    )
    .map((parts) => parts.join("")),
);

const json = fc.jsonValue({ stringUnit: "grapheme" });

/** Every string of a value, names of fields left out. */
function stringsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsOf) : [];
}

function hashesOf(lines: string): number[] {
  const hashes = new HashSet();
  hashJson(encodeUtf8(lines), hashes);
  return [...hashes.all().sort()];
}

function expectedOf(values: readonly unknown[]): number[] {
  const words = values.flatMap(stringsOf).flatMap((each) => [...termsIn(fold(each))].map(({ word }) => word));
  return [...new Set(words.map((word) => termHash(word) || 1))].sort((a, b) => a - b);
}

describe("words of records", () => {
  it("are found in JSON as in its strings, read one by one", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(json, fc.dictionary(text, text))), (values) => {
        const lines = values.map((value) => `${JSON.stringify(value)}\n`).join("");
        expect(hashesOf(lines)).toEqual(expectedOf(values));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['{"Name":"Value"}', ["value"]],
    ['{"a":"x\\"y","b":["ABC-12_3"]}', ["x", "y", "abc", "12", "3"]],
    ['{"a":"\\u001b[31mred\\u001b[0m"}', ["31mred", "0m"]],
    ['{"a":"\\nnew\\ttab"}', ["new", "tab"]],
    ['{"a":"\\u00e9t\\u00e9"}', ["été"]],
    ['{"a":"ÉTÉ"}', ["été"]],
    ['{"a":"\\u0041b"}', ["ab"]],
    ['{"a":":","b":"c"}', ["c"]],
    ['["a:","b"]', ["a", "b"]],
    ['{"n":12,"t":true}', []],
    ['{"id":"8F14e45f-ceea-167a-9e8b-0123456789ab"}', ["8f14e45f-ceea-167a-9e8b-0123456789ab"]],
    ['{"id":"a-8f14e45f-ceea-167a-9e8b-0123456789ab-b"}', ["a", "8f14e45f-ceea-167a-9e8b-0123456789ab", "b"]],
    ['{"id":"8f14e45f-ceea-167a-9e8b-0123456789abc"}', ["8f14e45f", "ceea", "167a", "9e8b", "0123456789abc"]],
    ['{"id":"8f14e45f-ceea-167a-9e8b-0123456789ag"}', ["8f14e45f", "ceea", "167a", "9e8b", "0123456789ag"]],
    ['{"id":"8f14e45f-ceea-167a-9e8b 0123456789ab"}', ["8f14e45f", "ceea", "167a", "9e8b", "0123456789ab"]],
    ['{"id":"é 8f14e45f-ceea-167a-9e8b-0123456789ab"}', ["é", "8f14e45f-ceea-167a-9e8b-0123456789ab"]],
  ])("of %s are %j", (line, words) => {
    expect(hashesOf(line)).toEqual(words.map((word) => termHash(word)).sort((a, b) => a - b));
  });
});

describe("the hash of a word", () => {
  it("is that of the set, also where it would be 0", () => {
    const words = new HashSet();
    hashJson(encodeUtf8('{"text":"djeuhts"}'), words);
    expect([...words.all()]).toEqual([1]);
    expect(termHash("djeuhts")).toBe(1);
  });
});

describe("folded text", () => {
  it("contains the fold of every part of the text", () => {
    fc.assert(
      fc.property(text, text, text, (before, part, after) => {
        expect(fold(before + part + after)).toContain(fold(part));
        expect(fold(before + part)).toBe(fold(before) + fold(part));
      }),
    );
  });
});

describe("a set of hashes", () => {
  it("holds each once, in order, however many", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffffffff), { maxLength: 5_000 }), (hashes) => {
        const set = new HashSet();
        for (const hash of [...hashes, ...hashes]) set.add(hash);
        const distinct = [...new Set(hashes.map((hash) => hash || 1))].sort((a, b) => a - b);
        expect([...set.all().sort()]).toEqual(distinct);
        expect(set.size).toBe(distinct.length);
      }),
    );
  });
});
