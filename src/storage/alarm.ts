/** An alarm that is overdue by this, in ms, is lost: the platform dropped it. */
export const LOST_AFTER_MS = 60_000;

/** The one alarm of a durable object. It knows what it is set for: every setting is billed as a write. */
export class Alarm {
  readonly #storage: DurableObjectStorage;
  /** When it is set for, in ms since the epoch; null: not set. */
  #armedMs: number | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Learns what it is set for. Belongs into the start of the object, before anything else asks. */
  async load(): Promise<void> {
    this.#armedMs = await this.#storage.getAlarm();
  }

  /** It has fired, or was deleted: it is set no longer. */
  cleared(): void {
    this.#armedMs = null;
  }

  /**
   * Sets it, unless it is set for an earlier time. A transaction that this is part of must be one of {@link Alarm.transaction}.
   * @param dueMs when there is something to do, in ms since the epoch, at once if that is over; Infinity: never.
   */
  set(dueMs: number, nowMs: number): void {
    const due = Math.max(dueMs, nowMs);
    const armed =
      this.#armedMs !== null && this.#armedMs > nowMs - LOST_AFTER_MS ? this.#armedMs : Number.POSITIVE_INFINITY;
    if (!Number.isFinite(due) || armed <= due) return;
    this.#storage.setAlarm(due);
    this.#armedMs = due;
  }

  /** A transaction; if it fails, the alarm is rolled back with the rows, and what we believe of it as well. */
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
