/** One cell: a rate of events, a number of jobs, a number of isolates. */

import { ID_MEMORY_MS } from "../../src/base/limits.ts";
import { ASSUMED_SECONDS } from "../../src/ship/log/usage.ts";
import { BOUNDS, type BoundName } from "./bounds.ts";
import { meter } from "./runtime/meter.ts";
import { settings } from "./runtime/settings.ts";
import { World } from "./runtime/world.ts";
import { type Consumed, consume, createJobs } from "./stages/consume.ts";
import { type Load, type Packed, type Taken, takeIn } from "./stages/intake.ts";
import { type Effort, type Played, type PlayedObject, replay } from "./stages/replay.ts";

/** Intake with real bytes: ten seconds, longer at low rates, shorter at the highest; in s. */
const TAKEN_S = { least: 3, usual: 10, most: 600 };
const TAKEN_EVENTS = { least: 6_000, most: 300_000 };

/** Events times jobs that the consumer of one cell gets with real bytes. */
const PAIRS = 120_000;

/** Jobs that are simulated at most: further ones add as much as these. */
const PLAYED_JOBS = 10;

const DAYS_15_S = ID_MEMORY_MS / 1_000;
const DAY_S = 86_400;

/** How a figure came about. */
export type How = "measured" | "simulated" | "computed";

/** A figure, and the limit that it is held against. */
export interface Figure {
  bound: BoundName;
  /** What it is a figure of: a kind of durable object, or a part of the way. */
  of: string;
  what: string;
  value: number;
  /** Of the limit. */
  share: number;
  how: How;
}

export interface LoadResult {
  load: Load;
  taken: Taken;
  /** With one job. */
  consumed: Consumed;
  played: Played;
  /** With several. */
  several: { jobs: number; played: Played } | null;
}

export interface CellResult {
  load: Load;
  jobs: number;
  consumed: Consumed;
  /** Every event was delivered once, with real bytes and when they came again. */
  isOnce: boolean;
  figures: readonly Figure[];
}

/**
 * Everything about a load that its cells share.
 * @param jobs numbers of jobs of these cells.
 */
export async function measureLoad(
  load: Load,
  jobs: readonly number[],
  effort: Effort,
  say: (line: string) => void,
): Promise<LoadResult> {
  const taken = await takeIn(load, secondsOf(load), say);
  const play = (of: number): Promise<{ consumed: Consumed; played: Played }> =>
    inside(new World(say, load.shards), async (world) => {
      await createJobs(world, of);
      const some = affordable(taken.messages, of);
      const consumed = await consume(world, of, some, true);
      const cycleS = (some.length / taken.messages.length) * taken.seconds;
      return { consumed, played: await replay(world, load.shards, consumed, cycleS, effort) };
    });
  const { consumed, played } = await play(1);
  const most = Math.min(PLAYED_JOBS, Math.max(1, ...jobs));
  const several = most === 1 ? null : { jobs: most, played: (await play(most)).played };
  return { load, taken, consumed: withoutArguments(consumed), played, several };
}

/** One cell: the same messages, for this many jobs. */
export async function measureCell(result: LoadResult, jobs: number, say: (line: string) => void): Promise<CellResult> {
  const { load, taken, several } = result;
  const consumed =
    jobs === 1
      ? result.consumed
      : await inside(new World(say, load.shards), async (world) => {
          await createJobs(world, jobs);
          return consume(world, jobs, affordable(taken.messages, jobs), false);
        });
  const isOnce = consumed.isOnce && result.played.isComplete && several?.played.isComplete !== false;
  return { load, jobs, consumed, isOnce, figures: figuresOf(result, jobs, consumed) };
}

/** The same without any bytes: those of a load are held until the last of its cells is measured. */
export function withoutBytes({ taken, ...result }: LoadResult): LoadResult {
  const messages = taken.messages.map((message) => ({
    ...message,
    body: { byteLength: message.body.byteLength } as ArrayBuffer,
  }));
  return { ...result, taken: { ...taken, messages } };
}

function withoutArguments(consumed: Consumed): Consumed {
  const batches = consumed.batches.map(({ atMs, calls }) => ({
    atMs,
    calls: calls.map(({ callee }) => ({ callee, args: [] })),
  }));
  return { ...consumed, batches };
}

async function inside<T>(world: World, run: (world: World) => Promise<T>): Promise<T> {
  world.enter();
  meter.start();
  try {
    return await run(world);
  } finally {
    meter.stop();
    world.leave();
  }
}

