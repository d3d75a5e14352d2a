import { encodeUtf8 } from "../../base/bytes.ts";
import { ALL_FIELDS, EXTRA_FIELDS, FIELD_NAMES, type OutputField, ROW_FIELD_NAMES } from "../record/fields.ts";
import { compileTemplate, type TemplatePart } from "./template.ts";

/**
 * How a job's records are written: `output_options` (or `logpull_options`), checked, with every
 * default filled in.
 */
export interface OutputFormat {
  /** In this order; null: all fields in canonical order, none of the extra ones. */
  fieldNames: (OutputField | typeof ALL_FIELDS)[] | null;
  /** Of `parquet`, fields and rows count: its texts are those of {@link NDJSON}. */
  type: "ndjson" | "csv" | "parquet";
  batchPrefix: string;
  batchSuffix: string;
  recordPrefix: string;
  recordSuffix: string;
  /** Between two records. */
  recordDelimiter: string;
  fieldDelimiter: string;
  /** Replaces the joined fields between record prefix and suffix; "": none. */
  recordTemplate: string;
  /** `CVE-2021-44228`: every `${` becomes `x{`. */
  escapeDollarBrace: boolean;
  /** Of CSV: a text that a spreadsheet takes for a formula gets a `'` before it; absent: not. */
  escapeFormulas?: true;
  /** Texts of `Exceptions` and `Logs` are shipped whole; absent: truncated. */
  truncate?: false;
  /** A row for each log line and exception, see rows.ts; absent: a record for each invocation. */
  rows?: "log";
}

/** What a job without options writes. */
export const NDJSON: OutputFormat = {
  fieldNames: null,
  type: "ndjson",
  batchPrefix: "",
  batchSuffix: "",
  recordPrefix: "{",
  recordSuffix: "}\n",
  recordDelimiter: "",
  fieldDelimiter: ",",
  recordTemplate: "",
  escapeDollarBrace: false,
};

/**
 * What keeps records from being lines of JSON objects, and nothing else: none, the type, or texts.
 */
export function unplain(format: OutputFormat): readonly (keyof OutputFormat)[] {
  if (format.type !== NDJSON.type) return ["type"];
  const { fieldNames, escapeDollarBrace } = format;
  const plain: OutputFormat = { ...NDJSON, fieldNames, escapeDollarBrace };
  return (Object.keys(plain) as (keyof OutputFormat)[]).filter((name) => format[name] !== plain[name]);
}

/** Whether records are written as their canonical lines, and nothing else. */
export function isAsItCame(format: OutputFormat): boolean {
  const isPlain = unplain(format).length === 0 && !format.escapeDollarBrace && format.rows === undefined;
  return isPlain && namesOf(format).join() === FIELD_NAMES.join();
}

/** Bits of what is written of a record: new fields go behind those of their list. */
const EXTRA_BITS = 16;
const AS_IT_IS_BIT = 29;
const WHOLE_TEXTS_BIT = 30;

/**
 * What is written of each record, a bit each, if its lines are records with the time of their
 * event; null: a search cannot tell which records they are.
 */
export function writtenFields(format: OutputFormat): number | null {
  const names = namesOf(format);
  const isRecord = unplain(format).every((name) => name === "type") && format.type !== "csv" && !format.rows;
  if (!isRecord || !names.includes("EventTimestampMs")) return null;
  const whole = format.truncate === false ? 1 << WHOLE_TEXTS_BIT : 0;
  return bitsOfNames(names) | whole | (format.escapeDollarBrace ? 0 : 1 << AS_IT_IS_BIT);
}

function bitsOfNames(names: readonly string[]): number {
  const bitOf = (list: readonly string[], name: string, from: number): number =>
    list.includes(name) ? 1 << (from + list.indexOf(name)) : 0;
  return names.reduce((all, name) => all | bitOf(FIELD_NAMES, name, 0) | bitOf(EXTRA_FIELDS, name, EXTRA_BITS), 0);
}

/** The bits of what is written of these fields, as {@link writtenFields} has them; null: of all. */
export function bitsOf(fields: ReadonlySet<string> | null): number {
  if (fields === null) return -1;
  const isText = fields.has("Logs") || fields.has("Exceptions");
  return bitsOfNames([...fields]) | (isText ? 1 << WHOLE_TEXTS_BIT : 0);
}

/** How many fields these are. */
export function countBits(fields: number): number {
  let bits = 0;
  for (let left = fields; left !== 0; left &= left - 1) bits += 1;
  return bits;
}

/**
 * The parts of a record, in order: the first text, the first field's value, the second text, …, the
 * last text. One more text than fields.
 */
export interface RecordLayout {
  texts: string[];
  fields: string[];
}

