import { type Platform, within } from "../../base/platform.ts";
import type { Pieces } from "../../base/streams.ts";
import { ReadFault } from "../../ship/destinations/read-object.ts";
import type { SearchSpan } from "../../ship/reader/searchable.ts";
import { Identities, type RecordId } from "../../formats/sketch/identities.ts";
import { Copies, type Judged } from "./copies.ts";
import type { BatchPlace, Cursor, Done } from "./cursor.ts";
import { comparePlaces, type Place } from "./hits.ts";
import type { Identify } from "./identify.ts";
import type { LookUp } from "./look-up.ts";
import type { CompiledQuery } from "./query.ts";
import { type Match, scan } from "./scan.ts";
import { isIn, wholeOf } from "./share.ts";
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
  /** Not read, as their sketch says that they hold no match, or as they are copies. */
  skipped: number;
  /** Of these, those whose records are all in objects of another job. */
  copies: number;
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
  /** @param record which one it is; "": it is not known. */
  found(match: Match, record: RecordId | ""): void;
  /** The object was read to its end. */
  keep(): void;
  /** It turned out to be none: its matches are not. It may be read anew. */
  drop(): void;
}

/** As of {@link WalkBounds.lookAhead}. */
export const LOOK_MAX = 1_000;

/** Objects that are prepared at once for comparing their records. */
const PREPARED = 100;

/** How often progress is told at least, in ms. */
const TELL_MS = 1_000;

/** How long one object may take, in ms: its store may send a byte now and then. */
const OBJECT_MS = 60_000;

/** Where copies are merged, a page may take so many times what bounds it, until it gets on. */
const LONGER = 2;

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
 *
 * Of several jobs, what is decided of a record hangs on the objects that are listed, and on those
 * that could not be read, never on what was told: so pages agree. See copies.ts.
 */
export abstract class Walk {
  readonly #asked: WalkAsked;
  protected readonly sources: Sources;
  /** The end of the page before. */
  protected readonly before: Cursor;
  readonly #doneBefore: ReadonlyMap<string, Place | null>;
  /** In the order in which they are read. */
  readonly #unread: Source[];
  /** Of these, sketches were asked. */
  readonly #lookedUp = new Set<Source>();
  #looking: Promise<void> = Promise.resolve();
  /** Of these, they say that they hold no match. */
  readonly #ruledOut = new Set<Source>();
  /** null: all is of one job. */
  protected readonly copies: Copies | null;
  readonly #isOnce: boolean;
  /** Nothing of them is read. */
  protected readonly out: Known[];
  readonly #underWay = new Map<Source, Promise<void>>();
  /** With the last place of each that was told on this page; those that could not be read, too. */
  protected readonly read = new Map<string, { batch: BatchPlace; told: Place | null; isFailed: boolean }>();
  protected readonly progress: Progress;
  /** Objects in a row, by job, that its store did not give, though they may be there. */
  readonly #refusals = new Map<number, number>();
  readonly #notSearched: NotSearched[] = [];
  /** Named there, as their records may be those of others. */
  readonly #named = new Set<Source>();
  readonly #startedMs: number;
  /** No match of this page comes before this time. */
  readonly #startMs: number;
  /** Of all that was begun, before compression. */
  #rawBytes = 0;
  #begun = 0;
  #toldMs: number;

  /** @param isOnce as of {@link Copies}. */
  constructor(sources: Sources, asked: WalkAsked, isOnce = false) {
    this.sources = sources;
    this.#asked = asked;
    this.#isOnce = isOnce;
    const { order, cursor } = asked;
    this.before = cursor ?? { after: null, done: [] };
    this.#doneBefore = new Map(this.before.done.map(([batch, upTo]) => [batch.join(), upTo]));
    this.copies = this.#copiesOf(sources);
    const left = sources.list.filter(
      (source) => !this.#isPast(source, this.before.after) && this.#doneBefore.get(keyOf(source)) !== null,
    );
    this.#unread = left.sort((a, b) => comparePlaces(this.edge(a), this.edge(b), order));
    this.out = [...(sources.unsearchable ?? [])];
    this.progress = {
      objects: left.length,
      read: 0,
      skipped: 0,
      copies: 0,
      sketchBytes: sources.indexBytes ?? 0,
      bytesRead: 0,
      records: 0,
      reachedMs: null,
    };
    const [first] = this.#unread;
    this.#startMs = this.before.after?.[0] ?? (first === undefined ? 0 : this.edge(first)[0]);
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
      // Nothing is begun meanwhile that may turn out to hold no match.
      await this.#looking;
      const { source, after } = this.#next();
      if (source === null || this.#isEnough(source)) return;
      if (after !== undefined) {
        await after;
        continue;
      }
      if (this.#mayLook() && !this.#lookedUp.has(wholeOf(source))) {
        await this.#look(() => (this.#lookedUp.has(wholeOf(source)) ? [] : this.#unread.map(wholeOf)));
        continue;
      }
      this.#unread.splice(this.#unread.indexOf(source), 1);
      const read = this.#judgeAndRead(source);
      this.#underWay.set(source, read);
      await read;
      this.#underWay.delete(source);
      this.advanced();
      this.#tellInTime();
    }
  }

