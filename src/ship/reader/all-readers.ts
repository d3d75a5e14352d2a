import { shardsOf } from "../log/log-shards.ts";
import { type Following, NUMBERS_PER_NODE, nodeOfNumber, placeOf } from "../log/nodes.ts";
import type { CanaryReport } from "./canary.ts";
import { eachNode, nodeAt, type Reader, type ReaderBindings } from "./job-nodes.ts";
import type { Replayable, ReplayPage, ReplaySpan } from "./replayed.ts";
import type { HealthHour } from "./upload-health.ts";

/** All nodes of a job, in order. @param shards absent: all. */
async function nodesOf(env: ReaderBindings, jobId: number, shards?: readonly number[]): Promise<number[]> {
  return (await eachNode(env, jobId, (reader) => reader.following(), shards)).map(({ node }) => node);
}

/**
 * What of a whole job a replay can ship again, and the keys of some of it: the first and the last
 * of each node.
 */
export async function jobReplayable(env: ReaderBindings, jobId: number, span: ReplaySpan): Promise<Replayable> {
  const whole: Replayable = { objects: 0, records: 0, bytes: 0, keys: [] };
  for (const { answer } of await eachNode(env, jobId, (reader) => reader.replayable(span))) {
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
export async function jobReplayPage(
  env: ReaderBindings,
  jobId: number,
  span: ReplaySpan,
  after: number,
  limit: number,
): Promise<ReplayPage> {
  const page: ReplayPage = await nodeWith(env, jobId, after).replayPage(span, after, limit);
  if (page.next !== null) return page;
  // The last segment of a shard: the next shard follows, if there is one.
  const next = (await nodesOf(env, jobId)).find((node) => node > nodeOfNumber(after));
  return { ...page, next: next === undefined ? null : next * NUMBERS_PER_NODE };
}

/** The node of an object that exists. */
export function nodeWith(env: ReaderBindings, jobId: number, number: number): Reader {
  return nodeAt(env.READERS, jobId, nodeOfNumber(number));
}

/**
 * A node of this number; null: the job has no such node, and none is created.
 * @param jobId of an existing job.
 */
export async function readerAt(env: ReaderBindings, jobId: number, node: number): Promise<Reader | null> {
  // Only its shard is asked: a list of a hundred objects must not call all readers for each.
  const shards = (await shardsOf(env)).filter((shard) => shard === placeOf(node).shard);
  return (await nodesOf(env, jobId, shards)).includes(node) ? nodeAt(env.READERS, jobId, node) : null;
}

/** The same of an object of this number. */
export function findNode(env: ReaderBindings, jobId: number, number: number): Promise<Reader | null> {
  return readerAt(env, jobId, nodeOfNumber(number));
}

/**
 * How the uploads of a whole job went, by the hour, over all of its nodes.
 * @param until the first hour that is not asked for; both are hours since the epoch.
 * @returns as {@link JobReader.health}: several may be of the same hour.
 */
export async function jobHealth(
  env: ReaderBindings,
  jobId: number,
  since: number,
  until: number,
): Promise<HealthHour[]> {
  const answers = await eachNode(env, jobId, (reader) => reader.health(since, until));
  return answers.flatMap(({ answer }) => answer.hours);
}

/**
 * How a job's canary fares: that of the newest segment of shard 0, which alone sends one. null: it
 * has none, or its readers have not read the job yet.
 */
export async function jobCanary(env: ReaderBindings, jobId: number): Promise<CanaryReport | null> {
  const answers = await eachNode(env, jobId, (reader) => reader.canaryReport());
  return answers.map(({ answer }) => answer.report).findLast((report) => report !== null) ?? null;
}

/**
 * Cuts and uploads what waits, in every node at once.
 * @returns objects that still wait.
 * @throws after all of them were driven, if one could not be.
 */
export async function driveNodes(
  env: ReaderBindings,
  jobId: number,
  reason: "scheduled" | "manual",
  waitMs: number,
  shards?: readonly number[],
): Promise<number> {
  const driven: Promise<PromiseSettledResult<{ pendingObjects: number }>[]>[] = [];
  const failures: unknown[] = [];
  // Each as soon as it is known of: one that does not say what follows it holds up no other.
  const drive = async (reader: Reader): Promise<Following | null> => {
    try {
      const answer = await reader.following();
      if (answer !== null) driven.push(Promise.allSettled([reader.drive(reason, waitMs)]));
      return answer;
    } catch (error) {
      failures.push(error);
      return null;
    }
  };
  await eachNode(env, jobId, drive, shards);
  let pending = 0;
  for (const result of (await Promise.all(driven)).flat()) {
    if (result.status === "rejected") failures.push(result.reason);
    else pending += result.value.pendingObjects;
  }
  if (failures.length > 0) throw failures[0];
  return pending;
}

/**
 * Deletes the readers of a job that was deleted long ago, the last node first: a node is named by
 * one before it.
 * @param deletedMs when the job was deleted, in ms since the epoch.
 * @returns whether all of them are deleted.
 */
export async function retireNodes(env: ReaderBindings, jobId: number, deletedMs: number): Promise<boolean> {
  for (const node of (await nodesOf(env, jobId)).reverse())
    if (!(await nodeAt(env.READERS, jobId, node).retire(deletedMs))) return false;
  return true;
}
