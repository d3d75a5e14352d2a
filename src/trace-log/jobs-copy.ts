import { isBehind, type JobConfig, type JobsSnapshot, type OptOut } from "../job/config.ts";

/**
 * The ledger's copy of the jobs and opt-outs, and its state. To be changed only in a transaction of
 * the caller.
 */
export class JobsCopy {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The copy, if that state is behind it; otherwise null. */
  since(state: JobsSnapshot["state"]): JobsSnapshot | null {
    const current = this.state();
    return isBehind(state, current) ? this.snapshot(current) : null;
  }

  /**
   * As {@link JobsCopy.since}; and until when live viewers watch, which the same row says at no
   * extra cost.
   */
  sinceAndWatched(state: JobsSnapshot["state"]): { newer: JobsSnapshot | null; watchedUntilMs: number } {
    const { current, watchedUntilMs } = this.#sql
      .exec<{ current: string; watchedUntilMs: number }>(
        "SELECT jobs_state AS current, watched_until_ms AS watchedUntilMs FROM account",
      )
      .one();
    return { newer: isBehind(state, current) ? this.snapshot(current) : null, watchedUntilMs };
  }

  ids(): number[] {
    const jobs = this.#sql.exec<{ id: number }>("SELECT id FROM job ORDER BY id").toArray();
    return jobs.map(({ id }) => id);
  }

  /** Takes a copy, unless it is behind the current one. @returns the state in force afterwards. */
  keep({ state, jobs, optOuts, optOutVersion }: JobsSnapshot): JobsSnapshot["state"] {
    const current = this.state();
    if (isBehind(state, current)) return current;
    const kept = new Map(
      this.#sql
        .exec<{ id: number; config: string }>("SELECT id, config FROM job")
        .toArray()
        .map(({ id, config }) => [id, config]),
    );
    for (const job of jobs) {
      const config = JSON.stringify(job);
      if (kept.get(job.id) !== config)
        this.#sql.exec("INSERT OR REPLACE INTO job (id, config) VALUES (?, ?)", job.id, config);
      kept.delete(job.id);
    }
    for (const id of kept.keys()) this.#sql.exec("DELETE FROM job WHERE id = ?", id);
    const functions = JSON.stringify(optOuts);
    this.#sql.exec(
      "UPDATE opt_outs SET version = ?, functions = ? WHERE version <> ? OR functions <> ?",
      optOutVersion,
      functions,
      optOutVersion,
      functions,
    );
    this.#sql.exec("UPDATE account SET jobs_state = ? WHERE id = 1", state);
    return state;
  }

  /** "": nothing was ever kept. */
  state(): JobsSnapshot["state"] {
    return this.#sql.exec<{ jobs_state: string }>("SELECT jobs_state FROM account").one().jobs_state;
  }

  /** All of it. */
  snapshot(state = this.state()): JobsSnapshot {
    const rows = this.#sql.exec<{ config: string }>("SELECT config FROM job ORDER BY id").toArray();
    const { version, functions } = this.#sql
      .exec<{ version: number; functions: string }>("SELECT version, functions FROM opt_outs")
      .one();
    return {
      state,
      jobs: rows.map(({ config }) => JSON.parse(config) as JobConfig),
      optOuts: JSON.parse(functions) as OptOut[],
      optOutVersion: version,
    };
  }
}
