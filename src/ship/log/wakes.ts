/** Which appends wake the watch: what begins is to be told within two minutes of its threshold. */
import { type FailingRule, fails, ruleOf } from "../../base/failing-setting.ts";
import { errorText, log } from "../../base/logger.ts";
import { platform, within } from "../../base/platform.ts";
import { readFunctionFailing, readLogShards } from "../../config.ts";
import type { CountedPart } from "./counted.ts";
import type { Counts } from "./function-days.ts";
import { invocations } from "./function-health.ts";
import { type FunctionSlots, SLOT_MS, type Slot } from "./health-slots.ts";

/** Slots by which a function fails, the one that is under way included: 10 to 15 minutes. */
export const SLOTS_SEEN = 3;

/** Least time between two calls of the watch, in ms. */
export const WAKE_EVERY_MS = 60_000;

/** Least time between two looks at what fails, in ms: each reads what is gathered. */
export const ASK_EVERY_MS = 5_000;

/** Functions that are compared between two looks. The cron sees those beyond. */
const FRESH_MAX = 400;

/** Deadline of the call, in ms. Nothing waits for it but the platform. */
const WAKE_MS = 2_000;

/** The sum of the slots by which a function fails. */
export function seenOf(slots: readonly Slot[], nowMs: number): Counts {
  return sumOf(slots.filter(({ slot }) => slot > Math.floor(nowMs / SLOT_MS) - SLOTS_SEEN));
}

export function sumOf(all: readonly Counts[]): Counts {
  const sum = (of: keyof Counts): number => all.reduce((before, each) => before + each[of], 0);
  return { events: sum("events"), failed: sum("failed") };
}

/** Whether it fails by its rule, and did not without what came last. */
export function crosses(rule: FailingRule, after: Counts, last: Counts): boolean {
  const before = { events: after.events - last.events, failed: after.failed - last.failed };
  return fails(rule, after) && !fails(rule, before);
}

/**
 * Wakes the watch. It only remembers what came since its last look: without failures it asks
 * nothing, and however much fails, it calls once a minute at most. What it misses, as when its
 * object ends in between, the cron finds.
 */
export class Waker {
  readonly #env: Pick<Env, "WATCH">;
  readonly #failing: (nowMs: number) => readonly FunctionSlots[];
  /** Of functions that failed since the last look. */
  readonly #fresh = new Map<string, Counts>();
  #askedMs = Number.NEGATIVE_INFINITY;
  #wokenMs = Number.NEGATIVE_INFINITY;
  #isDue = false;

  /** @param failing what failed in the last hour, here. */
  constructor(env: Pick<Env, "WATCH">, failing: (nowMs: number) => readonly FunctionSlots[]) {
    this.#env = env;
    this.#failing = failing;
  }

  /**
   * After an append. Never throws.
   * @param isDue whether it crossed another threshold, that of a search.
   * @returns the call, where it makes one; null: it makes none.
   */
  appended(counted: readonly CountedPart[], isDue = false): Promise<void> | null {
    try {
      this.#note(counted);
      const nowMs = platform.now();
      if (this.#fresh.size > 0 && Math.abs(nowMs - this.#askedMs) >= ASK_EVERY_MS) {
        this.#askedMs = nowMs;
        this.#isDue ||= this.#hasCrossed(nowMs);
        this.#fresh.clear();
      }
      this.#isDue ||= isDue;
      if (!this.#isDue || Math.abs(nowMs - this.#wokenMs) < WAKE_EVERY_MS) return null;
      this.#isDue = false;
      this.#wokenMs = nowMs;
      return wakeWatch(this.#env);
    } catch (error) {
      log.warn("the watch is not woken", { error: errorText(error) });
      return null;
    }
  }

  #note(counted: readonly CountedPart[]): void {
    for (const { source = "", functions } of counted)
      for (const { scriptName, health } of functions) {
        if (scriptName === null || health === undefined || health.failed === 0) continue;
        const key = keyOf({ scriptName, source });
        const before = this.#fresh.get(key);
        if (before === undefined && this.#fresh.size >= FRESH_MAX) continue;
        const own = { events: invocations(health), failed: health.failed };
        this.#fresh.set(key, before === undefined ? own : sumOf([before, own]));
      }
  }

  #hasCrossed(nowMs: number): boolean {
    const [rules, shards] = [readFunctionFailing(this.#env), readLogShards(this.#env) ?? 1];
    return this.#failing(nowMs).some((each) => {
      const rule = ruleOf(rules, each.scriptName);
      const last = this.#fresh.get(keyOf(each));
      if (rule === null || last === undefined) return false;
      // Of several shards, one has its share of them at least.
      return crosses({ ...rule, least: Math.ceil(rule.least / shards) }, seenOf(each.slots, nowMs), last);
    });
  }
}

function keyOf({ scriptName, source }: Omit<FunctionSlots, "slots">): string {
  return JSON.stringify([scriptName, source]);
}

/** Has the watch check soon. Never rejects. */
export async function wakeWatch({ WATCH }: Pick<Env, "WATCH">): Promise<void> {
  try {
    const looks = WATCH.getByName("watch").look();
    const woken = looks.then(() => "woken" as const);
    if ((await within(WAKE_MS, woken, "late")) === "late") log.warn("the watch is late to wake");
  } catch (error) {
    log.warn("the watch is not woken", { error: errorText(error) });
  }
}
