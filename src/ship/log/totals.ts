import { clause, Tables, verbatim } from "../../base/storage/sql.ts";
import { withInSeconds } from "./account-status.ts";
import type { QueueState, Work } from "./append-types.ts";
import { queueUnits } from "./bill.ts";
import { type CountedPart, sumOf } from "./counted.ts";
import type { HourRow } from "./function-hours.ts";
import { type MonthUse, parseUse, useAt, withUse } from "./month-use.ts";

/** What an append changes in the one row of a shard, beside its counts. */
export interface Changed {
  /** null: the append does not come from the queue. */
  queue: QueueState | null;
  work: Work;
  /** As of `HealthSlots`. */
  slots: string;
  /** As of `SearchCounts`. */
  searches: string;
  /** As of `Problems`; null: as it was. */
  problems: string | null;
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
export class Totals extends Tables {
  /** Counts parts that are new. All in one row, which each append writes once. */
  add(fresh: readonly CountedPart[], changed: Changed, nowMs: number): void {
    const { queue, work, slots, searches, problems, readers, lastBlock, keptSinceMs, hour } = changed;
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
    const seen =
      queue === null
        ? verbatim("")
        : clause`, queue_backlog = ${queue.backlog}, queue_bytes = ${queue.backlogBytes}, queue_seen_ms = ${nowMs}`;
    this.sql.run`
      UPDATE state SET processed = processed + ${events}, routed = routed
        + ${sumOf(fresh, (part) => part.routed)}, not_enabled = not_enabled
        + ${sumOf(fresh, ({ notEnabled }) => notEnabled)}, not_routed = not_routed
        + ${sumOf(fresh, ({ notRouted }) => notRouted)}, kept_since_ms = ${keptSinceMs}, hour = ${hour.hour}, hour_counts = ${hour.counts},
        hour_sources = ${hour.sources}, month_use = ${JSON.stringify(use)}, slots = ${slots}, searches = ${searches}${problems === null ? verbatim("") : clause`, problems = ${problems}`},
        readers = ${readers}, last_block = ${lastBlock}, newest_taken_ms = max(newest_taken_ms, ${newest}),
        queue_done_ms = max(iif(queue_done_ms > ${nowMs}, 0, queue_done_ms), ${doneMs})${seen} WHERE id = 1`;
    if (!fresh.some(({ inSeconds }) => inSeconds)) return;
    const inSeconds = withInSeconds(this.sql.only`SELECT in_seconds FROM state`, fresh, nowMs);
    this.sql.run`UPDATE state SET in_seconds = ${inSeconds} WHERE id = 1`;
  }

  /** Whether a batch of the queue was counted then or later, in ms since the epoch. */
  hasCountedSince(ms: number): boolean {
    const seen = this.sql.only<number | null>`SELECT queue_seen_ms FROM state`;
    return seen !== null && seen >= ms;
  }

  /** Use of this month (UTC) so far; null: nothing was ever counted. */
  monthUse(nowMs: number): MonthUse | null {
    return useAt(this.#use(), nowMs);
  }

  #use(): MonthUse | null {
    return parseUse(this.sql.only`SELECT month_use FROM state`);
  }
}
