import type { ObjectRow } from "./reader-rows.ts";
import type { ObjectEntry } from "./statuses.ts";

/** An object as the API lists it. */
export function entryOf(row: ObjectRow): ObjectEntry {
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
    verified: row.verified === null ? null : row.verified === 1,
    error: row.error,
    replay:
      row.replay === null || row.replay_of === null
        ? null
        : { id: row.replay, of: row.replay_of, destination: row.elsewhere },
    sent_to: row.replay === null ? row.elsewhere : null,
  };
}
