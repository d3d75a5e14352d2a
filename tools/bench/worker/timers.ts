import { clock } from "./clock.ts";

interface Timer {
  atMs: number;
  wake(): void;
}

/** More than there are promises between two timers; a turn of the runtime's own takes longer. */
const TURNS = 100;

/** Timers by the simulated clock. */
export class Timers {
  /** By time. */
  readonly #timers: Timer[] = [];

  /** Resolves when the simulation has come to this time. */
  after(ms: number): Promise<void> {
    const atMs = clock.nowMs + ms;
    return new Promise((wake) => {
      const at = this.#timers.findLastIndex((timer) => timer.atMs <= atMs) + 1;
      this.#timers.splice(at, 0, { atMs, wake });
    });
  }

  /** The next one. */
  get first(): { atMs: number } | null {
    return this.#timers[0] ?? null;
  }

  /** Wakes what waits for the next one, and lets it run as far as it comes without a timer. */
  async fire(): Promise<void> {
    this.#timers.shift()?.wake();
    for (let turn = 0; turn < TURNS; turn++) await null;
  }
}
