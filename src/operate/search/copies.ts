import { Identities, type RecordId } from "../../formats/sketch/identities.ts";
import type { Identified, Identify } from "./identify.ts";
import type { Sources } from "./page.ts";
import { isIn, roughly, type Share, type Times, wholeOf, without } from "./share.ts";
import type { Source } from "./source.ts";

/**
 * What becomes of an object beside those of other jobs. `covered`: all of its records are in
 * objects of broader jobs. `undecided`: which of them are is not to be had. `unknown`: all of its
 * time is read in other objects, which may have the same records. Else it is read.
 */
export type Verdict = { kind: "covered" } | { kind: "undecided" } | ({ kind: "read" | "unknown" } & Judged);

export interface Judged extends Share {
  /** They have records that are left out. */
  others: readonly Identities[];
  /** Whether a record of it is told or counted. @param record as of `Reading`. */
  takes(timeMs: number | null, record: RecordId | ""): boolean;
  /** Whether it had matches that were left to copies without a field that the question looks at. */
  hasLeft(): boolean;
}

/** What a walk tells of its objects. */
export interface Searching extends Pick<Sources, "list" | "listedToMs"> {
  /** Jobs, the broadest first. */
  order: readonly number[];
  identify: Identify;
  /** The time that is searched, in ms since the epoch. */
  span: { sinceMs: number; untilMs: number };
  isNewest: boolean;
  /** Fields of records that decide whether one matches, as `bitsOf`. */
  asked: number;
  /** Asks sketches of those of which they were not asked. */
  look(sources: readonly Source[]): Promise<void>;
  /** Whether a sketch says that it holds no match. */
  isOut(source: Source): boolean;
  /** Pages before are done with these, or could not read them. */
  done: ReadonlySet<Source>;
  failed: ReadonlySet<Source>;
  /** They are done with these, too, which are not listed any more. `endMs`: as of `Done`. */
  gone: readonly { job: number; endMs: number | null }[];
}

/** What is to be read anew as another object failed; so many of that had counted as skipped. */
export interface Again {
  sources: Source[];
  covered: number;
}

export const NOTHING: Again = { sources: [], covered: 0 };

/** Identities that are held for what is told next, in bytes. */
const HELD_BYTES = 2_000_000;

/** How often one page asks for identities, until it ends or does without. */
const LOADS_MAX = 2_000;

/** So many are remembered, of all objects that others are beside. */
const BESIDE_MAX = 100_000;

/**
 * Copies of records in objects of several jobs. What is decided of an object hangs on those that
 * are listed and on those that could not be read, never on what was told: so pages agree.
 */
export abstract class Copies {
  protected readonly of: Searching;
  /** Of these, not every record can be had: none is left out for them. */
  protected readonly failed: Set<Source>;
  readonly #ranks: ReadonlyMap<number, number>;
  readonly #identified = new Map<Source, Identified | null>();
  /** By job and time. */
  readonly #broader = new Map<string, readonly Source[]>();
  #beside = 0;
  readonly #shares = new Map<Source, Promise<Share>>();
  readonly #read = new Map<Source, Times>();
  /** The last that were used are last. */
  readonly #held = new Map<Source, Identities>();
  #heldBytes = 0;
  #loads = 0;
  #bytes = 0;

  constructor(of: Searching) {
    this.of = of;
    this.failed = new Set(of.failed);
    this.#ranks = new Map(of.order.map((job, rank) => [job, rank]));
  }

  /** Identities of broader objects, whose records are left out. null: they are not to be had. */
  protected abstract others(
    source: Source,
    own: Identified,
    broader: readonly Source[],
  ): Promise<readonly Identities[] | null>;

  /** What has to be read before an object is judged. */
  awaited(_source: Source): readonly Source[] {
    return [];
  }

  /** Whether objects that decide which of its records are taken may not be listed. */
  isCutOff(_source: Source): boolean {
    return false;
  }

  /** An object could not be read: from now on, none is left out for it. */
  fail(source: Source): Again {
    this.failed.add(wholeOf(source));
    this.#shares.clear();
    return NOTHING;
  }

  /** An object was read, but for some of its records. */
  lack(source: Source): Again {
    return this.fail(source);
  }

  /** It was decided, and no object has failed since. */
  protected decided(_source: Source, _verdict: Verdict): void {}

  /** What was read since this was asked last, in bytes. */
  takeBytes(): number {
    const bytes = this.#bytes;
    this.#bytes = 0;
    return bytes;
  }

