import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { concat, fromHex, toHex } from "../bytes.ts";
import { MESSAGE_RAW_MAX_BYTES, RECORD_MAX_BYTES } from "../limits.ts";

/**
 * The queue message: a 40-byte header and the records as NDJSON, deflated where that is shorter.
 * All integers are big-endian. Bytes 0 to 27 are the same in every version, so that older code can
 * note a message that it has to leave to newer code.
 *
 * | bytes | what |
 * | --- | --- |
 * | 0–1 | `LS` |
 * | 2 | format version, 1 |
 * | 3 | flags: 1 deflated, 2 keyed, 4 the records lie elsewhere |
 * | 4–19 | id |
 * | 20–27 | time of intake, ms since the epoch |
 * | 28–31 | number of records |
 * | 32–35 | length of the NDJSON in bytes |
 * | 36–39 | CRC-32 of the 36 bytes before (without flag 4) and the NDJSON |
 *
 * A message too large for the queue travels as a reference: its header alone, with flag 4. The rest
 * waits in the blob store under id and checksum: the id alone is not enough, as a repeated request
 * has the same id, but its records may differ by the times that intake filled in.
 */
const HEADER_BYTES = 40;
/** What is the same in every version. */
const HEAD_BYTES = 28;
const CRC_AT = 36;
const MAGIC = 0x4c53;
const VERSION = 1;
const FLAG_DEFLATED = 1;
const FLAG_KEYED = 2;
const FLAG_ELSEWHERE = 4;

/** Largest NDJSON of a message: {@link MESSAGE_RAW_MAX_BYTES}, or one record and its newline. */
const RAW_LIMIT = Math.max(MESSAGE_RAW_MAX_BYTES, RECORD_MAX_BYTES) + 1;

/**
 * A higher level would gain little: a message is inflated once, and 64 KB are billed as one
 * operation anyway.
 */
const MESSAGE_DEFLATE_LEVEL = 3;

/**
 * A message's header: made once, before the first send, and the same in every send and delivery.
 */
export interface Envelope {
  /** 16 bytes as 32 lower-case hex digits. */
  id: string;
  takenInMs: number;
  /**
   * The id derives from an `Idempotency-Key`: a repeated request has the same id and another time
   * of intake.
   */
  keyed: boolean;
  records: number;
  /** Key of the records in the blob store; null: they are in the message. */
  elsewhere: string | null;
}

export interface Message extends Envelope {
  /** One JSON text a record, without newlines. */
  lines: string[];
  /** Each character of the lines is one byte of UTF-8. */
  ascii: boolean;
}

/**
 * @param raw the records as NDJSON, each line ended by a newline.
 * @returns the bytes to send; the caller checks their length against the queue's limit.
 */
export function encodeMessage(envelope: Omit<Envelope, "elsewhere">, raw: Uint8Array): Uint8Array<ArrayBuffer> {
  const deflated = deflateRawSync(raw, { level: MESSAGE_DEFLATE_LEVEL });
  const body = deflated.length < raw.length ? deflated : raw;
  const message = new Uint8Array(HEADER_BYTES + body.length);
  const view = new DataView(message.buffer);
  view.setUint16(0, MAGIC);
  view.setUint8(2, VERSION);
  view.setUint8(3, (body === deflated ? FLAG_DEFLATED : 0) | (envelope.keyed ? FLAG_KEYED : 0));
  message.set(fromHex(envelope.id), 4);
  view.setBigUint64(20, BigInt(envelope.takenInMs));
  view.setUint32(28, envelope.records);
  view.setUint32(32, raw.length);
  view.setUint32(CRC_AT, crc32(raw, crc32(message.subarray(0, CRC_AT))));
  message.set(body, HEADER_BYTES);
  return message;
}

/** Splits a message into the reference that is sent, and the body that is stored under the key. */
export function splitMessage(message: Uint8Array): {
  reference: Uint8Array<ArrayBuffer>;
  key: string;
  body: Uint8Array<ArrayBuffer>;
} {
  const reference = message.slice(0, HEADER_BYTES) as Uint8Array<ArrayBuffer>;
  reference[3] = (reference[3] ?? 0) | FLAG_ELSEWHERE;
  return { reference, key: blobKey(reference), body: message.slice(HEADER_BYTES) as Uint8Array<ArrayBuffer> };
}

/** Key of a message's body in the blob store: id and checksum, as 40 hex digits. */
export function blobKey(header: Uint8Array): string {
  return toHex(header.slice(4, 20)) + toHex(header.slice(CRC_AT, HEADER_BYTES));
}

/** The reverse of {@link splitMessage}. */
export function joinMessage(reference: ArrayBuffer, body: Uint8Array): ArrayBuffer {
  const message = concat([new Uint8Array(reference, 0, HEADER_BYTES), body]);
  message[3] = (message[3] ?? 0) & ~FLAG_ELSEWHERE;
  return message.buffer;
}

