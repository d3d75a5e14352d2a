/** The one clock of a simulation: it moves only when {@link SimulatedClock.advanceTo} moves it. */

interface Timer {
  readonly atMs: number;
  readonly run: () => void;
}

export class SimulatedClock {
  #nowMs: number;
  #lastId = 0;
  readonly #timers = new Map<number, Timer>();
  /** When the next timer is due; null: it has to be looked for. */
  #nextMs: number | null = Number.POSITIVE_INFINITY;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  /** Since the epoch; may have fractions. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Never goes back. */
  advanceTo(timeMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, timeMs);
  }

  set(run: () => void, ms: number): number {
    this.#lastId += 1;
    const atMs = this.#nowMs + Math.max(0, ms);
    this.#timers.set(this.#lastId, { atMs, run });
    if (this.#nextMs !== null) this.#nextMs = Math.min(this.#nextMs, atMs);
    return this.#lastId;
  }

  clear(id: number): void {
    if (this.#timers.get(id)?.atMs === this.#nextMs) this.#nextMs = null;
    this.#timers.delete(id);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => this.set(wake, ms));
  }

  /** When the next timer is due, in ms since the epoch; Infinity: none is set. */
  get nextMs(): number {
    if (this.#nextMs !== null) return this.#nextMs;
    let next = Number.POSITIVE_INFINITY;
    for (const { atMs } of this.#timers.values()) next = Math.min(next, atMs);
    this.#nextMs = next;
    return next;
  }

  /** Runs the timers that are due, in their order. */
  fire(): void {
    const due = [...this.#timers].filter(([, { atMs }]) => atMs <= this.#nowMs);
    for (const [id, timer] of due.sort(([, a], [, b]) => a.atMs - b.atMs)) {
      this.clear(id);
      timer.run();
    }
  }
}
