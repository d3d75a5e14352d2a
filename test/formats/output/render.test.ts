import { describe, expect, it } from "vitest";
import { batchTexts, contentType, NDJSON, type OutputFormat } from "../../../src/formats/output/format.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_NAMES, type TraceRecord } from "../../../src/formats/record/fields.ts";
import { OutputOptions } from "../../../src/ship/job/job-schema.ts";
import { withDefaults } from "../../../src/ship/job/output-rules.ts";
import docs from "../../fixtures/output-options/docs-vectors.json";
import own from "../../fixtures/output-options/own-vectors.json";
import { recordOf, traceRecord } from "../record/samples.ts";
import { encoderOf, format, objectText } from "./object.ts";

const optionsOf = (sent: unknown): OutputFormat => withDefaults(OutputOptions.parse(sent));

/** A record of another dataset, its numbers as they are written: some are beyond 2^53. */
function exactRecord(line: string): TraceRecord {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  const reviver = (_key: string, value: unknown, context?: { source: string }): unknown =>
    typeof value === "number" ? rawJSON(context?.source ?? "") : value;
  return JSON.parse(line, reviver) as TraceRecord;
}

describe("the renderings in the vendor's documentation", () => {
  const records = docs.records_ndjson.map(exactRecord);

  it.each(docs.vectors.map((vector) => [vector.name, vector] as const))(
    "are ours, byte for byte: %s",
    (_name, vector) => {
      for (const groups of [[records], records.map((record) => [record])])
        expect(objectText(optionsOf(vector.output_options), groups)).toBe(vector.expected);
    },
  );

  it.each(docs.vectors.flatMap(({ output_options, defaults }) => (defaults ? [{ output_options, defaults }] : [])))(
    "have these defaults: $defaults",
    ({ output_options, defaults }) => {
      expect(optionsOf({ ...defaults, ...output_options })).toEqual(optionsOf(output_options));
      const { recordPrefix, recordSuffix, fieldDelimiter } = optionsOf(output_options);
      expect({ record_prefix: recordPrefix, record_suffix: recordSuffix, field_delimiter: fieldDelimiter }).toEqual({
        record_prefix: "",
        ...defaults,
      });
    },
  );
});

describe("the same for trace events", () => {
  const records = own.records as TraceRecord[];

  it.each(own.vectors.map((vector) => [vector.name, vector] as const))("is, byte for byte: %s", (_name, vector) => {
    expect(objectText(optionsOf(vector.output_options), [records])).toBe(vector.expected);
  });
});

describe("the encoder of a job", () => {
  it("takes pieces of the line as they are, whatever a parser would have made of them", () => {
    const line = recordLine(traceRecord())
      .replace('"CPUTimeMs":0', '"CPUTimeMs":0.0')
      .replace('"WallTimeMs":0', '"WallTimeMs":0.0');
    const shipped = (fields: Partial<OutputFormat>) => encoderOf(format(fields))(traceRecord(), line);
    expect(shipped({})).toBe(`${line}\n`);
    expect(shipped({ fieldNames: [...FIELD_NAMES] })).toBe(`${line}\n`);
    expect(shipped({ recordPrefix: '[{"a":1,', recordSuffix: "}]" })).toBe(`[{"a":1,${line.slice(1)}]`);
    expect(shipped({ fieldNames: ["WallTimeMs", "CPUTimeMs", "DispatchNamespace"] })).toBe(
      '{"WallTimeMs":0.0,"CPUTimeMs":0.0,"DispatchNamespace":""}\n',
    );
    expect(shipped({ type: "csv", fieldNames: ["WallTimeMs"], recordPrefix: "", recordSuffix: "" })).toBe("0.0");
  });

  it("turns lone surrogates into U+FFFD, so that all of it is UTF-8", () => {
    const record = recordOf({ Event: { "a\udc00": "\ud800" }, Outcome: "\udfff", ScriptName: "\\ud800" });
    for (const type of ["ndjson", "csv"] as const) {
      const encode = encoderOf(format({ type, recordPrefix: "", recordSuffix: "", fieldNames: ["Event", "Outcome"] }));
      expect(encode(record).replaceAll('""', '"')).toMatch(/\{"a\ufffd":"\ufffd"\}"?,("Outcome":)?"\ufffd"$/);
      expect(encode(record)).not.toMatch(/\\u/);
    }
    expect(encoderOf(format({ fieldNames: ["ScriptName"] }))(record)).toBe('{"ScriptName":"\\\\ud800"}\n');
    expect(encoderOf(NDJSON)(record)).toBe(encoderOf(NDJSON)(record, recordLine(record)));
  });

  it("writes null for a field that a record does not have", () => {
    const bare = { Outcome: "ok" } as TraceRecord;
    expect(encoderOf(format({ fieldNames: ["Outcome", "Event"] }))(bare)).toBe('{"Outcome":"ok","Event":null}\n');
    const csv = format({ type: "csv", fieldNames: ["Outcome", "Event"], recordPrefix: "", recordSuffix: "\n" });
    expect(encoderOf(csv)(bare)).toBe('"ok",null\n');
  });

  it("says at once that a stored template does not compile, and where", () => {
    const broken = format({ recordTemplate: "ab{{ if }}" });
    const message = /^record template: offset 5: "if" is not supported/;
    expect(() => encoderOf(broken)).toThrow(message);
    expect(() => batchTexts(broken)).toThrow(message);
  });
});

describe("the texts of an object", () => {
  it("are the options in UTF-8, what looks like a byte order mark included", () => {
    const texts = batchTexts(format({ batchPrefix: "\ufeffA,€\n", batchSuffix: "\u{1f600}", recordDelimiter: "${" }));
    const read = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    expect([texts.prefix, texts.delimiter, texts.suffix].map((bytes) => read.decode(bytes))).toEqual([
      "\ufeffA,€\n",
      "${",
      "\u{1f600}",
    ]);
  });

  it("say what they are", () => {
    expect(contentType(NDJSON)).toBe("application/x-ndjson");
    expect(contentType(format({ type: "csv" }))).toBe("text/csv");
  });
});
