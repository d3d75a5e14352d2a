import { errorText, log } from "../../base/logger.ts";
import { within } from "../../base/platform.ts";

/** Least time between two calls of a shard, in ms. */
export const WAKE_EVERY_MS = 10_000;

/** Deadline, in ms. Nothing waits for it but the platform. */
const WAKE_MS = 30_000;

/** Has the watch look at searches: one may have passed its threshold. Never rejects. */
export async function wakeWatch({ WATCH }: Pick<Env, "WATCH">): Promise<void> {
  try {
    await within(WAKE_MS, WATCH.getByName("watch").searchesCrossed(), undefined);
  } catch (error) {
    // It looks with the next cron.
    log.warn("the watch could not be woken", { error: errorText(error) });
  }
}
