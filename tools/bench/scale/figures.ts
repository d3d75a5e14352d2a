/** How much of each limit a load takes. */
import { DEDUP_MS, SHARD_MAX_BYTES } from "../../../src/base/limits.ts";
import { ASSUMED_SECONDS } from "../../../src/ship/log/bill.ts";
import { type Effort, type Measured, type MeasuredObject, measure } from "../measure.ts";
import { settings } from "../settings.ts";
import type { Load } from "../simulation.ts";

const OBJECTS = "https://developers.cloudflare.com/durable-objects/platform/limits/";
const QUEUES = "https://developers.cloudflare.com/queues/platform/limits/";
const WORKERS = "https://developers.cloudflare.com/workers/platform/limits/";

/** The limits that a cell is held against, with their sources. */
export const BOUNDS = {
  isolateCpu: { limit: 1, unit: "CPU", source: `one thread an isolate: ${WORKERS}` },
  queueMessages: { limit: 5_000, unit: "messages/s", source: QUEUES },
  queueBacklog: { limit: 25e9, unit: "B", source: QUEUES },
  consumers: {
    limit: settings.concurrency,
    unit: "invocations",
    source: `max_concurrency in wrangler.jsonc; the platform allows 250: ${QUEUES}`,
  },
  batchCpu: { limit: settings.cpuMs, unit: "ms", source: `limits.cpu_ms in wrangler.jsonc, the most: ${WORKERS}` },
  calls: { limit: 10_000, unit: "calls", source: `subrequests of an invocation: ${WORKERS}` },
  objectRequests: { limit: 1_000, unit: "requests/s", source: `soft: ${OBJECTS}` },
  objectCpu: { limit: 1, unit: "CPU", source: `one thread an object: ${OBJECTS}` },
  objectBytes: { limit: 150e6, unit: "B/s", source: "no limit of the platform: measured in its local runtime" },
  callBytes: {
    limit: 32 * 2 ** 20,
    unit: "B",
    source: "https://developers.cloudflare.com/workers/runtime-apis/rpc/#limits",
  },
  objectStorage: {
    limit: SHARD_MAX_BYTES,
    unit: "B",
    source: `SHARD_MAX_BYTES and SEGMENT_MAX_BYTES in src/base/limits.ts; the platform allows 10 GB: ${OBJECTS}`,
  },
  storePuts: {
    limit: 3_500,
    unit: "PUT/s",
    source: "a prefix of S3: https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html",
  },
} as const satisfies { readonly [name: string]: { limit: number; unit: string; source: string } };

type BoundName = keyof typeof BOUNDS;

/** Jobs that are simulated at most: further ones add as much as these. */
const SIMULATED_JOBS = 10;

const DAYS_15_S = DEDUP_MS / 1_000;
const DAY_S = 86_400;

/** A figure, and the limit that it is held against. */
export interface Figure {
  bound: BoundName;
  /** What it is a figure of: a kind of durable object, or a part of the way. */
  of: string;
  what: string;
  value: number;
  /** Of the limit. */
  share: number;
  how: "simulated" | "computed";
}

export interface Cell {
  load: Load;
  jobs: number;
  figures: readonly Figure[];
  /** Every job got every event once. */
  isOnce: boolean;
}

/** @returns the load with one job, and a cell for each number of jobs. */
export async function measureCells(
  load: Load,
  jobs: readonly number[],
  effort: Effort,
  say: (line: string) => void,
): Promise<{ one: Measured; cells: Cell[] }> {
  const one = await measure(load, 1, effort, say);
  const most = Math.min(SIMULATED_JOBS, Math.max(...jobs));
  const several = most === 1 ? one : await measure(load, most, effort, say);
  const isOnce = one.isComplete && several.isComplete;
  return { one, cells: jobs.map((each) => ({ load, jobs: each, isOnce, figures: figuresOf(one, several, each) })) };
}

