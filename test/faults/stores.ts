/** What most rows do: take events in, let time pass, fail a store or a receiver, and look. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { nodeAt } from "../../src/ship/reader/job-nodes.ts";
import { jobStatus } from "../../src/ship/reader/job-status.ts";
import type { DeliveryCounts } from "../../src/ship/reader/statuses.ts";
import type { Minted } from "../support/oracle.ts";
import { api } from "../support/runtime/api.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import type { PostOptions, World } from "../support/runtime/world.ts";
import type { JobOptions, WorldJob } from "../support/runtime/world-jobs.ts";
import type { BucketControl } from "../support/s3-control.ts";
import type { Match, Rule } from "../support/s3-script.ts";

/** PUTs of objects, without the probe. */
export const PUTS: Match = { method: "PUT", keyIncludes: ".log.gz" };

export const HEADS: Match = { method: "HEAD" };

export interface Waiting {
  readonly job: WorldJob;
  readonly control: BucketControl;
}

/** A job with this many records in its log, not yet cut, and the bucket to script. */
export async function waitingJob(
  world: World,
  { records = 10, ...options }: JobOptions & { records?: number } = {},
): Promise<Waiting> {
  const job = await world.createJob(options);
  await arrive(world, world.mint(records));
  return { job, control: controlOf(job) };
}

/** The same, with a bucket that does this from now on. */
export async function failingJob(
  world: World,
  rules: Rule | readonly Rule[],
  options?: Parameters<typeof waitingJob>[1],
): Promise<Waiting> {
  const waiting = await waitingJob(world, options);
  await waiting.control.script([rules].flat());
  return waiting;
}

/** Posts events, this many per request, and has the queue deliver them to the log. */
export async function arrive(
  world: World,
  events: readonly Minted[],
  perRequest?: number,
  options?: PostOptions,
): Promise<void> {
  await world.take(events, perRequest, options);
  await world.deliverDue();
}

/**
 * The queue delivers these messages in one batch, and readers read what is due.
 * @param losesAck whether it misses that one was acknowledged.
 */
export async function deliver(
  world: World,
  messages: readonly HeldMessage[],
  losesAck?: (message: HeldMessage) => boolean,
): Promise<void> {
  await world.queue.deliver(messages, world.isolate.queue, world.env, losesAck);
  await world.readersRest();
}

/** The bucket that is currently the job's destination. */
export function controlOf(job: WorldJob): BucketControl {
  const bucket = job.buckets.at(-1);
  if (bucket === undefined) throw new Error(`job ${job.id} has no bucket`);
  return bucket.control;
}

/** Advances the clock and runs the alarms. The default makes a batch due that was taken alone. */
export async function pass(world: World, ms = 30_000): Promise<void> {
  world.clock.advance(ms);
  await world.runAlarms();
}

/** What the API shows of a job's deliveries. */
export interface JobView {
  readonly error_message: string | null;
  readonly last_error: string | null;
  readonly last_complete: string | null;
}

export async function viewOf(job: WorldJob): Promise<JobView> {
  return (await api<JobView>("GET", `/logship/jobs/${job.id}`)).body.result;
}

/** The error that the API shows for the job; null: none. */
export async function said(job: WorldJob): Promise<string | null> {
  return (await viewOf(job)).error_message;
}

export async function countsOf(job: WorldJob): Promise<DeliveryCounts> {
  const status = await jobStatus(env, job.id);
  if (status === null) throw new Error(`job ${job.id} has no log`);
  return status.counts;
}

/** How many requests the script of a bucket has decided. */
export async function decided(control: BucketControl): Promise<number> {
  return (await control.requests()).filter(({ action }) => action !== null).length;
}

/** How many PUTs of objects a bucket has received, including failed ones. */
export async function attempts(control: BucketControl): Promise<number> {
  return (await control.requests()).filter(({ method, key }) => method === "PUT" && key.endsWith(".log.gz")).length;
}

/** Settles, and then expects these counts of a job. */
export async function expectSettled(world: World, job: WorldJob, counts: Partial<DeliveryCounts>): Promise<void> {
  await world.settle();
  expect(await countsOf(job)).toMatchObject(counts);
}

/** How many times a bucket has written an object. */
export async function written(control: BucketControl): Promise<number> {
  return (await control.puts()).filter(({ key }) => key.endsWith(".log.gz")).length;
}

/** Runs an alarm against a destination that does not answer, and advances its own timers. */
export async function outlast(
  world: World,
  jobId: number,
  held: () => Promise<void>,
  waitsMs: readonly number[],
): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const log = nodeAt(env.READERS, jobId, 0);
  world.clock.advance(30_000);
  const alarms = world.runAlarms();
  await held();
  // In steps, with real time between them: an answer that arrives meanwhile may set another
  // timer.
  const advance = async (ms: number): Promise<void> => {
    for (let step = 0; step < 8; step++) {
      await scheduler.wait(15);
      await runInDurableObject(log, () => vi.advanceTimersByTimeAsync(ms / 8));
    }
  };
  await advance(8_000);
  await alarms;
  for (const ms of waitsMs) await advance(ms);
  vi.useRealTimers();
}
