import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { JsonScanner, literal, trimmed } from "../../../src/formats/json/scanner.ts";
import { jsonText } from "../../../src/formats/record/encode.ts";
import { anyJson, canonical } from "../record/canonical.ts";

/** What `JSON.parse` makes of a text; undefined: it refuses it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Levels of objects and arrays. */
function levelsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Object.values(value).reduce((most: number, part) => Math.max(most, levelsOf(part)), 0);
}

/** A scan of a text that lies somewhere within other bytes. */
function scanned(text: string, levelsMax = 100): JsonScanner | null {
  const bytes = encodeUtf8(`"]}${text}]}"`);
  const scanner = new JsonScanner(bytes, 3, bytes.length - 3, { key: literal('"Event"'), levels: levelsMax });
  return scanner.value() && scanner.isAtEnd() ? scanner : null;
}

const blank = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

/** Tokens of JSON and parts of them, in any order, and what is almost one. */
const pieces = fc.array(
  fc.oneof(
    fc.constantFrom(..."{}[],:\"\\-+.eE019 \t\n\r/'u".split("")),
    fc.constantFrom("{}", "[]", '"a":', '"a"', "true", "false", "null", "nul", "NaN", "1.5", "-0", "01", "1e400", "1."),
    fc.constantFrom(
      '\\"',
      "\\u00e9",
      "\\uD800",
      "\\u12g4",
      "\\x",
      "\u0000",
      "\u001f",
      "\u007f",
      "é",
      "\u2028",
      "\ufeff",
    ),
  ),
  { maxLength: 12 },
);

