import { copyBytes, encodeUtf8 } from "../../base/bytes.ts";
import { type ExtraField, FIELD_NAMES, isExtraField, isRowField, type RowField } from "../record/fields.ts";
import type { RecordLine } from "../record/line.ts";
import { dollarSeams, escapeDollarBrace, namesOf, type OutputFormat, recordLayout } from "./format.ts";

const COMMA = 0x2c;

/** A record, or a row of one, as the JSON texts of its fields. */
export interface FieldTexts {
  /** Neighbours in canonical order, with names and commas, by their places there. */
  run?(first: number, last: number): string;
  /** undefined: it has no field of that name. */
  text(name: string): string | undefined;
}

/** Writes records of one job as the bytes of what {@link RecordRenderer} renders. */
export interface RecordWriter {
  /** How many bytes a record takes. */
  bytes(record: RecordLine): number;
  write(record: RecordLine, into: Uint8Array, at: number): void;
}

/** Renders a record for one job: prefix, fields or template, suffix, but not the delimiter. */
export type RecordRenderer = (record: FieldTexts) => string;

/**
 * How a job's records become texts. Made once for a version of a job, used for every record. No
 * JSON is parsed, and only CSV values are written anew: the text is put together from the JSON that
 * the record came in.
 * @throws Error as `recordLayout`.
 */
export function recordRenderer(format: OutputFormat): RecordRenderer {
  const render = renderer(format);
  if (!format.escapeDollarBrace) return render;
  const { afterRecord } = dollarSeams(format);
  return (record) => escapeDollarBrace(render(record), afterRecord);
}

function renderer(format: OutputFormat): RecordRenderer {
  const { texts, fields } = recordLayout(format);
  const { recordPrefix, recordSuffix } = format;
  const harmlessly = format.escapeFormulas ? harmless : (json: string) => json;
  const valueText = (json: string) => (format.type === "csv" ? csvValue(harmlessly(json)) : json);
  const first = texts[0] ?? "";
  const rest = fields.map((field, i) => ({ field, after: texts[i + 1] ?? "" }));
  const encode = (record: FieldTexts): string => {
    let text = first;
    for (const { field, after } of rest) text += valueText(record.text(field) ?? "null") + after;
    return text;
  };
  const runs = runsOf(format);
  if (runs === null) return encode;
  return (record) => {
    if (record.run === undefined) return encode(record);
    let text = recordPrefix;
    for (let i = 0; i < runs.length; i++) {
      const { first, last, extra } = runs[i] as Run;
      const piece = extra === null ? record.run(first, last) : `"${extra}":${record.text(extra)}`;
      text += i === 0 ? piece : `,${piece}`;
    }
    return text + recordSuffix;
  };
}

/** Copies runs of fields as they are in records; null: the format is not made of runs alone. */
export function recordWriter(format: OutputFormat): RecordWriter | null {
  const runs = runsOf(format);
  if (runs === null || format.escapeDollarBrace || runs.some(({ extra }) => extra !== null)) return null;
  const prefix = encodeUtf8(format.recordPrefix);
  const suffix = encodeUtf8(format.recordSuffix);
  const around = prefix.length + Math.max(0, runs.length - 1) + suffix.length;
  return {
    bytes: (record) => {
      let bytes = around;
      for (const { first, last } of runs) bytes += record.runBytes(first, last);
      return bytes;
    },
    write: (record, into, at) => {
      let to = copyBytes(prefix, 0, prefix.length, into, at);
      for (let i = 0; i < runs.length; i++) {
        const { first, last } = runs[i] as Run;
        if (i > 0) into[to++] = COMMA;
        to = record.copyRun(first, last, into, to);
      }
      copyBytes(suffix, 0, suffix.length, into, to);
    },
  };
}

/**
 * Fields that are neighbours in canonical order, by their places there; or one that is not in the
 * line.
 */
interface Run {
  first: number;
  last: number;
  extra: ExtraField | RowField | null;
}

/** The fields of an output that is made of pieces of the canonical line; null: it is not. */
function runsOf(format: OutputFormat): Run[] | null {
  if (format.type !== "ndjson" || format.recordTemplate !== "" || format.fieldDelimiter !== ",") return null;
  const runs: Run[] = [];
  for (const name of namesOf(format)) {
    const place = (FIELD_NAMES as readonly string[]).indexOf(name);
    const run = runs.at(-1);
    if (isExtraField(name) || isRowField(name)) runs.push({ first: place, last: place, extra: name });
    else if (place === -1) return null;
    else if (run?.extra === null && run.last === place - 1) run.last = place;
    else runs.push({ first: place, last: place, extra: null });
  }
  return runs;
}

/** https://owasp.org/www-community/attacks/CSV_Injection; some locales take the wide forms, too. */
const FORMULA = /[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** A `'` before a string that begins as a formula does. @param json any value. */
function harmless(json: string): string {
  const first = /^"(\\u[0-9a-f]{4}|\\.|[^"])/i.exec(json)?.[1];
  return first !== undefined && FORMULA.test(JSON.parse(`"${first}"`)) ? `"'${json.slice(1)}` : json;
}

/**
 * A value in a row: its JSON text (strings quoted, numbers bare); an object or array is one quoted
 * value with every `"` doubled. A quote inside a string is written `\u0022` instead of `\"`: the
 * JSON is the same, and RFC 4180 knows no backslash.
 * @see https://www.rfc-editor.org/rfc/rfc4180#section-2
 */
function csvValue(json: string): string {
  switch (json[0]) {
    case "{":
    case "[":
      return `"${json.replaceAll('"', '""')}"`;
    case '"':
      // Every quote inside has its own backslash before it; the last quote is the end, whatever
      // stands before it.
      return `${json.slice(0, -1).replaceAll('\\"', "\\u0022")}"`;
    default:
      return json;
  }
}
