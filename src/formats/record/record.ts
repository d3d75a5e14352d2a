import { isObject, type Json } from "../../base/bytes.ts";
import type { Fault } from "../../base/errors.ts";
import { ERRORS_MAX_ENTRIES, EVENT_MAX_DEPTH, TIME_MAX_MS } from "../../base/limits.ts";
import { jsonText } from "./encode.ts";
import {
  type ExceptionEntry,
  type FieldName,
  isFieldName,
  type LogEntry,
  type TakenField,
  type TraceRecord,
} from "./fields.ts";

export interface MappingContext {
  /** Time of intake, in ms: the default for a missing time. */
  takenInMs: number;
  /** Script name of an event without one. */
  defaultScriptName: string;
  /** A wrong value becomes its default instead of a fault: `tail()` cannot refuse events. */
  lenient: boolean;
  /** Extra fields that are taken from the event; absent: none. */
  extraFields?: readonly TakenField[];
}

/** Collects what is found in the events of one request. */
export interface Findings {
  faults: Fault[];
  /** Top-level keys that were dropped. */
  unknownKeys: Set<string>;
  /** Times that can only be in another unit, a sentence each; absent: they are not looked for. */
  oddTimes?: string[];
}

/** Units that are taken for milliseconds, and how many of each a second has. */
const OTHER_UNITS = Object.entries({ seconds: 1, microseconds: 1e6, nanoseconds: 1e9 });

/** 2000-01-01 and 2200-01-01, in seconds since the epoch. */
const [FROM_S, TO_S] = [946_684_800, 7_258_118_400];

/** The unit in which a time is of these centuries, which no time is in two; null: none of these. */
export function otherUnitOf(time: unknown): string | null {
  if (typeof time !== "number") return null;
  return OTHER_UNITS.find(([, n]) => time >= FROM_S * n && time < TO_S * n)?.[0] ?? null;
}

/** When an event was, in ms since the epoch: senders that tell seconds mean the same. */
export function eventMs(time: number): number {
  return otherUnitOf(time) === "seconds" ? time * 1_000 : time;
}

/** Whether a time is of these centuries in milliseconds, and so in no other unit. */
export function isInMs(time: number): boolean {
  return time >= FROM_S * 1_000 && time < TO_S * 1_000;
}

/**
 * Top-level keys of a trace item as `tail()` gives it.
 * https://developers.cloudflare.com/workers/runtime-apis/handlers/tail/
 */
const ITEM_KEYS: ReadonlySet<string> = new Set([
  "cpuTime",
  "diagnosticsChannelEvents",
  "dispatchNamespace",
  "durableObjectId",
  "entrypoint",
  "event",
  "eventTimestamp",
  "exceptions",
  "executionModel",
  "logs",
  "outcome",
  "preview",
  "scriptName",
  "scriptTags",
  "scriptVersion",
  "tailAttributes",
  "truncated",
  "wallTime",
]);

/**
 * Turns one event into the record we ship. An event is a trace item as `tail()` gives it, or a
 * record; any key of a record makes it one.
 * @param at JSON pointer of the event in the body ("" if the body is the event).
 * @returns the record, or null: then at least one fault was added.
 * @throws never; neither JSON nor a trace item has throwing getters.
 */
export function toRecord(input: unknown, context: MappingContext, at: string, findings: Findings): TraceRecord | null {
  const reader = new Reader(context, findings);
  if (!isObject(input)) {
    findings.faults.push({ pointer: at, message: "an event is a JSON object" });
    return null;
  }
  const keys = Object.keys(input);
  const isRecord = isRecordForm(input);
  if (!isRecord && !keys.some((key) => ITEM_KEYS.has(key)) && !("event" in input)) {
    findings.faults.push({ pointer: at, message: "neither a trace item nor a record: none of its keys is known" });
    return null;
  }
  const extra: readonly string[] = context.extraFields ?? [];
  for (const key of keys) {
    const isKnown = isRecord ? isFieldName(key) || extra.includes(key) : ITEM_KEYS.has(key);
    if (!isKnown) findings.unknownKeys.add(key);
  }
  const record = isRecord ? fromRecord(input, reader, at) : fromItem(input, reader, at);
  return reader.failed ? null : record;
}

/** Whether an event is a record, and no trace item. */
export function isRecordForm(event: object): boolean {
  return Object.keys(event).some(isFieldName);
}

