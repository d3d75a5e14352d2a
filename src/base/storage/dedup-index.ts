import { concat, fromHex, includesAligned } from "../bytes.ts";
import { DEDUP_KEYED_MS, DEDUP_MS, ROW_MAX_BYTES } from "../limits.ts";
import type { DedupId } from "./dedup-id.ts";
import { Tables } from "./sql.ts";

export type { DedupId } from "./dedup-id.ts";

export const DEDUP_INDEX_SQL = `
  CREATE TABLE taken (
    slot INTEGER PRIMARY KEY, -- minute of intake * 64 + part
    ids  BLOB NOT NULL        -- 16 bytes each
  ) STRICT;
  CREATE TABLE taken_keyed (  -- ids that have no minute: copies come at any time
    id       BLOB PRIMARY KEY,
    taken_ms INTEGER NOT NULL, -- time of intake of the copy that is in a block
    jobs     TEXT NOT NULL     -- JSON: ids of jobs that were offered any copy
  ) STRICT, WITHOUT ROWID;`;

const ID_BYTES = 16;

const PARTS = 64;

/**
 * Size at which a minute goes on in its next row, in bytes, up to that part. Each append writes the
 * last row again, so the first ones are small; the last ones are as large as a row may be, so that
 * any minute fits: a million ids, more messages than a queue carries.
 */
const ROWS = [
  { below: 32, bytes: 16_384 },
  { below: 56, bytes: 131_072 },
] as const;

/** Minutes whose ids are in memory… */
const MINUTES_HELD = 16;
/** …and ids, some 40 bytes each: far more than come to one shard. */
const IDS_HELD = 200_000;

const minuteOf = (timeMs: number): number => Math.floor(timeMs / 60_000);

/** What is in memory of a minute of intake. */
interface Minute {
  /** Of its last row, and what is in there. */
  slot: number;
  tail: Uint8Array<ArrayBuffer>;
  /** Part of each id in all of its rows; null: too many. */
  prints: Set<number> | null;
}

/** What is known of an id that is remembered by itself. */
export interface KeyedId {
  takenMs: number;
  /** Jobs that were offered any copy. */
  jobs: number[];
}

/**
 * Remembers which parts were taken, in the tables of {@link DEDUP_INDEX_SQL}. A row holds ids of
 * one minute of intake: a row per id would cost more than all other writes. A redelivered message
 * names the same minute. Keyed ids have no fixed minute and get a row each.
 *
 * What is new is found to be new without reading rows again. The table decides: memory is compared
 * with its last row before each use, so that a transaction that failed leaves no trace.
 */
export class DedupIndex extends Tables {
  /** The one that was used last is last. */
  readonly #minutes = new Map<number, Minute>();

  /** The remembered ids among these. */
  known(ids: readonly DedupId[]): Set<string> {
    const known = new Set<string>();
    for (const [minute, group] of groupByMinute(ids.filter(({ keyed }) => !keyed))) {
      const { prints } = this.#minute(minute);
      const likely = prints === null ? group : group.filter(({ id }) => prints.has(printOf(fromHex(id), 0)));
      if (likely.length === 0) continue;
      const rows = this.#rows(minute).map(({ ids: taken }) => new Uint8Array(taken));
      for (const { id } of likely) if (rows.some((row) => includesAligned(row, fromHex(id)))) known.add(id);
    }
    // Any id may be remembered by itself.
    for (const { id } of ids) if (!known.has(id) && this.keyedOf(id) !== null) known.add(id);
    return known;
  }

  /**
   * Adds ids without a key that are not known yet. Call it in the transaction that stores their
   * parts.
   */
  remember(ids: readonly DedupId[]): void {
    for (const [minute, group] of groupByMinute(ids)) {
      const held = this.#minute(minute);
      const added = group.map(({ id }) => fromHex(id));
      const most = ROWS.find(({ below }) => held.slot % PARTS < below)?.bytes ?? ROW_MAX_BYTES;
      if (held.tail.length > 0 && held.tail.length + added.length * ID_BYTES > most) {
        held.slot += 1;
        held.tail = new Uint8Array();
        if (held.slot >= (minute + 1) * PARTS) throw new Error(`too many messages in minute ${minute}`);
      }
      held.tail = concat([held.tail, ...added]);
      for (const id of added) held.prints?.add(printOf(id, 0));
      if (held.prints !== null && held.prints.size > IDS_HELD) held.prints = null;
      this.sql.run`INSERT OR REPLACE INTO taken (slot, ids) VALUES (${held.slot}, ${held.tail.buffer})`;
    }
  }

