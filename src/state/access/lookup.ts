import * as z from "zod";
import { ACCESS_SHARDS, ACCESS_SPREAD_MS } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered, type Platform } from "../../base/platform.ts";
import type { Identified, Proof } from "./proofs.ts";
import { type AccessRegister, accessRegister, accessShard } from "./register.ts";
import { PERMISSIONS } from "./roles.ts";

/** How long the register may take to identify a caller, in ms: it reads two small tables. */
const REGISTER_MS = 3_000;

/** Of these, what one of its shards may take before the register is asked. */
const SHARD_MS = 1_000;

/** The shape of an answer; any other counts as none. */
const Answer = z.object({
  known: z
    .object({
      kind: z.enum(["token", "member"]),
      id: z.string(),
      name: z.string(),
      permissions: z.array(z.enum(PERMISSIONS)),
      expiresMs: z.number().nullable(),
    })
    .nullable(),
  doubtful: z.boolean().default(true),
  spreadMs: z.number().min(0).max(ACCESS_SPREAD_MS).default(0),
});

/** How an isolate asks whom a proof belongs to: the register, or where that is busy, its shards. */
export class Lookup {
  #spreadUntilMs = 0;

  /**
   * @param keys as in {@link AccessRegister.identify}.
   * @throws if neither answers in three seconds.
   */
  async identify(
    proof: Proof,
    keys: readonly string[] | undefined,
    register: DurableObjectNamespace<AccessRegister>,
    platform: Pick<Platform, "now" | "random">,
  ): Promise<Required<Identified>> {
    if (!this.#isSpread(platform.now())) {
      try {
        return await this.#askRegister(proof, keys, register, platform, REGISTER_MS);
      } catch (error) {
        if (!isOverload(error)) throw error;
        this.#spreadUntilMs = platform.now() + ACCESS_SPREAD_MS;
      }
    }
    try {
      const shard = accessShard(register, Math.floor(platform.random() * ACCESS_SHARDS));
      return Answer.parse(await answered("a shard of the access register", SHARD_MS, shard.identifyHere(proof, keys)));
    } catch (error) {
      log.warn("a shard of the access register did not answer", { error: errorText(error) });
      return await this.#askRegister(proof, keys, register, platform, REGISTER_MS - SHARD_MS);
    }
  }

  async #askRegister(
    proof: Proof,
    keys: readonly string[] | undefined,
    register: DurableObjectNamespace<AccessRegister>,
    platform: Pick<Platform, "now">,
    ms: number,
  ): Promise<Required<Identified>> {
    const asked: unknown = await answered("the access register", ms, accessRegister(register).identify(proof, keys));
    const { spreadMs, ...answer } = Answer.parse(asked);
    if (spreadMs > 0) this.#spreadUntilMs = platform.now() + spreadMs;
    return answer;
  }

  /** A clock that is set back does not prolong it. */
  #isSpread(nowMs: number): boolean {
    return nowMs < this.#spreadUntilMs && this.#spreadUntilMs - nowMs <= ACCESS_SPREAD_MS;
  }
}

/**
 * Whether a Durable Object had more to do than it could.
 * https://developers.cloudflare.com/durable-objects/best-practices/error-handling/
 */
function isOverload(error: unknown): boolean {
  return error instanceof Error && (error as { overloaded?: unknown }).overloaded === true;
}
