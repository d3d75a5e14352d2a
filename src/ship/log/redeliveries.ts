import { fromHex } from "../../base/bytes.ts";
import { DEDUP_MS } from "../../base/limits.ts";
import type { DedupId, DedupIndex } from "../../base/storage/dedup-index.ts";
import { Tables } from "../../base/storage/sql.ts";

/**
 * Why messages are noted:
 * - `begun`: a batch has them in hand;
 * - `returned`: they were tried, and go back to the queue;
 * - `untried`: they go back without having been tried;
 * - `alone`: batches with it died, and now it is tried by itself.
 */
export type Noted = "begun" | "returned" | "untried" | "alone";

/** @property attempts deliveries so far, this one included, where they are known. */
export type NotedMessage = DedupId & { attempts?: number };

/** Deliveries of a message that were killed in a row: they began, and nothing ended them. */
export interface Deaths {
  id: string;
  /** {@link ALONE_DEATHS} and more: it was tried alone. */
  deaths: number;
}

/** Deaths of a message that is tried alone count from here. */
export const ALONE_DEATHS = 100;

type Row = { begun: number | null; deaths: number };

function next({ begun, deaths }: Row, how: Noted, attempts: number, isWell: boolean): Row {
  switch (how) {
    case "begun": {
      // The same delivery may be noted twice.
      const died = begun !== null && begun < attempts;
      return { begun: attempts, deaths: deaths + (died && (isWell || deaths < ALONE_DEATHS) ? 1 : 0) };
    }
    case "returned":
      return { begun: null, deaths: 0 };
    case "untried":
      return { begun: null, deaths };
    case "alone":
      return { begun: attempts, deaths: Math.max(deaths, ALONE_DEATHS) };
  }
}

/**
 * Messages that come again, or are late on their way. To be changed only in a transaction of the
 * caller.
 */
export class Redeliveries extends Tables {
  readonly #ids: DedupIndex;

  /** @param ids of counted messages. */
  constructor(sql: SqlStorage, ids: DedupIndex) {
    super(sql);
    this.#ids = ids;
  }

  /**
   * Skips counted messages (a copy was faster, or the note is late): nothing would remove their
   * note.
   * @param isWell whether messages get through at present. If not, no message is to blame for the
   *   death of a batch that it has for itself.
   * @returns those of which deliveries were killed, if they are `begun`.
   */
  note(messages: readonly NotedMessage[], how: Noted, isWell = true): Deaths[] {
    const known = this.#ids.known(messages);
    const died: Deaths[] = [];
    for (const message of messages) {
      if (known.has(message.id)) continue;
      const before = this.#row(message.id);
      const after = next(before ?? { begun: null, deaths: 0 }, how, message.attempts ?? 0, isWell);
      if (how === "begun" && after.deaths > 0) died.push({ id: message.id, deaths: after.deaths });
      if (before?.begun === after.begun && before.deaths === after.deaths) continue;
      this.sql.run`
        INSERT INTO unfinished (id, taken_ms, begun, deaths)
        VALUES (${fromHex(message.id).buffer}, ${message.takenInMs}, ${after.begun}, ${after.deaths})
        ON CONFLICT (id) DO UPDATE SET begun = excluded.begun, deaths = excluded.deaths`;
    }
    return died;
  }

  #row(id: string): Row | null {
    return this.sql.first`SELECT begun, deaths FROM unfinished WHERE id = ${fromHex(id).buffer}`;
  }

  finished(id: string): void {
    this.sql.run`DELETE FROM unfinished WHERE id = ${fromHex(id).buffer}`;
  }

  /** Time of intake of the oldest, in ms; null: there is none. */
  oldestMs(): number | null {
    return this.sql.only`SELECT min(taken_ms) FROM unfinished`;
  }

  /** Drops what no queue delivers any more. */
  sweep(nowMs: number): void {
    this.sql.run`DELETE FROM unfinished WHERE taken_ms < ${nowMs - DEDUP_MS}`;
  }
}
