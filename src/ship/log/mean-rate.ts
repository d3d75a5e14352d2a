import { MINUTE_MS } from "../../base/time.ts";

/**
 * How much came in the last whole minutes, in memory: an object that has just started measures
 * first.
 */
export class MeanRate {
  readonly #minutes: number;
  /** By minute since the epoch, the running one included. */
  readonly #counts = new Map<number, number>();
  /** Nothing before counts. */
  #sinceMs: number | null = null;

  /** @param minutes how many are averaged. */
  constructor(minutes: number) {
    this.#minutes = minutes;
  }

  add(count: number, nowMs: number): void {
    const minute = minuteOf(nowMs);
    this.#sinceMs ??= nowMs;
    this.#counts.set(minute, (this.#counts.get(minute) ?? 0) + count);
    for (const each of this.#counts.keys()) if (each < minute - this.#minutes) this.#counts.delete(each);
  }

  /** A second, on average over the last whole minutes; null: not measured for so long yet. */
  perSecond(nowMs: number): number | null {
    const end = minuteOf(nowMs);
    const start = end - this.#minutes;
    if (this.#sinceMs === null || this.#sinceMs > start * MINUTE_MS) return null;
    let sum = 0;
    for (const [minute, count] of this.#counts) if (minute >= start && minute < end) sum += count;
    return sum / (this.#minutes * 60);
  }
}

function minuteOf(timeMs: number): number {
  return Math.floor(timeMs / MINUTE_MS);
}
