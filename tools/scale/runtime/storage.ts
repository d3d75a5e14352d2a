/** `DurableObjectStorage` of one object, as far as src uses it. */
import type { Account } from "./meter.ts";
import { SimulatedSql } from "./sql.ts";

export class SimulatedStorage {
  readonly #account: Account;
  readonly sql: SimulatedSql;
  /** In ms since the epoch; null: not set, or its handler runs. */
  alarmMs: number | null = null;
  #depth = 0;

  constructor(account: Account) {
    this.#account = account;
    this.sql = new SimulatedSql(account);
  }

  /** Rows and the alarm, all or nothing. */
  transactionSync<T>(change: () => T): T {
    const { alarmMs } = this;
    this.#depth += 1;
    this.sql.run(`SAVEPOINT s${this.#depth}`);
    try {
      const result = change();
      this.sql.run(`RELEASE s${this.#depth}`);
      return result;
    } catch (error) {
      this.sql.run(`ROLLBACK TO s${this.#depth}; RELEASE s${this.#depth}`);
      this.alarmMs = alarmMs;
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  async getAlarm(): Promise<number | null> {
    return this.alarmMs;
  }

  /** Takes effect at once, in a transaction too, and is billed as a row. */
  setAlarm(at: number | Date): Promise<void> {
    this.#account.setAlarms += 1;
    this.#account.rowsWritten += 1;
    this.alarmMs = Number(at);
    return Promise.resolve();
  }

  deleteAlarm(): Promise<void> {
    this.alarmMs = null;
    return Promise.resolve();
  }

  /** All that was written is on disk at once. */
  async sync(): Promise<void> {}

  async deleteAll(): Promise<void> {
    this.sql.reset();
  }
}
