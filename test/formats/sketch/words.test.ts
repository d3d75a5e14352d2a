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

const UUID = "8F14e45f-ceea-167a-9e8b-0123456789ab";

/** What a walk of several bytes at once may get wrong: lengths, neighbours of letters, digits. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: fc.constantFrom(..."aZ09fFgG"), maxLength: 70 }),
      fc.constantFrom(...'/:@[`{\u007f-"\\\u0000\u001f\n\t', "\\u0041", "u0061", "\\\\"),
      fc.constantFrom("\ud83d", "\ude00", "😀", "\u0080", "ǆ", "ß", "İ", "ς", "K", "\u2028"),
      fc
        .tuple(fc.constantFrom("", "a", "-", "é"), fc.nat(36), fc.constantFrom("", "0", "g", "-", "_"), fc.boolean())
        .map(([ahead, at, put, isOne]) => ahead + UUID.slice(0, at) + put + UUID.slice(at + (isOne ? 1 : 0))),
      fc.double().map(String),
      fc.bigInt().map(String),
    ),
  )
  .map((parts) => parts.join(""));

const json = fc.jsonValue({ stringUnit: "grapheme" });

/** Every string of a value, names of fields left out. */
function stringsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsOf) : [];
}

/** @param ahead so many bytes of the same buffer come before, and letters come after. */
function hashesOf(lines: string, ahead = 0): number[] {
  const hashes = new HashSet();
  const utf8 = encodeUtf8(lines);
  const bytes = new Uint8Array(ahead + utf8.length + 9).fill("a".charCodeAt(0));
  bytes.set(utf8, ahead);
  hashJson(bytes.subarray(ahead, ahead + utf8.length), hashes);
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

  it("are those of a slow walk in hostile text, wherever it begins and ends", () => {
    const some = fc.array(fc.oneof(hostile, fc.array(hostile), fc.dictionary(hostile, hostile)), { minLength: 1 });
    fc.assert(
      fc.property(some, fc.nat(8), (values, ahead) => {
        // JSON.stringify writes lone surrogates as escapes, and ends without a newline here.
        const lines = values.map((value) => JSON.stringify([value])).join("\n");
        expect(hashesOf(lines, ahead)).toEqual(expectedOf(values));
      }),
      { numRuns: 1_000 },
    );
  });

  it("are found in text that ends within a string, or right behind it", () => {
    const line = '["word another';
    for (let end = 2; end <= line.length; end++) {
      expect(hashesOf(line.slice(0, end))).toEqual(expectedOf([line.slice(2, end)]));
    }
    for (let end = 0; end <= UUID.length; end++) {
      const part = UUID.slice(0, end);
      expect(hashesOf(`["${part}"`)).toEqual(expectedOf([part]));
    }
  });

  it("are all found where there are many, and where most come again", () => {
    const values = Array.from({ length: 100_000 }, (_, i) => `word${i % 7} ${i.toString(36)} ${i % 3_000}x`);
    expect(hashesOf(JSON.stringify(values))).toEqual(expectedOf(values));
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
    hashJson(encodeUtf8('{"text":"s3vfymm"}'), words);
    expect([...words.all()]).toEqual([1]);
    expect(termHash("s3vfymm")).toBe(1);
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
  it("holds each once, however many come, and were expected", () => {
    const many = fc.array(fc.nat(0xffffffff), { maxLength: 5_000 });
    fc.assert(
      fc.property(many, fc.constantFrom(0, 1, 511, 512, 4_000.5, -3, Number.NaN), (hashes, expected) => {
        const set = new HashSet(expected);
        set.addAll(Uint32Array.from(hashes));
        set.addAll(Int32Array.from([...hashes, 4711]), hashes.length);
        const distinct = [...new Set(hashes.map((hash) => hash || 1))].sort((a, b) => a - b);
        expect([...set.all().sort()]).toEqual(distinct);
        expect(set.size).toBe(distinct.length);
      }),
    );
  });
});
