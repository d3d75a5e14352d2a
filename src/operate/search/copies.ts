import { Identities } from "../../formats/sketch/identities.ts";
import type { Hit } from "./hits.ts";
import type { Identified, Identify } from "./identify.ts";
import { isNone, type Share, wholeOf } from "./share.ts";
import type { Source } from "./source.ts";

/**
 * What becomes of an object beside those of other jobs. `covered`: all of its records are in
 * objects of broader jobs, with all that is written of them. `undecided`: of a count, which of them
 * are is not to be had. Else it is read, but for the times of `without`, in which other objects may
 * have the same records, and it is not known which; and but for the records of `others`.
 */
export type Verdict = { kind: "covered" } | { kind: "undecided" } | ({ kind: "read" | "unknown" } & Judged);

export interface Judged extends Share {
  others: readonly Identities[];
}

/** What a search tells of its objects. */
export interface Searching {
  list: readonly Source[];
  /** Jobs, the broadest first. */
  order: readonly number[];
  identify: Identify;
  /** The time that is searched, in ms since the epoch. */
  span: { sinceMs: number; untilMs: number };
  /** Asks sketches of those of which they were not asked. */
  look(sources: readonly Source[]): Promise<void>;
  /** Whether a sketch says that it holds no match. */
  isOut(source: Source): boolean;
  /**
   * Copies that are read are not found to be such: a record is taken of the object of the broadest
   * job alone, whatever is written of it. Objects of broader jobs are read before.
   */
  isOnce: boolean;
}

/** What is compared to leave out an object: so many others, and bytes of all of them. */
const COMPARED_MAX = 32;
const COMPARED_BYTES = 1_000_000;
/** So many others where each record is taken of one object: what has more beside it is left out. */
const ONCE_MAX = 500;

/** Identities that are held for what is told next, in bytes. */
const HELD_BYTES = 2_000_000;

/** How often one search asks for identities that it can do without. */
const LOADS_MAX = 2_000;

/**
 * Copies of records in objects of several jobs. What is decided of an object hangs on those that
 * are listed and on those that could not be read, never on what was told: so pages agree.
 */
export class Copies {
  readonly #of: Searching;
  readonly #ranks: ReadonlyMap<number, number>;
  readonly #identified = new Map<Source, Identified | null>();
  readonly #broader = new Map<Source, Source[]>();
  readonly #shares = new Map<Source, Promise<Share>>();
  /** Of these, not every record can be had: none is left out for them. */
  readonly #failed = new Set<Source>();
  readonly #read = new Map<Source, Share>();
  /** What was left out for others, with the verdict. */
  readonly #left = new Map<Source, Verdict["kind"]>();
  /** The last that were used are last. */
  readonly #held = new Map<Source, Identities>();
  #heldBytes = 0;
  #loads = 0;
  #bytes = 0;

  constructor(of: Searching) {
    this.#of = of;
    this.#ranks = new Map(of.order.map((job, rank) => [job, rank]));
  }

  /** Of copies, the one with most fields is worth most; of several, that of the broadest job. */
  worthOf(source: Source): number {
    const fields = this.#identified.get(wholeOf(source))?.fields ?? 0;
    return bitsIn(fields) * 1_000_000 - this.#rank(source);
  }

  /** What was read since this was asked last, in bytes. */
  takeBytes(): number {
    const bytes = this.#bytes;
    this.#bytes = 0;
    return bytes;
  }

