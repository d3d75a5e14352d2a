/** Chance that a seed repeats: what is chosen is the same again, though a real process may be elsewhere by then. */
export class Chance {
  readonly seed: number;
  #state: number;

  /** @param seed 0 … 2^32 − 1. */
  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** The seed that the variable E2E_SEED asks for; without it one of now. @throws Error if it is no whole number. */
  static ofRun(asked = process.env.E2E_SEED): Chance {
    const seed = asked === undefined ? Date.now() % 2 ** 32 : Number(asked);
    if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32) throw new Error("E2E_SEED: a whole number below 2^32");
    return new Chance(seed);
  }

  /** Another sequence of the same seed, so that one who draws more often does not change what others get. */
  of(name: string): Chance {
    let seed = this.seed;
    for (const char of name) seed = Math.imul(seed ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    return new Chance(seed);
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    // A linear congruential generator modulo 2^32: its low bits repeat soon, so the number is scaled from the high ones.
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return least + Math.floor((this.#state / 2 ** 32) * (most - least + 1));
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.between(0, list.length - 1)] ?? list[0];
  }
}
