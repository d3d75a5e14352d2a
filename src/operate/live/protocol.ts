import * as z from "zod";
import { parsedJson, utf8Length } from "../../base/bytes.ts";
import { LIVE_RECORD_MAX_BYTES } from "../../base/limits.ts";
import { FIELD_NAMES, TAKEN_FIELDS } from "../../formats/record/fields.ts";
import type { RecordLine } from "../../formats/record/line.ts";

/**
 * Close codes beside 1001. RFC 6455, 7.4.2 leaves 4000 to 4999 to applications; these follow HTTP.
 */
export const CLOSE = {
  /** An invalid message. */
  invalid: 4400,
  /** The session has ended. */
  session: 4401,
  /** The permission was withdrawn. */
  permission: 4403,
  /** A message is too large. */
  tooLarge: 4413,
  /** Too many messages. */
  flood: 4420,
  /** Too many viewers. */
  full: 4429,
  /** The session could not be checked. */
  unknown: 4503,
} as const;

/** Records since the socket opened. `seen = shown + filtered + dropped`. */
export interface Counts {
  /** All that arrived, except while paused. */
  seen: number;
  /** Sent. */
  shown: number;
  /** Rejected by filter or query. */
  filtered: number;
  /** Not sent, to keep up. */
  dropped: number;
  /** Arrived while paused. */
  paused: number;
}

const ClientMessage = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("filter"),
    filter: z.string(),
    query: z.string().default(""),
    text: z.string().default(""),
  }),
  z.strictObject({ type: z.literal("pause") }),
  z.strictObject({ type: z.literal("resume") }),
  z.strictObject({ type: z.literal("drawn"), number: z.int().min(1) }),
]);

/**
 * A message of a viewer. `filter`: sets filter and query, "" for any; `text` is a phrase in place
 * of a query. `drawn`: all messages up to this number are on the screen, or kept for it.
 */
export type ClientMessage = z.infer<typeof ClientMessage>;

/** null: invalid. */
export function readClientMessage(text: string): ClientMessage | null {
  return ClientMessage.safeParse(parsedJson(text)).data ?? null;
}

export function helloMessage(): string {
  return JSON.stringify({ type: "hello" });
}

/** The answer to it. With faults, filter and query stay as they were. */
export function filterMessage(faults: readonly string[]): string {
  return JSON.stringify({ type: "filter", faults });
}

/** @param records each of them JSON. */
export function recordsMessage(number: number, counts: Counts, records: readonly string[]): string {
  return `{"type":"records","number":${number},"counts":${JSON.stringify(counts)},"records":[${records.join(",")}]}`;
}

/** Longest field that is sent of a record that is too large, as JSON, in UTF-16 units. */
const FIELD_MAX_UNITS = 2_000;

/**
 * A record as it is sent: JSON of `{"record", "source"}`; above {@link LIVE_RECORD_MAX_BYTES}, of
 * `{"record", "source", "tooLarge"}` with its short fields alone and its size in bytes.
 * @throws SyntaxError if it is no record.
 */
export function recordJson(record: RecordLine): string {
  const line = record.withExtra;
  const source = record.text("Source");
  // A UTF-16 unit is at most three bytes.
  const bytes = line.length * 3 <= LIVE_RECORD_MAX_BYTES ? 0 : utf8Length(line);
  if (bytes <= LIVE_RECORD_MAX_BYTES) return `{"record":${line},"source":${source}}`;
  const fields = [...FIELD_NAMES, ...TAKEN_FIELDS].flatMap((name) => {
    const text = record.text(name) ?? "";
    return text.length <= FIELD_MAX_UNITS ? [`"${name}":${text}`] : [];
  });
  return `{"record":{${fields.join(",")}},"source":${source},"tooLarge":${bytes}}`;
}
