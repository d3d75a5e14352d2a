import { createHash, randomBytes } from "node:crypto";
import { toHex } from "../bytes.ts";

/** Ids for messages that are sent once: random. */
export function randomIds(): (part: number) => string {
  return () => toHex(randomBytes(16));
}

/**
 * Ids for a request that may be repeated: a function of the key, the body and the part's number, so that a repeat changes nothing. The body
 * counts, because a key that is used again for other events by mistake must not make those vanish.
 * @param body the decompressed body.
 */
export function keyedIds(key: string, body: Uint8Array): (part: number) => string {
  const request = createHash("sha256").update("logship keyed id 1\0").update(createHash("sha256").update(key).digest());
  const seed = request.update(createHash("sha256").update(body).digest()).digest();
  return (part) => createHash("sha256").update(seed).update(`${part}`).digest("hex").slice(0, 32);
}
