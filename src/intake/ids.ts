import { createHash, randomBytes } from "node:crypto";
import { toHex } from "../bytes.ts";

/** Random ids, for messages that are sent once. */
export function randomIds(): (part: number) => string {
  return () => toHex(randomBytes(16));
}

/**
 * Raised whenever the mapping or packing of records changes: an id must never stand for different
 * records.
 */
const FORMAT = 2;

/**
 * Ids for a request that may be repeated: a function of key, body and part number, so that a repeat
 * changes nothing. The body is included so that reusing a key for other events by mistake does not
 * lose these.
 * @param body decompressed.
 * @param settings that affect the records.
 */
export function keyedIds(key: string, body: Uint8Array, settings: string): (part: number) => string {
  const request = createHash("sha256").update(JSON.stringify(["logship keyed id", FORMAT, key, settings]));
  const seed = request.update(createHash("sha256").update(body).digest()).digest();
  return (part) => createHash("sha256").update(seed).update(`${part}`).digest("hex").slice(0, 32);
}
