/**
 * An hour of ids: what was consumed with real bytes comes again and again, under new ids at later
 * times (stand-ins.ts). Durable objects store its fragments, cut and upload them, whatever is in
 * them.
 */
import { jobStatus } from "../../../src/ship/reader/job-status.ts";
import type { ObjectUse, Use } from "../../bench/protocol.ts";
import { type Account, meter, threadCpuMs } from "../runtime/meter.ts";
import type { Hosted } from "../runtime/objects.ts";
import type { World } from "../runtime/world.ts";
import { type Consumed, cpuScale } from "./consume.ts";
import { eventsOf, type Group, groupsOf, StandIns } from "./stand-ins.ts";

/** Whether to go on is asked this often, in ms: ids are kept by the minute. */
const STEP_MS = 60_000;

/** Simulated at least: a minute in which everything settles, and one that is measured. */
const AT_LEAST_MS = 2 * STEP_MS;

/** Until what waits is delivered, in ms. */
const DRAIN_MS = 90_000;

export interface Played {
  /** Simulated time, in s. */
  seconds: number;
  /** Of the queue in it. */
  batches: number;
  objects: readonly PlayedObject[];
  /** What was used in all of it, as the benchmark counts it… */
  use: Use;
  /** …and how often the cron ran. */
  crons: number;
  /** At the end each job has every record delivered once, and nothing waits. */
  isComplete: boolean;
}

/** What one durable object did in the second half of the time; each amount for a second. */
export interface PlayedObject {
  kind: string;
  name: string;
  /** Calls and alarms. */
  requests: number;
  bytesIn: number;
  bytesOut: number;
  /** CPU seconds. */
  cpu: number;
  rowsWritten: number;
  /** Arguments of its largest call, in bytes. */
  largestCall: number;
  /** What it stores when nothing waits, in bytes… */
  storedBytes: number;
  /** …how much more in each second… */
  growth: number;
  /** …and what it stored at most beyond that. */
  waitingBytes: number;
}

export interface Effort {
  /** Simulated time, in s. */
  seconds: number;
  /** CPU time after which it ends earlier, in s. */
  cpuSeconds: number;
}

/**
 * @param world one in which this was consumed, and all is delivered. @param shards of its log.
 * @param cycleS how long the queue takes to get these messages, in s.
 */
export async function replay(
  world: World,
  shards: number,
  consumed: Consumed,
  cycleS: number,
  effort: Effort,
): Promise<Played> {
  const { clock } = world;
  const source = new Source(world, shards, groupsOf(consumed.batches), cycleS);
  world.store.keeps = false;
  world.store.objects.clear();
  const begin = stateOf(world);
  const half = await passed(world, source, effort, begin);
  const end = stateOf(world);
  const tables = tablesOf(world);
  const { batches, records } = source;
  source.ends = true;
  await world.pass(clock.nowMs + DRAIN_MS, [source]);
  const scale = cpuScale(half.inside);
  const halfS = (end.atMs - half.atMs) / 1_000;
  const objects = world.objects.map((object): PlayedObject => {
    const first = half.accounts.get(object) ?? NOTHING;
    const last = end.accounts.get(object) ?? NOTHING;
    const storedBytes = object.storage.sql.databaseSize;
    return {
      kind: object.account.kind,
      name: object.account.name,
      requests: (requestsOf(last) - requestsOf(first)) / halfS,
      bytesIn: (last.bytesIn - first.bytesIn) / halfS,
      bytesOut: (last.bytesOut - first.bytesOut) / halfS,
      cpu: ((last.ms - first.ms) * scale) / 1_000 / halfS,
      rowsWritten: (last.rowsWritten - first.rowsWritten) / halfS,
      largestCall: object.account.largestCall,
      storedBytes,
      growth: growthOf(object, half.tables.get(object), tables.get(object)) / halfS,
      waitingBytes: Math.max(0, (source.highest.get(object) ?? 0) - storedBytes),
    };
  });
  const jobs = Array.from({ length: consumed.jobs }, (_, i) => i + 1);
  const all = await Promise.all(jobs.map((job) => world.ended(jobStatus(world.env, job))));
  return {
    seconds: (end.atMs - begin.atMs) / 1_000,
    batches,
    objects,
    use: useOf(world, begin, end),
    crons: end.crons - begin.crons,
    isComplete: all.every(
      (status) => status?.counts.pending === 0 && status.counts.delivered === consumed.events + records,
    ),
  };
}

/** Lets the time pass. @returns the state from which on it is measured. */
async function passed(world: World, source: Source, effort: Effort, begin: State): Promise<State & { tables: Tables }> {
  const allMs = effort.seconds * 1_000;
  const cpuMs = threadCpuMs();
  let half = { ...begin, tables: tablesOf(world) };
  for (let passedMs = 0; passedMs < allMs; ) {
    const stepMs = Math.min(STEP_MS, allMs - passedMs);
    await world.pass(world.clock.nowMs + stepMs, [source]);
    passedMs += stepMs;
    const usedS = (threadCpuMs() - cpuMs) / 1_000;
    if (usedS > effort.cpuSeconds && passedMs >= AT_LEAST_MS) break;
    const isHalf = usedS > effort.cpuSeconds / 2 || passedMs >= allMs / 2;
    if (isHalf && half.atMs === begin.atMs && passedMs < allMs) half = { ...stateOf(world), tables: tablesOf(world) };
  }
  return half;
}

