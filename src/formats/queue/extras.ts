import { deflateRawSync, inflateRawSync } from "node:zlib";
import { concat, decodeStrict, encodeUtf8, free } from "../../base/bytes.ts";
import { EXTRAS_MAX_BYTES } from "../../base/limits.ts";
import type { Block } from "./sections.ts";

/** Type of the block, in the body. */
const EXTRAS = 2;

/** Before the lines: 1 if they are deflated, and their length before that (4 bytes, big-endian). */
const HEAD_BYTES = 5;

/** As of records in a message: lines.ts. */
const LEVEL = 3;

/**
 * The extra fields of a message's records: a line for each record, in their order; an empty one has
 * none. No block where all are empty.
 * @param extras as record/extras.ts makes them.
 */
export function encodeExtras(extras: readonly string[]): Block[] {
  if (extras.every((extra) => extra === "")) return [];
  const raw = encodeUtf8(extras.map((extra) => `${extra}\n`).join(""));
  const deflated = deflateRawSync(raw, { level: LEVEL });
  const isDeflated = deflated.length < raw.length;
  const head = new Uint8Array(HEAD_BYTES);
  head[0] = Number(isDeflated);
  new DataView(head.buffer).setUint32(1, raw.length);
  const bytes = concat([head, isDeflated ? deflated : raw]);
  free(raw);
  free(deflated);
  return [[EXTRAS, bytes]];
}

/**
 * The extra fields of each record. What is malformed says nothing, and costs no record.
 * @param records number of records of the message.
 * @returns null: no record has any.
 */
export function decodeExtras(blocks: ReadonlyMap<number, Uint8Array>, records: number): string[] | null {
  const bytes = blocks.get(EXTRAS);
  if (bytes === undefined || bytes.length < HEAD_BYTES) return null;
  const rawLength = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
  if (rawLength > EXTRAS_MAX_BYTES) return null;
  try {
    const packed = bytes.subarray(HEAD_BYTES);
    const raw = bytes[0] === 1 ? inflated(packed, rawLength) : packed;
    const lines = raw.length === rawLength ? decodeStrict(raw).split("\n") : [];
    return lines.pop() === "" && lines.length === records ? lines : null;
  } catch {
    return null;
  }
}

/** The runtime compares the limit with its buffer, as in lines.ts. @throws if it is longer. */
function inflated(packed: Uint8Array, rawLength: number): Uint8Array {
  const chunkSize = Math.max(rawLength + 1, 64);
  return inflateRawSync(packed, { maxOutputLength: 2 * chunkSize, chunkSize });
}
