import { createHash, randomBytes } from "node:crypto";
import { toHex } from "../../base/bytes.ts";

/** Random ids of one shard of the log, which is chosen at random. */
export function randomIds(shards: number): (part: number) => string {
  const mask = shards - 1;
  const shard = (randomBytes(1)[0] as number) & mask;
  return () => {
    const id = randomBytes(16);
    id[1] = ((id[1] as number) & ~mask) | shard;
    return toHex(id);
  };
}

/**
 * A request with an `Idempotency-Key` is cut where its body says, and each cut has an id that is a
 * function of key, body and its number: so every copy of the request consists of the same parts,
 * whatever the settings and the release that take it in. **Nothing of this ever changes**: neither
 * the bounds nor the hash.
 */
const CUT_EVENTS = 100;
const CUT_BYTES = 100_000;

/**
 * Where a request with a key is cut: after {@link CUT_EVENTS}, or before the event that would make
 * more than {@link CUT_BYTES}. A larger event is a part by itself.
 * @param sizes of the events as they stand in the body, in bytes.
 * @returns the indices of events that begin a part.
 */
export function cutsOf(sizes: readonly number[]): ReadonlySet<number> {
  const cuts = new Set<number>();
  let events = CUT_EVENTS;
  let bytes = 0;
  for (const [i, size] of sizes.entries()) {
    if (events === CUT_EVENTS || bytes + size > CUT_BYTES) {
      cuts.add(i);
      events = 0;
      bytes = 0;
    }
    events += 1;
    bytes += size;
  }
  return cuts;
}

/**
 * The ids of a request with a key. The body is included, so that reusing a key for other events by
 * mistake does not lose these.
 * @param body decompressed.
 */
export function keyedIds(key: string, body: Uint8Array): (part: number) => string {
  const request = createHash("sha256").update(JSON.stringify(["logship keyed part", key]));
  const seed = request.update(createHash("sha256").update(body).digest()).digest();
  return (part) => createHash("sha256").update(seed).update(`${part}`).digest("hex").slice(0, 32);
}