  /** Asks which records the first of these objects has, and at once those of the others. */
  async prepare(sources: readonly Source[]): Promise<void> {
    const [first] = sources;
    if (first !== undefined && !this.#identified.has(wholeOf(first))) await this.#identify(sources);
  }

  /** What tells which records an object has; null: it is not known. It has been judged. */
  identified(source: Source): Identified | null {
    return this.#identified.get(wholeOf(source)) ?? null;
  }

  /** Whether to read an object. It was prepared. */
  async judge(source: Source): Promise<Verdict> {
    for (;;) {
      const failed = this.#failed.size;
      const verdict = await this.#judged(source);
      if (failed !== this.#failed.size) continue;
      if (verdict.kind === "read") this.#read.set(source, verdict);
      // Of what is read in part, the rest may be read later.
      const isPart = verdict.kind === "read" && (verdict.without.length > 0 || verdict.others.length > 0);
      if (isPart || verdict.kind !== "read") this.#left.set(wholeOf(source), verdict.kind);
      return verdict;
    }
  }

  async #judged(source: Source): Promise<Verdict> {
    const broader = this.broader(source);
    await this.#identify([source, ...broader]);
    const others = await this.#others(source, broader);
    if (others === null) return { kind: "undecided" };
    const wanted = others.length === 0 ? null : await this.#load(source);
    if (wanted?.isIn(others)) return { kind: "covered" };
    const share = await this.#shareOf(source);
    const without = [...share.without, ...this.#readInstead(source)];
    const own = { ...share, without, others };
    return { kind: without.length > 0 && isNone(own) ? "unknown" : "read", ...own };
  }

  /** What of an object is read, as long as no other fails. */
  #shareOf(source: Source): Promise<Share> {
    const known = this.#shares.get(source);
    if (known !== undefined) return known;
    const found = this.#findShare(source);
    this.#shares.set(source, found);
    return found;
  }

  async #findShare(source: Source): Promise<Share> {
    const { firstMs, lastMs } = source;
    const broader = this.broader(source);
    if (broader.length > 0) await this.#identify([source, ...broader]);
    const unclear = broader.filter((other) => this.#isUnclear(source, other));
    // What holds no match, has no copy of one.
    await this.#of.look(unclear);
    const without: (Share & { job: number })[] = [];
    for (const other of unclear)
      if (!this.#of.isOut(other)) without.push({ ...(await this.#shareOf(other)), job: other.job });
    return { firstMs, lastMs, without };
  }

  /** What was read, of any other job, before it was known that a broader object fails. */
  #readInstead(source: Source): (Share & { job: number })[] {
    return [...this.#read].flatMap(([other, share]) => {
      const isOther = other.job !== source.job && !this.#failed.has(wholeOf(other));
      return isOther && this.#isBeside(other, source) && this.#isUnclear(source, other)
        ? [{ ...share, job: other.job }]
        : [];
    });
  }

