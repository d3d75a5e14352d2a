import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonFaultAt } from "../../../src/formats/filter/json-fault.ts";

/** Texts with `^` before the fault; at the end of the text: it ends too early. */
const marked = [
  "^",
  "  ^",
  "^x",
  '^"a',
  '^"a\n"',
  '^"\\u12g4"',
  '"\\u12F4\\"\\n" ^x',
  "{^",
  "{^,}",
  '{"a"^}',
  '{"a":1 ^"b":2}',
  '{"a":1,^}',
  '{"a":1^]',
  '{"a":{"b":[1,{}]}^',
  "[1,^]",
  "[1,^",
  "[1 ^2]",
  "[^truth]",
  "[^nul",
  "[0^1]",
  "[^-]",
  "[1^.]",
  "[1^e]",
  "{}^{}",
  "1^:",
  "\t\n\r [ ^\u00a0]",
  "^\ufeff{}",
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

  it("is found in a text of any length and depth", () => {
    expect(jsonFaultAt("[".repeat(1_000_000))).toBe(1_000_000);
    expect(jsonFaultAt(`${'{"a":['.repeat(100_000)}${"]}".repeat(100_000)}]`)).toBe(800_000);
    expect(jsonFaultAt(`"${"a\\n".repeat(500_000)}`)).toBe(0);
    expect(jsonFaultAt(`[${" ".repeat(1_000_000)}`)).toBe(1_000_001);
    expect(jsonFaultAt(`[${"9".repeat(1_000_000)}x`)).toBe(1_000_001);
  });
});

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** The closing brackets for those open at the end of a text; strings are skipped by hand. */
function closing(text: string): string {
  const open: string[] = [];
  for (let i = 0, inString = false; i < text.length; i++) {
    const char = text[i] ?? "";
    if (inString && char === "\\") i += 1;
    else if (char === '"') inString = !inString;
    else if (!inString && char === "{") open.push("}");
    else if (!inString && char === "[") open.push("]");
    else if (!inString && (char === "}" || char === "]")) open.pop();
  }
  return open.reverse().join("");
}

/** Whether a text of whole tokens can be continued to valid JSON, judged by `JSON.parse`. */
function canGoOn(text: string): boolean {
  return ["", "0", '"":0', ":0"].some((next) => isJson(`${text} ${next}${closing(text)}`));
}

/** The token at the start of a text, if complete. */
const firstToken = (text: string): string | undefined =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings must not have them
  /^(?:[{}[\]:,]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/.exec(
    text,
  )?.[0];

/** JSON with one insertion, deletion or change. */
const damaged = fc
  .tuple(
    fc.json({ maxDepth: 3 }),
    fc.nat(),
    // Nothing, a little, or the whole rest.
    fc.constantFrom(0, 0, 1, 2, Number.MAX_SAFE_INTEGER),
    fc.constantFrom("", "", ...'{}[]:,"\\ \n0-.eE+truefalsn', '""', '"a":', "null", "\u00a0", "\ud800"),
  )
  .map(([text, pick, drop, put]) => {
    const at = pick % (text.length + 1);
    return text.slice(0, at) + put + text.slice(at + drop);
  });

describe("where damaged JSON stops being JSON", () => {
  it("is behind all that can go on and at what cannot: no token before it is at fault, and the one there is", () => {
    const answers = { fault: 0, tooShort: 0 };
    fc.assert(
      fc.property(
        damaged.filter((text) => !isJson(text)),
        (text) => {
          const at = jsonFaultAt(text);
          expect(at >= 0 && at <= text.length).toBe(true);
          const before = text.slice(0, at);
          expect(canGoOn(before), JSON.stringify(before)).toBe(true);
          if (at === text.length) {
            answers.tooShort += 1;
            return;
          }
          const token = firstToken(text.slice(at));
          // An incomplete string or number is not a token.
          if (token !== undefined) expect(canGoOn(before + token), JSON.stringify(before + token)).toBe(false);
          answers.fault += 1;
        },
      ),
      { numRuns: 3_000 },
    );
    expect(Math.min(answers.fault, answers.tooShort)).toBeGreaterThan(20);
  });
});
