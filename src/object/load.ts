import { TEXT_MAX_CHARACTERS } from "../limits.ts";
import type { Blobs } from "../queue/blob-store.ts";
import { decodeEnvelope, decodeMessage, type Envelope, joinMessage } from "../queue/message.ts";
import { recordLine } from "../record/encode.ts";
import type { TraceRecord } from "../record/fields.ts";
import { RecordLine } from "../record/line.ts";
import { truncate } from "../record/truncate.ts";

/** A record as the jobs meet it. */
export interface LoadedRecord {
  /** Its place in the message. */
  index: number;
  /** What filters see. */
  whole: RecordLine;
  /** What is shipped: truncated, or `whole` itself if it fits. */
  shipped: RecordLine;
}

/** A delivered message whose records are in memory. */
export interface Loaded {
  delivery: Message<unknown>;
  message: Envelope;
  records: LoadedRecord[];
  /** Size of the records' JSON, in UTF-16 units. */
  size: number;
  /** Each of its characters is one byte of UTF-8; so it is for the records as they are shipped. */
  ascii: boolean;
}

export type Loading =
  | { kind: "loaded"; loaded: Loaded }
  | { kind: "unreadable"; why: string }
  /** It refers to records that are not in the blob store (any more). */
  | { kind: "missing"; message: Envelope };

/**
 * Decodes a delivered message, with what it refers to.
 * @throws if the blob store does not answer.
 */
export async function load(delivery: Message<unknown>, blobs: Pick<Blobs, "get">): Promise<Loading> {
  const whole = await wholeMessage(delivery.body, blobs);
  if ("missing" in whole) return { kind: "missing", message: whole.missing };
  const decoded = decodeMessage(whole.body);
  if (!decoded.ok) return { kind: "unreadable", why: decoded.why };
  const { lines, ascii, ...envelope } = decoded.value;
  // Of a reference it is still true, and who acknowledges it must know.
  const message = { ...envelope, elsewhere: whole.elsewhere };
  // What came back may have broken something: it is looked at in full, so that it does not break it for ever.
  const read = delivery.attempts > 1 ? readStrictly : RecordLine.read;
  const records: LoadedRecord[] = [];
  let size = 0;
  for (const [index, line] of lines.entries()) {
    const whole = read(line);
    if (whole === null) return { kind: "unreadable", why: "holds a line that is no record" };
    records.push(loadedRecord(index, whole));
    size += line.length;
  }
  return { kind: "loaded", loaded: { delivery, message, records, size, ascii } };
}

/** @param index its place in the message. */
export function loadedRecord(index: number, whole: RecordLine): LoadedRecord {
  return { index, whole, shipped: truncated(whole) };
}

/** As it is shipped. JSON text is never shorter than what it says, so most records need not be looked into. */
function truncated(record: RecordLine): RecordLine {
  if (record.exceptionsAndLogsLength <= TEXT_MAX_CHARACTERS) return record;
  const whole = JSON.parse(record.line) as TraceRecord;
  const cut = truncate(whole);
  return cut === whole ? record : (RecordLine.read(recordLine(cut)) ?? record);
}

/** The message with its records, wherever they are. @throws if the blob store does not answer. */
export async function wholeMessage(
  body: unknown,
  blobs: Pick<Blobs, "get">,
): Promise<{ body: unknown; elsewhere: string | null } | { missing: Envelope }> {
  const envelope = decodeEnvelope(body);
  if (!envelope.ok || envelope.value.elsewhere === null) return { body, elsewhere: null };
  const blob: unknown = await blobs.get(envelope.value.elsewhere);
  if (blob === null) return { missing: envelope.value };
  if (!(blob instanceof Uint8Array)) throw new Error("the blob store's answer is no body");
  return { body: joinMessage(body as ArrayBuffer, blob), elsewhere: envelope.value.elsewhere };
}

/**
 * A line that is a record in every part of it. Intake wrote it, and the checksum says that it arrived so; whoever else may write to the queue must not
 * stop it.
 */
export function readStrictly(line: string): RecordLine | null {
  const record = RecordLine.read(line);
  if (record === null || !record.isCanonical()) return null;
  const { Exceptions, Logs } = record;
  const isRecord =
    Array.isArray(Exceptions) &&
    Array.isArray(Logs) &&
    Exceptions.every((entry) => typeof entry?.name === "string" && typeof entry.message === "string") &&
    Logs.every((entry) => Array.isArray(entry?.Message) && entry.Message.every((text) => typeof text === "string"));
  return isRecord ? record : null;
}
