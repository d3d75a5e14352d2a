import { completeTime } from "./calls.ts";
import { type Change, type Config, copy, type Job, type Window } from "./config.ts";
import { unreadPast } from "./kept.ts";
import { status } from "./read.ts";
import { FORGET_AFTER, FORGET_SOON, SKEW, SKEW_WAIT } from "./scale.ts";
import { expectLost, Fault, type Task } from "./task.ts";
import { Thing } from "./thing.ts";
import type { World } from "./world.ts";

export interface PlaneState extends Config {
  /** The version that all shards have. */
  confirmed: number;
  shards: number[];
  nextId: number;
  /** The greatest `last_complete` that was answered for each job: it never goes back. */
  complete: Record<number, number>;
  /**
   * Shards that did not answer late attempts: the oldest intake of their messages, and when it was
   * last said. Such messages become dead letters that no shard has noted.
   */
  away: Record<number, { oldest: number; atMs: number }>;
  /**
   * Jobs that are forgotten, and the readers of each, to be erased once the version is confirmed.
   */
  erase: { version: number; job: number; readers: { shard: number; segments: number }[] }[];
  /** KEY_SHARDS as it was when the control plane came into being. */
  keyShards: number;
}

/** The control plane: jobs, functions that are off, the list of shards. */
export class Plane extends Thing {
  s: PlaneState = {
    mark: 1,
    version: 1,
    jobs: [],
    off: [],
    confirmed: 1,
    shards: [0],
    nextId: 1,
    complete: {},
    away: {},
    erase: [],
    keyShards: 1,
  };
  bringing = 0;
  /** The last one, as long as it is the same: jobs change only with the version. */
  private last: Config | null = null;

