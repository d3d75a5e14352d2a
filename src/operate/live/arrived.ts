import { utf8Length } from "../../base/bytes.ts";
import { LIVE_PUSH_MAX_BYTES, LIVE_PUSH_MAX_RECORDS } from "../../base/limits.ts";
import type { Loaded, LoadedRecord } from "../../formats/queue/load-records.ts";
import type { RecordLine } from "../../formats/record/line.ts";

/** New records of the log, for live viewers. */
export interface Arrived {
  /** Whole, oldest first. */
  records: RecordLine[];
  /** How many more there are, beyond the limits. */
  leftOut: number;
  /** Which of them are of which part, oldest first. */
  parts: ArrivedPart[];
}

/** Its records, and how many more it has. */
export interface ArrivedPart {
  id: string;
  records: number;
  leftOut: number;
}

/**
 * The newest records of parts, whole and unfiltered: at most {@link LIVE_PUSH_MAX_RECORDS} of
 * {@link LIVE_PUSH_MAX_BYTES}; the others are counted.
 */
export function arrivedOf(loaded: readonly Pick<Loaded, "message" | "records">[]): Arrived {
  const shown: RecordLine[] = [];
  const parts: ArrivedPart[] = [];
  const room = { records: LIVE_PUSH_MAX_RECORDS, bytes: LIVE_PUSH_MAX_BYTES };
  let leftOut = 0;
  for (const { message, records } of loaded.toReversed()) {
    const before = { records: shown.length, leftOut };
    for (let i = records.length - 1; i >= 0; i--) {
      const { whole } = records[i] as LoadedRecord;
      const bytes = room.records === 0 ? 0 : whole.bytes + utf8Length(whole.extra);
      if (room.records > 0 && bytes <= room.bytes) {
        shown.push(whole);
        room.records -= 1;
        room.bytes -= bytes;
        continue;
      }
      leftOut += 1;
      // A record that is too large on its own is skipped. After any other that does not fit, none
      // is taken: no gaps.
      if (bytes <= LIVE_PUSH_MAX_BYTES) room.records = 0;
    }
    parts.push({ id: message.id, records: shown.length - before.records, leftOut: leftOut - before.leftOut });
  }
  return { records: shown.reverse(), leftOut, parts: parts.reverse() };
}
