import { DurableObject } from "cloudflare:workers";
import {
  CLOCK_LEAP_MS,
  KEPT_MAX_BYTES,
  PAGE_MAX_BYTES,
  PAST_MAX_BYTES,
  SHARD_MAX_BYTES,
  SHARD_UNDER_WAY_BYTES,
} from "../../base/limits.ts";
import { log } from "../../base/logger.ts";
import { platform, within } from "../../base/platform.ts";
import { Alarm } from "../../base/storage/alarm.ts";
import { type DedupId, DedupIndex } from "../../base/storage/dedup-index.ts";
import { Sql, verbatim } from "../../base/storage/sql.ts";
import { readKeepMs, readMacKeys } from "../../config.ts";
import type { Source } from "../../formats/record/source.ts";
import { type JobsSnapshot, offNow, stampOf, wasIn } from "../job/config.ts";
import { type AccountStatus, accountStatus, type Loss, type Restored, type ShardLoad } from "./account-status.ts";
import {
  APPEND_FORMAT,
  type Append,
  type Appended,
  bareAppend,
  type PartHead,
  SHARD_BUSY,
  SHARD_FULL,
  SHARD_NOT_READY,
} from "./append-types.ts";
import { Blocks, beyondLost, type Keep, type NewBlock, type OpenMessage } from "./blocks.ts";
import { countedPart, offeredOf } from "./counted.ts";
import { Counting, type NewParts } from "./counting.ts";
import { Driver, type Pulled } from "./driver.ts";
import type { FunctionCount } from "./function-counts.ts";
import type { FunctionDay } from "./function-days.ts";
import type { VersionSeen } from "./function-versions.ts";
import type { RanIn } from "./health-keys.ts";
import { JobsCopy, type ShardJob } from "./jobs-copy.ts";
import { JOIN_MS, Joining } from "./joining.ts";
import { TRACE_LOG_STEPS } from "./log-migrations.ts";
import { MeanRate } from "./mean-rate.ts";
import type { MonthUse } from "./month-use.ts";
import { nodeName, nodeOf } from "./nodes.ts";
import {
  blockOf,
  eachFirst,
  eachOnce,
  isOfPast,
  type Offer,
  type Offers,
  offerOf,
  offOf,
  openEntry,
  recordsOf,
} from "./offers.ts";
import { type HeldEntry, type HeldMessage, type HeldPart, type HoldMessage, OnHold } from "./on-hold.ts";
import type { Counted, ProblemList } from "./problems.ts";
import { type Due, Readers } from "./readers.ts";
import { type Deaths, type Noted, type NotedMessage, Redeliveries } from "./redeliveries.ts";
import type { SearchSum } from "./search-counts.ts";
import { searchedIn } from "./searched.ts";
import type { HoldResent, Page, ShardJobStatus, ShardStatus } from "./shard-answers.ts";
import { showLive } from "./show-live.ts";
import { earlier } from "./sums.ts";

const SWEEP_EVERY_MS = 86_400_000;

/** How long it may take until a job that starts at the earliest time is known here, in ms. */
export const JOB_KNOWN_MS = 10_000;

/** How long records stay at least while pages watch them, in ms. */
const WATCHED_KEEP_MS = 60_000;

/** What a shard takes a second is measured over so many minutes. */
const LOAD_MINUTES = 10;

/**
 * Messages get through if one was counted within this, in ms: less than it takes to set a message
 * aside that dies alone three times, 300 s apart, from its first delivery on. So a deployment that
 * dies of every message sets none aside.
 */
const WELL_MS = 1_200_000;

/** When a reader that is under way is looked at again, in ms: later than it may take. */
const READING_MS = 15_000;

/** How long an alarm waits for the readers that it drives, in ms. They go on afterwards. */
const ALARM_WAIT_MS = 2_000;

/** What an append did. */
interface Added extends Appended {
  /** Position of what is new; null: nothing of it is kept. */
  n: number | null;
  counted: NewParts;
  /** A saved search may have passed its threshold, or a problem is new here. */
  hasCrossed: boolean;
}

/**
 * One shard of the log. An append is one transaction: it decides whether a part is new, counts it,
 * and keeps what each job is to get of it as a block, until the jobs' readers have read it. Nothing
 * else decides whether a record exists. It also keeps messages that are on hold, and counts the
 * account's events by function.
 */