  constructor(w: World) {
    super(w, "plane");
  }
  begin(): void {
    if (this.s.version !== this.s.confirmed || this.s.erase.length > 0) this.setAlarm(this.w.now + 5);
  }
  forget(): void {
    this.bringing = 0;
    this.last = null;
  }
  snapshot(): Config {
    const { mark, version, jobs, off } = this.s;
    if (this.last?.version !== version) this.last = copy({ mark, version, jobs, off });
    return this.last;
  }
  /** *Shards*: a number that is set once, and refused when it differs. */
  hasKeyShards(n: number): boolean {
    if (this.s.keyShards === 0) this.s.keyShards = n;
    return this.s.keyShards === n;
  }
  join(n: number): Config {
    const { s, w } = this;
    if (!s.shards.includes(n) && !w.is("joinNotNoted")) {
      s.shards.push(n);
      if (s.version !== s.confirmed) this.setAlarm(w.now + 5);
    }
    return this.snapshot();
  }
  /** Stores a change together with its alarm, and brings it to the shards. */
  private change(kind: Change["kind"], detail: Partial<Change>, edit: (version: number) => void): void {
    const { s, w } = this;
    s.version += 1;
    edit(s.version);
    if (kind === "create" && w.changes.some((each) => each.kind === "create" && each.job === detail.job))
      throw new Fault(`job ${detail.job} is made again: its readers have what another job had`);
    w.log(() => `CHANGE ${s.mark}.${s.version} ${kind} ${JSON.stringify(detail)}`);
    const answeredMs = w.is("answersBeforeShards") ? w.now + 1 : Number.POSITIVE_INFINITY;
    const { mark, version } = s;
    w.changes.push({ kind, edgeMs: this.time(), askedMs: w.now, answeredMs, mark, version, ...detail });
    this.setAlarm(w.now + 5);
    w.start(this.name, "bring", this.bring());
  }
  *onAlarm(): Task {
    const { s, w } = this;
    try {
      if (w.is("erasesBeforeConfirmed")) yield* this.eraseReaders();
      if (s.version !== s.confirmed && this.bringing === 0) yield* this.bring();
      yield* this.eraseReaders();
    } catch (error) {
      expectLost(error);
    }
    if (s.version !== s.confirmed || s.erase.length > 0) this.setAlarm(w.now + 10);
  }
  /**
   * Erases readers of forgotten jobs when no shard has the job any more: one that has it may drive
   * its reader, which would begin anew.
   */
  private *eraseReaders(): Task {
    const { s, w } = this;
    for (const each of [...s.erase]) {
      if (each.version > s.confirmed && !w.is("erasesBeforeConfirmed")) continue;
      for (const { shard, segments } of each.readers)
        for (let k = 0; k <= segments; k++) {
          const reader = w.reader(each.job, shard, k);
          yield* w.ask(reader, () => reader.erase());
        }
      s.erase = s.erase.filter((other) => other.job !== each.job);
    }
  }
  shardAway(n: number, oldest: number): void {
    const { away } = this.s;
    away[n] = { oldest: Math.min(oldest, away[n]?.oldest ?? oldest), atMs: this.w.now };
  }
  /**
   * What such dead letters keep back, until each has been tried again: its shard then has it, or is
   * away again. The delay of dead letters bounds that.
   */
  private oldestAway(): number {
    const { s, w } = this;
    const isLeft = (n: number, atMs: number): boolean =>
      w.queue.some(({ dead, triedMs, message }) => dead && triedMs <= atMs && message.parts[0]?.shard === n) ||
      w.queue.some(({ dead, triedMs, message }) => dead && triedMs <= atMs && n === 0 && message.newHead);
    for (const [n, { atMs }] of Object.entries(s.away)) if (!isLeft(Number(n), atMs)) delete s.away[Number(n)];
    if (w.is("textDeadUnnoted")) return Number.POSITIVE_INFINITY;
    return Math.min(...Object.values(s.away).map(({ oldest }) => oldest));
  }
  /** @returns the greatest `last_complete` that was answered for a job, this one included. */
  completed(job: number, found: number): number {
    const { complete } = this.s;
    const time = Math.min(found, this.oldestAway());
    const most = this.w.is("completeGoesBack") ? time : Math.max(time, complete[job] ?? 0);
    if (time > (complete[job] ?? 0)) complete[job] = time;
    return most;
  }
  /**
   * *configure*: to every shard of the list; confirmed when all have it, and answered a moment
   * later (clock skew).
   */
  private *bring(): Task {
    const { s, w } = this;
    const { mark } = s;
    this.bringing += 1;
    try {
      const has = new Map<number, number>();
      for (let round = 0; round < 2; round++)
        for (const n of [...s.shards]) {
          if ((w.is("answersWithOneShard") && n !== 0) || (has.get(n) ?? 0) >= s.version) continue;
          try {
            const config = this.snapshot();
            const state = yield* w.ask(w.shard(n), () => w.shard(n).configure(config));
            if (state.mark === mark) has.set(n, state.version);
          } catch (error) {
            expectLost(error);
          }
        }
      if (s.mark !== mark) return;
      const least = w.is("answersWithOneShard") ? s.version : Math.min(...s.shards.map((n) => has.get(n) ?? 0));
      if (least <= s.confirmed) return;
      s.confirmed = Math.min(least, s.version);
      const wait = w.is("noSkewWait") ? 0 : SKEW_WAIT;
      for (const each of w.changes)
        if (each.mark === mark && each.version <= s.confirmed && each.answeredMs === Number.POSITIVE_INFINITY)
          each.answeredMs = Math.max(w.now, each.askedMs) + wait + 1;
    } finally {
      this.bringing -= 1;
    }
  }
  /**
   * *delete a job*: forgets one of which nothing is unread, waits, is on hold or unmade, fifteen
   * days later, once its `last_complete` is later than its end.
   */
  *forgetJob(id: number): Task {
    const { s, w } = this;
    const mine = w.changes.findLast(({ kind, job }) => (kind === "delete" || kind === "rerun") && job === id);
    if (!mine || w.now < mine.askedMs + (w.does.forget ? FORGET_SOON : FORGET_AFTER)) return;
    const byDays = w.is("textForgetsByDays") || w.is("forgetsAtOnce");
    if (!byDays && (yield* completeTime(w, id)) <= mine.edgeMs + SKEW) return;
    const readers: PlaneState["erase"][number]["readers"] = [];
    for (const n of [...s.shards]) {
      const { segment, hasUnread, isOnHold } = yield* w.ask(w.shard(n), () => status(w.shard(n), id));
      if ((hasUnread || isOnHold) && !w.is("forgetsAtOnce")) return;
      readers.push({ shard: n, segments: segment });
      for (let k = 0; k <= segment; k++) {
        const reader = w.reader(id, n, k);
        const { isEmpty } = yield* w.ask(reader, () => reader.status());
        if (!isEmpty) return;
      }
    }
    if (!s.jobs.some((each) => each.id === id)) return;
    s.version += 1;
    s.jobs = s.jobs.filter((each) => each.id !== id);
    s.erase.push({ version: s.version, job: id, readers });
    w.log(() => `FORGET job ${id}`);
    w.forgotten.add(id);
    this.setAlarm(w.now + 1);
  }

