import { stampOf } from "../job/config.ts";
import type { Past, Unread } from "./blocks.ts";

/** How far a job has read, as its shard knows. */
export interface ConsumerState {
  /** Position up to which its reader has committed. */
  cursor: number;
  /** The segment that reads. */
  segment: number;
  /** `stampOf` the configuration that each segment has that may still hold something; "": none. */
  stamps: Record<number, string>;
  /** Records offered to the job in all blocks there ever were. */
  received: number;
  /** The time before it was, read or not: further copies of a request go by it. Absent: none. */
  past?: Past & {
    /** Records of it that are unread. */
    unread: number;
  };
  /** What of that time it does not get: from one time of intake to another, in ms. */
  lost?: [fromMs: number, untilMs: number];
}

/** What jobs have between two positions, or after one. */
type Between = (after: number, upTo?: number) => Iterable<[number, Unread]>;

/** What is unread, summed; null: nothing is. */
export interface Backlog {
  records: number;
  bytes: number;
  blocks: number;
  /** Time of intake of the oldest record, in ms since the epoch. */
  oldestMs: number;
  /** When the oldest block was added. */
  openedMs: number;
}

/** What of a job's configuration says when it is due. */
export interface DueRules {
  id: number;
  version: number;
  mark: string;
  limits: { records: number; intervalMs: number };
}

/** A reader that is to be driven. */
export interface Due {
  job: number;
  segment: number;
  /** All that it reads is to be cut. */
  cut: boolean;
}

/** A job whose unread records take so much is due, in bytes. */
const PULL_AT_BYTES = 8_000_000;

/**
 * What comes within this of the interval's end, in ms, joins the object: the next batch of the
 * queue is already on its way. A single block does not wait, unless those before came
 * together with others: then the alarm would be set twice.
 */
const COMPANY_MS = 5_000;

/** A job whose first unread block comes late (a backlog) is not due for so long after it, in ms. */
const LATE_GRACE_MS = 5_000;

/**
 * Of a backlog of more blocks, it is not found out anew with each page when the oldest record came.
 */
const RECOUNTED_BLOCKS = 1_000;

/** Wait after the first failure, in ms; it doubles with each. */
const RETRY_MS = { first: 5_000, most: 300_000 } as const;

const NONE: ConsumerState = { cursor: 0, segment: 0, stamps: {}, received: 0 };

/**
 * How far the jobs of a shard have read, and when each is due. The stored part is one column of the
 * shard's row, which each append writes anyway; what is unread follows from the blocks.
 */
export class Readers {
  readonly #states = new Map<number, ConsumerState>();
  /** Of these. */
  readonly #pasts = new Map<number, Past>();
  #backlogs = new Map<number, Backlog & { last: number }>();
  /** Jobs that read several blocks when they last read. */
  readonly #accompanied = new Set<number>();
  /** Readers that failed last: how often, and when they are driven again. */
  readonly #failed = new Map<number, { times: number; againMs: number }>();

