import { DEDUP_MS, JOBS_MAX, JOBS_REMEMBERED_MAX } from "../../base/limits.ts";
import type { RowOf } from "../../base/storage/row-of.ts";
import { Tables } from "../../base/storage/sql.ts";
import type { Given } from "../../ship/job/change.ts";
import { type JobConfig, type JobsSnapshot, versionIn } from "../../ship/job/config.ts";
import type { CONTROL_STEPS } from "./control-migrations.ts";
import type { FunctionSettings } from "./function-settings.ts";
import { SavedSearches } from "./saved-searches.ts";

export type JobRow = RowOf<typeof CONTROL_STEPS, "job">;

type ControlRow = RowOf<typeof CONTROL_STEPS, "control">;

/**
 * A restored storage does not know which ids it had given, and may be restored
 * again: from then on they are above the seconds since the epoch, as no account has so many jobs.
 */
const idsAfter = (nowMs: number): number => Math.floor(nowMs / 1_000);

/** Part of the control plane: its jobs, their versions, and which of these are confirmed. */
export class ControlState extends Tables {
  readonly #functions: FunctionSettings;
  readonly searches: SavedSearches;
  /** Of this instance. */
  readonly #mark = crypto.randomUUID().slice(0, 8);

  constructor(sql: SqlStorage, functions: FunctionSettings) {
    super(sql);
    this.#functions = functions;
    this.searches = new SavedSearches(sql);
  }

  control(): ControlRow {
    return this.sql.one<ControlRow>`SELECT * FROM control`;
  }

  /** Gives a change its version. */
  next(): Given {
    const version = this.control().version + 1;
    this.sql.run`UPDATE control SET version = ${version}, mark = ${this.#mark} WHERE id = 1`;
    return { version, mark: this.#mark };
  }

  /** The shards of the log, in order. */
  shards(): number[] {
    return JSON.parse(this.control().shards) as number[];
  }

  /** @param set the setting; kept if there was none. @returns what is kept. */
  keyShards(set: number | null): number | null {
    const { key_shards } = this.control();
    if (key_shards === null && set !== null) this.sql.run`UPDATE control SET key_shards = ${set} WHERE id = 1`;
    return key_shards ?? set;
  }

  /** Adds a shard of the log. */
  addShard(shard: number): void {
    const shards = new Set(this.shards());
    if (shards.has(shard)) return;
    const all = [...shards, shard].sort((a, b) => a - b);
    this.sql.run`UPDATE control SET shards = ${JSON.stringify(all)} WHERE id = 1`;
    this.next();
  }

  /**
   * An id that was never given.
   * @param mayBeLost this storage may have been restored, and a shard has not told what it knows.
   */
  nextId(mayBeLost: boolean, nowMs: number): number {
    const { next_id } = this.control();
    const id = mayBeLost ? Math.max(next_id, idsAfter(nowMs)) : next_id;
    this.sql.run`UPDATE control SET next_id = ${id + 1} WHERE id = 1`;
    return id;
  }

  state(): JobsSnapshot["state"] {
    const { epoch, version, mark } = this.control();
    return `${epoch}.${version}.${mark}`;
  }

  snapshot(): JobsSnapshot {
    const jobs = this.rows().map(configOf);
    const rest = { optOuts: this.#functions.optOuts(), shards: this.shards(), searches: this.searches.alerted() };
    return { state: this.state(), jobs, ...rest };
  }

  rows(): JobRow[] {
    return this.sql.all<JobRow>`SELECT * FROM job ORDER BY id`;
  }

  row(id: number): JobRow | null {
    return this.sql.first`SELECT * FROM job WHERE id = ${id}`;
  }

  /** null: no such job, or it is deleted. */
  live(id: number): JobRow | null {
    const row = this.row(id);
    return row?.deleted_ms === null ? row : null;
  }

  /** Why no job can be created; null: one can. */
  creationRefusal(): string | null {
    const live = this.sql.only<number>`SELECT count(*) FROM job WHERE deleted_ms IS NULL`;
    return live >= JOBS_MAX ? "exceeded max jobs allowed" : this.memoryRefusal();
  }

  /** Why no job, and no rerun, can be remembered; null: one can. */
  memoryRefusal(): string | null {
    if (this.sql.only<number>`SELECT count(*) FROM job` < JOBS_REMEMBERED_MAX) return null;
    return `exceeded max jobs allowed: ${JOBS_REMEMBERED_MAX} are remembered, with reruns, and with deleted ones for 15 days or while they hold something`;
  }

  setConfig(id: number, config: JobConfig): void {
    this.sql.run`UPDATE job SET config = ${JSON.stringify(config)} WHERE id = ${id}`;
  }

  /**
   * Logging of a function was switched: what was made for any job before is of an older version.
   */
  optOutsChanged(given: Given, nowMs: number): void {
    for (const row of this.rows()) {
      const config = configOf(row);
      // A rerun gets nothing that is taken in from now on.
      if (mayGetEvents(row, nowMs) && config.rerunOf === undefined) this.setConfig(row.id, { ...config, ...given });
    }
  }

  /**
   * This storage was restored to an earlier time: gives everything a version above this one, as if
   * all of it had changed, but not by its owners; and no id that it may have given since.
   */
  overtake(version: number, nowMs: number): void {
    this.sql.run`
      UPDATE control SET version = max(version, ${version}), next_id = max(next_id, ${idsAfter(nowMs)})
      WHERE id = 1`;
    const given = this.next();
    const next = given.version;
    this.#functions.overtake(next);
    this.searches.overtake(given, nowMs);
    for (const row of this.rows())
      this.setConfig(row.id, { ...configOf(row), ...given, outputVersion: next, destinationVersion: next });
  }

  /** All shards have this state. */
  confirm(state: JobsSnapshot["state"]): void {
    this.sql.run`UPDATE control SET confirmed_version = max(confirmed_version, ${versionIn(state)}) WHERE id = 1`;
  }

  /** Whether all shards have what was changed at this version; absent: everything. */
  isConfirmed(version = this.control().version): boolean {
    return this.control().confirmed_version >= version;
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
  return deleted_ms === null || nowMs - deleted_ms <= DEDUP_MS;
}