function fromItem(item: Json, read: Reader, at: string): TraceRecord {
  const { type, event } = describeEvent(item.event, read, `${at}/event`);
  const version = read.object(item.scriptVersion, `${at}/scriptVersion`);
  return {
    CPUTimeMs: read.duration(item.cpuTime, `${at}/cpuTime`),
    DispatchNamespace: read.text(item.dispatchNamespace, `${at}/dispatchNamespace`),
    Entrypoint: read.text(item.entrypoint, `${at}/entrypoint`),
    Event: event,
    EventTimestampMs: read.time(item.eventTimestamp, `${at}/eventTimestamp`),
    EventType: type,
    Exceptions: read.exceptions(item.exceptions, `${at}/exceptions`, "timestamp"),
    Logs: read.logs(item.logs, `${at}/logs`, { level: "level", message: "message", time: "timestamp" }),
    Outcome: read.text(item.outcome, `${at}/outcome`),
    ScriptName: read.text(item.scriptName, `${at}/scriptName`) || read.context.defaultScriptName,
    ScriptTags: read.texts(item.scriptTags, `${at}/scriptTags`),
    ScriptVersion: {
      ID: read.text(version.id, `${at}/scriptVersion/id`),
      Message: read.text(version.message, `${at}/scriptVersion/message`),
      Tag: read.text(version.tag, `${at}/scriptVersion/tag`),
    },
    WallTimeMs: read.duration(item.wallTime, `${at}/wallTime`),
  };
}

function fromRecord(record: Json, read: Reader, at: string): TraceRecord {
  const field = (name: FieldName) => [record[name], `${at}/${name}`] as const;
  const version = read.object(...field("ScriptVersion"));
  return {
    CPUTimeMs: read.duration(...field("CPUTimeMs")),
    DispatchNamespace: read.text(...field("DispatchNamespace")),
    Entrypoint: read.text(...field("Entrypoint")),
    Event: read.event(...field("Event")),
    EventTimestampMs: read.time(...field("EventTimestampMs")),
    EventType: read.text(...field("EventType")),
    Exceptions: read.exceptions(...field("Exceptions"), "TimestampMs"),
    Logs: read.logs(...field("Logs"), { level: "Level", message: "Message", time: "TimestampMs" }),
    Outcome: read.text(...field("Outcome")),
    ScriptName: read.text(...field("ScriptName")) || read.context.defaultScriptName,
    ScriptTags: read.texts(...field("ScriptTags")),
    ScriptVersion: {
      ID: read.text(version.ID, `${at}/ScriptVersion/ID`),
      Message: read.text(version.Message, `${at}/ScriptVersion/Message`),
      Tag: read.text(version.Tag, `${at}/ScriptVersion/Tag`),
    },
    WallTimeMs: read.duration(...field("WallTimeMs")),
  };
}

/** Whether objects and arrays are nested deeper than `levels`: it looks no deeper than that. */
export function isDeeperThan(root: object, levels: number): boolean {
  if (levels === 0) return true;
  for (const value of Array.isArray(root) ? root : Object.values(root))
    if (typeof value === "object" && value !== null && isDeeperThan(value, levels - 1)) return true;
  return false;
}

export function nestedTooDeeply(levels: number): string {
  return `nested too deeply: at most ${levels} levels`;
}

/** Reads values of one event. What is wrong is a fault, or in lenient reading its default. */
export class Reader {
  readonly context: MappingContext;
  /** Whether a value had a wrong type or range. */
  failed = false;
  readonly #findings: Findings;

  constructor(context: MappingContext, findings: Findings) {
    this.context = context;
    this.#findings = findings;
  }

  text(value: unknown, pointer: string): string {
    if (value === undefined || value === null) return "";
    if (typeof value === "string") return value;
    this.#fault(pointer, "must be a string");
    return messageText(value);
  }

  texts(value: unknown, pointer: string): string[] {
    return this.list(value, pointer).map((entry, i) => this.text(entry, `${pointer}/${i}`));
  }

  list(value: unknown, pointer: string): readonly unknown[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    this.#fault(pointer, "must be an array");
    return [];
  }

  object(value: unknown, pointer: string): Record<string, unknown> {
    if (value === undefined || value === null) return {};
    if (isObject(value)) return value;
    this.#fault(pointer, "must be an object");
    return {};
  }

