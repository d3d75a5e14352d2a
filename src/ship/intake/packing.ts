import { free, GrowingBytes, utf8Length } from "../../base/bytes.ts";
import {
  MESSAGE_RAW_MAX_BYTES,
  QUEUE_MESSAGE_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_MESSAGES,
  RECORD_MAX_BYTES,
  ROW_MAX_BYTES,
} from "../../base/limits.ts";
import { isFinishedFragment } from "../../formats/object/fragment.ts";
import { encodeExtras } from "../../formats/queue/extras.ts";
import type { MacKey } from "../../formats/queue/mac.ts";
import { encodeParts } from "../../formats/queue/message.ts";
import { shardOf } from "../../formats/queue/shard.ts";
import { type Entry, splitEntry } from "../../formats/record/extras.ts";
import type { Source } from "../../formats/record/source.ts";

/** A message of one shard. One that is too large for the queue goes to the log directly. */
export interface PackedMessage {
  /** Of its first part. */
  id: string;
  shard: number;
  takenInMs: number;
  records: number;
  body: Uint8Array<ArrayBuffer>;
}

export type Packed = { ok: true; messages: PackedMessage[] } | { ok: false; tooLarge: number[] };

export interface PackingContext {
  takenInMs: number;
  /** Absent: unknown. */
  source?: Source;
  /** Id of the n-th message. */
  idOf(part: number): string;
  /** It may be repeated: a part is what lies between two cuts. */
  keyed: boolean;
  /** Shards that the log has for such parts. */
  shards: number;
  /** Absent: messages are not sealed. */
  seal?: MacKey;
  /**
   * Whether messages that could be fragments are compressed for objects to take over; absent: no.
   * Asked only where it matters.
   */
  forTakeover?: () => boolean;
}

/** Of the buffer for lines at first, in bytes, where it is not known how much comes. */
const FIRST_BYTES = 16_384;

interface PartLine {
  /** Behind its newline, in the bytes of the part. */
  end: number;
  /** Its extra fields; "": none. */
  extra: string;
}

/**
 * Packs record lines into messages of one part each, in order. Keyed: a part begins where the
 * caller says, whatever its records became. Not keyed: parts are as large as a message takes; one
 * that does not fit after compression is halved. What does not fit a message all the same is one of
 * any size that a row takes. Of the lines, only those of one message are held at once.
 */
export class RecordPacker {
  readonly #context: PackingContext;
  readonly #messages: PackedMessage[] = [];
  readonly #tooLarge: number[] = [];
  /** Lines of the message that is being gathered, each ended by a newline. */
  readonly #raw: GrowingBytes;
  #part: PartLine[] = [];
  #lines = 0;
  /** Extra fields of the part, in bytes. */
  #extraBytes = 0;

  /** @param expectedBytes of all lines, each with its newline. */
  constructor(context: PackingContext, expectedBytes = FIRST_BYTES) {
    this.#context = context;
    this.#raw = new GrowingBytes(MESSAGE_RAW_MAX_BYTES, expectedBytes);
  }

  /**
   * @param entry without newline; as bytes, without extra fields.
   * @param begins keyed: whether a part begins with it.
   */
  add(entry: Entry | Uint8Array, begins = false): void {
    const { line, extra } = typeof entry === "string" ? splitEntry(entry) : { line: entry, extra: "" };
    const bytes = (typeof line === "string" ? utf8Length(line) : line.length) + 1;
    const extraBytes = extra === "" ? 0 : utf8Length(extra);
    const all = this.#raw.length + bytes + this.#extraBytes + extraBytes;
    const isEnd = this.#context.keyed ? begins : all > MESSAGE_RAW_MAX_BYTES;
    if (this.#part.length > 0 && isEnd) this.#close();
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
    const { takenInMs, keyed, shards } = this.#context;
    const id = this.#context.idOf(this.#messages.length);
    const lines = this.#part.slice(from, to);
    const raw = this.#raw.view(this.#part[from - 1]?.end ?? 0, this.#part[to - 1]?.end ?? 0);
    const records = lines.length;
    const body = raw.length > RECORD_MAX_BYTES + 1 ? null : this.#encode(id, lines, raw);
    const size = body?.length ?? Number.POSITIVE_INFINITY;
    if (size > QUEUE_MESSAGE_MAX_BYTES && records > 1 && !keyed) {
      const half = from + (records >> 1);
      this.#pack(from, half);
      this.#pack(half, to);
    } else if (body !== null && size <= ROW_MAX_BYTES) {
      this.#messages.push({ id, shard: shardOf({ id, shards }), takenInMs, records, body });
      return;
    } else {
      // Its place among all lines.
      const index = this.#lines - this.#part.length + from;
      for (let n = 0; n < records; n++) this.#tooLarge.push(index + n);
    }
    if (body !== null) free(body);
  }

  #encode(id: string, lines: readonly PartLine[], raw: Uint8Array): Uint8Array<ArrayBuffer> {
    const { takenInMs, source, seal, keyed, shards, forTakeover } = this.#context;
    const extras = this.#extraBytes === 0 ? [] : encodeExtras(lines.map(({ extra }) => extra));
    const part = { id, takenInMs, keyed, shards, records: lines.length, ...(source && { source }) };
    const mayTakeOver = seal !== undefined && isFinishedFragment(part.records, raw.length);
    return encodeParts([part], raw, { body: extras }, seal, mayTakeOver && forTakeover?.());
  }
}

/**
 * Packs entries that are all there, as {@link RecordPacker} does; keyed: as one part.
 */
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
