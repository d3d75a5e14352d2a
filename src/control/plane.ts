import { DurableObject } from "cloudflare:workers";
import { configureChain, segmentOf } from "../delivery/chain.ts";
import { ID_MEMORY_MS, JOBS_MAX } from "../limits.ts";
import { platform } from "../platform.ts";
import { type Migration, migrate } from "../storage/migrate.ts";
import {
  CLOCK_SKEW_MS,
  isOlderState,
  type JobConfig,
  type JobsSnapshot,
  type Window,
  withOutputSql,
} from "./job-config.ts";
import type { JobMeaning } from "./job-rules.ts";
import type { JobBody } from "./job-schema.ts";
import { accountLedger } from "./ledger.ts";

export const CONTROL_STEPS = [
  {
    id: 1,
    why: "jobs, each with the configuration that its consumers and its log follow",
    sql: `
      CREATE TABLE control (
        id      INTEGER PRIMARY KEY CHECK (id = 1),
        epoch   TEXT NOT NULL,              -- of this storage: a version says nothing of another one's
        version INTEGER NOT NULL DEFAULT 0, -- grows with every change
        next_id INTEGER NOT NULL DEFAULT 1  -- job ids are never used again
      ) STRICT;
      INSERT INTO control (id, epoch) VALUES (1, hex(randomblob(8)));
      CREATE TABLE job (
        id          INTEGER PRIMARY KEY,
        body        TEXT NOT NULL,          -- as its owner wrote it, without destination_conf
        config      TEXT NOT NULL,          -- JSON of JobConfig; holds destination_conf, sealed
        in_force    INTEGER NOT NULL,       -- version that the job's log and the ledger have confirmed
        created_ms  INTEGER NOT NULL,
        modified_ms INTEGER NOT NULL,
        deleted_ms  INTEGER                 -- gone from the API; its log drains
      ) STRICT;`,
  },
  {
    id: 2,
    why: "jobs filter, sample and write other formats",
    sql: `UPDATE job SET config = ${withOutputSql("config")};`,
  },
] as const satisfies readonly Migration[];

/** What the API writes: the body, what it means, and the sealed destination. */
export interface JobDraft {
  body: Omit<JobBody, "destination_conf">;
  meaning: JobMeaning;
  destination: string;
  path: string;
}

export interface StoredJob {
  body: Omit<JobBody, "destination_conf">;
  config: JobConfig;
  createdMs: number;
  modifiedMs: number;
}

/** What has changed since the state that was named: everything as it is now, or nothing. The state is to be named when asking again. */
export type ConfigSnapshot = JobsSnapshot | { state: JobsSnapshot["state"]; jobs: null };

/** `inForce` false: stored, but the job's log or the ledger has not confirmed it; the alarm will see to it. */
export type JobChange =
  | { kind: "changed"; job: StoredJob; inForce: boolean }
  | { kind: "too_many" | "conflict" | "gone" };

/** Longest list of windows of one job: a job that is switched more often within 15 days keeps its newest. */
const WINDOWS_MAX = 200;

/** How long until a change that was not confirmed is brought to its log and the ledger again, in ms. */
const CONFIRM_AGAIN_MS = 10_000;

/** How often a change is given a higher version because log or ledger know a newer one. */
const OVERTAKE_TRIES = 3;

interface JobRow {
  [column: string]: SqlStorageValue;
  id: number;
  body: string;
  config: string;
  in_force: number;
  created_ms: number;
  modified_ms: number;
  deleted_ms: number | null;
}

/**
 * The account's jobs: the one place where they change. Before a change is answered, it is brought to the job's log, which refuses appends that
 * were built before it, and to the ledger, which refuses to count (and so to let be acknowledged) what was routed before it. A consumer that cannot
 * reach this object misses no change.
 */
