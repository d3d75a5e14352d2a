/** Real bytes: messages through the consumer into the logs of all jobs, and into the store. */
import { gunzipSync } from "node:zlib";
import { meter } from "../runtime/meter.ts";
import type { World } from "../runtime/world.ts";
import type { Packed } from "./intake.ts";

const STORE = "https://store.example";

/** Until everything is delivered, and the cron has run, in ms. */
const DRAIN_MS = 400_000;

/** A call that the consumer made. */
export interface Call {
  /** Class and method. */
  callee: string;
  args: unknown[];
}

/** A batch as the consumer got it, and what it called for it. */
export interface Batch {
  atMs: number;
  calls: Call[];
}

export interface Consumed {
  events: number;
  jobs: number;
  messages: number;
  /** Messages that were delivered more than once count each time. */
  deliveries: number;
  batches: readonly Batch[];
  /** CPU time of the consumer for an event, all jobs together, in µs. */
  cpuUs: number;
  /** Calls of the consumer in its batch with the most. */
  callsMax: number;
  /** Calls of the cron in its run with the most, and its CPU time in ms. */
  cron: { calls: number; cpuMs: number };
  /** Bytes of an event in one job's objects. */
  storedBytes: number;
  /** Every job's objects hold every event once. */
  isOnce: boolean;
}

/** Creates jobs, each of which takes everything, at paths of their own. */
export async function createJobs(world: World, jobs: number): Promise<void> {
  for (let job = 1; job <= jobs; job++) {
    const query = new URLSearchParams({
      region: "auto",
      endpoint: STORE,
      "access-key-id": "simulated",
      "secret-access-key": "simulated",
    });
    const destination_conf = `s3://traces/job-${job}/{DATE}?${query}`;
    await world.api("POST", "/logship/jobs", { destination_conf, enabled: true });
  }
}

/**
 * Delivers messages as the queue would, and waits until the store has everything.
 * @param world has its jobs, and nothing else has happened in it.
 * @param keeps whether the arguments of calls are kept.
 */
export async function consume(
  world: World,
  jobs: number,
  messages: readonly Packed[],
  keeps: boolean,
): Promise<Consumed> {
  const { clock, queue, accounts } = world;
  const batches: Batch[] = [];
  const cronCalls: number[] = [];
  world.onCall = (object, method, args) => {
    if (meter.current === accounts.scheduled) cronCalls.push((cronCalls.pop() ?? 0) + 1);
    if (meter.current !== accounts.queue) return null;
    const call = { callee: `${object.className}.${method}`, args: keeps ? structuredClone([...args]) : [] };
    batches.at(-1)?.calls.push(call);
    return null;
  };
  world.onRun = (account) => {
    if (account === accounts.queue) batches.push({ atMs: clock.nowMs, calls: [] });
    if (account === accounts.scheduled) cronCalls.push(0);
  };
  const before = { inside: { ...meter.inside }, queue: accounts.queue.ms, scheduled: accounts.scheduled.ms };
  const last = messages.at(-1)?.sentMs ?? clock.nowMs;
  let next = 0;
  const feed = {
    nextMs: () => messages[next]?.sentMs ?? Number.POSITIVE_INFINITY,
    run: async () => {
      const message = messages[next];
      if (message !== undefined) queue.put({ ...message, sentMs: Math.max(message.sentMs, clock.nowMs) });
      next += 1;
    },
  };
  await world.pass(last + DRAIN_MS, [feed]);
  world.onCall = null;
  world.onRun = null;
  const scale = cpuScale(before.inside);
  const events = messages.reduce((sum, { records }) => sum + records, 0);
  const stored = storedOf(world, jobs);
  return {
    events,
    jobs,
    messages: messages.length,
    deliveries: queue.deliveries,
    batches,
    cpuUs: (((accounts.queue.ms - before.queue) * scale) / events) * 1_000,
    callsMax: Math.max(...batches.map(({ calls }) => calls.length)),
    cron: {
      calls: Math.max(...cronCalls),
      cpuMs: ((accounts.scheduled.ms - before.scheduled) * scale) / cronCalls.length,
    },
    storedBytes: stored.bytes / events / jobs,
    isOnce: stored.jobs.every((job) => job.records === events && job.versions === events),
  };
}

/** CPU time for each ms of the wall clock, since `before`. */
export function cpuScale(before: { ms: number; cpuMs: number }): number {
  return (meter.inside.cpuMs - before.cpuMs) / (meter.inside.ms - before.ms);
}

const VERSION = /"ScriptVersion":\{"ID":"([^"]+)"/g;

/** What the store holds of each job: records, and different ones among them. */
function storedOf(world: World, jobs: number): { bytes: number; jobs: { records: number; versions: number }[] } {
  const all = Array.from({ length: jobs }, () => ({ records: 0, versions: new Set<string>() }));
  let bytes = 0;
  for (const [url, body] of world.store.objects) {
    const job = all[Number(/\/job-(\d+)\//.exec(url)?.[1]) - 1];
    if (job === undefined || !url.endsWith(".log.gz")) continue;
    bytes += body.length;
    for (const [, version = ""] of gunzipSync(body).toString().matchAll(VERSION)) {
      job.records += 1;
      job.versions.add(version);
    }
  }
  return { bytes, jobs: all.map(({ records, versions }) => ({ records, versions: versions.size })) };
}
