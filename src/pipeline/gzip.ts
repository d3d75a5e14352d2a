/**
 * The pieces of one gzip member (RFC 1952) put together from deflate fragments (RFC 1951) that end on a byte boundary:
 * header · fragments · final empty block · CRC-32 · length.
 */

/** Constant: no name, no time, unknown system, so that bytes depend on the records alone. */
export const GZIP_HEADER: Uint8Array = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);

/** Length of {@link gzipTrailer}. */
export const GZIP_TRAILER_BYTES = 10;

/**
 * @param crc CRC-32 of all uncompressed bytes.
 * @param rawBytes their number; the format keeps it modulo 2^32.
 */
export function gzipTrailer(crc: number, rawBytes: number): Uint8Array {
  const trailer = new Uint8Array(GZIP_TRAILER_BYTES);
  trailer.set([0x03, 0x00]); // a last, empty block of fixed codes
  const view = new DataView(trailer.buffer);
  view.setUint32(2, crc >>> 0, true);
  view.setUint32(6, rawBytes % 2 ** 32, true);
  return trailer;
}