export class ControlPlane extends DurableObject<Env> {
  readonly #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    migrate(ctx.storage, CONTROL_STEPS);
  }

  /** Every job's configuration, if any has changed since that state; "" is none. */
  configSince(state: string): ConfigSnapshot {
    const current = this.#state();
    if (current === state) return { state: current, jobs: null };
    return this.#snapshot();
  }

  list(): StoredJob[] {
    return this.#sql.exec<JobRow>("SELECT * FROM job WHERE deleted_ms IS NULL ORDER BY id").toArray().map(stored);
  }

  get(id: number): StoredJob | null {
    const row = this.#live(id);
    return row === null ? null : stored(row);
  }

  async create(draft: JobDraft): Promise<JobChange> {
    const id = await this.#freshId();
    const now = platform.now();
    const row = this.#change((version): JobRow | null => {
      if (this.jobsLeft() <= 0) return null;
      const config: JobConfig = {
        id,
        version,
        outputVersion: version,
        destinationVersion: version,
        optOutVersion: 0,
        windows: switched([], draft.body.enabled === true, now),
        ...draft.meaning,
        destination: draft.destination,
        path: draft.path,
        deletedMs: null,
        discard: false,
      };
      this.#sql.exec(
        "INSERT INTO job (id, body, config, in_force, created_ms, modified_ms) VALUES (?, ?, ?, 0, ?, ?)",
        id,
        JSON.stringify(draft.body),
        JSON.stringify(config),
        now,
        now,
      );
      return this.#live(id);
    });
    return row === null ? { kind: "too_many" } : this.#confirmed(row.id);
  }

  /**
   * @param basedOn the version of the job that the draft was made from; another one by now is a conflict.
   * @param destinationChanged the destination is another, however it is sealed.
   */
  async update(id: number, basedOn: number, draft: JobDraft, destinationChanged: boolean): Promise<JobChange> {
    const now = platform.now();
    const change = this.#change((version): "gone" | "conflict" | "changed" | "ended" => {
      const row = this.#live(id);
      if (row === null) return "gone";
      const before = JSON.parse(row.config) as JobConfig;
      if (before.version !== basedOn) return "conflict";
      const outputChanged = JSON.stringify(before.output) !== JSON.stringify(draft.meaning.output);
      const windows = switched(before.windows, draft.body.enabled === true, now);
      const config: JobConfig = {
        ...before,
        ...draft.meaning,
        version,
        outputVersion: outputChanged ? version : before.outputVersion,
        destinationVersion: destinationChanged ? version : before.destinationVersion,
        windows,
        destination: draft.destination,
        path: draft.path,
      };
      this.#sql.exec(
        "UPDATE job SET body = ?, config = ?, modified_ms = ? WHERE id = ?",
        JSON.stringify(draft.body),
        JSON.stringify(config),
        now,
        id,
      );
      return isOpen(before.windows) && !isOpen(windows) ? "ended" : "changed";
    });
    if (change === "gone" || change === "conflict") return { kind: change };
    return this.#confirmed(id, change === "ended");
  }

  /**
   * Takes the job out of the list at once; its log delivers what it holds, or drops it where `discard` says so. A job that is gone already can
   * still be discarded while its log drains.
   */
  async remove(id: number, discard: boolean): Promise<JobChange> {
    const now = platform.now();
    const change = this.#change((version): "gone" | "changed" | "ended" => {
      const row = this.#row(id);
      if (row === null) return "gone";
      const before = JSON.parse(row.config) as JobConfig;
      if (before.deletedMs !== null && (before.discard || !discard)) return "gone";
      const config: JobConfig = {
        ...before,
        version,
        // Events that were taken in before and are still on their way belong to the job, unless they are to be dropped, too.
        windows: discard ? [] : switched(before.windows, false, now),
        deletedMs: before.deletedMs ?? now,
        discard,
      };
      this.#sql.exec(
        "UPDATE job SET config = ?, deleted_ms = ?, modified_ms = ? WHERE id = ?",
        JSON.stringify(config),
        config.deletedMs,
        now,
        id,
      );
      return isOpen(before.windows) ? "ended" : "changed";
    });
    return change === "gone" ? { kind: "gone" } : this.#confirmed(id, change === "ended");
  }

  /** How many more jobs the account may have. */
  jobsLeft(): number {
    return JOBS_MAX - Number(this.#sql.exec("SELECT count(*) AS n FROM job WHERE deleted_ms IS NULL").one().n);
  }

  /** Deleted jobs whose logs may still hold something, and the time they were deleted. */
  draining(): { id: number; deletedMs: number }[] {
    return this.#sql
      .exec<{ id: number; deleted_ms: number }>(
        "SELECT id, deleted_ms FROM job WHERE deleted_ms IS NOT NULL ORDER BY id",
      )
      .toArray()
      .map(({ id, deleted_ms }) => ({ id, deletedMs: deleted_ms }));
  }

  /** Forgets a job that was deleted long ago and whose log has gone. */
  forget(id: number): void {
    const old = platform.now() - ID_MEMORY_MS;
    this.ctx.storage.transactionSync(() => {
      this.#sql.exec("DELETE FROM job WHERE id = ? AND deleted_ms < ?", id, old);
      this.#nextVersion();
    });
  }

  /** Brings changes to where they were not confirmed: it was armed with each of them, in case this object does not live to do it itself. */
  override async alarm(): Promise<void> {
    const waiting = this.#sql.exec<JobRow>("SELECT * FROM job").toArray();
    for (const row of waiting) if (row.in_force !== this.#versionOf(row.id)) await this.#confirmed(row.id);
  }

  /** Changes jobs under a new version, and makes sure that the change is brought to where it counts, whatever happens to this object. */
  #change<T>(change: (version: number) => T): T {
    return this.ctx.storage.transactionSync(() => {
      this.ctx.storage.setAlarm(platform.now() + CONFIRM_AGAIN_MS);
      return change(this.#nextVersion());
    });
  }

  /** An id that no log has ever had, even if this storage was restored to a time when it was not used yet. */
  async #freshId(): Promise<number> {
    for (;;) {
      const { next_id } = this.#control();
      this.#sql.exec("UPDATE control SET next_id = ? WHERE id = 1", next_id + 1);
      if ((await segmentOf(this.env.LOG, next_id, 0).status()) === null) return next_id;
    }
  }

  /** @param ended the change closed a window: its answer waits until no clock can stamp an event into it any more. */
  async #confirmed(id: number, ended = false): Promise<JobChange> {
    const change = await this.#confirm(id);
    if (ended) await platform.sleep(2 * CLOCK_SKEW_MS);
    return change;
  }

  async #confirm(id: number): Promise<JobChange> {
    for (let tries = 0; ; tries++) {
      const row = this.#row(id);
      if (row === null) return { kind: "gone" };
      const job = stored(row);
      try {
        const newest = await configureChain(this.env.LOG, job.config);
        const kept = await accountLedger(this.env.ACCOUNT).keepJobs(this.#snapshot());
        // Newer than anything here: this storage was restored to an earlier time. Its versions must overtake those, or no change would count.
        const behind = newest > this.#versionOf(id) || isOlderState(this.#state(), kept);
        if (behind && tries < OVERTAKE_TRIES) {
          this.#overtake(id, Math.max(newest, Number(kept.split(".")[1])));
          continue;
        }
        if (behind) throw new Error(`log or ledger are ahead: ${newest}, ${kept}`);
        this.#sql.exec("UPDATE job SET in_force = max(in_force, ?) WHERE id = ?", job.config.version, id);
        return { kind: "changed", job, inForce: true };
      } catch (error) {
        console.error({ message: "a change was not confirmed", job: id, error: String(error) });
        await this.ctx.storage.setAlarm(platform.now() + CONFIRM_AGAIN_MS);
        return { kind: "changed", job, inForce: false };
      }
    }
  }

  /** Gives a job a version above `version`, as if all of it had changed. */
  #overtake(id: number, version: number): void {
    this.ctx.storage.transactionSync(() => {
      this.#sql.exec("UPDATE control SET version = max(version, ?) WHERE id = 1", version);
      const row = this.#row(id);
      if (row === null) return;
      const next = this.#nextVersion();
      const config = JSON.parse(row.config) as JobConfig;
      const changed = { ...config, version: next, outputVersion: next, destinationVersion: next };
      this.#sql.exec("UPDATE job SET config = ? WHERE id = ?", JSON.stringify(changed), id);
    });
  }

  #control(): { epoch: string; version: number; next_id: number } {
    return this.#sql
      .exec<{ epoch: string; version: number; next_id: number }>("SELECT epoch, version, next_id FROM control")
      .one();
  }

  #nextVersion(): number {
    const version = this.#control().version + 1;
    this.#sql.exec("UPDATE control SET version = ? WHERE id = 1", version);
    return version;
  }

  #snapshot(): JobsSnapshot {
    const rows = this.#sql.exec<JobRow>("SELECT * FROM job ORDER BY id").toArray();
    const jobs = rows.map(({ config }) => JSON.parse(config) as JobConfig);
    return { state: this.#state(), jobs, optOuts: [], optOutVersion: 0 };
  }

  #state(): JobsSnapshot["state"] {
    const { epoch, version } = this.#control();
    return `${epoch}.${version}`;
  }

  /** The version of a job as it is by now; Infinity: it is gone. */
  #versionOf(id: number): number {
    const row = this.#row(id);
    return row === null ? Number.POSITIVE_INFINITY : (JSON.parse(row.config) as JobConfig).version;
  }

  #row(id: number): JobRow | null {
    return this.#sql.exec<JobRow>("SELECT * FROM job WHERE id = ?", id).toArray()[0] ?? null;
  }

  #live(id: number): JobRow | null {
    const row = this.#row(id);
    return row?.deleted_ms === null ? row : null;
  }
}

