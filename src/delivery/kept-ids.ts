import { fromHex } from "../bytes.ts";
import { type IdMemory, remembers, type TakenId } from "../storage/id-memory.ts";

/**
 * Which of the messages that were ever set aside this log holds. The memory of all others ends after fifteen days, when the queue can hold no copy any
 * more; but what was set aside may be sent again in a year.
 */
export class KeptIds {
  readonly #sql: SqlStorage;
  readonly #ids: IdMemory;

  constructor(sql: SqlStorage, ids: IdMemory) {
    this.#sql = sql;
    this.#ids = ids;
  }

  /** Which of these the log holds, as far as either memory goes. */
  known(messages: readonly TakenId[]): Set<string> {
    const known = this.#ids.known(messages);
    for (const { id } of messages) {
      if (known.has(id)) continue;
      if (this.#sql.exec("SELECT 1 FROM kept_id WHERE id = ?", fromHex(id).buffer).toArray().length > 0) known.add(id);
    }
    return known;
  }

  /** Those that are not known, and may have been forgotten. @param sweptMs when the other memory was last swept. */
  forgotten(messages: readonly TakenId[], sweptMs: number): string[] {
    const old = messages.filter(({ takenInMs }) => !remembers(takenInMs, sweptMs));
    const known = this.known(old);
    return old.filter(({ id }) => !known.has(id)).map(({ id }) => id);
  }

  /** Remembers for good those of these that the log holds. @returns as {@link KeptIds.forgotten}. */
  keepHeld(messages: readonly TakenId[], sweptMs: number): string[] {
    const known = this.known(messages);
    this.keep(messages.filter(({ id }) => known.has(id)));
    return this.forgotten(messages, sweptMs);
  }

  /** Remembers these for good. Call it in the transaction that takes them. */
  keep(messages: readonly TakenId[]): void {
    for (const { id } of messages) this.#sql.exec("INSERT OR IGNORE INTO kept_id (id) VALUES (?)", fromHex(id).buffer);
  }
}
