import { UPLOAD_BYTES, UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../limits.ts";
import { NDJSON, type OutputFormat } from "../pipeline/output-format.ts";
import { type FieldName, isFieldName } from "../record/fields.ts";
import type { Fault } from "../record/record.ts";
import type { UploadLimits } from "./job-config.ts";
import type { JobBody, OutputOptions } from "./job-schema.ts";

/** What a job's body means, once everything in it is known to be carried out. */
export interface JobMeaning {
  filter: string | null;
  sampleRate: number;
  output: OutputFormat;
  limits: UploadLimits;
}

/** Defaults of the options that are not carried out otherwise yet: sending one is the same as not sending it. */
const NEUTRAL: { readonly [key in keyof OutputOptions]?: unknown } = {
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
};

/**
 * Reads a body of the right shape. An option that this version does not carry out is refused, never stored and ignored.
 * @returns the reasons why not, each with its place in the body.
 */
export function readJob(body: JobBody): { ok: true; value: JobMeaning } | { ok: false; faults: Fault[] } {
  const faults: Fault[] = [];
  const fieldNames =
    body.output_options == null
      ? fromLogpull(body.logpull_options ?? "", faults)
      : fromOptions(body.output_options, faults);
  if (body.filter) faults.push({ pointer: "/filter", message: "filters are not supported by this version" });
  if (faults.length > 0) return { ok: false, faults };
  const limits = {
    bytes: body.max_upload_bytes || UPLOAD_BYTES.fallback,
    records: body.max_upload_records || UPLOAD_RECORDS.fallback,
    intervalMs: (body.max_upload_interval_seconds || UPLOAD_INTERVAL_S.fallback) * 1_000,
  };
  return { ok: true, value: { filter: null, sampleRate: 1, output: { ...NDJSON, fieldNames }, limits } };
}

function fromOptions(options: OutputOptions, faults: Fault[]): FieldName[] | null {
  for (const [name, neutral] of Object.entries(NEUTRAL)) {
    const value = options[name as keyof OutputOptions];
    if (value === undefined || value === null || value === neutral) continue;
    faults.push({
      pointer: `/output_options/${name}`,
      message: `output_options.${name} is not supported by this version`,
    });
  }
  return readFieldNames(options.field_names ?? [], "/output_options/field_names", faults);
}

const LOGPULL_NEUTRAL: ReadonlyMap<string, string> = new Map([
  ["timestamps", "unixnano"],
  ["sample", "1"],
  ["CVE-2021-44228", "false"],
]);

/** `fields=A,B&timestamps=…&sample=…&CVE-2021-44228=…`, the older way to say the same; honoured where `output_options` is absent. */
function fromLogpull(text: string, faults: Fault[]): FieldName[] | null {
  const pointer = "/logpull_options";
  let names: string[] = [];
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const [name = "", value = ""] = pair.split("=", 2);
    const neutral = LOGPULL_NEUTRAL.get(name);
    if (name === "fields") names = value.split(",").filter((field) => field !== "");
    else if (neutral === undefined)
      faults.push({ pointer, message: `logpull_options: unknown option ${JSON.stringify(name)}` });
    else if (value !== neutral)
      faults.push({ pointer, message: `logpull_options: ${name} is not supported by this version` });
  }
  return readFieldNames(names, pointer, faults);
}

function readFieldNames(names: readonly string[], pointer: string, faults: Fault[]): FieldName[] | null {
  const known: FieldName[] = [];
  names.forEach((name, i) => {
    const at = pointer === "/logpull_options" ? pointer : `${pointer}/${i}`;
    if (!isFieldName(name)) faults.push({ pointer: at, message: `unknown field ${JSON.stringify(name)}` });
    else if (known.includes(name)) faults.push({ pointer: at, message: `field ${name} is named twice` });
    else known.push(name);
  });
  return known.length === 0 ? null : known;
}
