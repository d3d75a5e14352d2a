import { errorText, log } from "../../base/logger.ts";
import { answered, type Platform } from "../../base/platform.ts";
import type { AccountStatus } from "../../ship/log/account-status.ts";

/** What waits in the queue, as it says itself: batches tell it too, if they come. */
export type QueueWaits = Required<Pick<AccountStatus, "queueBacklog" | "queueBytes" | "queueOldestMs">> & {
  askedMs: number;
};

/** @returns null: an older runtime, or no answer. Never throws. */
export async function queueWaits(
  queue: Partial<Pick<Queue, "metrics">>,
  platform: Pick<Platform, "now">,
): Promise<QueueWaits | null> {
  if (queue.metrics === undefined) return null;
  try {
    const { backlogCount, backlogBytes, oldestMessageTimestamp } = await answered("the queue", 3_000, queue.metrics());
    // Where nothing waits, it is no matter what came last; the runtime says 1970.
    const queueOldestMs = (backlogCount > 0 && oldestMessageTimestamp?.getTime()) || null;
    return { queueBacklog: backlogCount, queueBytes: backlogBytes, queueOldestMs, askedMs: platform.now() };
  } catch (error) {
    log.warn("the queue does not say what waits", { error: errorText(error) });
    return null;
  }
}
