import { placeOf } from "./nodes.ts";
import type { LogStatus } from "./types.ts";

/** What the nodes of a log have answered, in their order: several. */
type Nodes = readonly { node: number; answer: LogStatus }[];

/**
 * The status of a log of several nodes: counts summed over them.
 * @param lastCompleteMs of all together, in ms.
 */
export function joined(nodes: Nodes, lastCompleteMs: number | null): LogStatus {
  const statuses = nodes.map(({ answer }) => answer);
  const segments = new Map<number, number>();
  for (const { node } of nodes) {
    const { shard, segment } = placeOf(node);
    segments.set(shard, segment + 1);
  }
  return {
    ...statuses.reduce(both),
    lastCompleteMs,
    segments: Math.max(...segments.values()),
    ...fullest(statuses),
    ...lastDay(statuses),
    ...scripts(statuses),
    sealed: false,
  };
}

/** What the fullest of those holds that take records. */
function fullest(nodes: readonly LogStatus[]): Pick<LogStatus, "openBytes"> {
  const open = nodes.filter(({ sealed }) => !sealed);
  return { openBytes: Math.max(0, ...open.map(({ openBytes }) => openBytes)) };
}

function lastDay(nodes: readonly LogStatus[]): Pick<LogStatus, "lastDay"> {
  const sum = (of: "objects" | "bytes") => nodes.reduce((all, { lastDay: day }) => all + day[of], 0);
  return { lastDay: { objects: sum("objects"), bytes: sum("bytes") } };
}

/** Each shard makes objects of its own of a script's records. */
function scripts(nodes: readonly LogStatus[]): Pick<LogStatus, "scripts"> {
  const counts = nodes.flatMap(({ scripts: count }) => count ?? []);
  return counts.length === 0 ? {} : { scripts: counts.reduce((sum, count) => sum + count, 0) };
}

function both(a: LogStatus, { splits: _s, scripts: _c, ...b }: LogStatus): LogStatus {
  const counts = { ...b.counts };
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += a.counts[name];
  const failing = (b.lastErrorMs ?? 0) >= (a.lastErrorMs ?? 0) ? b : a;
  return {
    ...b,
    counts,
    pendingObjects: a.pendingObjects + b.pendingObjects,
    oldestPendingTakenMs: least(a.oldestPendingTakenMs, b.oldestPendingTakenMs),
    oldestHeldTakenMs: least(a.oldestHeldTakenMs, b.oldestHeldTakenMs),
    deliveredRawBytes: a.deliveredRawBytes + b.deliveredRawBytes,
    deliveredBytes: a.deliveredBytes + b.deliveredBytes,
    lastErrorMs: failing.lastErrorMs,
    errorMessage: failing.errorMessage,
    lastReceivedMs: greatest(a.lastReceivedMs, b.lastReceivedMs),
    failingSinceMs: least(a.failingSinceMs, b.failingSinceMs),
    parked: a.parked || b.parked,
    storedBytes: a.storedBytes + b.storedBytes,
    setAside: {
      objects: a.setAside.objects + b.setAside.objects,
      records: a.setAside.records + b.setAside.records,
      oldestMs: least(a.setAside.oldestMs, b.setAside.oldestMs),
    },
    // Only one of them sends any.
    canary: b.canary ?? a.canary,
    // Only the first one writes any, and claims for all.
    manifests: a.manifests,
    wholeCompleteMs: a.wholeCompleteMs,
    replayed: {
      objects: a.replayed.objects + b.replayed.objects,
      records: a.replayed.records + b.replayed.records,
      bytes: a.replayed.bytes + b.replayed.bytes,
    },
    resentInDoubt: a.resentInDoubt + b.resentInDoubt,
  };
}

/**
 * Everything taken in before is delivered, filtered out or discarded, in ms; 0: unknown. What any
 * node claims holds for all that is in no node: its claim is about the queue, the ledger and the
 * outbox as well. What is in a node holds the whole back.
 * @param holding what the nodes hold, asked after `nodes`.
 */
export function lastComplete(nodes: Nodes, holding: readonly (LogStatus | null)[]): number {
  const claimed = Math.max(...nodes.map(({ answer }) => answer.lastCompleteMs ?? 0));
  const held = holding.map((status) => status?.oldestHeldTakenMs ?? Number.POSITIVE_INFINITY);
  return Math.min(claimed, ...held);
}

function least(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

function greatest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}
