import type { Kind } from "./panel.tsx";

/** A record in one row. All texts are untrusted. */
export interface RecordSummary {
  /** In ms since the epoch; null: none, or invalid. */
  atMs: number | null;
  outcome: string;
  kind: Kind;
  script: string;
  /** What called the function. */
  event: string;
  /** The first exception, else the first log line. */
  line: string;
  /** `bad` for an exception or a log of level error, `warn` for level warn. */
  lineKind: Kind;
  /** Number of further exceptions and logs. */
  more: number;
}

/** Longest text in a row, in UTF-16 units. */
const SHORT = 300;

/** The largest time of a Date. ECMA-262, 21.4.1.1. */
const DATE_MAX_MS = 8.64e15;

const OUTCOMES: ReadonlyMap<string, Kind> = new Map([
  ["ok", "ok"],
  ["", "quiet"],
  ["canceled", "warn"],
  ["responseStreamDisconnected", "warn"],
  ["unknown", "quiet"],
]);

/** Summarises any value; missing and malformed fields are empty. Never throws. */
export function summaryOf(record: unknown): RecordSummary {
  const fields = objectOf(record);
  const outcome = textOf(fields.Outcome);
  const exceptions = listOf(fields.Exceptions);
  const logs = listOf(fields.Logs);
  const [line, lineKind] = firstLine(exceptions, logs);
  return {
    atMs: timeOf(fields.EventTimestampMs),
    outcome: short(outcome),
    kind: OUTCOMES.get(outcome) ?? "bad",
    script: short(textOf(fields.ScriptName)),
    event: short(eventOf(textOf(fields.EventType), objectOf(fields.Event))),
    line: short(line),
    lineKind,
    more: Math.max(0, exceptions.length + logs.length - 1),
  };
}

/** An event in a few words. */
function eventOf(type: string, event: Record<string, unknown>): string {
  const request = objectOf(event.Request);
  const status = textOf(objectOf(event.Response).Status);
  switch (type) {
    case "scheduled":
      return words("cron", textOf(event.Cron));
    case "queue":
      return words("queue", textOf(event.Queue), sized(textOf(event.BatchSize)));
    case "email":
      return words("email from", textOf(event.MailFrom));
    case "worker_rpc":
      return words("rpc", textOf(event.RPCMethod));
    case "hibernatable_web_socket":
      return words("websocket", textOf(event.WebSocketEventType));
    default:
      return words(textOf(request.Method), textOf(request.URL), status) || type;
  }
}

function firstLine(exceptions: readonly unknown[], logs: readonly unknown[]): [string, Kind] {
  if (exceptions.length > 0) {
    const { name, message } = objectOf(exceptions[0]);
    return [[textOf(name), textOf(message)].filter(Boolean).join(": "), "bad"];
  }
  if (logs.length === 0) return ["", "quiet"];
  const { Level, Message } = objectOf(logs[0]);
  const level = textOf(Level);
  const kind: Kind = level === "error" ? "bad" : level === "warn" ? "warn" : "quiet";
  const message = Array.isArray(Message) ? Message.slice(0, 20).map(textOf).join(" ") : textOf(Message);
  return [words(level === "" || level === "log" ? "" : `${level}:`, message), kind];
}

function sized(size: string): string {
  return size === "" ? "" : `(${size})`;
}

function words(...parts: readonly string[]): string {
  return parts.filter(Boolean).join(" ");
}

function short(text: string): string {
  return text.length <= SHORT ? text : `${text.slice(0, SHORT)}…`.toWellFormed();
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

function timeOf(value: unknown): number | null {
  return typeof value === "number" && Math.abs(value) <= DATE_MAX_MS ? value : null;
}

/** The whole record: indented JSON, or text as it is. */
export function wholeOf(record: unknown): string {
  if (typeof record === "string") return record;
  try {
    return JSON.stringify(record, null, 2) ?? String(record);
  } catch {
    return "Cannot be shown: nested too deeply.";
  }
}