  /** A record's `Event`, taken as it is, up to a depth. */
  event(value: unknown, pointer: string): Record<string, unknown> {
    const event = this.object(value, pointer);
    this.#noteUnit(event.ScheduledTimeMs, `${pointer}/ScheduledTimeMs`);
    if (!isDeeperThan(event, EVENT_MAX_DEPTH)) return event;
    this.#fault(pointer, nestedTooDeeply(EVENT_MAX_DEPTH));
    return {};
  }

  boolean(value: unknown, pointer: string): boolean {
    if (value === undefined || value === null) return false;
    if (typeof value === "boolean") return value;
    this.#fault(pointer, "must be a boolean");
    return false;
  }

  number(value: unknown, pointer: string, what = "a number"): number {
    if (value === undefined || value === null) return 0;
    if (typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return Math.round(value);
    this.#fault(pointer, `must be ${what}, 0 or more`);
    return 0;
  }

  duration(value: unknown, pointer: string): number {
    return this.number(value, pointer, "a number of milliseconds");
  }

  /** A time in ms since the epoch, rounded; by default the time of intake. */
  time(value: unknown, pointer: string): number {
    if (value === undefined || value === null) return this.context.takenInMs;
    if (typeof value === "number" && value >= 0 && Math.round(value) <= TIME_MAX_MS) {
      this.#noteUnit(value, pointer);
      return Math.round(value);
    }
    const unit = otherUnitOf(value);
    const so = unit === null ? "" : `; this one can only be in ${unit}`;
    this.#fault(pointer, `must be a time in milliseconds since the epoch, from 0 to ${TIME_MAX_MS}${so}`);
    return this.context.takenInMs;
  }

  #noteUnit(time: unknown, at: string): void {
    const { oddTimes } = this.#findings;
    const unit = oddTimes === undefined || oddTimes.length >= ERRORS_MAX_ENTRIES ? null : otherUnitOf(time);
    if (unit !== null) oddTimes?.push(`${at} can only be in ${unit}, not in milliseconds; it is kept as it was sent`);
  }

  logs(value: unknown, pointer: string, key: { level: string; message: string; time: string }): LogEntry[] {
    return this.list(value, pointer).map((entry, i) => {
      const log = this.object(entry, `${pointer}/${i}`);
      const message = log[key.message];
      const parts = Array.isArray(message) ? message : message === undefined || message === null ? [] : [message];
      return {
        Level: this.text(log[key.level], `${pointer}/${i}/${key.level}`),
        Message: parts.map((part) => messageText(part)),
        TimestampMs: this.time(log[key.time], `${pointer}/${i}/${key.time}`),
      };
    });
  }

  exceptions(value: unknown, pointer: string, timeKey: string): ExceptionEntry[] {
    return this.list(value, pointer).map((entry, i) => {
      const exception = this.object(entry, `${pointer}/${i}`);
      const nameKey = "Name" in exception ? "Name" : "name";
      const messageKey = "Message" in exception ? "Message" : "message";
      const message = exception[messageKey];
      return {
        name: this.text(exception[nameKey], `${pointer}/${i}/${nameKey}`),
        message: message === undefined || message === null ? "" : messageText(message),
        TimestampMs: this.time(exception[timeKey], `${pointer}/${i}/${timeKey}`),
      };
    });
  }

  #fault(pointer: string, message: string): void {
    if (this.context.lenient) return;
    this.failed = true;
    // An answer lists no more than these.
    const { faults } = this.#findings;
    if (faults.length < ERRORS_MAX_ENTRIES) faults.push({ pointer, message });
  }
}

/**
 * A logged argument as text: a string as it is, anything else as JSON, or `String()` if JSON has no
 * form for it.
 */
export function messageText(value: unknown, write = jsonText): string {
  if (typeof value === "string") return value;
  try {
    const isJson = typeof value === "object" || typeof value === "number" || typeof value === "boolean";
    return isJson ? write(value) : String(value);
  } catch {
    // Cyclic, too deep for the stack, or a stub of another process: only its type can be read
    // safely.
    return Object.prototype.toString.call(value);
  }
}

/** A record's `EventType` and `Event`. */
interface EventDescription {
  type: string;
  event: Record<string, unknown>;
}

/** null counts as missing. */
const isThere = (value: unknown): boolean => value !== undefined && value !== null;

