import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { compileTemplate, type TemplatePart } from "../../../src/formats/output/template.ts";

/** An action as it is written, and what it prints: a text, a field, or, as a comment, nothing. */
interface Action {
  source: string;
  part: TemplatePart | null;
  trimsBefore: boolean;
  trimsAfter: boolean;
}

const space = fc.string({ unit: fc.constantFrom(" ", "\t", "\r", "\n"), maxLength: 2 });
const content = fc.string({
  unit: fc.constantFrom("a", '"', "\\", "`", "\n", "\r", "\t", " ", "{{", "}}", "é", "€", "\u{1f600}", "\u0000", "$"),
  maxLength: 5,
});

/**
 * One character as Go's interpreted strings may have it. https://go.dev/ref/spec#String_literals
 */
function escapes(char: string): fc.Arbitrary<string> {
  const code = char.codePointAt(0) ?? 0;
  const bytes = [...encodeUtf8(char)];
  const ways = [
    bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join(""),
    bytes.map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
    `\\U${code.toString(16).padStart(8, "0")}`,
  ];
  if (code <= 0xffff) ways.push(`\\u${code.toString(16).toUpperCase().padStart(4, "0")}`);
  const simple = { "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\" }[char];
  if (simple !== undefined) ways.push(simple);
  if (!['"', "\\", "\n"].includes(char)) ways.push(char);
  return fc.constantFrom(...ways);
}

const quoted = content.chain((text) =>
  fc.tuple(...[...text].map(escapes)).map((chars) => ({ operand: `"${chars.join("")}"`, part: { text } })),
);
const raw = content
  .map((text) => text.replaceAll("`", "'"))
  .map((text) => ({ operand: `\`${text}\``, part: { text: text.replaceAll("\r", "") } }));
const field = fc
  .constantFrom("Outcome", "Event", "_", "__proto__", "constructor", "a1", "é", "typo")
  .map((name) => ({ operand: `.${name}`, part: { field: name } }));

const markers = fc.record({ trimsBefore: fc.boolean(), trimsAfter: fc.boolean() });
const printing: fc.Arbitrary<Action> = fc
  .tuple(fc.oneof(quoted, raw, field), markers, space, space)
  .map(([{ operand, part }, trims, before, after]) => ({
    source: `{{${trims.trimsBefore ? "- " : ""}${before}${operand}${after}${trims.trimsAfter ? " -" : ""}}}`,
    part,
    ...trims,
  }));
const comment: fc.Arbitrary<Action> = fc.tuple(content, markers).map(([text, trims]) => ({
  source: `{{${trims.trimsBefore ? "- " : ""}/*${text.replaceAll("*/", "")}*/${trims.trimsAfter ? " -" : ""}}}`,
  part: null,
  ...trims,
}));

/** What stands between actions: no brace at its end, which would belong to what follows. */
const between = fc.string({
  unit: fc.constantFrom("x", " ", "\n", "\t", "}}", "{ ", "\u00a0", "-", '"', "€"),
  maxLength: 5,
});

const template = fc.tuple(
  between,
  fc.array(fc.tuple(fc.oneof(printing, printing, comment), between), { maxLength: 5 }),
);

/**
 * What Go would print, by the words of its manual: a marker trims the text next to it, and nothing
 * that an action prints.
 */
function meaning([head, rest]: readonly [string, (readonly [Action, string])[]]): TemplatePart[] {
  const printed: TemplatePart[] = [];
  const texts = [head, ...rest.map(([, text]) => text)];
  texts.forEach((text, i) => {
    const before = rest[i - 1]?.[0];
    const after = rest[i]?.[0];
    let left = text;
    while (before?.trimsAfter && left !== "" && " \t\r\n".includes(left.charAt(0))) left = left.slice(1);
    while (after?.trimsBefore && left !== "" && " \t\r\n".includes(left.slice(-1))) left = left.slice(0, -1);
    printed.push({ text: left });
    if (after?.part) printed.push(after.part);
  });
  const joined: TemplatePart[] = [];
  for (const part of printed) {
    const last = joined.at(-1);
    if ("text" in part && part.text === "") continue;
    if ("text" in part && last !== undefined && "text" in last)
      joined[joined.length - 1] = { text: last.text + part.text };
    else joined.push(part);
  }
  return joined;
}

const sourceOf = ([head, rest]: readonly [string, (readonly [Action, string])[]]): string =>
  head + rest.map(([action, text]) => action.source + text).join("");

describe("a record template", () => {
  it("prints what it was put together from, however its constants are written and its space is trimmed", () => {
    fc.assert(
      fc.property(template, (pieces) => {
        expect(compileTemplate(sourceOf(pieces))).toEqual({ ok: true, parts: meaning(pieces) });
      }),
      { numRuns: 3_000 },
    );
  });

  it("that was cut within an action is refused, at a place that is in it; between two it means what is left", () => {
    const answers = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(template, fc.nat(), (pieces, pick) => {
        const source = sourceOf(pieces);
        const end = pick % (source.length + 1);
        const cut = compileTemplate(source.slice(0, end));
        answers[cut.ok ? "taken" : "refused"] += 1;
        if (!cut.ok) {
          const offset = Number(/^offset (\d+): /.exec(cut.why)?.[1]);
          expect(offset >= 2 && offset <= end).toBe(true);
          return;
        }
        // Whole actions only: what follows a cut between two changes nothing but the space around
        // it.
        const fields = (parts: readonly TemplatePart[]) =>
          parts.flatMap((part) => ("field" in part ? [part.field] : []));
        const whole = fields(meaning(pieces));
        expect(fields(cut.parts)).toEqual(whole.slice(0, fields(cut.parts).length));
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(200);
  });
});
