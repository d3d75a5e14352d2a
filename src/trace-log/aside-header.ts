import { headOf } from "../queue/message.ts";
import type { TakenId } from "../storage/id-memory.ts";

/**
 * What is kept beside a message that is set aside, to say what it is: its first 40 bytes; of a
 * repeated request followed by the time of intake of its first copy, 8 bytes.
 */
const HEADER_BYTES = 40;

/** @param taken what the message is remembered by. */
export function headerOf(message: ArrayBuffer, { firstMs }: Pick<TakenId, "firstMs">): ArrayBuffer {
  const head = message.slice(0, HEADER_BYTES);
  if (firstMs === undefined) return head;
  const header = new Uint8Array(HEADER_BYTES + 8);
  header.set(new Uint8Array(head));
  new DataView(header.buffer).setBigUint64(HEADER_BYTES, BigInt(firstMs));
  return header.buffer;
}

/** What the message is remembered by. null: its header says nothing. */
export function takenOf(header: ArrayBuffer): TakenId | null {
  const head = headOf(header);
  if (head === null || header.byteLength <= HEADER_BYTES) return head;
  return { ...head, firstMs: Number(new DataView(header).getBigUint64(HEADER_BYTES)) };
}
