import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  getQueueResult,
  runDurableObjectAlarm,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { inject, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import worker from "../../../src/index.ts";
import { acceptEvents } from "../../../src/ship/intake/events.ts";
import { keyedIds, randomIds } from "../../../src/ship/intake/ids.ts";
import { type PackedMessage, packRecords } from "../../../src/ship/intake/packing.ts";
import { shardsOf } from "../../../src/ship/log/log-shards.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import type { ObjectEntry, ReaderStatus } from "../../../src/ship/reader/statuses.ts";
import type { Minted } from "../oracle.ts";
import { type BucketControl, bucketControl } from "../s3-control.ts";
import { api } from "./api.ts";

/**
 * The time at which tests begin. It is far in the future, so that an alarm set by a test's clock
 * fires only when the test runs it.
 */
export const NOON = Date.parse("2100-11-20T12:00:00Z");

/**
 * Sets the clock that the worker and its durable objects read. Undone by `vi.restoreAllMocks()`.
 */
export function setClock(nowMs: number): { advance(ms: number): void; nowMs(): number } {
  let now = nowMs;
  vi.spyOn(platform, "now").mockImplementation(() => now);
  // A sleep advances the clock; one that something may end ends at once.
  vi.spyOn(platform, "sleep").mockImplementation(async (ms, end) => {
    if (end === undefined) now += ms;
  });
  return {
    advance: (ms) => {
      now += ms;
    },
    nowMs: () => now,
  };
}

/** The same, where no sleep advances the clock: for tests that reckon in ms. */
export function setSteadyClock(nowMs: number): ReturnType<typeof setClock> {
  const clock = setClock(nowMs);
  vi.spyOn(platform, "sleep").mockResolvedValue();
  return clock;
}

/** A bucket of the scripted S3 endpoint that no other test uses. */
export function freshBucket(): { name: string; control: BucketControl } {
  const name = `bucket-${crypto.randomUUID()}`;
  return { name, control: bucketControl(inject("s3Url"), name) };
}

/** Packs events as intake does; they count as taken in at that time. */
export function pack(
  events: readonly Minted[],
  takenInMs: number,
  options: { perMessage?: number; key?: string; source?: string; shards?: number } = {},
): PackedMessage[] {
  const { shards = 1 } = options;
  const size = options.perMessage ?? events.length;
  const messages: PackedMessage[] = [];
  for (let from = 0; from < events.length; from += size) {
    const located = events.slice(from, from + size).map(({ event }, i) => ({ pointer: `/${i}`, value: event }));
    const accepted = acceptEvents(located, { takenInMs, defaultScriptName: "unnamed", lenient: false });
    if (!accepted.ok) throw new Error(JSON.stringify(accepted.faults));
    const idOf = options.key === undefined ? randomIds(shards) : keyedIds(options.key, new Uint8Array([from]));
    const packed = packRecords(accepted.lines, {
      ...{ takenInMs, idOf, keyed: options.key !== undefined, shards },
      ...(options.source !== undefined && { source: options.source }),
    });
    if (!packed.ok) throw new Error("an event does not fit a message");
    messages.push(...packed.messages);
  }
  return messages;
}

/**
 * Delivers messages to the queue handler as one batch, and has jobs read what the log has.
 * @param metrics what the queue says with the batch.
 * @returns the envelope ids of the acknowledged messages.
 */
export async function deliver(
  messages: readonly PackedMessage[],
  attempts = 1,
  metrics?: MessageBatchMetrics,
): Promise<{ acked: string[]; retried: string[] }> {
  const batch = createMessageBatch(
    "logship-events",
    messages.map(({ body }, i) => ({ id: `${i}`, timestamp: new Date(), attempts, body: body.slice().buffer })),
  );
  if (metrics !== undefined) Object.defineProperty(batch, "metadata", { value: { metrics } });
  const ctx = createExecutionContext();
  await worker.queue(batch, env);
  const result = await getQueueResult(batch, ctx);
  await readAll();
  const idsOf = (ids: readonly string[]): string[] => ids.map((id) => messages[Number(id)]?.id ?? "?");
  return { acked: idsOf(result.explicitAcks), retried: idsOf(result.retryMessages.map(({ msgId }) => msgId)) };
}

/** The same of messages that were delivered before. */
export function redeliver(messages: readonly PackedMessage[], attempts = 2): ReturnType<typeof deliver> {
  return deliver(messages, attempts);
}

/** Has all jobs read what the log has for them; nothing is cut before its time. */
export async function readAll(jobs?: readonly number[]): Promise<void> {
  for (const shard of await shardsOf(env)) await traceLog(env.TRACE_LOG, shard).drive(jobs);
}

/** Runs the alarm of a job's log, if it is set. @returns whether it was. */
export function runAlarm(jobId: number, segment = 0): Promise<boolean> {
  return runDurableObjectAlarm(nodeAt(env.READERS, jobId, segment));
}

export async function runCron(): Promise<void> {
  const ctx = createExecutionContext();
  await worker.scheduled(createScheduledController({ cron: "*/5 * * * *" }), env);
  await waitOnExecutionContext(ctx);
}

export async function logStatus(jobId: number, segment = 0): Promise<ReaderStatus> {
  const status = await nodeAt(env.READERS, jobId, segment).status();
  if (status === null) throw new Error(`job ${jobId} has no log`);
  return status;
}

export async function jobObjects(jobId: number): Promise<ObjectEntry[]> {
  return (await api<ObjectEntry[]>("GET", `/logship/jobs/${jobId}/objects?limit=1000`)).body.result;
}

/** The two sides of the log's balance. */
export function balance({ counts }: ReaderStatus): { received: number; accountedFor: number } {
  const { received, filtered, sampled_out, delivered, pending, set_aside, discarded } = counts;
  return { received, accountedFor: filtered + sampled_out + delivered + pending + set_aside + discarded };
}

/**
 * Lets time pass until a job has nothing unread or pending: alarms fire and the cron ticks.
 * @throws if that takes more than an hour of the test's clock.
 */
export async function settle(jobId: number, clock: { advance(ms: number): void }): Promise<void> {
  for (let minute = 0; minute < 60; minute++) {
    clock.advance(60_000);
    await runAlarm(jobId);
    if (minute % 5 === 4) await runCron();
    // There is no reader until the log has driven it for the first time.
    const reader = await nodeAt(env.READERS, jobId, 0).status();
    if (reader !== null && reader.counts.pending > 0) continue;
    const shards = await shardsOf(env);
    const inLog = await Promise.all(shards.map((n) => traceLog(env.TRACE_LOG, n).status([jobId])));
    if (inLog.every(({ jobs }) => (jobs[jobId]?.unread ?? null) === null)) return;
  }
  throw new Error(`job ${jobId} still has something pending after an hour`);
}
