/** What a load uses of the platform: one simulation, warmed up, counted, and drained. */
import type { DurableThing } from "../../test/schedule/objects.ts";
import { type Account, storedBytes, tablesOf, threadCpuMs } from "./meter.ts";
import { type Load, Simulation } from "./simulation.ts";

export interface Effort {
  /** Simulated time that is counted, in s. */
  seconds: number;
  /** CPU time after which it ends earlier, in s. */
  cpuSeconds: number;
}

/**
 * Not counted: whatever is slow the first time runs, and everything begins to flow. In s; and at
 * high rates as many events.
 */
const WARM_UP = { seconds: 60, events: 300_000 };

/** Events of a day before, for loads with errors that are known: nearly each comes once. */
const DAY_BEFORE = { seconds: 900, eventsPerSecond: 20, restS: 25 * 3_600 };
/** Then so little that nothing fails by any rule, until what is told of that rest is over. */
const MORNING = { seconds: 1_800, eventsPerSecond: 5 };

/** Whether to go on is asked this often, in simulated s: an upload interval. */
const STEP_S = 30;

/** Until everything is delivered, and the cron has run, in s. */
const DRAIN_S = 400;

/** What one durable object did in the counted time. */
export interface MeasuredObject extends Account {
  cpuMs: number;
  /** What it stores when nothing waits, in bytes… */
  storedBytes: number;
  /** …how much of that came in the counted time… */
  grownBytes: number;
  /** …and what it stored at most beyond it. */
  waitingBytes: number;
}

const COUNTED = ["events", "messages", "messageBytes", "messageUnits", "batches", "crons", "lines", "puts"] as const;
const ALSO_COUNTED = ["otherStoreRequests", "parts", "packingS", "tailMs", "consumerMs"] as const;
type Counts = { [name in (typeof COUNTED)[number] | (typeof ALSO_COUNTED)[number]]: number };

export interface Measured extends Counts {
  load: Load;
  jobs: number;
  /** Counted time, in s. */
  seconds: number;
  objects: readonly MeasuredObject[];
  /** Calls of the consumer in its batch with the most, and of the cron in its run with the most. */
  callsMax: { queue: number; cron: number };
  /** Each job has delivered each event once, and nothing waits. */
  isComplete: boolean;
}

/**
 * @param say gets warnings and errors of the shipper: there should be none.
 * @param searches that are saved first, as the API takes them.
 */
export async function measure(
  load: Load,
  jobs: number,
  effort: Effort,
  say: (line: string) => void,
  searches: readonly object[] = [],
): Promise<Measured> {
  const simulation = new Simulation(load, say);
  const { accounts, scheduler } = simulation;
  try {
    for (let job = 0; job < jobs; job++) await simulation.createJob();
    for (const search of searches) await simulation.saveSearch(search);
    if (load.isTroubled) {
      await simulation.pass(DAY_BEFORE.seconds, true, DAY_BEFORE.eventsPerSecond);
      await simulation.pass(DAY_BEFORE.restS, false);
      await simulation.pass(MORNING.seconds, true, MORNING.eventsPerSecond);
    }
    await simulation.pass(Math.min(WARM_UP.seconds, WARM_UP.events / load.eventsPerSecond), true);
    const begin = stateOf(simulation);
    const cpuMs = threadCpuMs();
    while (scheduler.nowMs < begin.atMs + effort.seconds * 1_000) {
      await simulation.pass(Math.min(STEP_S, effort.seconds), true);
      if (threadCpuMs() - cpuMs > effort.cpuSeconds * 1_000) break;
    }
    const end = stateOf(simulation);
    await simulation.pass(DRAIN_S, false);
    const { scale } = accounts.meter;
    const counts = Object.fromEntries(
      Object.entries(end.counts).map(([name, value]) => [name, value - begin.counts[name as keyof Counts]]),
    ) as Counts;
    return {
      ...counts,
      tailMs: counts.tailMs * scale,
      consumerMs: counts.consumerMs * scale,
      ...{ load, jobs, seconds: (end.atMs - begin.atMs) / 1_000, callsMax: accounts.callsMax },
      objects: [...end.accounts].map(([thing, account]): MeasuredObject => {
        const did = account.since(begin.accounts.get(thing));
        const stored = storedBytes(thing.disk);
        return Object.assign(did, {
          cpuMs: did.ms * scale,
          storedBytes: stored,
          grownBytes: grownBytes(thing, begin.tables.get(thing), end.tables.get(thing)),
          waitingBytes: Math.max(0, account.highestBytes - stored),
        });
      }),
      isComplete: await simulation.isComplete(),
    };
  } finally {
    simulation.end();
  }
}

interface State {
  atMs: number;
  counts: Counts;
  accounts: ReadonlyMap<DurableThing, Account>;
  tables: ReadonlyMap<DurableThing, ReadonlyMap<string, number>>;
}

function stateOf({ scheduler, accounts, queue, store, events, crons, lines }: Simulation): State {
  const { objects, handlers, parts, packingS } = accounts;
  return {
    atMs: scheduler.nowMs,
    counts: {
      ...{ events, crons, lines, parts, packingS, puts: store.puts, otherStoreRequests: store.others },
      ...{ messages: queue.messages, messageBytes: queue.bytes, messageUnits: queue.units, batches: queue.batches },
      ...{ tailMs: handlers.tail.ms + handlers.fetch.ms, consumerMs: handlers.queue.ms },
    },
    accounts: new Map([...objects].map(([thing, account]) => [thing, account.since(undefined)])),
    tables: new Map([...objects.keys()].map((thing) => [thing, tablesOf(thing.disk)])),
  };
}

/** By how much it grew between the two, in bytes, without what only waited. */
function grownBytes(
  { disk }: DurableThing,
  begin: ReadonlyMap<string, number> = new Map(),
  end: ReadonlyMap<string, number> = new Map(),
): number {
  const drained = tablesOf(disk);
  let grown = 0;
  for (const [table, bytes] of end)
    if ((drained.get(table) ?? 0) >= bytes) grown += Math.max(0, bytes - (begin.get(table) ?? 0));
  return grown;
}