/**
 * The runtime gives a cron's time as a number, an alarm's as an ISO string (other process) or a
 * Date (same process).
 */
function asMs(value: unknown): unknown {
  if (typeof value === "string") return Date.parse(value);
  return value instanceof Date ? value.getTime() : value;
}

/**
 * Recognises the kind of a trace item by the presence of one property. The order matters: an alarm
 * and a cron both have `scheduledTime`, only a cron has `cron`.
 * @param at JSON pointer of the event.
 * @returns `unknown` with an empty event for anything else, null included.
 * @see https://developers.cloudflare.com/workers/runtime-apis/handlers/tail/
 */
function describeEvent(value: unknown, read: Reader, at: string): EventDescription {
  // An array has none of the properties, so it becomes `unknown`.
  const event: Json = typeof value === "object" && value !== null ? (value as Json) : {};
  const text = (key: string): string => read.text(event[key], `${at}/${key}`);
  const number = (key: string): number => read.number(event[key], `${at}/${key}`);
  const scheduledTime = (): number => read.time(asMs(event.scheduledTime), `${at}/scheduledTime`);

  if (isThere(event.request)) return { type: "fetch", event: describeFetch(event, read, at) };
  if (isThere(event.cron)) {
    return { type: "scheduled", event: { Cron: text("cron"), ScheduledTimeMs: scheduledTime() } };
  }
  if (isThere(event.scheduledTime)) return { type: "alarm", event: { ScheduledTimeMs: scheduledTime() } };
  if (isThere(event.queue)) return { type: "queue", event: { Queue: text("queue"), BatchSize: number("batchSize") } };
  if (isThere(event.mailFrom)) {
    const mail = { MailFrom: text("mailFrom"), RcptTo: text("rcptTo"), RawSize: number("rawSize") };
    return { type: "email", event: mail };
  }
  if (isThere(event.rpcMethod)) return { type: "worker_rpc", event: { RPCMethod: text("rpcMethod") } };
  if (isThere(event.getWebSocketEvent)) {
    const pointer = `${at}/getWebSocketEvent`;
    const socket = read.object(event.getWebSocketEvent, pointer);
    return { type: "hibernatable_web_socket", event: describeSocket(socket, read, pointer) };
  }
  if (isThere(event.consumedEvents)) {
    const pointer = `${at}/consumedEvents`;
    const consumed = read.list(event.consumedEvents, pointer).map((entry, i) => {
      const { scriptName } = read.object(entry, `${pointer}/${i}`);
      return { ScriptName: read.text(scriptName, `${pointer}/${i}/scriptName`) };
    });
    return { type: "tail", event: { ConsumedEvents: consumed } };
  }
  if (isThere(event.reason)) return { type: "onHibernate", event: { Reason: text("reason") } };
  // It has no property: only its class tells, so it has to come from the runtime itself.
  if (Object.prototype.toString.call(value) === "[object ConnectEventInfo]") return { type: "connect", event: {} };
  return { type: "unknown", event: {} };
}

function describeFetch(event: Json, read: Reader, at: string): Record<string, unknown> {
  const request = read.object(event.request, `${at}/request`);
  // No other header is shipped.
  const headers = request.headers as Json | null | undefined;
  const ray = read.text(headers?.["cf-ray"], `${at}/request/headers/cf-ray`);
  const response = read.object(event.response, `${at}/response`);
  return {
    // The header is `<ray id>-<data centre>`.
    RayID: ray.split("-", 1)[0] ?? "",
    Request: {
      URL: read.text(request.url, `${at}/request/url`),
      Method: read.text(request.method, `${at}/request/method`),
    },
    // A missing response (exception, aborted client, upgrade) is not a status 0.
    Response: isThere(event.response) ? { Status: read.number(response.status, `${at}/response/status`) } : {},
  };
}

/** Only a close event has a code and `wasClean`. */
function describeSocket(socket: Json, read: Reader, at: string): Record<string, unknown> {
  return {
    WebSocketEventType: read.text(socket.webSocketEventType, `${at}/webSocketEventType`),
    ...(isThere(socket.code) && { Code: read.number(socket.code, `${at}/code`) }),
    ...(isThere(socket.wasClean) && { WasClean: read.boolean(socket.wasClean, `${at}/wasClean`) }),
  };
}
