import { crc32 } from "node:zlib";
import { concat, free, fromHex, toHex } from "../bytes.ts";
import { vettedExtras } from "../record/extras.ts";
import type { Source } from "../record/source.ts";
import { type Block, decodeBlocks, encodeBlocks } from "./blocks.ts";
import { decodeExtras } from "./extras.ts";
import { packLines, readLines } from "./lines.ts";
import { encodeSeal, isSealed, type SealKey } from "./seal.ts";
import { decodeSources, encodeSources } from "./sources.ts";

/**
 * The queue message: a head, and a body with the records as NDJSON, deflated where that is shorter.
 * All integers are big-endian. Bytes 0 to 27 are the same in every version, so that older code can
 * note a message that it has to leave to newer code.
 *
 * | bytes | what |
 * | --- | --- |
 * | 0–1 | `LS` |
 * | 2 | format version, 1 |
 * | 3 | flags: 1 deflated, 2 keyed, 4 the body lies elsewhere |
 * | 4–19 | id of the first part |
 * | 20–27 | time of intake of the oldest part, ms since the epoch |
 * | 28–31 | length of the head: these 40 bytes and its blocks |
 * | 32–35 | length of the body |
 * | 36–39 | CRC-32 of the 36 bytes before (without flag 4) and the blocks of the head |
 *
 * Both consist of blocks (blocks.ts). Those of the head:
 *
 * | type | what |
 * | --- | --- |
 * | 1 | the parts, 29 bytes each: id, time of intake, number of records, flags (2 keyed) |
 * | 2 | length of the NDJSON, its CRC-32, and that of the body |
 * | 3 | time of intake of the first copy of each part's request, 8 bytes each; absent: none is a repeat |
 * | 4 | where each part came from, see sources.ts; absent: unknown |
 * | 5 | the seal, see seal.ts; absent: it may be of any writer |
 *
 * Block 1 of the body holds the records, part after part; block 2 their extra fields, see
 * extras.ts; absent: they have none.
 *
 * A message too large for the queue travels as a reference: its head alone, with flag 4. The body
 * waits in the blob store under id and checksum: the id alone is not enough, as a repeated request
 * has the same id, but its records may differ by the times that intake filled in, and by extra
 * fields.
 */
const HEADER_BYTES = 40;
/** What is the same in every version. */
const COMMON_BYTES = 28;
const CRC_AT = 36;
const PART_BYTES = 29;
const MAGIC = 0x4c53;
const VERSION = 1;
const FLAG_DEFLATED = 1;
const FLAG_KEYED = 2;
const FLAG_ELSEWHERE = 4;

/** Types of blocks, in the head and in the body. */
const PARTS = 1;
const BODY = 2;
const FIRSTS = 3;
const LINES = 1;

/**
 * Records that were handed over together. Made once, before the first send, and the same in every
 * send and delivery, in whatever message: logs and ledger take each id once.
 */
export interface Part {
  /** 16 bytes as 32 lower-case hex digits. */
  id: string;
  takenInMs: number;
  /**
   * The id derives from an `Idempotency-Key`, and every copy is remembered by the id alone.
   */
  keyed: boolean;
  /**
   * Of a repeated request: the time of intake of its first copy, by which all copies are
   * remembered, in ms since the epoch and before `takenInMs`. Absent: this is the only copy, or the
   * first one.
   */
  firstMs?: number;
  records: number;
  /** Where its records came from; absent: unknown. */
  source?: Source;
}

/** A message's head. */
export interface Envelope {
  /** At least one. */
  parts: readonly Part[];
  /** Key of the body in the blob store; null: it is in the message. */
  elsewhere: string | null;
}

export interface Message extends Envelope {
  /** One JSON text a record, without newlines, part after part. */
  lines: string[];
  /** The extra fields of each, as record/extras.ts has them; absent: no record has any. */
  extras?: string[];
  /** Each character of the lines is one byte of UTF-8. */
  ascii: boolean;
  /** Intake wrote it, so that its lines are canonical records; absent: any writer's. */
  isSealed?: true;
}

