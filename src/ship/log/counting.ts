import { type CountedPart, functionCounts } from "./counted.ts";
import { FunctionHours } from "./function-hours.ts";
import { HealthSlots } from "./health-slots.ts";
import type { JobsCopy } from "./jobs-copy.ts";
import { LastHour } from "./last-hour.ts";
import { Problems } from "./problems.ts";
import { type AddedSearches, SearchCounts } from "./search-counts.ts";
import { SentPlaces } from "./sent-places.ts";
import { type Changed, Totals } from "./totals.ts";
import { Waker } from "./wakes.ts";

/** What an append counts: parts that are new, and what saved searches match of them. */
export interface NewParts {
  parts: readonly CountedPart[];
  searched: AddedSearches;
}

/**
 * All that a shard counts of events: each count in the transaction that decides that a part is new,
 * and all of them in the one row that it writes anyway.
 */
export class Counting {
  readonly totals: Totals;
  readonly functions: FunctionHours;
  readonly health: HealthSlots;
  readonly lastHour: LastHour;
  readonly searches: SearchCounts;
  readonly problems: Problems;
  readonly sent: SentPlaces;
  readonly #waker: Waker;
  readonly #jobs: JobsCopy;

  constructor(sql: SqlStorage, jobs: JobsCopy, env: Pick<Env, "WATCH">) {
    this.totals = new Totals(sql);
    this.functions = new FunctionHours(sql);
    this.health = new HealthSlots(sql);
    this.lastHour = new LastHour(this.health);
    this.searches = new SearchCounts(sql);
    this.problems = new Problems(sql);
    this.sent = new SentPlaces(sql);
    this.#jobs = jobs;
    this.#waker = new Waker(env, (since) => this.health.counts(since));
  }

  /** To be called when the shard starts, before it counts. */
  begin(nowMs: number): void {
    this.health.takeEarlier();
    this.searches.begin(nowMs);
  }

  /** To be called when a transaction failed: what is held in memory is read again. */
  load(): void {
    this.health.load();
    this.problems.load();
    this.searches.load();
  }

  /** @returns whether a saved search may have passed its threshold, or a problem is new here. */
  add(
    { parts, searched }: NewParts,
    changed: Pick<Changed, "queue" | "work" | "readers" | "lastBlock" | "keptSinceMs">,
    nowMs: number,
  ): boolean {
    const { text: searches, hasCrossed } = this.searches.add(this.#jobs.all(), parts, searched, nowMs);
    const slots = this.health.add(parts, nowMs);
    const problems = this.problems.add(parts, nowMs);
    const hour = this.functions.add(functionCounts(parts, nowMs), nowMs);
    this.totals.add(parts, { ...changed, searches, slots, problems, hour }, nowMs);
    return hasCrossed || this.problems.hasNew;
  }

  /** As {@link Waker.appended}. */
  added({ parts }: NewParts, hasCrossed: boolean): Promise<void> | null {
    return this.#waker.appended(parts, hasCrossed);
  }

  /** Forgets a function's name. Its counts stay in the sum. */
  forget(scriptName: string, nowMs: number): void {
    this.functions.forget(scriptName);
    this.health.forget(scriptName, nowMs);
    this.problems.forget(scriptName);
  }

  /** Forgets old counts. @param newestMs of what was counted: a clock may have leapt ahead. */
  sweep(nowMs: number, newestMs: number): void {
    this.functions.sweep(nowMs);
    this.health.sweep(newestMs);
    this.sent.sweep(nowMs);
  }
}
