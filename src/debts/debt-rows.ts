import { backoffMs } from "../backoff.ts";
import { fromHex } from "../bytes.ts";
import type { Debt } from "../queue/debt.ts";

/** What one job is owed. */
export interface OwedToJob {
  messages: number;
  records: number;
  /** Time of intake of the oldest, in ms since the epoch. */
  oldestTakenMs: number;
}

/** A message that one job is owed. */
export interface Payable {
  readonly number: number;
  readonly takenInMs: number;
  readonly body: ArrayBuffer;
  readonly blob: ArrayBuffer | null;
  readonly off: readonly string[];
}

/**
 * Delays before a job that could not be paid is tried again, in ms: short at first, as most faults
 * are, and never so long that a mended log waits for more than minutes.
 */
const RETRY_MS = { first: 15_000, last: 300_000 };

/**
 * The rows of one shard. Every method that changes them belongs into a transaction of its caller.
 */
export class DebtRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Adds what jobs owe; a message that is there already is owed to all jobs of both. */
  add({ taken, body, blob, off, jobs }: Debt): void {
    const id = fromHex(taken.id).buffer;
    this.#sql.exec(
      "INSERT OR IGNORE INTO message (id, taken_ms, body, blob, off) VALUES (?, ?, ?, ?, ?)",
      id,
      taken.takenInMs,
      body,
      blob,
      JSON.stringify(off),
    );
    const { number } = this.#sql.exec<{ number: number }>("SELECT number FROM message WHERE id = ?", id).one();
    for (const job of jobs)
      this.#sql.exec(
        "INSERT OR REPLACE INTO owed (job, message, records) VALUES (?, ?, ?)",
        job.id,
        number,
        job.records,
      );
  }

  owed(): (OwedToJob & { job: number })[] {
    return this.#sql
      .exec<{ job: number; messages: number; records: number; oldestTakenMs: number }>(
        `SELECT owed.job, count(*) AS messages, sum(owed.records) AS records, min(message.taken_ms) AS oldestTakenMs
           FROM owed JOIN message ON message.number = owed.message GROUP BY owed.job`,
      )
      .toArray();
  }

  /** Jobs that may be paid now. */
  due(nowMs: number): number[] {
    return this.#sql
      .exec<{ job: number }>(
        `SELECT DISTINCT owed.job FROM owed LEFT JOIN debtor ON debtor.job = owed.job
           WHERE coalesce(debtor.resume_ms, 0) <= ? ORDER BY owed.job`,
        nowMs,
      )
      .toArray()
      .map(({ job }) => job);
  }

  /** When the next job may be paid, in ms since the epoch; Infinity: none is owed anything. */
  nextMs(): number {
    const { next } = this.#sql
      .exec<{ next: number | null }>(
        `SELECT min(coalesce(debtor.resume_ms, 0)) AS next FROM owed LEFT JOIN debtor ON debtor.job = owed.job`,
      )
      .one();
    return next ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Messages that a job is owed, in the order in which they came.
   * @param after number of the last one that was read. @param maxBytes of bodies and blobs; the
   *   first message is returned whatever its size.
   */
  payable(job: number, after: number, maxMessages: number, maxBytes: number): Payable[] {
    const found: Payable[] = [];
    let bytes = 0;
    const rows = this.#sql.exec<{
      number: number;
      taken_ms: number;
      body: ArrayBuffer;
      blob: ArrayBuffer | null;
      off: string;
    }>(
      `SELECT message.* FROM owed JOIN message ON message.number = owed.message
         WHERE owed.job = ? AND owed.message > ? ORDER BY owed.message LIMIT ?`,
      job,
      after,
      maxMessages,
    );
    for (const { number, taken_ms, body, blob, off } of rows) {
      bytes += body.byteLength + (blob?.byteLength ?? 0);
      if (found.length > 0 && bytes > maxBytes) break;
      found.push({ number, takenInMs: taken_ms, body, blob, off: JSON.parse(off) as string[] });
    }
    return found;
  }

  /** The job has these, or must not get them. Messages that no job is owed any more go. */
  paid(job: number, numbers: readonly number[]): void {
    for (const number of numbers) {
      this.#sql.exec("DELETE FROM owed WHERE job = ? AND message = ?", job, number);
      this.#sql.exec(
        "DELETE FROM message WHERE number = ? AND NOT EXISTS (SELECT 1 FROM owed WHERE message = ?)",
        number,
        number,
      );
    }
    this.#sql.exec("DELETE FROM debtor WHERE job = ?", job);
  }

  /** The job could not be paid: it waits, longer with each failure in a row. */
  failed(job: number, nowMs: number): void {
    const row = this.#sql.exec<{ failures: number }>("SELECT failures FROM debtor WHERE job = ?", job).toArray()[0];
    const failures = (row?.failures ?? 0) + 1;
    this.#sql.exec(
      "INSERT OR REPLACE INTO debtor (job, failures, resume_ms) VALUES (?, ?, ?)",
      job,
      failures,
      nowMs + backoffMs(RETRY_MS, failures),
    );
  }
}
