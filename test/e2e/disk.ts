import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { JobCounts } from "../support/ledger-audit.ts";

/** A lock is held for a transaction, or for as long as a log of writes is taken up again. */
const LOCKED_AT_MOST_MS = 10_000;

/**
 * The counts of every log as they are on disk, by job: for when the API does not tell them, as it is misconfigured, or the job is gone. The service
 * may be running: SQLite shows what was committed.
 * @param state `state` of a shipper.
 */
export function logsOnDisk(state: string): Map<number, JobCounts> {
  const folder = join(state, "v3/do/logship-DeliveryLog");
  const files = readdirSync(folder).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name));
  return new Map(files.flatMap((name) => countsIn(join(folder, name))));
}

/** Opens a database that a running service may be writing to, or may just be taking up again after it was killed: SQLite lets nobody in meanwhile. */
export function openOnDisk(file: string): DatabaseSync {
  return new DatabaseSync(file, { readOnly: true, timeout: LOCKED_AT_MOST_MS });
}

function countsIn(file: string): [number, JobCounts][] {
  const db = openOnDisk(file);
  try {
    // An object that was asked whether it has a job, and has none, has empty tables.
    const rows = db
      .prepare(
        `SELECT CAST(json_extract(job, '$.id') AS INTEGER) AS job, received, filtered, sampled_out, delivered, set_aside, discarded,
           (SELECT coalesce(sum(records), 0) FROM batch)
             + (SELECT coalesce(sum(records), 0) FROM object WHERE state = 'waiting') AS pending
         FROM log`,
      )
      .all() as unknown as (JobCounts & { job: number })[];
    return rows.map(({ job, ...counts }) => [job, counts]);
  } finally {
    db.close();
  }
}
