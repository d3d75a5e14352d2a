import { FIELD_NAMES } from "../record/fields.ts";
import { dollarSeams, escapeDollarBrace, type OutputFormat, recordLayout } from "./format.ts";

/** A record as the JSON of its fields. */
export interface FieldTexts {
  /** All of it, as `recordLine` writes it, if it is at hand: then `run` is, too. */
  readonly line?: string;
  /** Neighbours in canonical order, with names and commas, by their places there. */
  run?(first: number, last: number): string;
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
  const runs = runsOf(format);
  if (runs === null) return encode;
  const whole = runs.length === 1 && runs[0]?.first === 0 && runs[0].last === FIELD_NAMES.length - 1;
  return (record) => {
    if (record.run === undefined) return encode(record);
    if (whole && record.line !== undefined) return recordPrefix + record.line.slice(1, -1) + recordSuffix;
    let text = recordPrefix;
    for (let i = 0; i < runs.length; i++) {
      const { first, last } = runs[i] as Run;
      text += i === 0 ? record.run(first, last) : `,${record.run(first, last)}`;
    }
    return text + recordSuffix;
  };
}

/** Fields that are neighbours in canonical order, by their places there. */
interface Run {
  first: number;
  last: number;
}

/** The fields of an output that is made of pieces of the canonical line; null: it is not. */
function runsOf(format: OutputFormat): Run[] | null {
  if (format.type !== "ndjson" || format.recordTemplate !== "" || format.fieldDelimiter !== ",") return null;
  const runs: Run[] = [];
  for (const name of format.fieldNames ?? FIELD_NAMES) {
    const place = FIELD_NAMES.indexOf(name);
    if (place === -1) return null;
    const run = runs.at(-1);
    if (run?.last === place - 1) run.last = place;
    else runs.push({ first: place, last: place });
  }
  return runs;
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