function stored(row: JobRow): StoredJob {
  return {
    body: JSON.parse(row.body) as StoredJob["body"],
    config: JSON.parse(row.config) as JobConfig,
    createdMs: row.created_ms,
    modifiedMs: row.modified_ms,
  };
}

function isOpen(windows: readonly Window[]): boolean {
  return windows.at(-1)?.untilMs === null;
}

/** The windows after a job was switched; those that no event in the queue can fall into any more are dropped. */
function switched(windows: readonly Window[], enabled: boolean, nowMs: number): Window[] {
  const last = windows.at(-1);
  const open = last !== undefined && last.untilMs === null;
  const kept = windows.filter(({ untilMs }) => untilMs === null || untilMs > nowMs - ID_MEMORY_MS);
  if (open && !enabled) kept[kept.length - 1] = { fromMs: last.fromMs, untilMs: nowMs + CLOCK_SKEW_MS };
  // Never back into an earlier window's end: what was taken in between two belongs to neither.
  const from = Math.max(nowMs - CLOCK_SKEW_MS, (last?.untilMs ?? -1) + 1);
  if (!open && enabled) kept.push({ fromMs: Math.min(from, nowMs), untilMs: null });
  return kept.slice(-WINDOWS_MAX);
}

/** The one control plane of the account. */
export function controlPlane(namespace: DurableObjectNamespace<ControlPlane>): DurableObjectStub<ControlPlane> {
  return namespace.getByName("control");
}
