import { DurableObject } from "cloudflare:workers";
import { accountLedger } from "../account/ledger.ts";
import { backoffMs } from "../backoff.ts";
import { errorText, log } from "../log.ts";
import { Patience, platform, TimeoutError } from "../platform.ts";
import { blobStore, shardOf } from "../queue/blob-store.ts";
import { blobKey } from "../queue/message.ts";
import { LOST_AFTER_MS } from "../storage/alarm.ts";
import { type Migration, migrate } from "../storage/migrate.ts";
import type { PackedMessage } from "./packing.ts";
import { reasonOf, SendError, sendMessages } from "./send.ts";

export const OUTBOX_STEPS = [
  {
    id: 1,
    why: "what the queue refuses from tail(), which is not repeated, is stored and sent later",
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

/** Delays before the queue is tried again, in ms: doubling from the first to the last. */
const RETRY_MS = { first: 15_000, last: 300_000 };

/**
 * Messages that one alarm tries. Each takes two or three calls (ledger, blob store, queue); an
 * invocation may make 1,000.
 */
const MESSAGES_PER_ALARM = 250;

/**
 * How long one alarm runs, in ms. The platform ends it after fifteen minutes, and drops an alarm
 * that it ended six times.
 */
const ALARM_MS = 300_000;

/**
 * Deadline of a call to the ledger, in ms. A late note is harmless: the ledger does not note a
 * counted message.
 */
const LEDGER_MS = 5_000;

/**
 * Deadline of sending one message, the blob store included, in ms. If it was sent after all, the
 * logs take the repeat once.
 */
const SEND_MS = 10_000;

export interface OutboxStatus {
  messages: number;
  events: number;
  /** Time of intake of the oldest, in ms; null: it is empty. */
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
 * Stores messages that the queue did not take until it does. They keep their ids, so one that was
 * sent after all is taken once.
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
          // A caller that lost the answer repeats the call.
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

  /** Sends what it can. It must not throw: the platform drops an alarm after six failed tries. */
  override async alarm(): Promise<void> {
    // The run under way sets the alarm at its end.
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

  /**
   * For a second, independent clock: does the alarm's work if something waits and the alarm is not
   * set, or lost.
   */
  async drive(): Promise<void> {
    if (this.#sending || this.status().messages === 0) return;
    const alarmMs = await this.ctx.storage.getAlarm();
    if (alarmMs === null || alarmMs < platform.now() - LOST_AFTER_MS) await this.alarm();
  }

  /**
   * First those that the queue can carry, then those that need the blob store, so that its failure
   * does not hold up the others. Each kind oldest first.
   * @returns whether any was not taken.
   */
  async #sendAll(patience: Patience): Promise<boolean> {
    let failed = false;
    let tried = 0;
    // Shards of the blob store that timed out. Their messages are skipped from then on.
    const silent = new Set<string>();
    for (const kind of ["blob IS NULL", "blob IS NOT NULL"]) {
      let last = 0;
      for (; tried < MESSAGES_PER_ALARM && !patience.isOver; tried++) {
        // One at a time: each is deleted before the next is sent.
        const row = this.#sql
          .exec<MessageRow>(
            `SELECT * FROM message WHERE number > ? AND ${kind} AND instr(?, substr(id, 1, 1)) = 0 ORDER BY number LIMIT 1`,
            last,
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

  /**
   * @returns `none can be`: the queue or the ledger fails, so the rest would fail, too. Never
   *   throws.
   */
  async #send(row: MessageRow, silent: Set<string>, patience: Patience): Promise<"sent" | "not sent" | "none can be"> {
    const { id, taken_in_ms: takenInMs, records } = row;
    const body = new Uint8Array(row.body);
    const blob = row.blob === null ? null : { key: blobKey(body), body: new Uint8Array(row.blob) };
    const message: PackedMessage = { id, takenInMs, records, body, blob };
    try {
      // It is late: until it is counted, nothing may be claimed complete beyond its time of intake.
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

/** The one outbox of the account. */
export function outbox(namespace: DurableObjectNamespace<Outbox>): DurableObjectStub<Outbox> {
  return namespace.getByName("outbox");
}
