import { DEDUP_MS } from "../../base/limits.ts";
import { CLOCK_SKEW_MS, type Window } from "./config.ts";

/** Most windows of one job. A job switched more often within 15 days keeps the newest. */
const JOB_WINDOWS_MAX = 200;

/** Whether the last window is open: the job is enabled, or logging of the function is off. */
export function isOpen(windows: readonly Window[]): boolean {
  return windows.at(-1)?.untilMs === null;
}

/**
 * The windows of a job after it was switched at `nowMs`. They contain the stamps of any clock while
 * the job was enabled. Windows too old for any event in the queue are dropped.
 */
export function enabledWindows(windows: readonly Window[], enabled: boolean, nowMs: number): Window[] {
  const last = windows.at(-1);
  const open = last !== undefined && last.untilMs === null;
  const kept = remembered(windows, nowMs);
  // If the clock was set back, the window is empty: it never ends before it begins.
  const ends = Math.max(nowMs + CLOCK_SKEW_MS, last?.fromMs ?? 0);
  if (open && !enabled) kept[kept.length - 1] = { fromMs: last.fromMs, untilMs: ends };
  // Never into the window before: events taken in between two windows belong to neither.
  const from = Math.max(nowMs - CLOCK_SKEW_MS, (last?.untilMs ?? -1) + 1);
  if (!open && enabled) kept.push({ fromMs: Math.min(from, nowMs), untilMs: null });
  return kept.slice(-JOB_WINDOWS_MAX);
}

/**
 * The windows in which logging of a function was off, after it was switched at `nowMs`. Both edges
 * are later than any stamp of an event taken in before the change, for which the old setting holds.
 * From twice the skew after the change on, all stamps are later than the edge.
 */
export function optOutWindows(windows: readonly Window[], off: boolean, nowMs: number): Window[] {
  const last = windows.at(-1);
  const open = last !== undefined && last.untilMs === null;
  const kept = remembered(windows, nowMs);
  const edge = nowMs + CLOCK_SKEW_MS;
  if (open && !off) {
    kept.pop();
    // Switched back before it began: the window is empty.
    if (edge >= last.fromMs) kept.push({ fromMs: last.fromMs, untilMs: edge });
  }
  if (!open && off) kept.push({ fromMs: Math.max(edge, last?.untilMs ?? 0) + 1, untilMs: null });
  return kept;
}

/** Whether a clock may still stamp an event taken in now on the other side of the last edge. */
export function isSettling(windows: readonly Window[], nowMs: number): boolean {
  const last = windows.at(-1);
  return last !== undefined && nowMs < (last.untilMs ?? last.fromMs - 1) + CLOCK_SKEW_MS;
}

/** Windows that an event in the queue can still fall into. */
export function remembered(windows: readonly Window[], nowMs: number): Window[] {
  return windows.filter(({ untilMs }) => untilMs === null || untilMs > nowMs - DEDUP_MS);
}
