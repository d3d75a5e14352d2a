import { type FailingRules, fails, ruleOf } from "../../base/failing-setting.ts";
import { MINUTE_MS } from "../../base/time.ts";
import { clock, count, share } from "../../base/words.ts";
import { sentBy } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import { SLOT_MS, SLOTS_LATELY, type Slot } from "../../ship/log/health-slots.ts";
import type { FunctionSlots, VersionRan } from "../../ship/log/last-hour.ts";
import { SLOTS_SEEN, seenOf, sumOf } from "../../ship/log/wakes.ts";
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
  /** The version that began it; absent: none did, or it is unknown. */
  version?: VersionRan;
}

/** It began with a version whose first sight was at most so long before, in ms. */
const BEGINS_MS = 15 * MINUTE_MS;

/** So much of all failures is of that version. */
const BLAMED_SHARE = 0.9;

/** From this age, in ms, the current slot stands alone; a younger one is told with the last. */
const ENOUGH_MS = SLOT_MS / 2;

/** Of those asked for, which fail by the rules, those with the most failures first. */
export function failingOf(all: readonly FunctionSlots[], rules: FailingRules, nowMs: number): FailingFunction[] {
  const first = Math.floor(nowMs / SLOT_MS) - SLOTS_SEEN + 1;
  const found = all.flatMap(({ scriptName: name, source, slots, versions = [] }): FailingFunction[] => {
    const rule = ruleOf(rules, name);
    const { events, failed } = seenOf(slots, nowMs);
    if (rule === null || !fails(rule, { events, failed })) return [];
    const newestFirst = [...slots].sort((a, b) => b.slot - a.slot);
    const isBad = (each: Slot): boolean => each.failed > 0 && each.failed / each.events >= rule.share;
    const end = newestFirst.findIndex((each) => each.slot < first && !isBad(each));
    const run = (end === -1 ? newestFirst : newestFirst.slice(0, end)).filter(isBad);
    const sinceMs = Math.min(...run.map(({ firstFailedMs }) => firstFailedMs));
    const overMs = nowMs - first * SLOT_MS;
    const newest = Math.floor((nowMs - ENOUGH_MS) / SLOT_MS);
    const latest = { ...sumOf(slots.filter(({ slot }) => slot >= newest)), overMs: nowMs - newest * SLOT_MS };
    const isNew = slots.every(({ slot }) => slot > Math.floor(nowMs / SLOT_MS) - SLOTS_LATELY + 1);
    const isLonger = end === -1 && slots.length === SLOTS_LATELY;
    const version = begunBy(versions, sinceMs);
    const found = { name, events, failed, overMs, latest, sinceMs, isNew, isLonger };
    return [{ ...found, ...sentBy(source), ...(version !== undefined && { version }) }];
  });
  return found.sort((a, b) => b.failed - a.failed);
}

/** The version with which failures began. An event may be somewhat older than its intake. */
function begunBy(versions: readonly VersionRan[], sinceMs: number): VersionRan | undefined {
  const all = versions.reduce((sum, { failed }) => sum + failed, 0);
  return versions.find(
    ({ failed, firstMs }) => failed >= all * BLAMED_SHARE && Math.abs(sinceMs - firstMs) <= BEGINS_MS && failed > 0,
  );
}

export function failingFindings(failing: readonly FailingFunction[]): Found[] {
  return failing.map(({ name, sender, events, failed, overMs, latest, sinceMs, isLonger, version }) => ({
    subject: { type: "function", name },
    ...sentBy(sender),
    ...head("function_failing", "warning", sinceMs, failed, "events"),
    summary: `${shown(name)}${sender === undefined ? "" : `, as sent by ${shown(sender)},`} is failing: ${shareOf({ events, failed }, "requests")} in the last ${minutes(overMs)} min${latest.events === events ? "" : `, ${shareOf(latest)} in the last ${minutes(latest.overMs)}`}, ${isLonger ? "for at least an hour" : `since ${clock(sinceMs)} UTC`}${version === undefined ? "" : `; version ${shown(nameOf(version))} was first seen at ${clock(version.firstMs)} UTC`}.`,
    advice:
      "The Worker's health lists the most frequent errors, each with an example record. The setting FUNCTION_FAILING sets the share of failures from which logship reports this.",
    links: {
      firstRecord: { script: name, atMs: sinceMs, rayId: null },
      ...(version !== undefined && { version: nameOf(version) }),
    },
  }));
}

/** What people call a version: its tag, or the beginning of its id. */
export function nameOf({ version, tag }: Pick<VersionRan, "version" | "tag">): string {
  return tag || version.slice(0, 8);
}

/** `129 of 2,035 requests (6 %)`. */
function shareOf({ events, failed }: Pick<FailingFunction, "events" | "failed">, what?: string): string {
  const [some, all] = [failed, events].map(count);
  const of = what === undefined ? all : `${all} ${events === 1 ? what.replace(/s$/, "") : what}`;
  return events === 0 ? "none" : `${some} of ${of} (${share(failed, events)})`;
}

function minutes(ms: number): number {
  return Math.max(1, Math.round(ms / 60_000));
}
