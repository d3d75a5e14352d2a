import { env } from "cloudflare:workers";
import { PACKING } from "../../../src/intake/ids.ts";
import { KEYED_FOR_MS, keyShard } from "../../../src/intake/key-register.ts";
import { KEYS_SHARDS } from "../../../src/limits.ts";

/**
 * Makes the register of keys one that has been in use for long: what it takes from now on is
 * remembered by the time of the first copy. The clock moves on by sixteen days.
 */
export async function oldRegister(clock: { advance(ms: number): void; nowMs(): number }): Promise<void> {
  const copy = { takenInMs: clock.nowMs(), packing: PACKING, settings: "unnamed" };
  await Promise.all(
    Array.from({ length: KEYS_SHARDS }, (_, shard) =>
      keyShard(env.KEYS, shard).first(shard.toString(16).padStart(32, "0"), copy),
    ),
  );
  clock.advance(KEYED_FOR_MS);
}
