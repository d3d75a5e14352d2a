import type { JobConfig } from "../job/config.ts";
import type { TakenId } from "../storage/id-memory.ts";
import { childOf, homeOf, nextBit, ROOT } from "../storage/splits.ts";
import type { CanaryReport } from "./canary.ts";
import type { HealthHour } from "./health.ts";
import type { JobReader } from "./job-reader.ts";
import { joined, lastComplete } from "./joined-status.ts";
import { KnownLog } from "./known-logs.ts";
import { type Following, NUMBERS_PER_NODE, nodeName, nodeOf, nodeOfNumber, placeOf } from "./nodes.ts";
import type { Replayable, ReplayPage, ReplaySpan } from "./replayed.ts";
import type { LogStatus } from "./types.ts";
import { type Answered, walk } from "./walk.ts";

type Logs = DurableObjectNamespace<JobReader>;
export type Log = DurableObjectStub<JobReader>;

/** A node of a job's log, by its number; of a log of one shard: a segment, from 0. */
export function segmentOf(logs: Logs, jobId: number, node: number): DurableObjectStub<JobReader> {
  return logs.getByName(nodeName(jobId, node));
}

/** {@link walk} with the node itself. */
export async function eachNode<A extends Following>(
  logs: Logs,
  jobId: number,
  ask: (log: Log, node: number) => Promise<A | null>,
  known?: KnownLog,
): Promise<Answered<A>[]> {
  return walk((node) => ask(segmentOf(logs, jobId, node), node), known);
}

/** All nodes of a log, in order. */
export async function nodesOf(logs: Logs, jobId: number, known?: KnownLog): Promise<number[]> {
  return (await eachNode(logs, jobId, (log) => log.holds([]), known)).map(({ node }) => node);
}

/**
 * Brings a job's configuration to every node of its log. @returns the newest version that is in
 * force in any of them.
 */
export async function configureChain(logs: Logs, job: JobConfig): Promise<number> {
  const known = new KnownLog();
  const answers = await eachNode(logs, job.id, (log, node) => log.configure(job, node, known.before(node)), known);
  return Math.max(...answers.map(({ answer }) => answer.version));
}

/**
 * The status of a whole log; null if it has never been configured.
 * @param notAfterMs as in {@link JobReader.status}.
 */
export async function chainStatus(logs: Logs, jobId: number, notAfterMs?: number): Promise<LogStatus | null> {
  const statusOf = async (log: Log): Promise<LogStatus | null> => log.status(notAfterMs);
  const nodes = await eachNode(logs, jobId, statusOf);
  const [first] = nodes;
  if (first === undefined || nodes.length === 1) return first?.answer ?? null;
  const { wholeCompleteMs: claimedMs } = first.answer;
  if (notAfterMs === undefined && claimedMs !== null) return joined(nodes, claimedMs);
  // What one claims may have come to another after that was asked: they are asked again.
  const holding = nodes.map(({ node }) => segmentOf(logs, jobId, node).status());
  const completeMs = lastComplete(nodes, (await Promise.all(holding)) as (LogStatus | null)[]);
  if (notAfterMs !== undefined && completeMs > (claimedMs ?? 0))
    await segmentOf(logs, jobId, first.node).claimWhole(completeMs);
  return joined(nodes, Math.max(completeMs, claimedMs ?? 0) || null);
}

/**
 * What of a whole log a replay can ship again, and the keys of some of it: the first and the last
 * of each node.
 */
export async function chainReplayable(logs: Logs, jobId: number, span: ReplaySpan): Promise<Replayable> {
  const whole: Replayable = { objects: 0, records: 0, bytes: 0, keys: [] };
  for (const { answer } of await eachNode(logs, jobId, (log) => log.replayable(span))) {
    whole.objects += answer.objects;
    whole.records += answer.records;
    whole.bytes += answer.bytes;
    whole.keys.push(...answer.keys);
  }
  return whole;
}

/**
 * A page of what a replay ships again: objects with a number above `after`, in order.
 * @param after 0, or as the page before says.
 */
export async function chainReplayPage(
  logs: Logs,
  jobId: number,
  span: ReplaySpan,
  after: number,
  limit: number,
): Promise<ReplayPage> {
  const page: ReplayPage = await segmentWith(logs, jobId, after).replayPage(span, after, limit);
  if (page.next !== null) return page;
  // The last segment of a shard: the next shard follows, if there is one.
  const next = (await nodesOf(logs, jobId)).find((node) => node > nodeOfNumber(after));
  return { ...page, next: next === undefined ? null : next * NUMBERS_PER_NODE };
}

