import { readSealing } from "../config.ts";
import { log } from "../log.ts";
import type { Platform } from "../platform.ts";
import { type CallType, callBody, callId } from "./call-body.ts";
import type { Incident, OverIncident } from "./incidents.ts";
import {
  answerWords,
  type CallAnswer,
  callWebhook,
  GIVE_UP_MS,
  isGone,
  isTaken,
  openSecrets,
  REST_MAX_MS,
  restMs,
  type WebhookSecrets,
} from "./webhook.ts";

/**
 * Waiting calls at most; a further incident is told when there is room. An `incident.over` is added
 * beyond this, as the receiver knows of the incident.
 */
export const WAITING_MAX = 1_000;

/**
 * Calls of one pass, one after the other: at 10 s each, well below the 15 minutes that an alarm may
 * run.
 */
export const CALLS_PER_PASS = 50;

/** A webhook as stored. */
export interface WebhookState {
  /** New with each change by its owner. */
  mark: string;
  sealed: string;
  shown: string;
  enabled: boolean;
  goneMs: number | null;
  createdMs: number;
  modifiedMs: number;
  failures: number;
  failingSinceMs: number | null;
  lastAnswer: string | null;
  lastTryMs: number | null;
  lastOkMs: number | null;
  delivered: number;
  givenUp: number;
  waiting: number;
}

/** A change by its owner. */
export interface WebhookDraft {
  sealed: string;
  shown: string;
  enabled: boolean;
  /** Whether it stays off, and reported as such, after its receiver answered 410. */
  staysGone: boolean;
}

interface CallRow {
  [column: string]: SqlStorageValue;
  number: number;
  id: string;
  body: string;
  tries: number;
}

interface WebhookRow {
  [column: string]: SqlStorageValue;
  mark: string;
  sealed: string;
  shown: string;
  enabled: number;
  gone_ms: number | null;
  created_ms: number;
  modified_ms: number;
  failures: number;
  failing_since_ms: number | null;
  rest_until_ms: number;
  last_answer: string | null;
  last_try_ms: number | null;
  last_ok_ms: number | null;
  delivered: number;
  given_up: number;
}

/** No call was possible. */
type NotCalled = { readonly kind: "not called"; readonly why: string };

/**
 * The webhook and its waiting calls, in the storage of the watch. A call is stored in one
 * transaction with its incident and deleted when the receiver accepts it. Until then it may be made
 * again, with the same id.
 */
export class WebhookCalls {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #env: object;
  readonly #platform: Pick<Platform, "now" | "random" | "fetch">;
  /** A pass is running in this instance. */
  #sending = false;

