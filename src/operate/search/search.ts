import type { Cursor } from "./cursor.ts";
import { comparePlaces, FirstHits, type Hit, type Place } from "./hits.ts";
import { Merged } from "./merged.ts";
import type { Progress, Reading, Sources, WalkAsked, WalkBounds, WalkEnd } from "./page.ts";
import type { Match } from "./scan.ts";
import { wholeOf } from "./share.ts";
import type { Source } from "./source.ts";
import { Walk } from "./walk.ts";

export interface Bounds extends WalkBounds {
  /** Hits of one answer. */
  limit: number;
  /** Their records, in UTF-16 units; one is answered in any case. */
  hitUnits: number;
}

export interface Listener {
  hits(hits: readonly Hit[]): void;
  progress(progress: Progress): void;
}

export interface Asked extends WalkAsked {
  bounds: Bounds;
}

/**
 * Searches objects. Hits are told in the order of their events, overlapping objects interleaved, as
 * soon as no object that is not read can hold an earlier one. Where a bound ends the search before,
 * hits are told all the same, and the cursor names the objects that are done; so the pages of a
 * search have each hit once, and those of one page are in order.
 *
 * Of several jobs, a record is told once, with its copies, when all objects of its moment are read;
 * nothing beyond the cursor is told, and so no page needs to know what those before it had.
 */
export async function search(sources: Sources, asked: Asked, listener: Listener): Promise<WalkEnd> {
  return new Search(sources, asked, listener).run();
}

/** Where copies are merged, a page may take so many times what bounds it, until it gets on. */
const LONGER = 2;

class Search extends Walk<Merged> {
  readonly #asked: Asked;
  readonly #listener: Listener;
  readonly #hits: FirstHits;
  /** What is told goes out in order. */
  #telling: Promise<void> = Promise.resolve();
  /** Every hit up to here was told. */
  #last: Place | null;

  constructor(sources: Sources, asked: Asked, listener: Listener) {
    super(sources, asked, Merged);
    this.#asked = asked;
    this.#listener = listener;
    const { order, bounds } = asked;
    this.#hits = new FirstHits(order, bounds.limit, bounds.hitUnits);
    this.#last = this.before.after;
  }

  override async run(): Promise<WalkEnd> {
    const end = await super.run();
    await this.#telling;
    return { ...end, progress: { ...this.progress } };
  }

  protected override tellProgress(progress: Progress): void {
    this.#listener.progress(progress);
  }

  protected override isFull(source: Source): boolean {
    const { droppedFrom } = this.#hits;
    if (droppedFrom !== null && comparePlaces(this.edge(source), droppedFrom, this.#asked.order) > 0) return true;
    const isFurther = this.copies === null || this.isBefore(this.startMs, this.edge(source));
    return this.isBegun && this.isOver(isFurther ? 1 : LONGER);
  }

  protected override begin(source: Source): Reading {
    const { job, node, batch, number } = source;
    const { firstMs, lastMs } = wholeOf(source);
    const { order } = this.#asked;
    const upTo = this.doneUpTo(source);
    const worth = this.copies?.worthOf(source) ?? 0;
    // Records without a time come last of their object's: what is added to it moves them on alone.
    const untimedMs = order === "newest" ? firstMs : lastMs;
    return {
      found: ({ line, json, timeMs }: Match, record) => {
        const place: Place = [timeMs ?? untimedMs, job, node, batch, line, record];
        // Before the last hit stands only what was told, or has come since this page was listed.
        if (this.#last !== null && comparePlaces(place, this.#last, order) <= 0) return;
        const isTold = timeMs === null ? line <= (upTo?.[4] ?? 0) : upTo && comparePlaces(place, upTo, order) <= 0;
        if (!isTold) this.#hits.add({ place, object: number, json, worth, alsoIn: [] });
      },
      keep: () => {},
      drop: () => this.#hits.drop((place) => place[1] === job && place[2] === node && place[3] === batch),
    };
  }

  /** Tells the hits that nothing unread can come before. */
  protected override advanced(): void {
    const frontier = this.frontier();
    this.#tellHits(this.#hits.take(frontier));
    if (frontier === null) return;
    const reach = (): void => {
      this.progress.reachedMs = frontier[0];
    };
    if (this.copies === null) reach();
    else this.#telling = this.#telling.then(reach);
  }

  #tellHits(hits: readonly Hit[]): void {
    if (hits.length === 0) return;
    const { copies } = this;
    if (copies === null) this.#listener.hits(hits);
    else this.#telling = this.#telling.then(async () => this.#listener.hits(await copies.withJobs(hits)));
    for (const { place } of hits) {
      const read = this.read.get(place.slice(1, 4).join());
      if (read !== undefined) read.told = place;
    }
    this.#last = (hits.at(-1) as Hit).place;
  }

  /** Tells what is left, and says where the next page begins; null: there is none. */
  protected override finish(): Cursor | null {
    const { droppedFrom } = this.#hits;
    const { order } = this.#asked;
    const frontier = this.frontier();
    const done = new Map(this.before.done.map((entry) => [entry[0].join(), entry]));
    for (const { job, node, batch, number } of this.out)
      if (number !== null) done.set([job, node, batch].join(), [[job, node, batch], null, null]);
    // Where hits of it took the place of others before it failed, a page that read it again would
    // end where this one did.
    for (const [key, { batch, isFailed }] of this.read) if (isFailed) done.set(key, [batch, null, null, true]);
    if (frontier === null || (droppedFrom !== null && comparePlaces(frontier, droppedFrom, order) > 0)) {
      this.#tellHits(this.#hits.take(null));
      if (droppedFrom === null) return null;
      // What is open may get records that move its others, told ones too.
      for (const { job, node, batch, number } of this.sources.list) {
        const told = this.read.get([job, node, batch].join())?.told ?? null;
        if (number === null && told !== null) done.set([job, node, batch].join(), [[job, node, batch], told, null]);
      }
      return { after: this.#last, done: this.stillNeeded([...done.values()], this.#last) };
    }
    this.#tellHits(this.#hits.take(frontier));
    const after = this.#last !== null && comparePlaces(this.#last, frontier, order) > 0 ? this.#last : frontier;
    // What is beyond may have copies in what is not read.
    if (this.copies !== null) return { after, done: this.stillNeeded([...done.values()], after) };
    // What was found beyond it is told, too: not all that it was found in could be read again.
    this.#tellHits(this.#hits.take(null));
    for (const [key, { batch, told, isFailed }] of this.read) {
      if (isFailed) continue;
      // Of hits that were dropped it is not known which object had them.
      if (droppedFrom === null) done.set(key, [batch, null, null]);
      else if (told !== null) done.set(key, [batch, told, null]);
    }
    return { after, done: this.stillNeeded([...done.values()], after) };
  }
}
