import { within } from "../../base/platform.ts";
import { bitsOf } from "../../formats/output/format.ts";
import { ReadFault } from "../../ship/destinations/read-object.ts";
import type { Again, Copies, Judged, Searching } from "./copies.ts";
import type { BatchPlace, Cursor, Done } from "./cursor.ts";
import { comparePlaces, type Place } from "./hits.ts";
import type { NotSearched } from "./not-searched.ts";
import type { Progress, Reading, Sources, WalkAsked, WalkEnd } from "./page.ts";
import { readSource } from "./read-source.ts";
import { wholeOf } from "./share.ts";
import { type Known, keyOf, type Source } from "./source.ts";
import { Unread } from "./unread.ts";

/** As of `lookAhead` of a page. */
export const LOOK_MAX = 1_000;

/** Objects that are prepared at once for comparing their records. */
const PREPARED = 100;

/** How often progress is told at least, in ms. */
const TELL_MS = 1_000;

/** How often what waits in its reader is read, where it goes while it is read. */
const HELD_TRIES = 3;

/**
 * After so many objects in a row that a job's store did not give, it is asked for no more of them:
 * each may take as long as the store may be silent.
 */
const REFUSALS_MAX = 3;

/** Why records of an object are not searched. */
const UNDECIDED = "other jobs ship some of the same records, and it is not known which: search this job alone";
const LEFT = "some records match by fields that their copies in other jobs lack, which count: search this job alone";

/**
 * Reads the objects of one page, the newest or oldest first by their last (first) event, some side
 * by side. Sketches are asked for some objects ahead, so that the first match waits for those
 * alone. What becomes of the matches is another matter: see `begin`; and of copies: copies.ts.
 */
export abstract class Walk<Kind extends Copies> {
  readonly #asked: WalkAsked;
  protected readonly sources: Sources;
  /** The end of the page before. */
  protected readonly before: Cursor;
  /** The broadest first. */
  readonly #jobs: readonly number[];
  readonly #doneBefore: ReadonlyMap<string, Place | null>;
  readonly #unread: Unread;
  /** null: all is of one job. */
  protected readonly copies: Kind | null;
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
  protected readonly startMs: number;
  /** Of all that was begun, before compression. */
  #rawBytes = 0;
  #toldMs: number;

