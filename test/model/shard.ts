import type { Block, Entry, Past } from "./block.ts";
import type { Config, Window } from "./config.ts";
import { drive, due } from "./drive.ts";
import { drop, entryOf, notePast } from "./kept.ts";
import type { Message, Off, Part } from "./parts.ts";
import { JOIN_EVERY } from "./scale.ts";
import { some } from "./some.ts";
import { expectLost, Lost, type Task } from "./task.ts";
import { Thing } from "./thing.ts";
import type { World } from "./world.ts";

/** What `state` has of a job. */
export interface JobState {
  cursor: number;
  segment: number;
  /** Which version its reader has; "": not known. */
  stamp: string;
  /** Sealed segments that still hold something, and the version that each has. */
  older: Record<number, string>;
  appended: number;
  past: Past | null;
  /** Times of intake of which its past lacks something, as the shard says. */
  lacks: Window[];
  /** In the mutant `textDiscardCounts` alone. */
  discarded: number;
}

export interface Hold {
  id: number;
  parts: Part[];
  /** The jobs noted for each part. */
  jobs: Record<string, number[]>;
  off: Off;
  tooOld: boolean;
}

export interface ShardState {
  config: Config | null;
  /** Ids without a key, and when each was taken in. */
  ids: Record<string, number>;
  /**
   * Ids with one: of the copy that is in a block, from when it lives, and the jobs that were
   * offered any.
   */
  keyed: Record<string, { takenMs: number; fromMs: number; jobs: number[] }>;
  sweptMs: number;
  /** The newest intake known. */
  newestMs: number;
  blocks: Block[];
  last: number;
  jobs: Record<number, JobState>;
  /** All parts that were taken in later are still there, but for those whose functions were off. */
  keptSince: number;
  holds: Hold[];
  nextHold: number;
  /** Deliveries that were killed, by message. */
  deaths: Record<string, number>;
  unfinished: Record<string, number>;
  /**
   * In shard 0: messages that are unreadable in their head, and since when, by the hash of their
   * bytes.
   */
  unreadable: Record<string, { message: Message; sinceMs: number }>;
  counts: Record<"processed" | "routed" | "notEnabled" | "notRouted" | "setAside" | "discarded", number>;
  queueDoneMs: number;
  /** It was restored, and the control plane has not answered since. */
  restored: boolean;
}

/**
 * A shard of the log: its copy of the configuration, *join* and *configure*, and its alarm.
 * Appends, holds, kept blocks, reads and drives are functions in files of their own.
 */
export class Shard extends Thing {
  n: number;
  s: ShardState = {
    config: null,
    ids: {},
    keyed: {},
    sweptMs: 0,
    newestMs: 0,
    blocks: [],
    last: 0,
    jobs: {},
    keptSince: 0,
    holds: [],
    nextHold: 1,
    deaths: {},
    unfinished: {},
    unreadable: {},
    counts: { processed: 0, routed: 0, notEnabled: 0, notRouted: 0, setAside: 0, discarded: 0 },
    queueDoneMs: 0,
    restored: false,
  };
  // Memory.
  joining = false;
  joinedMs = 0;
  startedMs = 0;
  isReady = false;
  driving = new Set<string>();
  /** When jobs whose reader failed are driven again. */
  waits = new Map<string, number>();
  /** It has as many appends under way as it takes, until then. */
  busyUntil = 0;
  /** For the oracle: the last append. */
  appendedMs = 0;

  constructor(w: World, n: number) {
    super(w, `shard ${n}`);
    this.n = n;
  }
  forget(): void {
    this.joining = false;
    this.isReady = false;
    this.driving.clear();
    this.waits.clear();
    if (this.w.is("pastInMemory")) for (const state of Object.values(this.s.jobs)) state.past = null;
  }
  begin(): void {
    this.startedMs = this.w.now;
    if (!this.w.is("noJoinAtStart")) this.join();
    else this.isReady = true;
    if (!this.w.is("noAlarmAtStart")) this.wakeLater();
  }

