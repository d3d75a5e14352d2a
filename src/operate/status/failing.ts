import type { FailingRules } from "../../base/failing-setting.ts";
import { clock, count, share } from "../../base/words.ts";
import { sentBy } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import { type FunctionSlots, SLOT_MS, SLOTS_KEPT, type Slot } from "../../ship/log/function-health-hours.ts";
import { type Found, head, shown } from "./finding-text.ts";

/** A function of whose invocations too many fail. */
export interface FailingFunction {
  name: string;
  /** Who sent these events under this name; absent: the platform traced them. */
  sender?: Source;
  /** Nothing of it came an hour ago. */
  isNew: boolean;
  /** Of the time that is looked at. */
  events: number;
  failed: number;
  overMs: number;
  /** The same of the slots that are nearest to the last five minutes: 2.5 to 7.5. */
  latest: { events: number; failed: number; overMs: number };
  /** The first failure since which it goes on, in ms, as far back as is known: an hour at most. */
  sinceMs: number;
  /** It may have gone on for longer. */
  isLonger: boolean;
}

/** The slots that are looked at, the one that is under way included: 10 to 15 minutes. */
export const SLOTS_SEEN = 3;

/** From this age, in ms, the current slot stands alone; a younger one is told with the last. */
const ENOUGH_MS = SLOT_MS / 2;

/** Of those asked for, which fail by the rules, those with the most failures first. */
export function failingOf(all: readonly FunctionSlots[], rules: FailingRules, nowMs: number): FailingFunction[] {
  const first = Math.floor(nowMs / SLOT_MS) - SLOTS_SEEN + 1;
  const found = all.flatMap(({ scriptName: name, source, slots }): FailingFunction[] => {
    const rule = rules.of.has(name) ? rules.of.get(name) : rules.all;
    if (rule === null || rule === undefined) return [];
    const [events, failed] = sums(slots.filter(({ slot }) => slot >= first));
    if (failed < rule.least || failed / events < rule.share) return [];
    const newestFirst = [...slots].sort((a, b) => b.slot - a.slot);
    const isBad = (each: Slot): boolean => each.failed > 0 && each.failed / each.events >= rule.share;
    const end = newestFirst.findIndex((each) => each.slot < first && !isBad(each));
    const run = (end === -1 ? newestFirst : newestFirst.slice(0, end)).filter(isBad);
    const sinceMs = Math.min(...run.map(({ firstFailedMs }) => firstFailedMs));
    const overMs = nowMs - first * SLOT_MS;
    const newest = Math.floor((nowMs - ENOUGH_MS) / SLOT_MS);
    const last = sums(slots.filter(({ slot }) => slot >= newest));
    const latest = { events: last[0], failed: last[1], overMs: nowMs - newest * SLOT_MS };
    const isNew = slots.every(({ slot }) => slot > Math.floor(nowMs / SLOT_MS) - SLOTS_KEPT + 1);
    const isLonger = end === -1 && slots.length === SLOTS_KEPT;
    return [{ ...{ name, events, failed, overMs, latest, sinceMs, isNew, isLonger }, ...sentBy(source) }];
  });
  return found.sort((a, b) => b.failed - a.failed);
}

function sums(slots: readonly Slot[]): [events: number, failed: number] {
  return [slots.reduce((sum, each) => sum + each.events, 0), slots.reduce((sum, each) => sum + each.failed, 0)];
}

export function failingFindings(failing: readonly FailingFunction[]): Found[] {
  return failing.map(({ name, sender, events, failed, overMs, latest, sinceMs, isLonger }) => ({
    subject: { type: "function", name },
    ...sentBy(sender),
    ...head("function_failing", "warning", sinceMs, failed, "events"),
    summary: `${shown(name)}${sender === undefined ? "" : `, as sent by ${shown(sender)},`} is failing: ${shareOf({ events, failed }, "requests")} in the last ${minutes(overMs)} min${latest.events === events ? "" : `, ${shareOf(latest)} in the last ${minutes(latest.overMs)}`}, ${isLonger ? "for at least an hour" : `since ${clock(sinceMs)} UTC`}.`,
    advice:
      "The Worker's health lists the most frequent errors, each with an example record. The setting FUNCTION_FAILING sets the share of failures from which logship reports this.",
  }));
}

/** `129 of 2,035 requests (6 %)`. */
export function shareOf({ events, failed }: Pick<FailingFunction, "events" | "failed">, what?: string): string {
  const [some, all] = [failed, events].map(count);
  const of = what === undefined ? all : `${all} ${events === 1 ? what.replace(/s$/, "") : what}`;
  return events === 0 ? "none" : `${some} of ${of} (${share(failed, events)})`;
}

function minutes(ms: number): number {
  return Math.max(1, Math.round(ms / 60_000));
}
