import { FIELD_NAMES, type FieldName, type TraceRecord } from "./fields.ts";

/** JSON.stringify escapes a lone surrogate as `\udXXX` in lower case; a literal backslash in the text is doubled, so this over-matches only. */
const LONE_SURROGATE = /\\ud[89a-f]/;

/**
 * A record as one line of JSON, without the newline, all fields in canonical order: the form in which records travel.
 * Lone surrogates, which no UTF-8 reader could take, become U+FFFD.
 * @throws RangeError if the record is nested too deeply for the stack.
 */
export function recordLine(record: TraceRecord): string {
  const line = JSON.stringify(record);
  return LONE_SURROGATE.test(line) ? JSON.stringify(record, wellFormed) : line;
}

function wellFormed(_key: string, value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key.toWellFormed(), entry]));
  }
  return value;
}

/** Renders a record for one job: a line with its newline. */
export type RecordEncoder = (record: TraceRecord) => string;

/**
 * The encoder of a job's output: NDJSON, the chosen fields in the order in which they were chosen.
 * @param fieldNames null: all fields in canonical order.
 */
export function recordEncoder(fieldNames: readonly FieldName[] | null): RecordEncoder {
  const names = fieldNames ?? FIELD_NAMES;
  // Built once per job version; the property names never need escaping.
  const heads = names.map((name, i) => `${i === 0 ? "{" : ","}"${name}":`);
  if (names.length === 0) return () => "{}\n";
  return (record) => {
    let line = "";
    for (let i = 0; i < names.length; i++) line += heads[i] + JSON.stringify(record[names[i] as FieldName]);
    return `${line}}\n`;
  };
}
