import { decodeStrict, decodeUtf8, newlineIn, utf8Length, wordsOf } from "../../base/bytes.ts";
import type { Fault } from "../../base/errors.ts";
import {
  ERRORS_MAX_ENTRIES,
  EVENT_MAX_BYTES,
  EVENT_MAX_DEPTH,
  EVENT_MAX_ENTRIES,
  EVENT_MAX_NESTING,
  EVENTS_MAX_COUNT,
  EVENTS_MAX_DAYS,
  RECORD_MAX_BYTES,
  RECORDS_MAX_UNITS,
} from "../../base/limits.ts";
import { dayOf } from "../../base/time.ts";
import { type CanonicalRecord, canonicalRecord } from "../../formats/json/canonical.ts";
import { JsonScanner, literal, trimmed } from "../../formats/json/scanner.ts";
import { recordLine, recordLineWith } from "../../formats/record/encode.ts";
import { type ParsedEvent, parseEvent } from "../../formats/record/exact.ts";
import { type Entry, entryOf, extrasOf } from "../../formats/record/extras.ts";
import {
  type Findings,
  isDeeperThan,
  type MappingContext,
  nestedTooDeeply,
  toRecord,
} from "../../formats/record/record.ts";
import { markLength } from "./body.ts";
import { placesOf } from "./places.ts";

export interface AcceptedEvents {
  /** One a record, in the order of the events. */
  lines: Entry[];
  /** Top-level keys that were dropped, sorted. */
  unknownKeys: string[];
  /** Times that can only be in another unit than milliseconds, a sentence each; absent: none. */
  oddTimes?: string[];
}

export interface RefusedEvents {
  ok: false;
  status: 400 | 413;
  faults: Fault[];
}

export type Events = ({ ok: true } & AcceptedEvents) | RefusedEvents;

/**
 * An event and its JSON pointer in the body: its value; or how to parse it, if it is known to be no
 * larger than an event may be; or its bytes, if it is a canonical record already; or what is wrong
 * with it, seen before it was parsed.
 */
export type Located = { pointer: string } & (
  | { value: unknown }
  | { parse: () => ParsedEvent }
  | { line: Uint8Array; record: CanonicalRecord }
  | { fault: string }
);

/** A record on its way to a message: as text, or as the bytes of its line without extra fields. */
export type Mapped = Entry | Uint8Array;

export type FoundEvents =
  | {
      ok: true;
      /** Of each event, as it stands in the body, in bytes. */
      sizes: number[];
      /** None of them is parsed yet. */
      events: Iterable<Located>;
    }
  /** The body as a whole is not JSON. */
  | { ok: false; kind: "not_json" }
  /** More events than a request may hold. */
  | { ok: false; kind: "too_many" };

/** Where an event is in a body, and why it is not to be parsed, if so. */
interface Place {
  from: number;
  to: number;
  /** `JSON.parse` changes nothing of it. */
  isKept: boolean;
  fault: Refusal | null;
  /** It is a canonical record; absent: it may be none. */
  record?: CanonicalRecord;
}

interface Refusal {
  message: string;
  /** Pointer within the event. */
  inside?: string;
}

const NOT_JSON = { ok: false, kind: "not_json" } as const;
const TOO_MANY = { ok: false, kind: "too_many" } as const;
const TOO_LARGE = `larger than ${EVENT_MAX_BYTES} bytes`;
const TOO_LARGE_AS_RECORD = `larger than ${RECORD_MAX_BYTES} bytes as a record`;
const NO_LINE: Refusal = { message: "this line is not JSON" };
const NO_OBJECT: Refusal = { message: "an event is a JSON object" };
const TOO_DEEP: Refusal = { message: nestedTooDeeply(EVENT_MAX_DEPTH), inside: "/Event" };
const OPENING_BRACE = 0x7b;

/** What of an event may not be nested too deeply. */
const BOUNDED = { key: literal('"Event"'), levels: EVENT_MAX_NESTING };

