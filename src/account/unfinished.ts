import { fromHex } from "../bytes.ts";
import { ID_MEMORY_MS } from "../limits.ts";
import type { IdMemory, TakenId } from "../storage/id-memory.ts";

/** Messages that have to come again, or are on their way. What changes anything belongs into a transaction of its caller. */
export class Unfinished {
  readonly #sql: SqlStorage;
  readonly #ids: IdMemory;

  /** @param ids of what was counted. */
  constructor(sql: SqlStorage, ids: IdMemory) {
    this.#sql = sql;
    this.#ids = ids;
  }

  /** What is counted by now needs no note, and nobody would take it back: its copy was faster, or whoever notes it was late. */
  note(messages: readonly TakenId[]): void {
    const known = this.#ids.known(messages);
    for (const { id, takenInMs } of messages) {
      if (known.has(id)) continue;
      this.#sql.exec("INSERT OR IGNORE INTO unfinished (id, taken_ms) VALUES (?, ?)", fromHex(id).buffer, takenInMs);
    }
  }

  finished(id: string): void {
    this.#sql.exec("DELETE FROM unfinished WHERE id = ?", fromHex(id).buffer);
  }

  /** Only what was noted with the same time: another that has the id is not finished by somebody who merely says that he is it. */
  finishedAsNoted({ id, takenInMs }: TakenId): void {
    this.#sql.exec("DELETE FROM unfinished WHERE id = ? AND taken_ms = ?", fromHex(id).buffer, takenInMs);
  }

  /** Time of intake of the oldest, in ms; null: there is none. */
  oldestMs(): number | null {
    return this.#sql.exec<{ oldest: number | null }>("SELECT min(taken_ms) AS oldest FROM unfinished").one().oldest;
  }

  /** Forgets what no queue delivers any more. */
  sweep(nowMs: number): void {
    this.#sql.exec("DELETE FROM unfinished WHERE taken_ms < ?", nowMs - ID_MEMORY_MS);
  }
}