  /** Reads what is stored. @param blocks what all jobs have. */
  load(text: string, blocks: Iterable<[number, Unread]>): void {
    this.#states.clear();
    this.#pasts.clear();
    for (const [id, state] of Object.entries(JSON.parse(text) as Record<string, ConsumerState>))
      this.#set(Number(id), state);
    this.#backlogs = new Map();
    const ofPast = new Map<number, number>();
    for (const [job, each] of blocks) {
      const { cursor, past } = this.of(job);
      if (each.n <= cursor) continue;
      this.#note(job, each);
      if (past !== undefined && each.n <= past.upTo) ofPast.set(job, (ofPast.get(job) ?? 0) + each.records);
    }
    for (const [job, { past, lost, received, ...state }] of [...this.#states]) {
      if (past === undefined) continue;
      const unread = ofPast.get(job) ?? 0;
      const gone = past.unread - unread;
      if (gone <= 0) continue;
      const fromMs = lost?.[0] ?? past.windows[0]?.fromMs ?? past.atMs;
      this.#set(job, { ...state, received: received - gone, past: { ...past, unread }, lost: [fromMs, past.atMs] });
    }
  }

  /** Of jobs that have not read all of the time before they were. */
  pasts(): ReadonlyMap<number, Past> {
    return this.#pasts;
  }

  /**
   * A new job reads what was kept before it was, up to the last block that has anything for it.
   * @param keptSinceMs all that came later is kept.
   */
  begins(job: number, past: Past, keptSinceMs: number, between: Between): void {
    const { fromMs = Number.POSITIVE_INFINITY } = past.windows[0] ?? {};
    const isLost = fromMs <= keptSinceMs;
    this.#set(job, { ...this.of(job), past: { ...past, unread: 0 }, ...(isLost && { lost: [fromMs, keptSinceMs] }) });
    this.#recount(job, between);
    const { last: upTo = 0, records: unread = 0 } = this.#backlogs.get(job) ?? {};
    this.#set(job, { ...this.of(job), past: { ...past, upTo, unread } });
  }

  /**
   * A job does not get what it has not read of its past.
   * @param upTo but for what its reader may have been handed already, and commit.
   */
  giveUp(job: number, upTo: number, between: Between): void {
    const { past, ...state } = this.of(job);
    if (past === undefined) return;
    let fromMs = past.atMs;
    for (const [id, { takenMs }] of between(upTo, past.upTo)) if (id === job) fromMs = Math.min(fromMs, takenMs);
    const lost: ConsumerState["lost"] = [state.lost?.[0] ?? fromMs, past.atMs];
    const unread = recordsOf(job, between(state.cursor, upTo));
    this.#set(job, { ...state, lost, past: { ...past, upTo, unread } });
    this.#recount(job, between);
  }

  /** What it is offered has changed: so has what is unread. */
  #recount(job: number, between: Between): void {
    const state = this.of(job);
    const before = this.#backlogs.get(job)?.records ?? 0;
    this.#backlogs.delete(job);
    for (const [id, each] of between(state.cursor)) if (id === job) this.#note(job, each);
    const after = this.#backlogs.get(job)?.records ?? 0;
    this.#set(job, { ...state, received: state.received + after - before });
  }

