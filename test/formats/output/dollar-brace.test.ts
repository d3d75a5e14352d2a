import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchTexts, NDJSON, type OutputFormat, writtenFields } from "../../../src/formats/output/format.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { FieldName, TraceRecord } from "../../../src/formats/record/fields.ts";
import { traceRecord } from "../record/samples.ts";
import { encoderOf, format, objectText } from "./object.ts";

const text = fc.string({ unit: fc.constantFrom("$", "{", "x"), maxLength: 2 });
/** Braces that would open an action of nothing are taken out. */
const template = fc
  .array(
    fc.oneof(text, fc.constantFrom("{{.Event}}", "{{.Outcome}}", "{{.Unknown}}", '{{"$"}}', "{{`{`}}", "{{/* */}}")),
    { maxLength: 3 },
  )
  .map((parts) => parts.join("").replaceAll(/\{\{(?![./"`])|\{(?=\{\{)/g, "x"));
/** Formats in which a `$` may meet a `{` anywhere. */
const formats: fc.Arbitrary<OutputFormat> = fc.record({
  fieldNames: fc.constantFrom<FieldName[] | null>(null, ["Event"], ["Outcome", "Event"]),
  type: fc.constantFrom("ndjson" as const, "csv" as const),
  batchPrefix: text,
  batchSuffix: text,
  recordPrefix: text,
  recordSuffix: text,
  recordDelimiter: text,
  fieldDelimiter: text,
  recordTemplate: template,
  escapeDollarBrace: fc.constant(true),
});
const value = fc.string({ unit: fc.constantFrom("$", "{", "${", "x"), maxLength: 3 });
const record = fc
  .record({ Outcome: value, Event: fc.dictionary(value, value, { maxKeys: 2 }) })
  .map((fields) => traceRecord(fields));
/** Records by append. */
const groups = fc.array(fc.array(record, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });

/** Where the pieces of an object end, in the same order as they are written. */
function ends(output: OutputFormat, records: readonly TraceRecord[]): Set<number> {
  const encode = encoderOf(output);
  const { batchPrefix, recordDelimiter } = output;
  const pieces = [batchPrefix, ...records.flatMap((each, i) => [i === 0 ? "" : recordDelimiter, encode(each)])];
  let at = 0;
  return new Set(pieces.map((piece) => (at += piece.length)));
}

describe("CVE-2021-44228", () => {
  it("leaves no ${ in an object, neither in a text or value nor where two of them meet", () => {
    fc.assert(
      fc.property(formats, groups, (output, appends) => {
        expect(objectText(output, appends)).not.toContain("${");
      }),
      { numRuns: 1_500 },
    );
  });

  it("changes nothing but the $ of a ${, or one at the end of a text", () => {
    fc.assert(
      fc.property(formats, groups, (output, appends) => {
        const plain = objectText({ ...output, escapeDollarBrace: false }, appends);
        const escaped = objectText(output, appends);
        const encode = encoderOf(output);
        for (const each of appends.flat()) expect(encode(each, recordLine(each))).toBe(encode(each));
        const seams = ends({ ...output, escapeDollarBrace: false }, appends.flat());
        expect(escaped.length).toBe(plain.length);
        for (let i = 0; i < plain.length; i++) {
          if (escaped[i] === plain[i]) continue;
          expect([plain[i], escaped[i]]).toEqual(["$", "x"]);
          expect(plain[i + 1] === "{" || seams.has(i + 1)).toBe(true);
        }
      }),
      { numRuns: 1_500 },
    );
  });

  const two = [traceRecord({ Outcome: "a" }), traceRecord({ Outcome: "b${c" })];
  const whole: [what: string, fields: Partial<OutputFormat>, object: string][] = [
    ["in a value", {}, '{"Outcome":"a"}\n{"Outcome":"bx{c"}\n'],
    ["in the batch texts", { batchPrefix: "${", batchSuffix: "$${{$" }, 'x{{"Outcome":"a"}\n{"Outcome":"bx{c"}\n$x{{$'],
    ["from batch prefix to record", { batchPrefix: "$" }, 'x{"Outcome":"a"}\n{"Outcome":"bx{c"}\n'],
    ["from record to delimiter", { recordSuffix: "}$", recordDelimiter: "{" }, '{"Outcome":"a"}x{{"Outcome":"bx{c"}x'],
    ["from delimiter to record", { recordDelimiter: "$" }, '{"Outcome":"a"}\nx{"Outcome":"bx{c"}\n'],
    ["from record to record", { recordSuffix: "}$" }, '{"Outcome":"a"}x{"Outcome":"bx{c"}x'],
    [
      "from batch prefix to delimiter, with nothing between",
      {
        batchPrefix: "$",
        recordPrefix: "",
        recordSuffix: "",
        recordTemplate: "{{/* nothing */}}",
        recordDelimiter: "{",
      },
      "x{",
    ],
  ];

  it.each(whole)("finds a ${ %s", (_what, fields, object) => {
    expect(objectText(format({ fieldNames: ["Outcome"], escapeDollarBrace: true, ...fields }), [two])).toBe(object);
  });

  const harmless: [what: string, fields: Partial<OutputFormat>][] = [
    ["a record's end, before another delimiter", { recordSuffix: "}$", recordDelimiter: "\n{" }],
    ["a delimiter, before another prefix", { recordDelimiter: "$", recordPrefix: "[{" }],
    ["a delimiter, before a value that is a string", { recordDelimiter: "$", recordPrefix: "", type: "csv" }],
    ["a batch prefix, before a name", { batchPrefix: "$", recordPrefix: "" }],
    ["the very end", { batchSuffix: "$" }],
    ["a $ that stands alone", { batchPrefix: "$ {", recordSuffix: "$}" }],
  ];

  it.each(harmless)("leaves a $ where no { follows: %s", (_what, fields) => {
    const output = format({ fieldNames: ["ScriptName", "ScriptVersion"], recordDelimiter: "\n", ...fields });
    const plain = objectText(output, [two]);
    expect(plain).toContain("$");
    expect(objectText({ ...output, escapeDollarBrace: true }, [two])).toBe(plain);
  });

  it("is off unless asked for", () => {
    const output = format({ batchPrefix: "$", fieldNames: ["Outcome"] });
    expect(objectText(output, [two])).toBe(`\${"Outcome":"a"}\n{"Outcome":"b\${c"}\n`);
    expect(new TextDecoder().decode(batchTexts(output).prefix)).toBe("$");
  });
});

describe("what is written of records", () => {
  it("is less where a text is replaced: a copy with all of it holds what one without has, too", () => {
    const [replaced, whole] = [true, false].map((escapeDollarBrace) => writtenFields({ ...NDJSON, escapeDollarBrace }));
    expect([(replaced ?? 0) & (whole ?? 0), replaced === whole]).toEqual([replaced, false]);
  });
});
