import { columns, type Sql } from "../../base/storage/sql.ts";
import type { Source } from "../../formats/record/source.ts";
import type { CountedPart } from "./counted.ts";
import type { FunctionSlots, FunctionTimes } from "./last-hour.ts";
import type { Crowding } from "./sent-places.ts";

export type AccountCounts = {
  processed: number;
  routed: number;
  not_enabled: number;
  not_routed: number;
  set_aside: number;
  /** Set aside, then discarded by a user. */
  discarded: number;
};

/** `lost`: neither the queue nor the log took it; `unfit`: no record can hold it. */
export type Loss = "lost" | "unfit";

export interface AccountStatus {
  counts: AccountCounts;
  /** Events that intake could neither send nor store. */
  intakeLost: number;
  /** Events that `tail()` got and no record can hold. */
  intakeUnfit: number;
  /** Time of intake of the oldest message that comes again, in ms. */
  oldestUnfinishedMs: number | null;
  queueBacklog: number | null;
  /** Size of the backlog, in bytes. */
  queueBytes: number | null;
  /** When a batch last came. */
  queueSeenMs: number | null;
  /** When the oldest message that waits was sent, in ms; absent: the queue was not asked. */
  queueOldestMs?: number | null;
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
  /** Of those that are slower than in the day before; absent: an earlier release does not say. */
  slower?: readonly FunctionTimes[];
  /** Senders that name too much, in this hour or the one before. */
  crowded: readonly { source: Source; what: Crowding }[];
  /** The latest; null: none, as far as is known. */
  restored: Restored | null;
  /** Sources whose times were in seconds; some of them may be over. */
  inSeconds: readonly InSeconds[];
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

/** Events of a source whose times can only be in seconds; `""`: unknown, or beyond the bound. */
export type InSeconds = { source: Source; events: number; lastMs: number };

/** Sources that are named at most, and for how long after the last such event, in ms. */
const IN_SECONDS_SOURCES = 20;
const IN_SECONDS_KEPT_MS = 86_400_000;

/** Adds those of some parts. @param stored JSON of {@link InSeconds}, as is the answer. */
export function withInSeconds(stored: string, parts: readonly CountedPart[], nowMs: number): string {
  const late = (JSON.parse(stored) as InSeconds[]).filter(({ lastMs }) => nowMs - lastMs <= IN_SECONDS_KEPT_MS);
  const known = new Map(late.map((each) => [each.source, each]));
  for (const { source: from = "", inSeconds = 0 } of parts) {
    const source = known.has(from) || known.size < IN_SECONDS_SOURCES ? from : "";
    const events = inSeconds + (known.get(source)?.events ?? 0);
    if (inSeconds > 0) known.set(source, { source, events, lastMs: nowMs });
  }
  return JSON.stringify([...known.values()]);
}

/** What a shard takes, a second. */
export interface ShardLoad {
  parts: number;
  bytes: number;
}

type StateRow = Pick<AccountStatus, "intakeLost" | "intakeUnfit" | "queueBacklog" | "queueBytes" | "queueSeenMs"> & {
  messages: number;
  restored: string | null;
  inSeconds: string;
};

export function accountStatus(
  sql: Sql,
  parts: Pick<AccountStatus, "oldestUnfinishedMs" | "load" | "failing" | "slower" | "crowded" | "keptSinceMs"> &
    Pick<AccountStatus["setAsideMessages"], "oldestMs" | "stopsClaims">,
): AccountStatus {
  const { messages, restored, inSeconds, intakeLost, intakeUnfit, queueBacklog, queueBytes, queueSeenMs, ...counts } =
    sql.one<AccountCounts & StateRow>`
    SELECT processed, routed, not_enabled, not_routed, set_aside, discarded, hold_messages AS messages,
      ${columns("intakeLost", "intakeUnfit", "queueBacklog", "queueBytes", "queueSeenMs", "restored", "inSeconds")}
      FROM state`;
  const { oldestMs, stopsClaims, ...others } = parts;
  return {
    ...{ counts, intakeLost, intakeUnfit, queueBacklog, queueBytes, queueSeenMs },
    ...others,
    setAsideMessages: { messages, events: counts.set_aside, oldestMs, stopsClaims },
    storedBytes: sql.databaseSize,
    restored: restored === null ? null : (JSON.parse(restored) as Restored),
    inSeconds: JSON.parse(inSeconds) as InSeconds[],
  };
}
