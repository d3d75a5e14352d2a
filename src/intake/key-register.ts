import { DurableObject } from "cloudflare:workers";
import { fromHex } from "../bytes.ts";
import { ID_MEMORY_MS, KEYS_SHARD_MAX_BYTES, KEYS_SHARDS } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { platform } from "../platform.ts";
import { Alarm } from "../storage/alarm.ts";
import { type Migration, migrate } from "../storage/migrate.ts";
import type { Copy, FirstCopy, Keys } from "./first-copy.ts";

export const KEY_STEPS = [
  {
    id: 1,
    why: "every copy of a request with a key is packed, and remembered, as its first copy was",
    sql: `
      CREATE TABLE register (
        id       INTEGER PRIMARY KEY CHECK (id = 1),
        since_ms INTEGER NOT NULL       -- its first request
      ) STRICT;
      CREATE TABLE manner (             -- the ways in which requests were packed: few
        id       INTEGER PRIMARY KEY,
        packing  INTEGER NOT NULL,
        settings TEXT NOT NULL,
        keyed    INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE request (
        hash     BLOB PRIMARY KEY,      -- of key and body: 16 bytes
        taken_ms INTEGER NOT NULL,      -- time of intake of the first copy
        last_day INTEGER NOT NULL,      -- of the latest copy: days since the epoch
        manner   INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;`,
  },
] as const satisfies readonly Migration[];

const DAY_MS = 86_400_000;

/**
 * For so long after its first use, in ms, a shard has ids remembered as the release before does, by
 * themselves. That release knows no register: what it took up to then is known, and so is what it
 * is sent again if it comes back. A day more than ids are remembered, for the time that a
 * deployment takes.
 */
export const KEYED_FOR_MS = ID_MEMORY_MS + DAY_MS;

/**
 * What the first copies of requests with an `Idempotency-Key` have fixed, for fifteen days from the
 * latest copy. One of {@link KEYS_SHARDS} shards, by hash of key and body. docs/delivery.md
 */
export class KeyRegister extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #alarm: Alarm;
  /** Overridden by tests. */
  maxBytes = KEYS_SHARD_MAX_BYTES;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#alarm = new Alarm(ctx.storage);
    ctx.blockConcurrencyWhile(async () => {
      migrate(ctx.storage, KEY_STEPS);
      await this.#alarm.load();
    });
  }

  /**
   * What the first copy of a request has fixed; this one, if it is the first. Idempotent.
   * @param hash of key and body.
   * @throws if the shard is full, and has not seen the request.
   */
  first(hash: string, copy: Copy): FirstCopy {
    const now = platform.now();
    return this.#known(hash, now) ?? this.#add(hash, copy, now);
  }

  /** Its size in bytes. */
  storedBytes(): number {
    return this.#sql.databaseSize;
  }

  /**
   * Sweeps once a day while there is anything. It must not throw: the platform drops an alarm after
   * six failed tries.
   */
  override async alarm(): Promise<void> {
    this.#alarm.cleared();
    const now = platform.now();
    try {
      await this.#sweep(now);
      if (this.#sql.exec("SELECT 1 FROM request LIMIT 1").toArray().length === 0) return;
    } catch (error) {
      log.error("sweeping the register of keys failed", {
        durable_object: "KeyRegister",
        shard: this.ctx.id.name,
        error: errorText(error),
      });
    }
    this.#alarm.set(now + DAY_MS, now);
  }

  #known(hash: string, now: number): FirstCopy | null {
    const id = fromHex(hash).buffer;
    const row = this.#sql
      .exec<{ taken_ms: number; last_day: number; packing: number; settings: string; keyed: number }>(
        `SELECT taken_ms, last_day, packing, settings, keyed
           FROM request JOIN manner ON manner.id = request.manner WHERE hash = ?`,
        id,
      )
      .toArray()[0];
    if (row === undefined) return null;
    const today = dayOf(now);
    if (row.last_day < today) this.#sql.exec("UPDATE request SET last_day = ? WHERE hash = ?", today, id);
    const { taken_ms: takenInMs, packing, settings, keyed } = row;
    return { takenInMs, packing, settings, keyed: keyed !== 0 };
  }

  #add(hash: string, { takenInMs, packing, settings }: Copy, now: number): FirstCopy {
    if (this.#sql.databaseSize >= this.maxBytes) throw new Error("the register of keys is full");
    return this.#alarm.transaction(() => {
      this.#sql.exec("INSERT OR IGNORE INTO register (id, since_ms) VALUES (1, ?)", now);
      const { since } = this.#sql.exec<{ since: number }>("SELECT since_ms AS since FROM register").one();
      const keyed = now < since + KEYED_FOR_MS;
      this.#sql.exec(
        "INSERT INTO request (hash, taken_ms, last_day, manner) VALUES (?, ?, ?, ?)",
        fromHex(hash).buffer,
        takenInMs,
        dayOf(now),
        this.#manner(packing, settings, keyed),
      );
      this.#alarm.set(now + DAY_MS, now);
      return { takenInMs, packing, settings, keyed };
    });
  }

  #manner(packing: number, settings: string, keyed: boolean): number {
    const find = (): number | undefined =>
      this.#sql
        .exec<{ id: number }>(
          "SELECT id FROM manner WHERE packing = ? AND settings = ? AND keyed = ?",
          packing,
          settings,
          keyed ? 1 : 0,
        )
        .toArray()[0]?.id;
    const known = find();
    if (known !== undefined) return known;
    const values = [packing, settings, keyed ? 1 : 0];
    const row = this.#sql.exec<{ id: number }>(
      "INSERT INTO manner (packing, settings, keyed) VALUES (?, ?, ?) RETURNING id",
      ...values,
    );
    return row.one().id;
  }

  /** In slices, between which requests have their turn: an index by day would double the writes. */
  async #sweep(now: number): Promise<void> {
    const oldest = dayOf(now - ID_MEMORY_MS);
    for (let slice = 0; slice < 256; slice++) {
      this.#sql.exec(
        "DELETE FROM request WHERE hash >= ? AND hash < ? AND last_day < ?",
        Uint8Array.of(slice).buffer,
        // After every hash.
        slice === 255 ? new Uint8Array(17).fill(255).buffer : Uint8Array.of(slice + 1).buffer,
        oldest,
      );
      await platform.sleep(0);
    }
  }
}

function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS);
}

export function keyRegister(namespace: DurableObjectNamespace<KeyRegister>): Keys {
  return { first: (hash, copy) => shardOf(namespace, hash).first(hash, copy) };
}

function shardOf(namespace: DurableObjectNamespace<KeyRegister>, hash: string): DurableObjectStub<KeyRegister> {
  // The last digits: a shard sweeps by the first.
  return keyShard(namespace, Number.parseInt(hash.slice(-2), 16) % KEYS_SHARDS);
}

export function keyShard(
  namespace: DurableObjectNamespace<KeyRegister>,
  shard: number,
): DurableObjectStub<KeyRegister> {
  return namespace.getByName(`keys ${shard}`);
}
