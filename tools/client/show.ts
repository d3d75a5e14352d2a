/** Objects and records as text for a terminal. Pure; nothing in the text steers the terminal. */
import { gunzipSync } from "node:zlib";
import * as z from "zod";
import type { StoredObject } from "./bucket.ts";

const TraceRecord = z.object({
  Entrypoint: z.string(),
  Event: z.record(z.string(), z.unknown()),
  EventTimestampMs: z.number(),
  EventType: z.string(),
  Exceptions: z.array(z.object({ name: z.string(), message: z.string() })),
  Logs: z.array(z.object({ Level: z.string(), Message: z.array(z.string()) })),
  Outcome: z.string(),
  ScriptName: z.string(),
});
export type TraceRecord = z.infer<typeof TraceRecord>;

const FetchEvent = z.object({
  Request: z.object({ Method: z.string(), URL: z.string() }),
  Response: z.object({ Status: z.number().optional() }),
});

/** Log lines shown of one record. */
const LOGS_SHOWN = 2;

/** The records of one object. @throws unless a job without output options shipped it. */
export function recordsOf({ bytes }: StoredObject): TraceRecord[] {
  const lines = gunzipSync(bytes).toString().split("\n");
  return lines.filter((line) => line !== "").map((line) => TraceRecord.parse(JSON.parse(line)));
}

/** The URL of a fetch event; empty for all others. */
export function urlOf(record: TraceRecord): string {
  const event = FetchEvent.safeParse(record.Event);
  return event.success ? event.data.Request.URL : "";
}

/** A short description of a record, by its kind; without times. */
export function aboutOf({
  Entrypoint,
  Event,
  EventType,
}: Pick<TraceRecord, "Entrypoint" | "Event" | "EventType">): string {
  switch (EventType) {
    case "fetch": {
      const event = FetchEvent.safeParse(Event);
      if (!event.success) return JSON.stringify(Event);
      const { Request, Response } = event.data;
      // There is no status after an exception.
      return `${Request.Method} ${Request.URL}${Response.Status === undefined ? "" : ` → ${Response.Status}`}`;
    }
    case "scheduled":
      return String(Event.Cron);
    case "queue":
      return `${Event.Queue}: ${Event.BatchSize} ${Event.BatchSize === 1 ? "message" : "messages"}`;
    case "alarm":
      return Entrypoint;
    case "worker_rpc":
      return `${Entrypoint}.${Event.RPCMethod}()`;
    default:
      return JSON.stringify(Event);
  }
}

/** An object and its records, in lines. */
export function objectLines(object: StoredObject, records: readonly TraceRecord[]): string[] {
  const size = `${records.length} ${records.length === 1 ? "record" : "records"}, ${object.bytes.length.toLocaleString("en")} bytes of gzip`;
  return [plain(object.key), `  ${size}`, ...records.flatMap(recordLines).map((line) => `  ${line}`)];
}

function recordLines(record: TraceRecord): string[] {
  const time = new Date(record.EventTimestampMs).toISOString().slice(11, 23);
  const more = record.Logs.length - LOGS_SHOWN;
  const details = [
    ...record.Logs.slice(0, LOGS_SHOWN).map(({ Level, Message }) => `${Level.padEnd(6)} ${Message.join(" ")}`),
    ...(more > 0 ? [`       … and ${more} more log ${more === 1 ? "line" : "lines"}`] : []),
    ...record.Exceptions.map(({ name, message }) => `thrown ${name}: ${message}`),
  ];
  const kind = `${record.EventType.padEnd(10)}  ${record.Outcome.padEnd(9)}`;
  const head = `${time}  ${kind}  ${aboutOf(record)}  (${record.ScriptName})`;
  return [plain(head), ...details.map((line) => `                ${plain(line)}`)];
}

/** Longest line of a record, in UTF-16 units. */
const LINE_MAX = 200;

function plain(text: string): string {
  return printable(text).slice(0, LINE_MAX);
}

/** Text of any origin, on one line: no character of it steers the terminal or breaks the line. */
export function printable(text: string): string {
  const escaped = (character: string) => `\\u{${character.codePointAt(0)?.toString(16)}}`;
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}