/** JSON as it comes, with any white space and escapes of any character. */
const json = fc
  .tuple(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, "\t", "   "), fc.boolean())
  .map(([value, indent, escaped]) => {
    const text = JSON.stringify(value, null, indent);
    return escaped ? text.replaceAll(/[a-z](?=[^"]*")/g, (char) => (char === "e" ? "\\u0065" : char)) : text;
  });

describe("a scan of JSON", () => {
  it("takes what JSON.parse takes, and refuses what it refuses, whatever is put together", () => {
    const answers = { json: 0, none: 0 };
    fc.assert(
      fc.property(
        fc.oneof(
          pieces.map((all) => all.join("")),
          pieces.map((all) => `[${all.join("")}]`),
          pieces.map((all) => `"${all.join("")}"`),
        ),
        (text) => {
          const isJson = parsed(text) !== undefined;
          answers[isJson ? "json" : "none"] += 1;
          expect([text, scanned(text) !== null]).toEqual([text, isJson]);
        },
      ),
      { numRuns: 10_000 },
    );
    expect(Math.min(answers.json, answers.none)).toBeGreaterThan(250);
  });

  it("takes JSON, and refuses it damaged or cut off wherever JSON.parse does", () => {
    const answers = { json: 0, none: 0 };
    const damage = fc.record({ at: fc.nat(), how: fc.constantFrom("cut", "drop", "double", "none"), in: blank });
    fc.assert(
      fc.property(json, damage, (text, { at, how, in: put }) => {
        const place = at % text.length;
        const [before, char, after] = [text.slice(0, place), text[place] ?? "", text.slice(place + 1)];
        const damaged = {
          cut: before,
          drop: before + after,
          double: before + put + char + char + after,
          none: before + put + char + after,
        }[how];
        const isJson = parsed(damaged.toWellFormed()) !== undefined;
        answers[isJson ? "json" : "none"] += 1;
        expect([damaged, scanned(damaged.toWellFormed()) !== null]).toEqual([damaged, isJson]);
      }),
      { numRuns: 5_000 },
    );
    expect(Math.min(answers.json, answers.none)).toBeGreaterThan(500);
  });

  it("measures a value without its white space, and says whether it is nested too deeply", () => {
    const seen = { deep: 0, flat: 0 };
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), blank, fc.nat({ max: 4 }), (value, around, levels) => {
        const compact = JSON.stringify(value);
        const pretty = around + JSON.stringify(value, null, " ") + around;
        const isDeep = levelsOf(JSON.parse(compact)) > levels;
        seen[isDeep ? "deep" : "flat"] += 1;
        const whole = (text: string): string => `{"a":0,"Event":${text},"b":[[[[[[]]]]]]}`;
        const scan = scanned(whole(pretty), levels + 1);
        expect([scan?.compact, scan?.isDeep]).toEqual([encodeUtf8(whole(compact)).length, isDeep]);
        expect(scanned(pretty, 0)?.compact).toBe(encodeUtf8(compact).length);
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(seen.deep, seen.flat)).toBeGreaterThan(200);
  });

  it("says whether JSON.parse and JSON.stringify keep a value", () => {
    const seen = { kept: 0, changed: 0 };
    fc.assert(
      fc.property(anyJson, (text) => {
        const isKept = jsonText(JSON.parse(text)) === canonical(text);
        seen[isKept ? "kept" : "changed"] += 1;
        // What JSON.stringify would write again may be doubted: that costs time alone.
        if (!isKept) expect([text, scanned(text)?.isKept]).toEqual([text, false]);
      }),
      { numRuns: 5_000 },
    );
    expect(Math.min(seen.kept, seen.changed)).toBeGreaterThan(500);
  });

  it("doubts no key or number as programs write them", () => {
    const number = fc.oneof(
      fc.double({ noDefaultInfinity: true, noNaN: true }),
      fc.maxSafeInteger(),
      fc.float({ noNaN: true }),
    );
    const written = fc.oneof(
      number,
      fc.constantFrom(0, 200, 1_795_176_000_000, 1_795_176_000_000_123, 19.9, 0.05, 1e-9),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[A-Za-z_][\w.-]*$/), fc.array(written)), (value) => {
        expect(scanned(JSON.stringify(value, null, "\t"))?.isKept).toBe(true);
      }),
    );
  });

  it("doubts a value by itself alone, not by one before it", () => {
    const bytes = encodeUtf8('[1.0,{"a":1},{"1":1},{"a":"\\\\"},{"\\n":1}]');
    const scanner = new JsonScanner(bytes, 0, bytes.length, { key: literal('"Event"'), levels: 9 });
    const kept: boolean[] = [];
    for (let open = scanner.passes("["); open; open = scanner.passes(",")) kept.push(scanner.value() && scanner.isKept);
    expect(kept).toEqual([false, true, false, true, false]);
  });

  it("bounds the levels below one key of an object, and no others", () => {
    const isDeep = (text: string): boolean | undefined => scanned(text, 3)?.isDeep;
    expect(isDeep('{"a":[[[[]]]],"Event":{"c":{"d":{}}}}')).toBe(true);
    expect(isDeep('{"Event":{"c":{"d":1}},"a":[[[[]]]]}')).toBe(false);
    expect(isDeep('{"a":{"Event":[[[]]]}}')).toBe(false);
    expect(isDeep('[{"Event":[[[]]]}]')).toBe(false);
  });

  it("takes millions of levels, and no more memory than a bit for each", () => {
    const deep = `${"[".repeat(2_000_000)}${"]".repeat(2_000_000)}`;
    expect(scanned(`{"Event":${deep}}`)?.isDeep).toBe(true);
    expect(scanned(deep)?.isDeep).toBe(false);
    expect(scanned(deep.slice(0, -1))).toBe(null);
    expect(scanned('{"a":'.repeat(500_000))).toBe(null);
  });
});

describe("white space around a text", () => {
  it("is what String.trim takes away", () => {
    const chars = [..."\t\n\u000b\f\r \u00a0\u1680\u2000\u2005\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"];
    const others = [..."a\u0085\u180e\u200b\u0000\u200c\u2060é€\u00a1\u3001"];
    const text = fc.array(
      fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom(...chars) },
        { weight: 1, arbitrary: fc.constantFrom(...others) },
      ),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(text, (all) => {
        const bytes = encodeUtf8(`\u3000${all.join("")}\u3000`);
        const { from, to } = trimmed(bytes, 3, bytes.length - 3);
        const left = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(from, to));
        expect(left).toBe(all.join("").trim());
      }),
      { numRuns: 5_000 },
    );
  });

  it("is all that there is", () => {
    for (let code = 0; code <= 0xffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const char = String.fromCharCode(code);
      const bytes = encodeUtf8(char);
      const { from, to } = trimmed(bytes, 0, bytes.length);
      if ((from === to) !== (char.trim() === "")) throw new Error(`U+${code.toString(16)}`);
    }
  });
});
