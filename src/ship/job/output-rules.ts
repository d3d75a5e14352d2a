import * as z from "zod";
import { utf8Length } from "../../base/bytes.ts";
import type { Fault } from "../../base/errors.ts";
import { FIELD_MAX_USES, RECORD_TEXT_MAX_BYTES } from "../../base/limits.ts";
import { quote } from "../../formats/filter/fields.ts";
import { NDJSON, type OutputFormat, recordLayout } from "../../formats/output/format.ts";
import { compileTemplate } from "../../formats/output/template.ts";
import {
  ALL_FIELDS,
  type ExtraField,
  FIELD_NAMES,
  isExtraField,
  isFieldName,
  isOff,
  isRowField,
  ROW_FIELD_NAMES,
} from "../../formats/record/fields.ts";
import { TEXT_NAMES, TEXTS } from "./fields.ts";
import { type OutputOptions, TIMESTAMP_FORMATS } from "./job-schema.ts";

/** The meaning of `output_options`, with all defaults. */
export interface OutputMeaning {
  output: OutputFormat;
  /** Above 0, at most 1. */
  sampleRate: number;
}

/**
 * Reads options of the right shape. Null means absent; "" means "". `timestamp_format` and
 * `merge_subrequests` have no effect: the times of a trace event are in ms by name, and it has no
 * subrequests to merge.
 * @param extra fields that are on.
 * @returns the faults with JSON pointers into `options`.
 */
export function readOutputOptions(
  options: OutputOptions,
  extra: readonly ExtraField[] = [],
): { ok: true; value: OutputMeaning } | { ok: false; faults: Fault[] } {
  const output = withDefaults(options);
  const names = nameFaults(options.field_names ?? [], extra, output.rows === "log");
  const faults = [...names, ...(output.type === "parquet" ? columnFaults(options) : textFaults(output))];
  if (options.escape_formulas && output.type !== "csv")
    faults.push({ pointer: "/escape_formulas", message: "escape_formulas: only CSV is opened as cells; leave it out" });
  return faults.length > 0
    ? { ok: false, faults }
    : { ok: true, value: { output, sampleRate: options.sample_rate ?? 1 } };
}

/** The format of options, without a check of field names. */
export function withDefaults(options: OutputOptions): OutputFormat {
  const csv = options.output_type === "csv";
  const names = options.field_names ?? [];
  const fieldNames = names.length === 0 ? null : (names as OutputFormat["fieldNames"]);
  // Absent by default: stored formats are compared as they are.
  const whole = options.truncate === false && ({ truncate: false } as const);
  const rows = options.rows === "log" && ({ rows: "log" } as const);
  if (options.output_type === "parquet") return { ...NDJSON, type: "parquet", fieldNames, ...whole, ...rows };
  const defaults: OutputFormat = csv ? { ...NDJSON, type: "csv", recordPrefix: "", recordSuffix: "\n" } : NDJSON;
  const texts = TEXT_NAMES.map((name) => [TEXTS[name].of, options[name] ?? defaults[TEXTS[name].of]]);
  return {
    ...defaults,
    fieldNames,
    ...Object.fromEntries(texts),
    recordTemplate: options.record_template ?? "",
    escapeDollarBrace: options["CVE-2021-44228"] ?? false,
    ...(csv && options.escape_formulas === true && ({ escapeFormulas: true } as const)),
    ...whole,
    ...rows,
  };
}

function nameFaults(names: readonly string[], extra: readonly ExtraField[], hasRows: boolean): Fault[] {
  const named = new Set<string>();
  const known: readonly string[] = hasRows ? ROW_FIELD_NAMES : FIELD_NAMES;
  return names.flatMap((name, i) => {
    const pointer = `/field_names/${i}`;
    if (isExtraField(name) && !extra.includes(name)) return [{ pointer, message: isOff(name) }];
    if (![ALL_FIELDS, ...known].includes(name) && !isExtraField(name)) return [{ pointer, message: whyUnknown(name) }];
    if (named.has(name)) return [{ pointer, message: `field ${name} is named twice` }];
    named.add(name);
    return [];
  });
}

function whyUnknown(name: string): string {
  if (isRowField(name)) return `field ${name} is one of rows: set "rows" to "log"`;
  if (isFieldName(name)) return `field ${name} is none of rows, of which each is one of its entries: "rows" is "log"`;
  return `unknown field ${quote(name)}`;
}

