import { LogShards } from "../log/log-shards.ts";
import { placeOf } from "../log/nodes.ts";
import type { ShardStatus } from "../log/shard-answers.ts";
import { added, earlier } from "../log/sums.ts";
import { type Answered, eachNode, nodeAt, type Reader } from "./job-nodes.ts";
import type { JobStatus, ReaderStatus } from "./statuses.ts";

type Bindings = Pick<Env, "READERS" | "TRACE_LOG" | "CONTROL">;

/** What the shards of the log say of some jobs, by shard. */
export type ShardsStatus = ReadonlyMap<number, ShardStatus>;

/** Asks the shards before the readers: what moves on meanwhile is seen once at least. */
export async function shardsStatus(env: Bindings, jobs: readonly number[]): Promise<ShardsStatus> {
  const { shards: numbers, unnotedMs } = await env.CONTROL.getByName("control").standing();
  const shards = new LogShards(env, numbers);
  const ask = (of: readonly number[]) =>
    shards.each(async (stub, shard): Promise<[number, ShardStatus]> => {
      const status = (await stub.status(of)) as ShardStatus;
      return [shard, { ...status, oldestUnfinishedMs: earlier(status.oldestUnfinishedMs, unnotedMs) }];
    });
  // What one shard knows of the queue says nothing of what another one gets after it: what all know
  // comes first, and what is unread then.
  const first = numbers.length > 1 ? new Map(await ask([])) : null;
  const answers = await ask(jobs);
  if (first === null) return new Map(answers);
  return new Map(answers.map(([shard, each]) => [shard, { ...each, queueDoneMs: first.get(shard)?.queueDoneMs ?? 0 }]));
}

/**
 * The status of a job: of all its readers, and of what they have not read yet.
 * @param before what the shards said, asked before; absent: they are asked.
 * @param claims also finds up to when the job is complete, and keeps it.
 * @returns null: no part of the log knows the job.
 */
export async function jobStatus(
  env: Bindings,
  jobId: number,
  { before, claims = false }: { before?: ShardsStatus; claims?: boolean } = {},
): Promise<JobStatus | null> {
  const shards = before ?? (await shardsStatus(env, [jobId]));
  const nodes = await nodesStatus(env, jobId, shards);
  if (nodes.length === 0 && [...shards.values()].every(({ jobs }) => jobs[jobId] === undefined)) return null;
  const joined = joinedStatus(jobId, nodes, shards);
  const completeMs = claims ? completeUpTo(jobId, nodes, shards) : 0;
  if (completeMs <= (joined.lastCompleteMs ?? 0)) return joined;
  const kept = await nodeAt(env.READERS, jobId, 0).claimComplete(completeMs);
  return { ...joined, lastCompleteMs: kept };
}

/**
 * Whether a deleted job has nothing anywhere: nothing is unread, waits, is set aside or on hold,
 * and no message of its time is on its way.
 * @param deletedMs when it was deleted, in ms since the epoch.
 */
export async function isOver(env: Bindings, jobId: number, deletedMs: number): Promise<boolean> {
  const shards = await shardsStatus(env, [jobId]);
  const nodes = await nodesStatus(env, jobId, shards);
  const own = [...shards.values()].flatMap(({ jobs }) => jobs[jobId] ?? []);
  // Not by what the readers have counted: some may be deleted already.
  const isRead = own.every(({ unread, isOnHold }) => unread === null && !isOnHold);
  const areEmpty = nodes.every(
    ({ answer: { counts, setAside, unmade } }) => counts.pending + setAside.objects + unmade.entries === 0,
  );
  return own.length === 0 || (isRead && areEmpty && completeUpTo(jobId, nodes, shards) > deletedMs);
}

function nodesStatus(env: Bindings, jobId: number, shards: ShardsStatus): Promise<Answered<ReaderStatus>[]> {
  const ask = (reader: Reader): Promise<ReaderStatus | null> => reader.status() as Promise<ReaderStatus | null>;
  return eachNode(env, jobId, ask, [...shards.keys()]);
}

