import { constants, deflateRawSync } from "node:zlib";
import { concat, free } from "./bytes.ts";

/** Deflate level of everything that ends up in an object. */
export const OBJECT_DEFLATE_LEVEL = 6;

/**
 * Memory for the compressor's tables. The maximum takes some 128 kB more than the default, and is 5
 * % faster.
 */
const MEMORY_LEVEL = 9;

/** A last, empty block of fixed codes: it ends a stream at a byte boundary. */
export const LAST_BLOCK = Uint8Array.of(0x03, 0x00);

const NOTHING = new Uint8Array();

/**
 * Deflates up to a sync flush: whole bytes, no last block, so that another deflated fragment can
 * follow in one gzip member. The buffer is its own.
 * @param end follows it.
 */
export function deflateFragment(raw: Uint8Array, end = NOTHING): Uint8Array<ArrayBuffer> {
  const options = { level: OBJECT_DEFLATE_LEVEL, memLevel: MEMORY_LEVEL, finishFlush: constants.Z_SYNC_FLUSH };
  const deflated = deflateRawSync(raw, options);
  const own = concat([deflated, end]);
  free(deflated);
  return own;
}
