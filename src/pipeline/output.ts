import { jsonText } from "../record/encode.ts";
import { FIELD_NAMES, type TraceRecord } from "../record/fields.ts";
import { dollarSeams, escapeDollarBrace, type OutputFormat, recordLayout } from "./output-format.ts";

/**
 * Renders a record for one job: prefix, fields or template, suffix, but not the delimiter.
 * @param line `recordLine(record)`, if it is at hand: where a job's output is made of that line, nothing is encoded again.
 */
export type RecordEncoder = (record: TraceRecord, line?: string) => string;

/**
 * The encoder of a job's output. Made once for a version of a job, used for every record.
 * @throws Error if the format's template does not compile; a stored one was found to compile when it was sent.
 */
export function recordEncoder(format: OutputFormat): RecordEncoder {
  const render = renderer(format);
  if (!format.escapeDollarBrace) return render;
  const { afterRecord } = dollarSeams(format);
  return (record, line) => escapeDollarBrace(render(record, line), afterRecord);
}

function renderer(format: OutputFormat): RecordEncoder {
  const { texts, fields } = recordLayout(format);
  const { recordPrefix, recordSuffix } = format;
  const valueText = format.type === "csv" ? csvValue : jsonText;
  const first = texts[0] ?? "";
  const rest = fields.map((field, i) => ({ field, after: texts[i + 1] ?? "" }));
  const encode = (record: TraceRecord): string => {
    const values = record as unknown as { readonly [field: string]: unknown };
    let text = first;
    for (const { field, after } of rest) text += valueText(values[field]) + after;
    return text;
  };
  if (!holdsWholeLine(format)) return encode;
  return (record, line) => (line === undefined ? encode(record) : recordPrefix + line.slice(1, -1) + recordSuffix);
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
function csvValue(value: unknown): string {
  const json = jsonText(value);
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
