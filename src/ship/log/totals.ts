import { only } from "../../base/storage/sql.ts";
import type { QueueState, Work } from "./append.ts";
import { type CountedPart, sumOf } from "./counted.ts";
import type { HourRow } from "./function-hours.ts";
import { type MonthUse, parseUse, useAt, withUse } from "./month-use.ts";
import { queueUnits } from "./usage.ts";

/** What an append changes in the one row of a shard, beside its counts. */
export interface Changed {
  /** null: the append does not come from the queue. */
  queue: QueueState | null;
  work: Work;
  /** As of `HealthHours`. */
  health: string;
  /** As of `Readers`. */
  readers: string;
  /** Position of the newest block there ever was. */
  lastBlock: number;
  /** All that was added later is kept, in ms since the epoch. */
  keptSinceMs: number;
  /** As of `FunctionHours`. */
  hour: HourRow;
}

/** The counts of a shard, in its one row. To be changed only in a transaction of the caller. */
export class Totals {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Counts parts that are new. All in one row, which each append writes once. */
  add(fresh: readonly CountedPart[], changed: Changed, nowMs: number): void {
    const { queue, work, health, readers, lastBlock, keptSinceMs, hour } = changed;
    const events = sumOf(fresh, (part) => part.events);
    const isCounted = fresh.length > 0;
    const use = withUse(
      this.#use(),
      {
        ...work,
        groups: isCounted ? 1 : 0,
        messages: fresh.filter(({ bytes }) => bytes > 0).length,
        messageUnits: sumOf(fresh, ({ bytes }) => (bytes === 0 ? 0 : queueUnits(bytes))),
        furtherParts: queue === null ? 0 : fresh.filter(({ bytes }) => bytes === 0).length,
        events,
      },
      nowMs,
    );
    const newest = fresh.reduce((most, { takenInMs }) => Math.max(most, takenInMs), 0);
    const doneMs = queue === null || queue.doneMs > nowMs ? 0 : queue.doneMs;
    const seen = queue === null ? "" : ", queue_backlog = ?, queue_bytes = ?, queue_seen_ms = ?";
    this.#sql.exec(
      `UPDATE state SET processed = processed + ?, routed = routed + ?, not_enabled = not_enabled + ?, not_routed = not_routed + ?,
         kept_events = routed + not_enabled + not_routed + ?, kept_since_ms = ?, hour = ?, hour_counts = ?, hour_sources = ?,
         month_use = ?, health = ?, readers = ?, last_block = ?, newest_taken_ms = max(newest_taken_ms, ?),
         queue_done_ms = max(iif(queue_done_ms > ?, 0, queue_done_ms), ?)${seen} WHERE id = 1`,
      events,
      sumOf(fresh, ({ routed }) => routed),
      sumOf(fresh, ({ notEnabled }) => notEnabled),
      sumOf(fresh, ({ notRouted }) => notRouted),
      events,
      keptSinceMs,
      ...[hour.hour, hour.counts, hour.sources],
      JSON.stringify(use),
      health,
      readers,
      lastBlock,
      newest,
      nowMs,
      doneMs,
      ...(queue === null ? [] : [queue.backlog, queue.backlogBytes, nowMs]),
    );
  }

  /** Whether a batch of the queue was counted then or later, in ms since the epoch. */
  hasCountedSince(ms: number): boolean {
    const seen = only<number | null>(this.#sql, "SELECT queue_seen_ms FROM state");
    return seen !== null && seen >= ms;
  }

  /** Use of this month (UTC) so far; null: nothing was ever counted. */
  monthUse(nowMs: number): MonthUse | null {
    return useAt(this.#use(), nowMs);
  }

  #use(): MonthUse | null {
    return parseUse(only(this.#sql, "SELECT month_use FROM state"));
  }
}
