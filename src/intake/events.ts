import { EVENT_MAX_BYTES, EVENTS_MAX_COUNT, EVENTS_MAX_DAYS } from "../limits.ts";
import { recordLine } from "../record/encode.ts";
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

/** The events of a body and where each stands in it. */
type Located = { pointer: string; value: unknown };

/**
 * Parses a body of events: one event or an array of them, or NDJSON. Blank lines of NDJSON count for nothing; the pointer of an event is its
 * place among the events.
 */
export function parseEvents(
  text: string,
  ndjson: boolean,
): { ok: true; events: Located[] } | { ok: false; faults: Fault[] } {
  if (!ndjson) {
    const parsed = parseJson(text);
    if (!parsed.ok) return { ok: false, faults: [{ pointer: "", message: "the body is not JSON" }] };
    if (!Array.isArray(parsed.value)) return { ok: true, events: [{ pointer: "", value: parsed.value }] };
    return { ok: true, events: parsed.value.map((value, i) => ({ pointer: `/${i}`, value })) };
  }
  const events: Located[] = [];
  const faults: Fault[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const parsed = parseJson(line);
    const pointer = `/${events.length + faults.length}`;
    if (parsed.ok) events.push({ pointer, value: parsed.value });
    else faults.push({ pointer, message: "this line is not JSON" });
  }
  return faults.length > 0 ? { ok: false, faults } : { ok: true, events };
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
  for (const { pointer, value } of events) {
    const record = toRecord(value, context, pointer, findings);
    if (record === null) continue;
    const line = lineOf(() => recordLine(record), pointer, findings.faults);
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

function lineOf(render: () => string, pointer: string, faults: Fault[]): string | null {
  try {
    const line = render();
    // Three bytes a UTF-16 unit at most: only a long line needs to be measured exactly.
    if (line.length * 3 <= EVENT_MAX_BYTES || new TextEncoder().encode(line).length <= EVENT_MAX_BYTES) return line;
    faults.push({ pointer, message: `larger than ${EVENT_MAX_BYTES} bytes as a record` });
  } catch {
    // The one way JSON.stringify fails on what came out of JSON.parse: the stack is exhausted.
    faults.push({ pointer, message: "nested too deeply" });
  }
  return null;
}
