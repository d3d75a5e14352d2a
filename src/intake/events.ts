import { utf8Length } from "../bytes.ts";
import {
  ERRORS_MAX_ENTRIES,
  EVENT_MAX_BYTES,
  EVENTS_MAX_COUNT,
  EVENTS_MAX_DAYS,
  RECORD_MAX_BYTES,
  RECORDS_MAX_UNITS,
} from "../limits.ts";
import { recordLine } from "../record/encode.ts";
import type { TraceRecord } from "../record/fields.ts";
import { type Fault, type Findings, type MappingContext, toRecord, utcDay } from "../record/record.ts";

export interface AcceptedEvents {
  /** One JSON text a record, in the order of the events. */
  lines: string[];
  /** Top-level keys that were dropped, sorted. */
  unknownKeys: string[];
}

export type Events = ({ ok: true } & AcceptedEvents) | { ok: false; status: 400 | 413; faults: Fault[] };

/**
 * An event and its JSON pointer in the body. `fault` instead of `value`: it is not JSON. `text`:
 * its own text, where it is known.
 */
export type Located = { pointer: string; value: unknown; text?: string } | { pointer: string; fault: string };

export type ParsedEvents =
  | { ok: true; events: Located[] }
  /** The body as a whole is not JSON. */
  | { ok: false; kind: "not_json" }
  /** More events than a request may hold. */
  | { ok: false; kind: "too_many" };

/**
 * Parses a body: one event, an array of events, or NDJSON. Blank lines of NDJSON are skipped, so a
 * pointer counts events, not lines. A small body can hold millions of events, so they are counted
 * before they are mapped.
 */
export function parseEvents(text: string, ndjson: boolean): ParsedEvents {
  if (ndjson) return parseLines(text);
  const parsed = parseJson(text);
  if (!parsed.ok) return { ok: false, kind: "not_json" };
  if (!Array.isArray(parsed.value))
    return { ok: true, events: [{ pointer: "", value: parsed.value, text: text.trim() }] };
  if (parsed.value.length > EVENTS_MAX_COUNT) return { ok: false, kind: "too_many" };
  return { ok: true, events: parsed.value.map((value, i) => ({ pointer: `/${i}`, value })) };
}

function parseLines(text: string): ParsedEvents {
  const events: Located[] = [];
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(at, end).trim();
    at = end + 1;
    if (line === "") continue;
    if (events.length === EVENTS_MAX_COUNT) return { ok: false, kind: "too_many" };
    const pointer = `/${events.length}`;
    const parsed = parseJson(line);
    events.push(parsed.ok ? { pointer, value: parsed.value, text: line } : { pointer, fault: "this line is not JSON" });
  }
  return { ok: true, events };
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}

/** Maps events to record lines, all or nothing. Every fault is reported. */
export function acceptEvents(events: readonly Located[], context: MappingContext): Events {
  if (events.length > EVENTS_MAX_COUNT) {
    return refused(400, `at most ${EVENTS_MAX_COUNT} events a request; this one has ${events.length}`);
  }
  const findings: Findings = { faults: [], unknownKeys: new Set() };
  const { faults } = findings;
  const lines: string[] = [];
  const days = new Set<number>();
  let units = 0;
  for (const event of events) {
    if (faults.length >= ERRORS_MAX_ENTRIES) break;
    const { pointer } = event;
    if ("fault" in event) {
      faults.push({ pointer, message: event.fault });
      continue;
    }
    if (isTooLarge(event)) {
      faults.push({ pointer, message: TOO_LARGE });
      continue;
    }
    const record = toRecord(event.value, context, pointer, findings);
    if (record === null) continue;
    const line = lineOf(record, event, faults);
    if (line === null) continue;
    days.add(utcDay(record.EventTimestampMs));
    lines.push(line);
    units += line.length;
    // A small body can become large records, all of which are in memory until the queue has them.
    if (units > RECORDS_MAX_UNITS)
      return refused(
        413,
        `as records, these events are larger than ${RECORDS_MAX_UNITS} characters; send fewer at once`,
      );
  }
  if (days.size > EVENTS_MAX_DAYS) {
    const message = `at most ${EVENTS_MAX_DAYS} distinct UTC days a request; these events span ${days.size}`;
    faults.push({ pointer: "", message });
  }
  if (faults.length > 0) return { ok: false, status: 400, faults };
  return { ok: true, lines, unknownKeys: [...findings.unknownKeys].sort() };
}

function refused(status: 400 | 413, message: string): Events {
  return { ok: false, status, faults: [{ pointer: "", message }] };
}

const TOO_LARGE = `larger than ${EVENT_MAX_BYTES} bytes`;

/** The shortest log or exception: `{},`. */
const ENTRY_MIN_BYTES = 3;

/** A cheap check before mapping. */
function isTooLarge({ value, text }: { value: unknown; text?: string }): boolean {
  if (text !== undefined) return isLongerThan(text, EVENT_MAX_BYTES);
  const entries = ["logs", "exceptions", "Logs", "Exceptions"].reduce((sum, name) => {
    const list = (value as { [name: string]: unknown } | null)?.[name];
    return sum + (Array.isArray(list) ? list.length : 0);
  }, 0);
  return entries * ENTRY_MIN_BYTES > EVENT_MAX_BYTES;
}

/**
 * The record's line; null and a fault if it is too large. A record may be larger than the event as
 * it was sent.
 */
function lineOf(
  record: TraceRecord,
  { pointer, value, text }: { pointer: string; value: unknown; text?: string },
  faults: Fault[],
): string | null {
  try {
    const line = recordLine(record);
    if (!isLongerThan(line, EVENT_MAX_BYTES)) return line;
    // In an array, the event's own text is unknown: it is measured as compact JSON.
    const small = text !== undefined || !isLongerThan(JSON.stringify(value), EVENT_MAX_BYTES);
    if (small && !isLongerThan(line, RECORD_MAX_BYTES)) return line;
    faults.push({ pointer, message: small ? `larger than ${RECORD_MAX_BYTES} bytes as a record` : TOO_LARGE });
  } catch {
    // JSON.stringify fails on a parsed value only if the stack overflows.
    faults.push({ pointer, message: "nested too deeply" });
  }
  return null;
}

/** A UTF-16 unit is at most three bytes of UTF-8, so only long texts are measured exactly. */
function isLongerThan(text: string, bytes: number): boolean {
  return text.length > bytes || (text.length * 3 > bytes && utf8Length(text) > bytes);
}
