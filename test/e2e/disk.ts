import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { JobCounts } from "../support/ledger-audit.ts";

/** A lock is held for one transaction, or while the write-ahead log is recovered. */
const LOCKED_AT_MOST_MS = 10_000;

/**
 * The counts of every log on disk, by job: for when the API does not give them, because it is
 * misconfigured or the job is deleted. The service may be running: SQLite reads what was committed.
 * @param state `state` of a shipper.
 */
export function logsOnDisk(state: string): Map<number, JobCounts> {
  const folder = join(state, "v3/do/logship-JobReader");
  const files = readdirSync(folder).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name));
  return new Map(files.flatMap((name) => countsIn(join(folder, name))));
}

/**
 * Opens a database while the service writes to it, or while SQLite recovers it after a kill. SQLite
 * allows no other connection during recovery.
 */
export function openOnDisk(file: string): DatabaseSync {
  return new DatabaseSync(file, { readOnly: true, timeout: LOCKED_AT_MOST_MS });
}

function countsIn(file: string): [number, JobCounts][] {
  const db = openOnDisk(file);
  try {
    // A log without a job has empty tables.
    const rows = db
      .prepare(
        `SELECT CAST(json_extract(job, '$.id') AS INTEGER) AS job, received, filtered, sampled_out, delivered, set_aside, discarded,
           (SELECT coalesce(sum(records), 0) FROM batch)
             + (SELECT coalesce(sum(records), 0) FROM object WHERE state = 'waiting') AS pending
         FROM reader`,
      )
      .all() as unknown as (JobCounts & { job: number })[];
    return rows.map(({ job, ...counts }) => [job, counts]);
  } finally {
    db.close();
  }
}
