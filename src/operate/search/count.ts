import { FACET_WEIGHT, type Facet, OBJECT_FACET_WEIGHT, ValueCounts } from "./count/facets.ts";
import { COUNT_BOUNDS, type GroupBounds, Groups, type Rest, type Row } from "./count/groups.ts";
import { type CountPlan, countedFields } from "./count/plan.ts";
import { CountedOnce } from "./counted-once.ts";
import type { Cursor } from "./cursor.ts";
import { comparePlaces } from "./hits.ts";
import type { Progress, Reading, Sources, WalkAsked, WalkEnd } from "./page.ts";
import { Walk } from "./walk.ts";

/** Groups of one object, until all of it is read. */
const OBJECT_BOUNDS: GroupBounds = { groups: COUNT_BOUNDS.groups, weight: 2_000_000 };

export interface CountAsked extends Omit<WalkAsked, "fields"> {
  plan: CountPlan;
  /** Groups of an answer that is the whole count; others have all, so that they can be merged. */
  top: number;
}

export interface CountListener {
  /** The groups so far, instead of those that were told before. */
  groups(rows: readonly Row[], facets: readonly Facet[], reachedMs: number | null, isLast: boolean): void;
  progress(progress: Progress): void;
}

/** What the rows do not say. */
export interface Unlisted {
  /** The sum of the groups that they lack; null: none. */
  other: Rest | null;
  /** Some of it may be of groups that they have. */
  overflow: boolean;
}

export interface CountEnd extends WalkEnd {
  unlisted: Unlisted;
}

/**
 * Counts records instead of telling them: of each object all or none, so that the pages of a count
 * have each record once. What is added to an open batch after it was counted is left out. A record
 * that several jobs shipped is counted as the first of them has it, in their order for this count.
 */
export async function count(sources: Sources, asked: CountAsked, listener: CountListener): Promise<CountEnd> {
  return new Count(sources, asked, listener).runAll();
}

class Count extends Walk<CountedOnce> {
  readonly #asked: CountAsked;
  readonly #listener: CountListener;
  readonly #groups: Groups;
  readonly #facets: readonly ValueCounts[];
  #isTold = true;

  constructor(sources: Sources, asked: CountAsked, listener: CountListener) {
    const { query, plan } = asked;
    super(sources, { ...asked, fields: countedFields(plan, query.fields) }, CountedOnce);
    this.#asked = asked;
    this.#listener = listener;
    this.#groups = new Groups(asked.plan.shape);
    this.#facets = plan.facets.map(() => new ValueCounts(FACET_WEIGHT));
  }

  async runAll(): Promise<CountEnd> {
    const end = await this.run();
    const isPart = end.cursor !== null || this.#asked.cursor !== null;
    const { rows, other } = this.#groups.answer(isPart ? null : this.#asked.top, isPart);
    const atMs = end.cursor === null ? null : end.progress.reachedMs;
    this.#listener.groups(rows, this.#facetsOf(isPart ? null : this.#asked.top), atMs, true);
    return { ...end, unlisted: { other, overflow: this.#groups.overflows } };
  }

  #facetsOf(top: number | null): Facet[] {
    return this.#asked.plan.facets.map(({ name }, i) => (this.#facets[i] as ValueCounts).answer(name, top));
  }

  protected override begin(): Reading {
    const { plan } = this.#asked;
    const groups = new Groups(plan.shape, OBJECT_BOUNDS);
    const facets = plan.facets.map((facet) => ({ ...facet, counts: new ValueCounts(OBJECT_FACET_WEIGHT) }));
    return {
      found: ({ record, timeMs }) => {
        // It came since its page, and others that may have it are not listed any more.
        if (this.copies !== null && timeMs !== null && this.isBefore(timeMs, this.before.after)) return;
        groups.add(plan.keyOf(record, timeMs), plan.valuesOf(record));
        for (const { valuesOf, counts } of facets) for (const value of valuesOf(record)) counts.add(value);
      },
      keep: () => {
        this.#groups.merge(groups);
        for (const [i, { counts }] of facets.entries()) this.#facets[i]?.merge(counts);
        this.#isTold = false;
      },
      drop: () => {},
    };
  }

  protected override isFull(): boolean {
    return this.isBegun && (this.isOver() || this.copies?.isSpent === true);
  }

  protected override advanced(): void {
    const frontier = this.frontier();
    if (frontier !== null) this.progress.reachedMs = frontier[0];
  }

  protected override tellProgress(progress: Progress): void {
    if (!this.#isTold) {
      const { top } = this.#asked;
      this.#listener.groups(this.#groups.answer(top, false).rows, this.#facetsOf(top), this.progress.reachedMs, false);
    }
    this.#isTold = true;
    this.#listener.progress(progress);
  }

  protected override finish(): Cursor | null {
    const frontier = this.frontier();
    if (frontier === null) return null;
    const done = new Map(this.before.done.map((entry) => [entry[0].join(), entry]));
    // Nothing of it is counted: as if it could not be read.
    for (const { job, node, batch, number } of this.out)
      if (number !== null) done.set([job, node, batch].join(), [[job, node, batch], null, null, true]);
    for (const [key, { batch, isFailed }] of this.read)
      done.set(key, isFailed ? [batch, null, null, true] : [batch, null, null]);
    // What is open moves: without this, what is before the place would be listed once more.
    const { after: before } = this.before;
    const after = before !== null && comparePlaces(before, frontier, this.#asked.order) > 0 ? before : frontier;
    return { after, done: this.stillNeeded([...done.values()], after) };
  }
}