/** How messages are written. */
export interface MessageForm {
  /** Absent: they are not sealed. */
  seal?: SealKey;
}

/**
 * A message of this version.
 * @param parts at least one, with ids of their own.
 * @param raw the records of all parts as NDJSON, each line ended by a newline.
 * @param more blocks beside those of this version.
 * @param form absent: without a seal.
 * @returns the bytes to send; the caller checks their length against the queue's limit.
 */
export function encodeParts(
  parts: readonly [Part, ...Part[]],
  raw: Uint8Array,
  more: { head?: readonly Block[]; body?: readonly Block[] } = {},
  form: MessageForm = {},
): Uint8Array<ArrayBuffer> {
  const { body: lines, isDeflated } = packLines(raw, parts.length);
  const body = encodeBlocks([[LINES, lines], ...(more.body ?? [])]);
  const blocks = encodeBlocks([
    [PARTS, concat(parts.map(encodePart))],
    [BODY, uint32s(raw.length, crc32(raw), crc32(body))],
    ...encodeFirsts(parts),
    ...encodeSources(parts),
    ...(form.seal ? [encodeSeal(body, formOf(isDeflated), form.seal)] : []),
    ...(more.head ?? []),
  ]);
  if (isDeflated) free(lines);
  const headLength = HEADER_BYTES + blocks.length;
  const message = new Uint8Array(headLength + body.length);
  message.set(blocks, HEADER_BYTES);
  message.set(body, headLength);
  const bodyLength = body.length;
  free(body);
  const takenInMs = Math.min(...parts.map((part) => part.takenInMs));
  message.set(fromHex(parts[0].id), 4);
  const view = new DataView(message.buffer);
  view.setUint16(0, MAGIC);
  view.setUint8(2, VERSION);
  view.setUint8(3, (isDeflated ? FLAG_DEFLATED : 0) | (parts[0].keyed ? FLAG_KEYED : 0));
  view.setBigUint64(20, BigInt(takenInMs));
  view.setUint32(28, headLength);
  view.setUint32(32, bodyLength);
  view.setUint32(CRC_AT, headCrc(message.subarray(0, headLength)));
  return message;
}

/** What decides how a body is read. */
function formOf(isDeflated: boolean): number {
  return 2 * VERSION + Number(isDeflated);
}

function encodePart({ id, takenInMs, records, keyed }: Part): Uint8Array {
  const bytes = new Uint8Array(PART_BYTES);
  bytes.set(fromHex(id));
  const view = new DataView(bytes.buffer);
  view.setBigUint64(16, BigInt(takenInMs));
  view.setUint32(24, records);
  view.setUint8(28, keyed ? FLAG_KEYED : 0);
  return bytes;
}

function encodeFirsts(parts: readonly Part[]): Block[] {
  if (parts.every(({ firstMs }) => firstMs === undefined)) return [];
  const bytes = new Uint8Array(8 * parts.length);
  const view = new DataView(bytes.buffer);
  for (const [i, { firstMs, takenInMs }] of parts.entries()) view.setBigUint64(8 * i, BigInt(firstMs ?? takenInMs));
  return [[FIRSTS, bytes]];
}

function uint32s(...values: number[]): Uint8Array {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) view.setUint32(4 * i, value);
  return bytes;
}

/** Of a head, as if its body were not elsewhere. */
function headCrc(head: Uint8Array): number {
  const first = head.slice(0, CRC_AT);
  first[3] = (first[3] ?? 0) & ~FLAG_ELSEWHERE;
  return crc32(head.subarray(HEADER_BYTES), crc32(first));
}

/** Length of what stays in the queue when the rest is stored elsewhere. */
function headLengthOf(message: Uint8Array): number {
  return new DataView(message.buffer, message.byteOffset).getUint32(28);
}