/** The node of an object that exists. */
export function segmentWith(logs: Logs, jobId: number, number: number): Log {
  return segmentOf(logs, jobId, nodeOfNumber(number));
}

/**
 * The node of an object of this number; null: the log has no such node, and none is created.
 * @param jobId of an existing job.
 */
export async function findSegment(logs: Logs, jobId: number, number: number): Promise<Log | null> {
  const node = nodeOfNumber(number);
  if (node > 0 && !(await nodesOf(logs, jobId)).includes(node)) return null;
  return segmentOf(logs, jobId, node);
}

/**
 * Has the log remember for good which of these messages it holds. @returns ids that it may have
 * forgotten.
 */
export async function pinChainIds(logs: Logs, jobId: number, messages: readonly TakenId[]): Promise<Set<string>> {
  const known = new KnownLog();
  const answers = await eachNode(
    logs,
    jobId,
    (log, node) => {
      const { shard } = placeOf(node);
      return log.keepIds(messages.filter((message) => homeOf(message, known.splits) === shard));
    },
    known,
  );
  return new Set(answers.flatMap(({ answer }) => answer.forgotten));
}

/**
 * How the uploads of a whole log went, by the hour, over all of its nodes.
 * @param until the first hour that is not asked for; both are hours since the epoch.
 * @returns as {@link JobReader.health}: several may be of the same hour.
 */
export async function chainHealth(logs: Logs, jobId: number, since: number, until: number): Promise<HealthHour[]> {
  const answers = await eachNode(logs, jobId, (log) => log.health(since, until));
  return answers.flatMap(({ answer }) => answer.hours);
}

/**
 * How a job's canary fares: that of the newest segment of shard 0, which alone sends one. null: it
 * has none, or its log has not confirmed the job yet.
 */
export async function chainCanary(logs: Logs, jobId: number): Promise<CanaryReport | null> {
  const answers = await eachNode(logs, jobId, (log) => log.canaryReport());
  return answers.map(({ answer }) => answer.report).findLast((report) => report !== null) ?? null;
}

/**
 * Cuts and uploads what waits, in every node at once.
 * @param owedSinceMs as in {@link JobReader.drive}.
 * @returns objects that still wait.
 * @throws after all of them were driven, if one could not be.
 */
export async function driveChain(
  logs: Logs,
  jobId: number,
  reason: "scheduled" | "manual",
  waitMs: number,
  owedSinceMs: number | null = null,
): Promise<number> {
  const driven: Promise<PromiseSettledResult<{ pendingObjects: number }>[]>[] = [];
  const failures: unknown[] = [];
  // Each as soon as it is known of: one that does not say what follows it holds up no other.
  await eachNode(logs, jobId, async (log): Promise<Following | null> => {
    try {
      const answer = await log.holds([]);
      driven.push(Promise.allSettled([log.drive(reason, waitMs, owedSinceMs)]));
      return answer;
    } catch (error) {
      failures.push(error);
      return null;
    }
  });
  let pending = 0;
  for (const result of (await Promise.all(driven)).flat()) {
    if (result.status === "rejected") failures.push(result.reason);
    else pending += result.value.pendingObjects;
  }
  if (failures.length > 0) throw failures[0];
  return pending;
}

/**
 * Deletes the log of a job that was deleted long ago, the last node first: a node is named by one
 * before it. Nothing is deleted while any holds something, as its counts are those of the whole
 * log.
 * @param deletedMs when the job was deleted, in ms since the epoch.
 * @returns whether all of it is deleted.
 */
export async function retireChain(logs: Logs, jobId: number, deletedMs: number): Promise<boolean> {
  const known = new KnownLog();
  const answers = await eachNode(logs, jobId, async (log): Promise<LogStatus | null> => log.status(), known);
  if (answers.some(({ answer }) => answer.counts.pending > 0 || answer.setAside.objects > 0)) return false;
  const nodes = answers.length === 0 ? [nodeOf(ROOT, 0)] : answers.map(({ node }) => node);
  for (const node of nodes.reverse()) {
    const { shard, segment } = placeOf(node);
    // A child that a split was begun for, and not stored, has nothing but the job as it was then.
    const bit = segment === 0 ? nextBit(shard, known.splits.get(shard) ?? []) : null;
    if (bit !== null) await segmentOf(logs, jobId, nodeOf(childOf(shard, bit), 0)).retire(deletedMs);
    if (!(await segmentOf(logs, jobId, node).retire(deletedMs))) return false;
  }
  return true;
}
