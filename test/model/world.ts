import type { Change, Config } from "./config.ts";
import type { Mutant } from "./mutants.ts";
import type { Part, Queued, Rec } from "./parts.ts";
import type { NotedPast } from "./past.ts";
import { Plane } from "./plane.ts";
import { Random } from "./random.ts";
import { Reader } from "./reader.ts";
import { DAY } from "./scale.ts";
import { Shard } from "./shard.ts";
import { some } from "./some.ts";
import { Dies, expectLost, Lost, type Step, type Task } from "./task.ts";
import type { Thing } from "./thing.ts";

/** What a run may do, and how likely it is that it does. */
export const ODDS = {
  /** Days pass between steps: sweeps, holds, what the queue deletes. */
  long: 0.25,
  /** Clocks leap by days: those of objects with odd seeds, those of intake with even ones. */
  leaps: 0.2,
  /** Shards, readers and the control plane are restored to an earlier time. */
  restores: 0.2,
  /** Records that kill what makes them. */
  poison: 0.25,
  /** Releases change under way, and half of the formats need the newer one. */
  rollback: 0.25,
  /** Readers are full, and seal. */
  segments: 0.4,
  /** Stores refuse. */
  stores: 0.25,
  /** Objects do not answer, for hours or weeks. */
  outages: 0.3,
  /** Shards are full, or busy. */
  full: 0.2,
  /** Many changes. */
  busy: 0.4,
  /** Messages are put on hold often. */
  holds: 0.2,
  /** Few attempts make a dead letter. */
  dead: 0.25,
  /** Jobs are deleted and forgotten soon: before what waits for them may be there. */
  forget: 0.15,
  /** Heads that the older release cannot read. */
  heads: 0.2,
  /** Isolates with another KEY_SHARDS than the first. */
  keyShards: 0.2,
  /** LOG_KEEP_HOURS is set to 0 and back. */
  keeps: 0.2,
};
export type Odd = keyof typeof ODDS;

/** And requests with keys, several shards, `last_complete` asked for often, kept blocks, reruns. */
export const FORCES = [...(Object.keys(ODDS) as Odd[]), "keyed", "shards", "claims", "past"] as const;
export type Force = (typeof FORCES)[number];

export interface Options {
  /** The rule that is left out. */
  mutant?: Mutant | undefined;
  /** The run does this, and nothing else of `ODDS`. */
  force?: readonly Force[] | undefined;
  /** Prints each line that has this word; "": all. */
  trace?: string | undefined;
}

/** A copy of a part that was taken in. */
export interface Copy {
  stamp: number;
  trueMs: number;
  ackMs: number;
  /** The clock of its isolate had not leapt. */
  sane: boolean;
}

/** An isolate of intake: LOG_SHARDS and KEY_SHARDS as it knows them, and its clock. */
export interface Isolate {
  shards: number;
  keyShards: number;
  /** Whether the control plane has the same KEY_SHARDS; null: it was not asked. */
  mayUseKeys: boolean | null;
  clock: number;
}

/**
 * All that runs, and what the oracle notes of it. One of the tasks makes a step at a time, chosen
 * at random; all draws come from one seed.
 */
export class World {
  seed: number;
  random: Random;
  options: Options;
  now = 100 * DAY;
  faults = true;
  tasks: { run: Task; owner: string; what: string }[] = [];
  steps = 0;

  queue: Queued[] = [];
  nextMessage = 1;
  /** What waits in the packer, by shard. */
  packer = new Map<number, { part: Part; isIn: boolean }[]>();
  plane: Plane;
  shards = new Map<number, Shard>();
  readers = new Map<string, Reader>();
  stores = new Map<string, { records: Rec[]; format: number }>();
  /** Stores that refuse. */
  broken = new Set<string>();
  nextStore = 2;
  /** The configuration as handlers have it. */
  caches: (Config | null)[] = [null, null];
  isolates: Isolate[] = [0, 1, 2].map(() => ({ shards: 1, keyShards: 1, mayUseKeys: null, clock: 0 }));
  nextPart = 1;
  release = 1;
  /** Poison is understood by a newer release. */
  cured = false;
  /** The cron, which starts what was restored, is due. */
  cron = false;

  does = {} as Record<Odd, boolean>;
  /** LOG_KEEP_HOURS, and how many blocks fit. */
  keepMs = 0;
  keepBlocks = Number.POSITIVE_INFINITY;

