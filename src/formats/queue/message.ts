import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { concat, decodeUtf8, free, fromHex, isValidUtf8, newlinesIn, toHex } from "../../base/bytes.ts";
import { deflateFragment, LAST_BLOCK } from "../../base/deflate.ts";
import { MESSAGE_RAW_MAX_BYTES, RECORD_MAX_BYTES } from "../../base/limits.ts";
import type { DedupId } from "../../base/storage/dedup-id.ts";
import { vettedExtras } from "../record/extras.ts";
import type { Source } from "../record/source.ts";
import { decodeExtras } from "./extras.ts";
import { encodeMac, isAuthentic, type MacKey } from "./mac.ts";
import { type Block, decodeBlocks, encodeBlocks } from "./sections.ts";
import { isShards, shardOf } from "./shard.ts";
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
 * | 3 | flags: 1 deflated, 2 the first part is keyed, 4 deflated as a fragment of an object; the upper four bits as in its own flags |
 * | 4–19 | id of the first part |
 * | 20–27 | time of intake of the oldest part, ms since the epoch |
 * | 28–31 | length of the head: these 40 bytes and its blocks |
 * | 32–35 | length of the body |
 * | 36–39 | CRC-32 of the 36 bytes before and the blocks of the head |
 *
 * Both consist of blocks (blocks.ts). Those of the head:
 *
 * | type | what |
 * | --- | --- |
 * | 1 | the parts, 29 bytes each: id, time of intake, number of records, flags (2 keyed; the upper four bits: the binary logarithm of the number of shards) |
 * | 2 | length of the NDJSON, its CRC-32, and that of the body |
 * | 3 | where each part came from, see sources.ts; absent: unknown |
 * | 4 | the seal, see seal.ts; absent: it may be of any writer |
 *
 * Block 1 of the body holds the records, part after part; block 2 their extra fields, see
 * extras.ts; absent: they have none.
 *
 * All parts of a message belong to one shard of the log.
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
/** Before its last block, which is empty, an object can take the stream over. */
const FLAG_TAKEOVER = 4;
/** Where the bits begin that say how many shards there are. */
const SHARDS_AT = 4;

/** Types of blocks, in the head and in the body. */
const PARTS = 1;
const BODY = 2;
const LINES = 1;

/**
 * Records that were handed over together. Made once, before the first send, and the same in every
 * send and delivery, in whatever message: the log takes each id once.
 */
export interface Part {
  /** 16 bytes as 32 lower-case hex digits. */
  id: string;
  takenInMs: number;
  /**
   * The id derives from an `Idempotency-Key`, and every copy is remembered by the id alone.
   */
  keyed: boolean;
  /** How many shards the log had for it when it was taken in: see shard.ts. */
  shards: number;
  records: number;
  /** Where its records came from; absent: unknown. */
  source?: Source;
}

/** A message's head. */
export interface Envelope {
  /** At least one. */
  parts: readonly Part[];
}

export interface Message extends Envelope {
  /** The records as NDJSON, part after part: valid UTF-8, in a buffer of its own. */
  raw: Uint8Array;
  /** Where the newline of each line is. */
  ends: Int32Array;
  /** The extra fields of each, as record/extras.ts has them; absent: no record has any. */
  extras?: string[];
  /** Intake wrote it, so that its lines are canonical records; absent: any writer's. */
  isAuthentic?: true;
  /** Absent: objects cannot take it over. */
  takeover?: Takeover;
}

/** The lines of an authentic message as an object takes them over. */
export interface Takeover {
  /** As `deflateFragment` does. A view of the message. */
  deflated: Uint8Array;
  /** What is deflated, and its CRC-32. */
  raw: Uint8Array;
  crc: number;
}

/**
 * A message of this version.
 * @param parts at least one, with ids of their own, of one shard.
 * @param raw the records of all parts as NDJSON, each line ended by a newline.
 * @param more blocks beside those of this version.
 * @param seal absent: without one.
 * @param isForTakeover objects are to take it over: it has one part, and a seal.
 * @returns the bytes to send; the caller checks their length against the queue's limit.
 */
export function encodeParts(
  parts: readonly [Part, ...Part[]],
  raw: Uint8Array,
  more: { head?: readonly Block[]; body?: readonly Block[] } = {},
  seal?: MacKey,
  isForTakeover = false,
): Uint8Array<ArrayBuffer> {
  const { lines, flags } = isForTakeover ? packForTakeover(raw) : packLines(raw, parts.length);
  const body = encodeBlocks([[LINES, lines], ...(more.body ?? [])]);
  const blocks = encodeBlocks([
    [PARTS, concat(parts.map(encodePart))],
    [BODY, uint32s(raw.length, crc32(raw), crc32(body))],
    ...encodeSources(parts),
    ...(seal ? [encodeMac(body, formOf(flags), seal)] : []),
    ...(more.head ?? []),
  ]);
  if (lines !== raw) free(lines);
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
  view.setUint8(3, flags | flagsOf(parts[0]));
  view.setBigUint64(20, BigInt(takenInMs));
  view.setUint32(28, headLength);
  view.setUint32(32, bodyLength);
  view.setUint32(CRC_AT, headCrc(message.subarray(0, headLength)));
  return message;
}

