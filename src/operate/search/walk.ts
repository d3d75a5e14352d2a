import { type Platform, within } from "../../base/platform.ts";
import type { Pieces } from "../../base/streams.ts";
import { ReadFault } from "../../ship/destinations/read-object.ts";
import type { SearchSpan } from "../../ship/reader/searchable.ts";
import type { BatchPlace, Cursor, Done } from "./cursor.ts";
import { comparePlaces, type Place } from "./hits.ts";
import type { LookUp } from "./look-up.ts";
import type { CompiledQuery } from "./query.ts";
import { type Match, scan } from "./scan.ts";
import { type Known, keyOf, type Source } from "./source.ts";

/** What there is to search. */
export interface Sources {
  list: readonly Source[];
  /** What is named as not searched, and needs not be listed again. */
  unsearchable?: readonly Known[];
  /** Absent: nothing is known of what they hold. */
  lookUp?: LookUp;
  /** Of manifests, that were read to list them. */
  indexBytes?: number;
  /**
   * Beyond this time, in ms since the epoch, not all are listed: newest first, those whose last
   * event is not later; oldest first, those whose first is not earlier. null: all are.
   */
  listedToMs: number | null;
}

export interface WalkBounds {
  /** After so much, in bytes before compression, or so long, no other object is begun. */
  rawBytes: number;
  ms: number;
  /** Objects that are read side by side. */
  atOnce: number;
  /** Objects whose sketches are asked at once, when the search reaches them; for tests. */
  lookAhead?: number;
}

/** So far. */
export interface Progress {
  /** Objects with records of that time, and of these: */
  objects: number;
  read: number;
  /** Not read, as their sketch says that they hold no match. */
  skipped: number;
  /** Of sketches, and of manifests, that were read. */
  sketchBytes: number;
  /** As stored. */
  bytesRead: number;
  records: number;
  /** Every match on this side of it was told, in ms since the epoch; null: none yet. */
  reachedMs: number | null;
}

/** What was not searched, though the question covers it. */
export interface NotSearched {
  /** null: what `why` says by itself. */
  job: number | null;
  /** Number of the object; null: it had none yet. */
  object: number | null;
  why: string;
}

/** How a page ended. */
export interface WalkEnd {
  progress: Progress;
  /** null: there is nothing more. */
  cursor: Cursor | null;
  notSearched: NotSearched[];
}

export interface WalkAsked {
  query: CompiledQuery;
  order: SearchSpan["order"];
  /** Of the page before; null: this is the first. */
  cursor: Cursor | null;
  bounds: WalkBounds;
  /** Fields of records that are looked at; null, or absent: any. */
  fields?: ReadonlySet<string> | null;
  /** The client is gone: nothing more is read. */
  signal: AbortSignal;
  platform: Pick<Platform, "now">;
}

/** What becomes of the matches of an object. */
export interface Reading {
  found(match: Match): void;
  /** The object was read to its end. */
  keep(): void;
  /** It turned out to be none: its matches are not. It may be read anew. */
  drop(): void;
}

/** As of {@link WalkBounds.lookAhead}. */
export const LOOK_MAX = 1_000;

/** How often progress is told at least, in ms. */
const TELL_MS = 1_000;

/** How long one object may take, in ms: its store may send a byte now and then. */
const OBJECT_MS = 60_000;

/** How often what waits in its reader is read, where it goes while it is read. */
const HELD_TRIES = 3;

/**
 * After so many objects in a row that a job's store did not give, it is asked for no more of them:
 * each may take as long as the store may be silent.
 */
const REFUSALS_MAX = 3;

/**
 * Reads the objects of one page, the newest or oldest first by their last (first) event, some side
 * by side. Sketches are asked for some objects ahead, so that the first match waits for those
 * alone. What becomes of the matches is another matter: see `begin`.
 */
export abstract class Walk {
  readonly #asked: WalkAsked;
  protected readonly sources: Sources;
  /** The end of the page before. */
  protected readonly before: Cursor;
  readonly #doneBefore: ReadonlyMap<string, Place | null>;
  /** In the order in which they are read. */
  readonly #unread: Source[];
  /** So many of the first of them may hold a match, as far as their sketches say. */
  #lookedUp = 0;
  #looking: Promise<void> | null = null;
  /** Nothing of them is read. */
  protected readonly out: Known[];
  readonly #underWay = new Set<Source>();
  /** With the last place of each that was told on this page; those that could not be read, too. */
  protected readonly read = new Map<string, { batch: BatchPlace; told: Place | null; isFailed: boolean }>();
  protected readonly progress: Progress;
  /** Objects in a row, by job, that its store did not give, though they may be there. */
  readonly #refusals = new Map<number, number>();
  readonly #notSearched: NotSearched[] = [];
  readonly #startedMs: number;
  /** Of all that was begun, before compression. */
  #rawBytes = 0;
  #begun = 0;
  #toldMs: number;