  #set(job: number, state: ConsumerState): void {
    this.#states.set(job, state);
    const { past, cursor } = state;
    if (past === undefined || past.upTo <= cursor) this.#pasts.delete(job);
    else this.#pasts.set(job, past);
  }

  /** As it is stored. */
  text(): string {
    return JSON.stringify(Object.fromEntries(this.#states));
  }

  of(job: number): ConsumerState {
    return this.#states.get(job) ?? NONE;
  }

  cursorOf = (job: number): number => this.of(job).cursor;

  /** null: all is read. */
  backlogOf(job: number): Backlog | null {
    return this.#backlogs.get(job) ?? null;
  }

  jobs(): number[] {
    return [...this.#states.keys()];
  }

  /** What must outlive this instance: which segment reads, and what configuration each has. */
  standingOf(job: number): string {
    const { segment, stamps } = this.of(job);
    return JSON.stringify([segment, stamps]);
  }

  /** A block was added. @param received records offered to the job. */
  added(job: number, unread: Unread, received: number): void {
    const state = this.of(job);
    this.#set(job, { ...state, received: state.received + received });
    this.#note(job, unread);
  }

  /**
   * A reader has committed up to this position.
   * @param between what jobs have between its last position and this one, or after this one.
   */
  committed(job: number, cursor: number, between: Between): void {
    const state = this.of(job);
    if (cursor <= state.cursor) return;
    this.#left(job, state.cursor, cursor, between);
    const { past } = state;
    if (past !== undefined && past.unread > 0) {
      const unread = cursor < past.upTo ? past.unread - recordsOf(job, between(state.cursor, cursor)) : 0;
      this.#set(job, { ...state, cursor, past: { ...past, unread } });
    } else this.#set(job, { ...state, cursor });
  }

  /** What is unread between two positions no longer is. */
  #left(job: number, before: number, cursor: number, between: Between): void {
    const backlog = this.#backlogs.get(job);
    if (backlog === undefined) return;
    if (backlog.blocks > 1) this.#accompanied.add(job);
    else this.#accompanied.delete(job);
    this.#backlogs.delete(job);
    if (backlog.last <= cursor) return;
    let { records, bytes, blocks } = backlog;
    for (const [id, each] of between(before, cursor)) {
      if (id !== job) continue;
      records -= each.records;
      bytes -= each.bytes;
      blocks -= 1;
    }
    for (const [id, each] of between(cursor)) {
      if (id !== job) continue;
      this.#note(job, each);
      if (blocks <= RECOUNTED_BLOCKS) continue;
      this.#backlogs.set(job, { ...backlog, records, bytes, blocks, openedMs: each.atMs });
      return;
    }
  }

  /** A segment has this configuration. "": it holds nothing, and needs none. */
  has(job: number, segment: number, stamp: string): void {
    const state = this.of(job);
    const { [segment]: _, ...others } = state.stamps;
    this.#set(job, { ...state, stamps: stamp === "" ? others : { ...others, [segment]: stamp } });
  }

  /** The segment that reads is full: the next one goes on. */
  sealed(job: number): void {
    const state = this.of(job);
    this.#set(job, { ...state, segment: state.segment + 1 });
  }

  /** Drops what jobs have that are not known any more. */
  keep(jobs: ReadonlySet<number>): void {
    for (const id of this.jobs()) {
      if (jobs.has(id)) continue;
      this.#states.delete(id);
      this.#pasts.delete(id);
      this.#backlogs.delete(id);
      this.#accompanied.delete(id);
      this.#failed.delete(id);
    }
  }

  succeeded(job: number): void {
    this.#failed.delete(job);
  }

  failed(job: number, nowMs: number): void {
    const times = (this.#failed.get(job)?.times ?? 0) + 1;
    const waitMs = Math.min(RETRY_MS.first * 2 ** (times - 1), RETRY_MS.most);
    this.#failed.set(job, { times, againMs: nowMs + waitMs });
  }

  hasFailed(job: number): boolean {
    return this.#failed.has(job);
  }

  /** A job was changed by its owner: what failed before may be right now. */
  forgive(): void {
    this.#failed.clear();
  }

  /**
   * When a job is due, in ms since the epoch; Infinity: it has nothing to read, and the
   * configuration that is in force. What a clock that was ahead has noted holds nothing up.
   * @param needsJob its reader gets the configuration though nothing was ever read for it.
   */
  dueMs(rules: DueRules, needsJob: boolean, nowMs: number): number {
    const againMs = this.#failed.get(rules.id)?.againMs ?? 0;
    const retryMs = againMs > nowMs + RETRY_MS.most ? 0 : againMs;
    if (this.#lacks(rules, needsJob).length > 0) return retryMs;
    const backlog = this.#backlogs.get(rules.id);
    if (backlog === undefined) return Number.POSITIVE_INFINITY;
    const { limits } = rules;
    if (backlog.bytes >= PULL_AT_BYTES || backlog.records >= limits.records) return retryMs;
    return Math.max(this.#cutMs(backlog, rules, nowMs), retryMs);
  }

  /** What is due now. @param everything also what is unread, and not due yet. */
  due(all: readonly DueRules[], needsJob: boolean, nowMs: number, everything = false): Due[] {
    return all.flatMap((rules): Due[] => {
      const { id: job } = rules;
      const backlog = this.#backlogs.get(job);
      if (this.dueMs(rules, needsJob, nowMs) > nowMs && !(everything && backlog !== undefined)) return [];
      const reads = this.of(job).segment;
      const cut = backlog !== undefined && this.#cutMs(backlog, rules, nowMs) <= nowMs;
      const segments = new Set([...this.#lacks(rules, needsJob), ...(backlog === undefined ? [] : [reads])]);
      return [...segments].map((segment) => ({ job, segment, cut: cut && segment === reads }));
    });
  }

  /** Segments that have an older configuration, or none and need one. */
  #lacks(rules: DueRules, needsJob: boolean): number[] {
    const { segment, stamps } = this.of(rules.id);
    const stamp = stampOf(rules);
    const older = Object.keys(stamps).filter((each) => stamps[Number(each)] !== stamp);
    const isNew = needsJob && stamps[segment] === undefined;
    return [...older.map(Number), ...(isNew ? [segment] : [])];
  }

  #cutMs({ blocks, oldestMs, openedMs }: Backlog, { id, limits }: DueRules, nowMs: number): number {
    const graceMs = openedMs > nowMs ? 0 : openedMs + LATE_GRACE_MS;
    const hasCompany = blocks > 1 || this.#accompanied.has(id);
    return Math.max(oldestMs + limits.intervalMs + (hasCompany ? COMPANY_MS : 0), graceMs);
  }

  #note(job: number, { n, takenMs, atMs, records, bytes }: Unread): void {
    const before = this.#backlogs.get(job);
    this.#backlogs.set(job, {
      records: (before?.records ?? 0) + records,
      bytes: (before?.bytes ?? 0) + bytes,
      blocks: (before?.blocks ?? 0) + 1,
      oldestMs: Math.min(before?.oldestMs ?? takenMs, takenMs),
      openedMs: before?.openedMs ?? atMs,
      last: n,
    });
  }
}

function recordsOf(job: number, shares: Iterable<[number, Unread]>): number {
  let sum = 0;
  for (const [id, { records }] of shares) if (id === job) sum += records;
  return sum;
}
