import { free, GrowingBytes, utf8Length } from "../bytes.ts";
import {
  EXTRAS_MAX_BYTES,
  MESSAGE_RAW_MAX_BYTES,
  MESSAGE_RAW_MAX_BYTES_KEYED,
  QUEUE_MESSAGE_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_MESSAGES,
  RECORD_MAX_BYTES,
  ROW_MAX_BYTES,
} from "../limits.ts";
import { encodeExtras } from "../queue/extras.ts";
import { encodeParts, type MessageForm, splitMessage } from "../queue/message.ts";
import { type Entry, splitEntry } from "../record/extras.ts";
import type { Source } from "../record/source.ts";
import type { FirstCopy } from "./first-copy.ts";

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
  /** Absent: unknown. */
  source?: Source;
  /** Id of the n-th message. */
  idOf(part: number): string;
  /** It may be repeated: boundaries depend on the lines alone. */
  keyed: boolean;
  /** How messages are written; absent: as every release reads them, without a seal. */
  form?: MessageForm;
  /** What the first copy of such a request has fixed; absent: ids are remembered by themselves. */
  first?: Pick<FirstCopy, "takenInMs" | "keyed">;
}

/** Of the buffer for lines at first, in bytes. */
const FIRST_BYTES = 16_384;

interface PartLine {
  /** Behind its newline, in the bytes of the part. */
  end: number;
  /** Its extra fields; "": none. */
  extra: string;
}

/**
 * Packs record lines into few messages within the queue's limits, in order. Keyed: the boundaries
 * are a pure function of the lines, so a repeated request gives the same messages under the same
 * ids, whatever the platform's compressor, and whatever extra fields are on: with these, a part may
 * not fit, and travels as a reference. Not keyed: parts are larger, and one that does not fit after
 * compression is halved. A record that does not fit alone travels as a reference. Of the lines,
 * only those of one message are held at once.
 */
export class RecordPacker {
  readonly #context: PackingContext;
  readonly #rawMax: number;
  readonly #messages: PackedMessage[] = [];
  readonly #tooLarge: number[] = [];
  /** Lines of the message that is being gathered, each ended by a newline. */
  readonly #raw: GrowingBytes;
  #part: PartLine[] = [];
  #lines = 0;
  /** Extra fields of the part, in bytes. */
  #extraBytes = 0;

  constructor(context: PackingContext) {
    this.#context = context;
    this.#rawMax = context.keyed ? MESSAGE_RAW_MAX_BYTES_KEYED : MESSAGE_RAW_MAX_BYTES;
    this.#raw = new GrowingBytes(this.#rawMax, FIRST_BYTES);
  }

  /** @param entry without newline. */
  add(entry: Entry): void {
    const { line, extra } = splitEntry(entry);
    const bytes = utf8Length(line) + 1;
    const extraBytes = extra === "" ? 0 : utf8Length(extra);
    const counted = this.#context.keyed ? 0 : this.#extraBytes + extraBytes;
    if (this.#part.length > 0 && this.#raw.length + bytes + counted > this.#rawMax) this.#close();
    this.#extraBytes += extraBytes;
    this.#raw.addLine(line, bytes);
    this.#part.push({ end: this.#raw.length, extra });
    this.#lines += 1;
  }

  /** @returns the messages, or the indices of records that are too large. */
  finish(): Packed {
    if (this.#part.length > 0) this.#close();
    const tooLarge = this.#tooLarge;
    return tooLarge.length > 0 ? { ok: false, tooLarge } : { ok: true, messages: this.#messages };
  }

  #close(): void {
    this.#pack(0, this.#part.length);
    this.#part = [];
    this.#extraBytes = 0;
    this.#raw.clear();
  }

  /** Packs some lines of the part. */
  #pack(from: number, to: number): void {
    const { takenInMs, source, form, first } = this.#context;
    const messages = this.#messages;
    const id = this.#context.idOf(messages.length);
    const keyed = first?.keyed ?? this.#context.keyed;
    const isRepeat = first !== undefined && first.takenInMs < takenInMs;
    const lines = this.#part.slice(from, to);
    const raw = this.#raw.view(this.#part[from - 1]?.end ?? 0, this.#part[to - 1]?.end ?? 0);
    const records = lines.length;
    // Its place among all lines.
    const index = this.#lines - this.#part.length + from;
    if (records === 1 && raw.length > RECORD_MAX_BYTES + 1) {
      this.#tooLarge.push(index);
      return;
    }
    // Each has a line of its own.
    if (this.#context.keyed && this.#extraBytes + records > EXTRAS_MAX_BYTES) {
      for (let n = 0; n < records; n++) this.#tooLarge.push(index + n);
      return;
    }
    const extras = this.#extraBytes === 0 ? [] : encodeExtras(lines.map(({ extra }) => extra));
    const part = {
      id,
      takenInMs,
      keyed,
      ...(isRepeat && { firstMs: first.takenInMs }),
      records,
      ...(source && { source }),
    };
    const body = encodeParts([part], raw, { body: extras }, form);
    if (body.length <= QUEUE_MESSAGE_MAX_BYTES) {
      messages.push({ id, takenInMs, records, body, blob: null });
      return;
    }
    if (records > 1 && !this.#context.keyed) {
      const half = from + (records >> 1);
      this.#pack(from, half);
      this.#pack(half, to);
    } else if (body.length <= ROW_MAX_BYTES) {
      const { reference, ...blob } = splitMessage(body);
      messages.push({ id, takenInMs, records, body: reference, blob });
    } else for (let n = 0; n < records; n++) this.#tooLarge.push(index + n);
    free(body);
  }
}

/** Packs entries that are all there, as {@link RecordPacker} does. */
export function packRecords(entries: readonly Entry[], context: PackingContext): Packed {
  const packer = new RecordPacker(context);
  for (const entry of entries) packer.add(entry);
  return packer.finish();
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
