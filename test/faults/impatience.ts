import { vi } from "vitest";
import { Watch } from "../../src/status/watch.ts";

/**
 * Runs what meets somebody who never answers: whenever that is so, the next clock of whoever waits for him runs out, and no more than that, as others have real
 * work to do meanwhile. For handlers: timers of a durable object are its own, and may not be run for it. So the watch, which the cron has look at everybody, and
 * which waits for whoever hangs by such timers, rests; test/status/silent.test.ts has it wait.
 * @param stuck how many calls will never be answered, by now.
 */
export async function impatiently<T>(stuck: () => number, run: () => Promise<T>): Promise<T> {
  const resting = vi.spyOn(Watch.prototype, "check").mockResolvedValue();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    let known = stuck();
    let ended = false;
    const running = run().finally(() => {
      ended = true;
    });
    // Whoever fails is heard below.
    running.catch(() => {});
    while (!ended) {
      await vi.waitUntil(() => ended || stuck() > known, { timeout: 20_000, interval: 2 });
      known = stuck();
      if (!ended) await vi.advanceTimersToNextTimerAsync();
    }
    return await running;
  } finally {
    vi.useRealTimers();
    resting.mockRestore();
  }
}
