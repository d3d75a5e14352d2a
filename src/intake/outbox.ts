import { DurableObject } from "cloudflare:workers";
import { backoffMs } from "../backoff.ts";
import { OUTBOX_MAX_BYTES, QUEUE_SEND_BATCH_MAX_BYTES, QUEUE_SEND_BATCH_MAX_MESSAGES, SUBREQUESTS } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { Patience, platform, TimeoutError } from "../platform.ts";
import { blobStore, shardOf } from "../queue/blob-store.ts";
import { blobKey } from "../queue/message.ts";
import { LOST_AFTER_MS } from "../storage/alarm.ts";
import { isBegun, type Migration, migrate } from "../storage/migrate.ts";
import { KnownSplits } from "../trace-log/known-splits.ts";
import { LogShards } from "../trace-log/log-shards.ts";
import { type PackedMessage, sendGroups } from "./packing.ts";
import { reasonOf, sendMessages } from "./send.ts";

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
      INSERT INTO state (id) VALUES (1);
      -- An hour's outage leaves a million messages, which are counted without reading them.
      CREATE INDEX message_by_time ON message (taken_in_ms, records);`,
  },
] as const satisfies readonly Migration[];

/** Delays before the queue is tried again, in ms: doubling from the first to the last. */
const RETRY_MS = { first: 15_000, last: 300_000 };

/**
 * Calls of one alarm to ledger, blob store and queue: within what any plan allows, and retries of
 * the last group need some of them. The next alarm goes on at once.
 */
const CALLS_PER_ALARM = SUBREQUESTS.min - 100;

/** `sendBatch` calls side by side; the ledger notes all of their messages in one call. */
const GROUPS_AT_ONCE = 4;

/** Messages with records for the blob store that are noted and sent together. */
const BLOBS_AT_ONCE = 8;

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
 * Deadline of a call to the blob store, and of sending a group, its retries included, in ms. If it
 * was sent after all, the logs take the repeat once.
 */
const SEND_MS = 10_000;

export class OutboxFullError extends Error {
  override name = "OutboxFullError";
}

export interface OutboxStatus {
  messages: number;
  events: number;
  /** Time of intake of the oldest, in ms; null: it is empty. */
  oldestTakenMs: number | null;
  /** What it holds on disk; of several objects, the one that holds the most. */
  storedBytes: number;
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
 * sent after all is taken once. It is several objects (`OUTBOX_SHARDS`), each with the messages
 * whose ids `outboxShardOf` (outboxes.ts) gives it.
 */
export class Outbox extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  /** Of the ledger. */
  readonly #splits = new KnownSplits();
  /** An outbox that never kept a message has no tables: asking it leaves nothing behind. */
  #isBegun: boolean;
  /** In this instance. */
  #sending = false;
  /** Overridden by tests, which cannot fill an object. */
  maxBytes = OUTBOX_MAX_BYTES;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#isBegun = isBegun(this.#sql);
    if (this.#isBegun) migrate(ctx.storage, OUTBOX_STEPS);
  }

  /** @throws OutboxFullError once it holds {@link OUTBOX_MAX_BYTES}; then nothing was kept. */
  async keep(messages: readonly PackedMessage[]): Promise<void> {
    if (this.#sql.databaseSize >= this.maxBytes) throw new OutboxFullError("the outbox is full");
    const armed = (await this.ctx.storage.getAlarm()) !== null;
    if (!this.#isBegun) migrate(this.ctx.storage, OUTBOX_STEPS);
    this.#isBegun = true;
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
    const storedBytes = this.#sql.databaseSize;
    if (!this.#isBegun) return { messages: 0, events: 0, oldestTakenMs: null, storedBytes };
    const row = this.#sql
      .exec<{ messages: number; events: number; oldest: number | null }>(
        "SELECT count(*) AS messages, coalesce(sum(records), 0) AS events, min(taken_in_ms) AS oldest FROM message",
      )
      .one();
    const { messages, events, oldest } = row;
    return { messages, events, oldestTakenMs: oldest, storedBytes };
  }

  /** Sends what it can. It must not throw: the platform drops an alarm after six failed tries. */
  override async alarm(): Promise<void> {
    // The run under way sets the alarm at its end.
    if (this.#sending || !this.#isBegun) return;
    this.#sending = true;
    const run: Run = { patience: new Patience(ALARM_MS), calls: 0, failed: false };
    let queueTakes = false;
    try {
      queueTakes = (await this.#sendSmall(run)) && (await this.#sendLarge(run));
      this.#sql.exec("UPDATE state SET failures = iif(?, failures + 1, 0)", run.failed ? 1 : 0);
    } catch (error) {
      log.error("the outbox failed", { durable_object: "Outbox", error: errorText(error) });
    } finally {
      run.patience.end();
      this.#sending = false;
    }
    if (!this.#holdsAny()) return;
    const goesOn = queueTakes && isOver(run) && !run.failed;
    await this.ctx.storage.setAlarm(platform.now() + (goesOn ? 0 : this.#delayMs()));
  }

  /**
   * For a second, independent clock: does the alarm's work if something waits and the alarm is not
   * set, or lost.
   */
  async drive(): Promise<void> {
    if (this.#sending || !this.#holdsAny()) return;
    const alarmMs = await this.ctx.storage.getAlarm();
    if (alarmMs === null || alarmMs < platform.now() - LOST_AFTER_MS) await this.alarm();
  }

  #holdsAny(): boolean {
    return this.#isBegun && this.#sql.exec("SELECT 1 FROM message LIMIT 1").toArray().length > 0;
  }

  /**
   * Sends those that the queue can carry, oldest first. They come before those that need the blob
   * store, so that its failure does not hold them up.
   * @returns whether the queue and the ledger took all that was sent.
   */
  async #sendSmall(run: Run): Promise<boolean> {
    let last = 0;
    while (!isOver(run)) {
      const rows = this.#smallAfter(last);
      const end = rows.at(-1);
      if (end === undefined) break;
      last = end.number;
      if (!(await this.#note(rows, run))) return false;
      const groups = sendGroups(rows.map(messageOf));
      const sent = await Promise.all(groups.map((group) => this.#send(group, run)));
      if (sent.includes(false)) return false;
    }
    return true;
  }

  /** Messages for a few `sendBatch` calls. Rows are read as they are needed: a body has 128 kB. */
  #smallAfter(last: number): MessageRow[] {
    const rows: MessageRow[] = [];
    let bytes = 0;
    const cursor = this.#sql.exec<MessageRow>(
      "SELECT * FROM message WHERE number > ? AND blob IS NULL ORDER BY number LIMIT ?",
      last,
      GROUPS_AT_ONCE * QUEUE_SEND_BATCH_MAX_MESSAGES,
    );
    for (const row of cursor) {
      bytes += row.body.byteLength;
      if (rows.length > 0 && bytes > GROUPS_AT_ONCE * QUEUE_SEND_BATCH_MAX_BYTES) break;
      rows.push(row);
    }
    return rows;
  }

  /**
   * Sends those whose records go into the blob store first. A shard of it that timed out is not
   * asked again, and its messages are skipped from then on.
   * @returns as {@link Outbox.#sendSmall}.
   */
  async #sendLarge(run: Run): Promise<boolean> {
    const silent = new Set<string>();
    let last = 0;
    while (!isOver(run)) {
      const rows = this.#sql
        .exec<Pick<MessageRow, "number" | "id" | "taken_in_ms">>(
          `SELECT number, id, taken_in_ms FROM message
             WHERE number > ? AND blob IS NOT NULL AND instr(?, substr(id, 1, 1)) = 0 ORDER BY number LIMIT ?`,
          last,
          [...silent].join(""),
          BLOBS_AT_ONCE,
        )
        .toArray();
      const end = rows.at(-1);
      if (end === undefined) break;
      last = end.number;
      if (!(await this.#note(rows, run))) return false;
      const stored: PackedMessage[] = [];
      // One at a time: each has up to 1.9 MB.
      for (const { number, id } of rows) {
        if (silent.has(shardOf(id))) continue;
        const message = await this.#store(number, silent, run);
        if (message !== null) stored.push(message);
      }
      if (stored.length > 0 && !(await this.#send(stored, run))) return false;
    }
    return true;
  }

  /**
   * Puts the records of a message into the blob store. @returns the reference that is to be sent;
   * null: they could not be stored.
   */
  async #store(number: number, silent: Set<string>, run: Run): Promise<PackedMessage | null> {
    const row = this.#sql.exec<MessageRow>("SELECT * FROM message WHERE number = ?", number).one();
    const message = messageOf(row);
    const records = new Uint8Array(row.blob ?? new ArrayBuffer(0));
    const shard = shardOf(row.id);
    run.calls += 1;
    try {
      const blobs = blobStore(this.env.BLOBS);
      await run.patience.answer(`blobs ${shard}`, SEND_MS, () => blobs.put(blobKey(message.body), records));
      return message;
    } catch (error) {
      run.failed = true;
      log.error("what was kept is not taken yet", { durable_object: "Outbox", error: errorText(error) });
      if (error instanceof TimeoutError) silent.add(shard);
      return null;
    }
  }

  /**
   * These come late: until they are counted, nothing may be claimed complete beyond their times of
   * intake.
   * @returns false: the ledger does not answer, so nothing may be sent. Never throws.
   */
  async #note(rows: readonly Pick<MessageRow, "id" | "taken_in_ms">[], run: Run): Promise<boolean> {
    const noted = rows.map(({ id, taken_in_ms }) => ({ id, takenInMs: taken_in_ms, keyed: false }));
    const ledger = new LogShards(this.env.TRACE_LOG, this.#splits);
    try {
      await run.patience.answer("the ledger", LEDGER_MS, () => ledger.expectAgain(noted));
      return true;
    } catch (error) {
      run.failed = true;
      log.error("what was kept cannot be sent yet", { durable_object: "Outbox", error: errorText(error) });
      return false;
    } finally {
      run.calls += ledger.calls;
    }
  }

  /**
   * Sends one group, and deletes it.
   * @returns false: the queue fails, so the rest would fail, too. Never throws.
   */
  async #send(group: readonly PackedMessage[], run: Run): Promise<boolean> {
    run.calls += 1;
    try {
      await sendMessages(group, { queue: this.env.EVENTS, blobs: blobStore(this.env.BLOBS), platform }, SEND_MS);
      this.ctx.storage.transactionSync(() => {
        for (const { id } of group) this.#sql.exec("DELETE FROM message WHERE id = ?", id);
      });
      return true;
    } catch (error) {
      run.failed = true;
      log.error("what was kept is not taken yet", { durable_object: "Outbox", error: errorText(reasonOf(error)) });
      return false;
    }
  }

  #delayMs(): number {
    const { failures } = this.#sql.exec<{ failures: number }>("SELECT failures FROM state").one();
    return backoffMs(RETRY_MS, failures + 1);
  }
}

/** What one alarm has done. */
interface Run {
  readonly patience: Patience;
  calls: number;
  /** Something was not taken. */
  failed: boolean;
}

/** The alarm has used up its time or its calls. */
function isOver({ patience, calls }: Run): boolean {
  // One more round: a note, and the groups or blobs that it is for.
  return patience.isOver || calls + 2 + BLOBS_AT_ONCE > CALLS_PER_ALARM;
}

/** As the queue gets it: its records are in the blob store by then. */
function messageOf({ id, taken_in_ms: takenInMs, records, body }: MessageRow): PackedMessage {
  return { id, takenInMs, records, body: new Uint8Array(body), blob: null };
}

/** One object of the outbox, from 0. The first one has the name of the time when it was alone. */
export function outbox(namespace: DurableObjectNamespace<Outbox>, shard = 0): DurableObjectStub<Outbox> {
  return namespace.getByName(shard === 0 ? "outbox" : `outbox ${shard}`);
}
