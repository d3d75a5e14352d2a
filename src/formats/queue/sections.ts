import { concat } from "../../base/bytes.ts";

/**
 * Blocks: a type (1 byte), a length (4 bytes, big-endian), and as many bytes. A reader skips those
 * whose type it does not know, so newer code may add some.
 */
const HEAD_BYTES = 5;

export type Block = readonly [type: number, bytes: Uint8Array];

/** The blocks, one after the other. */
export function encodeBlocks(blocks: readonly Block[]): Uint8Array<ArrayBuffer> {
  return concat(
    blocks.flatMap(([type, bytes]) => {
      const head = new Uint8Array(HEAD_BYTES);
      head[0] = type;
      new DataView(head.buffer).setUint32(1, bytes.length);
      return [head, bytes];
    }),
  );
}

/**
 * The blocks by type, as views of the bytes.
 * @returns null if the bytes do not end with a block, or there are two of one type.
 */
export function decodeBlocks(bytes: Uint8Array): ReadonlyMap<number, Uint8Array> | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const blocks = new Map<number, Uint8Array>();
  for (let at = 0; at < bytes.length; ) {
    if (bytes.length - at < HEAD_BYTES) return null;
    const type = view.getUint8(at);
    const end = at + HEAD_BYTES + view.getUint32(at + 1);
    if (end > bytes.length || blocks.has(type)) return null;
    blocks.set(type, bytes.subarray(at + HEAD_BYTES, end));
    at = end;
  }
  return blocks;
}
