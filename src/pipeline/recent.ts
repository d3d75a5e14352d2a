import type { RecentRecords } from "../account/recent.ts";
import { encodeUtf8, utf8Length } from "../bytes.ts";
import { type OptOut, offNow, optedOut } from "../job/config.ts";
import { RECENT_EVENT_MAX_BYTES, RECENT_HANDOVER_MAX_BYTES, RECENT_MAX_EVENTS } from "../limits.ts";
import type { Loaded, LoadedRecord } from "../object/load.ts";

/** How often an isolate hands records over, in ms: a flood of events costs no more than a brook of them. */
const EVERY_MS = 1_000;

/** When an isolate may hand over recent records. */
export class RecentTurns {
  #lastMs: number | null = null;

  /** @returns whether it is time again; then the turn is taken. A clock that goes back makes nobody wait for it. */
  take(nowMs: number): boolean {
    if (this.#lastMs !== null && Math.abs(nowMs - this.#lastMs) < EVERY_MS) return false;
    this.#lastMs = nowMs;
    return true;
  }
}

/**
 * The newest records of a group, as the ledger is to hold them for previews: whole, whatever any job thinks of them, but none of a function whose logging
 * is off, or was when they were taken in. No more than the ledger holds, and {@link RECENT_HANDOVER_MAX_BYTES}.
 * @returns them by the ids of their messages; a copy of a message that has another's id is passed over.
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
      const bytes = ascii ? whole.line.length : utf8Length(whole.line);
      if (bytes > RECENT_EVENT_MAX_BYTES) tooLarge += 1;
      else if (bytes + 1 > room.bytes) room.events = 0;
      else {
        lines.push(`${whole.line}\n`);
        room.bytes -= bytes + 1;
        room.events -= 1;
      }
    }
    byMessage.set(message.id, { ndjson: encodeUtf8(lines.reverse().join("")), tooLarge });
  }
  return byMessage;
}
