/**
 * A strict gzip reader: exactly one member and no other bytes. Runs in Node and in the Workers
 * runtime.
 */
import { crc32, inflateRawSync } from "node:zlib";

export type Member =
  | { readonly ok: true; readonly header: string; readonly raw: Uint8Array }
  | { readonly ok: false; readonly reason: string };

const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;

/**
 * @returns the header in hex and the inflated bytes; or the first fault, in words: in the header
 * (which must be constant: deflate, no optional fields, no time), the deflate stream, the trailer's
 * CRC-32 or length, or bytes after it.
 * @see https://www.rfc-editor.org/rfc/rfc1952
 */
export function readSingleMember(bytes: Uint8Array): Member {
  if (bytes.length < HEADER_BYTES + TRAILER_BYTES) return bad(`${bytes.length} bytes are too few for a gzip member`);
  if (!startsMember(bytes, 0)) return bad("no gzip header");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes[3] !== 0) return bad(`header flags are ${bytes[3]}, not 0`);
  if (view.getUint32(4, true) !== 0) return bad("the header holds a modification time");

  let inflated: { buffer: Uint8Array; engine: { bytesWritten: number } };
  try {
    // With `info` it also returns how much of the input the stream took; the declared type lacks
    // this.
    inflated = inflateRawSync(bytes.subarray(HEADER_BYTES), { info: true }) as unknown as typeof inflated;
  } catch (error) {
    return bad(`deflate stream: ${error instanceof Error ? error.message : String(error)}`);
  }
  const raw = inflated.buffer;
  const trailer = HEADER_BYTES + inflated.engine.bytesWritten;
  const end = trailer + TRAILER_BYTES;
  if (end > bytes.length) return bad("the trailer is cut off");
  if (view.getUint32(trailer, true) !== crc32(raw)) return bad("CRC-32 of the trailer is not that of the content");
  if (view.getUint32(trailer + 4, true) !== raw.length % 2 ** 32)
    return bad("length of the trailer is not that of the content");
  if (startsMember(bytes, end)) return bad("a second member follows");
  if (end < bytes.length) return bad(`${bytes.length - end} bytes follow the trailer`);
  return { ok: true, header: toHex(bytes.subarray(0, HEADER_BYTES)), raw };
}

function startsMember(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x1f && bytes[at + 1] === 0x8b && bytes[at + 2] === 8;
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bad(reason: string): Member {
  return { ok: false, reason };
}
