import { log } from "../../base/logger.ts";
import { within } from "../../base/platform.ts";

/** A block that a shard has added while pages are open. */
export interface AddedBlock {
  shard: number;
  /** Its position. */
  n: number;
  /** Of its parts. */
  ids: readonly string[];
}

/** Deadline, in ms. Nothing waits for it but the platform. */
const TELL_MS = 2_000;

/**
 * Tells live viewers of a new block, which they read if they have not seen all of it. Never
 * rejects; an error is logged by its kind alone, as its message may quote a record.
 */
export async function showLive({ LIVE }: Pick<Env, "LIVE">, block: AddedBlock): Promise<void> {
  try {
    const told = LIVE.getByName("live")
      .added(block)
      .then(() => "told" as const);
    if ((await within(TELL_MS, told, "late")) === "late") log.warn("records are late for live viewers");
  } catch (error) {
    const kind = error instanceof Error ? error.name : typeof error;
    log.warn("records could not be shown as they arrived", { error: kind });
  }
}
