/**
 * A job is changed while events are on their way. An event still in the queue is judged by the
 * configuration at the time it is processed; whether the job was enabled is judged at the time of
 * intake. Records the log has taken stay as they are.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { gunzipSync } from "node:zlib";
import { expect } from "vitest";
import { ControlPlane } from "../../src/index.ts";
import { nodeAt } from "../../src/ship/reader/job-nodes.ts";
import { cells } from "../support/matrix.ts";
import type { Minted } from "../support/oracle.ts";
import type { World } from "../support/runtime/world.ts";
import type { JobOptions, WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { until } from "../support/until.ts";
import { breaks } from "./fault.ts";
import { row } from "./row.ts";
import { controlOf, countsOf, PUTS, pass, written } from "./stores.ts";

/** Where the events are when the change is made. */
const STAGES = ["in the queue", "in a batch", "cut", "under way"] as const;
type Stage = (typeof STAGES)[number];

/** No event is taken in this close to a change that enables or disables a job, in ms. */
const CLOCKS_MS = 1_000;

const filterOf = (outcome: string): string =>
  JSON.stringify({ where: { key: "Outcome", operator: "eq", value: outcome } });
const outcomeIs =
  (outcome: string) =>
  ({ record }: Minted): boolean =>
    record.Outcome === outcome;

/** Five events with outcome `ok`, and five with `exception`. */
async function take(world: World): Promise<void> {
  await world.take([...world.mint(5), ...world.mint(5, { outcome: "exception" })], 5);
}

/**
 * Moves the events taken to a stage.
 * @returns a function that lets them continue.
 */
async function reach(world: World, job: WorldJob, stage: Stage): Promise<() => Promise<void>> {
  const control = controlOf(job);
  if (stage === "in the queue") return async () => {};
  await world.deliverDue();
  if (stage === "in a batch") return async () => {};
  await control.script([stage === "cut" ? rule({ do: "answer", status: 503 }, PUTS) : rule({ do: "hold" }, PUTS, 1)]);
  await runInDurableObject(nodeAt(env.READERS, job.id, 0), (log) => {
    log.alarmWaitMs = stage === "cut" ? log.alarmWaitMs : 0;
  });
  await pass(world);
  if (stage === "cut") return () => control.script([]);
  await control.whenHeld(1);
  return async () => {
    await control.release();
    await until(async () => (await written(control)) > 0);
  };
}

interface Change {
  readonly name: string;
  /**
   * How the job is created.
   * @param stage decides which configuration judges the first events.
   */
  readonly options?: (stage: Stage) => JobOptions;
  readonly make: (world: World, job: WorldJob) => Promise<unknown>;
  /** Checks made at the end, in addition to the audit of every job. */
  readonly after?: (job: WorldJob, stage: Stage, world: World) => Promise<void>;
}

/** The field names of the records in each object, and the number of records that have them. */
async function formatsOf(job: WorldJob): Promise<[fields: string, records: number][]> {
  const formats: [string, number][] = [];
  for (const { key, bytes } of (await Promise.all(job.buckets.map(({ control }) => control.contents()))).flat()) {
    if (!key.endsWith(".log.gz")) continue;
    const lines = gunzipSync(bytes).toString().trim().split("\n");
    const fields = new Set(lines.map((line) => Object.keys(JSON.parse(line)).join()));
    formats.push([[...fields].join(" and "), lines.length]);
  }
  return formats.sort();
}

/**
 * How many of the 20 records, 10 from before the change and 10 from after, are judged by the new
 * configuration.
 */
const byNewRules = (stage: Stage): number => (stage === "in the queue" ? 20 : 10);