/** What the readers have, and what they have not read. */
function joinedStatus(jobId: number, nodes: readonly Answered<ReaderStatus>[], shards: ShardsStatus): JobStatus {
  const statuses = nodes.map(({ answer }) => answer);
  const segments = nodes.map(({ node }) => placeOf(node).segment + 1);
  const open = statuses.filter(({ sealed }) => !sealed).map(({ storedBytes }) => storedBytes);
  const sum = statuses.reduce(both, NOTHING);
  const counts = { ...sum.counts };
  const unread: JobStatus["unread"] = { records: 0, bytes: 0, oldestMs: null, sinceMs: null };
  let lost: JobStatus["lost"] = null;
  let hasPast = false;
  for (const [shard, { jobs }] of shards) {
    const own = jobs[jobId];
    if (own === undefined) continue;
    hasPast ||= own.hasPast === true;
    if (own.lost) lost = [Math.min(lost?.[0] ?? own.lost[0], own.lost[0]), Math.max(lost?.[1] ?? 0, own.lost[1])];
    const counted = nodes.filter(({ node }) => placeOf(node).shard === shard);
    const received = counted.reduce((all, { answer }) => all + answer.counts.received, 0);
    // A reader may have read more since its shard was asked.
    const left = Math.max(0, own.received - received);
    counts.received += left;
    if (own.isDiscarded) counts.discarded += left;
    else {
      counts.pending += left;
      unread.records += left;
      unread.bytes += own.unread?.bytes ?? 0;
      if (left > 0) {
        unread.oldestMs = earlier(unread.oldestMs, own.unread?.oldestMs ?? null);
        unread.sinceMs = earlier(unread.sinceMs, own.unread?.sinceMs ?? null);
      }
    }
  }
  return {
    ...sum,
    counts,
    unread,
    oldestPendingTakenMs: earlier(sum.oldestPendingTakenMs, unread.oldestMs),
    lastCompleteMs: nodes[0]?.answer.lastCompleteMs ?? null,
    ...{ hasPast, lost },
    segments: Math.max(1, ...segments),
    openBytes: Math.max(0, ...open),
  };
}

/**
 * Nothing of the job that was taken in before waits anywhere, in ms; 0: unknown. The queue's claim
 * is about the whole queue, so that of any shard counts: one that gets no parts holds nothing back.
 */
function completeUpTo(jobId: number, nodes: readonly Answered<ReaderStatus>[], shards: ShardsStatus): number {
  const all = [...shards.values()];
  if (all.some(({ jobs }) => jobs[jobId] === undefined)) return 0;
  const bounds = [
    Math.max(0, ...all.map(({ queueDoneMs }) => queueDoneMs)),
    ...all.flatMap(({ jobs, oldestUnfinishedMs }) => [oldestUnfinishedMs, jobs[jobId]?.unread?.oldestMs ?? null]),
    ...nodes.map(({ answer }) => answer.oldestHeldTakenMs),
  ];
  return Math.min(...bounds.filter((bound) => bound !== null));
}

const NOTHING: ReaderStatus = {
  counts: { received: 0, filtered: 0, sampled_out: 0, delivered: 0, pending: 0, set_aside: 0, discarded: 0 },
  pendingObjects: 0,
  deliveredObjects: 0,
  oldestPendingTakenMs: null,
  oldestHeldTakenMs: null,
  deliveredRawBytes: 0,
  deliveredBytes: 0,
  lastCompleteMs: null,
  lastErrorMs: null,
  errorMessage: null,
  lastReceivedMs: null,
  failingSinceMs: null,
  parked: false,
  storedBytes: 0,
  setAside: { objects: 0, records: 0, oldestMs: null },
  unmade: { poison: 0, newer: 0, entries: 0, oldestTakenMs: null, oldestAtMs: null },
  canary: null,
  lastDay: { objects: 0, bytes: 0 },
  manifests: null,
  replayed: { objects: 0, records: 0, bytes: 0 },
  resentInDoubt: 0,
  sealed: false,
};

function both(a: ReaderStatus, b: ReaderStatus): ReaderStatus {
  const failing = (b.lastErrorMs ?? 0) >= (a.lastErrorMs ?? 0) ? b : a;
  // Each shard makes objects of its own of a script's records.
  const scripts = (a.scripts ?? 0) + (b.scripts ?? 0);
  return {
    ...added(a, b),
    lastCompleteMs: null,
    lastErrorMs: failing.lastErrorMs,
    errorMessage: failing.errorMessage,
    lastReceivedMs: a.lastReceivedMs === null ? b.lastReceivedMs : Math.max(a.lastReceivedMs, b.lastReceivedMs ?? 0),
    parked: a.parked || b.parked,
    // The first of those that wait.
    resumeMs: Math.min(...[a, b].map(({ resumeMs }) => resumeMs || Number.MAX_SAFE_INTEGER)) % Number.MAX_SAFE_INTEGER,
    // Only one of them sends any, and writes any.
    canary: b.canary ?? a.canary,
    manifests: a.manifests ?? b.manifests,
    ...(scripts > 0 && { scripts }),
    sealed: false,
  };
}
