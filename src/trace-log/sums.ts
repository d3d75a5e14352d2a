import { RECENT_MAX_EVENTS } from "../limits.ts";
import { joinedSlots } from "./health-hours.ts";
import { type MonthUse, withUse } from "./month-use.ts";
import { type RecentRecords, RecentRing } from "./recent.ts";
import type { AccountStatus, ShardLoad } from "./status.ts";

/** The status of all shards together. */
export function sumOfStatus(all: readonly AccountStatus[]): AccountStatus {
  const [first, ...others] = all;
  if (first === undefined) throw new Error("no shard");
  return others.reduce(addedStatus, first);
}

function addedStatus(a: AccountStatus, b: AccountStatus): AccountStatus {
  const counts = { ...a.counts };
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += b.counts[name];
  // Each shard has what the queue said when it last counted.
  const latest = (b.queueSeenMs ?? 0) > (a.queueSeenMs ?? 0) ? b : a;
  const restored = (b.restored?.atMs ?? 0) > (a.restored?.atMs ?? 0) ? b.restored : a.restored;
  return {
    counts,
    intakeLost: a.intakeLost + b.intakeLost,
    oldestUnfinishedMs: earlier(a.oldestUnfinishedMs, b.oldestUnfinishedMs),
    queueBacklog: latest.queueBacklog,
    queueBytes: latest.queueBytes,
    queueSeenMs: latest.queueSeenMs,
    setAsideMessages: {
      messages: a.setAsideMessages.messages + b.setAsideMessages.messages,
      events: a.setAsideMessages.events + b.setAsideMessages.events,
      oldestMs: earlier(a.setAsideMessages.oldestMs, b.setAsideMessages.oldestMs),
      stopsClaims: a.setAsideMessages.stopsClaims || b.setAsideMessages.stopsClaims,
    },
    storedBytes: Math.max(a.storedBytes, b.storedBytes),
    load: a.load && b.load ? mostOf(a.load, b.load) : (a.load ?? b.load),
    failing: joinedSlots([...a.failing, ...b.failing]),
    restored,
  };
}

function mostOf(a: ShardLoad, b: ShardLoad): ShardLoad {
  return { parts: Math.max(a.parts, b.parts), bytes: Math.max(a.bytes, b.bytes) };
}

/** The earlier of two times; null: there is none. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

/** A month's use of all shards. One whose clock is in another month is left out. */
export function sumOfUse(all: readonly (MonthUse | null)[]): MonthUse | null {
  const uses = all.filter((use) => use !== null);
  const month = Math.max(...uses.map((use) => use.month));
  return uses
    .filter((use) => use.month === month)
    .reduce<MonthUse | null>((sum, use) => {
      if (sum === null) return use;
      return { ...withUse(sum, use, sum.sinceMs), sinceMs: Math.min(sum.sinceMs, use.sinceMs) };
    }, null);
}

/** The newest records of all shards: as many of each, as it is not known which came first. */
export function joinedRecent(all: readonly RecentRecords[]): RecentRecords {
  if (all.length === 1 && all[0] !== undefined) return all[0];
  const joined = new RecentRing();
  const each = Math.ceil(RECENT_MAX_EVENTS / all.length);
  for (const { ndjson, tooLarge, sources } of all)
    joined.add({ ndjson: lastLines(ndjson, each), tooLarge, ...(sources && { sources: sources.slice(-each) }) });
  return joined.all();
}

/** Lines end by a newline each. */
function lastLines(ndjson: Uint8Array, count: number): Uint8Array {
  let start = ndjson.length;
  for (let n = 0; n < count && start > 0; n++) start = start < 2 ? 0 : ndjson.lastIndexOf(NEWLINE, start - 2) + 1;
  return ndjson.subarray(start);
}

const NEWLINE = 0x0a;
