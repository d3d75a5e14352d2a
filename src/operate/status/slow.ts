import { MINUTE_MS } from "../../base/time.ts";
import { clock, count, share, took } from "../../base/words.ts";
import { sentBy } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import { addedSketch, bucketOf, quantile, type Sketch } from "../../ship/log/function-health.ts";
import { SLOT_MS, SLOTS_LATELY } from "../../ship/log/health-slots.ts";
import { type FunctionTimes, SLOW_BY_MS } from "../../ship/log/last-hour.ts";
import { SLOTS_SEEN } from "../../ship/log/wakes.ts";
import { type Found, head, shown } from "./finding-text.ts";

/** A function of whose invocations more than usual take long. */
export interface SlowFunction {
  name: string;
  /** Who sent these events under this name; absent: the platform traced them. */
  sender?: Source;
  /** Of the time that is looked at. */
  events: number;
  slow: number;
  overMs: number;
  /** The time, in ms, that 95 % do not exceed: of these events, and of the day before. */
  p95: number;
  usualP95: number;
  /** The start of the first slot since which it goes on, in ms since the epoch. */
  sinceMs: number;
  /** It may have gone on for longer. */
  isLonger: boolean;
}

/**
 * Slow is what takes longer than `times` the usual p95, and `moreMs` longer than that. A function
 * is slow when `share` of its events are, and `least` at least. What is usual is known from
 * `usualEvents`.
 */
export const SLOW = { times: 2, moreMs: SLOW_BY_MS, share: 0.05, least: 10, usualEvents: 100 } as const;

/** Those that are slow now, the slowest against what is usual first. */
export function slowOf(all: readonly FunctionTimes[], nowMs: number): SlowFunction[] {
  const first = Math.floor(nowMs / SLOT_MS) - SLOTS_SEEN + 1;
  const found = all.flatMap(({ scriptName: name, source, slots, usual }): SlowFunction[] => {
    const usualP95 = quantile(usual, 0.95);
    if (usualP95 === null || above(usual, -1) < SLOW.usualEvents) return [];
    const limit = bucketOf(Math.max(SLOW.times * usualP95, usualP95 + SLOW.moreMs));
    const isSlow = (wall: Sketch): boolean => above(wall, limit) >= Math.max(1, SLOW.share * above(wall, -1));
    const wall = slots
      .filter(({ slot }) => slot >= first)
      .reduce<Sketch>((sum, each) => addedSketch(sum, each.wall), []);
    const [events, slow, p95] = [above(wall, -1), above(wall, limit), quantile(wall, 0.95)];
    if (p95 === null || slow < SLOW.least || !isSlow(wall)) return [];
    const newestFirst = [...slots].sort((a, b) => b.slot - a.slot);
    const end = newestFirst.findIndex((each) => each.slot < first && !isSlow(each.wall));
    const run = (end === -1 ? newestFirst : newestFirst.slice(0, end)).filter((each) => isSlow(each.wall));
    const sinceMs = Math.min(...run.map(({ slot }) => slot)) * SLOT_MS;
    const isLonger = end === -1 && slots.length >= SLOTS_LATELY;
    const overMs = nowMs - first * SLOT_MS;
    return [{ ...{ name, events, slow, overMs, p95, usualP95, sinceMs, isLonger }, ...sentBy(source) }];
  });
  return found.sort((a, b) => b.p95 / (b.usualP95 + 1) - a.p95 / (a.usualP95 + 1));
}

/** How many times are in later buckets than this one. */
function above(sketch: Sketch, bucket: number): number {
  return sketch.reduce((sum, n, i) => (i % 2 === 1 && (sketch[i - 1] ?? 0) > bucket ? sum + n : sum), 0);
}

export function slowFindings(slow: readonly SlowFunction[]): Found[] {
  return slow.map(({ name, sender, events, slow: n, overMs, p95, usualP95, sinceMs, isLonger }) => ({
    subject: { type: "function", name },
    ...sentBy(sender),
    ...head("function_slow", "warning", sinceMs, n, "events"),
    summary: `${shown(name)}${sender === undefined ? "" : `, as sent by ${shown(sender)},`} is slow: p95 ${took(p95)} in the last ${Math.max(1, Math.round(overMs / MINUTE_MS))} min, ${took(usualP95)} the day before; ${count(n)} of ${count(events)} requests (${share(n, events)}) took over twice as long, ${isLonger ? "for at least an hour" : `since ${clock(sinceMs)} UTC`}.`,
    advice:
      "Search for its slow records (took:>1s) and see what they call; the Worker's page shows whether a version came at that time.",
  }));
}
