/**
 * How long the queue is left alone after it refused messages, in ms. They go to the log meanwhile,
 * where each call is an append of its own: so they are gathered for as long.
 */
export const HOLD_MS = 10_000;

/** What one isolate knows of a queue that refuses messages. Plain data, for all its invocations. */
export class QueueBackoff {
  /** In ms since the epoch; 0: it takes messages. */
  #untilMs = 0;

  /** How long from now it is left alone, in ms; 0: it is tried. */
  holdMs(nowMs: number): number {
    const leftMs = this.#untilMs - nowMs;
    // A clock that was set back does not keep it alone for longer.
    return leftMs > 0 && leftMs <= HOLD_MS ? leftMs : 0;
  }

  /** It refused messages. */
  refused(nowMs: number): void {
    this.#untilMs = nowMs + HOLD_MS;
  }

  /** It took some. */
  took(): void {
    this.#untilMs = 0;
  }
}