  #isUnclear(source: Source, other: Source): boolean {
    return this.identified(source) === null || this.identified(other) === null;
  }

  /** What objects of broader jobs have, and is left out. null: it is not to be had. */
  async #others(source: Source, broader: readonly Source[]): Promise<Identities[] | null> {
    const own = this.identified(source);
    if (own === null) return [];
    const { isOnce } = this.#of;
    const others = broader.filter((other) => {
      const fields = this.identified(other)?.fields;
      return fields !== undefined && (isOnce || (fields & own.fields) === own.fields);
    });
    const bytes = others.reduce((sum, other) => sum + (this.identified(other)?.bytes ?? 0), own.bytes);
    const most = isOnce ? COMPARED_BYTES : Math.min(COMPARED_BYTES, Math.max(source.bytes, source.rawBytes) / 2);
    if (others.length === 0) return [];
    if (bytes > most || others.length > (isOnce ? ONCE_MAX : COMPARED_MAX)) return isOnce ? null : [];
    const found: Identities[] = [];
    for (const other of others) {
      const isRead = isOnce || (await this.#shareOf(other)).without.length === 0;
      const identities = isRead ? await this.#load(other) : null;
      if (identities !== null) found.push(identities);
      else if (isOnce && !(await this.#isOut(other))) return null;
    }
    return found;
  }

  /** Whether it holds no match, and so nothing is taken of it. */
  async #isOut(source: Source): Promise<boolean> {
    await this.#of.look([source]);
    return this.#of.isOut(source);
  }

  /**
   * Not every record of an object can be had: what was left out for it is to be read, as far as it
   * is of its time.
   * @returns that, and how many of them had counted as skipped.
   */
  distrust(source: Source): { again: Source[]; covered: number } {
    const failed = wholeOf(source);
    const again: Source[] = [];
    let covered = 0;
    if (this.#failed.has(failed)) return { again, covered };
    this.#failed.add(failed);
    this.#shares.clear();
    for (const [left, kind] of this.#left) {
      if (left.job === failed.job || this.#failed.has(left) || !this.#isBeside(left, failed)) continue;
      const [firstMs, lastMs] = [Math.max(left.firstMs, failed.firstMs), Math.min(left.lastMs, failed.lastMs)];
      again.push({ ...left, firstMs, lastMs, whole: left });
      if (kind === "covered") covered += 1;
      // It was told why; what it says now is not told again.
      this.#left.set(left, "unknown");
    }
    return { again, covered };
  }

  /** Adds the jobs that have a copy of these hits, found or not. */
  async withJobs(hits: readonly Hit[]): Promise<Hit[]> {
    const asked = hits.map((hit) => {
      const [timeMs, job, , , , record] = hit.place;
      const others =
        record === ""
          ? []
          : this.#of.list.filter((other) => {
              const isThen = other.firstMs <= timeMs && timeMs <= other.lastMs;
              return isThen && other.job !== job && !hit.alsoIn.includes(other.job) && !this.#failed.has(other);
            });
      return { hit, record, others };
    });
    await this.#identify(asked.flatMap(({ others }) => others));
    const known: Hit[] = [];
    for (const { hit, record, others } of asked) {
      const jobs = new Set(hit.alsoIn);
      for (const other of others)
        if (!jobs.has(other.job) && (await this.#load(other))?.holds(record)) jobs.add(other.job);
      known.push({ ...hit, alsoIn: [...jobs].sort((a, b) => a - b) });
    }
    return known;
  }

  /** Objects of broader jobs with records of its time that is searched. */
  broader(source: Source): Source[] {
    const known = this.#broader.get(source);
    const all =
      known ?? this.#of.list.filter((other) => this.#rank(other) < this.#rank(source) && this.#isBeside(other, source));
    this.#broader.set(source, all);
    return all.filter((other) => !this.#failed.has(other));
  }

  isBroadest(source: Source): boolean {
    return this.#rank(source) === 0;
  }

  #isBeside(a: Source, b: Source): boolean {
    const { sinceMs, untilMs } = this.#of.span;
    const firstMs = Math.max(a.firstMs, b.firstMs, sinceMs);
    return firstMs <= Math.min(a.lastMs, b.lastMs) && firstMs < untilMs;
  }

  #rank({ job }: Source): number {
    return this.#ranks.get(job) ?? this.#ranks.size;
  }

  async #identify(sources: readonly Source[]): Promise<void> {
    const asked = [...new Set(sources.map(wholeOf))].filter((source) => !this.#identified.has(source));
    if (asked.length === 0) return;
    const found = await this.#of.identify(asked);
    for (const source of asked) this.#identified.set(source, found.get(source) ?? null);
  }

  /** null: they are not to be had, or too many were. */
  async #load(source: Source): Promise<Identities | null> {
    const whole = wholeOf(source);
    const before = this.#held.get(whole);
    if (before !== undefined) {
      this.#held.delete(whole);
      this.#held.set(whole, before);
      return before;
    }
    const known = this.identified(whole);
    // Of a count, no other object is begun then.
    if (known === null || (this.isSpent && !this.#of.isOnce)) return null;
    this.#loads += 1;
    const bytes = await known.load();
    if (bytes === null) return null;
    this.#bytes += bytes.length;
    const identities = Identities.read(bytes, whole.number === null ? null : whole.records);
    if (identities === null) return null;
    this.hold(whole, identities);
    return identities;
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

  /** Whether no more can be asked for by this page. */
  get isSpent(): boolean {
    return this.#loads >= LOADS_MAX;
  }
}

function bitsIn(fields: number): number {
  let bits = 0;
  for (let left = fields; left !== 0; left &= left - 1) bits += 1;
  return bits;
}
