import { AsyncLocalStorage } from "node:async_hooks";
import { vi } from "vitest";
import { Watch } from "../../src/operate/alerts/watch.ts";
import { until } from "../support/until.ts";

/**
 * Runs code that calls something that may hang. Each time a call hangs, the next timer of the
 * caller fires, and only that one: other work takes real time. For handlers only: a durable
 * object's timers are its own, and cannot be fired from outside. The watch uses such timers, so it
 * is disabled here; test/operate/status/silent.test.ts tests its waits.
 * @param stuck the number of calls so far that will never be answered.
 */
export async function impatiently<T>(stuck: () => number, run: () => Promise<T>): Promise<T> {
  const resting = vi.spyOn(Watch.prototype, "check").mockResolvedValue();
  const { setTimeout: wait } = globalThis;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { setTimeout: fake } = globalThis;
  const isCaller = new AsyncLocalStorage<true>();
  // No call takes this along.
  globalThis.setTimeout = ((...timer: Parameters<typeof wait>) =>
    (isCaller.getStore() ? fake : wait)(...timer)) as typeof wait;
  try {
    let known = stuck();
    let ended = false;
    const running = isCaller.run(true, run).finally(() => {
      ended = true;
    });
    // Errors are thrown by the `await` below.
    running.catch(() => {});
    while (!ended) {
      await until(() => ended || stuck() > known, 2);
      known = stuck();
      if (!ended) await vi.advanceTimersToNextTimerAsync();
    }
    return await running;
  } finally {
    vi.useRealTimers();
    resting.mockRestore();
  }
}
