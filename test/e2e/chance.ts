/** Random choices that a seed repeats. The real process may be in another state by then. */
export class Chance {
  readonly seed: number;
  #state: number;

  /** @param seed 0 … 2^32 − 1. */
  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /**
   * Seeded with E2E_SEED, or with the time if it is not set.
   * @throws Error if it is not a whole number.
   */
  static ofRun(asked = process.env.E2E_SEED): Chance {
    const seed = asked === undefined ? Date.now() % 2 ** 32 : Number(asked);
    if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32) throw new Error("E2E_SEED: a whole number below 2^32");
    return new Chance(seed);
  }

  /** Another sequence of the same seed. Drawing more from one does not change the others. */
  of(name: string): Chance {
    let seed = this.seed;
    for (const char of name) seed = Math.imul(seed ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    return new Chance(seed);
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    // A linear congruential generator modulo 2^32. Its low bits have short periods, so the number
    // is taken from the high ones.
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return least + Math.floor((this.#state / 2 ** 32) * (most - least + 1));
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.between(0, list.length - 1)] ?? list[0];
  }
}