const CHANGES: readonly Change[] = [
  {
    name: "gets another filter",
    options: (stage) => ({
      fields: { filter: filterOf("ok") },
      keeps: outcomeIs(stage === "in the queue" ? "exception" : "ok"),
    }),
    async make(world, job) {
      await world.jobs.change(job, { filter: filterOf("exception") });
      job.keeps = outcomeIs("exception");
    },
    async after(job) {
      expect(await countsOf(job)).toMatchObject({ received: 20, filtered: 10, delivered: 10 });
    },
  },
  {
    name: "gets another format",
    options: () => ({ fields: { output_options: { field_names: ["Logs", "Outcome"] } } }),
    make: (world, job) => world.jobs.change(job, { output_options: { field_names: ["Logs", "EventTimestampMs"] } }),
    async after(job, stage) {
      const formats = await formatsOf(job);
      const sum = (fields: string): number => formats.reduce((n, [f, records]) => n + (f === fields ? records : 0), 0);
      expect(sum("Logs,EventTimestampMs")).toBe(byNewRules(stage));
      expect(sum("Logs,Outcome")).toBe(20 - byNewRules(stage));
    },
  },
  {
    name: "gets another bucket",
    make: (world, job) => world.jobs.move(job),
    async after(job, stage) {
      const [before = 0, now = 0] = await Promise.all(job.buckets.map(({ control }) => written(control)));
      expect([before, now > 0]).toEqual([stage === "under way" ? 1 : 0, true]);
    },
  },
  {
    name: "gets narrower limits",
    make: (world, job) => world.jobs.change(job, { max_upload_records: 1_000, max_upload_bytes: 5_000_000 }),
  },
  {
    name: "gets a longer interval",
    make: (world, job) => world.jobs.change(job, { max_upload_interval_seconds: 300 }),
  },
  {
    name: "gets a sample rate",
    options: () => ({ samples: true, fields: { output_options: { field_names: ["Logs"] } } }),
    make: (world, job) => world.jobs.change(job, { output_options: { field_names: ["Logs"], sample_rate: 0.5 } }),
    async after(job, stage) {
      const { sampled_out, delivered } = await countsOf(job);
      expect(sampled_out + delivered).toBe(20);
      expect(sampled_out).toBeLessThanOrEqual(byNewRules(stage));
    },
  },
  { name: "is disabled", make: (world, job) => world.jobs.change(job, { enabled: false }), after: hasTheFirstTen },
  {
    name: "is disabled and enabled again",
    async make(world, job) {
      await world.jobs.change(job, { enabled: false });
      world.clock.advance(CLOCKS_MS);
      await take(world);
      world.clock.advance(CLOCKS_MS);
      await world.jobs.change(job, { enabled: true });
    },
    async after(job) {
      expect(await countsOf(job)).toMatchObject({ received: 20, delivered: 20 });
    },
  },
  { name: "is deleted", make: (world, job) => world.jobs.remove(job), after: hasTheFirstTen },
  {
    name: "is deleted with what it holds",
    make: (world, job) => world.jobs.remove(job, { discard: true }),
    async after(job, stage) {
      const all = { "in the queue": 0, "in a batch": 10, cut: 10, "under way": 10 }[stage];
      const { received, delivered, discarded } = await countsOf(job);
      expect({ received, delivered, discarded }).toEqual({
        received: all,
        delivered: stage === "under way" ? all : 0,
        discarded: stage === "under way" ? 0 : all,
      });
    },
  },
  {
    name: "is deleted, and another is created in its place",
    async make(world, job) {
      await world.jobs.remove(job);
      world.clock.advance(CLOCKS_MS);
      await world.createJob();
    },
    async after(job, _stage, world) {
      await hasTheFirstTen(job);
      expect(await countsOf(world.jobs.all[1] as WorldJob)).toMatchObject({ received: 10, delivered: 10 });
    },
  },
];

async function hasTheFirstTen(job: WorldJob): Promise<void> {
  expect(await countsOf(job)).toMatchObject({ received: 10, delivered: 10 });
}

const PLACES = STAGES.flatMap((stage) =>
  (stage === "in the queue" ? (["current", "stale"] as const) : (["current"] as const)).map(
    (isolate) => [stage, isolate] as const,
  ),
);

for (const [{ name, options = () => ({}), make, after }, [stage, isolate]] of cells(CHANGES, PLACES)) {
  const stale = isolate === "stale" ? ", and a consumer does not learn of it" : "";
  row(`a job ${name} with events ${stage}${stale}`, async (world) => {
    const job = await world.createJob(options(stage));
    world.coldIsolate();
    // Reads the configuration.
    await world.runCron();
    if (isolate === "stale") breaks(world, ControlPlane, "configSince", "refused");
    await take(world);
    const goOn = await reach(world, job, stage);
    world.clock.advance(CLOCKS_MS);
    await make(world, job);
    world.injected();
    world.clock.advance(CLOCKS_MS);
    await take(world);
    await world.deliverDue();
    await goOn();
    await world.settle();
    await after?.(job, stage, world);
  });
}