/**
 * Finds the events of a body: one event, events one after the other, an array of events, or NDJSON.
 * Blank lines of NDJSON are skipped, so a pointer counts events, not lines. A small body can hold
 * millions of events, and `JSON.parse` takes up to fifty times the size of its text: so all of it
 * is read through first, and what is too much is refused before any of it is parsed; the rest is
 * parsed one event at a time.
 * @param bytes valid UTF-8. They are read again when an event is parsed.
 */
export function findEvents(bytes: Uint8Array, ndjson: boolean): FoundEvents {
  const from = markLength(bytes);
  return ndjson ? linesOf(bytes, from) : valuesOf(bytes, from);
}

/** One event, events one after the other, or an array of them. */
function valuesOf(bytes: Uint8Array, from: number): FoundEvents {
  const scanner = new JsonScanner(bytes, from, bytes.length, BOUNDED);
  const isList = scanner.passes("[");
  const places: Place[] = [];
  let count = 0;
  let isMore = !isList || !scanner.passes("]");
  while (isMore) {
    scanner.isAtEnd();
    const start = scanner.at;
    const canonical = canonicalAt(scanner, bytes, start, bytes.length);
    if (canonical === null && !scanner.value()) return NOT_JSON;
    count += 1;
    if (count <= EVENTS_MAX_COUNT)
      places.push(canonical ?? placeOf(scanner, start, refusalInList(bytes, start, scanner)));
    // Without an array around them, only objects can be told apart.
    isMore = isList
      ? scanner.passes(",")
      : bytes[start] === OPENING_BRACE && !scanner.isAtEnd() && bytes[scanner.at] === OPENING_BRACE;
  }
  if ((isList && count > 0 && !scanner.passes("]")) || !scanner.isAtEnd()) return NOT_JSON;
  if (count > EVENTS_MAX_COUNT) return TOO_MANY;
  const [only] = places;
  if (isList || count > 1 || only === undefined) return found(bytes, places);
  return found(bytes, [sized(only)], true);
}

function linesOf(bytes: Uint8Array, from: number): FoundEvents {
  const places: Place[] = [];
  const scanner = new JsonScanner(bytes, from, bytes.length, BOUNDED);
  const words = wordsOf(bytes);
  for (let at = from; at < bytes.length && places.length <= EVENTS_MAX_COUNT; ) {
    const end = newlineIn(bytes, words, at);
    const line = trimmed(bytes, at, end);
    at = end + 1;
    if (line.from === line.to) continue;
    places.push(wholeText(scanner, bytes, line) ?? { ...line, isKept: true, fault: NO_LINE });
  }
  const lines = places.length > EVENTS_MAX_COUNT ? TOO_MANY : found(bytes, places);
  const [first, second] = places.filter(({ fault }) => fault === NO_LINE);
  if (first === undefined) return lines;
  // An event may have several lines, and a line several events.
  const values = valuesOf(bytes, from);
  if (values.ok || values.kind === "too_many") return values;
  // Of an event that is indented, the first line is a brace. Its other lines are not named.
  const isBrace = bytes[first.from] === OPENING_BRACE && first.to - first.from === 1;
  return isBrace && second !== undefined ? NOT_JSON : lines;
}

/** The one value of a text; null: it is not JSON. White space in it counts for its size. */
function wholeText(scanner: JsonScanner, bytes: Uint8Array, { from, to }: { from: number; to: number }): Place | null {
  const canonical = canonicalAt(scanner, bytes, from, to);
  if (canonical?.to === to) return canonical;
  scanner.moveTo(from);
  scanner.isAtEnd();
  const start = scanner.at;
  if (!scanner.value()) return null;
  const place = placeOf(scanner, start, refusalOfDepth(scanner));
  return scanner.isAtEnd() ? sized(place) : null;
}

/**
 * A canonical record, which the scanner has passed then; null: there is none, and it stands at
 * `from`. @param to how far it may reach.
 */
