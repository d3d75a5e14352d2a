/** The parts of the benchmark: their requests to the Worker, and their results. */
import { type Bill, bill, type Terms } from "./billing.ts";
import { type CpuClock, cpuClock } from "./cpu-clock.ts";
import { type Harness, startHarness } from "./harness.ts";
import { type KindEffort, type KindResult, measureKinds } from "./kinds.ts";
import { FULL_MEMORY, type MemoryEffort, type MemoryResult, measureMemory, QUICK_MEMORY } from "./memory.ts";
import { type MixMemory, measureMixes } from "./mixes.ts";
import { canMeasureMemory } from "./process-memory.ts";
import {
  ALIKE,
  type Grown,
  type JobShape,
  type Prepared,
  type Ran,
  type Scenario,
  type Simulated,
  WORKS,
  type Work,
} from "./protocol.ts";
import { measureSearch, type SearchEffort, type SearchResult } from "./search.ts";
import { type Summary, summary } from "./stats.ts";

/** How much is measured. */
export interface Effort {
  /** Measured rounds, after those that warm up. */
  rounds: number;
  warmUpRounds: number;
  /** Records of a round. */
  records: number;
  /** Virtual time of a scenario that is counted, in s. */
  seconds: number;
  eventsPerSecond: readonly number[];
  /** Records that the growing log takes. */
  growth: number;
  kinds: KindEffort;
  memory: MemoryEffort;
  search: SearchEffort;
}

export const FULL: Effort = {
  rounds: 21,
  warmUpRounds: 5,
  records: 20_000,
  seconds: 300,
  eventsPerSecond: [1, 100, 1_000],
  growth: 1_000_000,
  kinds: { rounds: 11, warmUpRounds: 2, objects: 10 },
  memory: FULL_MEMORY,
  search: {
    ...{ rounds: 11, records: 30_000, objects: 2_880, tries: 10, hour: 120 },
    growth: { days: [1, 3, 7], perDay: 480 },
  },
};

/** To see that it works: its numbers are rough. */
export const QUICK: Effort = {
  ...FULL,
  rounds: 5,
  warmUpRounds: 2,
  records: 3_000,
  eventsPerSecond: [1, 100],
  growth: 50_000,
  kinds: { rounds: 3, warmUpRounds: 1, objects: 5 },
  memory: QUICK_MEMORY,
  search: { rounds: 2, records: 3_000, objects: 96, tries: 3, hour: 5, growth: { days: [1, 2], perDay: 48 } },
};

/** A typical job: its filter keeps nine records of ten, and it ships 7 of 13 fields. */
export const FILTERED: JobShape = {
  filter: JSON.stringify({
    where: {
      or: [
        { key: "Outcome", operator: "!eq", value: "ok" },
        { key: "ScriptName", operator: "!in", value: ["images", "feeds"] },
        { key: "Event.Response.Status", operator: "geq", value: 400 },
      ],
    },
  }),
  fieldNames: ["EventTimestampMs", "EventType", "Outcome", "ScriptName", "Event", "Exceptions", "Logs"],
};

export const EVERYTHING: JobShape = { filter: null, fieldNames: null };

export interface CpuResult {
  shape: JobShape;
  prepared: Prepared;
  /** CPU time of each piece of work, in µs for each record that came in. */
  microseconds: { [work in Work]: Summary };
  /** Of the pipeline to gzip alone, pair by pair; without sketches; and of each further job. */
  ratio: Summary;
  unsketchedRatio: Summary;
  furtherRatio: Summary;
  recordsPerCpuSecond: number;
}

/** CPU time from message to fragment, beside gzip of the same bytes, by turns. */
export async function measureCpu(
  harness: Harness,
  clock: CpuClock,
  shape: JobShape,
  effort: Effort,
): Promise<CpuResult> {
  const { records, rounds, warmUpRounds } = effort;
  await harness.awake();
  const prepared = await harness.ask<Prepared>("prepare", { records, seed: 1, shape });
  const bytes = new Map<Work, number>();
  const times = byWork(() => [] as number[]);
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    for (const work of WORKS) {
      await harness.awake();
      const before = clock.nowMs();
      const ran = await harness.ask<Ran>("run", work);
      const tookMs = clock.nowMs() - before;
      if ((bytes.get(work) ?? ran.bytes) !== ran.bytes) throw new Error(`${work} did something else this time`);
      bytes.set(work, ran.bytes);
      if (round >= warmUpRounds) times[work].push(tookMs);
    }
  }
  const asking = summary(times.nothing).median;
  const microseconds = byWork((work) => summary(times[work].map((ms) => ((ms - asking) / records) * 1_000)));
  const toGzip = (of: (round: number) => number): Summary =>
    summary(times.gzip.map((gzipMs, round) => of(round) / (gzipMs - asking)));
  const net = (work: Work) => (round: number) => (times[work][round] ?? 0) - asking;
  return {
    ...{ shape, prepared, microseconds },
    ratio: toGzip(net("pipeline")),
    unsketchedRatio: toGzip(net("unsketched")),
    furtherRatio: toGzip((round) => (net("alike")(round) - net("pipeline")(round)) / (ALIKE - 1)),
    recordsPerCpuSecond: 1e6 / microseconds.pipeline.median,
  };
}