/**
 * Puts record prefix, template or joined fields, and record suffix into one list.
 * @throws Error if the template does not compile; a stored one was found to compile when it was
 *   sent.
 */
export function recordLayout(format: OutputFormat): RecordLayout {
  const body = format.recordTemplate === "" ? joinedFields(format) : templateParts(format);
  const layout: RecordLayout = { texts: [format.recordPrefix], fields: [] };
  const write = (text: string): void => {
    layout.texts[layout.texts.length - 1] += text;
  };
  for (const part of body) {
    if ("text" in part) write(part.text);
    else {
      layout.fields.push(part.field);
      layout.texts.push("");
    }
  }
  write(format.recordSuffix);
  return layout;
}

function joinedFields(format: OutputFormat): TemplatePart[] {
  return namesOf(format).flatMap((field, i) => {
    const delimiter = i === 0 ? "" : format.fieldDelimiter;
    const key = format.type === "csv" ? "" : `${JSON.stringify(field)}:`;
    return [{ text: delimiter + key }, { field }];
  });
}

function templateParts(format: OutputFormat): TemplatePart[] {
  const template = compileTemplate(format.recordTemplate);
  if (!template.ok) throw new Error(`record template: ${template.why}`);
  const chosen = new Set(namesOf(format));
  return template.parts.map((part) => ("text" in part || chosen.has(part.field) ? part : { text: "null" }));
}

/** The fields that are written, in their order. */
export function namesOf(format: Pick<OutputFormat, "fieldNames" | "rows">): readonly string[] {
  const { fieldNames, rows } = format;
  const all: readonly OutputField[] = rows === "log" ? ROW_FIELD_NAMES : FIELD_NAMES;
  if (fieldNames === null) return all;
  const others = all.filter((name) => !fieldNames.includes(name));
  return fieldNames.flatMap((name) => (name === ALL_FIELDS ? others : [name]));
}

/** The texts around the records of an object, as they are written: final, in UTF-8. */
export interface BatchTexts {
  prefix: Uint8Array<ArrayBuffer>;
  delimiter: Uint8Array<ArrayBuffer>;
  suffix: Uint8Array<ArrayBuffer>;
}

/** @throws Error as {@link recordLayout}. */
export function batchTexts(format: OutputFormat): BatchTexts {
  const { beforeRecord } = dollarSeams(format);
  const text = (value: string, braceMayFollow: boolean): Uint8Array<ArrayBuffer> =>
    encodeUtf8(format.escapeDollarBrace ? escapeDollarBrace(value, braceMayFollow) : value);
  return {
    prefix: text(format.batchPrefix, beforeRecord),
    delimiter: text(format.recordDelimiter, beforeRecord),
    suffix: text(format.batchSuffix, false),
  };
}

/**
 * After which texts of an object a `{` may come, so that a `$` at their end is the first half of a
 * `${`.
 */
export interface DollarSeams {
  /** After the batch prefix and after the record delimiter. */
  beforeRecord: boolean;
  /** After a record. */
  afterRecord: boolean;
}

/**
 * An object is written in independent pieces: prefix, record, delimiter, record, …, suffix. What
 * may follow which of them depends on the format alone, except for two things: whether a record is
 * the last, and how a value begins that begins a record. There, a `{` is assumed.
 * @throws Error as {@link recordLayout}.
 */
export function dollarSeams(format: OutputFormat): DollarSeams {
  const { texts, fields } = recordLayout(format);
  // As a CSV value, even an object begins with a quote.
  const value = fields.length === 0 ? "" : format.type === "csv" ? '"' : "{";
  const record = texts[0] || value;
  const { recordDelimiter: delimiter, batchSuffix: suffix } = format;
  const braceIn = (...next: string[]): boolean => next.some((text) => text.startsWith("{"));
  // Without texts and fields every record is empty, and what follows it comes at once.
  const beforeRecord = record === "" ? braceIn(delimiter, suffix) : braceIn(record);
  return { beforeRecord, afterRecord: braceIn(delimiter || record, suffix) };
}

/** Every `${` as `x{`; so, too, a `$` at the very end if the `{` may follow. */
export function escapeDollarBrace(text: string, braceMayFollow: boolean): string {
  const escaped = text.replaceAll("${", "x{");
  return braceMayFollow && escaped.endsWith("$") ? `${escaped.slice(0, -1)}x` : escaped;
}

const CONTENT_TYPES: { readonly [type in OutputFormat["type"]]: string } = {
  ndjson: "application/x-ndjson",
  csv: "text/csv",
  parquet: "application/vnd.apache.parquet",
};

/** The media type of an object's content before compression; of Parquet, that of the object. */
export function contentType({ type }: OutputFormat): string {
  return CONTENT_TYPES[type];
}