  /**
   * The next in order; where each record is taken of one object, what has it rather comes first.
   * `after`: that is under way. null: no other can be decided on this page.
   */
  #next(): { source: Source | null; after?: Promise<void> } {
    const { copies } = this;
    if (copies === null || !this.#isOnce) return { source: this.#unread[0] ?? null };
    const left = new Set(this.#unread);
    for (const first of this.#unread) {
      let source = first;
      for (let next: Source | undefined = first; next !== undefined; ) {
        source = next;
        next = copies.broader(source).find((other) => left.has(other));
      }
      if (!this.#isCutOff(source)) {
        const after = copies.broader(source).find((other) => this.#underWay.has(other));
        return { source, ...(after !== undefined && { after: this.#underWay.get(after) as Promise<void> }) };
      }
      // As long as pages get on, the next one may list all of its time.
      if (first === this.#unread.at(-1) && this.read.size + this.#underWay.size === 0) return { source };
    }
    return { source: null };
  }

  /** Whether objects that would decide which of its records are its own are not listed. */
  #isCutOff(source: Source): boolean {
    const { listedToMs } = this.sources;
    if (listedToMs === null || this.copies?.isBroadest(source)) return false;
    return this.#asked.order === "newest" ? source.firstMs <= listedToMs : source.lastMs >= listedToMs;
  }

  /** Too late, the next object is read without: this page gets on, whatever its sketches say. */
  #mayLook(): boolean {
    return this.sources.lookUp !== undefined && !this.#isLate;
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
    const { out, bytes } = (await this.sources.lookUp?.(next)) ?? { out: new Set<Source>(), bytes: 0 };
    for (const source of next) this.#lookedUp.add(source);
    for (const source of out) this.#ruledOut.add(source);
    const left = this.#unread.filter((source) => !out.has(wholeOf(source)));
    this.progress.skipped += this.#unread.length - left.length;
    this.#unread.splice(0, this.#unread.length, ...left);
    this.out.push(...out);
    this.progress.sketchBytes += bytes;
    this.advanced();
    this.#tellInTime();
  }

  #copiesOf({ list, identify, order, span }: Sources): Copies | null {
    const jobs = order ?? [...new Set(list.map(({ job }) => job))].sort((a, b) => a - b);
    if (jobs.length < 2) return null;
    const copies = new Copies({
      ...{ list, order: jobs, identify: identify ?? (async () => new Map()), isOnce: this.#isOnce },
      span: span ?? { sinceMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY },
      look: async (sources) => {
        if (this.sources.lookUp === undefined) return;
        while (sources.some((source) => !this.#lookedUp.has(source))) await this.#look(() => sources);
      },
      isOut: (source) => this.#ruledOut.has(source),
    });
    const failed = new Set(this.before.done.flatMap(([batch, , , isFailed]) => (isFailed ? [batch.join()] : [])));
    for (const source of list) {
      const key = keyOf(source);
      if (failed.has(key)) copies.distrust(source);
      // A count may have read it.
      else if (!this.#isOnce && this.#doneBefore.get(key) === null) this.#ruledOut.add(source);
    }
    return copies;
  }

  async #judgeAndRead(source: Source): Promise<void> {
    this.#begun += 1;
    const judged = await this.#judge(source);
    if (judged !== null) await this.#readOne(source, judged);
    else this.#begun -= 1;
  }

  /** What is read of an object; null: nothing that no other has. */
  async #judge(source: Source): Promise<Judged | null> {
    const { firstMs, lastMs } = source;
    if (this.copies === null) return { firstMs, lastMs, without: [], others: [] };
    const undecided = "which of its records are in objects of other jobs, too, is not to be had: search this job alone";
    if (this.#isOnce && this.#isCutOff(source)) {
      this.#fail(source, undecided);
      return null;
    }
    await this.copies.prepare([source, ...this.#unread.slice(0, PREPARED)]);
    const verdict = await this.copies.judge(source);
    const bytes = this.copies.takeBytes();
    this.progress.sketchBytes += bytes;
    this.#rawBytes += bytes;
    if (verdict.kind === "undecided") {
      this.#fail(source, undecided);
      return null;
    }
    // What is counted is not decided anew.
    if (this.#isOnce && verdict.kind !== "read") this.#end(source, false);
    if (verdict.kind === "covered") {
      this.progress.skipped += 1;
      this.progress.copies += 1;
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
    const { again, covered } = this.copies?.distrust(source) ?? { again: [], covered: 0 };
    // Nothing was left out for it yet: it came first.
    if (this.#isOnce) return;
    this.progress.skipped -= covered;
    this.progress.copies -= covered;
    const { order } = this.#asked;
    const found = again.filter((one) => !this.#ruledOut.has(wholeOf(one)) && !this.#isPast(one, this.before.after));
    this.#unread.push(...found);
    this.#unread.sort((a, b) => comparePlaces(this.edge(a), this.edge(b), order));
  }

  /** Whether this source, and all after it, are left to another page. */
  #isEnough(source: Source): boolean {
    const { bounds, signal } = this.#asked;
    if (this.isFull(source) || signal.aborted) return true;
    // One is read in any case, so that every page gets on.
    if (this.#begun === 0) return false;
    if (this.#isOnce && this.copies?.isSpent) return true;
    if (this.#rawBytes < bounds.rawBytes && !this.#isLate) return false;
    if (this.copies === null || this.#isOnce || this.#isBefore(this.#startMs, this.edge(source))) return true;
    const ms = this.#asked.platform.now() - this.#startedMs;
    return this.#rawBytes >= LONGER * bounds.rawBytes || ms >= LONGER * bounds.ms;
  }

  async #readOne(source: Source, judged: Judged): Promise<void> {
    const { job, number } = source;
    const { query, signal, platform, fields = null } = this.#asked;
    const untilMs = platform.now() + OBJECT_MS;
    const known = this.copies?.identified(source) ?? null;
    if (!source.isHeld && (this.#refusals.get(job) ?? 0) >= REFUSALS_MAX)
      return this.#fail(source, "skipped, because the store had refused the previous ones");
    this.#rawBytes += source.rawBytes;
    for (let tries = source.isHeld ? HELD_TRIES : 1; ; tries--) {
      const reading = this.begin(source);
      try {
        let told = source.isHeld ? null : ((await known?.load()) ?? null);
        const content = await source.open(
          (bytes) => {
            this.progress.bytesRead += bytes;
            if (signal.aborted) throw new ReadFault("silent", "the answer is not wanted any more");
            if (platform.now() > untilMs) throw new ReadFault("silent", "it takes too long to read");
          },
          {
            fields,
            identities: (ofHeld) => {
              told = ofHeld;
            },
          },
        );
        const identities = known && told && Identities.read(told, number === null ? null : source.records);
        if (known !== null && identities === null)
          throw new ReadFault("damaged", "which records it has cannot be read");
        const found = this.#ownOf(source, judged, identities, reading);
        const { bytes, records, unreadable } = await scan(this.#whileWanted(content), query, found);
        if (identities !== null && records !== identities.records && !signal.aborted)
          throw new ReadFault("damaged", "it has other records than its sketch says");
        if (identities !== null) this.copies?.hold(source, identities);
        // Of some fields, it is less.
        if (!source.isHeld) this.#rawBytes += bytes - source.rawBytes;
        this.progress.records += records;
        this.progress.read += 1;
        if (unreadable > 0) {
          this.#leave(source, `${unreadable} of its lines are not JSON records`);
          // What was counted stays so.
          if (!this.#isOnce) this.#distrust(source);
        }
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

  /** Tells the matches that are taken of this object. */
  #ownOf(
    { whole }: Source,
    judged: Judged,
    identities: Identities | null,
    { found }: Reading,
  ): (match: Match) => void {
    const isShared = whole !== undefined || judged.without.length > 0;
    const isCompared = this.#isOnce && this.copies !== null;
    return (match) => {
      const { line, timeMs } = match;
      if (isShared && !(timeMs !== null && isIn(judged, timeMs))) return;
      // It came since its page, and others that may have it are not listed any more.
      if (isCompared && timeMs !== null && this.#isBefore(timeMs, this.before.after)) return;
      // It is found out at the end.
      if (identities !== null && line > identities.records) return;
      const record = identities?.at(line) ?? "";
      if (record === "" || !judged.others.some((other) => other.holds(record))) found(match, record);
    };
  }

  #fail(source: Source, why: string): void {
    this.#leave(source, why);
    this.#end(source, true);
    this.#distrust(source);
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
    const edges = [...this.#underWay.keys(), ...this.#unread.slice(0, 1)].map((source) => this.edge(source));
    const { listedToMs } = this.sources;
    if (listedToMs !== null) edges.push([listedToMs, -1, -1, -1, -1, ""]);
    return edges.sort((a, b) => comparePlaces(a, b, this.#asked.order))[0] ?? null;
  }

  /** Without the objects of which a page after this place reads nothing anyway, whatever comes. */
  protected stillNeeded(done: Cursor["done"], after: Place | null): Cursor["done"] {
    const { list, unsearchable = [] } = this.sources;
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
    const timeMs = this.#asked.order === "newest" ? lastMs : firstMs;
    // Of a moment, copies have one place, whose they are.
    return this.copies === null ? [timeMs, job, node, batch, 0, ""] : [timeMs, -1, -1, -1, -1, ""];
  }
}