  /** Asks which records the first of these objects has, and at once those of the others. */
  async prepare(sources: readonly Source[]): Promise<void> {
    const [first] = sources;
    if (first !== undefined && !this.#identified.has(wholeOf(first))) await this.identify(sources);
  }

  /** What tells which records an object has; null: it is not known, or was not asked. */
  identified(source: Source): Identified | null {
    return this.#identified.get(wholeOf(source)) ?? null;
  }

  /** Whether to read an object. It was prepared. */
  async judge(source: Source): Promise<Verdict> {
    for (;;) {
      const failed = this.failed.size;
      const verdict = await this.judged(source);
      if (failed !== this.failed.size) continue;
      if (verdict.kind === "read") this.#read.set(source, roughly(verdict.times));
      this.decided(source, verdict);
      return verdict;
    }
  }

  protected async judged(source: Source): Promise<Verdict> {
    const broader = this.broader(source);
    await this.identify([source, ...broader]);
    const own = this.identified(source);
    const others = own === null ? [] : await this.others(source, own, broader);
    if (others === null) return { kind: "undecided" };
    const lacking = others.filter(({ fields }) => ((own?.fields ?? 0) & this.of.asked & ~fields) !== 0);
    const wanted = others.length === 0 || lacking.length > 0 ? null : await this.load(source);
    if (wanted?.isIn(others)) return { kind: "covered" };
    const share = await this.#findShare(source);
    const before = this.#readInstead(source);
    const times = without(share.times, [...before.values()]);
    const instead = share.instead ?? [...before.keys()][0]?.job ?? null;
    const isPart = instead !== null || source.whole !== undefined;
    let isLeft = false;
    return {
      ...{ kind: times.length === 0 ? "unknown" : "read", times, instead, others, hasLeft: () => isLeft },
      takes(timeMs, record) {
        if (isPart && (timeMs === null || !isIn(times, timeMs))) return false;
        const holder = record === "" ? undefined : others.find((other) => other.holds(record));
        isLeft ||= holder !== undefined && lacking.includes(holder);
        return holder === undefined;
      },
    };
  }

  /** What is read of an object at most, as long as no other fails. */
  protected shareOf(source: Source): Promise<Share> {
    const known = this.#shares.get(source);
    if (known !== undefined) return known;
    const found = this.#findShare(source).then(({ times, instead }) => ({ times: roughly(times), instead }));
    this.#shares.set(source, found);
    return found;
  }

  async #findShare(source: Source): Promise<Share> {
    const broader = this.broader(source);
    if (broader.length > 0) await this.identify([source, ...broader]);
    const unclear = broader.filter((other) => this.#isUnclear(source, other));
    // What holds no match, has no copy of one.
    await this.of.look(unclear);
    const read = unclear.filter((other) => !this.isOut(other));
    const shares: Times[] = [];
    for (const other of read) shares.push((await this.shareOf(other)).times);
    return { times: without([[source.firstMs, source.lastMs]], shares), instead: read[0]?.job ?? null };
  }

  /** What was read, of any other job, before it was known that a broader object fails. */
  #readInstead(source: Source): Map<Source, Times> {
    const isInstead = ([other]: [Source, Times]): boolean =>
      other.job !== source.job &&
      !this.failed.has(wholeOf(other)) &&
      this.isBeside(other, source) &&
      this.#isUnclear(source, other);
    return new Map(this.failed.size === 0 ? [] : [...this.#read].filter(isInstead));
  }

  #isUnclear(source: Source, other: Source): boolean {
    return this.identified(source) === null || this.identified(other) === null;
  }

  /** Whether nothing is taken of an object, as it holds no match. */
  protected isOut(source: Source): boolean {
    return this.of.isOut(source);
  }

  /** Of the jobs, or what else says whose records are taken: the first is 0, or below. */
  protected rank({ job }: Source): number {
    return this.#ranks.get(job) ?? this.#ranks.size;
  }

  /** Objects of broader jobs with records of its time that is searched. */
  protected broader(source: Source): readonly Source[] {
    const rank = this.rank(source);
    const place = [source.job, rank, source.firstMs, source.lastMs].join();
    let all = this.#broader.get(place);
    if (all === undefined) {
      all = this.of.list.filter(
        (other) => this.rank(other) < rank && other.job !== source.job && this.isBeside(other, source),
      );
      this.#beside += all.length;
      if (this.#beside > BESIDE_MAX) {
        this.#broader.clear();
        this.#beside = all.length;
      }
      this.#broader.set(place, all);
    }
    return this.failed.size === 0 ? all : all.filter((other) => !this.failed.has(other));
  }

  protected isBeside(a: Source, b: Source): boolean {
    const { sinceMs, untilMs } = this.of.span;
    const firstMs = Math.max(a.firstMs, b.firstMs, sinceMs);
    return firstMs <= Math.min(a.lastMs, b.lastMs) && firstMs < untilMs;
  }

  protected async identify(sources: readonly Source[]): Promise<void> {
    // One moment may have thousands, each beside thousands: nearly always, all are known.
    const asked = new Set(sources.filter((source) => !this.#identified.has(wholeOf(source))).map(wholeOf));
    if (asked.size === 0) return;
    const found = await this.of.identify([...asked]);
    for (const source of asked) this.#identified.set(source, found.get(source) ?? null);
  }

  /** null: they are not to be had. */
  protected async load(source: Source): Promise<Identities | null> {
    const whole = wholeOf(source);
    const before = this.held(whole);
    const known = this.identified(whole);
    if (before !== null || known === null) return before;
    this.#loads += 1;
    const bytes = await known.load();
    this.#bytes += bytes?.length ?? 0;
    // What came since it was listed may be of another time than is known of it.
    const isOpen = whole.number === null;
    const identities = bytes && Identities.read(bytes, isOpen ? null : whole.records, whole.records);
    if (identities !== null) this.hold(whole, identities);
    return identities;
  }

  protected held(whole: Source): Identities | null {
    const held = this.#held.get(whole);
    if (held === undefined) return null;
    this.#held.delete(whole);
    this.#held.set(whole, held);
    return held;
  }

  /** Of an object that was read, so that they need not be asked for. */
  hold(source: Source, identities: Identities): void {
    const whole = wholeOf(source);
    this.#heldBytes += identities.size - (this.#held.get(whole)?.size ?? 0);
    this.#held.delete(whole);
    this.#held.set(whole, identities);
    for (const [oldest, { size }] of this.#held) {
      if (this.#heldBytes <= HELD_BYTES || oldest === whole) break;
      this.#held.delete(oldest);
      this.#heldBytes -= size;
    }
  }

  /** Whether this page has asked for as many as it may. */
  get isSpent(): boolean {
    return this.#loads >= LOADS_MAX;
  }
}