/** Splits a message into the reference that is sent, and the body that is stored under the key. */
export function splitMessage(message: Uint8Array): {
  reference: Uint8Array<ArrayBuffer>;
  key: string;
  body: Uint8Array<ArrayBuffer>;
} {
  const length = headLengthOf(message);
  const reference = message.slice(0, length) as Uint8Array<ArrayBuffer>;
  reference[3] = (reference[3] ?? 0) | FLAG_ELSEWHERE;
  return { reference, key: blobKey(reference), body: message.slice(length) as Uint8Array<ArrayBuffer> };
}

/** Key of a message's body in the blob store: id and checksum, as 40 hex digits. */
export function blobKey(header: Uint8Array): string {
  return toHex(header.slice(4, 20)) + toHex(header.slice(CRC_AT, HEADER_BYTES));
}

/** The reverse of {@link splitMessage}. */
export function joinMessage(reference: ArrayBuffer, body: Uint8Array): ArrayBuffer {
  const message = concat([new Uint8Array(reference), body]);
  message[3] = (message[3] ?? 0) & ~FLAG_ELSEWHERE;
  return message.buffer;
}

export type Decoded<T> = { ok: true; value: T } | { ok: false; why: string };

/**
 * Whether a newer version of this code wrote it. Such a message waits for a consumer that can read
 * it: during a deployment, or after a rollback.
 */
export function isNewer(body: unknown): body is ArrayBuffer {
  if (!(body instanceof ArrayBuffer) || body.byteLength < COMMON_BYTES) return false;
  const view = new DataView(body);
  return view.getUint16(0) === MAGIC && view.getUint8(2) > VERSION;
}

/** What a message of any version is noted by. null: it says nothing that can be. */
export function headOf(body: unknown): MessageId | null {
  if (!(body instanceof ArrayBuffer) || body.byteLength < COMMON_BYTES) return null;
  const view = new DataView(body);
  const takenInMs = Number(view.getBigUint64(20));
  if (view.getUint16(0) !== MAGIC || !Number.isSafeInteger(takenInMs)) return null;
  const id = toHex(new Uint8Array(body, 4, 16));
  return { id, takenInMs, keyed: (view.getUint8(3) & FLAG_KEYED) !== 0 };
}

/** The head alone, which may be readable where the records are not. */
export function decodeEnvelope(body: unknown): Decoded<Envelope> {
  const head = decodeHead(body);
  return head.ok ? { ok: true, value: head.value.envelope } : head;
}

interface Head {
  envelope: Envelope;
  blocks: ReadonlyMap<number, Uint8Array>;
}

function decodeHead(body: unknown): Decoded<Head> {
  if (!(body instanceof ArrayBuffer)) return { ok: false, why: "not a message of bytes" };
  if (body.byteLength < HEADER_BYTES) return { ok: false, why: "shorter than a header" };
  const view = new DataView(body);
  if (view.getUint16(0) !== MAGIC) return { ok: false, why: "not a logship message" };
  const version = view.getUint8(2);
  if (version !== VERSION) return { ok: false, why: `of unknown version ${version}` };
  if (headOf(body) === null) return { ok: false, why: "has no time of intake" };
  const isReference = (view.getUint8(3) & FLAG_ELSEWHERE) !== 0;
  const length = headLengthOf(new Uint8Array(body));
  const whole = isReference ? length : length + view.getUint32(32);
  if (length < HEADER_BYTES || body.byteLength !== whole)
    return { ok: false, why: "is of another length than it says" };
  const head = new Uint8Array(body, 0, length);
  if (headCrc(head) !== view.getUint32(CRC_AT)) return { ok: false, why: "fails its checksum" };
  const blocks = decodeBlocks(head.subarray(HEADER_BYTES));
  const parts = blocks === null ? null : decodeParts(blocks);
  if (blocks === null || parts === null) return { ok: false, why: "does not say what its parts are" };
  const elsewhere = isReference ? blobKey(new Uint8Array(body)) : null;
  return { ok: true, value: { envelope: { parts, elsewhere }, blocks } };
}

