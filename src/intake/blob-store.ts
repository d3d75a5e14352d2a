import { DurableObject } from "cloudflare:workers";
import { fromHex } from "../bytes.ts";
import { ID_MEMORY_MS } from "../limits.ts";
import { platform } from "../platform.ts";
import { type Migration, migrate } from "../storage/migrate.ts";

export const BLOB_STEPS = [
  {
    id: 1,
    why: "what is too large for a queue message waits here, and its message carries a reference",
    sql: `
      CREATE TABLE blob (
        id     BLOB PRIMARY KEY,  -- of the message
        put_ms INTEGER NOT NULL,
        body   BLOB NOT NULL      -- the message without its header
      ) STRICT, WITHOUT ROWID;`,
  },
] as const satisfies readonly Migration[];

const SWEEP_EVERY_MS = 86_400_000;

/** What intake and consumer need of the store. */
export interface Blobs {
  /** Keeps a body under its message's id; the same again changes nothing. @param body at most {@link ROW_MAX_BYTES}. */
  put(id: string, body: Uint8Array<ArrayBuffer>): Promise<void>;
  /** null: it is not there (any more). */
  get(id: string): Promise<Uint8Array | null>;
  drop(id: string): Promise<void>;
}

/**
 * Keeps the records of messages that the queue cannot carry, from before their message is sent until all jobs have them. What nobody drops is
 * swept when no queue can hold its message any more.
 */
export class BlobStore extends DurableObject<Env> {
  readonly #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    migrate(ctx.storage, BLOB_STEPS);
  }

  async put(id: string, body: ArrayBuffer): Promise<void> {
    const now = platform.now();
    const sweeping = (await this.ctx.storage.getAlarm()) !== null;
    this.ctx.storage.transactionSync(() => {
      this.#sql.exec("INSERT OR REPLACE INTO blob (id, put_ms, body) VALUES (?, ?, ?)", fromHex(id).buffer, now, body);
      if (!sweeping) this.ctx.storage.setAlarm(now + SWEEP_EVERY_MS);
    });
  }

  get(id: string): ArrayBuffer | null {
    const rows = this.#sql.exec<{ body: ArrayBuffer }>("SELECT body FROM blob WHERE id = ?", fromHex(id).buffer);
    return rows.toArray()[0]?.body ?? null;
  }

  drop(id: string): void {
    this.#sql.exec("DELETE FROM blob WHERE id = ?", fromHex(id).buffer);
  }

  /** Sweeps once a day, as long as there is anything. It must not throw: such an alarm is forgotten after six tries. */
  override async alarm(): Promise<void> {
    const now = platform.now();
    try {
      this.#sql.exec("DELETE FROM blob WHERE put_ms < ?", now - ID_MEMORY_MS);
      if (Number(this.#sql.exec("SELECT count(*) AS n FROM blob").one().n) === 0) return;
    } catch (error) {
      console.error({ message: "sweeping blobs failed", error: String(error) });
    }
    await this.ctx.storage.setAlarm(now + SWEEP_EVERY_MS);
  }
}

/**
 * The store as its users see it: sixteen durable objects, told apart by the first digit of the id, so that a flood of large events waits for none of
 * them alone.
 */
export function blobStore(namespace: DurableObjectNamespace<BlobStore>): Blobs {
  const shard = (id: string): DurableObjectStub<BlobStore> => namespace.getByName(`blobs ${id.charAt(0)}`);
  return {
    put: (id, body) =>
      shard(id).put(id, body.byteLength === body.buffer.byteLength ? body.buffer : body.slice().buffer),
    async get(id) {
      const body = await shard(id).get(id);
      return body === null ? null : new Uint8Array(body);
    },
    drop: (id) => shard(id).drop(id),
  };
}