function figuresOf(one: Measured, several: Measured, jobs: number): Figure[] {
  const figures: Figure[] = [];
  const add = (bound: BoundName, of: string, what: string, value: number, how: Figure["how"]): void => {
    figures.push({ bound, of, what, value, share: value / BOUNDS[bound].limit, how });
  };
  const howOf = jobs === 1 || jobs === several.jobs ? "simulated" : "computed";
  /** With so many jobs: each beyond the simulated ones adds as much as those. */
  const withJobs = (of: (measured: Measured) => number): number => {
    if (jobs === 1) return of(one);
    const each = several.jobs === 1 ? 0 : Math.max(0, of(several) - of(one)) / (several.jobs - 1);
    return of(several) + each * (jobs - several.jobs);
  };
  const { load, seconds } = one;
  const messages = one.messages / seconds;
  add("isolateCpu", "tail()", "CPU of one isolate", one.tailMs / 1_000 / seconds / load.isolates, "simulated");
  add("queueMessages", "queue", "messages", messages, "simulated");
  const waitS = Math.min(settings.batchTimeoutMs / 1_000, settings.batchSize / messages);
  add("queueBacklog", "queue", "waiting for a batch", (one.messageBytes / seconds) * waitS, "computed");
  const batchCpuMs = withJobs((measured) => measured.consumerMs / measured.batches);
  const batches = one.batches / seconds;
  // One append after another, whatever the number of jobs.
  const waitsS = ASSUMED_SECONDS.reading + one.callsMax.queue * ASSUMED_SECONDS.writing;
  add("consumers", "consumer", "invocations at once", batches * (batchCpuMs / 1_000 + waitsS), "computed");
  add("batchCpu", "consumer", "CPU of a batch", batchCpuMs, howOf);
  const callsOf = (handler: "queue" | "cron"): number => withJobs(({ callsMax }) => callsMax[handler]);
  add("calls", "consumer", "calls of a batch", callsOf("queue"), howOf);
  add("calls", "cron", "calls of a run", callsOf("cron"), howOf);
  for (const kind of new Set(several.objects.map((object) => object.kind))) {
    // Each job has readers of its own; the rest is there for all jobs.
    const isOfJob = /^(?:JobReader|SketchStore) /.test(kind);
    const addOf = (bound: BoundName, what: string, of: (object: MeasuredObject, seconds: number) => number): void => {
      const most = (measured: Measured): number =>
        Math.max(0, ...measured.objects.filter((each) => each.kind === kind).map((each) => of(each, measured.seconds)));
      if (isOfJob) add(bound, kind, what, most(jobs === 1 ? one : several), "simulated");
      else add(bound, kind, what, withJobs(most), howOf);
    };
    addOf("objectRequests", "requests", ({ calls, alarms }, s) => (calls + alarms) / s);
    addOf("objectCpu", "CPU", ({ cpuMs }, s) => cpuMs / 1_000 / s);
    addOf("objectBytes", "calls and answers", ({ bytesIn, bytesOut }, s) => (bytesIn + bytesOut) / s);
    addOf("callBytes", "largest call", ({ largestCall }) => largestCall);
    const isOfDay = kind.includes(" day ");
    addOf("objectStorage", isOfDay ? "stored after its day" : "stored after 15 days", (object, s) => {
      const growth = (object.grownBytes / s) * (isOfDay ? DAY_S : DAYS_15_S);
      return object.storedBytes + object.waitingBytes + growth;
    });
  }
  add("storePuts", "store", "PUTs of a job", one.puts / seconds, "simulated");
  return figures;
}

/** A million events a second, and what of a load does not grow with the rate. */
const MILLION = 1_000_000;
const FIXED: ReadonlySet<BoundName> = new Set(["batchCpu", "calls", "callBytes"]);

/** What a part would need at a million a second. */
export interface Need extends Figure {
  /** Of these parts, each at half of its limit. */
  parts: number;
  /** Events/s at which the one that there is reaches its limit. */
  breaksAt: number;
}

/** @param cell at the highest rate. @returns what matters; the first of them breaks first. */
export function needsOf({ load, figures }: Cell): Need[] {
  const times = MILLION / load.eventsPerSecond;
  return figures
    .filter(({ bound, share }) => !FIXED.has(bound) && share * times > 0.05)
    .map((figure) => ({
      ...{ ...figure, value: figure.value * times, share: figure.share * times },
      parts: Math.ceil((figure.share * times) / 0.5),
      breaksAt: load.eventsPerSecond / figure.share,
    }))
    .sort((a, b) => a.breaksAt - b.breaksAt);
}
