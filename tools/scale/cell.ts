/** One cell: a rate of events, a number of jobs, a number of isolates. */

import { ID_MEMORY_MS } from "../../src/limits.ts";
import { ASSUMED_SECONDS } from "../../src/trace-log/usage.ts";
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

/** As in src/pipeline/commit.ts: appends of one group side by side. Counts follow. */
const COMMITS_AT_ONCE = 3;

const DAYS_15_S = ID_MEMORY_MS / 1_000;

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
}

export interface CellResult {
  load: Load;
  jobs: number;
  consumed: Consumed;
  /** Every event was delivered once, with real bytes and when they came again. */
  isOnce: boolean;
  figures: readonly Figure[];
}

/** Everything about a load that does not depend on the number of jobs. */
export async function measureLoad(load: Load, effort: Effort, say: (line: string) => void): Promise<LoadResult> {
  const taken = await takeIn(load, secondsOf(load), say);
  const world = new World(say);
  return await inside(world, async () => {
    await createJobs(world, 1);
    const some = affordable(taken.messages, 1);
    const consumed = await consume(world, 1, some, true);
    const cycleS = (some.length / taken.messages.length) * taken.seconds;
    return { load, taken, consumed, played: await replay(world, consumed, cycleS, effort) };
  });
}

/** One cell: the same messages, for this many jobs. */
export async function measureCell(result: LoadResult, jobs: number, say: (line: string) => void): Promise<CellResult> {
  const { load, taken } = result;
  const world = new World(say);
  const consumed =
    jobs === 1
      ? result.consumed
      : await inside(world, async () => {
          await createJobs(world, jobs);
          return consume(world, jobs, affordable(taken.messages, jobs), false);
        });
  const isOnce = consumed.isOnce && result.played.isComplete;
  return { load, jobs, consumed: withoutArguments(consumed), isOnce, figures: figuresOf(result, jobs, consumed) };
}

/** The same without any bytes: those of a load are held until the last of its cells is measured. */
export function withoutBytes({ load, taken, consumed, played }: LoadResult): LoadResult {
  const messages = taken.messages.map((message) => ({
    ...message,
    body: { byteLength: message.body.byteLength } as ArrayBuffer,
  }));
  return { load, taken: { ...taken, messages }, consumed: withoutArguments(consumed), played };
}

function withoutArguments(consumed: Consumed): Consumed {
  const batches = consumed.batches.map(({ atMs, calls }) => ({
    atMs,
    calls: calls.map(({ callee }) => ({ callee, args: [] })),
  }));
  return { ...consumed, batches };
}

async function inside<T>(world: World, run: () => Promise<T>): Promise<T> {
  world.enter();
  meter.start();
  try {
    return await run();
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

function figuresOf({ load, taken, consumed: single, played }: LoadResult, jobs: number, consumed: Consumed): Figure[] {
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
  const groups = sum(single.batches.map(({ calls }) => appendsOf(calls))) / single.batches.length;
  const waitsS = (1 + groups * (Math.ceil(jobs / COMMITS_AT_ONCE) + 1)) * ASSUMED_SECONDS.writing;
  add("consumers", "consumer", "invocations at once", batches * (batchCpuS + waitsS), "computed");
  add("batchCpu", "consumer", "CPU of a batch", batchCpuS * 1_000, "computed");
  const calls = Math.max(...single.batches.map((batch) => callsWith(jobs, batch.calls)));
  add("calls", "consumer", "calls of a batch", calls, jobs === 1 ? "measured" : "computed");
  add("calls", "cron", "calls of a run", consumed.cron.calls, "measured");
  for (const [kind, objects] of Map.groupBy(played.objects, (object) => object.kind)) {
    const most = (of: (object: PlayedObject) => number): number => Math.max(...objects.map(of));
    add(
      "objectRequests",
      kind,
      "requests",
      most((object) => object.requests),
      "simulated",
    );
    add(
      "objectCpu",
      kind,
      "CPU",
      most((object) => object.cpu),
      "simulated",
    );
    add(
      "objectBytes",
      kind,
      "arguments of calls",
      most((object) => object.bytesIn),
      "simulated",
    );
    add(
      "callBytes",
      kind,
      "largest call",
      most((object) => object.largestCall),
      "measured",
    );
    add("objectStorage", kind, "stored after 15 days", most(storedAfter15Days), "computed");
  }
  add("storePuts", "store", "PUTs of a job", played.use.puts / played.seconds, "simulated");
  return figures;
}

/** The calls of a batch that was consumed for one job, were it for as many as these. */
function callsWith(jobs: number, calls: Consumed["batches"][number]["calls"]): number {
  return calls.length + appendsOf(calls) * (jobs - 1);
}

function appendsOf(calls: Consumed["batches"][number]["calls"]): number {
  return calls.filter(({ callee }) => callee.startsWith("JobReader.")).length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function storedAfter15Days({ storedBytes, growth, waitingBytes }: PlayedObject): number {
  return storedBytes + growth * DAYS_15_S + waitingBytes;
}