  /** What is known of an id that is remembered by itself; null: nothing. */
  keyedOf(id: string): KeyedId | null {
    const [row] = this.sql.all<{ taken_ms: number; jobs: string }>`
      SELECT taken_ms, jobs FROM taken_keyed WHERE id = ${bytes(id)}`;
    return row === undefined ? null : { takenMs: row.taken_ms, jobs: JSON.parse(row.jobs) as number[] };
  }

  /**
   * Remembers an id by itself, with a key or without. Call it in the transaction that stores its
   * part.
   */
  rememberKeyed(id: string, { takenMs, jobs }: KeyedId): void {
    const row = { id: bytes(id), taken_ms: takenMs, jobs: JSON.stringify(jobs) };
    this.sql.replace("taken_keyed", row);
  }

  /**
   * Deletes ids that no queue delivers any more: of parts that were taken in {@link DEDUP_MS}
   * before, and keyed ones {@link DEDUP_KEYED_MS} before.
   * @returns the time from which on all are remembered, in ms since the epoch.
   */
  sweep(nowMs: number): number {
    const minute = minuteOf(nowMs - DEDUP_MS);
    this.sql.run`DELETE FROM taken WHERE slot < ${minute * PARTS}`;
    this.sql.run`DELETE FROM taken_keyed WHERE taken_ms < ${nowMs - DEDUP_KEYED_MS}`;
    return minute * 60_000;
  }

  /** A minute as its rows are. */
  #minute(minute: number): Minute {
    const last = this.sql.first<{ slot: number; bytes: number }>`
      SELECT slot, length(ids) AS bytes FROM taken
      WHERE slot >= ${minute * PARTS} AND slot < ${(minute + 1) * PARTS} ORDER BY slot DESC LIMIT 1`;
    const { slot, bytes: length } = last ?? { slot: minute * PARTS, bytes: 0 };
    const held = this.#minutes.get(minute);
    const isAsStored = held !== undefined && held.slot === slot && held.tail.length === length;
    const current = isAsStored ? held : this.#read(minute);
    this.#minutes.delete(minute);
    this.#minutes.set(minute, current);
    this.#dropMore();
    return current;
  }

  #read(minute: number): Minute {
    const rows = this.#rows(minute).map(({ slot, ids }) => ({ slot, ids: new Uint8Array(ids) }));
    const last = rows.at(-1) ?? { slot: minute * PARTS, ids: new Uint8Array() };
    const count = rows.reduce((sum, { ids }) => sum + ids.length, 0) / ID_BYTES;
    const prints = count > IDS_HELD ? null : new Set<number>();
    for (const { ids } of rows) for (let at = 0; at < ids.length; at += ID_BYTES) prints?.add(printOf(ids, at));
    return { slot: last.slot, tail: last.ids, prints };
  }

  /** Drops what was not used lately from memory. */
  #dropMore(): void {
    const heldIds = (): number => [...this.#minutes.values()].reduce((sum, { prints }) => sum + (prints?.size ?? 0), 0);
    for (const oldest of this.#minutes.keys()) {
      if (this.#minutes.size === 1 || (this.#minutes.size <= MINUTES_HELD && heldIds() <= IDS_HELD)) return;
      this.#minutes.delete(oldest);
    }
  }

  #rows(minute: number): { slot: number; ids: ArrayBuffer }[] {
    return this.sql.all<{ slot: number; ids: ArrayBuffer }>`
      SELECT slot, ids FROM taken WHERE slot >= ${minute * PARTS} AND slot < ${(minute + 1) * PARTS}
      ORDER BY slot`;
  }
}

/** The last six bytes of an id, which are random, as a number. @param at where it begins. */
function printOf(ids: Uint8Array, at: number): number {
  const view = new DataView(ids.buffer, ids.byteOffset + at + ID_BYTES - 6, 6);
  return view.getUint16(0) * 2 ** 32 + view.getUint32(2);
}

function bytes(id: string): ArrayBuffer {
  return fromHex(id).buffer;
}

function groupByMinute(ids: readonly DedupId[]): Map<number, DedupId[]> {
  return Map.groupBy(ids, ({ takenInMs }) => minuteOf(takenInMs));
}
