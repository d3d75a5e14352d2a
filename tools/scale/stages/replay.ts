/**
 * An hour of ids: the calls that the consumer made for real bytes are made again and again, with
 * new ids at later times. The bytes stay the same and are not looked at: durable objects store
 * fragments, cut and upload them, whatever is in them.
 */
import { accountLedger, type Outcome } from "../../../src/account/ledger.ts";
import { controlPlane } from "../../../src/control/plane.ts";
import { appendToChain } from "../../../src/delivery/chain.ts";
import { randomIds } from "../../../src/intake/ids.ts";
import type { JobConfig } from "../../../src/job/config.ts";
import { readSnapshot } from "../../../src/job/snapshot.ts";
import type { Append } from "../../../src/object/append.ts";
import type { ObjectUse, Use } from "../../bench/protocol.ts";
import { type Account, meter, threadCpuMs } from "../runtime/meter.ts";
import type { Hosted } from "../runtime/objects.ts";
import type { World } from "../runtime/world.ts";
import { type Batch, type Call, cpuScale } from "./consume.ts";

const DAY_MS = 86_400_000;

/** Whether to go on is asked this often, in ms: whole rows of ids. */
const STEP_MS = 60_000;

/** Simulated at least: what a minute writes once is in it, and what half a minute collects. */
const AT_LEAST_MS = 2 * STEP_MS;

/** Until what waits is delivered, in ms. */
const DRAIN_MS = 90_000;

export interface Played {
  /** Simulated time, in s. */
  seconds: number;
  /** Batches of the queue in it. */
  batches: number;
  objects: readonly PlayedObject[];
  /** What was used in all of it, as the benchmark counts it… */
  use: Use;
  /** …and how often the cron ran. */
  crons: number;
}

