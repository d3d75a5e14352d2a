import { ID_MEMORY_MS } from "../limits.ts";
import { CLOCK_SKEW_MS, type Window } from "./config.ts";

/** Longest list of windows of one job: a job that is switched more often within 15 days keeps its newest. */
const JOB_WINDOWS_MAX = 200;

/** Whether what the windows stand for goes on: a job is enabled, logging of a function is off. */
export function isOpen(windows: readonly Window[]): boolean {
  return windows.at(-1)?.untilMs === null;
}

/**
 * The windows of a job after it was switched at `nowMs`. They hold what any clock stamped while the job was enabled; those that no event in the
 * queue can fall into any more are dropped.
 */
export function enabledWindows(windows: readonly Window[], enabled: boolean, nowMs: number): Window[] {
  const last = windows.at(-1);
  const open = last !== undefined && last.untilMs === null;
  const kept = remembered(windows, nowMs);
  // A clock that was set back meanwhile makes an empty window, not one that ends before it begins.
  const ends = Math.max(nowMs + CLOCK_SKEW_MS, last?.fromMs ?? 0);
  if (open && !enabled) kept[kept.length - 1] = { fromMs: last.fromMs, untilMs: ends };
  // Never back into an earlier window's end: what was taken in between two belongs to neither.
  const from = Math.max(nowMs - CLOCK_SKEW_MS, (last?.untilMs ?? -1) + 1);
  if (!open && enabled) kept.push({ fromMs: Math.min(from, nowMs), untilMs: null });
  return kept.slice(-JOB_WINDOWS_MAX);
}

/**
 * The windows in which logging of a function was off, after it was switched at `nowMs`. Either edge stands where no clock can stamp anything that
 * was taken in before the change: until then the old setting holds. From twice the skew after the change on, no clock can stamp anything before it.
 */
export function optOutWindows(windows: readonly Window[], off: boolean, nowMs: number): Window[] {
  const last = windows.at(-1);
  const open = last !== undefined && last.untilMs === null;
  const kept = remembered(windows, nowMs);
  const edge = nowMs + CLOCK_SKEW_MS;
  if (open && !off) {
    kept.pop();
    // Switched back before it began: nothing falls into it.
    if (edge >= last.fromMs) kept.push({ fromMs: last.fromMs, untilMs: edge });
  }
  if (!open && off) kept.push({ fromMs: Math.max(edge, last?.untilMs ?? 0) + 1, untilMs: null });
  return kept;
}

/** Whether a clock may still stamp an event that is being taken in now to the other side of the windows' last edge. */
export function isSettling(windows: readonly Window[], nowMs: number): boolean {
  const last = windows.at(-1);
  return last !== undefined && nowMs < (last.untilMs ?? last.fromMs - 1) + CLOCK_SKEW_MS;
}

/** Those that an event in the queue can still fall into. */
export function remembered(windows: readonly Window[], nowMs: number): Window[] {
  return windows.filter(({ untilMs }) => untilMs === null || untilMs > nowMs - ID_MEMORY_MS);
}
