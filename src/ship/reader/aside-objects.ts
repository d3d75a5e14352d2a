import { fieldsOf } from "./divide.ts";
import { entryOf } from "./object-entry.ts";
import { ReaderPart } from "./reader-part.ts";
import { DOUBT, FAR, type ObjectRow, type Target, templateElsewhere } from "./reader-rows.ts";
import type { AsideObject } from "./statuses.ts";

/**
 * The objects of a reader that their store refuses themselves, or that a user takes out of its
 * turn.
 */
export class AsideObjects extends ReaderPart {
  /** In the order in which they were set aside. */
  list(offset: number, limit: number): AsideObject[] {
    if (limit <= 0) return [];
    return this.sql.all<ObjectRow>`
      SELECT * FROM object INDEXED BY object_aside WHERE state = 'set_aside'
      ORDER BY aside_ms, number LIMIT ${limit} OFFSET ${offset}`.map((row) => this.#present(row));
  }

  get(number: number): AsideObject | null {
    const row = this.#row(number);
    return row === null ? null : this.#present(row);
  }

  /** One that waits, or is set aside. */
  find(number: number): AsideObject | null {
    const row = this.#row(number, true);
    return row === null ? null : this.#present(row);
  }

  /** When the first of them was set aside, in ms since the epoch; null: there is none. */
  oldestMs(): number | null {
    return this.sql.only`SELECT min(aside_ms) FROM object INDEXED BY object_aside WHERE state = 'set_aside'`;
  }

  /**
   * Lets an object wait again, as if it had never been tried, for its job's current destination;
   * one that waits, too. The store is asked first whether it has it: a store may keep what it
   * refused.
   * @param to another destination: a target, and its masked string. What was in doubt stays so, as
   *   this may be the place where it is.
   */
  resend(number: number, nowMs: number, to: { target: Target; shown: string } | null = null): AsideObject | null {
    const row = this.#row(number, true);
    if (row === null) return null;
    const target = to && JSON.stringify(to.target);
    const key = this.state.keyOf(row, row.name, templateElsewhere({ target }));
    // One that only is not to wait is as it was: it may be about to be taken apart.
    const isSame = row.state === "waiting" && row.target === target;
    const [attempts, failing] = isSame ? [row.attempts, row.failing_ms] : [0, null];
    this.sql.run`
      UPDATE object SET state = 'waiting', key = ${key}, attempts = ${attempts}, failing_ms = ${failing},
        next_attempt_ms = ${nowMs},
        target = ${target}, elsewhere = ${to?.shown ?? null},
        far = iif(${to === null ? 0 : 1}, ${FAR.elsewhere}, far),
        doubtful = iif(doubtful = ${DOUBT.none}, ${DOUBT.resent}, doubtful), error = NULL, answer = NULL,
        aside_ms = NULL WHERE number = ${number}`;
    if (row.state === "set_aside") this.state.countTakenUp(row.records, 0);
    const after = { ...row, key, state: "waiting", attempts: 0, error: null, elsewhere: to?.shown ?? null } as const;
    return this.#present(after);
  }

  /**
   * What an object lacks for a destination. @returns null: it is not set aside. `plain`: it is
   * NDJSON of records. `missing`: of these fields, those that its first record does not have, as
   * all of them were written in the same format.
   */
  lacks(number: number, fields: readonly string[]): { plain: boolean; missing: string[] } | null {
    const row = this.#row(number, true);
    if (row === null) return null;
    const has = fieldsOf(row, this.chunks);
    return { plain: has !== null, missing: fields.filter((name) => !has?.has(name)) };
  }

  discard(number: number): AsideObject | null {
    const row = this.#row(number);
    if (row === null) return null;
    this.chunks.drop(row.batch);
    this.sql.run`UPDATE object SET state = 'discarded', aside_ms = NULL WHERE number = ${number}`;
    this.state.countTakenUp(row.records, row.records);
    return { ...this.#present(row), state: "discarded" };
  }

  #row(number: number, orWaiting = false): ObjectRow | null {
    return this.sql.first`
      SELECT * FROM object WHERE number = ${number}
        AND (state = 'set_aside' OR (state = 'waiting' AND ${orWaiting ? 1 : 0}))`;
  }

  #present(row: ObjectRow): AsideObject {
    const job = this.state.requireJob();
    return {
      ...entryOf(row),
      job: job.id,
      asideMs: row.aside_ms ?? row.cut_ms,
      isDiscarded: job.discard,
      answer: row.answer,
    };
  }
}
