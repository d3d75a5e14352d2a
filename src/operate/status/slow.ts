import type { FailingRules } from "../../base/failing-setting.ts";
import { MINUTE_MS } from "../../base/time.ts";
import { clock, took } from "../../base/words.ts";
import { sentBy } from "../../formats/record/shares.ts";
import { addedSketch, bucketOf, quantile, type Sketch } from "../../ship/log/function-health.ts";
import { type FunctionSlots, SLOT_MS } from "../../ship/log/function-health-hours.ts";
import { type FailingFunction, failingOf, SLOTS_SEEN, shareOf } from "./failing.ts";
import { type Found, head, shown } from "./finding-text.ts";

/** The wall times of a function in the last hour, by slot in no order, and in the day before. */
export interface FunctionTimes extends Pick<FunctionSlots, "scriptName" | "source"> {
  slots: readonly { slot: number; wall: Sketch }[];
  usual: Sketch;
}

/** A function of which more invocations than usual take long: they count as failed here. */
export interface SlowFunction extends FailingFunction {
  /** The time, in ms, that 95 % do not exceed: of what is looked at, and of the day before. */
  p95: number;
  usualP95: number;
}

/**
 * Slow is what takes longer than `times` the usual p95, and `moreMs` longer than that; what is
 * usual is known from `usualEvents`. A function is slow by the same rules as it fails.
 */
export const SLOW = { times: 2, moreMs: 100, share: 0.05, least: 10, usualEvents: 100 } as const;

const RULES: FailingRules = { all: SLOW, of: new Map() };

/** Those that are slow now. */
export function slowOf(all: readonly FunctionTimes[], nowMs: number): SlowFunction[] {
  const first = Math.floor(nowMs / SLOT_MS) - SLOTS_SEEN + 1;
  return all.flatMap(({ slots, usual, ...of }) => {
    const usualP95 = quantile(usual, 0.95);
    if (usualP95 === null || above(usual, -1) < SLOW.usualEvents) return [];
    const limit = bucketOf(Math.max(SLOW.times * usualP95, usualP95 + SLOW.moreMs));
    const counted = slots.map(({ slot, wall }) => ({
      ...{ slot, events: above(wall, -1), failed: above(wall, limit), firstFailedMs: slot * SLOT_MS },
    }));
    const seen = slots.filter(({ slot }) => slot >= first).map(({ wall }) => wall);
    const p95 = quantile(seen.reduce(addedSketch, []), 0.95) ?? 0;
    return failingOf([{ ...of, slots: counted }], RULES, nowMs).map((found) => ({ ...found, p95, usualP95 }));
  });
}

/** How many times are in later buckets than this one. */
function above(sketch: Sketch, bucket: number): number {
  return sketch.reduce((sum, n, i) => (i % 2 === 1 && (sketch[i - 1] ?? 0) > bucket ? sum + n : sum), 0);
}

export function slowFindings(slow: readonly SlowFunction[]): Found[] {
  return slow.map(({ name, sender, overMs, p95, usualP95, sinceMs, isLonger, ...of }) => ({
    subject: { type: "function", name },
    ...sentBy(sender),
    ...head("function_slow", "warning", sinceMs, of.failed, "events"),
    summary: `${shown(name)}${sender === undefined ? "" : `, as sent by ${shown(sender)},`} is slow: p95 ${took(p95)} in the last ${Math.max(1, Math.round(overMs / MINUTE_MS))} min, ${took(usualP95)} the day before; ${shareOf(of, "requests")} took over twice as long, ${isLonger ? "for at least an hour" : `since ${clock(sinceMs)} UTC`}.`,
    advice:
      "Search for its slow records (took:>1s) and see what they call; the Worker's page shows whether a version came at that time.",
  }));
}
