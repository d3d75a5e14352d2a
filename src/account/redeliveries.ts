import { fromHex } from "../bytes.ts";
import { ID_MEMORY_MS } from "../limits.ts";
import type { IdMemory, TakenId } from "../storage/id-memory.ts";

/**
 * Messages that come again, or are late on their way. To be changed only in a transaction of the
 * caller.
 */
export class Redeliveries {
  readonly #sql: SqlStorage;
  readonly #ids: IdMemory;

  /** @param ids of counted messages. */
  constructor(sql: SqlStorage, ids: IdMemory) {
    this.#sql = sql;
    this.#ids = ids;
  }

  /**
   * Skips counted messages (a copy was faster, or the note is late): nothing would remove their
   * note.
   */
  expect(messages: readonly TakenId[]): void {
    const known = this.#ids.known(messages);
    for (const { id, takenInMs } of messages) {
      if (known.has(id)) continue;
      this.#sql.exec("INSERT OR IGNORE INTO unfinished (id, taken_ms) VALUES (?, ?)", fromHex(id).buffer, takenInMs);
    }
  }

  finished(id: string): void {
    this.#sql.exec("DELETE FROM unfinished WHERE id = ?", fromHex(id).buffer);
  }

  /**
   * Only if it was noted with the same time: a message with a forged header must not remove the
   * note of another.
   */
  finishedAsNoted({ id, takenInMs }: TakenId): void {
    this.#sql.exec("DELETE FROM unfinished WHERE id = ? AND taken_ms = ?", fromHex(id).buffer, takenInMs);
  }

  /** Time of intake of the oldest, in ms; null: there is none. */
  oldestMs(): number | null {
    return this.#sql.exec<{ oldest: number | null }>("SELECT min(taken_ms) AS oldest FROM unfinished").one().oldest;
  }

  /**
   * Time of intake of the newest one up to `untilMs`, in ms since the epoch; 0: there is none.
   */
  newestMs(untilMs: number): number {
    const { newest } = this.#sql
      .exec<{ newest: number | null }>("SELECT max(taken_ms) AS newest FROM unfinished WHERE taken_ms <= ?", untilMs)
      .one();
    return newest ?? 0;
  }

  /** Drops the notes of messages from this time on. */
  dropFrom(fromMs: number): void {
    this.#sql.exec("DELETE FROM unfinished WHERE taken_ms >= ?", fromMs);
  }

  /** Drops what no queue delivers any more. */
  sweep(nowMs: number): void {
    this.#sql.exec("DELETE FROM unfinished WHERE taken_ms < ?", nowMs - ID_MEMORY_MS);
  }
}
