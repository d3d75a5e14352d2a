import { DurableObject } from "cloudflare:workers";
import { configureChain } from "../delivery/chain.ts";
import { ID_MEMORY_MS, JOBS_MAX } from "../limits.ts";
import { platform } from "../platform.ts";
import { type Migration, migrate } from "../storage/migrate.ts";
import type { JobConfig, JobsSnapshot, Window } from "./job-config.ts";
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

export interface ConfigSnapshot {
  /** To be named when asking again. */
  state: JobsSnapshot["state"];
  /** null: nothing has changed since the state that was named. */
  jobs: JobsSnapshot["jobs"] | null;
}

/** `inForce` false: stored, but the job's log or the ledger has not confirmed it; the alarm will see to it. */
export type JobChange =
  | { kind: "changed"; job: StoredJob; inForce: boolean }
  | { kind: "too_many" | "conflict" | "gone" };

/** Longest list of windows of one job: a job that is switched more often within 15 days keeps its newest. */
const WINDOWS_MAX = 200;

/** How long until a change that was not confirmed is brought to its log and the ledger again, in ms. */
const CONFIRM_AGAIN_MS = 10_000;

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
    const { epoch, version } = this.#control();
    const current = `${epoch}.${version}`;
    if (current === state) return { state: current, jobs: null };
    const rows = this.#sql.exec<JobRow>("SELECT * FROM job ORDER BY id").toArray();
    return { state: current, jobs: rows.map(({ config }) => JSON.parse(config) as JobConfig) };
  }

  list(): StoredJob[] {
    return this.#sql.exec<JobRow>("SELECT * FROM job WHERE deleted_ms IS NULL ORDER BY id").toArray().map(stored);
  }

  get(id: number): StoredJob | null {
    const row = this.#live(id);
    return row === null ? null : stored(row);
  }

  async create(draft: JobDraft): Promise<JobChange> {
    const now = platform.now();
    const row = this.ctx.storage.transactionSync((): JobRow | null => {
      if (this.jobsLeft() <= 0) return null;
      const version = this.#nextVersion();
      const id = this.#control().next_id;
      this.#sql.exec("UPDATE control SET next_id = ? WHERE id = 1", id + 1);
      const config: JobConfig = {
        id,
        version,
        outputVersion: version,
        destinationVersion: version,
        windows: draft.body.enabled ? [{ fromMs: now, untilMs: null }] : [],
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
    return row === null ? { kind: "too_many" } : this.#confirmed(row);
  }

  /**
   * @param basedOn the version of the job that the draft was made from; another one by now is a conflict.
   * @param destinationChanged the destination is another, however it is sealed.
   */
  async update(id: number, basedOn: number, draft: JobDraft, destinationChanged: boolean): Promise<JobChange> {
    const now = platform.now();
    const change = this.ctx.storage.transactionSync((): JobRow | "gone" | "conflict" => {
      const row = this.#live(id);
      if (row === null) return "gone";
      const before = JSON.parse(row.config) as JobConfig;
      if (before.version !== basedOn) return "conflict";
      const version = this.#nextVersion();
      const outputChanged = JSON.stringify(before.fieldNames) !== JSON.stringify(draft.meaning.fieldNames);
      const config: JobConfig = {
        ...before,
        ...draft.meaning,
        version,
        outputVersion: outputChanged ? version : before.outputVersion,
        destinationVersion: destinationChanged ? version : before.destinationVersion,
        windows: switched(before.windows, draft.body.enabled === true, now),
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
      return this.#live(id) ?? "gone";
    });
    return typeof change === "string" ? { kind: change } : this.#confirmed(change);
  }

  /** Takes the job out of the list at once; its log delivers what it holds, or drops it where `discard` says so. */
  async remove(id: number, discard: boolean): Promise<JobChange> {
    const now = platform.now();
    const row = this.ctx.storage.transactionSync((): JobRow | null => {
      const live = this.#live(id);
      if (live === null) return null;
      const before = JSON.parse(live.config) as JobConfig;
      const config: JobConfig = {
        ...before,
        version: this.#nextVersion(),
        // Events that were taken in before and are still on their way belong to the job, unless they are to be dropped, too.
        windows: discard ? [] : switched(before.windows, false, now),
        deletedMs: now,
        discard,
      };
      this.#sql.exec(
        "UPDATE job SET config = ?, deleted_ms = ?, modified_ms = ? WHERE id = ?",
        JSON.stringify(config),
        now,
        now,
        id,
      );
      return { ...live, config: JSON.stringify(config), deleted_ms: now };
    });
    return row === null ? { kind: "gone" } : this.#confirmed(row);
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

  /** Brings changes to where they were not confirmed. */
  override async alarm(): Promise<void> {
    const waiting = this.#sql.exec<JobRow>("SELECT * FROM job").toArray();
    for (const row of waiting) {
      if (row.in_force !== (JSON.parse(row.config) as JobConfig).version) await this.#confirmed(row);
    }
  }

  async #confirmed(row: JobRow): Promise<JobChange> {
    const job = stored(row);
    try {
      await configureChain(this.env.LOG, job.config);
      const { state, jobs } = this.configSince("");
      await accountLedger(this.env.ACCOUNT).keepJobs({ state, jobs: jobs ?? [] });
      this.#sql.exec("UPDATE job SET in_force = max(in_force, ?) WHERE id = ?", job.config.version, row.id);
      return { kind: "changed", job, inForce: true };
    } catch (error) {
      console.error({ message: "a change was not confirmed", job: row.id, error: String(error) });
      await this.ctx.storage.setAlarm(platform.now() + CONFIRM_AGAIN_MS);
      return { kind: "changed", job, inForce: false };
    }
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

  #live(id: number): JobRow | null {
    return this.#sql.exec<JobRow>("SELECT * FROM job WHERE id = ? AND deleted_ms IS NULL", id).toArray()[0] ?? null;
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

/** The windows after a job was switched; those that no event in the queue can fall into any more are dropped. */
function switched(windows: readonly Window[], enabled: boolean, nowMs: number): Window[] {
  const last = windows.at(-1);
  const open = last !== undefined && last.untilMs === null;
  const kept = windows.filter(({ untilMs }) => untilMs === null || untilMs > nowMs - ID_MEMORY_MS);
  if (open && !enabled) kept[kept.length - 1] = { fromMs: last.fromMs, untilMs: nowMs };
  if (!open && enabled) kept.push({ fromMs: nowMs, untilMs: null });
  return kept.slice(-WINDOWS_MAX);
}

/** The one control plane of the account. */
export function controlPlane(namespace: DurableObjectNamespace<ControlPlane>): DurableObjectStub<ControlPlane> {
  return namespace.getByName("control");
}
