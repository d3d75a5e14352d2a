import { isObject } from "../../base/bytes.ts";
import { EVENT_MAX_DEPTH, TEXT_MAX_CHARACTERS } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { jsonText } from "../record/encode.ts";
import { FIELD_NAMES, type FieldName } from "../record/fields.ts";
import { RecordLine } from "../record/line.ts";
import { RecordLines } from "../record/lines.ts";
import { isDeeperThan } from "../record/record.ts";
import { type Texts, truncate } from "../record/truncate.ts";
import type { MacKey } from "./mac.ts";
import { decodeEnvelope, decodeMessage, isNewer, type Part, type Takeover } from "./message.ts";
import type { Delivery } from "./retries.ts";

/** A record as jobs get it. */
export interface LoadedRecord {
  /** Its place in its part. */
  index: number;
  /** What filters see. */
  whole: RecordLine;
  /** What is shipped: truncated, or `whole` itself if it fits. */
  shipped: RecordLine;
}

/** A part of a delivered message, whose records are in memory. */
export interface Loaded {
  message: Part;
  /** Size of what the queue delivered, in bytes; 0: it is counted with the message's first part. */
  bytes: number;
  records: LoadedRecord[];
  /** Size of the records as NDJSON, in bytes, with their extra fields. */
  size: number;
  /** The JSON of all parts, from which records read. It can be freed when nothing reads any. */
  raw: Uint8Array;
  /** Of its first record, among the lines of that. */
  firstLine: number;
  /** For objects to take it over; absent: its records are compressed anew. */
  takeover?: Takeover;
}

export type Loading =
  /** One for each part. */
  | { kind: "loaded"; loaded: Loaded[] }
  | { kind: "unreadable"; why: string }
  /** Newer code can read it. */
  | { kind: "newer"; why: string };

/**
 * Loads the records of a delivered message. All that counts are its bytes: what fails with them,
 * fails each time, so that they are unreadable, too.
 * @param keys of seals: what is sealed need not be parsed.
 * @throws never.
 */
export function load(message: Pick<Delivery, "body" | "envelope">, keys: readonly MacKey[] = []): Loading {
  try {
    return loadAll(message, keys);
  } catch (error) {
    log.error("a message could not be loaded", { error: errorText(error) });
    return { kind: "unreadable", why: "could not be loaded" };
  }
}

function loadAll({ body, envelope }: Pick<Delivery, "body" | "envelope">, keys: readonly MacKey[]): Loading {
  if (!envelope.ok) return { kind: isNewer(body) ? "newer" : "unreadable", why: envelope.why };
  const content = decodeMessage(body, keys);
  if (!content.ok) return { kind: "unreadable", why: content.why };
  const { parts, raw, ends, extras, isAuthentic = false, takeover } = content.value;
  const lines = new RecordLines(raw, ends.length);
  let { byteLength: bytes } = body as ArrayBuffer;
  const loaded: Loaded[] = [];
  let line = 0;
  let from = 0;
  for (const part of parts) {
    const records: LoadedRecord[] = [];
    const [begin, firstLine] = [from, line];
    let extraSize = 0;
    for (let index = 0; index < part.records; index++, line++) {
      const to = ends[line] as number;
      const extra = extras?.[line] ?? "";
      const whole = RecordLine.in(lines, from, to, part.source ?? "", extra);
      if (whole === null || !(isAuthentic || isStrict(whole)))
        return { kind: "unreadable", why: "holds a line that is no record" };
      records.push(loadedRecord(index, whole));
      extraSize += extra.length;
      from = to + 1;
    }
    const size = from - begin + extraSize;
    loaded.push({
      message: part,
      bytes,
      records,
      size,
      raw,
      firstLine,
      ...(takeover && parts.length === 1 && { takeover }),
    });
    bytes = 0;
  }
  return { kind: "loaded", loaded };
}

/** A message of which some parts are offered. */
interface OfferedMessage {
  body: Uint8Array<ArrayBuffer>;
  /** Their ids. */
  parts: readonly string[];
  /** Functions whose logging was off, by id of the part. */
  off: Readonly<Record<string, readonly string[]>>;
}

/**
 * What of a stored message is offered, without records of functions whose logging was off; or why
 * this code cannot read it.
 */
export function loadOffered(
  { body, parts, off }: OfferedMessage,
  keys: readonly MacKey[],
): Pick<Loaded, "message" | "records" | "takeover">[] | string {
  const loading = load(storedMessage(body), keys);
  if (loading.kind !== "loaded") return loading.why;
  return loading.loaded
    .filter(({ message }) => parts.includes(message.id))
    .map((part) => {
      const { message, records } = part;
      const names = off[message.id];
      if (names === undefined) return part;
      return { message, records: records.filter(({ whole }) => !names.includes(whole.ScriptName)) };
    });
}

/** A message that was stored, as {@link load} takes it. */
export function storedMessage(message: Uint8Array<ArrayBuffer>): Pick<Delivery, "body" | "envelope"> {
  const body = message.byteLength === message.buffer.byteLength ? message.buffer : message.slice().buffer;
  return { body, envelope: decodeEnvelope(body) };
}

/** @param index its place in its part. */
export function loadedRecord(index: number, whole: RecordLine): LoadedRecord {
  return { index, whole, shipped: truncated(whole) };
}

/** The texts that are truncated, next to each other. */
const EXCEPTIONS = FIELD_NAMES.indexOf("Exceptions");
const LOGS = FIELD_NAMES.indexOf("Logs");

/**
 * As it is shipped. JSON is never shorter than the text in it, so most records need not be parsed.
 */
function truncated(record: RecordLine): RecordLine {
  if (record.exceptionsAndLogsLength <= TEXT_MAX_CHARACTERS) return record;
  const whole = JSON.parse(`{${record.run(EXCEPTIONS, LOGS)}}`) as Texts;
  const cut = truncate(whole);
  if (cut === whole) return record;
  // All else keeps its text, digits included.
  const line = `{${record.run(0, EXCEPTIONS - 1)},${jsonText(cut).slice(1, -1)},${record.run(LOGS + 1, FIELD_NAMES.length - 1)}}`;
  return RecordLine.read(line, record.Source, record.extra) ?? record;
}

/** A line of foreign code; null: it is no record, see {@link isStrict}. */
export function readStrictly(line: string): RecordLine | null {
  const record = RecordLine.read(line);
  return record !== null && isStrict(record) ? record : null;
}

/**
 * Whether a line is a record in every part: one JSON object with the fields of a record, in their
 * order, each of its type, and no deeper than intake takes. Intake writes no others, but a function
 * bound to the queue can. Its text is shipped as it stands.
 */
function isStrict(record: RecordLine): boolean {
  return record.isCanonical((name, value) => isValueOf(name, value) && !isDeep(value));
}

function isDeep(value: unknown): boolean {
  return typeof value === "object" && value !== null && isDeeperThan(value, EVENT_MAX_DEPTH);
}

function isValueOf(name: FieldName, value: unknown): boolean {
  switch (name) {
    case "CPUTimeMs":
    case "EventTimestampMs":
    case "WallTimeMs":
      return typeof value === "number";
    case "Event":
    case "ScriptVersion":
      return isObject(value);
    case "Exceptions":
      return isListOf(value, (entry) => isObject(entry) && isText(entry.name) && isText(entry.message));
    case "Logs":
      return isListOf(value, (entry) => isObject(entry) && isListOf(entry.Message, isText));
    case "ScriptTags":
      return isListOf(value, isText);
    default:
      return isText(value);
  }
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isEntry);
}