  /** Of the oracle: what was taken in, by the id of the part. */
  accepted = new Map<string, { id: string; records: Rec[]; copies: Copy[] }>();
  /** Bodies of keyed requests, by key, and the parts that hold a record of one. */
  bodies = new Map<string, Rec[]>();
  partsOfRecord = new Map<string, string[]>();
  /** Parts that are in a block, or surely on hold: since which step, and of which shard. */
  taken = new Map<string, { shard: number; step: number }>();
  /** Parts that were ever on hold. */
  held = new Set<string>();
  /** `part` or `job/part`; "lack": it may be missing; "any": nothing is promised. */
  exempt = new Map<string, "lack" | "any">();
  exemptJobs = new Set<number>();
  /** `job/shard`: its sums say nothing any more, as something was restored. */
  noSums = new Set<string>();
  changes: Change[] = [];
  /** The past of a job as its shard noted it, by `job/shard`. */
  pasts = new Map<string, NotedPast>();
  /** Times of which a restored control plane may have lost what it answered. */
  blur: { from: number; until: number }[] = [];
  restores = 0;
  planeRestoredMs = Number.POSITIVE_INFINITY;
  forgotten = new Set<number>();
  /** Deliveries older than ten days in which the shard answered, and was not asked to hold. */
  answered = new Map<string, number>();
  erased = new Set<Reader>();
  discards = new Set<number>();
  /** The last `last_complete` that was answered, by job. */
  completed = new Map<number, number>();
  /** How often `last_complete` was compared with the stores. */
  claims = 0;

  constructor(seed: number, options: Options) {
    this.seed = seed;
    this.random = new Random(seed);
    this.options = options;
    this.plane = new Plane(this);
  }
  /** Whether this run leaves the rule out. */
  is(mutant: Mutant): boolean {
    return this.options.mutant === mutant;
  }
  forces(word: Force): boolean {
    return this.options.force?.includes(word) ?? false;
  }
  log(line: () => string): void {
    if (this.options.trace === undefined) return;
    const text = `${this.now} ${line()}`;
    if (text.includes(this.options.trace)) console.log(text);
  }
  noteTaken(id: string, shard: number): void {
    if (!this.taken.has(id)) this.taken.set(id, { shard, step: this.steps });
  }
  note(key: string, what: "lack" | "any"): void {
    if (this.exempt.get(key) !== "any") this.exempt.set(key, what);
  }

  shard(n: number): Shard {
    const shard = this.shards.get(n) ?? new Shard(this, n);
    this.shards.set(n, shard);
    return shard;
  }
  reader(job: number, shard: number, segment: number): Reader {
    const name = `reader ${job}/${shard}/${segment}`;
    const reader = this.readers.get(name) ?? new Reader(this, name, job, shard, segment);
    this.readers.set(name, reader);
    return reader;
  }
  things(): Thing[] {
    return [this.plane, ...this.shards.values(), ...this.readers.values()];
  }

  start(owner: string, what: string, run: Task): void {
    this.tasks.push({ run, owner, what });
  }
  private unsure(what: string): void {
    if (this.faults && this.random.chance(0.04)) throw new Lost(what);
  }
  /** Calls another object. The call may be lost before or after it has had its effect. */
  *ask<T>(thing: Thing, run: () => T): Step<T> {
    yield;
    this.unsure("request");
    thing.wake();
    const answer = run();
    yield;
    this.unsure("answer");
    return answer;
  }
  /** Calls a method that waits: it dies with its object, and goes on after the deadline. */
  *askLong<T>(thing: Thing, what: string, run: () => Step<T>, deadline: number): Step<T> {
    yield;
    this.unsure("request");
    thing.wake();
    const box: { value?: T; done?: boolean; failed?: boolean } = {};
    const called = function* (): Task {
      try {
        box.value = yield* run();
        box.done = true;
      } catch (error) {
        box.failed = true;
        expectLost(error);
      }
    };
    const { lives } = thing;
    this.start(thing.name, what, called());
    const until = this.now + deadline;
    while (!box.done) {
      if (box.failed || thing.lives !== lives) throw new Lost("died");
      if (this.faults && this.now > until) throw new Lost("deadline");
      yield;
    }
    this.unsure("answer");
    return box.value as T;
  }
  die(owner: string): void {
    this.tasks = this.tasks.filter((task) => task.owner !== owner);
    const thing = this.things().find(({ name }) => name === owner);
    thing?.died();
  }
  /** @returns whether there was a task. */
  step(): boolean {
    if (this.tasks.length === 0) return false;
    const task = some(this.tasks[this.random.below(this.tasks.length)]);
    this.now += this.random.below(3);
    this.steps += 1;
    const end = (): void => {
      this.tasks = this.tasks.filter((each) => each !== task);
    };
    try {
      if (task.run.next().done) end();
    } catch (error) {
      end();
      if (error instanceof Dies) this.die(error.who);
      else expectLost(error);
    }
    return true;
  }
  /** Rings at least once: an alarm whose object dies, or that throws, comes again. */
  ring(thing: Thing): void {
    if (thing.alarm === null || thing.alarm > this.now || thing.rings) return;
    thing.wake();
    thing.alarm = null;
    thing.rings = true;
    const rung = function* (): Task {
      try {
        yield* thing.onAlarm();
        thing.rings = false;
      } catch (error) {
        expectLost(error);
        thing.rings = false;
        thing.setAlarm(thing.w.now + 3);
      }
    };
    this.start(thing.name, "alarm", rung());
  }
}
