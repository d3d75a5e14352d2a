import { concat, fromHex, includesAligned, toHex } from "../bytes.ts";
import { ID_MEMORY_MS, ROW_MAX_BYTES } from "../limits.ts";

/** The id under which a message is remembered. */
export interface TakenId {
  /** 16 bytes as 32 hex digits. */
  id: string;
  takenInMs: number;
  /** Derived from an `Idempotency-Key`, and remembered by itself, whatever its time of intake. */
  keyed: boolean;
  /** Of a repeated request: the time of intake of its first copy, by which all are remembered. */
  firstMs?: number;
}

/** The time, in ms since the epoch, that all copies of a message share. */
export function rememberedMs({ takenInMs, firstMs }: Pick<TakenId, "takenInMs" | "firstMs">): number {
  return firstMs ?? takenInMs;
}

export const ID_MEMORY_SQL = `
  CREATE TABLE taken (
    slot INTEGER PRIMARY KEY, -- minute of intake * 64 + part
    ids  BLOB NOT NULL        -- 16 bytes each
  ) STRICT;
  CREATE TABLE taken_keyed (
    id     BLOB PRIMARY KEY,
    minute INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`;

const PARTS = 64;

const minuteOf = (timeMs: number): number => Math.floor(timeMs / 60_000);

/**
 * Whether ids of this time of intake are still remembered after a sweep at `sweptMs`. For ids that
 * are remembered by themselves, the time is that of the copy that was taken.
 */
export function remembers(takenInMs: number, sweptMs: number): boolean {
  return minuteOf(takenInMs) >= minuteOf(sweptMs - ID_MEMORY_MS);
}

/**
 * A repeat that came later than this after its first copy, in ms, may be delivered when that one's
 * minute is forgotten: the queue holds messages for a day less than ids are remembered.
 */
const LATE_MS = 86_400_000;

function isLate({ takenInMs, firstMs }: TakenId): boolean {
  return firstMs !== undefined && takenInMs - firstMs > LATE_MS;
}

/**
 * Remembers which messages were taken, in the tables of {@link ID_MEMORY_SQL}. One row holds all
 * ids of a minute of intake: a row per id would cost more than all other writes. A redelivered
 * message names the same minute, and a repeat that of its first copy. Keyed ids have no fixed
 * minute and get a row each, and so does a late repeat, beside its place in that minute.
 */
export class IdMemory {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The remembered ids among these. A late repeat is remembered anew, for as long as it comes. */
  known(ids: readonly TakenId[]): Set<string> {
    const known = new Set<string>();
    for (const [minute, group] of groupByMinute(ids.filter(({ keyed }) => !keyed))) {
      const rows = this.#rows(minute).map(({ ids: taken }) => new Uint8Array(taken));
      if (rows.length === 0) continue;
      for (const { id } of group) if (rows.some((row) => includesAligned(row, fromHex(id)))) known.add(id);
    }
    for (const taken of ids) {
      if (!taken.keyed && !isLate(taken)) continue;
      const minute = this.#ownMinute(taken.id);
      if (minute !== null) known.add(taken.id);
      if (isLate(taken) && known.has(taken.id) && (minute ?? 0) < minuteOf(taken.takenInMs)) this.#setOwn(taken);
    }
    return known;
  }

  /** Adds ids that are not known yet. Call it in the transaction that stores their messages. */
  remember(ids: readonly TakenId[]): void {
    for (const [minute, group] of groupByMinute(ids.filter(({ keyed }) => !keyed))) {
      const last = this.#rows(minute).at(-1);
      let slot = last?.slot ?? minute * PARTS;
      let held = last === undefined ? new Uint8Array() : new Uint8Array(last.ids);
      const added = concat(group.map(({ id }) => fromHex(id)));
      if (held.length + added.length > ROW_MAX_BYTES) {
        slot += 1;
        held = new Uint8Array();
        // 64 rows hold 7.6 million ids, more messages than a queue carries in a minute.
        if (slot >= (minute + 1) * PARTS) throw new Error(`too many messages in minute ${minute}`);
      }
      this.#sql.exec("INSERT OR REPLACE INTO taken (slot, ids) VALUES (?, ?)", slot, concat([held, added]).buffer);
    }
    for (const taken of ids) if (taken.keyed || isLate(taken)) this.#setOwn(taken);
  }

  /** Deletes ids older than {@link ID_MEMORY_MS}. */
  sweep(nowMs: number): void {
    const minute = minuteOf(nowMs - ID_MEMORY_MS);
    this.#sql.exec("DELETE FROM taken WHERE slot < ?", minute * PARTS);
    this.#sql.exec("DELETE FROM taken_keyed WHERE minute < ?", minute);
  }

  /**
   * End of the newest minute of which ids are remembered, keyed ones aside, in ms since the epoch;
   * 0: none are. @param untilMs later minutes do not count.
   */
  newestMs(untilMs: number): number {
    const { slot } = this.#sql
      .exec<{ slot: number | null }>(
        "SELECT max(slot) AS slot FROM taken WHERE slot < ?",
        (minuteOf(untilMs) + 1) * PARTS,
      )
      .one();
    return slot === null ? 0 : (Math.floor(slot / PARTS) + 1) * 60_000;
  }

  /** Ids of this minute and later ones, keyed ones aside. Their times are those of the minutes. */
  *since(fromMs: number): Generator<TakenId> {
    const rows = this.#sql.exec<{ slot: number; ids: ArrayBuffer }>(
      "SELECT slot, ids FROM taken WHERE slot >= ? ORDER BY slot",
      minuteOf(fromMs) * PARTS,
    );
    for (const { slot, ids } of rows) {
      const takenInMs = Math.floor(slot / PARTS) * 60_000;
      for (let at = 0; at < ids.byteLength; at += 16)
        yield { id: toHex(new Uint8Array(ids, at, 16)), takenInMs, keyed: false };
    }
  }

  /** The minute of an id that has a row of its own; null: it has none. */
  #ownMinute(id: string): number | null {
    const rows = this.#sql.exec<{ minute: number }>("SELECT minute FROM taken_keyed WHERE id = ?", bytes(id));
    return rows.toArray()[0]?.minute ?? null;
  }

  #setOwn({ id, takenInMs }: TakenId): void {
    this.#sql.exec("INSERT OR REPLACE INTO taken_keyed (id, minute) VALUES (?, ?)", bytes(id), minuteOf(takenInMs));
  }

  #rows(minute: number): { slot: number; ids: ArrayBuffer }[] {
    return this.#sql
      .exec<{ slot: number; ids: ArrayBuffer }>(
        "SELECT slot, ids FROM taken WHERE slot >= ? AND slot < ? ORDER BY slot",
        minute * PARTS,
        (minute + 1) * PARTS,
      )
      .toArray();
  }
}

function bytes(id: string): ArrayBuffer {
  return fromHex(id).buffer;
}

function groupByMinute(ids: readonly TakenId[]): Map<number, TakenId[]> {
  return Map.groupBy(ids, (id) => minuteOf(rememberedMs(id)));
}
