import { FIELD_NAMES } from "../record/fields.ts";
import { dollarSeams, escapeDollarBrace, type OutputFormat, recordLayout } from "./output-format.ts";

/** A record as the JSON of its fields. */
export interface FieldTexts {
  /** All of it, as `recordLine` writes it, if it is at hand. */
  readonly line?: string;
  /** undefined: it has no field of that name. */
  text(name: string): string | undefined;
}

/** Renders a record for one job: prefix, fields or template, suffix, but not the delimiter. */
export type RecordEncoder = (record: FieldTexts) => string;

/**
 * The encoder of a job's output. Made once for a version of a job, used for every record. Nothing is parsed and nothing but CSV is written anew: what
 * is shipped is put together from the JSON that the record came in.
 * @throws Error if the format's template does not compile; a stored one was found to compile when it was sent.
 */
export function recordEncoder(format: OutputFormat): RecordEncoder {
  const render = renderer(format);
  if (!format.escapeDollarBrace) return render;
  const { afterRecord } = dollarSeams(format);
  return (record) => escapeDollarBrace(render(record), afterRecord);
}

function renderer(format: OutputFormat): RecordEncoder {
  const { texts, fields } = recordLayout(format);
  const { recordPrefix, recordSuffix } = format;
  const valueText = format.type === "csv" ? csvValue : (json: string) => json;
  const first = texts[0] ?? "";
  const rest = fields.map((field, i) => ({ field, after: texts[i + 1] ?? "" }));
  const encode = (record: FieldTexts): string => {
    let text = first;
    for (const { field, after } of rest) text += valueText(record.text(field) ?? "null") + after;
    return text;
  };
  if (!holdsWholeLine(format)) return encode;
  return (record) =>
    record.line === undefined ? encode(record) : recordPrefix + record.line.slice(1, -1) + recordSuffix;
}

/** Whether a record between prefix and suffix is its own line, but for the braces. */
function holdsWholeLine(format: OutputFormat): boolean {
  const { fieldNames } = format;
  return (
    format.type === "ndjson" &&
    format.recordTemplate === "" &&
    format.fieldDelimiter === "," &&
    (fieldNames === null ||
      (fieldNames.length === FIELD_NAMES.length && fieldNames.every((name, i) => name === FIELD_NAMES[i])))
  );
}

/**
 * A value in a row: its JSON text (strings quoted, numbers bare); that of an object or array as one quoted value with every `"` doubled. A quote inside of a
 * string is written `\u0022` instead of `\"`: JSON all the same, and readers that follow RFC 4180, who know no backslash, take the value as one.
 * @see https://www.rfc-editor.org/rfc/rfc4180#section-2
 */
function csvValue(json: string): string {
  switch (json[0]) {
    case "{":
    case "[":
      return `"${json.replaceAll('"', '""')}"`;
    case '"':
      // Of the quotes inside, every one has its own backslash before it; the last quote is the end, whatever stands before it.
      return `${json.slice(0, -1).replaceAll('\\"', "\\u0022")}"`;
    default:
      return json;
  }
}
