import { isObject } from "../../base/bytes.ts";
import type { AccountStatus, ShardLoad } from "./account-status.ts";
import { joinedSlots, joinedTimes } from "./last-hour.ts";
import { type MonthUse, withUse } from "./month-use.ts";

/** The status of all shards together. */
export function sumOfStatus(all: readonly AccountStatus[]): AccountStatus {
  const [first, ...others] = all;
  if (first === undefined) throw new Error("no shard");
  return others.reduce(addedStatus, first);
}

function addedStatus(a: AccountStatus, b: AccountStatus): AccountStatus {
  // Each shard has what the queue said when it last counted.
  const { queueBacklog, queueBytes, queueSeenMs } = (b.queueSeenMs ?? 0) > (a.queueSeenMs ?? 0) ? b : a;
  const stopsClaims = a.setAsideMessages.stopsClaims || b.setAsideMessages.stopsClaims;
  return {
    ...added(a, b),
    ...{ queueBacklog, queueBytes, queueSeenMs },
    setAsideMessages: { ...added(a.setAsideMessages, b.setAsideMessages), stopsClaims },
    storedBytes: Math.max(a.storedBytes, b.storedBytes),
    load: a.load && b.load ? mostOf(a.load, b.load) : (a.load ?? b.load),
    crowded: [...a.crowded, ...b.crowded],
    failing: joinedSlots([...a.failing, ...b.failing]),
    slower: joinedTimes([...(a.slower ?? []), ...(b.slower ?? [])]),
    inSeconds: [...a.inSeconds, ...b.inSeconds],
    keptSinceMs: laterOf(a.keptSinceMs, b.keptSinceMs),
    restored: (b.restored?.atMs ?? 0) > (a.restored?.atMs ?? 0) ? b.restored : a.restored,
  };
}

/**
 * Two of a kind, field by field: numbers are added, of times (`…Ms`) the earlier one counts. What
 * is neither, nor an object of these, is that of the first.
 */
export function added<T extends object>(a: T, b: T): T {
  const fields = Object.entries(a).map(([name, one]: [string, unknown]) => {
    const other: unknown = b[name as keyof T];
    if (name.endsWith("Ms")) return [name, earlier(one as number | null, other as number | null)];
    if (typeof one === "number" && typeof other === "number") return [name, one + other];
    return [name, isObject(one) && isObject(other) ? added(one, other) : one];
  });
  return Object.fromEntries(fields) as T;
}

function mostOf(a: ShardLoad, b: ShardLoad): ShardLoad {
  return { parts: Math.max(a.parts, b.parts), bytes: Math.max(a.bytes, b.bytes) };
}

/** null: one is unknown. */
function laterOf(a: number | null | undefined, b: number | null | undefined): number | null {
  return a == null || b == null ? null : Math.max(a, b);
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
