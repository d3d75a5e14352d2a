import { DurableObject } from "cloudflare:workers";
import { fromHex } from "../bytes.ts";
import { BLOBS_SHARD_MAX_BYTES, ID_MEMORY_MS } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { platform } from "../platform.ts";
import { type Migration, migrate } from "../storage/migrate.ts";

export const BLOB_STEPS = [
  {
    id: 1,
    why: "what is too large for a queue message waits here, and its message carries a reference",
    sql: `
      CREATE TABLE blob (
        key    BLOB PRIMARY KEY,  -- id and checksum of the message
        put_ms INTEGER NOT NULL,
        body   BLOB NOT NULL      -- the message without its header
      ) STRICT, WITHOUT ROWID;`,
  },
] as const satisfies readonly Migration[];

const SWEEP_EVERY_MS = 86_400_000;

/** The store, as intake and consumer use it. */
export interface Blobs {
  /**
   * Stores a body under its message's key. Idempotent: the same key is the same body.
   * @param body at most {@link ROW_MAX_BYTES}.
   */
  put(key: string, body: Uint8Array<ArrayBuffer>): Promise<void>;
  /** null: not there, or not any more. */
  get(key: string): Promise<Uint8Array | null>;
  drop(key: string): Promise<void>;
}

/**
 * Stores the records of messages that the queue cannot carry, from before their message is sent
 * until all jobs have them. Leftovers are swept when no queue can hold their message any more.
 */
export class BlobStore extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  /** Overridden by tests, which cannot fill an object. */
  maxBytes = BLOBS_SHARD_MAX_BYTES;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    migrate(ctx.storage, BLOB_STEPS);
  }

  /** @throws Error once it holds {@link BLOBS_SHARD_MAX_BYTES}; then nothing was stored. */
  async put(key: string, body: ArrayBuffer): Promise<void> {
    if (this.#sql.databaseSize >= this.maxBytes) throw new Error("the blob store is full");
    const now = platform.now();
    const sweeping = (await this.ctx.storage.getAlarm()) !== null;
    this.ctx.storage.transactionSync(() => {
      this.#sql.exec(
        "INSERT OR REPLACE INTO blob (key, put_ms, body) VALUES (?, ?, ?)",
        fromHex(key).buffer,
        now,
        body,
      );
      if (!sweeping) this.ctx.storage.setAlarm(now + SWEEP_EVERY_MS);
    });
  }

  get(key: string): ArrayBuffer | null {
    const rows = this.#sql.exec<{ body: ArrayBuffer }>("SELECT body FROM blob WHERE key = ?", fromHex(key).buffer);
    return rows.toArray()[0]?.body ?? null;
  }

  /** Its size in bytes. */
  storedBytes(): number {
    return this.#sql.databaseSize;
  }

  drop(key: string): void {
    this.#sql.exec("DELETE FROM blob WHERE key = ?", fromHex(key).buffer);
  }

  /**
   * Sweeps once a day while there is anything. It must not throw: the platform drops an alarm after
   * six failed tries.
   */
  override async alarm(): Promise<void> {
    const now = platform.now();
    try {
      this.#sql.exec("DELETE FROM blob WHERE put_ms < ?", now - ID_MEMORY_MS);
      if (Number(this.#sql.exec("SELECT count(*) AS n FROM blob").one().n) === 0) return;
    } catch (error) {
      log.error("sweeping blobs failed", {
        durable_object: "BlobStore",
        shard: this.ctx.id.name,
        error: errorText(error),
      });
    }
    await this.ctx.storage.setAlarm(now + SWEEP_EVERY_MS);
  }
}

/**
 * The store is sixteen durable objects, one for each first digit of a key. A key begins with its
 * message's id.
 */
export function shardOf(keyOrId: string): string {
  return keyOrId.charAt(0);
}

/** How much one of its shards holds, in bytes. Keys are random, so it stands for all. */
export async function blobBytes(namespace: DurableObjectNamespace<BlobStore>): Promise<number> {
  return namespace.getByName(`blobs ${shardOf("0")}`).storedBytes();
}

export function blobStore(namespace: DurableObjectNamespace<BlobStore>): Blobs {
  const shard = (key: string): DurableObjectStub<BlobStore> => namespace.getByName(`blobs ${shardOf(key)}`);
  return {
    put: (key, body) =>
      shard(key).put(key, body.byteLength === body.buffer.byteLength ? body.buffer : body.slice().buffer),
    async get(key) {
      const body = await shard(key).get(key);
      return body === null ? null : new Uint8Array(body);
    },
    drop: (key) => shard(key).drop(key),
  };
}
