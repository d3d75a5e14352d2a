import { utf8Length } from "../bytes.ts";
import { ERRORS_MAX_ENTRIES, EVENT_MAX_BYTES, EVENTS_MAX_COUNT, EVENTS_MAX_DAYS, RECORD_MAX_BYTES } from "../limits.ts";
import { recordLine } from "../record/encode.ts";
import type { TraceRecord } from "../record/fields.ts";
import { type Fault, type Findings, type MappingContext, toRecord } from "../record/record.ts";

/** UTC days since the epoch. */
export function utcDay(timeMs: number): number {
  return Math.floor(timeMs / 86_400_000);
}

export interface AcceptedEvents {
  /** One JSON text a record, in the order of the events. */
  lines: string[];
  /** Top-level keys that were dropped, sorted. */
  unknownKeys: string[];
}

export type Events = ({ ok: true } & AcceptedEvents) | { ok: false; faults: Fault[] };

/** The events of a body and where each stands in it; `fault` instead of a value: what stands there is no JSON. */
export type Located = { pointer: string; value: unknown } | { pointer: string; fault: string };

export type ParsedEvents =
  | { ok: true; events: Located[] }
  /** The body as a whole is not JSON. */
  | { ok: false; kind: "not_json" }
  /** More than a request may hold; the body was not looked at any further. */
  | { ok: false; kind: "too_many" };

/**
 * Parses a body of events: one event or an array of them, or NDJSON. Blank lines of NDJSON count for nothing; the pointer of an event is its
 * place among the events. A small body can hold millions of them: counting comes before anything is made of each.
 */
export function parseEvents(text: string, ndjson: boolean): ParsedEvents {
  if (ndjson) return parseLines(text);
  const parsed = parseJson(text);
  if (!parsed.ok) return { ok: false, kind: "not_json" };
  if (!Array.isArray(parsed.value)) return { ok: true, events: [{ pointer: "", value: parsed.value }] };
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
    events.push(parsed.ok ? { pointer, value: parsed.value } : { pointer, fault: "this line is not JSON" });
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

/**
 * Maps events to record lines. All or nothing: one bad event, and nothing is taken; every fault is named.
 */
export function acceptEvents(events: readonly Located[], context: MappingContext): Events {
  if (events.length > EVENTS_MAX_COUNT) {
    return {
      ok: false,
      faults: [{ pointer: "", message: `at most ${EVENTS_MAX_COUNT} events a request; this one has ${events.length}` }],
    };
  }
  const findings: Findings = { faults: [], unknownKeys: new Set() };
  const lines: string[] = [];
  const days = new Set<number>();
  for (const event of events) {
    if (findings.faults.length >= ERRORS_MAX_ENTRIES) break;
    const { pointer } = event;
    if ("fault" in event) {
      findings.faults.push({ pointer, message: event.fault });
      continue;
    }
    const record = toRecord(event.value, context, pointer, findings);
    if (record === null) continue;
    const line = lineOf(record, event, findings.faults);
    if (line === null) continue;
    days.add(utcDay(record.EventTimestampMs));
    lines.push(line);
  }
  if (days.size > EVENTS_MAX_DAYS) {
    findings.faults.push({
      pointer: "",
      message: `at most ${EVENTS_MAX_DAYS} distinct UTC days a request; these events span ${days.size}`,
    });
  }
  if (findings.faults.length > 0) return { ok: false, faults: findings.faults };
  return { ok: true, lines, unknownKeys: [...findings.unknownKeys].sort() };
}

/** The record's line, or null and a fault if it is too large. An event that is small as it was sent may be larger as a record, and the reverse. */
function lineOf(
  record: TraceRecord,
  { pointer, value }: { pointer: string; value: unknown },
  faults: Fault[],
): string | null {
  try {
    const line = recordLine(record);
    if (!isLongerThan(line, EVENT_MAX_BYTES)) return line;
    if (!isLongerThan(line, RECORD_MAX_BYTES) && !isLongerThan(JSON.stringify(value), EVENT_MAX_BYTES)) return line;
    faults.push({ pointer, message: `larger than ${EVENT_MAX_BYTES} bytes` });
  } catch {
    // The one way JSON.stringify fails on what came out of JSON.parse: the stack is exhausted.
    faults.push({ pointer, message: "nested too deeply" });
  }
  return null;
}

/** Three bytes a UTF-16 unit at most: only a long text needs to be measured exactly. */
function isLongerThan(text: string, bytes: number): boolean {
  return text.length > bytes || (text.length * 3 > bytes && utf8Length(text) > bytes);
}