  get config(): Config {
    return some(this.s.config);
  }
  jobOf(id: number): Config["jobs"][number] | undefined {
    return this.s.config?.jobs.find((job) => job.id === id);
  }
  jobState(id: number): JobState {
    this.s.jobs[id] ??= {
      cursor: 0,
      segment: 0,
      stamp: "",
      older: {},
      appended: 0,
      past: null,
      lacks: [],
      discarded: 0,
    };
    return this.s.jobs[id];
  }
  /** Whether a job's reader has not passed the block. */
  isUnread(job: number, block: Block): boolean {
    return block.n > (this.s.jobs[job]?.cursor ?? 0);
  }
  unreadOf(job: number): { block: Block; entry: Entry }[] {
    return this.s.blocks.flatMap((block) => {
      const entry = this.isUnread(job, block) ? entryOf(this, block, job) : undefined;
      return entry ? [{ block, entry }] : [];
    });
  }

  join(): void {
    if (this.joining) return;
    this.joining = true;
    this.joinedMs = this.w.now;
    this.w.start(this.name, "join", this.joins());
  }
  *joins(): Task {
    const { w } = this;
    try {
      const config = yield* w.ask(w.plane, () => w.plane.join(this.n));
      this.configure(config, true);
      this.isReady = true;
      this.s.restored = false;
    } catch (error) {
      expectLost(error);
    } finally {
      this.joining = false;
    }
  }
  joinAgain(): void {
    if (this.w.now > this.joinedMs + JOIN_EVERY) this.join();
  }
  /**
   * Waits for the control plane when it starts, and after 5 s goes on with its copy. A restored one
   * waits however long: its copy may lack what was answered.
   * @throws Lost as `NotReady`.
   */
  ready(): void {
    const { s, w } = this;
    if (w.now > this.startedMs + 8 && (!s.restored || w.is("textRestoredGoesOn"))) this.isReady = true;
    this.joinAgain();
    if (this.isReady && s.config !== null) return;
    this.join();
    throw new Lost("not ready");
  }
  /** @returns the state that it has afterwards. */
  configure(config: Config, isJoin = false): { mark: number; version: number } {
    const { s, w } = this;
    const now = s.config;
    const isForeign = now !== null && now.mark !== config.mark;
    // From before, or after, a restore of the control plane: it alone says which.
    if (isForeign && !isJoin && !w.is("takesForeignMark")) this.join();
    else if (now === null || isForeign || config.version > now.version || w.is("takesOlderConfig")) {
      s.config = config;
      w.log(() => `shard ${this.n} has config ${config.mark}.${config.version}`);
      for (const job of config.jobs) {
        const old = now?.jobs.find(({ id }) => id === job.id);
        if (!old || w.is("pastNotedAgain")) notePast(this, job);
        if (job.discard && !old?.discard) this.discard(job.id);
      }
      for (const id of Object.keys(s.jobs).map(Number)) if (!this.jobOf(id)) delete s.jobs[id];
      drop(this);
      this.wakeLater();
    }
    const { mark, version } = this.config;
    return { mark, version };
  }
  /**
   * *delete a job*: moves its cursor to the last block. What was appended, and what its readers
   * have not counted, is discarded: a difference, not a number of its own.
   */
  private discard(id: number): void {
    const { s, w } = this;
    const state = this.jobState(id);
    if (w.is("discardByReaderAlone")) return;
    if (w.is("textDiscardCounts")) for (const { entry } of this.unreadOf(id)) state.discarded += entry.received;
    state.cursor = Math.max(state.cursor, s.last);
  }

  wakeLater(): void {
    if (this.w.is("noAlarm")) return;
    const first = Math.min(...due(this).map(({ at }) => at));
    if (first < Number.POSITIVE_INFINITY) this.setAlarm(first);
  }
  *onAlarm(): Task {
    const { w } = this;
    const running: { done: boolean }[] = [];
    const driven = function* (run: Task, end: { done: boolean }): Task {
      try {
        yield* run;
      } finally {
        end.done = true;
      }
    };
    this.joinAgain();
    for (const { job, segment, at } of due(this)) {
      if (at > w.now || this.driving.has(`${job}/${segment}`)) continue;
      const end = { done: false };
      running.push(end);
      w.start(this.name, "drive", driven(drive(this, job, segment, w.random.chance(0.7)), end));
    }
    while (!running.every(({ done }) => done)) yield;
    if (!w.is("noAlarmAfterDrive")) this.wakeLater();
  }
}
