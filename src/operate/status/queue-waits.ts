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

/** Messages that wait for one batch. */
const BATCH = 100;

type Waiting = Pick<AccountStatus, "queueBacklog" | "queueBytes" | "queueSeenMs" | "queueOldestMs">;

/**
 * What the queue said of itself, and what a later batch did: that tells what waits, but not since
 * when. Where it is no more than before, it waits for no longer: else a silence would be hidden
 * until the queue is asked again.
 */
export function withQueue<T extends Waiting>(account: T, queue: QueueWaits | undefined): T {
  const { queueBacklog, queueBytes, queueSeenMs } = account;
  if (queue === undefined) return account;
  if (queueBacklog === null || queueSeenMs === null || queueSeenMs <= queue.askedMs) return { ...account, ...queue };
  const isMoving = queueBacklog <= Math.max(queue.queueBacklog ?? 0, BATCH);
  const passedMs = isMoving ? queueSeenMs - queue.askedMs : 0;
  const queueOldestMs = queue.queueOldestMs === null ? null : queue.queueOldestMs + passedMs;
  return { ...account, ...queue, queueBacklog, queueBytes, queueOldestMs };
}