/** What one durable object did in the second half of the time; each amount for a second. */
export interface PlayedObject {
  kind: string;
  name: string;
  /** Calls and alarms. */
  requests: number;
  bytesIn: number;
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
 * @param world one in which these batches were consumed, for one job, and all is delivered.
 * @param cycleS how long the queue takes for these batches, in s.
 */
export async function replay(
  world: World,
  batches: readonly Batch[],
  cycleS: number,
  { seconds, cpuSeconds }: Effort,
): Promise<Played> {
  const { clock } = world;
  const job = await world.ended(onlyJob(world.env));
  world.store.keeps = false;
  world.store.objects.clear();
  const beginMs = clock.nowMs;
  const intervalMs = (cycleS * 1_000) / batches.length;
  const highest = new Map<Hosted, number>();
  let played = 0;
  let ends = false;
  const source = {
    nextMs: () => (ends ? Number.POSITIVE_INFINITY : beginMs + played * intervalMs),
    run: async () => {
      const batch = batches[played % batches.length];
      played += 1;
      if (batch === undefined) return;
      await again(world, job, batch);
      for (const object of world.objects) {
        highest.set(object, Math.max(highest.get(object) ?? 0, object.storage.sql.databaseSize));
      }
    },
  };
  const before = marks(world);
  const from = { ...world.store, lines: world.lines, crons: world.crons };
  const cpuMs = threadCpuMs();
  let half = { atMs: beginMs, marks: before, inside: { ...meter.inside } };
  for (let passedMs = 0; passedMs < seconds * 1_000; ) {
    const step = Math.min(STEP_MS, seconds * 1_000 - passedMs);
    await world.pass(clock.nowMs + step, [source]);
    passedMs += step;
    const usedS = (threadCpuMs() - cpuMs) / 1_000;
    if (usedS > cpuSeconds && passedMs >= AT_LEAST_MS) break;
    // The last half of it, wherever it ends.
    const isHalf = usedS > cpuSeconds / 2 || passedMs >= seconds * 500;
    if (isHalf && half.marks === before && passedMs < seconds * 1_000) {
      half = { atMs: clock.nowMs, marks: marks(world), inside: { ...meter.inside } };
    }
  }
  const endMs = clock.nowMs;
  const after = marks(world);
  const scale = cpuScale(half.inside);
  const use: Use = {
    objects: byClass(before, after),
    activeObjects: world.objects.length,
    puts: world.store.puts - from.puts,
    otherStoreRequests: world.store.others - from.others,
    logLines: world.lines - from.lines,
  };
  const crons = world.crons - from.crons;
  const batchesPlayed = played;
  ends = true;
  await world.pass(clock.nowMs + DRAIN_MS, [source]);
  const halfS = (endMs - half.atMs) / 1_000;
  const objects = world.objects.map((object): PlayedObject => {
    const first = half.marks.get(object) ?? NOTHING;
    const last = after.get(object) ?? NOTHING;
    const stored = object.storage.sql.databaseSize;
    const ageS = (endMs - Math.max(beginMs, object.createdMs)) / 1_000;
    return {
      kind: object.account.kind,
      name: object.account.name,
      requests: (requestsOf(last) - requestsOf(first)) / halfS,
      bytesIn: (last.bytesIn - first.bytesIn) / halfS,
      cpu: ((last.ms - first.ms) * scale) / 1_000 / halfS,
      rowsWritten: (last.rowsWritten - first.rowsWritten) / halfS,
      largestCall: object.account.largestCall,
      storedBytes: stored,
      growth: ageS <= 0 ? 0 : Math.max(0, stored - (before.get(object)?.stored ?? 0)) / ageS,
      waitingBytes: Math.max(0, (highest.get(object) ?? 0) - stored),
    };
  });
  return { seconds: (endMs - beginMs) / 1_000, batches: batchesPlayed, objects, use, crons };
}

async function onlyJob({ CONTROL }: Env): Promise<JobConfig> {
  const answer: unknown = await controlPlane(CONTROL).configSince("");
  const [job] = readSnapshot(answer)?.jobs ?? [];
  if (job === undefined) throw new Error("there is no job");
  return job;
}

type Mark = Account & { stored: number };

const NOTHING = { calls: 0, alarms: 0, bytesIn: 0, ms: 0, rowsWritten: 0 };

/** What every object has done so far, and stores. */
function marks(world: World): Map<Hosted, Mark> {
  return new Map(
    world.objects.map((object) => [object, { ...object.account, stored: object.storage.sql.databaseSize }]),
  );
}

/** What all objects of a class did between the two. */
function byClass(before: ReadonlyMap<Hosted, Mark>, after: ReadonlyMap<Hosted, Mark>): Use["objects"] {
  const sums: Use["objects"] = {};
  for (const [object, mark] of after) {
    sums[mark.className] ??= { requests: 0, writing: 0, alarms: 0, rowsWritten: 0, rowsRead: 0, setAlarms: 0 };
    const sum = sums[mark.className] as ObjectUse;
    const first = before.get(object);
    for (const name of ["alarms", "writing", "rowsWritten", "rowsRead", "setAlarms"] as const) {
      sum[name] += mark[name] - (first?.[name] ?? 0);
    }
    sum.requests += requestsOf(mark) - (first === undefined ? 0 : requestsOf(first));
  }
  return sums;
}

function requestsOf({ calls, alarms }: Pick<Account, "calls" | "alarms">): number {
  return calls + alarms;
}

/** Makes the calls of a batch again. @throws if one is not taken as the first time. */
async function again(world: World, job: JobConfig, { atMs, calls }: Batch): Promise<void> {
  const { env, clock } = world;
  const renew = renewing(Math.floor(clock.nowMs) - Math.floor(atMs));
  for (const call of calls) await make(env, job, { ...call, args: call.args.map((arg) => renew(arg)) });
}

/** By the ways of the consumer: they know which object is called. */
async function make({ CONTROL, LOG, ACCOUNT }: Env, job: JobConfig, { callee, args }: Call): Promise<void> {
  switch (callee) {
    case "ControlPlane.configSince":
      await controlPlane(CONTROL).configSince(args[0] as string);
      return;
    case "DeliveryLog.append": {
      const { kind } = await appendToChain(LOG, job, () => args[0] as Append, []);
      if (kind !== "taken") throw new Error(`an append that is made again is ${kind}`);
      return;
    }
    case "AccountLedger.count": {
      const answer: unknown = await accountLedger(ACCOUNT).count(args[0] as Outcome);
      if (answer !== null) throw new Error("a count that is made again is not taken");
      return;
    }
    default:
      throw new Error(`the consumer calls ${callee}, which cannot be made again yet`);
  }
}

const ID = /^[0-9a-f]{32}$/;

/** The same value at a later time, with another id for each that is in it. */
function renewing(laterMs: number): (value: unknown) => unknown {
  const ids = new Map<string, string>();
  const idOf = randomIds();
  const renewed = (value: unknown, key: string): unknown => {
    if (typeof value === "string" && ID.test(value)) {
      const id = ids.get(value) ?? idOf(ids.size);
      ids.set(value, id);
      return id;
    }
    // 0 means unknown.
    if (typeof value === "number" && key.endsWith("Ms")) return value === 0 ? 0 : value + laterMs;
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
      return value;
    if (Array.isArray(value)) return value.map((each) => renewed(each, ""));
    const copy: Record<string, unknown> = {};
    for (const [name, each] of Object.entries(value)) copy[name] = renewed(each, name);
    if (typeof copy.day === "number") copy.day = Math.floor(Number(copy.firstEventMs) / DAY_MS);
    return copy;
  };
  return (value) => renewed(value, "");
}