  constructor(sources: Sources, asked: WalkAsked) {
    this.sources = sources;
    this.#asked = asked;
    const { order, cursor } = asked;
    this.before = cursor ?? { after: null, done: [] };
    this.#doneBefore = new Map(this.before.done.map(([batch, upTo]) => [batch.join(), upTo]));
    const left = sources.list.filter(
      (source) => !this.#isPast(source, this.before.after) && this.#doneBefore.get(keyOf(source)) !== null,
    );
    this.#unread = left.sort((a, b) => comparePlaces(this.edge(a), this.edge(b), order));
    this.out = [...(sources.unsearchable ?? [])];
    this.progress = {
      objects: left.length,
      read: 0,
      skipped: 0,
      sketchBytes: sources.indexBytes ?? 0,
      bytesRead: 0,
      records: 0,
      reachedMs: null,
    };
    this.#startedMs = asked.platform.now();
    this.#toldMs = this.#startedMs;
  }

  /** What becomes of the matches of this object. */
  protected abstract begin(source: Source): Reading;
  /** Whether no match of this object, and of those after it, is wanted on this page. */
  protected abstract isFull(source: Source): boolean;
  /** Fewer objects are unread. */
  protected abstract advanced(): void;
  /** Tells what is left, and says where the next page begins; null: there is none. */
  protected abstract finish(): Cursor | null;
  protected abstract tellProgress(progress: Progress): void;

  async run(): Promise<WalkEnd> {
    this.#tell();
    const works = Promise.all(Array.from({ length: this.#asked.bounds.atOnce }, () => this.#work())).then(() => true);
    while (!(await within(TELL_MS, works, false))) this.#tell();
    const cursor = this.finish();
    return { progress: { ...this.progress }, cursor, notSearched: this.#notSearched };
  }

  /** Of an object that was answered in part: up to which place; null: nothing was. */
  protected doneUpTo(source: Source): Place | null {
    return this.#doneBefore.get(keyOf(source)) ?? null;
  }

  async #work(): Promise<void> {
    for (;;) {
      const source = this.#unread[0];
      if (source === undefined || this.#isEnough(source)) return;
      if (this.#lookedUp === 0 && this.#mayLook()) {
        this.#looking ??= this.#lookAhead();
        await this.#looking;
        continue;
      }
      this.#unread.shift();
      this.#lookedUp = Math.max(0, this.#lookedUp - 1);
      this.#underWay.add(source);
      await this.#readOne(source);
      this.#underWay.delete(source);
      this.advanced();
      this.#tellInTime();
    }
  }

  /** Too late, the next object is read without: this page gets on, whatever its sketches say. */
  #mayLook(): boolean {
    return this.sources.lookUp !== undefined && !this.#isLate;
  }

  get #isLate(): boolean {
    return this.#asked.platform.now() - this.#startedMs >= this.#asked.bounds.ms;
  }

  /** Takes the next objects out that cannot hold a match. Nothing is begun meanwhile. */
  async #lookAhead(): Promise<void> {
    const next = this.#unread.slice(0, this.#asked.bounds.lookAhead ?? LOOK_MAX);
    const { out, bytes } = (await this.sources.lookUp?.(next)) ?? { out: new Set(), bytes: 0 };
    const left = next.filter((source) => !out.has(source));
    this.#unread.splice(0, next.length, ...left);
    this.out.push(...out);
    this.#lookedUp = left.length;
    this.progress.skipped += out.size;
    this.progress.sketchBytes += bytes;
    this.#looking = null;
    this.advanced();
    this.#tellInTime();
  }

  /** Whether this source, and all after it, are left to another page. */
  #isEnough(source: Source): boolean {
    const { bounds, signal } = this.#asked;
    if (this.isFull(source) || signal.aborted) return true;
    // One is read in any case, so that every page gets on.
    if (this.#begun === 0) return false;
    return this.#rawBytes >= bounds.rawBytes || this.#isLate;
  }

  async #readOne(source: Source): Promise<void> {
    const { job } = source;
    const { query, signal, platform, fields = null } = this.#asked;
    const untilMs = platform.now() + OBJECT_MS;
    this.#begun += 1;
    if (!source.isHeld && (this.#refusals.get(job) ?? 0) >= REFUSALS_MAX)
      return this.#fail(source, "skipped, because the store had refused the previous ones");
    this.#rawBytes += source.rawBytes;
    for (let tries = source.isHeld ? HELD_TRIES : 1; ; tries--) {
      const reading = this.begin(source);
      try {
        const content = await source.open((bytes) => {
          this.progress.bytesRead += bytes;
          if (signal.aborted) throw new ReadFault("silent", "the answer is not wanted any more");
          if (platform.now() > untilMs) throw new ReadFault("silent", "it takes too long to read");
        }, fields);
        const { bytes, records, unreadable } = await scan(this.#whileWanted(content), query, reading.found);
        // Of some fields, it is less.
        if (!source.isHeld) this.#rawBytes += bytes - source.rawBytes;
        this.progress.records += records;
        this.progress.read += 1;
        if (unreadable > 0) this.#leave(source, `${unreadable} of its lines are not JSON records`);
        this.#end(source, false);
        reading.keep();
        if (!source.isHeld) this.#refusals.set(job, 0);
        return;
      } catch (error) {
        if (!(error instanceof ReadFault)) throw error;
        reading.drop();
        if (tries > 1) continue;
        if (error.kind !== "gone" && error.kind !== "damaged")
          this.#refusals.set(job, (this.#refusals.get(job) ?? 0) + 1);
        return this.#fail(source, error.message);
      }
    }
  }

  #fail(source: Source, why: string): void {
    this.#leave(source, why);
    this.#end(source, true);
  }

  #end(source: Source, isFailed: boolean): void {
    const { job, node, batch } = source;
    this.read.set(keyOf(source), { batch: [job, node, batch], told: null, isFailed });
  }

  async *#whileWanted(content: Pieces): Pieces {
    try {
      for await (const piece of content) {
        if (this.#asked.signal.aborted) return;
        yield piece;
      }
    } finally {
      content.return().catch(() => {});
    }
  }

  #leave({ job, number }: Source, why: string): void {
    this.#notSearched.push({ job, object: number, why });
  }

