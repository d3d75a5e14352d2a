import type { Sql } from "../../base/storage/sql.ts";
import type { FunctionSlots } from "./health-hours.ts";

export type AccountCounts = {
  processed: number;
  routed: number;
  not_enabled: number;
  not_routed: number;
  set_aside: number;
  /** Set aside, then discarded by a user. */
  discarded: number;
};

export interface AccountStatus {
  counts: AccountCounts;
  /** Events that intake could neither send nor store. */
  intakeLost: number;
  /** Time of intake of the oldest message that comes again, in ms. */
  oldestUnfinishedMs: number | null;
  queueBacklog: number | null;
  /** Size of the backlog, in bytes. */
  queueBytes: number | null;
  queueSeenMs: number | null;
  /**
   * Messages that are set aside, and their events; when the oldest of them was set aside, in ms;
   * and whether one has an unknown time of intake, so that nothing is claimed complete any more.
   */
  setAsideMessages: { messages: number; events: number; oldestMs: number | null; stopsClaims: boolean };
  /** Size of the fullest shard, in bytes. */
  storedBytes: number;
  /** What the busiest shard takes a second; null: it is not measured yet. */
  load: ShardLoad | null;
  /** The last hour of the functions that failed in it. */
  failing: readonly FunctionSlots[];
  /** The latest; null: none, as far as is known. */
  restored: Restored | null;
  /** All that was taken in later is kept, in ms since the epoch; null: nothing is. */
  keptSinceMs: number | null;
}

/** A shard, or the reader of a job, was seen to be at an earlier time than it was before. */
export interface Restored {
  who: "shard" | "reader";
  job: number;
  /** When that was noticed, in ms since the epoch. */
  atMs: number;
}

/** What a shard takes, a second. */
export interface ShardLoad {
  parts: number;
  bytes: number;
}

type StateRow = AccountCounts & { hold_messages: number; intake_lost: number; restored: string | null } & {
  [name in "queue_backlog" | "queue_bytes" | "queue_seen_ms"]: number | null;
};

export function accountStatus(
  sql: Sql,
  parts: Pick<AccountStatus, "oldestUnfinishedMs" | "load" | "failing" | "keptSinceMs"> &
    Pick<AccountStatus["setAsideMessages"], "oldestMs" | "stopsClaims">,
): AccountStatus {
  const row = sql.one<StateRow>`
    SELECT processed, routed, not_enabled, not_routed, set_aside, discarded, hold_messages, intake_lost,
      queue_backlog, queue_bytes, queue_seen_ms, restored FROM state`;
  const { oldestMs, stopsClaims, ...others } = parts;
  const { processed, routed, not_enabled, not_routed, set_aside, discarded } = row;
  return {
    counts: { processed, routed, not_enabled, not_routed, set_aside, discarded },
    intakeLost: row.intake_lost,
    ...others,
    queueBacklog: row.queue_backlog,
    queueBytes: row.queue_bytes,
    queueSeenMs: row.queue_seen_ms,
    setAsideMessages: { messages: row.hold_messages, events: set_aside, oldestMs, stopsClaims },
    storedBytes: sql.databaseSize,
    restored: row.restored === null ? null : (JSON.parse(row.restored) as Restored),
  };
}
