import type { ObjectRow } from "./reader-rows.ts";

/** An object as the API lists it. */
export function entryOf(row: ObjectRow) {
  const time = (ms: number): string => new Date(ms).toISOString();
  return {
    number: row.number,
    key: row.key,
    state: row.state,
    records: row.records,
    bytes: row.bytes,
    raw_bytes: row.raw_bytes,
    first_event: time(row.first_event_ms),
    last_event: time(row.last_event_ms),
    reason: row.reason,
    attempts: row.attempts,
    cut_at: time(row.cut_ms),
    uploaded_at: row.uploaded_ms === null ? null : time(row.uploaded_ms),
    /** false: the store says that it has the object, and does not show it. */
    verified: row.verified === null ? null : row.verified === 1,
    error: row.error,
    /** Of an object that a replay wrote; null: the job's own. */
    replay:
      row.replay === null || row.replay_of === null
        ? null
        : {
            id: row.replay,
            /** The number of the object that it is a copy of. */
            of: row.replay_of,
            /** Bucket and endpoint, if it was not written to the job's own destination. */
            destination: row.elsewhere,
          },
    /** The masked destination that it is or was sent to instead of its job's; null: none. */
    sent_to: row.replay === null ? row.elsewhere : null,
  };
}
