/** Which appends wake the watch: what begins is to be told within two minutes of its threshold. */
import { type FailingRule, fails, ruleOf } from "../../base/failing-setting.ts";
import { errorText, log } from "../../base/logger.ts";
import { platform, within } from "../../base/platform.ts";
import { readFunctionFailing, readLogShards } from "../../config.ts";
import type { CountedPart } from "./counted.ts";
import type { Counts } from "./function-days.ts";
import { invocations } from "./function-health.ts";
import { keyOf, ofKey } from "./health-keys.ts";
import { type Slot, slotOf } from "./health-slots.ts";

/** Slots by which a function fails, the one that is under way included: 10 to 15 minutes. */
export const SLOTS_SEEN = 3;

/**
 * Least time between two looks at what fails, or calls of the watch, in ms. What comes sooner is
 * looked at when it is over, though nothing else comes.
 */
export const ASK_EVERY_MS = 5_000;

/** Functions that are compared between two looks. The cron sees those beyond. */
const FRESH_MAX = 400;

/** Deadline of the call, in ms. Nothing waits for it but the platform. */
const WAKE_MS = 2_000;

/** The sum of the slots by which a function fails. */
export function seenOf(slots: readonly Slot[], nowMs: number): Counts {
  return sumOf(slots.filter(({ slot }) => slot >= firstSeen(nowMs)));
}

/** The first of those slots. */
export function firstSeen(nowMs: number): number {
  return slotOf(nowMs) - SLOTS_SEEN + 1;
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
 * Wakes the watch, which limits how often it checks. It only remembers what came since its last
 * look: without failures it asks nothing. What it misses, as when its object ends in between, the
 * cron finds.
 */
export class Waker {
  readonly #env: Pick<Env, "WATCH">;
  readonly #counts: (since: number) => ReadonlyMap<string, Counts>;
  /** Of functions that failed since the last look, by key. */
  readonly #fresh = new Map<string, Counts>();
  #askedMs = Number.NEGATIVE_INFINITY;
  #isDue = false;
  /** A look is to come. */
  #isWaiting = false;

  /** @param counts of functions here since the beginning of a slot, by key without a version. */
  constructor(env: Pick<Env, "WATCH">, counts: (since: number) => ReadonlyMap<string, Counts> = () => new Map()) {
    this.#env = env;
    this.#counts = counts;
  }

  /**
   * After an append. Never throws.
   * @param isDue whether something else begins of which the watch is to know.
   * @returns the look, which never rejects; null: it makes none, or one is to come.
   */
  appended(counted: readonly CountedPart[], isDue = false): Promise<void> | null {
    this.#note(counted);
    this.#isDue ||= isDue;
    if (this.#isWaiting || (this.#fresh.size === 0 && !this.#isDue)) return null;
    const restMs = this.#askedMs + ASK_EVERY_MS - platform.now();
    if (restMs <= 0 || restMs > ASK_EVERY_MS) return this.#look();
    this.#isWaiting = true;
    return platform.sleep(restMs).then(() => {
      this.#isWaiting = false;
      return this.#look() ?? undefined;
    });
  }

  #look(): Promise<void> | null {
    try {
      this.#askedMs = platform.now();
      const isDue = this.#isDue || this.#hasCrossed(this.#askedMs);
      this.#isDue = false;
      this.#fresh.clear();
      return isDue ? wakeWatch(this.#env) : null;
    } catch (error) {
      log.warn("the watch is not woken", { error: errorText(error) });
      return null;
    }
  }

  #note(counted: readonly CountedPart[]): void {
    for (const { source = "", functions } of counted)
      for (const { scriptName, health } of functions) {
        if (scriptName === null || health === undefined || health.failed === 0) continue;
        const key = keyOf({ scriptName, source, version: "" });
        const before = this.#fresh.get(key);
        if (before === undefined && this.#fresh.size >= FRESH_MAX) continue;
        const own = { events: invocations(health), failed: health.failed };
        this.#fresh.set(key, before === undefined ? own : sumOf([before, own]));
      }
  }

  #hasCrossed(nowMs: number): boolean {
    const [rules, shards] = [readFunctionFailing(this.#env), readLogShards(this.#env) ?? 1];
    const counts = this.#counts(firstSeen(nowMs));
    return [...this.#fresh].some(([key, last]) => {
      const [rule, seen] = [ruleOf(rules, ofKey(key).scriptName), counts.get(key)];
      if (rule === null || seen === undefined) return false;
      // Of several shards, one has its share of them at least.
      return crosses({ ...rule, least: Math.ceil(rule.least / shards) }, seen, last);
    });
  }
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
