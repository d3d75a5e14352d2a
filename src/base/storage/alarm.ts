/** An alarm that is overdue by this, in ms, is lost: the platform dropped it. */
export const LOST_AFTER_MS = 60_000;

/**
 * The one alarm of a durable object. It remembers its time, because every `setAlarm` is billed as a
 * write.
 */
export class Alarm {
  readonly #storage: DurableObjectStorage;
  /** In ms since the epoch; null: not set. */
  #armedMs: number | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Reads the stored time. Call it at the start of the object, before anything else. */
  async load(): Promise<void> {
    this.#armedMs = await this.#storage.getAlarm();
  }

  /** Call it when the alarm has fired or was deleted. */
  cleared(): void {
    this.#armedMs = null;
  }

  /**
   * Sets the alarm, unless it is set for an earlier time. In a transaction, use
   * {@link Alarm.transaction}.
   * @param dueMs in ms since the epoch; a past time means at once, Infinity never.
   */
  set(dueMs: number, nowMs: number): void {
    const due = Math.max(dueMs, nowMs);
    const armed =
      this.#armedMs !== null && this.#armedMs > nowMs - LOST_AFTER_MS ? this.#armedMs : Number.POSITIVE_INFINITY;
    if (!Number.isFinite(due) || armed <= due) return;
    this.#storage.setAlarm(due);
    this.#armedMs = due;
  }

  /**
   * A transaction; if it fails, the alarm is rolled back with the rows, and so is its remembered
   * time.
   */
  transaction<T>(change: () => T): T {
    const armed = this.#armedMs;
    try {
      return this.#storage.transactionSync(change);
    } catch (error) {
      this.#armedMs = armed;
      throw error;
    }
  }
}
