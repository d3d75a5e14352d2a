import { encodeUtf8, utf8Length } from "../bytes.ts";
import { type OptOut, offNow, optedOut } from "../job/config.ts";
import { RECENT_EVENT_MAX_BYTES, RECENT_HANDOVER_MAX_BYTES, RECENT_MAX_EVENTS } from "../limits.ts";
import type { Loaded, LoadedRecord } from "../object/load.ts";
import type { RecentRecords } from "../trace-log/recent.ts";

/** How often an isolate hands records over, in ms: the cost does not grow with the load. */
const EVERY_MS = 1_000;

/** When an isolate may hand over recent records. */
export class RecentTurns {
  #lastMs: number | null = null;

  /**
   * @returns whether it is time; then the turn is taken. A clock that was set back does not block
   *   it.
   */
  take(nowMs: number): boolean {
    if (this.#lastMs !== null && Math.abs(nowMs - this.#lastMs) < EVERY_MS) return false;
    this.#lastMs = nowMs;
    return true;
  }
}

/**
 * The newest records of a group, for previews: whole and unfiltered, without those of functions
 * whose logging is off or was off at intake. No more than the log holds, and
 * {@link RECENT_HANDOVER_MAX_BYTES}.
 * @returns by message id. A second copy of a message is skipped.
 */
export function recentOf(group: readonly Loaded[], optOuts: readonly OptOut[]): Map<string, RecentRecords> {
  const [wasOff, isOff] = [optedOut(optOuts), offNow(optOuts)];
  const byMessage = new Map<string, RecentRecords>();
  const room = { events: RECENT_MAX_EVENTS, bytes: RECENT_HANDOVER_MAX_BYTES };
  for (const { message, records, ascii } of group.toReversed()) {
    if (room.events === 0) break;
    if (byMessage.has(message.id)) continue;
    const lines: string[] = [];
    let tooLarge = 0;
    for (let i = records.length - 1; i >= 0 && room.events > 0; i--) {
      const { whole } = records[i] as LoadedRecord;
      if (isOff.has(whole.ScriptName) || wasOff(whole.ScriptName, message.takenInMs)) continue;
      const bytes = ascii && whole.extra === "" ? whole.line.length : utf8Length(whole.entry);
      if (bytes > RECENT_EVENT_MAX_BYTES) tooLarge += 1;
      else if (bytes + 1 > room.bytes) room.events = 0;
      else {
        lines.push(`${whole.entry}\n`);
        room.bytes -= bytes + 1;
        room.events -= 1;
      }
    }
    const ndjson = encodeUtf8(lines.reverse().join(""));
    byMessage.set(message.id, { ndjson, tooLarge, ...(message.source && { sources: [message.source] }) });
  }
  return byMessage;
}