/** What decides how a body is read, and what is made of it. */
function formOf(flags: number): number {
  return 2 * VERSION + (flags & FLAG_DEFLATED) + 32 * (flags & FLAG_TAKEOVER);
}

function encodePart(part: Part): Uint8Array {
  const bytes = new Uint8Array(PART_BYTES);
  bytes.set(fromHex(part.id));
  const view = new DataView(bytes.buffer);
  view.setBigUint64(16, BigInt(part.takenInMs));
  view.setUint32(24, part.records);
  view.setUint8(28, flagsOf(part));
  return bytes;
}

function flagsOf({ keyed, shards }: Pick<Part, "keyed" | "shards">): number {
  return (keyed ? FLAG_KEYED : 0) | (Math.log2(shards) << SHARDS_AT);
}

function readFlags(flags: number): Pick<Part, "keyed" | "shards"> {
  return { keyed: (flags & FLAG_KEYED) !== 0, shards: 1 << (flags >> SHARDS_AT) };
}

function uint32s(...values: number[]): Uint8Array {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) view.setUint32(4 * i, value);
  return bytes;
}

function headCrc(head: Uint8Array): number {
  return crc32(head.subarray(HEADER_BYTES), crc32(head.subarray(0, CRC_AT)));
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
export function headOf(body: unknown): Omit<Part, "records"> | null {
  if (!(body instanceof ArrayBuffer) || body.byteLength < COMMON_BYTES) return null;
  const view = new DataView(body);
  const takenInMs = Number(view.getBigUint64(20));
  if (view.getUint16(0) !== MAGIC || !Number.isSafeInteger(takenInMs)) return null;
  const flags = readFlags(view.getUint8(3));
  return isShards(flags.shards) ? { id: toHex(new Uint8Array(body, 4, 16)), takenInMs, ...flags } : null;
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
  if (headOf(body) === null) return { ok: false, why: "has no time of intake, or no shard" };
  const length = view.getUint32(28);
  if (length < HEADER_BYTES || body.byteLength !== length + view.getUint32(32))
    return { ok: false, why: "is of another length than it says" };
  const head = new Uint8Array(body, 0, length);
  if (headCrc(head) !== view.getUint32(CRC_AT)) return { ok: false, why: "fails its checksum" };
  const blocks = decodeBlocks(head.subarray(HEADER_BYTES));
  const parts = blocks === null ? null : decodeParts(blocks);
  if (blocks === null || parts === null) return { ok: false, why: "does not say what its parts are" };
  return { ok: true, value: { envelope: { parts }, blocks } };
}

/** null: there are none, two have the same id, or they belong to several shards. */
function decodeParts(blocks: ReadonlyMap<number, Uint8Array>): Part[] | null {
  const bytes = blocks.get(PARTS);
  if (bytes === undefined || bytes.length === 0 || bytes.length % PART_BYTES !== 0) return null;
  const count = bytes.length / PART_BYTES;
  const sources = decodeSources(blocks, count);
  const parts = Array.from({ length: count }, (_, i): Part => {
    const part = bytes.slice(i * PART_BYTES, (i + 1) * PART_BYTES);
    const view = new DataView(part.buffer);
    return {
      id: toHex(part.subarray(0, 16)),
      takenInMs: Number(view.getBigUint64(16)),
      ...readFlags(view.getUint8(28)),
      records: view.getUint32(24),
      ...(sources[i] && { source: sources[i] }),
    };
  });
  const isValid = parts.every(({ takenInMs, shards }) => Number.isSafeInteger(takenInMs) && isShards(shards));
  const isOne = new Set(parts.map(shardOf)).size === 1;
  return isValid && isOne && new Set(parts.map(({ id }) => id)).size === parts.length ? parts : null;
}

/**
 * The whole message, checked: lengths, checksums and numbers of records must be what the head says.
 * @param keys of seals. @throws never.
 */
export function decodeMessage(body: unknown, keys: readonly MacKey[] = []): Decoded<Message> {
  const head = decodeHead(body);
  if (!head.ok) return head;
  const { envelope, blocks } = head.value;
  const bytes = new Uint8Array(body as ArrayBuffer);
  const records = envelope.parts.reduce((sum, part) => sum + part.records, 0);
  const content = readContent(bytes, records, blocks, keys);
  return content.ok ? { ok: true, value: { ...envelope, ...content.value } } : content;
}

/** The lines of a message, without newlines. */
export function linesOf({ raw }: Pick<Message, "raw">): string[] {
  return decodeUtf8(raw).split("\n").slice(0, -1);
}

type Content = Omit<Message, keyof Envelope>;

function readContent(
  message: Uint8Array,
  records: number,
  head: ReadonlyMap<number, Uint8Array>,
  keys: readonly MacKey[],
): Decoded<Content> {
  const says = head.get(BODY);
  const body = message.subarray(new DataView(message.buffer).getUint32(28));
  if (says === undefined || says.length < 12) return { ok: false, why: "does not say what its records are" };
  const view = new DataView(says.buffer, says.byteOffset, says.length);
  if (crc32(body) !== view.getUint32(8)) return { ok: false, why: "fails its checksum" };
  const blocks = decodeBlocks(body);
  const packed = blocks?.get(LINES);
  if (blocks === null || packed === undefined) return { ok: false, why: "has no records" };
  const [rawLength, crc] = [view.getUint32(0), view.getUint32(4)];
  const flags = message[3] ?? 0;
  const form = { records, rawLength, isDeflated: (flags & FLAG_DEFLATED) !== 0 };
  const read = readLines(packed, form, (raw) => crc32(raw) === crc);
  if (!read.ok) return read;
  const extras = decodeExtras(blocks, read.value.ends.length);
  // What ends a stream of another writer could end an object.
  if (!isAuthentic(head, body, formOf(flags), keys))
    return { ok: true, value: { ...read.value, ...(extras && { extras: extras.map(vettedExtras) }) } };
  const isForTakeover = (flags & FLAG_TAKEOVER) !== 0;
  const takeover = isForTakeover && { deflated: packed.subarray(0, -LAST_BLOCK.length), raw: read.value.raw, crc };
  const more = { ...(extras && { extras }), ...(takeover && { takeover }) };
  return { ok: true, value: { ...read.value, isAuthentic: true, ...more } };
}

/** What a part is remembered by. */
export function idOf({ id, takenInMs, keyed }: Pick<Part, "id" | "takenInMs" | "keyed">): DedupId {
  return { id, takenInMs, keyed };
}

const NEWLINE = 0x0a;

/** Largest NDJSON of a message: {@link MESSAGE_RAW_MAX_BYTES}, or one record and its newline. */
const RAW_LIMIT = Math.max(MESSAGE_RAW_MAX_BYTES, RECORD_MAX_BYTES) + 1;

/**
 * A message is inflated once, and the queue bills whole units of 64 KB, so a few percent rarely
 * change what a message of one part costs. Level 3 makes the benchmark's 2.7 % smaller and takes
 * 18 % longer; level 1 makes them 3.5 % larger and takes 3 % less.
 */
const ONCE = { level: 2 } as const;

/** Messages of several parts are filled to such a unit, so a smaller part costs less. */
const SHARED = { level: 3 } as const;

interface PackedLines {
  lines: Uint8Array;
  flags: number;
}

/** Deflates lines where that makes them shorter. @param parts how many the message has. */
function packLines(raw: Uint8Array, parts: number): PackedLines {
  const deflated = deflateRawSync(raw, parts > 1 ? SHARED : ONCE);
  if (deflated.length < raw.length) return { lines: deflated, flags: FLAG_DEFLATED };
  free(deflated);
  return { lines: raw, flags: 0 };
}

/** Deflates them once for all: even what does not become shorter is taken over. */
function packForTakeover(raw: Uint8Array): PackedLines {
  return { lines: deflateFragment(raw, LAST_BLOCK), flags: FLAG_DEFLATED | FLAG_TAKEOVER };
}

/** How lines were packed. */
interface LinesForm {
  records: number;
  rawLength: number;
  isDeflated: boolean;
}

/** @param isIntact whether the checksum of the lines is right. @throws never. */
function readLines(
  packed: Uint8Array,
  { records, rawLength, isDeflated }: LinesForm,
  isIntact: (raw: Uint8Array) => boolean,
): Decoded<Pick<Message, "raw" | "ends">> {
  if (rawLength > RAW_LIMIT) return { ok: false, why: `announces ${rawLength} bytes of records` };
  let raw: Uint8Array;
  try {
    // One chunk for all of it saves copies. The runtime compares the limit with its buffer, which
    // grows by doubling, not with the output: an exact limit would refuse valid messages. The
    // exact length is checked below.
    const chunkSize = Math.max(rawLength + 1, 64);
    raw = isDeflated ? view(inflateRawSync(packed, { maxOutputLength: 2 * chunkSize, chunkSize })) : packed.slice();
  } catch {
    return { ok: false, why: "does not inflate" };
  }
  if (raw.length !== rawLength || !isIntact(raw)) return { ok: false, why: "fails its checksum" };
  if (!isValidUtf8(raw)) return { ok: false, why: "is not UTF-8" };
  if (raw.length > 0 && raw.at(-1) !== NEWLINE) return { ok: false, why: "ends within a record" };
  const ends = newlinesIn(raw, records);
  return ends ? { ok: true, value: { raw, ends } } : { ok: false, why: "holds another number of records than it says" };
}

/** A `Buffer` as plain bytes, whose methods are faster. */
function view({ buffer, byteOffset, length }: Uint8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}
