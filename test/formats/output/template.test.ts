import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileTemplate } from "../../../src/formats/output/template.ts";
import type { FieldName, TraceRecord } from "../../../src/formats/record/fields.ts";
import go from "../../fixtures/output-options/go-templates.json";
import { traceRecord } from "../record/samples.ts";
import { encoderOf, format } from "./object.ts";

const bare = { recordPrefix: "", recordSuffix: "" };

function why(template: string): string {
  const compiled = compileTemplate(template);
  if (compiled.ok) throw new Error(`taken: ${JSON.stringify(compiled.parts)}`);
  return compiled.why;
}

describe("a record template", () => {
  const fields = Object.entries(go.fields).map(([name, json]) => [name, JSON.parse(json)]);
  const record = traceRecord(Object.fromEntries(fields) as Partial<TraceRecord>);

  it.each(go.vectors)("prints what it prints in Go: $template", ({ template, output }) => {
    expect(encoderOf(format({ ...bare, recordTemplate: template }))(record)).toBe(output);
  });

  it("stands between prefix and suffix, in place of the joined fields", () => {
    expect(encoderOf(format({ recordTemplate: "{{.Outcome}}", fieldDelimiter: "never" }))(record)).toBe('{"ok"}\n');
  });

  it("prints null for a field that is not among the chosen ones, or is none", () => {
    const recordTemplate = "{{.Outcome}} {{.ScriptName}} {{.Typo}} {{.constructor}} {{.__proto__}}";
    const print = (fieldNames: FieldName[] | null) =>
      encoderOf(format({ ...bare, recordTemplate, fieldNames }))(record);
    expect(print(["Outcome"])).toBe('"ok" null null null null');
    expect(print(null)).toBe('"ok" "shop" null null null');
  });

  it("holds what it is made of, texts put together", () => {
    expect(compileTemplate('a{{"b"}}{{/* c */}}{{.D}}{{""}}{{.E}}')).toEqual({
      ok: true,
      parts: [{ text: "ab" }, { field: "D" }, { field: "E" }],
    });
    expect(compileTemplate("")).toEqual({ ok: true, parts: [] });
  });

  const only = ', only {{ .Field }}, {{ "constant" }} and {{/* comment */}} are';
  const refused: [template: string, why: string][] = [
    ["{{if .Outcome}}x{{end}}", `offset 2: "if" is not supported${only}`],
    ["{{ range .Logs }}", `offset 3: "range" is not supported${only}`],
    ["ab{{- else -}}", `offset 6: "else" is not supported${only}`],
    ['{{template "x"}}', `offset 2: "template" is not supported${only}`],
    ['{{define "x"}}', `offset 2: "define" is not supported${only}`],
    ['{{block "x" .}}', `offset 2: "block" is not supported${only}`],
    ["{{with .Event}}", `offset 2: "with" is not supported${only}`],
    ["{{true}}", `offset 2: "true" is not supported${only}`],
    ["{{nil}}", `offset 2: "nil" is not supported${only}`],
    ['{{printf "%s" .Outcome}}', `offset 2: the function "printf" is not supported${only}`],
    ["{{Outcome}}", `offset 2: the function "Outcome" is not supported${only}`],
    ["{{.Outcome | len}}", `offset 11: a pipeline is not supported${only}`],
    ['{{"x"|print}}', `offset 5: a pipeline is not supported${only}`],
    ["{{| .Outcome}}", `offset 2: a pipeline is not supported${only}`],
    ["{{$}}", `offset 2: a variable is not supported${only}`],
    ["{{$x := .Outcome}}", `offset 2: a variable is not supported${only}`],
    ["{{(.Outcome)}}", `offset 2: a parenthesis is not supported${only}`],
    ["{{.}}", `offset 2: "." without the name of a field is not supported${only}`],
    ["{{ . }}", `offset 3: "." without the name of a field is not supported${only}`],
    ["{{.Event.Request}}", `offset 8: a field of a field is not supported${only}`],
    ["{{12}}", `offset 2: a number is not supported${only}`],
    ["{{-3}}", `offset 2: a number is not supported${only}`],
    ["{{.5}}", `offset 2: a number is not supported${only}`],
    ["{{'x'}}", `offset 2: a character constant is not supported${only}`],
    ["{{}}", `offset 2: an empty action is not supported${only}`],
    ["x{{ -}}", `offset 3: an empty action is not supported${only}`],
    ["{{.Outcome", "offset 10: the action is not closed"],
    ["ab{{", "offset 4: the action is not closed"],
    ["{{.Outcome }", 'offset 11: an action is one field or one constant: unexpected "}"'],
    ["{{.Outcome .Event}}", 'offset 11: an action is one field or one constant: unexpected ".Event}}"'],
    ['{{.Outcome"x"}}', 'offset 10: an action is one field or one constant: unexpected "\\"x\\"}}"'],
    ["{{.Outcome-}}", 'offset 10: an action is one field or one constant: unexpected "-}}"'],
    ['{{"a"-}}', 'offset 5: an action is one field or one constant: unexpected "-}}"'],
    ["{{- -}}", 'offset 4: unexpected "-}}"'],
    ["{{-.Outcome}}", 'offset 2: unexpected "-.Outcome}}"'],
    ["{{.Outcome\u00a0}}", 'offset 10: an action is one field or one constant: unexpected "\u00a0}}"'],
    ["{{{.Outcome}}}", 'offset 2: unexpected "{.Outcome}}}"'],
    ["{{%}}", 'offset 2: unexpected "%}}"'],
    ["{{😀 and much more behind it}}", 'offset 2: unexpected "😀 and much m"'],
    ['{{"open}}', "offset 2: the constant is not closed"],
    ['{{"two\nlines"}}', "offset 2: the constant is not closed"],
    ['{{"end\\"}}', "offset 2: the constant is not closed"],
    ["{{`open}}", "offset 2: the constant is not closed"],
    ["{{/* open }}", "offset 2: the comment is not closed"],
    ["{{/*/}}", "offset 2: the comment is not closed"],
    ["{{/* a */ }}", 'offset 9: a comment ends at the closing braces: "*/}}" or "*/ -}}"'],
    ["{{/* a */.Outcome}}", 'offset 9: a comment ends at the closing braces: "*/}}" or "*/ -}}"'],
    ["{{ /* a */}}", 'offset 3: a comment begins at the opening braces: "{{/*" or "{{- /*"'],
    ['{{"a\\q"}}', 'offset 4: "\\\\q" begins no escape sequence of Go\'s strings'],
    [`{{"\\'"}}`, `offset 3: "\\\\'" begins no escape sequence of Go's strings`],
    ['{{"\\x4"}}', 'offset 3: "\\\\x4" begins no escape sequence of Go\'s strings'],
    ['{{"\\12"}}', 'offset 3: "\\\\12" begins no escape sequence of Go\'s strings'],
    ['{{"\\400"}}', 'offset 3: "\\\\400" begins no escape sequence of Go\'s strings'],
    ['{{"\\u00e"}}', 'offset 3: "\\\\u00e" begins no escape sequence of Go\'s strings'],
    ['{{"\\ud83d\\ude00"}}', 'offset 3: "\\\\ud83d\\\\ude00" begins no escape sequence of Go\'s strings'],
    ['{{"\\U00110000"}}', 'offset 3: "\\\\U00110000" begins no escape sequence of Go\'s strings'],
    ['{{"\\xff"}}', "offset 3: the bytes of the constant are not valid UTF-8"],
    ['{{"\\xe2\\x82"}}{{"\\xac"}}', "offset 3: the bytes of the constant are not valid UTF-8"],
  ];

  it.each(refused)("is refused with the place and what stands there: %s", (template, message) => {
    expect(why(template)).toBe(message);
  });

  it("is refused or compiled, whatever it is, and never throws", () => {
    const unit = fc.constantFrom(
      "{{",
      "}}",
      "{{- ",
      " -}}",
      ".A",
      '"',
      "`",
      "\\",
      "x41",
      "/*",
      "*/",
      " ",
      "\n",
      "|",
      "😀",
      "a",
    );
    fc.assert(
      fc.property(fc.string({ unit }), (source) => {
        const compiled = compileTemplate(source);
        if (!compiled.ok) expect(compiled.why).toMatch(/^offset \d+: [^\n]+$/);
        else expect(compiled.parts.every((part) => ("text" in part ? part.text !== "" : part.field !== ""))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it("of the largest size is read, whatever it is full of", () => {
    const size = 16_000;
    expect(compileTemplate("{{.A}}".repeat(size / 8)).ok).toBe(true);
    expect(compileTemplate(`{{"${"\\n".repeat(size / 2)}"}}`)).toEqual({
      ok: true,
      parts: [{ text: "\n".repeat(size / 2) }],
    });
    expect(why(`{{"${"x".repeat(size)}`)).toBe("offset 2: the constant is not closed");
    expect(why(`{{.A${" ".repeat(size)}`)).toBe(`offset ${size + 4}: the action is not closed`);
    expect(why(`${" ".repeat(size)}{{- if}}`)).toMatch(`offset ${size + 4}: "if"`);
    expect(why(`{{${"a".repeat(size)}}}`).length).toBeLessThan(150);
  });
});
