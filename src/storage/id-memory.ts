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

/** Whether the memory of an id may outlive that of its minute: it has a row of its own. */
export function hasOwnRow(taken: TakenId): boolean {
  return taken.keyed || isLate(taken);
}

/** What is in memory of a minute of intake. */
interface Minute {
  /** Of its last row, and what is in there. */
  slot: number;
  tail: Uint8Array;
  /** Part of each id in all of its rows; null: too many. */
  prints: Set<number> | null;
}

/**
 * Remembers which messages were taken, in the tables of {@link ID_MEMORY_SQL}. A row holds ids of
 * one minute of intake: a row per id would cost more than all other writes. A redelivered message
 * names the same minute, and a repeat that of its first copy. Keyed ids have no fixed minute and
 * get a row each, and so does a late repeat, beside its place in that minute.
 *
 * What is new is found to be new without reading rows again. The table decides: memory is compared
 * with its last row before each use, so that a transaction that failed leaves no trace.
 */
export class IdMemory {
  readonly #sql: SqlStorage;
  /** The one that was used last is last. */
  readonly #minutes = new Map<number, Minute>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The remembered ids among these. A late repeat is remembered anew, for as long as it comes. */
  known(ids: readonly TakenId[]): Set<string> {
    const known = new Set<string>();
    for (const [minute, group] of groupByMinute(ids.filter(({ keyed }) => !keyed))) {
      const { prints } = this.#minute(minute);
      const likely = prints === null ? group : group.filter(({ id }) => prints.has(printOf(fromHex(id), 0)));
      if (likely.length === 0) continue;
      const rows = this.#rows(minute).map(({ ids: taken }) => new Uint8Array(taken));
      for (const { id } of likely) if (rows.some((row) => includesAligned(row, fromHex(id)))) known.add(id);
    }
    for (const taken of ids) {
      if (!hasOwnRow(taken)) continue;
      const minute = this.#ownMinute(taken.id);
      if (minute !== null) known.add(taken.id);
      if (isLate(taken) && known.has(taken.id) && (minute ?? 0) < minuteOf(taken.takenInMs)) this.#setOwn(taken);
    }
    return known;
  }

  /** Adds ids that are not known yet. Call it in the transaction that stores their messages. */
  remember(ids: readonly TakenId[]): void {
    for (const [minute, group] of groupByMinute(ids.filter(({ keyed }) => !keyed))) {
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
      this.#sql.exec("INSERT OR REPLACE INTO taken (slot, ids) VALUES (?, ?)", held.slot, held.tail.buffer);
    }
    for (const taken of ids) if (hasOwnRow(taken)) this.#setOwn(taken);
  }

  /** Deletes ids older than {@link ID_MEMORY_MS}. */
  sweep(nowMs: number): void {
    const minute = minuteOf(nowMs - ID_MEMORY_MS);
    this.#sql.exec("DELETE FROM taken WHERE slot < ?", minute * PARTS);
    this.#sql.exec("DELETE FROM taken_keyed WHERE minute < ?", minute);
  }

  /** A minute as its rows are. */
  #minute(minute: number): Minute {
    const last = this.#sql
      .exec<{ slot: number; bytes: number }>(
        "SELECT slot, length(ids) AS bytes FROM taken WHERE slot >= ? AND slot < ? ORDER BY slot DESC LIMIT 1",
        minute * PARTS,
        (minute + 1) * PARTS,
      )
      .toArray()[0];
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

  /**
   * End of the newest minute of which ids are remembered, keyed ones aside, in ms since the epoch;
   * 0: none are. @param untilMs later minutes do not count.
   */
  newestMs(untilMs = Number.MAX_SAFE_INTEGER): number {
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

/** The last six bytes of an id, which are random, as a number. @param at where it begins. */
function printOf(ids: Uint8Array, at: number): number {
  const view = new DataView(ids.buffer, ids.byteOffset + at + ID_BYTES - 6, 6);
  return view.getUint16(0) * 2 ** 32 + view.getUint32(2);
}

function bytes(id: string): ArrayBuffer {
  return fromHex(id).buffer;
}

function groupByMinute(ids: readonly TakenId[]): Map<number, TakenId[]> {
  return Map.groupBy(ids, (id) => minuteOf(rememberedMs(id)));
}