  constructor(storage: DurableObjectStorage, env: object, platform: Pick<Platform, "now" | "random" | "fetch">) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#env = env;
    this.#platform = platform;
  }

  state(): WebhookState | null {
    const row = this.#row();
    if (row === null) return null;
    return {
      mark: row.mark,
      sealed: row.sealed,
      shown: row.shown,
      enabled: row.enabled === 1,
      goneMs: row.gone_ms,
      createdMs: row.created_ms,
      modifiedMs: row.modified_ms,
      failures: row.failures,
      failingSinceMs: row.failing_since_ms,
      lastAnswer: row.last_answer,
      lastTryMs: row.last_try_ms,
      lastOkMs: row.last_ok_ms,
      delivered: row.delivered,
      givenUp: row.given_up,
      waiting: this.#waiting(),
    };
  }

  /** Stores a change; waiting calls are made at once. Call in a transaction. */
  put({ sealed, shown, enabled, staysGone }: WebhookDraft): void {
    const now = this.#platform.now();
    this.#sql.exec(
      `INSERT INTO webhook (id, mark, sealed, shown, enabled, created_ms, modified_ms) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?5)
       ON CONFLICT (id) DO UPDATE SET mark = ?1, sealed = ?2, shown = ?3, enabled = ?4, modified_ms = ?5,
         gone_ms = iif(?6, gone_ms, NULL), failures = 0, failing_since_ms = NULL, rest_until_ms = 0`,
      crypto.randomUUID(),
      sealed,
      shown,
      enabled ? 1 : 0,
      now,
      staysGone ? 1 : 0,
    );
    if (!enabled) this.#sql.exec("DELETE FROM webhook_call");
  }

  /**
   * Deletes the webhook and its waiting calls. Call in a transaction. @returns whether there was
   * one.
   */
  remove(): boolean {
    this.#sql.exec("DELETE FROM webhook_call");
    return this.#sql.exec("DELETE FROM webhook").rowsWritten > 0;
  }

  /**
   * Its receiver accepted a test call: earlier failures are over. Call in a transaction.
   * @param mark of the webhook that was called; a changed one was not tested.
   */
  works(mark: string): void {
    this.#sql.exec("UPDATE webhook SET failures = 0, failing_since_ms = NULL, rest_until_ms = 0 WHERE mark = ?", mark);
  }

  /** Whether a webhook is on. */
  wanted(): boolean {
    return this.#row()?.enabled === 1;
  }

  /** Whether a key decrypts it; true without a webhook. */
  opens(): boolean {
    const row = this.#row();
    return row === null || !("kind" in this.#secrets(row.sealed));
  }

  hasRoom(): boolean {
    return this.#waiting() < WAITING_MAX;
  }

  /** Adds a call, once while it waits. Call in a transaction. */
  add(type: CallType, incident: Incident, over: Pick<OverIncident, "overMs"> | null, nowMs: number): void {
    this.#sql.exec(
      "INSERT OR IGNORE INTO webhook_call (id, incident, body, made_ms) VALUES (?, ?, ?, ?)",
      callId(incident.id, type),
      incident.id,
      callBody(incident, over, nowMs),
      nowMs,
    );
  }

  /** Whether a pass is running; when it ends, {@link dueMs} says what is next. */
  isSending(): boolean {
    return this.#sending;
  }

  /** When the next call is due, in ms since the epoch; null: no calls. */
  dueMs(): number | null {
    const row = this.#row();
    if (row === null || row.enabled === 0 || this.#waiting() === 0) return null;
    const now = this.#platform.now();
    return Math.max(restUntilMs(row, now), now);
  }

  /**
   * Makes the due calls, one after the other, until one fails. After a rest another call is tried
   * first, so that a call that is never accepted only holds up its own incident. Never runs twice
   * at a time; no answer makes it throw.
   */
  async send(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    try {
      for (let made = 0; made < CALLS_PER_PASS; made++) if (!(await this.#sendNext())) return;
    } finally {
      this.#sending = false;
    }
  }

  /** @returns whether to continue. */
  async #sendNext(): Promise<boolean> {
    const webhook = this.#row();
    if (webhook === null || webhook.enabled === 0) return false;
    const now = this.#platform.now();
    if (restUntilMs(webhook, now) > now) return false;
    const call = this.#next();
    if (call === null) return false;
    const secrets = this.#secrets(webhook.sealed);
    const answer = "kind" in secrets ? secrets : await callWebhook(secrets, call, this.#platform);
    return this.#storage.transactionSync(() => this.#note(call, webhook.mark, answer));
  }

  /** Of the first waiting call of each incident, the one tried least. */
  #next(): CallRow | null {
    return (
      this.#sql
        .exec<CallRow>(
          `SELECT number, id, body, tries FROM webhook_call
           WHERE number IN (SELECT min(number) FROM webhook_call GROUP BY incident)
           ORDER BY tries, number LIMIT 1`,
        )
        .toArray()[0] ?? null
    );
  }

  #secrets(sealed: string): WebhookSecrets | NotCalled {
    // A malformed configuration must not throw here: it is one of the findings.
    const sealing = readSealing(this.#env);
    if (sealing === null) return { kind: "not called", why: "the configuration is malformed" };
    const { accountId, keys } = sealing;
    return (
      openSecrets(sealed, accountId, keys) ?? { kind: "not called", why: "the stored webhook cannot be decrypted" }
    );
  }

  /** @param mark of the webhook that was called. @returns whether to continue. */
  #note(call: CallRow, mark: string, answer: CallAnswer | NotCalled): boolean {
    const now = this.#platform.now();
    const taken = answer.kind !== "not called" && isTaken(answer);
    const webhook = this.#row();
    if (webhook?.mark !== mark) {
      // Changed meanwhile: the new receiver may not have what the old one accepted.
      return webhook !== null;
    }
    const words = answer.kind === "not called" ? answer.why : answerWords(answer);
    this.#sql.exec("UPDATE webhook SET last_answer = ?, last_try_ms = ?", words, now);
    if (taken) {
      this.#sql.exec("DELETE FROM webhook_call WHERE number = ?", call.number);
      this.#sql.exec(
        "UPDATE webhook SET failures = 0, failing_since_ms = NULL, rest_until_ms = 0, last_ok_ms = ?, delivered = delivered + 1",
        now,
      );
      return true;
    }
    if (answer.kind !== "not called" && isGone(answer)) {
      this.#sql.exec("UPDATE webhook SET enabled = 0, gone_ms = ?", now);
      const { rowsWritten: dropped } = this.#sql.exec("DELETE FROM webhook_call");
      log.warn("the webhook was switched off by its receiver", { durable_object: "Watch", dropped });
      return false;
    }
    this.#failed(call, webhook.failures + 1, words, answer.kind === "answer" ? answer.retryAfterS : null, now);
    return false;
  }

  #failed(call: CallRow, failures: number, words: string, retryAfterS: number | null, now: number): void {
    this.#sql.exec("UPDATE webhook_call SET tries = tries + 1 WHERE number = ?", call.number);
    const old = now - GIVE_UP_MS;
    const { n: givenUp } = this.#sql
      .exec<{ n: number }>("SELECT count(*) AS n FROM webhook_call WHERE made_ms <= ?", old)
      .one();
    this.#sql.exec("DELETE FROM webhook_call WHERE made_ms <= ?", old);
    this.#sql.exec(
      `UPDATE webhook SET failures = ?, failing_since_ms = coalesce(failing_since_ms, ?), rest_until_ms = ?,
         given_up = given_up + ?`,
      failures,
      now,
      now + restMs(failures, retryAfterS, this.#platform.random()),
      givenUp,
    );
    const fields = { durable_object: "Watch", why: words, failures, waiting: this.#waiting() };
    log.warn("a call of the webhook failed", fields);
    if (givenUp > 0) log.error("calls of the webhook were given up", { durable_object: "Watch", calls: givenUp });
  }

  #row(): WebhookRow | null {
    return this.#sql.exec<WebhookRow>("SELECT * FROM webhook").toArray()[0] ?? null;
  }

  #waiting(): number {
    return this.#sql.exec<{ n: number }>("SELECT count(*) AS n FROM webhook_call").one().n;
  }
}

/** Ignores a rest that a wrong clock set too far ahead. */
function restUntilMs({ rest_until_ms: ms }: WebhookRow, nowMs: number): number {
  return ms - nowMs > REST_MAX_MS ? nowMs : ms;
}
