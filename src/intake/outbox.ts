import { DurableObject } from "cloudflare:workers";
import { accountLedger } from "../control/ledger.ts";
import { platform } from "../platform.ts";
import { type Migration, migrate } from "../storage/migrate.ts";
import { blobStore } from "./blob-store.ts";
import { blobKey } from "./message.ts";
import type { PackedMessage } from "./packing.ts";
import { reasonOf, sendMessages } from "./send.ts";

export const OUTBOX_STEPS = [
  {
    id: 1,
    why: "what the queue would not take from tail(), which nobody repeats, is kept and sent later",
    sql: `
      CREATE TABLE message (
        number      INTEGER PRIMARY KEY,
        id          TEXT NOT NULL UNIQUE,
        taken_in_ms INTEGER NOT NULL,
        records     INTEGER NOT NULL,
        body        BLOB NOT NULL,
        blob        BLOB             -- for the blob store
      ) STRICT;
      CREATE TABLE state (
        id       INTEGER PRIMARY KEY CHECK (id = 1),
        failures INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      INSERT INTO state (id) VALUES (1);`,
  },
] as const satisfies readonly Migration[];

/** Waits before the queue is tried again, in ms: doubling from the first to the last. */
const RETRY_MS = { first: 15_000, last: 300_000 };

/** Messages that one alarm tries. Each is a call of the queue, one of the ledger, and one of the blob store where it needs that; an invocation may make 1,000. */
const MESSAGES_PER_ALARM = 250;

export interface OutboxStatus {
  messages: number;
  events: number;
  /** Time of intake of the oldest, in ms; null: nothing waits. */
  oldestTakenMs: number | null;
}

interface MessageRow {
  [column: string]: SqlStorageValue;
  number: number;
  id: string;
  taken_in_ms: number;
  records: number;
  body: ArrayBuffer;
  blob: ArrayBuffer | null;
}

/**
 * Messages that the queue did not take, kept until it does. They keep their ids: one that got through after all, its answer lost, is taken once.
 */
export class Outbox extends DurableObject<Env> {
  readonly #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    migrate(ctx.storage, OUTBOX_STEPS);
  }

  async keep(messages: readonly PackedMessage[]): Promise<void> {
    const armed = (await this.ctx.storage.getAlarm()) !== null;
    this.ctx.storage.transactionSync(() => {
      for (const { id, takenInMs, records, body, blob } of messages) {
        this.#sql.exec(
          // Whoever lost the answer hands them over again.
          "INSERT OR IGNORE INTO message (id, taken_in_ms, records, body, blob) VALUES (?, ?, ?, ?, ?)",
          id,
          takenInMs,
          records,
          body.slice().buffer,
          blob === null ? null : blob.body.slice().buffer,
        );
      }
      if (!armed) this.ctx.storage.setAlarm(platform.now() + this.#delayMs());
    });
  }

  status(): OutboxStatus {
    const row = this.#sql
      .exec<{ messages: number; events: number; oldest: number | null }>(
        "SELECT count(*) AS messages, coalesce(sum(records), 0) AS events, min(taken_in_ms) AS oldest FROM message",
      )
      .one();
    return { messages: row.messages, events: row.events, oldestTakenMs: row.oldest };
  }

  /** Sends what waits, oldest first, as far as it is taken. It must not throw: such an alarm is forgotten after six tries. */
  override async alarm(): Promise<void> {
    try {
      const failed = await this.#sendAll();
      this.#sql.exec("UPDATE state SET failures = iif(?, failures + 1, 0)", failed ? 1 : 0);
    } catch (error) {
      console.error({ message: "the outbox failed", error: String(error) });
    }
    if (this.status().messages > 0) await this.ctx.storage.setAlarm(platform.now() + this.#delayMs());
  }

  /** @returns whether anything was not taken. */
  async #sendAll(): Promise<boolean> {
    let failed = false;
    let last = 0;
    for (let tried = 0; tried < MESSAGES_PER_ALARM; tried++) {
      // One at a time: they are few, and what was sent is gone from here before the next.
      const row = this.#sql
        .exec<MessageRow>("SELECT * FROM message WHERE number > ? ORDER BY number LIMIT 1", last)
        .toArray()[0];
      if (row === undefined) return failed;
      last = row.number;
      try {
        await this.#send(row);
        this.#sql.exec("DELETE FROM message WHERE number = ?", row.number);
      } catch (error) {
        console.error({ message: "what was kept is not taken yet", error: reasonOf(error) });
        failed = true;
        // Without anything to put into the blob store it was the queue, which takes the others no better.
        if (row.blob === null) return failed;
      }
    }
    return failed;
  }

  async #send({ id, taken_in_ms: takenInMs, records, body, blob }: MessageRow): Promise<void> {
    // Its time of intake is long past: until it is counted, nothing may be claimed complete beyond it.
    await accountLedger(this.env.ACCOUNT).expectAgain([{ id, takenInMs, keyed: false }]);
    const message: PackedMessage = {
      id,
      takenInMs,
      records,
      body: new Uint8Array(body),
      blob: blob === null ? null : { key: blobKey(new Uint8Array(body)), body: new Uint8Array(blob) },
    };
    await sendMessages([message], { queue: this.env.EVENTS, blobs: blobStore(this.env.BLOBS), platform });
  }

  #delayMs(): number {
    const { failures } = this.#sql.exec<{ failures: number }>("SELECT failures FROM state").one();
    return Math.min(RETRY_MS.first * 2 ** Math.min(failures, 10), RETRY_MS.last);
  }
}

/** The one outbox of the account. */
export function outbox(namespace: DurableObjectNamespace<Outbox>): DurableObjectStub<Outbox> {
  return namespace.getByName("outbox");
}