  /** @param Kind of copies. */
  constructor(sources: Sources, asked: WalkAsked, Kind: new (of: Searching) => Kind) {
    this.sources = sources;
    this.#asked = asked;
    const { order, cursor } = asked;
    this.before = cursor ?? { after: null, done: [] };
    this.#jobs = sources.order ?? [...new Set(sources.list.map(({ job }) => job))].sort((a, b) => a - b);
    this.#doneBefore = new Map(this.before.done.map(([batch, upTo]) => [batch.join(), upTo]));
    const left = sources.list.filter(
      (source) => !this.#isPast(source, this.before.after) && this.#doneBefore.get(keyOf(source)) !== null,
    );
    this.#unread = new Unread(left, {
      lookUp: sources.lookUp,
      lookAhead: asked.bounds.lookAhead ?? LOOK_MAX,
      compare: (a, b) => comparePlaces(this.edge(a), this.edge(b), order),
      looked: ({ out, bytes }, skipped) => {
        this.progress.skipped += skipped;
        this.progress.sketchBytes += bytes;
        this.out.push(...out);
        this.advanced();
        this.#tellInTime();
      },
    });
    this.copies = this.#jobs.length < 2 ? null : new Kind(this.#searching(sources));
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
    const [first] = this.#unread.first(1);
    this.startMs = this.before.after?.[0] ?? (first === undefined ? 0 : this.edge(first)[0]);
    this.#startedMs = asked.platform.now();
    this.#toldMs = this.#startedMs;
  }

  /** What becomes of the matches of this object. */
  protected abstract begin(source: Source): Reading;
  /** Whether this object, and all after it, are left to another page: each page gets on. */
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
      await this.#unread.looked();
      const next = this.#unread.next(this.copies, this.#underWay, !this.isBegun);
      if (next === null || this.#asked.signal.aborted || this.isFull(next.source)) return;
      const { source, after } = next;
      if (after !== undefined) await this.#underWay.get(after);
      // Too late, it is read without: this page gets on, whatever its sketches say.
      else if (!this.#isLate() && !this.#unread.isLookedUp(source)) await this.#unread.lookAhead(source);
      else {
        this.#unread.take(source);
        const read = this.#judgeAndRead(source);
        this.#underWay.set(source, read);
        await read;
        this.#underWay.delete(source);
        this.advanced();
        this.#tellInTime();
      }
    }
  }

  /** Whether something was read, or left out, or will be. */
  protected get isBegun(): boolean {
    return this.read.size + this.#underWay.size > 0;
  }

  /** Whether the bounds of a page are reached, or so many times these. */
  protected isOver(times = 1): boolean {
    return this.#rawBytes >= times * this.#asked.bounds.rawBytes || this.#isLate(times);
  }

  #isLate(times = 1): boolean {
    return this.#asked.platform.now() - this.#startedMs >= times * this.#asked.bounds.ms;
  }

  #searching({ list, unsearchable = [], silent = [], listedToMs, identify, span }: Sources): Searching {
    const sources = new Map(list.map((source) => [keyOf(source), source]));
    const isListed = new Set([...sources.keys(), ...unsearchable.map(keyOf)]);
    const done = this.before.done.filter(([, upTo, , isFailed]) => upTo === null && !isFailed);
    const failed = this.before.done.filter(([, , , isFailed]) => isFailed);
    const listedOf = (some: Cursor["done"]) => new Set(some.flatMap(([batch]) => sources.get(batch.join()) ?? []));
    return {
      ...{ list, listedToMs, order: this.#jobs, identify: identify ?? (async () => new Map()) },
      span: span ?? { sinceMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY },
      isNewest: this.#asked.order === "newest",
      asked: bitsOf(this.#asked.query.fields),
      look: (some) => this.#unread.lookAt(some),
      isOut: (source) => this.#unread.isOut(source),
      done: listedOf(done),
      failed: listedOf(failed),
      // An open batch is listed as long as it has records of the time that is left.
      gone: done.flatMap(([[job, ...place], , endMs]) =>
        isListed.has([job, ...place].join()) || (endMs === null && !silent.includes(job)) ? [] : [{ job, endMs }],
      ),
    };
  }

  async #judgeAndRead(source: Source): Promise<void> {
    const judged = this.copies && (await this.#judge(source, this.copies));
    if (judged !== "left") await this.#readOne(source, judged);
  }

  /** What is read of an object, if it is. */
  async #judge(source: Source, copies: Copies): Promise<Judged | "left"> {
    await copies.prepare([source, ...this.#unread.first(PREPARED)]);
    const verdict = await copies.judge(source);
    const bytes = copies.takeBytes();
    this.progress.sketchBytes += bytes;
    this.#rawBytes += bytes;
    if (verdict.kind === "undecided") {
      this.#fail(source, UNDECIDED);
      return "left";
    }
    if (verdict.kind === "covered") {
      this.progress.skipped += 1;
      this.progress.copies += 1;
    } else if (verdict.instead !== null && !this.#named.has(wholeOf(source))) {
      this.#named.add(wholeOf(source));
      const what = verdict.kind === "read" ? "read in part only, as " : "";
      const job = `job ${verdict.instead} may ship the same records, and it is not known which`;
      this.#leave(source, `${what}${job}: search this job alone`);
    }
    if (verdict.kind === "read") return verdict;
    this.#end(source, false);
    return "left";
  }

  /** Copies of what an object does not give are looked for. */
  #readAgain({ sources, covered }: Again): void {
    this.progress.skipped -= covered;
    this.progress.copies -= covered;
    const isWanted = (one: Source) => !this.#unread.isOut(one) && !this.#isPast(one, this.before.after);
    this.#unread.add(sources.filter(isWanted));
  }

  /** @param judged null: all of it is wanted. */
  async #readOne(source: Source, judged: Judged | null): Promise<void> {
    const { job } = source;
    const known = this.copies?.identified(source) ?? null;
    if (!source.isHeld && (this.#refusals.get(job) ?? 0) >= REFUSALS_MAX)
      return this.#fail(source, "skipped, because the store had refused the previous ones");
    const { query, signal, platform, fields = null } = this.#asked;
    this.#rawBytes += source.rawBytes;
    for (let tries = source.isHeld ? HELD_TRIES : 1; ; tries--) {
      const reading = this.begin(source);
      try {
        const { bytes, records, unreadable, identities } = await readSource(source, {
          ...{ query, fields, known, signal, platform },
          found: (match, record) => {
            if (judged === null || judged.takes(match.timeMs, record)) reading.found(match, record);
          },
          read: (some) => {
            this.progress.bytesRead += some;
          },
        });
        if (identities !== null) this.copies?.hold(source, identities);
        // Of some fields, it is less.
        if (!source.isHeld) this.#rawBytes += bytes - source.rawBytes;
        this.progress.records += records;
        this.progress.read += 1;
        if (unreadable > 0) {
          this.#notSearched.push({ job, object: source.number, why: "without a JSON record", lines: unreadable });
          if (this.copies !== null) this.#readAgain(this.copies.lack(source));
        }
        if (judged?.hasLeft()) this.#leave(source, LEFT);
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
    if (this.copies !== null) this.#readAgain(this.copies.fail(source));
  }

  #end(source: Source, isFailed: boolean): void {
    const { job, node, batch } = source;
    this.read.set(keyOf(source), { batch: [job, node, batch], told: null, isFailed });
  }

  #leave({ job, number }: Source, why: string): void {
    this.#notSearched.push({ job, object: number, why });
  }

  /** No unread match comes before this place; null: nothing is unread. */
  protected frontier(): Place | null {
    const edges = [...this.#underWay.keys(), ...this.#unread.first(1)].map((source) => this.edge(source));
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
      .filter(([, , endMs]) => endMs === null || !this.isBefore(endMs, after));
  }

  /** The time of the last hit that an object can have; null: it may get records of any time. */
  #endOf({ number, firstMs, lastMs }: Known): number | null {
    if (number === null) return null;
    return this.#asked.order === "newest" ? firstMs : lastMs;
  }

  protected isBefore(timeMs: number, place: Place | null): boolean {
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
    return this.isBefore(this.#asked.order === "newest" ? firstMs : lastMs, place);
  }

  /** No hit of it comes before this place. */
  protected edge({ job, node, batch, firstMs, lastMs }: Source): Place {
    const timeMs = this.#asked.order === "newest" ? lastMs : firstMs;
    // Of a moment, copies have one place, whose they are.
    return this.#jobs.length < 2 ? [timeMs, job, node, batch, 0, ""] : [timeMs, -1, -1, -1, -1, ""];
  }
}
