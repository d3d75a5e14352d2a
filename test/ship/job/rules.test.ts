import { describe, expect, it } from "vitest";
import { NDJSON, type OutputFormat } from "../../../src/formats/output/format.ts";
import { FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import { type JobBody, OutputOptions } from "../../../src/ship/job/job-schema.ts";
import { parseLogpullOptions } from "../../../src/ship/job/output-rules.ts";
import { extraFieldsOf, fitDestination, readJob } from "../../../src/ship/job/rules.ts";
import docs from "../../fixtures/output-options/docs-vectors.json";

const body = (fields: Partial<JobBody> = {}): JobBody => ({
  dataset: "functions_trace_events",
  spelled: {},
  destination_conf: "s3://x",
  ...fields,
});

function meaning(fields: Partial<JobBody> = {}) {
  const read = readJob(body(fields));
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  return read.value;
}

function faults(fields: Partial<JobBody>): [pointer: string, message: string][] {
  const read = readJob(body(fields));
  return read.ok ? [] : read.faults.map(({ pointer, message }) => [pointer, message]);
}

describe("what a job's body means", () => {
  it("is, when it says nothing: all fields, 100 MB, 100,000 records, 30 s", () => {
    expect(meaning()).toEqual({
      filter: null,
      sampleRate: 1,
      canary: false,
      output: NDJSON,
      limits: { bytes: 100_000_000, records: 100_000, intervalMs: 30_000 },
    });
  });

  const limitsOf = <T>(value: T) => ({
    ...{ max_upload_bytes: value, max_upload_records: value, max_upload_interval_seconds: value },
  });
  const textsOf = <T>(value: T) => ({ filter: value, logpull_options: value, name: value, frequency: value });
  const nothing: [what: string, fields: object][] = [
    ["null", { ...limitsOf(null), ...textsOf(null), output_options: null }],
    ["empty or zero", { ...limitsOf(0), ...textsOf(""), output_options: {} }],
    ["no field names", { output_options: { field_names: [] } }],
    ["null for field names", { output_options: { field_names: null } }],
  ];

  it.each(nothing)("is the same for %s as for nothing", (_what, fields) => {
    expect(meaning(fields)).toEqual(meaning());
  });

  it("is what it says of the limits", () => {
    expect(
      meaning({ max_upload_bytes: 5_000_000, max_upload_records: 1_000, max_upload_interval_seconds: 300 }).limits,
    ).toEqual({ bytes: 5_000_000, records: 1_000, intervalMs: 300_000 });
  });

  it("is the fields that it names, in their order", () => {
    const names = [...FIELD_NAMES].reverse();
    expect(meaning({ output_options: { field_names: names } }).output.fieldNames).toEqual(names);
    expect(meaning({ logpull_options: `fields=${names.join(",")}` }).output.fieldNames).toEqual(names);
  });

  it("follows logpull_options only where output_options are absent or null", () => {
    const logpull_options = "fields=Outcome&timestamps=unixnano&sample=1&CVE-2021-44228=false";
    expect(meaning({ logpull_options }).output.fieldNames).toEqual(["Outcome"]);
    expect(meaning({ logpull_options, output_options: null }).output.fieldNames).toEqual(["Outcome"]);
    expect(meaning({ logpull_options, output_options: {} }).output.fieldNames).toBeNull();
    expect(meaning({ logpull_options, output_options: { field_names: ["Event"] } }).output.fieldNames).toEqual([
      "Event",
    ]);
  });

  it("takes an option that says what is done anyway", () => {
    const output_options: OutputOptions = {
      field_names: ["Outcome"],
      output_type: "ndjson",
      batch_prefix: "",
      batch_suffix: "",
      record_prefix: "{",
      record_suffix: "}\n",
      record_delimiter: "",
      field_delimiter: ",",
      record_template: "",
      timestamp_format: "unixnano",
      sample_rate: 1,
      "CVE-2021-44228": false,
      merge_subrequests: true,
    };
    expect(meaning({ output_options })).toEqual(meaning({ output_options: { field_names: ["Outcome"] } }));
    const nulls = Object.fromEntries(Object.keys(output_options).map((name) => [name, null])) as OutputOptions;
    expect(meaning({ output_options: nulls })).toEqual(meaning());
  });

  it("is the filter as it was sent, if it is one", () => {
    const filter = ' {"where": {"key":"Outcome","operator":"eq","value":"ok"} }';
    expect(meaning({ filter }).filter).toBe(filter);
    expect(meaning({ filter: "" }).filter).toBeNull();
    expect(meaning({ filter: null }).filter).toBeNull();
  });

  const CSV = { type: "csv", recordPrefix: "", recordSuffix: "\n" } as const;
  const options: [output_options: OutputOptions, output: Partial<OutputFormat>][] = [
    [{ output_type: "csv" }, CSV],
    [{ output_type: "csv", record_prefix: null, record_suffix: null, field_delimiter: null }, CSV],
    [
      { output_type: "csv", record_prefix: "{" },
      { ...CSV, recordPrefix: "{" },
    ],
    [
      { output_type: "csv", record_suffix: "" },
      { ...CSV, recordSuffix: "" },
    ],
    [
      { output_type: "csv", field_delimiter: "\t" },
      { ...CSV, fieldDelimiter: "\t" },
    ],
    [{ batch_prefix: "[" }, { batchPrefix: "[" }],
    [{ batch_suffix: "]" }, { batchSuffix: "]" }],
    [{ record_prefix: "" }, { recordPrefix: "" }],
    [{ record_suffix: "" }, { recordSuffix: "" }],
    [{ record_suffix: "}" }, { recordSuffix: "}" }],
    [{ record_delimiter: "," }, { recordDelimiter: "," }],
    [{ field_delimiter: "" }, { fieldDelimiter: "" }],
    [{ record_template: "{{ .Outcome }}" }, { recordTemplate: "{{ .Outcome }}" }],
    [{ "CVE-2021-44228": true }, { escapeDollarBrace: true }],
    [{ field_names: ["Event", "Outcome"] }, { fieldNames: ["Event", "Outcome"] }],
    [{ timestamp_format: "rfc3339ns" }, {}],
    [{ merge_subrequests: false }, {}],
  ];

  it.each(options)("is, with the options %j", (output_options, output) => {
    expect(meaning({ output_options })).toEqual({ ...meaning(), output: { ...NDJSON, ...output } });
  });

  it("is the share of records that it names", () => {
    expect(meaning({ output_options: { sample_rate: 0.25 } })).toEqual({ ...meaning(), sampleRate: 0.25 });
    expect(meaning({ logpull_options: "sample=0.25" })).toEqual({ ...meaning(), sampleRate: 0.25 });
    expect(meaning({ logpull_options: "sample=0.25", output_options: {} }).sampleRate).toBe(1);
  });
});

describe("logpull_options", () => {
  it("say what output_options say, in the vendor's own example of both", () => {
    const { logpull_options, output_options } = docs.logpull_migration;
    expect(parseLogpullOptions(logpull_options)).toEqual({ options: output_options, faults: [] });
  });

  const same: [logpull_options: string, output_options: OutputOptions][] = [
    ["", {}],
    ["fields=", {}],
    [
      "fields=Outcome,Event&sample=0.1&timestamps=rfc3339&CVE-2021-44228=true",
      { field_names: ["Outcome", "Event"], sample_rate: 0.1, "CVE-2021-44228": true },
    ],
    ["sample=1e-3", { sample_rate: 0.001 }],
    ["sample=.5", { sample_rate: 0.5 }],
  ];

  it.each(same)("%j say what output_options say", (logpull_options, output_options) => {
    expect(meaning({ logpull_options })).toEqual(meaning({ output_options }));
  });

  const SAMPLE = "logpull_options: sample must be a number above 0, at most 1";
  const TIMESTAMPS = "logpull_options: timestamps must be one of unixnano, unix, rfc3339, rfc3339ms, rfc3339ns";
  const CVE = "logpull_options: CVE-2021-44228 must be true or false";
  const wrong: [logpull_options: string, ...messages: string[]][] = [
    ["fields=Outcome,", 'unknown field ""'],
    ["fields=Outcome, Event", 'unknown field " Event"'],
    ["fields=Outcome,Outcome", "field Outcome is named twice"],
    ["fields", "logpull_options: fields must have a percent-encoded value"],
    ["fields=%ff", "logpull_options: fields must have a percent-encoded value"],
    ["fields=Outcome&fields=Event", 'logpull_options: "fields" is there twice'],
    ["sample=0", SAMPLE],
    ["sample=1e-999", SAMPLE],
    ["sample=1.01", SAMPLE],
    ["sample=+0.5", SAMPLE],
    ["sample=0x1", SAMPLE],
    ["sample=0.1=", SAMPLE],
    ["timestamps=", TIMESTAMPS],
    ["timestamps=RFC3339", TIMESTAMPS],
    ["CVE-2021-44228=1", CVE],
    ["CVE-2021-44228=TRUE", CVE],
    ["since=1", "logpull_options: since must be a time as in RFC 3339"],
    ["constructor=1", 'logpull_options: unknown option "constructor"'],
    ["=1", 'logpull_options: unknown option ""'],
    ["%zz=1", 'logpull_options: "%zz=1" is not valid percent-encoding'],
    [`${"x".repeat(100)}=1`, `logpull_options: unknown option "${"x".repeat(60)}…"`],
    [
      "sample=2&timestamps=x&fields=X&y=z",
      SAMPLE,
      TIMESTAMPS,
      'logpull_options: unknown option "y"',
      'unknown field "X"',
    ],
  ];

  it.each(wrong)("are refused, naming the option: %s", (logpull_options, ...messages) => {
    expect(faults({ logpull_options })).toEqual(messages.map((message) => ["/logpull_options", message]));
    expect(faults({ logpull_options, output_options: null }).length).toBe(messages.length);
    // Options without effect are checked, too: they may come into force later.
    expect(faults({ logpull_options, output_options: {} }).length).toBe(messages.length);
    const both = faults({ logpull_options, output_options: { field_names: ["RayID"] } });
    expect(both.length).toBe(messages.length + 1);
  });
});

describe("a job of Parquet", () => {
  const parquet = (options: OutputOptions): Partial<JobBody> => ({
    output_options: { ...options, output_type: "parquet" },
  });

  it("has fields, a sample, and nothing else", () => {
    expect(meaning(parquet({})).output).toEqual({ ...NDJSON, type: "parquet" });
    const named = meaning(parquet({ field_names: ["Logs", "Event"], sample_rate: 0.5, timestamp_format: "rfc3339" }));
    expect(named).toMatchObject({ output: { fieldNames: ["Logs", "Event"] }, sampleRate: 0.5 });
  });

  it("takes no text around values, and says so of each option", () => {
    const texts = ["batch_prefix", "batch_suffix", "record_prefix", "record_suffix", "record_delimiter"] as const;
    for (const name of [...texts, "field_delimiter", "record_template"] as const) {
      const message = `${name}: Parquet has columns, and no text around or between values; leave it out`;
      expect(faults(parquet({ [name]: "x" }))).toEqual([[`/output_options/${name}`, message]]);
      expect(meaning(parquet({ [name]: "" }))).toEqual(meaning(parquet({})));
      expect(meaning(parquet({ [name]: null }))).toEqual(meaning(parquet({})));
    }
    expect(faults(parquet({ "CVE-2021-44228": true, field_names: ["X"] }))).toEqual([
      ["/output_options/field_names/0", 'unknown field "X"'],
      ["/output_options/CVE-2021-44228", "CVE-2021-44228: Parquet has values as they are; leave it out"],
    ]);
    expect(meaning(parquet({ "CVE-2021-44228": false }))).toEqual(meaning(parquet({})));
  });

  it("has rows and whole texts if asked, and extra fields that are on", () => {
    expect(meaning(parquet({ rows: "log" })).output).toEqual({ ...NDJSON, type: "parquet", rows: "log" });
    expect(meaning(parquet({ rows: "invocation" }))).toEqual(meaning(parquet({})));
    expect(meaning(parquet({ truncate: false })).output).toEqual({ ...NDJSON, type: "parquet", truncate: false });
    const asked = (name: string) => readJob(body(parquet({ field_names: [name] })), ["Source", "RequestCF"]);
    for (const name of ["Source", "RequestCF"]) expect(asked(name)).toMatchObject({ ok: true });
    expect(asked("Truncated")).toMatchObject({ ok: false, faults: [{ pointer: "/output_options/field_names/0" }] });
    for (const options of [{ rows: "log" as const, field_names: ["Logs"] }, { field_names: ["Level"] }])
      expect(faults(parquet(options)).map(([pointer]) => pointer)).toEqual(["/output_options/field_names/0"]);
  });

  it("has a store: no receiver takes it", () => {
    const { output, limits } = meaning(parquet({}));
    const terms = {
      repeats: { once: false, id: "x" },
      fields: [],
      limits: null,
      isReadable: false,
      shows: "record",
    } as const;
    const at = (plainRecords: boolean, isReadable: boolean) =>
      fitDestination({ output, limits }, parquet({}), { ...terms, plainRecords, isReadable }).faults;
    expect(at(false, true)).toEqual([]);
    const pointer = "/output_options/output_type";
    expect(at(false, false)).toEqual([
      { pointer, message: "output_type: this destination takes requests of text: no Parquet" },
    ]);
    expect(at(true, false)).toMatchObject([{ pointer }]);
  });
});

describe("formulas in CSV", () => {
  it("are escaped if that is asked for, and in CSV alone", () => {
    const csv = (escape_formulas: boolean | null) => ({
      output_options: { output_type: "csv" as const, escape_formulas },
    });
    expect(meaning(csv(true)).output.escapeFormulas).toBe(true);
    for (const off of [false, null]) expect(meaning(csv(off)).output).not.toHaveProperty("escapeFormulas");
    for (const output_type of ["ndjson", "parquet", null] as const) {
      expect(faults({ output_options: { output_type, escape_formulas: true } })).toEqual([
        ["/output_options/escape_formulas", "escape_formulas: only CSV is opened as cells; leave it out"],
      ]);
      expect(faults({ output_options: { output_type, escape_formulas: false } })).toEqual([]);
    }
  });
});

describe("what a job may not ask for", () => {
  const wide = "€".repeat(4_096);
  const wrong: [what: string, fields: Partial<JobBody>, faults: [pointer: string, message: string][]][] = [
    [
      "a field of other letters",
      { output_options: { field_names: ["outcome"] } },
      [["/output_options/field_names/0", 'unknown field "outcome"']],
    ],
    [
      "a field twice",
      { output_options: { field_names: ["Outcome", "Event", "Outcome"] } },
      [["/output_options/field_names/2", "field Outcome is named twice"]],
    ],
    [
      "a template that does not compile",
      { output_options: { record_template: "{{ .Outcome }} {{ if .Event }}" } },
      [
        [
          "/output_options/record_template",
          'bad template: offset 18: "if" is not supported, only {{ .Field }}, {{ "constant" }} and {{/* comment */}} are',
        ],
      ],
    ],
    [
      "a template that writes a field again and again",
      { output_options: { record_template: "{{.Event}}".repeat(5) + "{{.Outcome}}".repeat(4) } },
      [["/output_options/record_template", "bad template: field Event is used 5 times; at most 4"]],
    ],
    [
      "more text around a record than a record is worth",
      { output_options: { field_names: ["Outcome"], record_prefix: wide, record_suffix: "", record_delimiter: wide } },
      [["/output_options", "prefix, suffix, delimiters and template add 24586 bytes to every record; at most 16384"]],
    ],
  ];

  it.each(wrong)("is refused with its place in the body: %s", (_what, fields, expected) => {
    expect(faults(fields)).toEqual(expected);
  });

  it("is counted with what is written only: not comments, not other fields, not a template's own delimiter", () => {
    const comment = `{{/* ${"x".repeat(16_000)} */}}`;
    expect(faults({ output_options: { record_template: comment, field_delimiter: wide } })).toEqual([]);
    const others = "{{.Event}}".repeat(5);
    expect(faults({ output_options: { record_template: others, field_names: ["Outcome"] } })).toEqual([]);
  });

  const texts = [
    "batch_prefix",
    "batch_suffix",
    "record_prefix",
    "record_suffix",
    "record_delimiter",
    "field_delimiter",
  ];

  it.each([...texts.map((name) => [name, 4_096] as const), ["record_template", 16_384] as const])(
    "is a text that no UTF-8 can hold, or too long a one: %s",
    (name, max) => {
      const whole = (text: string) => OutputOptions.safeParse({ [name]: text }).success;
      expect(["", "\u{1f600}", "x".repeat(max), "\u0000"].map(whole)).toEqual([true, true, true, true]);
      expect(["\ud83d", "\ude00x", "x".repeat(max + 1)].map(whole)).toEqual([false, false, false]);
    },
  );
});

it("names the extra fields that a job ships, or goes by", () => {
  const output: OutputFormat = { ...NDJSON, fieldNames: ["Outcome", "Source"] };
  const filter = '{"where":{"key":"Truncated","operator":"eq","value":true}}';
  expect(extraFieldsOf({ output, filter })).toEqual(["Source", "Truncated"]);
  expect(extraFieldsOf({ output, filter: null })).toEqual(["Source"]);
});
