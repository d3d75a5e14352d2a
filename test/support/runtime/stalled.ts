import { vi } from "vitest";

/** A body that does not go on, and what becomes of it. */
export interface Stalled {
  body: ReadableStream<Uint8Array>;
  seen: { pulled: number; cancelled: boolean };
}

/** @param begins what it sends before it falls silent. */
export function stalled(begins = "{"): Stalled {
  const seen = { pulled: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        seen.pulled += 1;
        if (seen.pulled > 1) return new Promise(() => {});
        controller.enqueue(new TextEncoder().encode(begins));
      },
      cancel() {
        seen.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, seen };
}

/**
 * Runs on a clock of its own, a second at a time, until all is done.
 * @returns what it came to, and after how many seconds.
 */
export async function onFakeClock<T>(run: () => Promise<T>, atMostS = 90): Promise<{ value: T; seconds: number }> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    let value: { it: T } | undefined;
    const running = run().then((it) => {
      value = { it };
    });
    // Calls within the runtime take turns of the real event loop.
    const settle = async (): Promise<void> => {
      for (let turn = 0; turn < 20 && value === undefined; turn++) await scheduler.wait(1);
    };
    await settle();
    let seconds = 0;
    for (; value === undefined && seconds < atMostS; seconds++) {
      await vi.advanceTimersByTimeAsync(1_000);
      await settle();
    }
    if (value === undefined) throw new Error(`not over after ${atMostS} s`);
    await running;
    return { value: value.it, seconds };
  } finally {
    vi.useRealTimers();
  }
}
