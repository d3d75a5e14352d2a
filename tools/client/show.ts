/** Objects and records as text for a terminal. Pure; nothing in the text steers the terminal. */
import { gunzipSync } from "node:zlib";
import * as z from "zod";
import { plural, stamp } from "../../src/base/words.ts";
import { summaryOf, visible } from "../../src/web/dashboard/parts/record-summary.ts";
import type { StoredObject } from "./bucket.ts";

/** What the demo reads of one. */
const TraceRecord = z.looseObject({
  Event: z.record(z.string(), z.unknown()),
  EventType: z.string(),
  Logs: z.array(z.looseObject({ Message: z.array(z.string()) })),
});
export type TraceRecord = z.infer<typeof TraceRecord>;

/** The records of one object. @throws unless a job without output options shipped it. */
export function recordsOf({ bytes }: StoredObject): TraceRecord[] {
  const lines = gunzipSync(bytes).toString().split("\n");
  return lines.filter((line) => line !== "").map((line) => TraceRecord.parse(JSON.parse(line)));
}

/** A record in a line, with where it is, and what it threw or logged first in another one. */
export function recordText(record: Record<string, unknown>, place = ""): string {
  const { atMs, state, script, took, event, host, line, more } = summaryOf(record);
  const time = (atMs === null ? "" : stamp(atMs, 1)).padEnd(23);
  const parts = [oneLine(state).padEnd(13), oneLine(script), took, oneLine(event), oneLine(host)];
  const head = `${[time, ...parts.filter((part) => part !== "")].join("  ")}${place}`;
  return line === "" ? head : `${head}\n${"".padEnd(25)}${oneLine(line)}${more > 0 ? ` +${more}` : ""}`;
}

/** Text of any origin on one line; it steers no terminal. */
export function oneLine(text: string): string {
  return visible(text).replace(/\s+/g, " ");
}

/** An object and its records, in lines. */
export function objectLines({ key, bytes }: StoredObject, records: readonly TraceRecord[]): string[] {
  const size = `  ${plural(records.length, "record")}, ${plural(bytes.length, "byte")} of gzip`;
  return [
    printable(key),
    size,
    ...records.flatMap((record) => recordText(record).split("\n")).map((line) => `  ${line}`),
  ];
}

/** Text of any origin, on one line: no character of it steers the terminal or breaks the line. */
export function printable(text: string): string {
  const escaped = (character: string) => `\\u{${character.codePointAt(0)?.toString(16)}}`;
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}
