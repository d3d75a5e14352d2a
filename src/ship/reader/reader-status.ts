import { UPLOAD_INTERVAL_S } from "../../base/limits.ts";
import type { Sql } from "../../base/storage/sql.ts";
import { readTemplate } from "../../formats/object/keys.ts";
import type { Following } from "../log/nodes.ts";
import type { ReaderRow } from "./reader-rows.ts";
import type { ReaderState } from "./reader-state.ts";
import type { DeliveryCounts, ReaderStatus } from "./statuses.ts";

/** Pending is counted from the rows, so that an error in the other counts shows. */
export function countsOf(sql: Sql, row: ReaderRow): DeliveryCounts {
  const { received, filtered, sampled_out, delivered, set_aside, discarded } = row;
  const pending = sql.only<number>`
    SELECT (SELECT coalesce(sum(records), 0) FROM batch) + (SELECT coalesce(sum(records), 0) FROM object
    WHERE state = 'waiting') + (SELECT coalesce(sum(records), 0) FROM unmade WHERE state = 'newer')`;
  return { received, filtered, sampled_out, delivered, pending, set_aside, discarded };
}

/** Facts from the parts of a reader. */
type PartsStatus = Pick<ReaderStatus, "pendingObjects" | "canary" | "lastDay" | "manifests" | "unmade"> & {
  oldestAsideMs: number | null;
} & Following;

/** The status of a reader. */
export function statusOf(
  sql: Sql,
  state: ReaderState,
  { oldestAsideMs, pendingObjects, canary, unmade, ...following }: PartsStatus,
  nowMs: number,
): ReaderStatus {
  const row = state.requireRow();
  const oldest = oldestPendingTakenMs(sql);
  const never = Number.POSITIVE_INFINITY;
  const held = Math.min(oldest ?? never, oldestAsideTakenMs(sql), unmade.oldestTakenMs ?? never);
  return {
    counts: countsOf(sql, row),
    pendingObjects,
    deliveredObjects: row.deliveries - row.replayed_objects,
    oldestPendingTakenMs: oldest,
    oldestHeldTakenMs: Number.isFinite(held) ? held : null,
    deliveredRawBytes: row.delivered_raw,
    deliveredBytes: row.delivered_bytes,
    lastCompleteMs: row.last_complete_ms,
    lastErrorMs: row.last_error_ms,
    errorMessage: row.error_message,
    lastReceivedMs: row.last_received_ms,
    failingSinceMs: row.failing_since_ms,
    parked: row.parked !== 0,
    resumeMs: row.resume_ms,
    storedBytes: sql.databaseSize,
    setAside: { objects: row.aside_objects, records: row.set_aside - unmade.poison, oldestMs: oldestAsideMs },
    unmade,
    canary,
    ...scriptsOf(sql, state, nowMs),
    replayed: { objects: row.replayed_objects, records: row.replayed_records, bytes: row.replayed_bytes },
    resentInDoubt: row.resent_in_doubt,
    ...following,
  };
}

/**
 * An object that was cut this long ago, in ms, is of the last minutes: twice the longest interval.
 */
const LATELY_MS = 2 * UPLOAD_INTERVAL_S.max * 1_000;

/** The newest objects that are looked at: as many scripts, and more, are enough to speak up. */
const LOOKED_AT = 2_000;

function scriptsOf(sql: Sql, state: ReaderState, nowMs: number): Pick<ReaderStatus, "scripts"> {
  if (!readTemplate(state.requireJob().path).script) return {};
  const scripts = sql.only<number>`
    SELECT count(DISTINCT substr(part, instr(part, '/')))
    FROM (SELECT part FROM batch UNION ALL SELECT part FROM (SELECT part, cut_ms FROM object ORDER BY number DESC
      LIMIT ${LOOKED_AT}) WHERE cut_ms > ${nowMs - LATELY_MS}) WHERE part LIKE '%/%'`;
  return { scripts };
}

/** Time of intake, in ms since the epoch, of the oldest record that waits; null: none does. */
function oldestPendingTakenMs(sql: Sql): number | null {
  return sql.only`
    SELECT min(oldest_taken_ms) FROM (SELECT oldest_taken_ms FROM batch UNION ALL SELECT oldest_taken_ms
    FROM object WHERE state = 'waiting')`;
}

/**
 * Time of intake, in ms since the epoch, of the oldest record that is set aside; Infinity: none is.
 */
function oldestAsideTakenMs(sql: Sql): number {
  const oldest = sql.only<number | null>`
    SELECT min(oldest_taken_ms) FROM object INDEXED BY object_aside WHERE state = 'set_aside'`;
  return oldest ?? Number.POSITIVE_INFINITY;
}