/** Strict, and keeps a byte order mark: the text must be exactly what was written. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export type Decoded<T> = { ok: true; value: T } | { ok: false; why: string };

/**
 * Whether a newer version of this code wrote it. Such a message waits for a consumer that can read
 * it: during a deployment, or after a rollback.
 */
export function isNewer(body: unknown): body is ArrayBuffer {
  if (!(body instanceof ArrayBuffer) || body.byteLength < HEAD_BYTES) return false;
  const view = new DataView(body);
  return view.getUint16(0) === MAGIC && view.getUint8(2) > VERSION;
}

/** What a message of any version is noted by. null: it says nothing that can be. */
export function headOf(body: unknown): MessageId | null {
  if (!(body instanceof ArrayBuffer) || body.byteLength < HEAD_BYTES) return null;
  const view = new DataView(body);
  const takenInMs = Number(view.getBigUint64(20));
  if (view.getUint16(0) !== MAGIC || !Number.isSafeInteger(takenInMs)) return null;
  const id = toHex(new Uint8Array(body, 4, 16));
  return { id, takenInMs, keyed: (view.getUint8(3) & FLAG_KEYED) !== 0 };
}

/** The header alone, which may be readable where the records are not. */
export function decodeEnvelope(body: unknown): Decoded<Envelope> {
  if (!(body instanceof ArrayBuffer)) return { ok: false, why: "not a message of bytes" };
  if (body.byteLength < HEADER_BYTES) return { ok: false, why: "shorter than a header" };
  const view = new DataView(body);
  if (view.getUint16(0) !== MAGIC) return { ok: false, why: "not a logship message" };
  if (view.getUint8(2) !== VERSION) return { ok: false, why: `of unknown version ${view.getUint8(2)}` };
  const takenInMs = Number(view.getBigUint64(20));
  if (!Number.isSafeInteger(takenInMs)) return { ok: false, why: "has no time of intake" };
  const isReference = (view.getUint8(3) & FLAG_ELSEWHERE) !== 0;
  if (isReference && body.byteLength !== HEADER_BYTES)
    return { ok: false, why: "is neither a message nor a reference" };
  const id = toHex(new Uint8Array(body, 4, 16));
  return {
    ok: true,
    value: {
      id,
      takenInMs,
      keyed: (view.getUint8(3) & FLAG_KEYED) !== 0,
      records: view.getUint32(28),
      elsewhere: isReference ? blobKey(new Uint8Array(body)) : null,
    },
  };
}

/**
 * The whole message, checked: length, checksum and number of records must be what the header says.
 * @param envelope of the body, if it is decoded already.
 * @throws never.
 */
export function decodeMessage(body: unknown, envelope = decodeEnvelope(body)): Decoded<Message> {
  if (!envelope.ok) return envelope;
  if (envelope.value.elsewhere !== null) return { ok: false, why: "is a reference without what it refers to" };
  const view = new DataView(body as ArrayBuffer);
  const rawLength = view.getUint32(32);
  if (rawLength > RAW_LIMIT) return { ok: false, why: `announces ${rawLength} bytes of records` };
  const payload = new Uint8Array(body as ArrayBuffer, HEADER_BYTES);
  let raw: Uint8Array = payload;
  if ((view.getUint8(3) & FLAG_DEFLATED) !== 0) {
    try {
      // One chunk for all of it saves copies. The runtime compares the limit with its buffer, which
      // grows by doubling, not with the output: an exact limit would refuse valid messages. The
      // exact length is checked below.
      const chunkSize = Math.max(rawLength + 1, 64);
      raw = inflateRawSync(payload, { maxOutputLength: 2 * chunkSize, chunkSize });
    } catch {
      return { ok: false, why: "does not inflate" };
    }
  }
  const crc = crc32(raw, crc32(new Uint8Array(body as ArrayBuffer, 0, CRC_AT)));
  if (raw.length !== rawLength || crc !== view.getUint32(CRC_AT)) return { ok: false, why: "fails its checksum" };
  let text: string;
  try {
    text = decoder.decode(raw);
  } catch {
    return { ok: false, why: "is not UTF-8" };
  }
  const lines = text.split("\n");
  if (lines.pop() !== "") return { ok: false, why: "ends within a record" };
  if (lines.length !== envelope.value.records)
    return { ok: false, why: "holds another number of records than it says" };
  return { ok: true, value: { ...envelope.value, lines, ascii: text.length === raw.length } };
}

type MessageId = Pick<Envelope, "id" | "takenInMs" | "keyed">;

/** What a message is remembered by. */
export function idOf({ id, takenInMs, keyed }: MessageId): MessageId {
  return { id, takenInMs, keyed };
}