function canonicalAt(scanner: JsonScanner, bytes: Uint8Array, from: number, to: number): Place | null {
  scanner.moveTo(from, to);
  const record = canonicalRecord(scanner, bytes);
  if (record !== null && scanner.at - from <= EVENT_MAX_BYTES)
    return { from, to: scanner.at, isKept: true, fault: null, record };
  scanner.moveTo(from);
  return null;
}

/** Of the value that the scanner has just passed. */
function placeOf(scanner: JsonScanner, from: number, fault: Refusal | null): Place {
  return { from, to: scanner.at, isKept: scanner.isKept, fault };
}

/** Judged by its size with its white space. */
function sized(place: Place): Place {
  return place.to - place.from > EVENT_MAX_BYTES ? { ...place, fault: { message: TOO_LARGE } } : place;
}

/** White space between the parts of an element does not count for its size. */
function refusalInList(bytes: Uint8Array, from: number, scanner: JsonScanner): Refusal | null {
  if (scanner.compact <= EVENT_MAX_BYTES) return refusalOfDepth(scanner);
  return bytes[from] === OPENING_BRACE ? { message: TOO_LARGE } : NO_OBJECT;
}

function refusalOfDepth({ isDeep }: JsonScanner): Refusal | null {
  return isDeep ? TOO_DEEP : null;
}

/** The same of an event that is parsed already. */
function refusalOf(value: unknown): Refusal | null {
  if (isTooLarge(value)) return { message: TOO_LARGE };
  const event = (value as { Event?: unknown } | null)?.Event;
  const isDeep = typeof event === "object" && event !== null && isDeeperThan(event, EVENT_MAX_NESTING - 1);
  return isDeep ? TOO_DEEP : null;
}

/** @param isOne the body itself is the event. */
function found(bytes: Uint8Array, places: readonly Place[], isOne = false): FoundEvents {
  function* events(): Generator<Located> {
    for (let i = 0; i < places.length; i++) {
      const { from, to, isKept, fault, record } = places[i] as Place;
      const pointer = isOne ? "" : `/${i}`;
      if (record !== undefined) yield { pointer, line: bytes.subarray(from, to), record };
      else if (fault !== null) yield { pointer: pointer + (fault.inside ?? ""), fault: fault.message };
      // A byte order mark within a body is no white space.
      else yield { pointer, parse: () => parseEvent(decodeStrict(bytes.subarray(from, to)), isKept) };
    }
  }
  const sizes = places.map(({ from, to }) => to - from);
  return { ok: true, sizes, events: { [Symbol.iterator]: events } };
}

/** Maps events to record lines, all or nothing. Every fault is reported. */
export function acceptEvents(events: readonly Located[], context: MappingContext): Events {
  if (events.length > EVENTS_MAX_COUNT) {
    return refused(400, `at most ${EVENTS_MAX_COUNT} events a request; this one has ${events.length}`);
  }
  const lines: string[] = [];
  const mapped = mapEvents(events, context, (line) => lines.push(typeof line === "string" ? line : decodeUtf8(line)));
  if (!mapped.ok) return mapped;
  const { places: _, ...accepted } = mapped;
  return { ...accepted, lines };
}

/**
 * Maps events to record lines, one at a time, so that never more than one of them exists as
 * objects. Every fault is reported.
 * @param keep gets the lines with their extra fields, in order; they are worth nothing if in the
 *   end something is refused.
 */
