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
