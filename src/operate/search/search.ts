import { type Platform, within } from "../../base/platform.ts";
import type { Pieces } from "../../base/streams.ts";
import { Identities } from "../../formats/sketch/identities.ts";
import { ReadFault } from "../../ship/destinations/read-object.ts";
import type { SearchSpan } from "../../ship/reader/searchable.ts";
import { Copies, isIn, type Share, wholeOf } from "./copies.ts";
import type { BatchPlace, Cursor, Done } from "./cursor.ts";
import { comparePlaces, FirstHits, type Hit, type Place } from "./hits.ts";
import type { Identify } from "./identify.ts";
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
  /** Absent: nothing is known of which records they have. */
  identify?: Identify;
  /** Jobs, the broadest first; absent: by number. */
  order?: readonly number[];
  /** The time for which they are listed, in ms since the epoch; absent: any. */
  span?: { sinceMs: number; untilMs: number };
  /** Of manifests, that were read to list them. */
  indexBytes?: number;
  /**
   * Beyond this time, in ms since the epoch, not all are listed: newest first, those whose last
   * event is not later; oldest first, those whose first is not earlier. null: all are.
   */
  listedToMs: number | null;
}

export interface Bounds {
  /** Hits of one answer. */
  limit: number;
  /** Their records, in UTF-16 units; one is answered in any case. */
  hitUnits: number;
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
  /** Not read, as their sketch says that they hold no match, or as they are copies. */
  skipped: number;
  /** Of these, those whose records are all in objects of another job. */
  copies: number;
  /** Of sketches, and of manifests, that were read. */
  sketchBytes: number;
  /** As stored. */
  bytesRead: number;
  records: number;
  /** Every hit on this side of it was answered, in ms since the epoch; null: none yet. */
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

export interface SearchEnd {
  progress: Progress;
  /** null: there is nothing more. */
  cursor: Cursor | null;
  notSearched: NotSearched[];
}

export interface Listener {
  hits(hits: readonly Hit[]): void;
  progress(progress: Progress): void;
}

export interface Asked {
  query: CompiledQuery;
  order: SearchSpan["order"];
  /** Of the page before; null: this is the first. */
  cursor: Cursor | null;
  bounds: Bounds;
  /** The client is gone: nothing more is read. */
  signal: AbortSignal;
  platform: Pick<Platform, "now">;
}

/** As of {@link Bounds.lookAhead}. */
export const LOOK_MAX = 1_000;

/** Objects that are prepared at once for comparing their records. */
const PREPARED = 100;

/** How often progress is told at least, in ms. */
const TELL_MS = 1_000;

/** How long one object may take, in ms: its store may send a byte now and then. */
const OBJECT_MS = 60_000;

/** Where records are compared, a page may take so many times what bounds it, until it gets on. */
const LONGER = 2;

/** How often what waits in its reader is read, where it goes while it is read. */
const HELD_TRIES = 3;

/**
 * After so many objects in a row that a job's store did not give, it is asked for no more of them:
 * each may take as long as the store may be silent.
 */
const REFUSALS_MAX = 3;

/**
 * Searches objects, the newest or oldest first by their last (first) event, some side by side.
 * Sketches are asked for some objects ahead, so that the first hit waits for those alone. Hits
 * are told in the order of their events, overlapping objects interleaved, as soon as no object that
 * is not read can hold an earlier one. Where a bound ends the search before, hits are told all the
 * same, and the cursor names the objects that are done; so the pages of a search have each hit
 * once, and those of one page are in order.
 *
 * Of several jobs, a record is told once, with its copies, when all objects of its moment are read;
 * nothing beyond the cursor is told, and so no page needs to know what those before it had.
 */
export async function search(sources: Sources, asked: Asked, listener: Listener): Promise<SearchEnd> {
  return new Search(sources, asked, listener).run();
}

class Search {
  readonly #asked: Asked;
  readonly #listener: Listener;
  readonly #sources: Sources;
  /** The end of the page before. */
  readonly #before: Cursor;
  readonly #doneBefore: ReadonlyMap<string, Place | null>;
  readonly #hits: FirstHits;
  /** In the order in which they are read. */
  readonly #unread: Source[];
  /** Of these, sketches were asked. */
  readonly #lookedUp = new Set<Source>();
  #looking: Promise<void> = Promise.resolve();
  /** Of these, they say that they hold no match. */
  readonly #ruledOut = new Set<Source>();
  /** null: all is of one job. */
  readonly #copies: Copies | null;
  /** What is told goes out in order. */
  #telling: Promise<void> = Promise.resolve();
  /** Nothing of them is read. */
  readonly #out: Known[];
  readonly #underWay = new Set<Source>();
  /** With the last place of each that was told on this page; those that could not be read, too. */
  readonly #read = new Map<string, { batch: BatchPlace; told: Place | null; isFailed: boolean }>();
  readonly #progress: Progress;
  /** Objects in a row, by job, that its store did not give, though they may be there. */
  readonly #refusals = new Map<number, number>();
  readonly #notSearched: NotSearched[] = [];
  /** Named there, as their records may be those of others. */
  readonly #named = new Set<Source>();
  readonly #startedMs: number;
  /** No hit of this page comes before this time. */
  readonly #startMs: number;
  /** Of all that was begun, before compression. */
  #rawBytes = 0;
  #begun = 0;
  #toldMs: number;
  /** Every hit up to here was told. */
  #last: Place | null;

