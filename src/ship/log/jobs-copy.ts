import { UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../../base/limits.ts";
import { Tables } from "../../base/storage/sql.ts";
import {
  isOfSameMark,
  type JobConfig,
  type JobsSnapshot,
  type OptOut,
  type UnreadableJob,
  versionIn,
} from "../job/config.ts";
import { type AlertedSearch, readSearches } from "../job/searches.ts";
import { knownOf, readJobConfig } from "../job/snapshot.ts";
import type { DueRules } from "./readers.ts";

/** What a shard goes by: it offers parts also to jobs that this code cannot read. */
export type ShardJob = UnreadableJob & DueRules & { config: JobConfig };

interface Copy {
  state: JobsSnapshot["state"];
  jobs: ShardJob[];
  optOuts: OptOut[];
  /** Those that this code can read. */
  searches: readonly AlertedSearch[];
  /** How many there are. */
  shards: number;
}

const LIMITS = { records: UPLOAD_RECORDS.fallback, intervalMs: UPLOAD_INTERVAL_S.fallback * 1_000 };

/**
 * A shard's copy of the configuration. To be changed only in a transaction of the caller. What was
 * read last is held in memory, by its state.
 */
export class JobsCopy extends Tables {
  #held: Copy | null = null;
  /** By their stored text. */
  #known: ReadonlyMap<string, ShardJob> = new Map();

  /** "": there is none. */
  state(): JobsSnapshot["state"] {
    return this.sql.only`SELECT config_state FROM state`;
  }

  /**
   * Whether a copy of this state is to be taken as it is: it is the first, or later in one history.
   */
  isLater(state: JobsSnapshot["state"]): boolean {
    const own = this.state();
    return own === "" || (isOfSameMark(state, own) && versionIn(state) > versionIn(own));
  }

  /** Whether versions of this state are of the history that the copy is of. */
  isOfSameHistory(state: JobsSnapshot["state"]): boolean {
    const own = this.state();
    return own === "" || isOfSameMark(state, own);
  }

  /** Takes a copy. */
  keep({ state, jobs, optOuts, searches, shards }: JobsSnapshot): void {
    const kept = new Map(
      this.sql.all<{ id: number; config: string }>`SELECT id, config FROM job`.map(({ id, config }) => [id, config]),
    );
    for (const job of jobs) {
      const config = JSON.stringify(job);
      if (kept.get(job.id) !== config)
        this.sql.run`INSERT OR REPLACE INTO job (id, config) VALUES (${job.id}, ${config})`;
      kept.delete(job.id);
    }
    for (const id of kept.keys()) this.sql.run`DELETE FROM job WHERE id = ${id}`;
    const functions = JSON.stringify(optOuts);
    this.sql.run`UPDATE opt_outs SET functions = ${functions} WHERE functions <> ${functions}`;
    const count = shards.length;
    const configs = searches === undefined ? this.#searches().configs : JSON.stringify(searches);
    this.sql.run`
      UPDATE searches SET configs = ${configs}, shards = ${count} WHERE configs <> ${configs} OR shards <> ${count}`;
    this.sql.run`UPDATE state SET config_state = ${state} WHERE id = 1`;
  }

  /** All jobs, readable or not, the opt-outs, and searches with an alert. */
  all(): Copy {
    const state = this.state();
    if (this.#held?.state === state) return this.#held;
    const rows = this.sql.all<{ config: string }>`SELECT config FROM job ORDER BY id`;
    const { functions } = this.sql.one<{ functions: string }>`SELECT functions FROM opt_outs`;
    const { configs, shards } = this.#searches();
    this.#held = {
      state,
      jobs: rows.map(({ config }) => this.#known.get(config) ?? jobOf(config)),
      optOuts: JSON.parse(functions) as OptOut[],
      searches: readSearches(JSON.parse(configs)),
      shards,
    };
    // A change is of one job: the others are not read again.
    this.#known = new Map(rows.map(({ config }, i) => [config, this.#held?.jobs[i] as ShardJob]));
    return this.#held;
  }

  #searches(): { configs: string; shards: number } {
    return this.sql.one`SELECT configs, shards FROM searches`;
  }
}

function jobOf(text: string): ShardJob {
  const config = JSON.parse(text) as JobConfig;
  const limits = readJobConfig(config)?.limits ?? LIMITS;
  return { ...knownOf(config), version: config.version, mark: config.mark, limits, config };
}
