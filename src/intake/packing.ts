import { concat } from "../bytes.ts";
import {
  EVENT_MAX_BYTES,
  MESSAGE_RAW_MAX_BYTES,
  MESSAGE_RAW_MAX_BYTES_KEYED,
  QUEUE_MESSAGE_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_MESSAGES,
} from "../limits.ts";
import { encodeMessage } from "./message.ts";

export interface PackedMessage {
  id: string;
  records: number;
  body: Uint8Array<ArrayBuffer>;
}

export type Packed = { ok: true; messages: PackedMessage[] } | { ok: false; tooLarge: number[] };

export interface PackingContext {
  takenInMs: number;
  /** Id of the n-th message. With an `Idempotency-Key` a pure function of key, body and n. */
  idOf(part: number): string;
  keyed: boolean;
}

const encoder = new TextEncoder();

/**
 * Packs record lines into as few messages as the queue's limits allow, in order.
 * Keyed, the boundaries are a pure function of the lines: a repeated request gives the same messages under the same ids, whatever compressor
 * the platform ships by then. Not keyed, parts are larger, and one that does not fit after compression is halved.
 * @param lines one JSON text a record, without newline.
 * @returns the messages, or the indices of the records that fit no message on their own.
 */
export function packRecords(lines: readonly string[], context: PackingContext): Packed {
  const rawMax = context.keyed ? MESSAGE_RAW_MAX_BYTES_KEYED : MESSAGE_RAW_MAX_BYTES;
  const messages: PackedMessage[] = [];
  const tooLarge: number[] = [];
  const add = (from: number, parts: readonly Uint8Array[]): void => {
    const id = context.idOf(messages.length);
    const raw = concat(parts);
    const fitsRaw = parts.length > 1 || raw.length <= EVENT_MAX_BYTES + 1;
    const body = fitsRaw
      ? encodeMessage({ id, takenInMs: context.takenInMs, keyed: context.keyed, records: parts.length }, raw)
      : null;
    if (body !== null && body.length <= QUEUE_MESSAGE_MAX_BYTES) {
      messages.push({ id, records: parts.length, body });
    } else if (parts.length > 1) {
      const half = parts.length >> 1;
      add(from, parts.slice(0, half));
      add(from + half, parts.slice(half));
    } else {
      tooLarge.push(from);
    }
  };
  let part: Uint8Array[] = [];
  let partBytes = 0;
  lines.forEach((line, i) => {
    const bytes = encoder.encode(`${line}\n`);
    if (part.length > 0 && partBytes + bytes.length > rawMax) {
      add(i - part.length, part);
      part = [];
      partBytes = 0;
    }
    part.push(bytes);
    partBytes += bytes.length;
  });
  if (part.length > 0) add(lines.length - part.length, part);
  return tooLarge.length > 0 ? { ok: false, tooLarge } : { ok: true, messages };
}

/** Groups messages into `sendBatch` calls that respect both limits of the queue, in order. */
export function sendGroups(messages: readonly PackedMessage[]): PackedMessage[][] {
  const groups: PackedMessage[][] = [];
  let group: PackedMessage[] = [];
  let bytes = 0;
  for (const message of messages) {
    if (group.length === QUEUE_SEND_BATCH_MAX_MESSAGES || bytes + message.body.length > QUEUE_SEND_BATCH_MAX_BYTES) {
      groups.push(group);
      group = [];
      bytes = 0;
    }
    group.push(message);
    bytes += message.body.length;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}
