import { errorText, log } from "../../base/logger.ts";
import { answered } from "../../base/platform.ts";
import { readKeyShards } from "../../config.ts";

/** How long the control plane may take to say which number it keeps, in ms. */
const ASK_MS = 5_000;

/** Over how many shards parts with a key are spread; else why nothing with a key can be taken. */
export type KeyShards = { ok: true; shards: number } | { ok: false; why: string };

const UNKNOWN = "so a repeat of this request might not be known as one; nothing was taken";
const MALFORMED: KeyShards = { ok: false, why: `KEY_SHARDS is malformed, ${UNKNOWN}` };
const SILENT: KeyShards = {
  ok: false,
  why: `the control plane does not say whether KEY_SHARDS was changed, ${UNKNOWN}: repeat it`,
};

/**
 * The number by which parts with a key are spread. Under another one a repeat would go to a shard
 * that does not know the first copy, so the control plane keeps the first setting.
 */
export class KeptKeyShards {
  /** It never changes, so an isolate asks once. */
  #kept: number | null = null;

  async of(env: Pick<Env, "CONTROL">): Promise<KeyShards> {
    const set = readKeyShards(env);
    if (set === null) return MALFORMED;
    try {
      this.#kept ??= await answered("the control plane", ASK_MS, env.CONTROL.getByName("control").keyShards());
    } catch (error) {
      log.warn("the control plane does not answer a request with a key", { error: errorText(error) });
      return SILENT;
    }
    const kept = this.#kept;
    if (kept === set) return { ok: true, shards: set };
    if (kept === null) return MALFORMED;
    return { ok: false, why: `KEY_SHARDS is ${set}, but was ${kept} at first, ${UNKNOWN}: set it back` };
  }
}

/** What all requests of an isolate share. */
export const isolateKeyShards = new KeptKeyShards();
