/**
 * What code at the edges takes from the world: time, chance, the network, waiting. One object, handed on as an argument, so that tests set
 * a clock, script a network, and never sleep. The pure middle (record, pipeline arithmetic, cuts, keys) takes none of it.
 */
export interface Platform {
  /** Milliseconds since the epoch. In the runtime this clock stands still between two I/O operations. */
  now(): number;
  /** In [0, 1); for jitter only, never for a decision about a record. */
  random(): number;
  fetch(url: string, init: RequestInit): Promise<Response>;
  sleep(ms: number): Promise<void>;
}

export const platform: Platform = {
  now: () => Date.now(),
  random: () => Math.random(),
  fetch: (url, init) => fetch(url, init),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/**
 * The promise's value, or `late` after `ms`. The promise goes on; whoever gives up on it must be able to live with its effect.
 */
export async function within<T, L>(ms: number, promise: Promise<T>, late: L): Promise<T | L> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<L>((resolve) => {
    timer = setTimeout(() => resolve(late), ms);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** Somebody did not answer in time. What was asked for may happen all the same, later. */
export class TimeoutError extends Error {
  /** @param who in words that may stand in a log: no content. */
  constructor(who: string, ms: number) {
    super(`${who}: no answer within ${ms} ms`);
    this.name = "TimeoutError";
  }
}

const LATE = Symbol("late");

/**
 * The promise's value. As with {@link within}, the promise goes on.
 * @throws TimeoutError after `ms`; whatever the promise is rejected with.
 */
export async function answered<T>(who: string, ms: number, promise: Promise<T>): Promise<T> {
  const value = await within<T, typeof LATE>(ms, promise, LATE);
  if (value === LATE) throw new TimeoutError(who, ms);
  return value;
}

/**
 * The patience of one piece of work that asks many: each answer is bounded, all of them together are, and whoever did not answer once is not asked
 * again. One that hangs then costs its bound once, however much there is to ask it. {@link Patience.end} it, or its timer stays.
 */
export class Patience {
  readonly #ms: number;
  readonly #silent = new Set<string>();
  readonly #end: Promise<typeof LATE>;
  readonly #timer: ReturnType<typeof setTimeout>;
  #isOver = false;

  /** @param ms for everything together. */
  constructor(ms: number) {
    const end = Promise.withResolvers<typeof LATE>();
    this.#ms = ms;
    this.#end = end.promise;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      end.resolve(LATE);
    }, ms);
  }

  /** Nobody is asked any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Asks, and waits for `ms` at most. What is asked for may happen all the same, later: whoever asks must be able to live with that.
   * @param who in words that may stand in a log.
   * @throws TimeoutError if there is no answer in time, or nobody is asked any more; whatever the answer is rejected with.
   */
  async answer<T>(who: string, ms: number, ask: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw new TimeoutError("everything together", this.#ms);
    if (this.#silent.has(who)) throw new TimeoutError(who, ms);
    const value = await within<T | typeof LATE, typeof LATE>(ms, Promise.race([ask(), this.#end]), LATE);
    if (value !== LATE) return value;
    this.#silent.add(who);
    throw new TimeoutError(who, ms);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Like `Promise.allSettled` over `items.map(run)`, with at most `atOnce` of them under way. Results stand in the order of the items. */
export async function settled<T, R>(
  items: readonly T[],
  atOnce: number,
  run: (item: T) => Promise<R>,
): Promise<PromiseSettledResult<R>[]> {
  const results = new Array<PromiseSettledResult<R>>(items.length);
  const queue = items.entries();
  const work = async (): Promise<void> => {
    for (const [i, item] of queue) {
      try {
        results[i] = { status: "fulfilled", value: await run(item) };
      } catch (reason) {
        results[i] = { status: "rejected", reason };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  return results;
}
