import { concat } from "../bytes.ts";
import {
  MESSAGE_RAW_MAX_BYTES,
  MESSAGE_RAW_MAX_BYTES_KEYED,
  QUEUE_MESSAGE_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_MESSAGES,
  RECORD_MAX_BYTES,
  ROW_MAX_BYTES,
} from "../limits.ts";
import { encodeParts, splitMessage } from "../queue/message.ts";
import type { FirstCopy } from "./first-copy.ts";
import { messageFacts, recordFacts } from "./record-facts.ts";

export interface PackedMessage {
  id: string;
  takenInMs: number;
  records: number;
  /** For the queue. */
  body: Uint8Array<ArrayBuffer>;
  /** For the blob store, to be stored first: the records of a message too large for the queue. */
  blob: { key: string; body: Uint8Array<ArrayBuffer> } | null;
}

export type Packed = { ok: true; messages: PackedMessage[] } | { ok: false; tooLarge: number[] };

export interface PackingContext {
  takenInMs: number;
  /** Id of the n-th message. */
  idOf(part: number): string;
  /** It may be repeated: boundaries depend on the lines alone. */
  keyed: boolean;
  /** What the first copy of such a request has fixed; absent: ids are remembered by themselves. */
  first?: Pick<FirstCopy, "takenInMs" | "keyed">;
}

const encoder = new TextEncoder();

/**
 * Packs record lines into few messages within the queue's limits, in order. Keyed: the boundaries
 * are a pure function of the lines, so a repeated request gives the same messages under the same
 * ids, whatever the platform's compressor. Not keyed: parts are larger, and one that does not fit
 * after compression is halved. A record that does not fit alone travels as a reference.
 * @param lines one JSON text a record, without newline.
 * @returns the messages, or the indices of records that are too large.
 */
export function packRecords(lines: readonly string[], context: PackingContext): Packed {
  const rawMax = context.keyed ? MESSAGE_RAW_MAX_BYTES_KEYED : MESSAGE_RAW_MAX_BYTES;
  const messages: PackedMessage[] = [];
  const tooLarge: number[] = [];
  const facts = lines.map(recordFacts);
  const add = (from: number, parts: readonly Uint8Array[]): void => {
    const id = context.idOf(messages.length);
    const { takenInMs, first } = context;
    const keyed = first?.keyed ?? context.keyed;
    const isRepeat = first !== undefined && first.takenInMs < takenInMs;
    const raw = concat(parts);
    if (parts.length === 1 && raw.length > RECORD_MAX_BYTES + 1) {
      tooLarge.push(from);
      return;
    }
    const told = messageFacts(facts.slice(from, from + parts.length));
    const part = { id, takenInMs, keyed, ...(isRepeat && { firstMs: first.takenInMs }), records: parts.length };
    const body = encodeParts([part], raw, told);
    if (body.length <= QUEUE_MESSAGE_MAX_BYTES) {
      messages.push({ id, takenInMs, records: parts.length, body, blob: null });
    } else if (parts.length > 1) {
      const half = parts.length >> 1;
      add(from, parts.slice(0, half));
      add(from + half, parts.slice(half));
    } else if (body.length <= ROW_MAX_BYTES) {
      const { reference, ...blob } = splitMessage(body);
      messages.push({ id, takenInMs, records: 1, body: reference, blob });
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

/** Groups messages into `sendBatch` calls within both limits of the queue, in order. */
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
