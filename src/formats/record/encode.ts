import { isObject } from "../../base/bytes.ts";
import type { TraceRecord } from "./fields.ts";

/**
 * How JSON.stringify begins a lone surrogate. May match other text, too: then only time is lost.
 */
const LONE_SURROGATE = "\\ud";

/**
 * The JSON text of a value; `null` for undefined. Lone surrogates, which UTF-8 cannot encode,
 * become U+FFFD.
 * @throws RangeError if the value is nested too deeply for the stack.
 */
export function jsonText(value: unknown): string {
  const json = JSON.stringify(value) ?? "null";
  return json.includes(LONE_SURROGATE) ? JSON.stringify(value, wellFormed) : json;
}

/**
 * A record as one line of JSON, without the newline, its fields in canonical order: the internal
 * form of records.
 * @throws RangeError as {@link jsonText}.
 */
export function recordLine(record: TraceRecord): string {
  return jsonText(record);
}

/** The same, with this canonical text of its `Event` (exact.ts). */
export function recordLineWith(eventText: string, record: TraceRecord): string {
  const line = recordLine({ ...record, Event: {} });
  // In the fields before it, each quote has a backslash.
  const at = line.indexOf('"Event":{}') + '"Event":'.length;
  return line.slice(0, at) + eventText + line.slice(at + 2);
}

function wellFormed(_key: string, value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key.toWellFormed(), entry]));
  }
  return value;
}
