import { placeOf } from "./nodes.ts";
import type { LogStatus } from "./types.ts";

/**
 * The status of a whole log: counts summed over its nodes.
 * @param holding what the nodes hold, asked after `nodes`; none: there is one node.
 * @returns null: there is none.
 */
export function joined(
  nodes: readonly { node: number; answer: LogStatus }[],
  holding: readonly (LogStatus | null)[],
): LogStatus | null {
  const statuses = nodes.map(({ answer }) => answer);
  const [first, ...others] = statuses;
  if (first === undefined) return null;
  if (others.length === 0) return first;
  const segments = new Map<number, number>();
  for (const { node } of nodes) {
    const { shard, segment } = placeOf(node);
    segments.set(shard, segment + 1);
  }
  return {
    ...others.reduce(both, first),
    lastCompleteMs: lastComplete(
      statuses,
      holding.filter((status) => status !== null),
    ),
    segments: Math.max(...segments.values()),
    ...fullest(statuses),
    sealed: false,
  };
}

/** What the fullest of those holds that take records; an earlier release does not say. */
function fullest(nodes: readonly LogStatus[]): Pick<LogStatus, "openBytes"> {
  const bytes = nodes.filter(({ sealed }) => !sealed).flatMap(({ openBytes }) => openBytes ?? []);
  return bytes.length === 0 ? {} : { openBytes: Math.max(...bytes) };
}

function both(
  a: LogStatus,
  { splits: _splits, openBytes: _bytes, oldestHeldTakenMs: _ms, ...b }: LogStatus,
): LogStatus {
  const counts = { ...b.counts };
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += a.counts[name];
  const failing = (b.lastErrorMs ?? 0) >= (a.lastErrorMs ?? 0) ? b : a;
  return {
    ...b,
    counts,
    pendingObjects: a.pendingObjects + b.pendingObjects,
    oldestPendingTakenMs: least(a.oldestPendingTakenMs, b.oldestPendingTakenMs),
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
    replayed: {
      objects: a.replayed.objects + b.replayed.objects,
      records: a.replayed.records + b.replayed.records,
      bytes: a.replayed.bytes + b.replayed.bytes,
    },
  };
}

/**
 * What any node claims holds for all that is in no node: its claim is about the queue, the ledger
 * and the outbox as well. What is in a node holds the whole back.
 */
function lastComplete(nodes: readonly LogStatus[], holding: readonly LogStatus[]): number | null {
  const claimed = Math.max(...nodes.map(({ lastCompleteMs }) => lastCompleteMs ?? 0));
  const held = holding.map(({ counts, setAside, lastCompleteMs, oldestHeldTakenMs }) => {
    // A node of an earlier release says only up to when it is complete itself.
    if (oldestHeldTakenMs !== undefined) return oldestHeldTakenMs ?? Number.POSITIVE_INFINITY;
    return counts.pending > 0 || setAside.objects > 0 ? (lastCompleteMs ?? 0) : Number.POSITIVE_INFINITY;
  });
  return Math.min(claimed, ...held) || null;
}

function least(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

function greatest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}
