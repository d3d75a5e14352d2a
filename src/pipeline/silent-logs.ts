/** How long a log that did not answer is passed over before it is tried again, in ms. */
const PASSED_OVER_MS = 30_000;

/** How long one batch has to find out before another tries as well, in ms. */
const TRIED_MS = 5_000;

/**
 * Logs that did not answer, in one isolate. Each is passed over, so that it costs one batch its
 * deadline and not every batch; now and then one batch tries whether it answers again.
 */
export class SilentLogs {
  /** When it is tried again, in ms since the epoch, by job. */
  readonly #untilMs = new Map<number, number>();

  /** Whether the log is not to be asked now. The first one that may ask holds the others back. */
  isPassedOver(job: number, nowMs: number): boolean {
    const until = this.#untilMs.get(job);
    if (until === undefined) return false;
    if (nowMs < until) return true;
    this.#untilMs.set(job, nowMs + TRIED_MS);
    return false;
  }

  didNotAnswer(job: number, nowMs: number): void {
    this.#untilMs.set(job, nowMs + PASSED_OVER_MS);
  }

  answered(job: number): void {
    this.#untilMs.delete(job);
  }
}