  /** A hidden job that is born deleted, under the present rules of its job: at most two a job. */
  rerun(job: Job): void {
    const { s, w } = this;
    const { mod, format, store } = job;
    const isUnderWay = ({ id, rerun }: Job): boolean =>
      (id === job.id || rerun === job.id) && [...w.shards.values()].some((shard) => unreadPast(shard, id).length > 0);
    if (job.deleted || s.jobs.filter(isUnderWay).length >= 2) return;
    const since = this.time() - w.random.below(150);
    const until = Math.max(since, this.time() - w.random.below(20));
    const id = s.nextId++;
    const windows = [{ from: since, until }];
    const made = { id, windows, mod, format, store, deleted: true, discard: false, since, rerun: job.id };
    this.change("rerun", { job: id, mod, format, since, edgeMs: until }, (version) =>
      s.jobs.push({ ...made, version }),
    );
  }
  randomChange(): void {
    const { s, w } = this;
    const { random } = w;
    if (w.faults && w.now < this.downUntil) return;
    this.wake();
    const living = s.jobs.filter(({ deleted }) => !deleted);
    const job = living.length > 0 ? random.pick(living) : null;
    const reruns = s.jobs.filter(({ rerun, discard }) => rerun !== null && !discard);
    const kind = job !== null && w.broken.has(job.store) && random.chance(0.4) ? 8 : random.below(10);
    if (reruns.length > 0 && random.chance(0.05)) this.delete(random.pick(reruns), true);
    else if (job !== null && w.does.forget && random.chance(0.15)) this.delete(job, random.chance(0.3));
    else if (s.jobs.filter(({ rerun }) => rerun === null).length < 4 && (kind === 0 || job === null)) this.create();
    else if (job === null) return;
    else if (kind <= 2) this.enable(job);
    else if (kind <= 4) this.edit(job, "filter", { mod: 1 + random.below(4) });
    else if (kind === 5) this.edit(job, "format", { format: this.anyFormat() });
    else if (kind <= 7) this.switchFunction(random.below(3));
    else if (kind === 8) this.edit(job, "store", { store: `s${w.nextStore++}` });
    else if (random.chance(0.5)) this.delete(job, random.chance(0.5));
  }
  private create(): void {
    const { s, w } = this;
    const { random } = w;
    const t = this.time();
    const since = w.keepMs > 0 && random.chance(0.6) ? t - random.below(200) : null;
    const id = s.nextId++;
    const mod = 1 + random.below(4);
    const format = this.anyFormat();
    const windows = [{ from: since ?? t, until: null }];
    const made = {
      id,
      windows,
      mod,
      format,
      store: `s${random.below(2)}`,
      deleted: false,
      discard: false,
      since,
      rerun: null,
    };
    this.change("create", { job: id, mod, format, ...(since !== null && { since }) }, (version) =>
      s.jobs.push({ ...made, version }),
    );
  }
  private edit(job: Job, kind: Change["kind"], edit: Partial<Pick<Job, "mod" | "format" | "store">>): void {
    const { store: _, ...detail } = edit;
    this.change(kind, { job: job.id, ...detail }, (version) => Object.assign(job, edit, { version }));
  }
  private enable(job: Job): void {
    const t = this.time();
    const isOn = isOpen(job.windows);
    this.change(isOn ? "disable" : "enable", { job: job.id }, (version) => {
      job.version = version;
      if (isOn) close(job.windows, t);
      else job.windows.push({ from: t, until: null });
    });
  }
  private delete(job: Job, discard: boolean): void {
    this.change("delete", { job: job.id }, (version) => {
      Object.assign(job, { version, deleted: true, discard });
      close(job.windows, this.time());
    });
  }
  /** Switches a function's logging off or on, which is a new version of every job. */
  private switchFunction(fn: number): void {
    const { s, w } = this;
    const t = this.time();
    const windows = s.off.find(([each]) => each === fn)?.[1] ?? [];
    const isOff = isOpen(windows);
    this.change(isOff ? "on" : "off", { fn }, (version) => {
      if (!w.is("switchKeepsVersions")) for (const each of s.jobs) each.version = version;
      if (isOff) close(windows, t);
      else windows.push({ from: t, until: null });
      if (!s.off.some(([each]) => each === fn)) s.off.push([fn, windows]);
    });
  }
  private anyFormat(): number {
    const { does, random } = this.w;
    return does.rollback ? 1 + random.below(5) : 1 + 2 * random.below(3);
  }
}

export const isOpen = (windows: readonly Window[]): boolean => windows.some(({ until }) => until === null);

function close(windows: readonly Window[], t: number): void {
  for (const window of windows) if (window.until === null) window.until = Math.max(t, window.from);
}
