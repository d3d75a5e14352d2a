import type { JobConfig, JobsSnapshot } from "../job/config.ts";
import { ID_MEMORY_MS, JOBS_MAX, JOBS_REMEMBERED_MAX } from "../limits.ts";
import type { FunctionSettings } from "./function-settings.ts";

export interface JobRow {
  [column: string]: SqlStorageValue;
  id: number;
  body: string;
  config: string;
  in_force: number;
  created_ms: number;
  modified_ms: number;
  deleted_ms: number | null;
}

interface ControlRow {
  [column: string]: SqlStorageValue;
  epoch: string;
  version: number;
  mark: string;
  next_id: number;
  opt_out_version: number;
  kept_version: number;
}

/** Part of the control plane: its jobs, their versions, and which of these are confirmed. */
export class ControlState {
  readonly #sql: SqlStorage;
  readonly #functions: FunctionSettings;

  constructor(sql: SqlStorage, functions: FunctionSettings) {
    this.#sql = sql;
    this.#functions = functions;
  }

  control(): ControlRow {
    return this.#sql.exec<ControlRow>("SELECT * FROM control").one();
  }

  nextVersion(): number {
    const version = this.control().version + 1;
    this.#sql.exec("UPDATE control SET version = ?, mark = hex(randomblob(4)) WHERE id = 1", version);
    return version;
  }

  /** An id that is new to this storage. */
  nextId(): number {
    const { next_id } = this.control();
    this.#sql.exec("UPDATE control SET next_id = ? WHERE id = 1", next_id + 1);
    return next_id;
  }

  state(): JobsSnapshot["state"] {
    const { epoch, version, mark } = this.control();
    return `${epoch}.${version}.${mark}`;
  }

  snapshot(): JobsSnapshot {
    const jobs = this.rows().map(configOf);
    return {
      state: this.state(),
      jobs,
      optOuts: this.#functions.optOuts(),
      optOutVersion: this.control().opt_out_version,
    };
  }

  rows(): JobRow[] {
    return this.#sql.exec<JobRow>("SELECT * FROM job ORDER BY id").toArray();
  }

  row(id: number): JobRow | null {
    return this.#sql.exec<JobRow>("SELECT * FROM job WHERE id = ?", id).toArray()[0] ?? null;
  }

  /** null: no such job, or it is deleted. */
  live(id: number): JobRow | null {
    const row = this.row(id);
    return row?.deleted_ms === null ? row : null;
  }

  /** Why no job can be created; null: one can. */
  creationRefusal(): string | null {
    const { remembered, live } = this.#sql
      .exec<{ remembered: number; live: number }>(
        "SELECT count(*) AS remembered, count(*) FILTER (WHERE deleted_ms IS NULL) AS live FROM job",
      )
      .one();
    if (live >= JOBS_MAX) return "exceeded max jobs allowed";
    if (remembered < JOBS_REMEMBERED_MAX) return null;
    return `exceeded max jobs allowed: with those that were deleted within 15 days or still hold something, there are ${JOBS_REMEMBERED_MAX}`;
  }

  setConfig(id: number, config: JobConfig): void {
    this.#sql.exec("UPDATE job SET config = ? WHERE id = ?", JSON.stringify(config), id);
  }

  /**
   * Logging of a function was switched at this version: all jobs that may get events must refuse
   * what was built by an older one.
   */
  optOutsChanged(version: number, nowMs: number): void {
    this.#sql.exec("UPDATE control SET opt_out_version = ? WHERE id = 1", version);
    for (const row of this.rows()) {
      if (mayGetEvents(row, nowMs)) this.setConfig(row.id, { ...configOf(row), version, optOutVersion: version });
    }
  }

  /**
   * Gives everything a version above `version`, as if all of it had changed, but not by its owners.
   * @param ids jobs to include, however long ago they were deleted.
   */
  overtake(version: number, ids: readonly number[], nowMs: number): void {
    this.#sql.exec("UPDATE control SET version = max(version, ?) WHERE id = 1", version);
    const next = this.nextVersion();
    this.#sql.exec("UPDATE control SET opt_out_version = ? WHERE id = 1", next);
    this.#functions.overtake(next);
    for (const row of this.rows()) {
      if (!mayGetEvents(row, nowMs) && !ids.includes(row.id)) continue;
      const versions = { version: next, outputVersion: next, destinationVersion: next, optOutVersion: next };
      this.setConfig(row.id, { ...configOf(row), ...versions });
    }
  }

  /** The current version of a job; Infinity: it is gone. */
  versionOf(id: number): number {
    const row = this.row(id);
    return row === null ? Number.POSITIVE_INFINITY : configOf(row).version;
  }

  /**
   * The logs of these jobs, and the ledger, have confirmed these configurations. @param keptVersion
   * confirmed by the ledger.
   */
  confirm(jobs: readonly JobConfig[], keptVersion: number): void {
    this.#sql.exec("UPDATE control SET kept_version = max(kept_version, ?) WHERE id = 1", keptVersion);
    for (const { id, version } of jobs)
      this.#sql.exec("UPDATE job SET in_force = max(in_force, ?) WHERE id = ?", version, id);
  }

  /** Jobs whose current configuration the log or the ledger has not confirmed. */
  unconfirmed(): number[] {
    return this.rows()
      .filter((row) => row.in_force !== configOf(row).version)
      .map(({ id }) => id);
  }

  /** Whether every job and the ledger have confirmed a switch of logging at this version. */
  optOutsInForce(version: number, nowMs: number): boolean {
    if (this.control().kept_version < version) return false;
    return this.rows().every((row) => row.in_force >= version || !mayGetEvents(row, nowMs));
  }
}

export function configOf({ config }: Pick<JobRow, "config">): JobConfig {
  return JSON.parse(config) as JobConfig;
}

/**
 * Not if it was deleted so long ago that no queue can hold events for it: its log may be gone, and
 * a call would create it again.
 */
function mayGetEvents({ deleted_ms }: JobRow, nowMs: number): boolean {
  return deleted_ms === null || nowMs - deleted_ms <= ID_MEMORY_MS;
}
