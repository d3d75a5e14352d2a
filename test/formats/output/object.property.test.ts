import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_NAMES, type TraceRecord } from "../../../src/formats/record/fields.ts";
import { OutputOptions } from "../../../src/ship/job/job-schema.ts";
import { readOutputOptions } from "../../../src/ship/job/output-rules.ts";
import { anyRecord } from "../record/samples.ts";
import { encoderOf, objectText } from "./object.ts";

/*
 * A slow reading of CONTRACT section 5: it takes the options as they were sent and the values as a
 * parser of JSON has them, and shares nothing with the code under test. `${` is another test's
 * subject.
 */

function slowObject(options: OutputOptions, records: readonly TraceRecord[]): string {
  const csv = options.output_type === "csv";
  const or = (value: string | null | undefined, fallback: string): string => value ?? fallback;
  const chosen = options.field_names ?? [];
  const names: readonly string[] = chosen.length === 0 ? FIELD_NAMES : chosen;
  const valueText = (record: TraceRecord, name: string): string => {
    const value = new Map<string, unknown>(Object.entries(record)).get(name);
    const json = JSON.stringify(value);
    if (!csv) return json;
    if (typeof value === "object") return `"${json.split('"').join('""')}"`;
    if (typeof value !== "string") return json;
    // A quote is six characters that every reader of JSON and of CSV takes for one.
    return `"${[...value].map((char) => (char === '"' ? "\\u0022" : JSON.stringify(char).slice(1, -1))).join("")}"`;
  };
  const written = records.map((record) => {
    const template = options.record_template ?? "";
    const body =
      template === ""
        ? names
            .map((name) => (csv ? "" : `"${name}":`) + valueText(record, name))
            .join(or(options.field_delimiter, ","))
        : template
            .split(/(\{\{ \.\w+ \}\})/)
            .map((piece) => {
              const name = /^\{\{ \.(\w+) \}\}$/.exec(piece)?.[1];
              if (name === undefined) return piece;
              return names.includes(name) ? valueText(record, name) : "null";
            })
            .join("");
    return or(options.record_prefix, csv ? "" : "{") + body + or(options.record_suffix, csv ? "\n" : "}\n");
  });
  return or(options.batch_prefix, "") + written.join(or(options.record_delimiter, "")) + or(options.batch_suffix, "");
}

const text = fc.option(
  fc.oneof(
    fc.constantFrom("", ",", "\t", "[", "]", "\ufeff", "€", '"', "\\", "$&", "$1"),
    fc.string({ unit: "grapheme", maxLength: 6 }),
  ),
);
const template = fc
  .array(
    fc.constantFrom("{{ .Outcome }}", "{{ .Event }}", "{{ .constructor }}", "{{ .Typo }}", "a", " ", "\n", '"', "$&"),
    {
      maxLength: 5,
    },
  )
  .map((pieces) => pieces.join(""));
const sent = fc.record(
  {
    field_names: fc.option(fc.shuffledSubarray([...FIELD_NAMES])),
    output_type: fc.constantFrom("ndjson" as const, "csv" as const, null),
    batch_prefix: text,
    batch_suffix: text,
    record_prefix: text,
    record_suffix: text,
    record_delimiter: text,
    field_delimiter: text,
    record_template: fc.option(template),
    timestamp_format: fc.constantFrom("unix" as const, "rfc3339" as const, null),
    "CVE-2021-44228": fc.constantFrom(false, null),
  },
  { requiredKeys: [] },
);

/** Records full of what CSV and JSON have to write in another way. */
const hostile = fc.string({ unit: fc.constantFrom('"', "\\", ",", "\n", "\t", "$&", "é", "{"), maxLength: 4 });
const record: fc.Arbitrary<TraceRecord> = fc
  .tuple(anyRecord, hostile, hostile)
  .map(([each, a, b]) => ({ ...each, Outcome: a, ScriptTags: [b], Event: { [a]: b }, DispatchNamespace: b }));

describe("an object of records", () => {
  it("is what a slow reading of the options writes, whatever is set, null, empty or absent", () => {
    let templates = 0;
    fc.assert(
      fc.property(sent, fc.array(fc.array(record, { minLength: 1, maxLength: 2 }), { maxLength: 3 }), (raw, groups) => {
        const options = OutputOptions.parse(raw);
        const read = readOutputOptions(options);
        // A template may write a field so often and no more.
        fc.pre(read.ok);
        if (options.record_template) templates += 1;
        expect(objectText(read.value.output, groups)).toBe(slowObject(options, groups.flat()));
        // Out of the lines in which records travel, it is the same.
        const encode = encoderOf(read.value.output);
        for (const each of groups.flat()) expect(encode(each, recordLine(each))).toBe(encode(each));
      }),
      { numRuns: 1_000 },
    );
    expect(templates).toBeGreaterThan(100);
  });
});
