import * as z from "zod";
import { utf8Length } from "../bytes.ts";
import { LIVE_RECORD_MAX_BYTES } from "../limits.ts";
import { FIELD_NAMES } from "../record/fields.ts";
import type { RecordLine } from "../record/line.ts";

/** Why a socket is closed by us, beside 1001: RFC 6455, 7.4.2 leaves 4000 to 4999 to applications. These follow HTTP. */
export const CLOSE = {
  /** It sent what nobody understands. */
  invalid: 4400,
  /** Its session has ended. */
  session: 4401,
  /** The permission is gone. */
  permission: 4403,
  /** A message is too large. */
  tooLarge: 4413,
  /** It sends too many messages. */
  flood: 4420,
  /** As many watch as may. */
  full: 4429,
  /** It cannot be told whether the session still lasts. */
  unknown: 4503,
} as const;

/** What happened to the records that arrived since the socket is open. `seen = shown + filtered + dropped`. */
export interface Counts {
  /** All that arrived, but for those while it was paused. */
  seen: number;
  /** Sent. */
  shown: number;
  /** Not wanted by the filter, or of another function. */
  filtered: number;
  /** Not sent, to keep up. */
  dropped: number;
  /** Arrived while it was paused. */
  paused: number;
}

/** A filter's key, operators and values may be anything: how long they may be is the filter's own concern. */
const ClientMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("filter"), filter: z.string(), script: z.string() }),
  z.strictObject({ type: z.literal("pause") }),
  z.strictObject({ type: z.literal("resume") }),
  z.strictObject({ type: z.literal("drawn"), number: z.int().min(1) }),
]);

/**
 * What one who watches says. `filter`: what is wanted from now on, "" for all, and of which function, "" for any. `drawn`: all messages up to this one
 * are on the screen.
 */
export type ClientMessage = z.infer<typeof ClientMessage>;

/** null: nobody understands that. */
export function readClientMessage(text: string): ClientMessage | null {
  try {
    return ClientMessage.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** What is said beside records, as it is sent. `paused` stands in the greeting. */
export function helloMessage(): string {
  return JSON.stringify({ type: "hello" });
}

/** Whether a filter is in force now. With faults, the one before still is. */
export function filterMessage(faults: readonly string[]): string {
  return JSON.stringify({ type: "filter", faults });
}

/** @param records each of them JSON. */
export function recordsMessage(number: number, counts: Counts, records: readonly string[]): string {
  return `{"type":"records","number":${number},"counts":${JSON.stringify(counts)},"records":[${records.join(",")}]}`;
}

/** Longest JSON of a field that is shown of a record which is too large, in UTF-16 units. */
const FIELD_MAX_UNITS = 2_000;

/**
 * A record as it is sent: JSON of `{"record"}`; or, if it has more than {@link LIVE_RECORD_MAX_BYTES}, of `{"record", "tooLarge"}` with those of its fields
 * that are short, and the bytes that it has.
 * @throws SyntaxError if that is no record.
 */
export function recordJson(record: RecordLine): string {
  const { line } = record;
  // Three bytes for each unit at most.
  const bytes = line.length * 3 <= LIVE_RECORD_MAX_BYTES ? 0 : utf8Length(line);
  if (bytes <= LIVE_RECORD_MAX_BYTES) return `{"record":${line}}`;
  const fields = FIELD_NAMES.flatMap((name) => {
    const text = record.text(name) ?? "";
    return text.length <= FIELD_MAX_UNITS ? [`"${name}":${text}`] : [];
  });
  return `{"record":{${fields.join(",")}},"tooLarge":${bytes}}`;
}
