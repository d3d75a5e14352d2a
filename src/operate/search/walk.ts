import { within } from "../../base/platform.ts";
import { ReadFault } from "../../ship/destinations/read-object.ts";
import { Copies, type Judged } from "./copies.ts";
import type { BatchPlace, Cursor, Done } from "./cursor.ts";
import { comparePlaces, type Place } from "./hits.ts";
import type { NotSearched } from "./not-searched.ts";
import type { Progress, Reading, Sources, WalkAsked, WalkEnd } from "./page.ts";
import { readSource } from "./read-source.ts";
import { isIn, wholeOf } from "./share.ts";
import { type Known, keyOf, type Source } from "./source.ts";
import { Unread } from "./unread.ts";

/** As of `lookAhead` of a page. */
export const LOOK_MAX = 1_000;

/** Objects that are prepared at once for comparing their records. */
const PREPARED = 100;

/** How often progress is told at least, in ms. */
const TELL_MS = 1_000;

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
  /** The broadest first. */
  readonly #jobs: readonly number[];
  readonly #doneBefore: ReadonlyMap<string, Place | null>;
  readonly #unread: Unread;
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
    this.#jobs = sources.order ?? [...new Set(sources.list.map(({ job }) => job))].sort((a, b) => a - b);
    this.before = cursor ?? { after: null, done: [] };
    this.#doneBefore = new Map(this.before.done.map(([batch, upTo]) => [batch.join(), upTo]));
    const left = sources.list.filter(
      (source) => !this.#isPast(source, this.before.after) && this.#doneBefore.get(keyOf(source)) !== null,
    );
    this.#unread = new Unread(left, {
      ...{ lookUp: sources.lookUp, listedToMs: sources.listedToMs, order },
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
    this.copies = this.#copiesOf(sources);
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
      await this.#unread.looked();
      const isIdle = this.read.size + this.#underWay.size === 0;
      const next = this.#unread.next(this.#isOnce ? this.copies : null, this.#underWay, isIdle);
      if (next === null || this.#isEnough(next.source)) return;
      const { source, after } = next;
      if (after !== undefined) await this.#underWay.get(after);
      // Too late, it is read without: this page gets on, whatever its sketches say.
      else if (!this.#isLate && !this.#unread.isLookedUp(source)) await this.#unread.lookAhead(source);
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

  get #isLate(): boolean {
    return this.#asked.platform.now() - this.#startedMs >= this.#asked.bounds.ms;
  }

  #copiesOf({ list, identify, span }: Sources): Copies | null {
    if (this.#jobs.length < 2) return null;
    const copies = new Copies({
      ...{ list, order: this.#jobs, identify: identify ?? (async () => new Map()), isOnce: this.#isOnce },
      span: span ?? { sinceMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY },
      look: (sources) => this.#unread.lookAt(sources),
      isOut: (source) => this.#unread.isOut(source),
    });
    const failed = new Set(this.before.done.flatMap(([batch, , , isFailed]) => (isFailed ? [batch.join()] : [])));
    for (const source of list) {
      const key = keyOf(source);
      if (failed.has(key)) copies.distrust(source);
      // A count may have read it.
      else if (!this.#isOnce && this.#doneBefore.get(key) === null) this.#unread.leave(source);
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
    const undecided = "other jobs ship some of the same records, and it is not known which: search this job alone";
    if (this.#isOnce && this.#unread.isCutOff(source, this.copies)) {
      this.#fail(source, undecided);
      return null;
    }
    await this.copies.prepare([source, ...this.#unread.first(PREPARED)]);
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
      const what = verdict.kind === "read" ? "read in part only, as " : "";
      this.#leave(
        source,
        `${what}job ${other.job} may ship the same records, and it is not known which: search this job alone`,
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
    const isWanted = (one: Source) => !this.#unread.isOut(one) && !this.#isPast(one, this.before.after);
    this.#unread.add(again.filter(isWanted));
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
          ...{ query, fields, known, signal, platform, found: this.#ownOf(source, judged, reading) },
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
  #ownOf({ whole }: Source, judged: Judged, { found }: Reading): Reading["found"] {
    const isShared = whole !== undefined || judged.without.length > 0;
    const isCompared = this.#isOnce && this.copies !== null;
    return (match, record) => {
      const { timeMs } = match;
      if (isShared && !(timeMs !== null && isIn(judged, timeMs))) return;
      // It came since its page, and others that may have it are not listed any more.
      if (isCompared && timeMs !== null && this.#isBefore(timeMs, this.before.after)) return;
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
    return this.#jobs.length < 2 ? [timeMs, job, node, batch, 0, ""] : [timeMs, -1, -1, -1, -1, ""];
  }
}