  /** No unread match comes before this place; null: nothing is unread. */
  protected frontier(): Place | null {
    const edges = [...this.#underWay, ...this.#unread.slice(0, 1)].map((source) => this.edge(source));
    const { listedToMs } = this.sources;
    if (listedToMs !== null) edges.push([listedToMs, -1, -1, -1, -1]);
    return edges.sort((a, b) => comparePlaces(a, b, this.#asked.order))[0] ?? null;
  }

  /** Without the objects of which a page after this place reads nothing anyway, whatever comes. */
  protected stillNeeded(done: Cursor["done"], after: Place | null): Cursor["done"] {
    const { list, unsearchable = [] } = this.sources;
    const ends = new Map([...list, ...unsearchable].map((known) => [keyOf(known), this.#endOf(known)]));
    return done
      .map(([batch, upTo, endMs]): Done => [batch, upTo, endMs ?? ends.get(batch.join()) ?? null])
      .filter(([, , endMs]) => endMs === null || !this.#isBefore(endMs, after));
  }

  /** The time of the last hit that an object can have; null: it may get records of any time. */
  #endOf({ number, firstMs, lastMs }: Known): number | null {
    if (number === null) return null;
    return this.#asked.order === "newest" ? firstMs : lastMs;
  }

  #isBefore(timeMs: number, place: Place | null): boolean {
    if (place === null) return false;
    return this.#asked.order === "newest" ? timeMs > place[0] : timeMs < place[0];
  }

  #tell(): void {
    this.#toldMs = this.#asked.platform.now();
    this.tellProgress({ ...this.progress });
  }

  #tellInTime(): void {
    if (this.#asked.platform.now() - this.#toldMs >= TELL_MS) this.#tell();
  }

  /** Whether every hit that it can have comes before this place. */
  #isPast({ firstMs, lastMs }: Source, place: Place | null): boolean {
    return this.#isBefore(this.#asked.order === "newest" ? firstMs : lastMs, place);
  }

  /** No hit of it comes before this place. */
  protected edge({ job, node, batch, firstMs, lastMs }: Source): Place {
    return [this.#asked.order === "newest" ? lastMs : firstMs, job, node, batch, 0];
  }
}