/** The groups, one after another, at the times at which the queue would deliver their batches. */
class Source {
  readonly #world: World;
  readonly #groups: readonly Group[];
  readonly #standIns: StandIns;
  readonly #beginMs: number;
  readonly #intervalMs: number;
  #played = 0;
  ends = false;
  batches = 0;
  records = 0;
  /** The most that each object stored. */
  readonly highest = new Map<Hosted, number>();

  constructor(world: World, shards: number, groups: readonly Group[], cycleS: number) {
    this.#world = world;
    this.#standIns = new StandIns(shards);
    this.#groups = groups;
    this.#beginMs = world.clock.nowMs;
    this.#intervalMs = (cycleS * 1_000) / groups.filter(({ isFirst }) => isFirst).length;
  }

  nextMs(): number {
    return this.ends ? Number.POSITIVE_INFINITY : this.#beginMs + this.batches * this.#intervalMs;
  }

  /** One batch. */
  async run(): Promise<void> {
    const { onCall } = this;
    this.#world.onCall = onCall;
    try {
      do await this.#consume(this.#groupAt(this.#played++));
      while (!this.#groupAt(this.#played).isFirst);
    } finally {
      this.#world.onCall = null;
      this.#world.countsLines = true;
    }
    this.batches += 1;
    for (const object of this.#world.objects) {
      this.highest.set(object, Math.max(this.highest.get(object) ?? 0, object.storage.sql.databaseSize));
    }
  }

  get onCall() {
    const { queue } = this.#world.accounts;
    return (object: Account, method: string, args: readonly unknown[]) =>
      meter.current === queue
        ? this.#standIns.intercept(`${object.className}.${method}`, args, this.#groupAt(this.#played - 1))
        : null;
  }

  #groupAt(index: number): Group {
    const group = this.#groups[index % this.#groups.length];
    if (group === undefined) throw new Error("nothing was consumed");
    return group;
  }

  async #consume(group: Group): Promise<void> {
    const { queue, clock } = this.#world;
    // The consumer writes one line a batch.
    this.#world.countsLines = group.isFirst;
    queue.put(this.#standIns.messageFor(group, Math.floor(clock.nowMs)));
    await queue.deliver();
    if (!queue.isEmpty) throw new Error("a message that stands for another was not acknowledged");
    this.records += eventsOf(group);
  }
}

/** What happened so far. */
interface State {
  atMs: number;
  accounts: ReadonlyMap<Hosted, Account>;
  inside: { ms: number; cpuMs: number };
  puts: number;
  others: number;
  lines: number;
  crons: number;
}

const NOTHING = { calls: 0, alarms: 0, bytesIn: 0, bytesOut: 0, ms: 0, rowsWritten: 0 };

function stateOf(world: World): State {
  const { clock, objects, store, lines, crons } = world;
  return {
    atMs: clock.nowMs,
    accounts: new Map(objects.map((object) => [object, { ...object.account }])),
    inside: { ...meter.inside },
    ...{ puts: store.puts, others: store.others, lines, crons },
  };
}

/** Bytes of every table and index of every object. */
type Tables = ReadonlyMap<Hosted, ReadonlyMap<string, number>>;

function tablesOf({ objects }: World): Tables {
  return new Map(objects.map((object) => [object, object.storage.sql.tables()]));
}

/** By how much an object grew between the two, in bytes, without what only waits. */
function growthOf(object: Hosted, half: ReadonlyMap<string, number> = new Map(), end = half): number {
  const drained = object.storage.sql.tables();
  let growth = 0;
  for (const [table, bytes] of end) {
    const isKept = (drained.get(table) ?? 0) >= bytes;
    if (isKept) growth += bytes - (half.get(table) ?? 0);
  }
  return Math.max(0, growth);
}

function useOf(world: World, begin: State, end: State): Use {
  const objects: Use["objects"] = {};
  for (const [object, last] of end.accounts) {
    const { className } = last;
    objects[className] ??= { requests: 0, writing: 0, alarms: 0, rowsWritten: 0, rowsRead: 0, setAlarms: 0 };
    const sum = objects[className] as ObjectUse;
    const first = begin.accounts.get(object);
    for (const name of ["alarms", "writing", "rowsWritten", "rowsRead", "setAlarms"] as const) {
      sum[name] += last[name] - (first?.[name] ?? 0);
    }
    sum.requests += requestsOf(last) - (first === undefined ? 0 : requestsOf(first));
  }
  return {
    objects,
    activeObjects: world.objects.length,
    puts: end.puts - begin.puts,
    otherStoreRequests: end.others - begin.others,
    logLines: end.lines - begin.lines,
  };
}

function requestsOf({ calls, alarms }: Pick<Account, "calls" | "alarms">): number {
  return calls + alarms;
}
