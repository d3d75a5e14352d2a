import { MESSAGE_MAX_AGE_MS } from "../limits.ts";

/**
 * How long a message that could not be processed waits, in seconds. Short at first, as most faults are; then steady, so that what recovers is
 * noticed within minutes; at last long enough that the platform's hundred retries reach beyond ten days, when the handler itself sets the message
 * aside.
 * @param attempts deliveries so far, this one included, from 1.
 */
export function retryDelayS(attempts: number): number {
  if (attempts <= 8) return Math.min(2 ** attempts, 300);
  return attempts <= 40 ? 300 : 4 * 3_600;
}

/** Whether a message that failed again has waited so long that the queue might delete it before it is tried enough. */
export function isOverdue(takenInMs: number, nowMs: number): boolean {
  return nowMs - takenInMs > MESSAGE_MAX_AGE_MS;
}

/** Gives a message back to the queue, for later. */
export function retry(delivery: Message<unknown>): void {
  delivery.retry({ delaySeconds: retryDelayS(delivery.attempts) });
}

/** Gives a message back with which nothing was done, and nothing is wrong: there was no room for it. */
export function giveBack(delivery: Message<unknown>): void {
  delivery.retry({ delaySeconds: retryDelayS(1) });
}
