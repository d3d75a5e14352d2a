import { createHash, randomBytes } from "node:crypto";
import { toHex } from "../bytes.ts";

/** Ids for messages that are sent once: random. */
export function randomIds(): (part: number) => string {
  return () => toHex(randomBytes(16));
}

/** Grows whenever the mapping of events to records or the packing of records changes: the same id must never stand for other records. */
const FORMAT = 2;

/**
 * Ids for a request that may be repeated: a function of the key, the body and the part's number, so that a repeat changes nothing. The body
 * counts, because a key that is used again for other events by mistake must not make those vanish.
 * @param body the decompressed body.
 * @param settings what else decides what the records are.
 */
export function keyedIds(key: string, body: Uint8Array, settings: string): (part: number) => string {
  const request = createHash("sha256").update(JSON.stringify(["logship keyed id", FORMAT, key, settings]));
  const seed = request.update(createHash("sha256").update(body).digest()).digest();
  return (part) => createHash("sha256").update(seed).update(`${part}`).digest("hex").slice(0, 32);
}
