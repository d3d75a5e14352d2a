import { columns, Tables } from "../../base/storage/sql.ts";
import type { Item, OpenMessage } from "../log/blocks.ts";

/** What is stored of an entry that could not be made. */
export type UnmadeEntry = Omit<Item, "group" | "open"> & { open: OpenMessage[] };

/** Why: it kills its reader, or only newer code can read what it needs. */
export type UnmadeState = "poison" | "newer";

/** An entry that could not be made, without its messages. */
export interface UnmadeNote {
  /** Position in the log. */
  n: number;
  state: UnmadeState;
  why: string;
  records: number;
  /** Time of intake of its oldest record, and when it was stored, in ms since the epoch. */
  takenMs: number;
  atMs: number;
}

/** What all of them are. */
export interface UnmadeSums {
  /** Records that a person has to decide about, and those that wait for newer code. */
  poison: number;
  newer: number;
  entries: number;
  /** Times of intake and of storing of the oldest, in ms since the epoch; null: there is none. */
  oldestTakenMs: number | null;
  oldestAtMs: number | null;
}

/** Deaths of a reader on one entry before it goes on without it. */
export const DEATHS_MAX = 3;

/** How often what waits for newer code is tried, in ms. */
const NEWER_EVERY_MS = 3_600_000;

/**
 * Entries of the log that a reader has to make, and could not: one record stops no other. What
 * changes anything belongs into a transaction of the caller.
 */
export class Unmade extends Tables {
  /**
   * When those that wait for newer code are tried next, in ms since the epoch: at once at first.
   */
  #nextMs = 0;

  /** Notes that an entry is being made. @returns how often that has killed the reader before. */
  begin(n: number): number {
    const [row] = this.sql.all<{ tries: number }>`SELECT tries FROM unmade WHERE n = ${n} AND k = 0`;
    this.sql.run`
      INSERT INTO unmade (n, k, tries) VALUES (${n}, 0, 1) ON CONFLICT (n, k) DO UPDATE SET tries = tries + 1`;
    return row?.tries ?? 0;
  }

  /** Positions of those that were begun, and of which no page was committed. */
  begun(): ReadonlySet<number> {
    const rows = this.sql.all<{ n: number }>`SELECT n FROM unmade WHERE k = 0 AND state IS NULL`;
    return new Set(rows.map(({ n }) => n));
  }

  /** What waited for newer code is set aside. */
  giveUp(n: number, why: string): void {
    this.sql.run`UPDATE unmade SET state = 'poison', why = ${why}, tries = 0 WHERE n = ${n} AND k = 0`;
  }

  /** It was made, or is stored: nothing died with it. */
  ended(n: number): void {
    this.sql.run`DELETE FROM unmade WHERE n = ${n} AND k = 0 AND state IS NULL`;
    this.sql.run`UPDATE unmade SET tries = 0 WHERE n = ${n} AND k = 0`;
  }

  /** Stores an entry as it is. */
  store({ open, ...entry }: UnmadeEntry, state: UnmadeState, why: string, nowMs: number): void {
    const messages = open.map(({ parts, off }) => ({ parts, off }));
    const { n, received: records, takenMs } = entry;
    this.sql.replace("unmade", {
      ...{ n, k: 0, state, why, records, takenMs, atMs: nowMs },
      entry: JSON.stringify({ entry, messages }),
    });
    for (const [i, { body }] of open.entries()) this.sql.replace("unmade", { n, k: i + 1, body: body.slice().buffer });
  }

  /** null: there is none (any more). */
  get(n: number): UnmadeEntry | null {
    const row = this.sql.first<{ entry: string | null }>`SELECT entry FROM unmade WHERE n = ${n} AND k = 0`;
    if (row?.entry == null) return null;
    const { entry, messages } = JSON.parse(row.entry) as {
      entry: Omit<UnmadeEntry, "open">;
      messages: Omit<OpenMessage, "body">[];
    };
    const bodies = this.sql.all<{ body: ArrayBuffer }>`SELECT body FROM unmade WHERE n = ${n} AND k > 0 ORDER BY k`;
    const open = messages.map((message, i) => ({ ...message, body: new Uint8Array(bodies[i]?.body ?? []) }));
    return { ...entry, open };
  }

  /** Deletes an entry. @returns its records; 0: there is none (any more). */
  remove(n: number): number {
    const row = this.sql.first<{ records: number }>`
      SELECT records FROM unmade WHERE n = ${n} AND k = 0 AND state IS NOT NULL`;
    this.sql.run`DELETE FROM unmade WHERE n = ${n}`;
    return row?.records ?? 0;
  }

  /** Deletes all of them. @returns their records. */
  drop(): number {
    const { poison, newer } = this.sums();
    this.sql.run`DELETE FROM unmade WHERE n IN (SELECT n FROM unmade WHERE k = 0 AND state IS NOT NULL)`;
    return poison + newer;
  }

  /** In the order of the log. @param state absent: all. */
  list(state?: UnmadeState): UnmadeNote[] {
    const note = columns("n", "state", "why", "records", "takenMs", "atMs");
    return this.sql.all`
      SELECT ${note} FROM unmade
      WHERE k = 0 AND state IS NOT NULL AND (${state ?? null} IS NULL OR state = ${state ?? null}) ORDER BY n`;
  }

  sums(): UnmadeSums {
    return this.sql.one`
      SELECT coalesce(sum(records) FILTER (WHERE state = 'poison'), 0) AS poison,
        coalesce(sum(records) FILTER (WHERE state = 'newer'), 0) AS newer, count(*) AS entries,
        min(taken_ms) AS oldestTakenMs, min(at_ms) AS oldestAtMs FROM unmade WHERE k = 0 AND state IS NOT NULL`;
  }

  /** Positions of those that are to be tried again now: what waits for newer code. */
  due(nowMs: number, isAsked: boolean): number[] {
    if (!isAsked && nowMs < this.#nextMs) return [];
    this.#nextMs = nowMs + NEWER_EVERY_MS;
    return this.list("newer").map(({ n }) => n);
  }

  /** When {@link Unmade.due} has something, in ms since the epoch; Infinity: never. */
  nextMs(): number {
    return this.list("newer").length > 0 ? this.#nextMs : Number.POSITIVE_INFINITY;
  }
}