/** null: there are none, two have the same id, or a first copy came after its repeat. */
function decodeParts(blocks: ReadonlyMap<number, Uint8Array>): Part[] | null {
  const [bytes, firsts] = [blocks.get(PARTS), blocks.get(FIRSTS)];
  if (bytes === undefined || bytes.length === 0 || bytes.length % PART_BYTES !== 0) return null;
  const count = bytes.length / PART_BYTES;
  if (firsts !== undefined && firsts.length !== 8 * count) return null;
  const sources = decodeSources(blocks, count);
  const parts = Array.from({ length: count }, (_, i): Part => {
    const part = bytes.slice(i * PART_BYTES, (i + 1) * PART_BYTES);
    const view = new DataView(part.buffer);
    const takenInMs = Number(view.getBigUint64(16));
    const firstMs = firsts === undefined ? takenInMs : timeAt(firsts, 8 * i);
    return {
      id: toHex(part.subarray(0, 16)),
      takenInMs,
      keyed: (view.getUint8(28) & FLAG_KEYED) !== 0,
      ...(firstMs !== takenInMs && { firstMs }),
      records: view.getUint32(24),
      ...(sources[i] && { source: sources[i] }),
    };
  });
  const isValid = parts.every(
    ({ takenInMs, firstMs }) => Number.isSafeInteger(takenInMs) && (firstMs === undefined || firstMs < takenInMs),
  );
  return isValid && new Set(parts.map(({ id }) => id)).size === parts.length ? parts : null;
}

function timeAt(bytes: Uint8Array, at: number): number {
  return Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at));
}

/**
 * The whole message, checked: lengths, checksums and numbers of records must be what the head says.
 * @param keys of seals. @throws never.
 */
export function decodeMessage(body: unknown, keys: readonly SealKey[] = []): Decoded<Message> {
  const head = decodeHead(body);
  if (!head.ok) return head;
  const { envelope, blocks } = head.value;
  if (envelope.elsewhere !== null) return { ok: false, why: "is a reference without what it refers to" };
  const bytes = new Uint8Array(body as ArrayBuffer);
  const lines = linesOf(bytes, blocks, keys);
  if (!lines.ok) return lines;
  const records = envelope.parts.reduce((sum, part) => sum + part.records, 0);
  if (lines.value.lines.length !== records) return { ok: false, why: "holds another number of records than it says" };
  return { ok: true, value: { ...envelope, ...lines.value } };
}

type Lines = Pick<Message, "lines" | "extras" | "ascii" | "isSealed">;

function linesOf(message: Uint8Array, head: ReadonlyMap<number, Uint8Array>, keys: readonly SealKey[]): Decoded<Lines> {
  const says = head.get(BODY);
  const body = message.subarray(headLengthOf(message));
  if (says === undefined || says.length < 12) return { ok: false, why: "does not say what its records are" };
  const view = new DataView(says.buffer, says.byteOffset, says.length);
  if (crc32(body) !== view.getUint32(8)) return { ok: false, why: "fails its checksum" };
  const blocks = decodeBlocks(body);
  const packed = blocks?.get(LINES);
  if (blocks === null || packed === undefined) return { ok: false, why: "has no records" };
  const form = { rawLength: view.getUint32(0), isDeflated: isDeflated(message) };
  const read = readLines(packed, form, (raw) => crc32(raw) === view.getUint32(4));
  if (!read.ok) return read;
  const { lines, ascii } = read.value;
  const extras = decodeExtras(blocks, lines.length);
  if (!isSealed(head, body, formOf(form.isDeflated), keys))
    return { ok: true, value: { lines, ascii, ...(extras && { extras: extras.map(vettedExtras) }) } };
  return { ok: true, value: { lines, ascii, isSealed: true, ...(extras && { extras }) } };
}

function isDeflated(message: Uint8Array): boolean {
  return ((message[3] ?? 0) & FLAG_DEFLATED) !== 0;
}

type MessageId = Pick<Part, "id" | "takenInMs" | "keyed" | "firstMs">;

/** What a part is remembered by. */
export function idOf({ id, takenInMs, keyed, firstMs }: MessageId): MessageId {
  return { id, takenInMs, keyed, ...(firstMs !== undefined && { firstMs }) };
}