/** What cannot be done to columns. The empty text and false ask for nothing. */
function columnFaults(options: OutputOptions): Fault[] {
  const fault = (name: string, why: string): Fault => ({ pointer: `/${name}`, message: `${name}: Parquet has ${why}` });
  const faults = ([...TEXT_NAMES, "record_template"] as const)
    .filter((name) => options[name])
    .map((name) => fault(name, "columns, and no text around or between values; leave it out"));
  if (options["CVE-2021-44228"]) faults.push(fault("CVE-2021-44228", "values as they are; leave it out"));
  return faults;
}

function textFaults(output: OutputFormat): Fault[] {
  const template = compileTemplate(output.recordTemplate);
  if (!template.ok) return [{ pointer: "/record_template", message: `bad template: ${template.why}` }];
  const faults: Fault[] = [];
  const { texts, fields } = recordLayout(output);
  for (const [name, uses] of Map.groupBy(fields, (field) => field)) {
    if (output.recordTemplate !== "" && uses.length > FIELD_MAX_USES) {
      const message = `bad template: field ${name} is used ${uses.length} times; at most ${FIELD_MAX_USES}`;
      faults.push({ pointer: "/record_template", message });
    }
  }
  const bytes = utf8Length(texts.join("") + output.recordDelimiter);
  if (bytes > RECORD_TEXT_MAX_BYTES) {
    const message = `prefix, suffix, delimiters and template add ${bytes} bytes to every record; at most ${RECORD_TEXT_MAX_BYTES}`;
    faults.push({ pointer: "", message });
  }
  return faults;
}

/**
 * Reads `fields=A,B&sample=0.1&timestamps=rfc3339&CVE-2021-44228=true`, the older form of some of
 * the same options. Names and values are percent-decoded; `+` stays `+`.
 * @returns the options that could be read, and the faults of the others; `since`: where a new job
 *   starts, for clients whose jobs have no such field.
 */
export function parseLogpullOptions(text: string): { options: OutputOptions; since?: string; faults: string[] } {
  const read: OutputOptions & { since?: string } = {};
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = percentDecoded(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? null : percentDecoded(pair.slice(equals + 1));
    const shown = quote(name ?? pair);
    if (name === null) faults.push(`${shown} is not valid percent-encoding`);
    else if (seen.has(name)) faults.push(`${shown} is there twice`);
    else if (!isLogpullName(name)) faults.push(`unknown option ${shown}`);
    else {
      const must = value === null ? "must have a percent-encoded value" : LOGPULL[name](value, read);
      if (must !== null) faults.push(`${name} ${must}`);
    }
    if (name !== null) seen.add(name);
  }
  const { since, ...options } = read;
  return { options, ...(since && { since }), faults: faults.map((fault) => `logpull_options: ${fault}`) };
}

/** The options by name. Each sets its value, or returns what it must be. */
const LOGPULL = {
  fields(value: string, options: OutputOptions): string | null {
    options.field_names = value === "" ? [] : value.split(",");
    return null;
  },
  sample(value: string, options: OutputOptions): string | null {
    const rate = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(value) ? Number(value) : 0;
    if (!(rate > 0 && rate <= 1)) return "must be a number above 0, at most 1";
    options.sample_rate = rate;
    return null;
  },
  timestamps(value: string, options: OutputOptions): string | null {
    const format = TIMESTAMP_FORMATS.find((known) => known === value);
    if (format === undefined) return `must be one of ${TIMESTAMP_FORMATS.join(", ")}`;
    options.timestamp_format = format;
    return null;
  },
  "CVE-2021-44228"(value: string, options: OutputOptions): string | null {
    if (value !== "true" && value !== "false") return "must be true or false";
    options["CVE-2021-44228"] = value === "true";
    return null;
  },
  since(value: string, read: { since?: string }): string | null {
    if (!z.iso.datetime({ offset: true }).safeParse(value).success) return "must be a time as in RFC 3339";
    read.since = value;
    return null;
  },
};

function isLogpullName(name: string): name is keyof typeof LOGPULL {
  return Object.hasOwn(LOGPULL, name);
}

function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
