import { describe, expect, it } from "vitest";
import { readJob } from "../../src/control/job-rules.ts";
import type { JobBody, OutputOptions } from "../../src/control/job-schema.ts";
import { NDJSON } from "../../src/pipeline/output-format.ts";
import { FIELD_NAMES } from "../../src/record/fields.ts";

const body = (fields: Partial<JobBody> = {}): JobBody => ({
  dataset: "functions_trace_events",
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
      output: NDJSON,
      limits: { bytes: 100_000_000, records: 100_000, intervalMs: 30_000 },
    });
  });

  const nothing: [what: string, fields: Partial<JobBody>][] = [
    [
      "null",
      {
        output_options: null,
        filter: null,
        logpull_options: null,
        max_upload_bytes: null,
        max_upload_records: null,
        max_upload_interval_seconds: null,
        name: null,
        frequency: null,
      },
    ],
    [
      "empty or zero",
      {
        output_options: {},
        filter: "",
        logpull_options: "",
        max_upload_bytes: 0,
        max_upload_records: 0,
        max_upload_interval_seconds: 0,
        name: "",
        frequency: "",
      },
    ],
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
    expect(meaning({ output_options }).output.fieldNames).toEqual(["Outcome"]);
    const nulls = Object.fromEntries(Object.keys(output_options).map((name) => [name, null])) as OutputOptions;
    expect(meaning({ output_options: nulls })).toEqual(meaning());
  });
});

describe("what a job may not ask for yet", () => {
  const unsupported: OutputOptions[] = [
    { output_type: "csv" },
    { batch_prefix: "[" },
    { batch_suffix: "]" },
    { record_prefix: "" },
    { record_suffix: "}" },
    { record_delimiter: "," },
    { field_delimiter: "\t" },
    { record_template: "{{ .Outcome }}" },
    { timestamp_format: "rfc3339" },
    { sample_rate: 0.5 },
    { "CVE-2021-44228": true },
  ];

  it.each(unsupported)("is refused by name, never stored and ignored: %j", (output_options) => {
    const [name] = Object.keys(output_options);
    expect(faults({ output_options })).toEqual([
      [`/output_options/${name}`, `output_options.${name} is not supported by this version`],
    ]);
  });

  const wrong: [what: string, fields: Partial<JobBody>, faults: [pointer: string, message: string][]][] = [
    [
      "a filter",
      { filter: '{"where":{"key":"Outcome","operator":"eq","value":"ok"}}' },
      [["/filter", "filters are not supported by this version"]],
    ],
    [
      "an unknown field",
      { output_options: { field_names: ["Outcome", "RayID"] } },
      [["/output_options/field_names/1", 'unknown field "RayID"']],
    ],
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
      "an unknown field of logpull_options",
      { logpull_options: "fields=Outcome,RayID" },
      [["/logpull_options", 'unknown field "RayID"']],
    ],
    [
      "a timestamp format of logpull_options",
      { logpull_options: "timestamps=rfc3339" },
      [["/logpull_options", "logpull_options: timestamps is not supported by this version"]],
    ],
    [
      "a sample of logpull_options",
      { logpull_options: "fields=Outcome&sample=0.1" },
      [["/logpull_options", "logpull_options: sample is not supported by this version"]],
    ],
    [
      "a replacement of logpull_options",
      { logpull_options: "CVE-2021-44228=true" },
      [["/logpull_options", "logpull_options: CVE-2021-44228 is not supported by this version"]],
    ],
    [
      "an unknown option of logpull_options",
      { logpull_options: "since=1" },
      [["/logpull_options", 'logpull_options: unknown option "since"']],
    ],
    [
      "an option named like something of every object",
      { logpull_options: "constructor=1" },
      [["/logpull_options", 'logpull_options: unknown option "constructor"']],
    ],
    [
      "all of it at once",
      { filter: "{}", output_options: { output_type: "csv", sample_rate: 0.1, field_names: ["X", "Y"] } },
      [
        ["/output_options/output_type", "output_options.output_type is not supported by this version"],
        ["/output_options/sample_rate", "output_options.sample_rate is not supported by this version"],
        ["/output_options/field_names/0", 'unknown field "X"'],
        ["/output_options/field_names/1", 'unknown field "Y"'],
        ["/filter", "filters are not supported by this version"],
      ],
    ],
  ];

  it.each(wrong)("is refused with its place in the body: %s", (_what, fields, expected) => {
    expect(faults(fields)).toEqual(expected);
  });
});
