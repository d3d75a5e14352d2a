/** What a shard of the log answers to readers, and to those who ask how it stands. */
import type { Item } from "./blocks.ts";

/** What a reader gets. */
export interface Page {
  items: Item[];
  /** Position up to which this is all. */
  end: number;
  isAll: boolean;
  /** The job's configuration, if the reader has another; unchecked. */
  job?: unknown;
}

/** What a shard knows of a job that its readers do not. */
export interface ShardJobStatus {
  /** Records offered to the job in all blocks there ever were. */
  received: number;
  /**
   * Unread by the reader: `oldestMs` is the time of intake of the oldest, `sinceMs` when it was
   * added. null: all is read.
   */
  unread: { records: number; bytes: number; oldestMs: number; sinceMs: number } | null;
  /** What its readers have not counted is discarded. */
  isDiscarded: boolean;
  /** A message on hold may be for it. */
  isOnHold: boolean;
  /** It has not read all of the time before it was. */
  hasPast: boolean;
  /** What it does not get of that time: between two times of intake, in ms; null: nothing. */
  lost: [fromMs: number, untilMs: number] | null;
}

/** A shard, as completeness depends on it. */
export interface ShardStatus {
  jobs: Record<number, ShardJobStatus>;
  /**
   * Nothing taken in before waits in the queue for this shard, in ms since the epoch; 0: unknown.
   */
  queueDoneMs: number;
  /** Time of intake of the oldest part that comes again, or is on hold; 0: it is unknown. */
  oldestUnfinishedMs: number | null;
}

/** What sending a message on hold again has done; null: it is not on hold (any more). */
export interface HoldResent {
  /** Jobs that it was added for. */
  jobs: number[];
  /** Jobs that were enabled when it was taken in, and are gone. */
  gone: number[];
  count: { events: number; routed: number; notEnabled: number; notRouted: number };
}