function byWork<T>(of: (work: Work) => T): { [work in Work]: T } {
  return Object.fromEntries(WORKS.map((work) => [work, of(work)])) as { [work in Work]: T };
}

/** Isolates at work, by rate: those between which the packer matters. */
const SEVERAL: { readonly [eventsPerSecond: number]: readonly number[] } = { 1: [4], 100: [2, 20], 1000: [20, 100] };

export interface CostResult {
  scenario: Scenario;
  simulated: Simulated;
  bill: Bill;
}

/** At this rate, with ten jobs, too, and with requests of one event each. */
const MAIN_RATE = 100;

/**
 * Billed operations at each rate: with one job and with three, with more isolates, and with events
 * that are POSTed one by one.
 */
export async function measureCosts(harness: Harness, terms: Terms, effort: Effort): Promise<CostResult[]> {
  const results: CostResult[] = [];
  const jobs: number[] = [];
  const addJob = async (): Promise<void> => {
    jobs.push(await createJob(harness));
  };
  const measure = async (eventsPerSecond: number, isolates: number): Promise<void> => {
    const { seconds } = effort;
    const scenario: Scenario = {
      jobs: [...jobs],
      eventsPerSecond,
      isolates,
      // The first uploads of a job ask whether the store heeds conditions.
      warmUpS: 60,
      seconds,
      ...harness.consumer,
      seed: 3,
    };
    const simulated = await simulate(harness, scenario);
    results.push({ scenario, simulated, bill: bill(scenario, simulated, terms) });
  };
  await addJob();
  for (const rate of effort.eventsPerSecond) await measure(rate, 1);
  for (const rate of effort.eventsPerSecond) if (rate > 1) await measure(rate, 4);
  for (const rate of effort.eventsPerSecond) for (const isolates of SEVERAL[rate] ?? []) await measure(rate, isolates);
  await measure(MAIN_RATE, 0);
  await addJob();
  await addJob();
  for (const rate of effort.eventsPerSecond) await measure(rate, 1);
  await measure(MAIN_RATE, 0);
  while (jobs.length < 10) await addJob();
  await measure(MAIN_RATE, 1);
  await measure(MAIN_RATE, 0);
  return results;
}

/** Of one request, in simulated s: a connection inside the runtime does not last for long. */
const PIECE_S = 300;

/**
 * Runs a scenario; at its end everything is delivered, so that no scenario pays for another.
 * @throws if a job has not got every event once: the counts would be wrong.
 */
async function simulate(harness: Harness, scenario: Scenario): Promise<Simulated> {
  const { jobs, warmUpS, seconds } = scenario;
  const ask = async <T>(command: string, argument: unknown): Promise<T> => {
    await harness.awake();
    return harness.ask<T>(command, argument);
  };
  const pass = async (all: number): Promise<Simulated> => {
    for (let left = all; left > 0; left -= PIECE_S) await ask("pass", { seconds: Math.min(left, PIECE_S) });
    return ask<Simulated>("counts", null);
  };
  const before = await ask<number[]>("begin", scenario);
  const { events } = await pass(warmUpS);
  const simulated = await pass(seconds);
  await ask("pass", { seconds: null });
  const after = await ask<number[]>("delivered", jobs);
  for (const [i, job] of jobs.entries()) {
    const delivered = (after[i] ?? 0) - (before[i] ?? 0);
    const sent = events + simulated.events;
    if (delivered !== sent) throw new Error(`job ${job} got ${delivered} of ${sent} events`);
  }
  return simulated;
}

export interface GrowthResult {
  /** CPU time for a record in each step, in µs, and how large everything was after it. */
  steps: { microseconds: number; grown: Grown }[];
}