export class TraceLog extends DurableObject<Env> {
  readonly #sql: Sql;
  #shard = 0;
  readonly #ids: DedupIndex;
  readonly #jobs: JobsCopy;
  readonly #joining: Joining;
  readonly #counting: Counting;
  readonly #redeliveries: Redeliveries;
  readonly #hold: OnHold;
  readonly #blocks: Blocks;
  readonly #readers = new Readers();
  readonly #driver: Driver;
  readonly #alarm: Alarm;
  readonly #parts = new MeanRate(LOAD_MINUTES);
  readonly #bytes = new MeanRate(LOAD_MINUTES);
  /** Position of the newest block there ever was. */
  #lastBlock = 0;
  /** Bytes of appends that are not stored yet. */
  #underWay = 0;
  /** Overridden by tests. */
  maxBytes = SHARD_MAX_BYTES;
  keptMaxBytes = KEPT_MAX_BYTES;
  pastMaxBytes = PAST_MAX_BYTES;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    this.#sql = new Sql(sql);
    this.#ids = new DedupIndex(sql);
    this.#jobs = new JobsCopy(sql);
    this.#joining = new Joining({
      ...{ env, jobs: this.#jobs, shard: () => this.#shard, take: (snapshot) => this.#take(snapshot) },
      waitUntil: (promise) => ctx.waitUntil(promise),
    });
    this.#counting = new Counting(sql, this.#jobs, env);
    this.#redeliveries = new Redeliveries(sql, this.#ids);
    this.#hold = new OnHold(sql);
    this.#blocks = new Blocks(sql, () => this.#readers.pasts());
    this.#alarm = new Alarm(ctx.storage);
    this.#driver = new Driver({
      pull: ({ job, segment, cut }) => {
        const how = { segment, from: this.#readers.of(job).cursor, cut };
        return env.READERS.getByName(nodeName(job, nodeOf(this.#shard, segment))).pull(how);
      },
      due: (everything) => this.#due(everything),
      done: (due, pulled) => this.#pulled(due, pulled),
      hasFailed: (job) => this.#readers.hasFailed(job),
      waitUntil: (promise) => ctx.waitUntil(promise),
    });
    this.#alarm.begin(ctx, TRACE_LOG_STEPS, () => {
      this.#shard = shardOfObject(this.#sql, ctx.id.name);
      this.#counting.begin(platform.now());
      this.#load();
    });
  }

  /**
   * Takes parts, each once, and what jobs are to get of them.
   * @throws Error by one of the names of append-types.ts: then nothing was taken, and the caller
   *   tries again.
   */
  async append(append: Append): Promise<Appended> {
    if (append.v > APPEND_FORMAT)
      throw new Error(`${SHARD_NOT_READY}: log ${this.#shard} runs an earlier release than its caller`);
    const bytes = sizeOf(append);
    if (this.#sql.databaseSize >= this.maxBytes) throw new Error(`${SHARD_FULL}: log ${this.#shard}`);
    if (this.#underWay > 0 && this.#underWay + bytes > SHARD_UNDER_WAY_BYTES)
      throw new Error(`${SHARD_BUSY}: log ${this.#shard}`);
    this.#underWay += bytes;
    try {
      await this.#joining.ready(append.state);
      const { n, counted, hasCrossed, ...appended } = this.#transaction(() => this.#append(append));
      this.#wake(counted, hasCrossed);
      if (n !== null && this.#isWatched()) {
        const block = { shard: this.#shard, n, ids: appended.fresh };
        this.ctx.waitUntil(showLive(this.env, block));
      }
      this.#parts.add(append.parts.length, platform.now());
      this.#bytes.add(bytes, platform.now());
      this.#driver.wake();
      await this.ctx.storage.sync();
      return appended;
    } finally {
      this.#underWay -= bytes;
    }
  }

  #append({ records, ...rest }: Append): Added {
    const append = { ...rest, records: eachOnce(records) };
    const nowMs = platform.now();
    const forgotten_ms = this.#sql.only<number>`SELECT forgotten_ms FROM state`;
    const parts = eachFirst(append.parts);
    const first = new Set(parts);
    const known = this.#ids.known(parts);
    const isOld = (part: PartHead): boolean => part.takenInMs < forgotten_ms;
    const again = append.parts.filter((part) => part.keyed && (known.has(part.id) || !first.has(part)));
    const fresh = parts.filter((part) => !known.has(part.id) && !isOld(part));
    const old = parts.filter((part) => !known.has(part.id) && isOld(part));
    for (const { id } of append.parts) this.#redeliveries.finished(id);
    if (old.length > 0) this.#holdOld(old, append, nowMs);
    const offers = new Map(fresh.map((part) => [part, offerOf(part, this.#jobs.all())]));
    const block = this.#blockOf(offers, append, parts.length === fresh.length && again.length === 0);
    const counted = this.#counted(offers, append);
    this.#remember(offers);
    if (block !== null) this.#add(block, nowMs);
    const n = block === null ? null : this.#lastBlock;
    for (const part of again) this.#addAgain(part, append, nowMs);
    const hasCrossed = this.#count(counted, append, nowMs);
    this.#arm(nowMs);
    return { fresh: fresh.map(({ id }) => id), tooOld: old.map(({ id }) => id), n, counted, hasCrossed };
  }

  #blockOf(offers: Offers, append: Append, isWhole: boolean): NewBlock | null {
    return blockOf(offers, append, this.#jobs.all().jobs, { isWhole, isKept: this.#keepPolicy().ms > 0 });
  }

  /** How much of what is read stays. While pages are open, they read what is new. */
  #keepPolicy(): Keep {
    const [keepMs, watchedMs] = [readKeepMs(this.env), this.#isWatched() ? WATCHED_KEEP_MS : 0];
    return { ms: Math.max(keepMs === 0 ? 0 : keepMs + JOB_KNOWN_MS, watchedMs), bytes: this.keptMaxBytes };
  }

  /** Pages are open. */
  #isWatched(): boolean {
    return this.#sql.only<number>`SELECT watched_until_ms FROM state` > platform.now();
  }

  #remember(offers: Offers): void {
    this.#ids.remember([...offers.keys()].filter(({ keyed }) => !keyed));
    for (const [part, { jobs }] of offers)
      if (part.keyed) this.#ids.rememberKeyed(part.id, { takenMs: part.takenInMs, jobs: [...jobs] });
  }

  /**
   * A further copy of a request: jobs that were enabled when this copy was taken in, and were not
   * offered another one, get it. The account has counted it.
   */
  #addAgain(part: PartHead, { records }: Append, nowMs: number): void {
    const known = this.#ids.keyedOf(part.id);
    const offer = offerOf(part, this.#jobs.all());
    const received = offeredOf(part, offer.off);
    // One that starts in the past finds the copy that is in a block; a rerun ships no other.
    const finds = ({ id, config }: ShardJob): boolean => {
      const { past } = this.#readers.of(id);
      return config.rerunOf !== undefined || (past !== undefined && known !== null && wasIn(past, known.takenMs));
    };
    const isNew = (job: ShardJob): boolean => known?.jobs.includes(job.id) === false && !finds(job);
    const jobs = this.#jobs.all().jobs.filter((job) => offer.jobs.has(job.id) && isNew(job));
    if (known === null || jobs.length === 0 || received === 0) return;
    this.#ids.rememberKeyed(part.id, { ...known, jobs: [...known.jobs, ...jobs.map(({ id }) => id)] });
    this.#add(
      {
        takenMs: part.takenInMs,
        parts: [part.id],
        entries: jobs.map((job) => openEntry(job, received)),
        groups: [],
        off: offOf([part], new Map([[part, offer]])),
        records: records.filter(({ parts }) => parts.includes(part.id)),
      },
      nowMs,
    );
  }

  /** Stored with the counts, in one row. */
  #add(block: NewBlock, nowMs: number): void {
    const { n, unread } = this.#blocks.add(block, this.#lastBlock, nowMs);
    this.#lastBlock = n;
    for (const entry of block.entries) {
      const each = unread.get(entry.id);
      if (each !== undefined) this.#readers.added(entry.id, each, entry.received);
    }
  }

  #counted(offers: Offers, append: Append): NewParts {
    const { searches } = this.#jobs.all();
    return {
      parts: [...offers].map(([part, { off, jobs }]) => countedPart(part, off, jobs.size > 0)),
      searched: searches.length === 0 ? new Map() : searchedIn(offers, searches, append, readMacKeys(this.env)),
    };
  }

  /** @returns as of {@link Added}: `hasCrossed`. */
  #count(counted: NewParts, { queue, work }: Pick<Append, "queue" | "work">, nowMs: number): boolean {
    const [readers, lastBlock] = [this.#readers.text(), this.#lastBlock];
    const changed = { queue, work, readers, lastBlock, keptSinceMs: this.#expire(nowMs) };
    return this.#counting.add(counted, changed, nowMs);
  }

  #wake(counted: NewParts, hasCrossed: boolean): void {
    const waking = this.#counting.added(counted, hasCrossed);
    if (waking !== null) this.ctx.waitUntil(waking);
  }

  /**
   * Ends what is kept too long. A past that takes too much is given up: it holds up what others
   * have. @returns all that was added later is kept, in ms since the epoch.
   */
  #expire(nowMs: number): number {
    if (this.#blocks.bytes > this.pastMaxBytes) this.#giveUp();
    const keep = this.#keepPolicy();
    const endedMs = this.#blocks.expire(this.#cursorOf(), keep, nowMs) ?? 0;
    const { keptSinceMs, newestMs } = this.#keptState();
    // What is not kept at all was taken in by now, or is the newest.
    return Math.max(endedMs, keptSinceMs, keep.ms === 0 ? Math.max(nowMs, newestMs) : 0);
  }

  #keptState(): { keptSinceMs: number; newestMs: number } {
    return this.#sql.one`SELECT kept_since_ms AS keptSinceMs, newest_taken_ms AS newestMs FROM state`;
  }

  /** Of the jobs whose past takes room alone, the one that has had it for longest loses it. */
  #giveUp(): void {
    const pasts = this.#readers.pasts();
    if (pasts.size === 0) return;
    // What a reader may have been handed already, it may commit.
    const handed = ([job]: [number, unknown]): [number, number] => {
      const { end } = this.#blocks.read(job, this.#readers.cursorOf(job), PAGE_MAX_BYTES);
      return [job, end];
    };
    const ends = new Map([...pasts].map(handed));
    const cursorOf = this.#cursorOf();
    const held = this.#blocks.heldByPast((job) => Math.max(cursorOf(job), ends.get(job) ?? 0));
    const notedMs = (job: number): number => pasts.get(job)?.atMs ?? 0;
    const [job] = [...held].sort((a, b) => notedMs(a) - notedMs(b));
    if (job === undefined) return;
    log.error("the past of a job is given up", { durable_object: "TraceLog", shard: this.#shard, job });
    this.#readers.giveUp(job, ends.get(job) ?? 0, (after, upTo) => this.#blocks.between(after, upTo));
    this.#blocks.drop(this.#cursorOf(), 0, this.#lastBlock);
    this.#storeReaders();
  }

  /** Parts whose ids may be forgotten: whether they are new cannot be told. */
  #holdOld(old: readonly PartHead[], { records }: Append, nowMs: number): void {
    for (const { body, parts: ids } of records) {
      const parts = old.filter(({ id }) => ids.includes(id));
      if (parts.length === 0) continue;
      const held = parts.map((part) => this.#heldPart({ ...part, records: recordsOf(part) }));
      const message = body.slice().buffer;
      this.#hold.add({ message, queue: "", why: "came so late that it cannot be told whether it is new" }, held, nowMs);
      // By themselves, as their minutes are deleted with the next sweep.
      for (const { id, jobs } of held) this.#ids.rememberKeyed(id, { takenMs: nowMs, jobs });
    }
  }

  #heldPart({ id, takenInMs, keyed, records }: DedupId & { records: number }): HeldPart {
    const { off, jobs } = offerOf({ takenInMs }, this.#jobs.all());
    return { id, takenInMs, keyed, records, jobs: [...jobs], off: [...off] };
  }

  /** Which of these parts, without a key, were taken or are on hold. */
  known(parts: readonly DedupId[]): string[] {
    return [...this.#ids.known(parts)];
  }

  /**
   * What a job has not read yet.
   * @param segment of its reader. @param after position up to which it has committed.
   * @param stamp `stampOf` the configuration that it has; "": none.
   */
  read(job: number, segment: number, after: number, stamp: string, maxBytes: number): Page {
    const now = this.#jobs.all().jobs.find(({ id }) => id === job);
    this.#transaction(() => {
      // What the copy lacks is forgotten.
      if (now === undefined) return;
      if (segment === this.#readers.of(job).segment) {
        // It says less only if its storage does. What is discarded, it need not have read.
        if (after < this.#readers.cursorOf(job) && !now.discard) this.#wasRestored("reader", job);
        this.#committed(job, after);
      }
      if (stamp !== "") this.#readers.has(job, segment, stamp);
    });
    // Of a job that the copy lacks, it may be about to learn that it starts in the past.
    const page: Page =
      now === undefined || segment < this.#readers.of(job).segment
        ? { items: [], end: after, isAll: true }
        : this.#blocks.read(job, after, maxBytes);
    return now === undefined || stampOf(now) === stamp ? page : { ...page, job: now.config };
  }

  #storeReaders(): void {
    this.#sql.run`UPDATE state SET readers = ${this.#readers.text()} WHERE id = 1`;
  }

  /** A reader has committed up to this position; what all have read is dropped. */
  #committed(job: number, cursor: number): void {
    if (!Number.isSafeInteger(cursor)) throw new Error("a reader's position is not an integer");
    if (cursor > this.#lastBlock) {
      // What it lost is lost, and no position is given twice.
      this.#wasRestored("shard", job);
      this.#lastBlock = beyondLost(cursor, platform.now());
      this.#sql.run`UPDATE state SET last_block = ${this.#lastBlock} WHERE id = 1`;
    }
    const { cursor: before } = this.#readers.of(job);
    if (cursor <= before) return;
    const hadPast = this.#readers.pasts().has(job);
    this.#readers.committed(job, cursor, (after, upTo) => this.#blocks.between(after, upTo));
    this.#blocks.drop(this.#cursorOf(), before, cursor);
    // What is dropped of a past is known to be read.
    if (hadPast) this.#storeReaders();
  }

  /** Storage was set back to an earlier time. */
  #wasRestored(who: Restored["who"], job: number): void {
    log.error("storage was restored to an earlier time", { durable_object: "TraceLog", shard: this.#shard, who, job });
    const restored: Restored = { who, job, atMs: platform.now() };
    const lostMs = who === "shard" ? restored.atMs : 0;
    this.#sql.run`
      UPDATE state SET restored = ${JSON.stringify(restored)}, kept_since_ms = max(kept_since_ms, ${lostMs})
      WHERE id = 1`;
    if (who === "shard") this.#counting.searches.missed(restored.atMs);
  }

  /** A job that the copy lacks has read everything. */
  #cursorOf(): (job: number) => number {
    const jobs = new Set(this.#jobs.all().jobs.map(({ id }) => id));
    return (job) => (jobs.has(job) ? this.#readers.cursorOf(job) : Number.POSITIVE_INFINITY);
  }

  /**
   * Has readers read what is unread, also what is not due yet.
   * @param jobs absent: all.
   */
  async drive(jobs?: readonly number[]): Promise<void> {
    await this.#joining.ready();
    await this.#driver.drive(jobs);
    this.#transaction(() => this.#arm(platform.now()));
  }

  #due(everything: boolean): Due[] {
    return this.#readers.due(this.#jobs.all().jobs, this.#shard === 0, platform.now(), everything);
  }

  /** @param pulled null: it did not answer. */
  #pulled({ job, segment }: Due, pulled: Pulled | null): void {
    const nowMs = platform.now();
    this.#transaction(() => {
      const before = JSON.stringify(this.#readers.of(job));
      const standing = this.#readers.standingOf(job);
      // What the copy lacks is forgotten.
      if (pulled !== null && this.#jobs.all().jobs.some(({ id }) => id === job)) {
        if (segment === this.#readers.of(job).segment) {
          this.#committed(job, pulled.cursor);
          if (pulled.sealed) this.#readers.sealed(job);
        }
        this.#readers.has(job, segment, pulled.holds || !pulled.sealed ? pulled.stamp : "");
      }
      // One that gets no further is not asked again at once.
      const isStuck =
        this.#due(false).some((due) => due.job === job) && before === JSON.stringify(this.#readers.of(job));
      if (pulled === null || isStuck) this.#readers.failed(job, nowMs);
      else this.#readers.succeeded(job);
      // Cursors are stored with the next append: until then, a shard that dies asks once too often.
      if (standing !== this.#readers.standingOf(job)) this.#storeReaders();
      this.#arm(nowMs, job);
    });
  }

  /** Takes a configuration. @returns the state in force afterwards. */
  async configure(snapshot: JobsSnapshot): Promise<string> {
    if (this.#jobs.isLater(snapshot.state)) this.#take(snapshot);
    // Of another history, which may be over: only the control plane knows.
    else if (!this.#jobs.isOfSameHistory(snapshot.state)) await this.#joining.join();
    return this.#jobs.state();
  }

  /** State of the copy of the configuration; "": there is none. */
  configState(): string {
    return this.#jobs.state();
  }

  #take(snapshot: JobsSnapshot): void {
    const nowMs = platform.now();
    this.#transaction(() => {
      const before = new Set(this.#jobs.all().jobs.map(({ id }) => id));
      this.#jobs.keep(snapshot);
      const { jobs } = this.#jobs.all();
      for (const job of jobs) if (!before.has(job.id)) this.#begin(job, nowMs);
      this.#readers.keep(new Set(jobs.map(({ id }) => id)));
      this.#readers.forgive();
      // Whether its readers answer or not; what they have not counted is discarded.
      for (const { id, discard } of jobs) if (discard) this.#readers.committed(id, this.#lastBlock, () => []);
      this.#blocks.drop(this.#cursorOf(), 0, this.#lastBlock);
      this.#storeReaders();
      this.#arm(nowMs);
    });
  }

  /** A job that starts in the past gets what is kept of it. */
  #begin({ id, windows, config }: ShardJob, atMs: number): void {
    if (config.since === undefined) return;
    const { keptSinceMs, newestMs } = this.#keptState();
    // What comes later is judged when it comes, whenever it was taken in.
    const closed = windows.map((each) => ({ ...each, untilMs: Math.min(each.untilMs ?? newestMs, newestMs) }));
    const past = { upTo: this.#lastBlock, atMs, windows: closed };
    this.#readers.begins(id, past, keptSinceMs, (after, upTo) => this.#blocks.between(after, upTo));
  }

  /** Keeps a message from the jobs. Parts of it that are known are left out. */
  async hold(message: HoldMessage): Promise<void> {
    await this.#joining.ready();
    const nowMs = platform.now();
    this.#transaction(() => {
      for (const { id } of message.parts) this.#redeliveries.finished(id);
      const isWhole = message.parts.length > 0;
      const ids = isWhole ? message.parts : [{ ...message.hash, records: 1 }];
      const known = this.#ids.known(ids);
      const unknown = ids.filter(({ id }) => !known.has(id));
      if (unknown.length === 0) return;
      const held = isWhole ? unknown.map((part) => this.#heldPart(part)) : [];
      this.#hold.add(message, held, nowMs);
      const forgotten = this.#sql.only<number>`SELECT forgotten_ms FROM state`;
      const byMinute = ({ keyed, takenInMs }: DedupId): boolean => !keyed && takenInMs >= forgotten;
      this.#ids.remember(unknown.filter(byMinute));
      for (const each of unknown)
        if (!byMinute(each))
          this.#ids.rememberKeyed(each.id, { takenMs: nowMs, jobs: held.find(({ id }) => id === each.id)?.jobs ?? [] });
    });
  }

  /** A page of the messages on hold, the oldest first, and how many there are in all. */
  holdList(offset: number, limit: number): { entries: HeldEntry[]; total: number } {
    return { entries: this.#hold.list(offset, limit), total: this.#hold.count() };
  }

  /** null: it is not on hold (any more). */
  holdMessage(id: number): HeldMessage | null {
    return this.#hold.get(id);
  }

  /**
   * Adds a message on hold to the log, for the jobs that were enabled when it was taken in, and
   * deletes it.
   * @param heads its parts, as they are read now.
   * @returns null: it is not on hold (any more).
   * @throws if these are not all parts that are on hold.
   */
  async holdResend(id: number, heads: readonly PartHead[]): Promise<HoldResent | null> {
    await this.#joining.ready();
    const nowMs = platform.now();
    const done = this.#transaction(() => {
      const parts = this.#hold.partsOf(id);
      const message = this.#hold.get(id);
      if (parts === null || message === null) return null;
      const { jobs } = this.#jobs.all();
      const there = new Set(jobs.filter(({ discard }) => !discard).map((job) => job.id));
      const offers = new Map<PartHead, Offer>();
      for (const part of parts) {
        const head = heads.find((each) => each.id === part.id);
        if (head === undefined) throw new Error("a part of the message is missing");
        // In no block, so a job that came later and starts in the past has not had it.
        const past = jobs.filter((job) => isOfPast(job.config) && wasIn(job, part.takenInMs));
        const own = [...part.jobs, ...past.map((job) => job.id)].filter((job) => there.has(job));
        // It costs no queue operation again.
        offers.set({ ...head, bytes: 0 }, { off: new Set(part.off), jobs: new Set(own) });
      }
      const body = new Uint8Array(message.message);
      const records = [{ body, parts: [...offers.keys()].map((head) => head.id) }];
      // All entries are made by the readers.
      const append = bareAppend([], records);
      const block = this.#blockOf(offers, append, false);
      const counted = this.#counted(offers, append);
      const removed = this.#hold.remove(id) ?? 0;
      this.#sql.run`UPDATE state SET processed = processed - ${removed} WHERE id = 1`;
      if (block !== null) this.#add(block, nowMs);
      const hasCrossed = this.#count(counted, append, nowMs);
      this.#arm(nowMs);
      const noted = new Set(parts.flatMap((part) => part.jobs));
      const count = { events: 0, routed: 0, notEnabled: 0, notRouted: 0 };
      for (const part of counted.parts)
        for (const name of Object.keys(count) as (keyof typeof count)[]) count[name] += part[name];
      const resent: HoldResent = {
        jobs: block?.entries.map((entry) => entry.id) ?? [],
        gone: [...noted].filter((job) => !there.has(job)),
        count,
      };
      return { resent, counted, hasCrossed };
    });
    if (done === null) return null;
    this.#wake(done.counted, done.hasCrossed);
    this.#driver.wake();
    return done.resent;
  }

  /**
   * Deletes a message on hold. @returns how many events count as discarded; null: it is not on hold
   * (any more).
   */
  holdDiscard(id: number): number | null {
    return this.#transaction(() => {
      const events = this.#hold.remove(id);
      if (events !== null) this.#sql.run`UPDATE state SET discarded = discarded + ${events} WHERE id = 1`;
      return events;
    });
  }

  /** Deletes a message on hold whose parts were appended: it counted as one event. */
  holdSent(id: number): boolean {
    return this.#transaction(() => {
      const events = this.#hold.remove(id);
      if (events !== null) this.#sql.run`UPDATE state SET processed = processed - ${events} WHERE id = 1`;
      return events !== null;
    });
  }

  /**
   * Notes parts, so that nothing is claimed complete beyond them. Parts that are known are skipped.
   * @returns as {@link Redeliveries.note}.
   */
  expectAgain(parts: readonly NotedMessage[], how: Noted): Deaths[] {
    const isWell = this.#counting.totals.hasCountedSince(platform.now() - WELL_MS);
    return this.#transaction(() => this.#redeliveries.note(parts, how, isWell));
  }

  /** What is not in the readers of these jobs. Ask it after them. */
  status(jobs: readonly number[]): ShardStatus {
    const held = this.#hold.jobs();
    const doneMs = this.#sql.only<number>`SELECT queue_done_ms FROM state`;
    return {
      jobs: Object.fromEntries(
        // Of a job that its copy lacks a shard can say nothing.
        this.#jobs
          .all()
          .jobs.filter(({ id }) => jobs.includes(id))
          .map(({ id, discard }): [number, ShardJobStatus] => {
            const { received, lost = null } = this.#readers.of(id);
            const backlog = this.#readers.backlogOf(id);
            const unread = backlog && {
              ...{ records: backlog.records, bytes: backlog.bytes },
              ...{ oldestMs: backlog.oldestMs, sinceMs: backlog.openedMs },
            };
            const standing = { hasPast: this.#readers.pasts().has(id), lost };
            return [id, { received, unread, isDiscarded: discard, isOnHold: held?.has(id) ?? true, ...standing }];
          }),
      ),
      queueDoneMs: doneMs > platform.now() ? 0 : doneMs,
      oldestUnfinishedMs: this.oldestUnfinishedMs(),
    };
  }

  /**
   * Time of intake of the oldest part that comes again, or is on hold, in ms; 0: that of one on
   * hold is unknown; null: there is none.
   */
  oldestUnfinishedMs(): number | null {
    return earlier(this.#redeliveries.oldestMs(), this.#hold.oldestTakenMs());
  }

  /** Live viewers watch until then, in ms since the epoch; 0: none does. */
  watchedUntil(ms: number): void {
    this.#sql.run`UPDATE state SET watched_until_ms = ${ms} WHERE id = 1`;
  }

  /** As {@link Blocks.records}; functions whose logging is off now are named in `off`, too. */
  records(after: number, maxBytes: number, newest = false): { messages: OpenMessage[]; end: number } {
    const isOff = [...offNow(this.#jobs.all().optOuts)];
    const { messages, end } = this.#blocks.records(after, maxBytes, newest);
    const offOf = ({ parts, off }: OpenMessage) =>
      Object.fromEntries(parts.map((id): [string, string[]] => [id, [...(off[id] ?? []), ...isOff]]));
    return { messages: isOff.length === 0 ? messages : messages.map((each) => ({ ...each, off: offOf(each) })), end };
  }

  /** Counts events that intake lost. */
  countLost(events: number, why: Loss): void {
    const column = verbatim(`intake_${why}`);
    this.#sql.run`UPDATE state SET ${column} = ${column} + ${events} WHERE id = 1`;
  }

  /** As {@link SentPlaces.admit}; the first shard alone is asked. */
  admit(source: Source, places: readonly string[]): boolean {
    return this.#transaction(() => this.#counting.sent.admit(source, places, platform.now()));
  }

  /** Events by function, over the last thirty days. */
  functions(): FunctionCount[] {
    return this.#counting.functions.totals(platform.now());
  }

  /** Events by function, today and yesterday (UTC). */
  functionsLately(): FunctionCount[] {
    return this.#counting.functions.lately(platform.now());
  }

  /**
   * The latest event of these functions, in ms since the epoch; functions without one in thirty
   * days are left out.
   */
  lastEvents(scriptNames: readonly string[]): { scriptName: string; lastEventMs: number }[] {
    const last = this.#counting.functions.lastOf(new Set(scriptNames), platform.now());
    return [...last].map(([scriptName, lastEventMs]) => ({ scriptName, lastEventMs }));
  }

  /** Events of one function, over the last thirty days; null: there were none. */
  functionCount(scriptName: string): FunctionCount | null {
    return this.#counting.functions.of(scriptName, platform.now());
  }

  /** As {@link SearchCounts.list}. */
  searchCounts(): SearchSum[] {
    return this.#counting.searches.list(this.#jobs.all().searches);
  }

  /** As {@link HealthSlots.hours}. */
  functionHours(scriptName: string, since: number, until: number): RanIn[] {
    return this.#counting.health.hours(scriptName, since, until, platform.now());
  }

  /** As {@link HealthSlots.slots}. */
  functionSlots(scriptName: string, since: number, until: number): RanIn[] {
    return this.#counting.health.slots(scriptName, since, until, platform.now());
  }

  /** As {@link HealthSlots.days}. */
  functionDays(): FunctionDay[] {
    return this.#counting.health.days(platform.now());
  }

  /** As {@link HealthSlots.versions}. */
  functionVersions(scriptName: string): VersionSeen[] {
    return this.#counting.health.versions(scriptName, platform.now());
  }

  /** As {@link Problems.list}. */
  problems(scriptName?: string): ProblemList<Counted> {
    return this.#counting.problems.list(scriptName);
  }

  /**
   * Forgets a function's name. Its counts stay in the sum, without a name; later events are counted
   * anew.
   */
  forgetFunction(scriptName: string): void {
    this.#transaction(() => {
      this.#counting.forget(scriptName, platform.now());
    });
  }

  /**
   * Forgets old ids and counts, once a day. A clock that leaps ahead forgets nothing: ids go by the
   * newest part, too.
   */
  sweep(): void {
    const now = platform.now();
    this.#transaction(() => {
      const keptSinceMs = this.#expire(now);
      this.#sql.run`
        UPDATE state SET kept_since_ms = ${keptSinceMs} WHERE id = 1 AND kept_since_ms <> ${keptSinceMs}`;
    });
    const { swept_ms, newest_taken_ms } = this.#sql.one<{ swept_ms: number; newest_taken_ms: number }>`
      SELECT swept_ms, newest_taken_ms FROM state`;
    if (Math.abs(now - swept_ms) < SWEEP_EVERY_MS) return;
    const idsMs = Math.min(now, newest_taken_ms + CLOCK_LEAP_MS);
    this.#transaction(() => {
      const forgotten = this.#ids.sweep(idsMs);
      this.#redeliveries.sweep(idsMs);
      this.#counting.sweep(now, idsMs);
      this.#sql.run`UPDATE state SET swept_ms = ${now}, forgotten_ms = max(forgotten_ms, ${forgotten}) WHERE id = 1`;
    });
  }

  /** Use of this month (UTC) so far; null: nothing was ever counted. */
  monthUse(): MonthUse | null {
    return this.#counting.totals.monthUse(platform.now());
  }

  /** The account's counts, as far as this shard has them. */
  accountStatus(): AccountStatus {
    return accountStatus(this.#sql, {
      oldestUnfinishedMs: this.#redeliveries.oldestMs(),
      oldestMs: this.#hold.oldestMs(),
      stopsClaims: this.#hold.oldestTakenMs() === 0,
      load: this.#measured(),
      ...this.#counting.lastHour.of(platform.now()),
      crowded: this.#counting.sent.crowded(platform.now()),
      keptSinceMs: this.#keptSinceMs(),
    });
  }

  /** null: nothing is kept. What is asked for now is still there when the shards are told of it. */
  #keptSinceMs(): number | null {
    const keepMs = readKeepMs(this.env);
    const endedMs = this.#sql.only<number>`SELECT kept_since_ms FROM state`;
    const now = platform.now();
    return keepMs === 0 ? null : Math.min(now, Math.max(endedMs === 0 ? 0 : endedMs + JOB_KNOWN_MS, now - keepMs));
  }

  /** null: it is not measured yet. */
  #measured(): ShardLoad | null {
    const [parts, bytes] = [this.#parts.perSecond(platform.now()), this.#bytes.perSecond(platform.now())];
    return parts === null || bytes === null ? null : { parts, bytes };
  }

  /** Drives what is due, and sets the next alarm. */
  override alarm(): Promise<void> {
    return this.#alarm.fired("TraceLog", JOIN_MS, async () => {
      const driven = this.#driver.due();
      this.ctx.waitUntil(driven);
      // One alarm at a time: a reader that does not answer must not hold up those that are due
      // next.
      await within(ALARM_WAIT_MS, driven, undefined);
      this.#transaction(() => this.#arm(platform.now()));
    });
  }

  /**
   * Sets the alarm for the next job that is due. What is being read sets it when that ends, unless
   * this instance dies before.
   * @param ended its reader has just ended; the others that read are as they were.
   */
  #arm(nowMs: number, ended?: number): void {
    const next = this.#jobs.all().jobs.map((job) => {
      const dueMs = this.#readers.dueMs(job, this.#shard === 0, nowMs);
      if (!this.#driver.isRunning(job.id)) return dueMs;
      if (ended !== undefined && ended !== job.id) return Number.POSITIVE_INFINITY;
      return dueMs > nowMs ? dueMs : nowMs + READING_MS;
    });
    this.#alarm.set(Math.min(Number.POSITIVE_INFINITY, ...next), nowMs);
  }

  /** A transaction; if it fails, what is held in memory is read again. */
  #transaction<T>(change: () => T): T {
    try {
      return this.#alarm.transaction(change);
    } catch (error) {
      this.#load();
      throw error;
    }
  }

  #load(): void {
    const { readers, last_block } = this.#sql.one<{ readers: string; last_block: number }>`
      SELECT readers, last_block FROM state`;
    this.#lastBlock = last_block;
    this.#counting.load();
    this.#blocks.load();
    this.#readers.load(readers, this.#blocks.between(0));
  }
}

function sizeOf({ records, prepared }: Append): number {
  const bodies = [...records, ...prepared.flatMap(({ fragments }) => fragments)];
  return bodies.reduce((sum, { body }) => sum + body.length, 0);
}

const NAME = "log ";

/** The number of a shard. @param name of its object; undefined: it was woken by an alarm. */
function shardOfObject(sql: Sql, name: string | undefined): number {
  const shard = sql.only<number | null>`SELECT shard FROM state`;
  if (shard !== null || name === undefined) return shard ?? 0;
  const own = Number(name.slice(NAME.length));
  if (!name.startsWith(NAME) || !Number.isInteger(own)) throw new Error("this object is not a shard of the log");
  sql.run`UPDATE state SET shard = ${own} WHERE id = 1`;
  return own;
}

/** One shard of the log. */
export function traceLog(namespace: DurableObjectNamespace<TraceLog>, shard: number): DurableObjectStub<TraceLog> {
  return namespace.getByName(`${NAME}${shard}`);
}
