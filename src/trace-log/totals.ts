import { type MonthUse, parseUse, useAt, withUse } from "./month-use.ts";
import type { MessageCount, Outcome } from "./outcome.ts";
import { queueUnits } from "./usage.ts";

/**
 * The ledger's one row of counts. To be changed only in a transaction of the caller.
 */
export class Totals {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Counts messages that were not counted before. @param health as of `HealthHours`. */
  add(
    fresh: readonly MessageCount[],
    { work, backlog, backlogBytes = null }: Pick<Outcome, "work" | "backlog" | "backlogBytes">,
    health: string,
    nowMs: number,
  ): void {
    const sum = (of: (message: MessageCount) => number): number =>
      fresh.reduce((total, message) => total + of(message), 0);
    const events = sum((message) => message.events);
    const use = withUse(
      this.#use(),
      {
        ...(work ?? { batches: 1, appends: 0, offered: 0 }),
        groups: 1,
        messages: fresh.filter(({ bytes }) => bytes !== 0).length,
        messageUnits: sum(({ bytes }) => (bytes === 0 ? 0 : queueUnits(bytes ?? 0))),
        furtherParts: fresh.filter(({ bytes }) => bytes === 0).length,
        events,
      },
      nowMs,
    );
    // All in one row: a month's use and the health of functions cost no further write.
    this.#sql.exec(
      `UPDATE account SET processed = processed + ?, routed = routed + ?, not_enabled = not_enabled + ?, not_routed = not_routed + ?,
         queue_backlog = ?, queue_bytes = ?, queue_seen_ms = ?, month_use = ?, health = ? WHERE id = 1`,
      events,
      sum(({ routed }) => routed),
      sum(({ notEnabled }) => notEnabled),
      sum(({ notRouted }) => notRouted),
      backlog,
      backlogBytes,
      nowMs,
      JSON.stringify(use),
      health,
    );
  }

  /** Whether a message was counted then or later, in ms since the epoch. */
  hasCountedSince(ms: number): boolean {
    const { seen } = this.#sql.exec<{ seen: number | null }>("SELECT queue_seen_ms AS seen FROM account").one();
    return seen !== null && seen >= ms;
  }

  /** Use of this month (UTC) so far; null: nothing was ever counted. */
  monthUse(nowMs: number): MonthUse | null {
    return useAt(this.#use(), nowMs);
  }

  #use(): MonthUse | null {
    return parseUse(this.#sql.exec<{ month_use: string | null }>("SELECT month_use FROM account").one().month_use);
  }
}
