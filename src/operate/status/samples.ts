import { Tables } from "../../base/storage/sql.ts";
import type { AccountStatus } from "../../ship/log/account-status.ts";
import type { JobStatus } from "../../ship/reader/statuses.ts";
import type { AccountFacts, JobPast, KnownJob } from "./facts.ts";
import { keptNothing, type Mark, marked } from "./marks.ts";
import type { QueueWaits } from "./queue-waits.ts";
import type { PastSearches } from "./search-rules.ts";
import { BACKLOG_MIN } from "./thresholds.ts";

/**
 * The counts seen by the last check. One row of some hundred kB at most: there are at most 250
 * jobs.
 */
export const SAMPLES_SQL = `
      CREATE TABLE sample (
        id    INTEGER PRIMARY KEY CHECK (id = 1),
        state TEXT NOT NULL                      -- JSON of SampleState
      ) STRICT;`;

/** What is remembered between checks. */
export interface SampleState {
  /** The last known jobs; null: none yet. */
  known: KnownJob[] | null;
  /** By id. */
  jobs: { [id: string]: JobPast };
  account: AccountFacts["past"] | null;
  backlogSinceMs: number | null;
  /** As the cron last asked. */
  queue?: QueueWaits;
  searches?: PastSearches;
}

const NOTHING: SampleState = { known: null, jobs: {}, account: null, backlogSinceMs: null };
const NO_PAST: JobPast = { filter: null, sample: null, setAside: null };

/** The answers of one check; undefined: none. */
export interface Check {
  known: KnownJob[] | undefined;
  statuses: ReadonlyMap<number, JobStatus | null>;
  account: AccountStatus | undefined;
}

/** Applies a check. What did not answer stays as it was. */
export function sampled(before: SampleState, { known, statuses, account }: Check, nowMs: number): SampleState {
  const jobs: SampleState["jobs"] = {};
  for (const job of known ?? before.known ?? []) {
    const past = before.jobs[job.id] ?? NO_PAST;
    const status = statuses.get(job.id) ?? null;
    jobs[job.id] = status === null ? past : pastOf(past, job, status, nowMs);
  }
  return {
    ...before,
    known: known ?? before.known,
    jobs,
    account: account === undefined ? before.account : accountPast(before.account, account, nowMs),
    backlogSinceMs: account === undefined ? before.backlogSinceMs : backlogSince(before.backlogSinceMs, account, nowMs),
  };
}

function pastOf(
  before: JobPast,
  { modifiedVersion: version }: KnownJob,
  { counts, setAside }: JobStatus,
  nowMs: number,
): JobPast {
  const { received, filtered, sampled_out } = counts;
  const passed = received - filtered;
  return {
    filter: keptNothing(before.filter, { version, given: received, kept: passed }, nowMs),
    sample: keptNothing(before.sample, { version, given: passed, kept: passed - sampled_out }, nowMs),
    setAside: marked(before.setAside, setAside.records, nowMs),
  };
}

function accountPast(
  before: AccountFacts["past"] | null,
  { counts, intakeLost, intakeUnfit }: AccountStatus,
  nowMs: number,
): AccountFacts["past"] {
  const mark = (of: keyof AccountFacts["past"], value: number): Mark => marked(before?.[of] ?? null, value, nowMs);
  return {
    notRouted: mark("notRouted", counts.not_routed),
    intakeLost: mark("intakeLost", intakeLost),
    intakeUnfit: mark("intakeUnfit", intakeUnfit),
    setAside: mark("setAside", counts.set_aside),
  };
}

function backlogSince(before: number | null, { queueBacklog }: AccountStatus, nowMs: number): number | null {
  return queueBacklog !== null && queueBacklog >= BACKLOG_MIN ? (before ?? nowMs) : null;
}

/** Keeps a {@link SampleState}; one row is written where anything has changed. */
export class Samples extends Tables {
  state(): SampleState {
    const text = this.#text();
    return text === null ? NOTHING : (JSON.parse(text) as SampleState);
  }

  keep(state: SampleState): void {
    const text = JSON.stringify(state);
    if (text !== this.#text()) this.sql.replace("sample", { id: 1, state: text });
  }

  note(queue: QueueWaits): void {
    this.keep({ ...this.state(), queue });
  }

  #text(): string | null {
    return this.sql.first<{ state: string }>`SELECT state FROM sample`?.state ?? null;
  }
}
