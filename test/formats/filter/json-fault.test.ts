import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonFaultAt } from "../../../src/formats/filter/json-fault.ts";

/** Texts with `^` before the fault; at the end of the text: it ends too early. */
const marked = [
  "^",
  "  ^",
  "^x",
  "^'a'",
  '^"a',
  '^"a\n"',
  '^"\\x"',
  '^"\\u12g4"',
  '"\\u12F4\\"\\n" ^x',
  "{^",
  "{^'a':1}",
  "{^1:2}",
  "{^,}",
  "{^]",
  "{^:",
  '{"a"^}',
  '{"a" ^1',
  '{"a":^}',
  '{"a":^,"b":1}',
  '{"a":1^',
  '{"a":1 ^"b":2}',
  '{"a":1,^}',
  '{"a":1,^2',
  '{"a":1^]',
  '{"a":1^:',
  '{"a":{"b":[1,{}]}^',
  "[^",
  "[^,1]",
  "[^}",
  "[1^",
  "[1,^]",
  "[1,^",
  "[1 ^2]",
  "[1^}",
  "[^undefined]",
  "[^True]",
  "[^truth]",
  "[^nul",
  "[0^1]",
  "[^-]",
  "[^.5]",
  "[1^.]",
  "[1^e]",
  "[^+1]",
  "[^NaN]",
  "{}^{}",
  "[] ^,",
  "1^:",
  "null ^null",
  "\t\n\r [ ^\u00a0]",
  "^\ufeff{}",
  "[1]^// why",
];

describe("where a text stops being JSON", () => {
  it.each(marked)("is known: %j", (text) => {
    const at = text.indexOf("^");
    const plain = text.replace("^", "");
    expect(() => JSON.parse(plain)).toThrow(SyntaxError);
    expect(jsonFaultAt(plain)).toBe(at);
  });

  const json = fc.json({ maxDepth: 4 });

  it("is nowhere before the end of what is JSON", () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(jsonFaultAt(` ${text} `)).toBe(text.length + 2);
      }),
    );
  });

  it("is where something was put that stands in no JSON, between any two tokens", () => {
    fc.assert(
      fc.property(json, fc.nat(), fc.constantFrom("#", "'", "\0", "\\", "é"), (text, pick, stray) => {
        // A simpler tokenizer: strings, and runs of letters and digits.
        const ends = [...text.matchAll(/"(?:\\.|[^"\\])*"|[\w.+-]+|[^\s]/gs)].map(
          ({ index, 0: token }) => index + token.length,
        );
        const at = [0, ...ends][pick % (ends.length + 1)] ?? 0;
        expect(jsonFaultAt(text.slice(0, at) + stray + text.slice(at))).toBe(at);
      }),
    );
  });

  it("is the end of what was cut off, or the token that was cut", () => {
    fc.assert(
      fc.property(json, fc.nat(), (text, pick) => {
        const cut = text.slice(0, pick % text.length);
        // The rest: nothing, an open string, a word, or the continuation of a number.
        expect(cut.slice(jsonFaultAt(cut))).toMatch(/^(?:|"(?:[^"\\]|\\.)*\\?|[tfn][a-z]*|-|\.|e[+-]?)$/s);
      }),
    );
  });

  it("is found in a text of any length and depth", () => {
    expect(jsonFaultAt("[".repeat(1_000_000))).toBe(1_000_000);
    expect(jsonFaultAt(`${'{"a":['.repeat(100_000)}${"]}".repeat(100_000)}]`)).toBe(800_000);
    expect(jsonFaultAt(`"${"a\\n".repeat(500_000)}`)).toBe(0);
    expect(jsonFaultAt(`[${" ".repeat(1_000_000)}`)).toBe(1_000_001);
    expect(jsonFaultAt(`[${"9".repeat(1_000_000)}x`)).toBe(1_000_001);
  });
});
