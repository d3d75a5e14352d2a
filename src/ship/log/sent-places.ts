import { SENT_PLACES_MAX } from "../../base/limits.ts";
import { Tables } from "../../base/storage/sql.ts";
import { hourOf } from "../../base/time.ts";
import type { Source } from "../../formats/record/source.ts";

/** `refused`: of a sender's requests; `summed`: of its functions, see {@link HealthHours}. */
export type Crowding = "refused" | "summed";

/** What senders name, hour by hour, and which of them name too much. */
export class SentPlaces extends Tables {
  /**
   * Whether a sender may name these places; if not, that is noted. Call in a transaction.
   * @param places of which objects may be made: see {@link placesOf}.
   */
  admit(source: Source, places: readonly string[], nowMs: number): boolean {
    const hour = hourOf(nowMs);
    const rows = this.sql.all<{ place: string }>`SELECT place FROM sent WHERE hour = ${hour} AND source = ${source}`;
    const known = new Set(rows.map(({ place }) => place));
    const fresh = places.filter((place) => !known.has(place));
    const isRoom = known.size + fresh.length <= SENT_PLACES_MAX;
    for (const place of isRoom ? fresh : ["refused"])
      this.sql.run`INSERT OR IGNORE INTO sent (hour, source, place) VALUES (${hour}, ${source}, ${place})`;
    return isRoom;
  }

  /** In this hour and the one before. */
  crowded(nowMs: number): { source: Source; what: Crowding }[] {
    return this.sql.all`
      SELECT DISTINCT source, place AS what FROM sent
      WHERE hour >= ${hourOf(nowMs) - 1} AND place IN ('refused', 'summed') ORDER BY source, what`;
  }

  sweep(nowMs: number): void {
    this.sql.run`DELETE FROM sent WHERE hour < ${hourOf(nowMs) - 1}`;
  }
}
