import { fromHex } from "../bytes.ts";
import { type IdMemory, remembers, type TakenId } from "../storage/id-memory.ts";

/**
 * Ids that this log never forgets, of messages that were set aside: these may be sent again in a
 * year. All other ids are forgotten after fifteen days, when the queue can hold no copy any more.
 */
export class PinnedIds {
  readonly #sql: SqlStorage;
  readonly #ids: IdMemory;

  constructor(sql: SqlStorage, ids: IdMemory) {
    this.#sql = sql;
    this.#ids = ids;
  }

  /** Which of these the log holds, by either memory. */
  known(messages: readonly TakenId[]): Set<string> {
    const known = this.#ids.known(messages);
    for (const { id } of messages) {
      if (known.has(id)) continue;
      if (this.#sql.exec("SELECT 1 FROM kept_id WHERE id = ?", fromHex(id).buffer).toArray().length > 0) known.add(id);
    }
    return known;
  }

  /**
   * Ids that are unknown, and old enough to be forgotten. @param sweptMs when {@link IdMemory} was
   * last swept.
   */
  forgotten(messages: readonly TakenId[], sweptMs: number): string[] {
    const old = messages.filter(({ takenInMs }) => !remembers(takenInMs, sweptMs));
    const known = this.known(old);
    return old.filter(({ id }) => !known.has(id)).map(({ id }) => id);
  }

  /** Pins those that the log holds. */
  pinHeld(messages: readonly TakenId[]): void {
    const known = this.known(messages);
    this.pin(messages.filter(({ id }) => known.has(id)));
  }

  /** To be called in the transaction that takes the messages. */
  pin(messages: readonly TakenId[]): void {
    for (const { id } of messages) this.#sql.exec("INSERT OR IGNORE INTO kept_id (id) VALUES (?)", fromHex(id).buffer);
  }
}