function secondsOf({ eventsPerSecond }: Load): number {
  const { least, usual, most } = TAKEN_S;
  const enough = Math.min(most, Math.max(usual, TAKEN_EVENTS.least / eventsPerSecond));
  return Math.max(least, Math.min(enough, TAKEN_EVENTS.most / eventsPerSecond));
}

/** The first messages, in whole batches if there are several. */
function affordable(messages: readonly Packed[], jobs: number): readonly Packed[] {
  let events = 0;
  let count = messages.findIndex(({ records }) => {
    events += records;
    return events * jobs > PAIRS;
  });
  if (count === -1) return messages;
  const { batchSize } = settings.consumer;
  if (count > batchSize) count -= count % batchSize;
  return messages.slice(0, Math.max(1, count));
}

function figuresOf({ load, taken, played, several }: LoadResult, jobs: number, consumed: Consumed): Figure[] {
  const { eventsPerSecond, isolates } = load;
  const bytes = sum(taken.messages.map(({ body }) => body.byteLength));
  const messages = taken.messages.length / taken.seconds;
  const batches = played.batches / played.seconds;
  const figures: Figure[] = [];
  const add = (bound: BoundName, of: string, what: string, value: number, how: How): void => {
    figures.push({ bound, of, what, value, share: value / BOUNDS[bound].limit, how });
  };
  add("isolateCpu", "tail()", "CPU of one isolate", (eventsPerSecond / isolates) * taken.cpuUs * 1e-6, "measured");
  add("queueMessages", "queue", "messages", messages, "measured");
  const waitS = Math.min(settings.consumer.batchTimeoutMs / 1_000, settings.consumer.batchSize / messages);
  add("queueBacklog", "queue", "waiting for a batch", (bytes / taken.seconds) * waitS, "computed");
  const batchCpuS = (eventsPerSecond / batches) * consumed.cpuUs * 1e-6;
  // One append after another, whatever the number of jobs.
  const appends = sum(consumed.batches.map(({ calls }) => appendsOf(calls))) / consumed.batches.length;
  const waitsS = ASSUMED_SECONDS.reading + appends * ASSUMED_SECONDS.writing;
  add("consumers", "consumer", "invocations at once", batches * (batchCpuS + waitsS), "computed");
  add("batchCpu", "consumer", "CPU of a batch", batchCpuS * 1_000, "computed");
  add("calls", "consumer", "calls of a batch", consumed.callsMax, "measured");
  add("calls", "cron", "calls of a run", consumed.cron.calls, "measured");
  const isPlayed = jobs === 1 || jobs === several?.jobs;
  const kinds = new Set([...played.objects, ...(several?.played.objects ?? [])].map(({ kind }) => kind));
  for (const kind of kinds) {
    const most = (objects: readonly PlayedObject[], of: (object: PlayedObject) => number): number =>
      Math.max(0, ...objects.filter((object) => object.kind === kind).map(of));
    // Each job has readers of its own; the rest is there for all jobs.
    const isOfJob = /^(?:JobReader|SketchStore) /.test(kind);
    const isOfDay = kind.includes(" day ");
    const addOf = (bound: BoundName, what: string, of: (object: PlayedObject) => number, how: How): void => {
      const one = most(played.objects, of);
      const more = several === null || jobs === 1 ? one : most(several.played.objects, of);
      const each = several === null || jobs === 1 || isOfJob ? 0 : Math.max(0, more - one) / (several.jobs - 1);
      const value = more + each * (jobs === 1 ? 0 : jobs - (several?.jobs ?? 1));
      add(bound, kind, what, value, isPlayed || isOfJob ? how : "computed");
    };
    addOf("objectRequests", "requests", ({ requests }) => requests, "simulated");
    addOf("objectCpu", "CPU", ({ cpu }) => cpu, "simulated");
    addOf("objectBytes", "calls and answers", ({ bytesIn, bytesOut }) => bytesIn + bytesOut, "simulated");
    addOf("callBytes", "largest call", ({ largestCall }) => largestCall, "measured");
    const lastsS = isOfDay ? DAY_S : DAYS_15_S;
    const stored = isOfDay ? "stored after its day" : "stored after 15 days";
    addOf("objectStorage", stored, (object) => storedAfter(lastsS, object), "computed");
  }
  add("storePuts", "store", "PUTs of a job", played.use.puts / played.seconds, "simulated");
  return figures;
}

function appendsOf(calls: Consumed["batches"][number]["calls"]): number {
  return calls.filter(({ callee }) => callee === "TraceLog.append").length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function storedAfter(seconds: number, { storedBytes, growth, waitingBytes }: PlayedObject): number {
  return storedBytes + growth * seconds + waitingBytes;
}
