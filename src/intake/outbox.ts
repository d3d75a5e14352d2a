import { DurableObject } from "cloudflare:workers";
import { accountLedger } from "../account/ledger.ts";
import { backoffMs } from "../backoff.ts";
import { errorText, log } from "../log.ts";
import { Patience, platform, TimeoutError } from "../platform.ts";
import { blobStore } from "../queue/blob-store.ts";
import { blobKey } from "../queue/message.ts";
import { type Migration, migrate } from "../storage/migrate.ts";
import type { PackedMessage } from "./packing.ts";
import { reasonOf, SendError, sendMessages } from "./send.ts";

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

/** How long one alarm goes on, in ms: the platform ends it after fifteen minutes, and an alarm that it has to end six times is forgotten. */
const ALARM_MS = 300_000;

/** How long the ledger may take for one call, in ms. A note that comes late is no harm: what is counted by then is not noted. */
const LEDGER_MS = 5_000;

/** For one message, the blob store included, in ms. One that was taken without an answer is sent again with its id: the logs take it once. */
const SEND_MS = 10_000;

/** An alarm that should have fired so long ago, in ms, did not. */
const ALARM_LOST_AFTER_MS = 60_000;

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
  /** In this instance. */
  #sending = false;

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

  /** Sends what waits, as far as it is taken. It must not throw: such an alarm is forgotten after six tries. */
  override async alarm(): Promise<void> {
    // Whoever sends sets the alarm when it is done.
    if (this.#sending) return;
    this.#sending = true;
    const patience = new Patience(ALARM_MS);
    try {
      const failed = await this.#sendAll(patience);
      this.#sql.exec("UPDATE state SET failures = iif(?, failures + 1, 0)", failed ? 1 : 0);
    } catch (error) {
      log.error("the outbox failed", { durable_object: "Outbox", error: errorText(error) });
    } finally {
      patience.end();
      this.#sending = false;
    }
    if (this.status().messages > 0) await this.ctx.storage.setAlarm(platform.now() + this.#delayMs());
  }

  /** For a second, independent clock: does what the alarm is for, if something waits and the alarm is not set, or should have fired long ago. */
  async drive(): Promise<void> {
    if (this.#sending || this.status().messages === 0) return;
    const alarmMs = await this.ctx.storage.getAlarm();
    if (alarmMs === null || alarmMs < platform.now() - ALARM_LOST_AFTER_MS) await this.alarm();
  }

  /**
   * Those that the queue can carry first, then those that need the blob store: what is wrong with that is nothing to the others. Each kind oldest first.
   * @returns whether anything was not taken.
   */
  async #sendAll(patience: Patience): Promise<boolean> {
    let failed = false;
    let tried = 0;
    // Shards of the blob store that hang: each is waited for once. Messages for them are left out, and not tried.
    const silent = new Set<string>();
    for (const kind of ["blob IS NULL", "blob IS NOT NULL"]) {
      let last = 0;
      for (; tried < MESSAGES_PER_ALARM && !patience.isOver; tried++) {
        // One at a time: they are few, and what was sent is gone from here before the next.
        const row = this.#sql
          .exec<MessageRow>(
            `SELECT * FROM message WHERE number > ? AND ${kind} AND instr(?, substr(id, 1, 1)) = 0 ORDER BY number LIMIT 1`,
            last,
            // What lies behind them is to be reached, however many they are.
            [...silent].join(""),
          )
          .toArray()[0];
        if (row === undefined) break;
        last = row.number;
        const sent = await this.#send(row, silent, patience);
        if (sent === "sent") this.#sql.exec("DELETE FROM message WHERE number = ?", row.number);
        else failed = true;
        if (sent === "none can be") return failed;
      }
    }
    return failed;
  }

  /** @returns whether it was sent; or that no other can be either: it is the queue, or the ledger, that does not take it. Never throws. */
  async #send(row: MessageRow, silent: Set<string>, patience: Patience): Promise<"sent" | "not sent" | "none can be"> {
    const { id, taken_in_ms: takenInMs, records } = row;
    const body = new Uint8Array(row.body);
    const blob = row.blob === null ? null : { key: blobKey(body), body: new Uint8Array(row.blob) };
    const message: PackedMessage = { id, takenInMs, records, body, blob };
    try {
      // Its time of intake is long past: until it is counted, nothing may be claimed complete beyond it.
      const noted = { id, takenInMs, keyed: false };
      await patience.answer("the ledger", LEDGER_MS, () => accountLedger(this.env.ACCOUNT).expectAgain([noted]));
    } catch (error) {
      log.error("what was kept cannot be sent yet", { durable_object: "Outbox", error: errorText(error) });
      return "none can be";
    }
    const sending = { queue: this.env.EVENTS, blobs: blobStore(this.env.BLOBS), platform };
    try {
      await sendMessages([message], sending, SEND_MS);
      return "sent";
    } catch (error) {
      log.error("what was kept is not taken yet", { durable_object: "Outbox", error: errorText(reasonOf(error)) });
      if (blob === null) return "none can be";
      if (error instanceof SendError && error.cause instanceof TimeoutError) silent.add(shardOf(id));
      return "not sent";
    }
  }

  #delayMs(): number {
    const { failures } = this.#sql.exec<{ failures: number }>("SELECT failures FROM state").one();
    return backoffMs(RETRY_MS, failures + 1);
  }
}

/** The blob store is sixteen durable objects, told apart by the first digit of the key; and a key begins with the id of its message. */
function shardOf(id: string): string {
  return id.charAt(0);
}

/** The one outbox of the account. */
export function outbox(namespace: DurableObjectNamespace<Outbox>): DurableObjectStub<Outbox> {
  return namespace.getByName("outbox");
}
