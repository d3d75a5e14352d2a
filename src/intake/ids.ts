import { createHash, randomBytes } from "node:crypto";
import { toHex } from "../bytes.ts";

/** Random ids, for messages that are sent once. */
export function randomIds(): (part: number) => string {
  return () => toHex(randomBytes(16));
}

/**
 * How records are mapped and packed. Raised whenever that changes: an id must never stand for
 * different records. The register of keys keeps it with a request, as its repeats are packed as its
 * first copy was.
 */
export const PACKING = 2;

/**
 * Ids for a request that may be repeated: a function of key, body and part number, so that a repeat
 * changes nothing. The body is included so that reusing a key for other events by mistake does not
 * lose these.
 * @param body decompressed.
 * @param settings that affect the records.
 */
export function keyedIds(key: string, body: Uint8Array, settings: string): (part: number) => string {
  const request = createHash("sha256").update(JSON.stringify(["logship keyed id", PACKING, key, settings]));
  const seed = request.update(createHash("sha256").update(body).digest()).digest();
  return (part) => createHash("sha256").update(seed).update(`${part}`).digest("hex").slice(0, 32);
}

/**
 * What the register knows a request by: a hash of key and body, as 32 hex digits. Unlike the ids it
 * does not depend on packing or settings.
 */
export function requestHash(key: string, body: Uint8Array): string {
  const request = createHash("sha256").update(JSON.stringify(["logship keyed request", key]));
  return request.update(createHash("sha256").update(body).digest()).digest("hex").slice(0, 32);
}
