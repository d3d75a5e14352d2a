import { crc32 } from "node:zlib";
import { concat } from "../../base/bytes.ts";
import { LAST_BLOCK } from "../../base/deflate.ts";
import type { Content, Part } from "./encoder.ts";

/**
 * The pieces of one gzip member (RFC 1952) put together from deflate fragments (RFC 1951) that end
 * on a byte boundary: header · fragments, and stored blocks around and between them · final empty
 * block · CRC-32 · length.
 */

/** Constant: no name, no time, unknown system, so that bytes depend on the records alone. */
export const GZIP_HEADER: Uint8Array = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);

/** Length of {@link gzipTrailer}. */
export const GZIP_TRAILER_BYTES = 10;

/**
 * What one stored block holds at most, in bytes: its length has 16 bits. RFC 1951, section 3.2.4.
 */
export const STORED_BLOCK_MAX_BYTES = 65_535;

/** One byte of block header and padding, length, and its complement. */
const STORED_BLOCK_HEADER_BYTES = 5;

export function contentOf(raw: Uint8Array): Content {
  return { rawBytes: raw.length, crc: crc32(raw) };
}

/** Of these parts, one after the other; of none: that of no bytes. */
export function joinContents(parts: readonly Content[]): Content {
  const whole = { rawBytes: 0, crc: 0 };
  for (const { rawBytes, crc } of parts) {
    whole.crc = crc32Combine(whole.crc, crc, rawBytes);
    whole.rawBytes += rawBytes;
  }
  return whole;
}

/**
 * Bytes as they are, in stored blocks none of which is the last. They may stand wherever a deflate
 * stream is at a byte boundary, and leave it at one. No bytes make no block.
 */
export function storedBlocks(raw: Uint8Array): Uint8Array<ArrayBuffer> {
  const blocks = Math.ceil(raw.length / STORED_BLOCK_MAX_BYTES);
  const stored = new Uint8Array(raw.length + blocks * STORED_BLOCK_HEADER_BYTES);
  const view = new DataView(stored.buffer);
  for (let from = 0, at = 0; from < raw.length; from += STORED_BLOCK_MAX_BYTES) {
    const held = raw.subarray(from, from + STORED_BLOCK_MAX_BYTES);
    // The first byte stays 0: not the last block, stored, padding up to the byte boundary.
    view.setUint16(at + 1, held.length, true);
    view.setUint16(at + 3, ~held.length, true);
    stored.set(held, at + STORED_BLOCK_HEADER_BYTES);
    at += STORED_BLOCK_HEADER_BYTES + held.length;
  }
  return stored;
}

/** How a member begins: its header, and a text before all that is deflated. */
export function memberHead(prefix: Uint8Array): Uint8Array<ArrayBuffer> {
  return concat([GZIP_HEADER, storedBlocks(prefix)]);
}

/**
 * How a member ends: a text behind all that is deflated, and its trailer. @param content of all
 * before that text.
 */
export function memberTail(suffix: Uint8Array, content: Content): Part {
  const whole = joinContents([content, contentOf(suffix)]);
  return { bytes: concat([storedBlocks(suffix), gzipTrailer(whole)]), content: whole };
}

/**
 * @param content of all that was written since the header; the format keeps its length modulo 2^32.
 */
export function gzipTrailer({ rawBytes, crc }: Content): Uint8Array {
  const trailer = new Uint8Array(GZIP_TRAILER_BYTES);
  trailer.set(LAST_BLOCK);
  const view = new DataView(trailer.buffer);
  view.setUint32(2, crc >>> 0, true);
  view.setUint32(6, rawBytes % 2 ** 32, true);
  return trailer;
}

/**
 * CRC-32 of a concatenation from the CRCs of its parts, without their bytes: appending n bytes
 * multiplies a CRC by x^(8n) in GF(2)[x] modulo the CRC-32 polynomial (RFC 1952, section 8).
 * Polynomials are held reflected, x^0 in the highest bit, as CRC-32 itself is.
 */
const POLYNOMIAL = 0xedb88320;

function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= factor;
    factor = (factor & 1) !== 0 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1;
  }
  return product >>> 0;
}

/** x^(8·2^k) for k = 0…52: lengths are safe integers. */
const POWERS: readonly number[] = (() => {
  const powers: number[] = [];
  // x^8, reflected.
  let power = 0x00800000;
  for (let k = 0; k < 53; k++) {
    powers.push(power);
    power = multiply(power, power);
  }
  return powers;
})();

/**
 * @param head CRC-32 of the first part.
 * @param tail CRC-32 of the second part.
 * @param tailBytes length of the second part in bytes, a safe integer ≥ 0.
 */
export function crc32Combine(head: number, tail: number, tailBytes: number): number {
  let shift = 0x80000000; // x^0
  for (let k = 0, rest = tailBytes; rest > 0; k++, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) shift = multiply(shift, POWERS[k] as number);
  }
  return (multiply(head, shift) ^ tail) >>> 0;
}
