import type { SentRecord } from "./receiver.ts";

/** ScriptName of what tests a receiver: a search finds, and leaves out, what was sent to try it. */
const TEST_SCRIPT = "logship-test";

/** A record that shows whether a receiver can be written to, in NDJSON. */
export function testLine(nowMs: number): string {
  return JSON.stringify({
    EventTimestampMs: nowMs,
    EventType: "unknown",
    Outcome: "ok",
    ScriptName: TEST_SCRIPT,
    Logs: [{ Level: "info", Message: ["logship tests whether it can write here"], TimestampMs: nowMs }],
  });
}

/** A record with its time as RFC 3339 before its own fields. */
export function withTime({ line, timeMs }: SentRecord, name: string): string {
  return withFirst(line, `"${name}":"${new Date(timeMs).toISOString()}"`);
}

/** A JSON object with another member before its own. @param member its JSON, name and value. */
export function withFirst(line: string, member: string): string {
  const rest = line.slice(line.indexOf("{") + 1);
  return rest.trim() === "}" ? `{${member}}` : `{${member},${rest}`;
}

/** How bad a record is, in words that receivers know. */
export type Severity = "info" | "warn" | "error";

/** Outcomes that are no error of the function: the client has gone. */
const HARMLESS: ReadonlySet<unknown> = new Set([undefined, "", "ok", "canceled", "responseStreamDisconnected"]);

/** By outcome, exceptions and levels of logs, as far as a job ships them. */
export function severityOf({ Outcome, Exceptions, Logs }: SentRecord["fields"]): Severity {
  if (!HARMLESS.has(Outcome) || listOf(Exceptions).length > 0) return "error";
  const levels = new Set(listOf(Logs).map(({ Level }) => Level));
  if (levels.has("error")) return "error";
  return levels.has("warn") ? "warn" : "info";
}

/** In UTF-16 units: New Relic searches the first 4,094 of a value. */
const MESSAGE_MAX = 4_000;

/**
 * A record as a person reads it: what was called, what was thrown, what was logged; cut after
 * {@link MESSAGE_MAX}. It begins with a word, so it is no JSON, which receivers would take apart
 * and write over the fields of the record.
 */
export function messageOf({ EventType, Event, Outcome, Exceptions, Logs }: SentRecord["fields"]): string {
  const { Request, Response, Cron, Queue, RPCMethod, Reason } = objectOf(Event);
  const { Method, URL } = objectOf(Request);
  const { Status } = objectOf(Response);
  const called = [Method, URL, Status, Cron, Queue, RPCMethod, Reason, Outcome === "ok" ? "" : Outcome];
  const kind = typeof EventType === "string" && /^[A-Za-z_]+$/.test(EventType) ? EventType : "event";
  let text = [kind, ...called.filter((part) => isText(part) && part !== "")].join(" ");
  for (const { name, message } of listOf(Exceptions)) text += `\n${[name, message].filter(isText).join(": ")}`;
  for (const { Message } of listOf(Logs)) {
    if (text.length > MESSAGE_MAX) break;
    text += `\n${Array.isArray(Message) ? Message.filter(isText).join(" ") : ""}`;
  }
  return text.slice(0, MESSAGE_MAX).toWellFormed();
}

function isText(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** The members of an object; none of what is no object. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The members of a list; none of what is no list. */
export function listOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}