  constructor(sources: Sources, asked: Asked, listener: Listener) {
    this.#sources = sources;
    this.#asked = asked;
    this.#listener = listener;
    const { order, cursor, bounds } = asked;
    this.#before = cursor ?? { after: null, done: [] };
    this.#doneBefore = new Map(this.#before.done.map(([batch, upTo]) => [batch.join(), upTo]));
    this.#copies = this.#copiesOf(sources);
    this.#hits = new FirstHits(order, bounds.limit, bounds.hitUnits);
    const left = sources.list.filter(
      (source) => !this.#isPast(source, this.#before.after) && this.#doneBefore.get(keyOf(source)) !== null,
    );
    this.#unread = left.sort((a, b) => comparePlaces(this.#edge(a), this.#edge(b), order));
    this.#out = [...(sources.unsearchable ?? [])];
    this.#progress = {
      objects: left.length,
      read: 0,
      skipped: 0,
      copies: 0,
      sketchBytes: sources.indexBytes ?? 0,
      bytesRead: 0,
      records: 0,
      reachedMs: null,
    };
    this.#last = this.#before.after;
    const [first] = this.#unread;
    this.#startMs = this.#last?.[0] ?? (first === undefined ? 0 : this.#edge(first)[0]);
    this.#startedMs = asked.platform.now();
    this.#toldMs = this.#startedMs;
  }