export function mapEvents(
  events: Iterable<Located>,
  context: MappingContext,
  keep: (entry: Mapped) => void,
): ({ ok: true; places: ReadonlySet<string> } & Omit<AcceptedEvents, "lines">) | RefusedEvents {
  const oddTimes: string[] = [];
  const findings: Findings = { faults: [], unknownKeys: new Set(), oddTimes };
  const { faults } = findings;
  const days = new Set<number>();
  const places = new Set<string>();
  /** Of which day each function was last seen. */
  const seen = new Map<string, number>();
  let units = 0;
  for (const event of events) {
    if (faults.length >= ERRORS_MAX_ENTRIES) break;
    const mapped = mapEvent(event, context, findings);
    if (mapped === null) continue;
    const { day, scriptName } = mapped;
    if (seen.get(scriptName) !== day) {
      seen.set(scriptName, day);
      days.add(day);
      for (const place of placesOf(scriptName, day, context.takenInMs)) places.add(place);
    }
    units += mapped.entry.length;
    // A small body can become large records.
    if (units > RECORDS_MAX_UNITS)
      return refused(
        413,
        `as records, these events are larger than ${RECORDS_MAX_UNITS} characters; send fewer at once`,
      );
    if (faults.length === 0) keep(mapped.entry);
  }
  if (days.size > EVENTS_MAX_DAYS) {
    const message = `at most ${EVENTS_MAX_DAYS} distinct UTC days a request; these events span ${days.size}`;
    faults.push({ pointer: "", message });
  }
  if (faults.length > 0) return { ok: false, status: 400, faults };
  const unknownKeys = [...findings.unknownKeys].sort();
  return { ok: true, unknownKeys, places, ...(oddTimes.length > 0 && { oddTimes }) };
}

/** The event as objects ends with this call. @returns null: a fault was added. */
function mapEvent(
  event: Located,
  context: MappingContext,
  findings: Findings,
): { entry: Mapped; day: number; scriptName: string } | null {
  const { faults } = findings;
  const { pointer } = event;
  if ("fault" in event) {
    faults.push({ pointer, message: event.fault });
    return null;
  }
  if ("line" in event) {
    const { timeMs, scriptName } = event.record;
    return { entry: event.line, day: dayOf(timeMs), scriptName };
  }
  const isSized = "parse" in event;
  const { value, eventText }: ParsedEvent = isSized ? event.parse() : event;
  const refusal = (isSized ? null : refusalOf(value)) ?? refusalOfEntries(value);
  if (refusal !== null) {
    faults.push({ pointer: pointer + (refusal.inside ?? ""), message: refusal.message });
    return null;
  }
  const record = toRecord(value, context, pointer, findings);
  if (record === null) return null;
  const write = () => (eventText === undefined ? recordLine(record) : recordLineWith(eventText, record));
  const line = lineOf(write, faults, pointer, isSized ? null : value);
  if (line === null) return null;
  const entry = entryOf(line, extrasOf(value, context, pointer, findings));
  return { entry, day: dayOf(record.EventTimestampMs), scriptName: record.ScriptName };
}

function refused(status: 400 | 413, message: string): RefusedEvents {
  return { ok: false, status, faults: [{ pointer: "", message }] };
}

/** The shortest log or exception as it is sent: `{},`. */
const SENT_ENTRY_MIN_BYTES = 3;

/** A cheap check before mapping. */
function isTooLarge(value: unknown): boolean {
  return entriesOf(value) * SENT_ENTRY_MIN_BYTES > EVENT_MAX_BYTES;
}

/** Before they are mapped, which takes a hundred bytes for each. */
function refusalOfEntries(value: unknown): Refusal | null {
  return entriesOf(value) > EVENT_MAX_ENTRIES ? { message: TOO_LARGE_AS_RECORD } : null;
}

/** Logs and exceptions of an event. */
function entriesOf(value: unknown): number {
  return ["logs", "exceptions", "Logs", "Exceptions"].reduce((sum, name) => {
    const list = (value as { [name: string]: unknown } | null)?.[name];
    return sum + (Array.isArray(list) ? list.length : 0);
  }, 0);
}

/**
 * The record's line; null and a fault if it is too large. A record may be larger than the event as
 * it was sent.
 * @param unsized the event, if its size as it was sent is unknown: it is measured as compact JSON.
 */
function lineOf(write: () => string, faults: Fault[], pointer: string, unsized: unknown): string | null {
  try {
    const line = write();
    if (!isLongerThan(line, EVENT_MAX_BYTES)) return line;
    const small = unsized === null || !isLongerThan(JSON.stringify(unsized), EVENT_MAX_BYTES);
    if (small && !isLongerThan(line, RECORD_MAX_BYTES)) return line;
    faults.push({ pointer, message: small ? TOO_LARGE_AS_RECORD : TOO_LARGE });
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
