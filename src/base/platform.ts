/**
 * Time, randomness, network and waiting, as one object that is passed as an argument, so that tests
 * set the clock, script the network and never sleep. The pure middle (record, pipeline arithmetic,
 * cuts, keys) uses none of it.
 */
export interface Platform {
  /** In ms since the epoch. In the runtime this clock stands still between two I/O operations. */
  now(): number;
  /** In [0, 1); for jitter only, never for a decision about a record. */
  random(): number;
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** @param end ends it early, and its timer with it. */
  sleep(ms: number, end?: Promise<unknown>): Promise<void>;
}

export const platform: Platform = {
  now: () => Date.now(),
  random: () => Math.random(),
  fetch: (url, init) => fetch(url, init),
  async sleep(ms, end = new Promise(() => {})) {
    await within(ms, end, null);
  },
};

/**
 * The promise's value, or `late` after `ms`. The promise continues, so a late effect must be
 * harmless.
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

/** A call did not answer in time. It may still take effect later. */
export class TimeoutError extends Error {
  /** @param callee may appear in a log: no content. */
  constructor(callee: string, ms: number) {
    super(`${callee}: no answer within ${ms} ms`);
    this.name = "TimeoutError";
  }
}

const LATE = Symbol("late");

/**
 * The promise's value. As with {@link within}, the promise continues.
 * @throws TimeoutError after `ms`; whatever the promise is rejected with.
 */
export async function answered<T>(callee: string, ms: number, promise: Promise<T>): Promise<T> {
  const value = await within<T, typeof LATE>(ms, promise, LATE);
  if (value === LATE) throw new TimeoutError(callee, ms);
  return value;
}

/**
 * Deadlines for work that makes many calls: each call is bounded, and so are all together, and a
 * callee that timed out once is not called again. So one that hangs costs its deadline once. Call
 * {@link Patience.end}, or the timer stays.
 */
export class Patience {
  readonly #ms: number;
  readonly #silent = new Set<string>();
  /** Resolves when the deadline for all calls has passed. */
  readonly over: Promise<typeof LATE>;
  readonly #timer: ReturnType<typeof setTimeout>;
  #isOver = false;

  /** @param ms for all calls together. */
  constructor(ms: number) {
    const end = Promise.withResolvers<typeof LATE>();
    this.#ms = ms;
    this.over = end.promise;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      end.resolve(LATE);
    }, ms);
  }

  /** The deadline for all calls has passed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Makes a call with a deadline of `ms`. After a timeout it may still take effect, which must be
   * harmless.
   * @param callee may appear in a log.
   * @throws TimeoutError after a timeout, or without a call if `callee` timed out before or all
   *   time is used up; and whatever the call throws.
   */
  async answer<T>(callee: string, ms: number, ask: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw new TimeoutError("all calls together", this.#ms);
    if (this.#silent.has(callee)) throw new TimeoutError(callee, ms);
    const value = await within<T | typeof LATE, typeof LATE>(ms, Promise.race([ask(), this.over]), LATE);
    if (value !== LATE) return value;
    this.#silent.add(callee);
    throw new TimeoutError(callee, ms);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/**
 * Like `Promise.allSettled` over `items.map(run)`, with at most `atOnce` at a time. Results are in
 * the order of items.
 */
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
