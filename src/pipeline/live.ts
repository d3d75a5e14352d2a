import { utf8Length } from "../bytes.ts";
import { type OptOut, offNow, optedOut } from "../job/config.ts";
import { LIVE_PUSH_MAX_BYTES, LIVE_PUSH_MAX_RECORDS } from "../limits.ts";
import type { Loaded, LoadedRecord } from "../object/load.ts";
import type { Entry } from "../record/extras.ts";
import type { Source } from "../record/source.ts";

/** Newly counted records, for live viewers. */
export interface Arrived {
  /** Canonical lines with extra fields, whole, oldest first. */
  lines: Entry[];
  /** Where each of them came from, "" where that is unknown. */
  sources: Source[];
  /** How many more there are, beyond the limits. */
  leftOut: number;
  /** Which of them are of which part, oldest first. */
  parts: ArrivedPart[];
}

/** Its records among the lines, and how many more it has. */
export interface ArrivedPart {
  id: string;
  lines: number;
  leftOut: number;
}

/**
 * The newest records of a group, whole and unfiltered, without those of functions whose logging is
 * off or was off at intake: at most {@link LIVE_PUSH_MAX_RECORDS} of {@link LIVE_PUSH_MAX_BYTES};
 * the others are counted.
 * @param ids of the messages to show. A second copy of one is skipped.
 */
export function arrivedOf(group: readonly Loaded[], ids: ReadonlySet<string>, optOuts: readonly OptOut[]): Arrived {
  const [wasOff, isOff] = [optedOut(optOuts), offNow(optOuts)];
  const seen = new Set<string>();
  const lines: Entry[] = [];
  const sources: Source[] = [];
  const parts: ArrivedPart[] = [];
  const room = { records: LIVE_PUSH_MAX_RECORDS, bytes: LIVE_PUSH_MAX_BYTES };
  let leftOut = 0;
  for (const { message, records, ascii } of group.toReversed()) {
    if (!ids.has(message.id) || seen.has(message.id)) continue;
    seen.add(message.id);
    const before = { lines: lines.length, leftOut };
    for (let i = records.length - 1; i >= 0; i--) {
      const { whole } = records[i] as LoadedRecord;
      if (optOuts.length > 0 && (isOff.has(whole.ScriptName) || wasOff(whole.ScriptName, message.takenInMs))) continue;
      const isLength = ascii && whole.extra === "";
      const bytes = room.records === 0 ? 0 : isLength ? whole.line.length : utf8Length(whole.entry);
      if (room.records > 0 && bytes <= room.bytes) {
        lines.push(whole.entry);
        sources.push(whole.Source);
        room.records -= 1;
        room.bytes -= bytes;
        continue;
      }
      leftOut += 1;
      // A record that is too large on its own is skipped. After any other that does not fit, none
      // is taken: no gaps.
      if (bytes <= LIVE_PUSH_MAX_BYTES) room.records = 0;
    }
    parts.push({ id: message.id, lines: lines.length - before.lines, leftOut: leftOut - before.leftOut });
  }
  return { lines: lines.reverse(), sources: sources.reverse(), leftOut, parts: parts.reverse() };
}
