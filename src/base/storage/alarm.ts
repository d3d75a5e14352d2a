import { errorText, log } from "../logger.ts";
import { platform } from "../platform.ts";
import { type Migration, migrate } from "./migrate.ts";

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

  /**
   * Before the first call of its object: brings its tables up to date, and reads the stored time.
   * Call it at the end of the constructor.
   * @param steps null: it has no tables. @param then what else comes before all calls.
   */
  begin(ctx: DurableObjectState, steps: readonly Migration[] | null, then = () => {}): void {
    ctx.blockConcurrencyWhile(async () => {
      if (steps !== null) migrate(this.#storage, steps);
      then();
      this.#armedMs = await this.#storage.getAlarm();
    });
  }

  /**
   * It has fired. Never throws: an alarm that throws is tried six times within minutes and then
   * dropped. @param againMs after a failure it is set to so many ms from now.
   */
  async fired(object: string, againMs: number, run: () => Promise<void>, facts = () => ({})): Promise<void> {
    this.#armedMs = null;
    try {
      await run();
    } catch (error) {
      log.error("alarm failed", { durable_object: object, ...facts(), error: errorText(error) });
      const due = platform.now() + againMs;
      await this.#storage.setAlarm(due);
      this.#armedMs = due;
    }
  }

  /** Call it when the alarm was deleted. */
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
