/** Waits for what another process does. */
import { setTimeout } from "node:timers/promises";

/** Between two looks, in ms. */
const LOOK_AGAIN_MS = 200;

export function pause(ms: number): Promise<void> {
  return setTimeout(ms);
}

export interface UntilOptions<T> {
  /** What is waited for, for the complaint: "the ledger to show 15 received". */
  readonly what: string;
  readonly withinMs: number;
  readonly look: () => Promise<T>;
  readonly enough: (value: T) => boolean;
}

/**
 * Looks until it is enough.
 * @throws Error with what was waited for and what was seen last, when the time is over. Whatever a
 *   look throws.
 */
export async function until<T>({ what, withinMs, look, enough }: UntilOptions<T>): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const value = await look();
    if (enough(value)) return value;
    if (Date.now() > deadline) {
      throw new Error(`waited ${withinMs / 1000} s for ${what}; seen last: ${JSON.stringify(value)?.slice(0, 600)}`);
    }
    await pause(LOOK_AGAIN_MS);
  }
}
