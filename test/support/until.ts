import { vi } from "vitest";

/**
 * How long a test waits for what must come: as long as it may take itself. A shorter limit would
 * fail on a busy machine, and says nothing more.
 */
const TEST_MS = 30_000;

/**
 * Waits until a condition holds. Each look lets the interval pass for timers that are fake.
 * @param intervalMs between two looks.
 * @returns what it returned.
 */
export function until<T>(condition: () => T | Promise<T>, intervalMs = 50): Promise<T> {
  return vi.waitUntil(condition, { timeout: TEST_MS, interval: intervalMs }) as Promise<T>;
}

/** Waits until a check no longer throws. As {@link until}. */
export function untilPasses<T>(check: () => T | Promise<T>, intervalMs = 50): Promise<T> {
  return vi.waitFor(check, { timeout: TEST_MS, interval: intervalMs }) as Promise<T>;
}