const GROWTH_STEP = 10_000;

/** CPU time for a record, from message to delivered object, while a log grows. */
export async function measureGrowth(harness: Harness, clock: CpuClock, effort: Effort): Promise<GrowthResult> {
  const job = await createJob(harness);
  const steps: GrowthResult["steps"] = [];
  for (let records = 0; records < effort.growth; records += GROWTH_STEP) {
    await harness.ask("pack", GROWTH_STEP);
    await harness.awake();
    const before = clock.nowMs();
    await harness.ask("append", null);
    const microseconds = ((clock.nowMs() - before) / GROWTH_STEP) * 1_000;
    steps.push({ microseconds, grown: await harness.ask<Grown>("grown", job) });
  }
  return { steps };
}

async function createJob(harness: Harness): Promise<number> {
  const endpoint = encodeURIComponent("https://store.example");
  const { id } = await harness.api<{ id: number }>("POST", "/logship/jobs", {
    destination_conf: `s3://traces/logs/{DATE}?region=auto&endpoint=${endpoint}&access-key-id=bench&secret-access-key=bench`,
    enabled: true,
  });
  return id;
}

export interface Results {
  clock: CpuClock["kind"];
  consumer: Harness["consumer"];
  cpu: { filtered: CpuResult; everything: CpuResult } | null;
  costs: CostResult[] | null;
  growth: GrowthResult | null;
  kinds: KindResult[] | null;
  memory: MemoryResult | "unreadable" | null;
  mixes: MixMemory[] | "unreadable" | null;
  search: SearchResult | null;
}

export const PARTS = ["cpu", "costs", "growth", "kinds", "memory", "mixes", "search"] as const;
export type Part = (typeof PARTS)[number];

/** CPU time for a bill where none was measured. */
const USUAL_CPU = { intakeCpuMs: 0.02, pipelineCpuMs: 0.02 };

/** Runs parts of the benchmark. @param say gets progress as text. */
export async function measure(parts: ReadonlySet<Part>, effort: Effort, say: (line: string) => void): Promise<Results> {
  const results: Results = {
    clock: "wall",
    consumer: { batchSize: 0, batchTimeoutMs: 0 },
    cpu: null,
    costs: null,
    growth: null,
    kinds: null,
    memory: null,
    mixes: null,
    search: null,
  };
  if (parts.has("cpu") || parts.has("costs"))
    await withHarness(async (harness, clock) => {
      results.clock = clock.kind;
      results.consumer = harness.consumer;
      let terms: Terms = { ...USUAL_CPU, loggedShare: harness.loggedShare };
      if (parts.has("cpu")) {
        say("CPU time: a job with filter and projection …");
        const filtered = await measureCpu(harness, clock, FILTERED, effort);
        say("CPU time: a job that ships everything …");
        const everything = await measureCpu(harness, clock, EVERYTHING, effort);
        results.cpu = { filtered, everything };
        const { intake, pipeline } = everything.microseconds;
        terms = { ...terms, intakeCpuMs: intake.median / 1_000, pipelineCpuMs: pipeline.median / 1_000 };
      }
      if (parts.has("costs")) {
        say("Billed operations …");
        results.costs = await measureCosts(harness, terms, effort);
      }
    });
  if (parts.has("growth")) {
    say("A log that grows …");
    // In a runtime of its own, with empty storage.
    await withHarness(async (harness, clock) => {
      results.clock = clock.kind;
      results.growth = await measureGrowth(harness, clock, effort);
    });
  }
  if (parts.has("kinds")) {
    say("Uploads to each kind of destination …");
    await withHarness(async (harness, clock) => {
      results.clock = clock.kind;
      results.kinds = await measureKinds(harness, clock, effort.kinds);
    });
  }
  if (parts.has("search")) {
    say("Sketches and searches …");
    await withHarness(async (harness, clock) => {
      results.clock = clock.kind;
      results.search = await measureSearch(harness, clock, effort.search, say);
    });
  }
  if (parts.has("memory")) results.memory = canMeasureMemory() ? await measureMemory(effort.memory, say) : "unreadable";
  if (parts.has("mixes")) results.mixes = canMeasureMemory() ? await measureMixes(say) : "unreadable";
  return results;
}

async function withHarness(run: (harness: Harness, clock: CpuClock) => Promise<void>): Promise<void> {
  const harness = await startHarness();
  try {
    await run(harness, cpuClock());
  } finally {
    await harness.close();
  }
}