  async run(): Promise<SearchEnd> {
    this.#tell();
    const works = Promise.all(Array.from({ length: this.#asked.bounds.atOnce }, () => this.#work())).then(() => true);
    while (!(await within(TELL_MS, works, false))) this.#tell();
    const cursor = this.#finish();
    await this.#telling;
    return { progress: { ...this.#progress }, cursor, notSearched: this.#notSearched };
  }

  async #work(): Promise<void> {
    for (;;) {
      // Nothing is begun meanwhile that may turn out to hold no match.
      await this.#looking;
      const source = this.#unread[0];
      if (source === undefined || this.#isEnough(source)) return;
      if (this.#mayLook() && !this.#lookedUp.has(wholeOf(source))) {
        await this.#look(() => (this.#lookedUp.has(wholeOf(source)) ? [] : this.#unread.map(wholeOf)));
        continue;
      }
      this.#unread.shift();
      this.#underWay.add(source);
      this.#begun += 1;
      const share = await this.#shareOf(source);
      if (share !== null) await this.#readOne(source, share);
      else this.#begun -= 1;
      this.#underWay.delete(source);
      this.#tellSafe();
      this.#tellInTime();
    }
  }

  /** Too late, the next object is read without: this page gets on, whatever its sketches say. */
  #mayLook(): boolean {
    return this.#sources.lookUp !== undefined && !this.#isLate;
  }

  get #isLate(): boolean {
    return this.#asked.platform.now() - this.#startedMs >= this.#asked.bounds.ms;
  }

  /** Asks the sketches of the first of these objects, after what is asked already. */
  async #look(wanted: () => readonly Source[]): Promise<void> {
    this.#looking = this.#looking.then(() => this.#lookAhead(wanted()));
    await this.#looking;
  }

  /** Takes objects out that cannot hold a match. */
  async #lookAhead(sources: readonly Source[]): Promise<void> {
    const next = sources.filter((source) => !this.#lookedUp.has(source));
    next.length = Math.min(next.length, this.#asked.bounds.lookAhead ?? LOOK_MAX);
    if (next.length === 0) return;
    const { out, bytes } = (await this.#sources.lookUp?.(next)) ?? { out: new Set<Source>(), bytes: 0 };
    for (const source of next) this.#lookedUp.add(source);
    for (const source of out) this.#ruledOut.add(source);
    const left = this.#unread.filter((source) => !out.has(wholeOf(source)));
    this.#progress.skipped += this.#unread.length - left.length;
    this.#unread.splice(0, this.#unread.length, ...left);
    this.#out.push(...out);
    this.#progress.sketchBytes += bytes;
    this.#tellSafe();
    this.#tellInTime();
  }

  #copiesOf({ list, identify, order, span }: Sources): Copies | null {
    const jobs = order ?? [...new Set(list.map(({ job }) => job))].sort((a, b) => a - b);
    if (jobs.length < 2) return null;
    const copies = new Copies({
      ...{ list, order: jobs, identify: identify ?? (async () => new Map()) },
      span: span ?? { sinceMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY },
      look: async (sources) => {
        if (this.#sources.lookUp === undefined) return;
        while (sources.some((source) => !this.#lookedUp.has(source))) await this.#look(() => sources);
      },
      isOut: (source) => this.#ruledOut.has(source),
    });
    const failed = new Set(this.#before.done.flatMap(([batch, , , isFailed]) => (isFailed ? [batch.join()] : [])));
    for (const source of list) {
      const key = keyOf(source);
      if (failed.has(key)) copies.distrust(source);
      else if (this.#doneBefore.get(key) === null) this.#ruledOut.add(source);
    }
    return copies;
  }

  /** What is read of an object; null: nothing that no other has. */
  async #shareOf(source: Source): Promise<Share | null> {
    const { firstMs, lastMs } = source;
    if (this.#copies === null) return { firstMs, lastMs, without: [] };
    await this.#copies.prepare([source, ...this.#unread.slice(0, PREPARED)]);
    const verdict = await this.#copies.judge(source);
    const bytes = this.#copies.takeBytes();
    this.#progress.sketchBytes += bytes;
    this.#rawBytes += bytes;
    if (verdict.kind === "covered") {
      this.#progress.skipped += 1;
      this.#progress.copies += 1;
      return null;
    }
    const [other] = verdict.without;
    if (other !== undefined && !this.#named.has(wholeOf(source))) {
      this.#named.add(wholeOf(source));
      const what = verdict.kind === "read" ? "a part of it was not read, as " : "";
      this.#leave(
        source,
        `${what}job ${other.job} may ship the same records, and which is not known: search this job alone`,
      );
    }
    return verdict.kind === "read" ? verdict : null;
  }

  /** Copies of what an object does not give are looked for. */
  #distrust(source: Source): void {
    const { again, covered } = this.#copies?.distrust(source) ?? { again: [], covered: 0 };
    this.#progress.skipped -= covered;
    this.#progress.copies -= covered;
    const { order } = this.#asked;
    const found = again.filter((one) => !this.#ruledOut.has(wholeOf(one)) && !this.#isPast(one, this.#before.after));
    this.#unread.push(...found);
    this.#unread.sort((a, b) => comparePlaces(this.#edge(a), this.#edge(b), order));
  }

  /** Whether this source, and all after it, are left to another page. */
  #isEnough(source: Source): boolean {
    const { droppedFrom } = this.#hits;
    const { bounds, order, signal } = this.#asked;
    if (droppedFrom !== null && comparePlaces(this.#edge(source), droppedFrom, order) > 0) return true;
    if (signal.aborted) return true;
    // One is read in any case, so that every page gets on.
    if (this.#begun === 0) return false;
    if (this.#rawBytes < bounds.rawBytes && !this.#isLate) return false;
    if (this.#copies === null || this.#isBefore(this.#startMs, this.#edge(source))) return true;
    const ms = this.#asked.platform.now() - this.#startedMs;
    return this.#rawBytes >= LONGER * bounds.rawBytes || ms >= LONGER * bounds.ms;
  }

  async #readOne(source: Source, share: Share): Promise<void> {
    const { job, node, batch, number } = source;
    const { firstMs, lastMs } = wholeOf(source);
    const { query, order, signal, platform } = this.#asked;
    const untilMs = platform.now() + OBJECT_MS;
    const upTo = this.#doneBefore.get(keyOf(source)) ?? null;
    // Records without a time come last of their object's: what is added to it moves them on alone.
    const untimedMs = order === "newest" ? firstMs : lastMs;
    let identities: Identities | null = null;
    const known = this.#copies?.identified(source) ?? null;
    const worth = this.#copies?.worthOf(source) ?? 0;
    const found = ({ line, json, timeMs }: Match): void => {
      const isShared = source.whole !== undefined || share.without.length > 0;
      if (isShared && !(timeMs !== null && isIn(share, timeMs))) return;
      // It is found out below.
      if (identities !== null && line > identities.records) return;
      const record = identities?.at(line) ?? "";
      const place: Place = [timeMs ?? untimedMs, job, node, batch, line, record];
      // Before the last hit stands only what was told, or has come since this page was listed.
      if (this.#last !== null && comparePlaces(place, this.#last, order) <= 0) return;
      const isTold = timeMs === null ? line <= (upTo?.[4] ?? 0) : upTo && comparePlaces(place, upTo, order) <= 0;
      if (!isTold) this.#hits.add({ place, object: number, json, worth, alsoIn: [] });
    };
    if (!source.isHeld && (this.#refusals.get(job) ?? 0) >= REFUSALS_MAX)
      return this.#fail(source, "skipped, because the store had refused the previous ones");
    this.#rawBytes += source.rawBytes;
    for (let tries = source.isHeld ? HELD_TRIES : 1; ; tries--) {
      try {
        let told = source.isHeld ? null : ((await known?.load()) ?? null);
        const content = await source.open(
          (bytes) => {
            this.#progress.bytesRead += bytes;
            if (signal.aborted) throw new ReadFault("silent", "the answer is not wanted any more");
            if (platform.now() > untilMs) throw new ReadFault("silent", "it takes too long to read");
          },
          (ofHeld) => {
            told = ofHeld;
          },
        );
        identities = known && told && Identities.read(told, number === null ? null : source.records);
        if (known !== null && identities === null)
          throw new ReadFault("damaged", "which records it has cannot be read");
        const { records, unreadable } = await scan(this.#whileWanted(content), query, found);
        if (identities !== null && records !== identities.records && !signal.aborted)
          throw new ReadFault("damaged", "it has other records than its sketch says");
        this.#progress.records += records;
        this.#progress.read += 1;
        if (unreadable > 0) {
          this.#leave(source, `${unreadable} of its lines are not JSON records`);
          this.#distrust(source);
        }
        this.#read.set(keyOf(source), { batch: [job, node, batch], told: null, isFailed: false });
        if (!source.isHeld) this.#refusals.set(job, 0);
        return;
      } catch (error) {
        if (!(error instanceof ReadFault)) throw error;
        this.#hits.drop((place) => place[1] === job && place[2] === node && place[3] === batch);
        if (tries > 1) continue;
        if (error.kind !== "gone" && error.kind !== "damaged")
          this.#refusals.set(job, (this.#refusals.get(job) ?? 0) + 1);
        return this.#fail(source, error.message);
      }
    }
  }

  #fail(source: Source, why: string): void {
    const { job, node, batch } = source;
    this.#leave(source, why);
    this.#read.set(keyOf(source), { batch: [job, node, batch], told: null, isFailed: true });
    this.#distrust(source);
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

  /** Tells the hits that nothing unread can come before. */
  #tellSafe(): void {
    const frontier = this.#frontier();
    this.#tellHits(this.#hits.take(frontier));
    if (frontier === null) return;
    const reach = (): void => {
      this.#progress.reachedMs = frontier[0];
    };
    if (this.#copies === null) reach();
    else this.#telling = this.#telling.then(reach);
  }

  #tellHits(hits: readonly Hit[]): void {
    if (hits.length === 0) return;
    const copies = this.#copies;
    if (copies === null) this.#listener.hits(hits);
    else this.#telling = this.#telling.then(async () => this.#listener.hits(await copies.withJobs(hits)));
    for (const { place } of hits) {
      const read = this.#read.get(place.slice(1, 4).join());
      if (read !== undefined) read.told = place;
    }
    this.#last = (hits.at(-1) as Hit).place;
  }

  /** No unread hit comes before this place; null: nothing is unread. */
  #frontier(): Place | null {
    const edges = [...this.#underWay, ...this.#unread.slice(0, 1)].map((source) => this.#edge(source));
    const { listedToMs } = this.#sources;
    if (listedToMs !== null) edges.push([listedToMs, -1, -1, -1, -1, ""]);
    return edges.sort((a, b) => comparePlaces(a, b, this.#asked.order))[0] ?? null;
  }

  /** Tells what is left, and says where the next page begins; null: there is none. */
  #finish(): Cursor | null {
    const { droppedFrom } = this.#hits;
    const { order } = this.#asked;
    const frontier = this.#frontier();
    const done = new Map(this.#before.done.map((entry) => [entry[0].join(), entry]));
    for (const { job, node, batch, number } of this.#out)
      if (number !== null) done.set([job, node, batch].join(), [[job, node, batch], null, null]);
    // Where hits of it took the place of others before it failed, a page that read it again would
    // end where this one did.
    for (const [key, { batch, isFailed }] of this.#read) if (isFailed) done.set(key, [batch, null, null, true]);
    if (frontier === null || (droppedFrom !== null && comparePlaces(frontier, droppedFrom, order) > 0)) {
      this.#tellHits(this.#hits.take(null));
      if (droppedFrom === null) return null;
      // What is open may get records that move its others, told ones too.
      for (const { job, node, batch, number } of this.#sources.list) {
        const told = this.#read.get([job, node, batch].join())?.told ?? null;
        if (number === null && told !== null) done.set([job, node, batch].join(), [[job, node, batch], told, null]);
      }
      return { after: this.#last, done: this.#stillNeeded([...done.values()], this.#last) };
    }
    this.#tellHits(this.#hits.take(frontier));
    const after = this.#last !== null && comparePlaces(this.#last, frontier, order) > 0 ? this.#last : frontier;
    // What is beyond may have copies in what is not read.
    if (this.#copies !== null) return { after, done: this.#stillNeeded([...done.values()], after) };
    // What was found beyond it is told, too: not all that it was found in could be read again.
    this.#tellHits(this.#hits.take(null));
    for (const [key, { batch, told, isFailed }] of this.#read) {
      if (isFailed) continue;
      // Of hits that were dropped it is not known which object had them.
      if (droppedFrom === null) done.set(key, [batch, null, null]);
      else if (told !== null) done.set(key, [batch, told, null]);
    }
    return { after, done: this.#stillNeeded([...done.values()], after) };
  }

  /** Without the objects of which a page after this place reads nothing anyway, whatever comes. */
  #stillNeeded(done: Cursor["done"], after: Place | null): Cursor["done"] {
    const { list, unsearchable = [] } = this.#sources;
    const ends = new Map([...list, ...unsearchable].map((known) => [keyOf(known), this.#endOf(known)]));
    return done
      .map(
        ([batch, upTo, endMs, ...isFailed]): Done => [
          ...([batch, upTo, endMs ?? ends.get(batch.join()) ?? null] as const),
          ...isFailed,
        ],
      )
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
    this.#listener.progress({ ...this.#progress });
  }

  #tellInTime(): void {
    if (this.#asked.platform.now() - this.#toldMs >= TELL_MS) this.#tell();
  }

  /** Whether every hit that it can have comes before this place. */
  #isPast({ firstMs, lastMs }: Source, place: Place | null): boolean {
    return this.#isBefore(this.#asked.order === "newest" ? firstMs : lastMs, place);
  }

  /** No hit of it comes before this place. */
  #edge({ job, node, batch, firstMs, lastMs }: Source): Place {
    const timeMs = this.#asked.order === "newest" ? lastMs : firstMs;
    // Of a moment, copies have one place, whose they are.
    return this.#copies === null ? [timeMs, job, node, batch, 0, ""] : [timeMs, -1, -1, -1, -1, ""];
  }
}
