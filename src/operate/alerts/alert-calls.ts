import { log } from "../../base/logger.ts";
import type { Platform } from "../../base/platform.ts";
import type { RowOf } from "../../base/storage/row-of.ts";
import { clause, Sql, verbatim } from "../../base/storage/sql.ts";
import { readEncryption } from "../../config.ts";
import type { Finding } from "../status/finding.ts";
import { WEBHOOK_FAILING } from "../status/kinds.ts";
import { alert } from "./alert.ts";
import { isKeyed, readCall } from "./alert-formats.ts";
import { type CallBody, type CallType, callBody, callId, joinedCall } from "./call-body.ts";
import { IncidentEvents, type ReceiverAnswer } from "./incident-events.ts";
import type { Incident, OverIncident } from "./incidents.ts";
import type { ReceiverDraft, ReceiverRow, ReceiverState } from "./receiver-state.ts";
import { isRouted, readRoutes } from "./routes.ts";
import type { WATCH_STEPS } from "./watch-migrations.ts";
import {
  answerWords,
  type CallAnswer,
  decryptSecrets,
  GIVE_UP_MS,
  isGone,
  isRefused,
  isTaken,
  REST_MAX_MS,
  restMs,
  type Secrets,
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

/**
 * How long a call is held before its first try, in ms: what begins or ends meanwhile goes with it.
 * Tests override it.
 */
export const HOLD = { ms: 20_000 };

/** Tries of a message as it is; from then on it goes in halves: one call alone may be at fault. */
const WHOLE_TRIES = 5;

/** Columns of a receiver that takes calls. */
const WELL = { failures: 0, failing_since_ms: null, rest_until_ms: 0 };

/** Calls at most that go as one message. */
const JOINED_MAX = 100;

/** Calls that are in no message yet; of those that an earlier release tried, none was noted. */
const UNTRIED = verbatim("(tries = 0 AND joint IS NULL)");

type CallRow = Pick<RowOf<typeof WATCH_STEPS, "call">, "number" | "id" | "body" | "tries" | "joint">;

/** Calls that go as one, and the number by which their rows have it. */
interface Message {
  joint: number;
  call: { id: string; body: string };
}

/** The outcome of a test, in words of {@link answerWords}. */
export interface TestAnswer {
  taken: boolean;
  words: string;
}

/** No call was possible. */
type NotCalled = { readonly kind: "not called"; readonly why: string };

/**
 * One receiver of alerts and its waiting calls, in the storage of the watch. A call is stored in
 * one transaction with its incident and deleted when the receiver accepts it. Until then it may be
 * made again, with the same id.
 */
export class AlertCalls {
  readonly id: number;
  readonly #storage: DurableObjectStorage;
  readonly #sql: Sql;
  readonly #events: IncidentEvents;
  readonly #env: object;
  readonly #platform: Pick<Platform, "now" | "random" | "fetch">;
  /** A pass is running in this instance. */
  #sending = false;

  constructor(
    id: number,
    storage: DurableObjectStorage,
    env: object,
    platform: Pick<Platform, "now" | "random" | "fetch">,
  ) {
    this.id = id;
    this.#storage = storage;
    this.#sql = new Sql(storage.sql);
    this.#events = new IncidentEvents(storage.sql);
    this.#env = env;
    this.#platform = platform;
  }

  /** Which calls are its own. */
  get #ours() {
    return clause`receiver = ${this.id}`;
  }

  state(): ReceiverState | null {
    const row = this.#row();
    if (row === null) return null;
    return { ...row, enabled: row.enabled === 1, waiting: this.#waiting() };
  }

  /** Stores a change; waiting calls are made at once. Call in a transaction. */
  put({ enabled, staysGone, ...draft }: ReceiverDraft): void {
    this.#set({ ...columnsOf({ ...draft, enabled }, this.#platform.now()), ...(!staysGone && { gone_ms: null }) });
    if (!enabled) this.#dropCalls();
  }

  /**
   * Deletes the receiver and its waiting calls. Call in a transaction. @returns whether there was
   * one.
   */
  remove(): boolean {
    this.#dropCalls();
    return this.#sql.run`DELETE FROM receiver WHERE id = ${this.id}` > 0;
  }

  /** @returns how many waited. */
  #dropCalls(): number {
    return this.#sql.run`DELETE FROM call WHERE ${this.#ours}`;
  }

  /**
   * Notes a test. One that was accepted ends earlier failures. Call in a transaction.
   * @param mark of the receiver that was called; a changed one was not tested.
   */
  noteTest(mark: string, { taken, words }: TestAnswer): void {
    if (this.#row()?.mark !== mark) return;
    this.#set({ test_answer: words, tested_ms: this.#platform.now(), ...(taken && WELL) });
  }

  /** Whether it is on. */
  wanted(): boolean {
    return this.#row()?.enabled === 1;
  }

  /** Whether it is to be told of an incident now. */
  wants({ finding }: Incident, nowMs: number): boolean {
    const row = this.#row();
    if (row?.enabled !== 1 || (row.muted_until_ms ?? 0) > nowMs) return false;
    if (finding.kind === WEBHOOK_FAILING && this.#isItself(finding)) return false;
    if (!isRouted(readRoutes(row.routes), finding)) return false;
    return row.min_severity !== "error" || finding.severity === "error";
  }

  /** A call about a receiver that fails would go to that receiver, which knows once it gets it. */
  #isItself({ receiver }: Finding): boolean {
    return receiver?.id === this.id;
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
    const body = callBody(incident, over, nowMs, this.#row()?.origin ?? null);
    this.#sql.add("call", {
      ...{ id: callId(incident, type), incident: incident.id, body, made_ms: nowMs },
      receiver: this.id,
    });
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
    const isHeld = this.#sql.only<number>`SELECT count(*) FROM call WHERE ${this.#ours} AND NOT ${UNTRIED}` === 0;
    return Math.max(restUntilMs(row, now), isHeld ? this.#heldUntilMs(row, now) : now, now);
  }

  /** Until when calls that were not tried are held, in ms since the epoch. */
  #heldUntilMs({ format }: ReceiverRow, nowMs: number): number {
    const madeMs = this.#sql.only<number | null>`SELECT min(made_ms) FROM call WHERE ${this.#ours} AND ${UNTRIED}`;
    // A pager gets each alone, and a clock may have been ahead.
    return madeMs === null || isKeyed(format) || madeMs > nowMs ? nowMs : madeMs + HOLD.ms;
  }

  /**
   * Makes the due calls, one after the other, until one fails. After a rest another call is tried
   * first, so that a call that is never accepted only holds up its own incidents. Never runs twice
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
    const message = this.#storage.transactionSync(() => this.#next(webhook, now));
    if (message === null) return false;
    const answer = await this.#make(webhook, message.call);
    return this.#storage.transactionSync(() => this.#note(message, webhook.mark, answer));
  }

  /**
   * Of the first waiting call of each incident, the one tried least. One that was not tried takes
   * along all others of its type that were not, once they were held for {@link HOLD}; from then on
   * they are one message, the same with each try. Call in a transaction.
   */
  #next(receiver: ReceiverRow, nowMs: number): Message | null {
    const isHeld = Number(this.#heldUntilMs(receiver, nowMs) > nowMs);
    const rows = this.#sql.all<CallRow>`
      SELECT number, id, body, tries, joint FROM call
        WHERE number IN (SELECT min(number) FROM call WHERE ${this.#ours} GROUP BY incident)
          AND NOT (${isHeld} AND ${UNTRIED})
        ORDER BY tries, number LIMIT ${WAITING_MAX}`;
    const [next] = rows;
    if (next === undefined) return null;
    const { joint } = next;
    if (joint !== null) return { joint, call: joinedCall(rows.filter((each) => each.joint === joint)) };
    const isNew = next.tries === 0 && !isKeyed(receiver.format);
    const typeOf = ({ body }: CallRow): CallBody["type"] => readCall(body).type;
    const others = isNew
      ? rows.filter((each) => each.joint === null && each.tries === 0 && typeOf(each) === typeOf(next))
      : [next];
    const together = others.slice(0, JOINED_MAX);
    for (const { number } of together) this.#sql.run`UPDATE call SET joint = ${next.number} WHERE number = ${number}`;
    return { joint: next.number, call: joinedCall(together) };
  }

  async #make({ sealed, format }: ReceiverRow, call: Message["call"]): Promise<CallAnswer | NotCalled> {
    const secrets = this.#secrets(sealed);
    if ("kind" in secrets) return secrets;
    return alert(format, secrets, call, this.#env, this.#platform);
  }

  #secrets(sealed: string): Secrets | NotCalled {
    // A malformed configuration must not throw here: it is one of the findings.
    const sealing = readEncryption(this.#env);
    if (sealing === null) return { kind: "not called", why: "the configuration is malformed" };
    const { accountId, keys } = sealing;
    return (
      decryptSecrets(sealed, accountId, keys) ?? { kind: "not called", why: "the stored webhook cannot be decrypted" }
    );
  }

  /** @param mark of the webhook that was called. @returns whether to continue. */
  #note({ joint }: Message, mark: string, answer: CallAnswer | NotCalled): boolean {
    const now = this.#platform.now();
    const taken = answer.kind !== "not called" && isTaken(answer);
    const webhook = this.#row();
    if (webhook?.mark !== mark) {
      // Changed meanwhile: the new receiver may not have what the old one accepted.
      return webhook !== null;
    }
    const told = { last_answer: answer.kind === "not called" ? answer.why : answerWords(answer), last_try_ms: now };
    this.#noteTold(joint, webhook, { answer: told.last_answer, taken }, now);
    if (taken) {
      this.#sql.run`DELETE FROM call WHERE ${this.#ours} AND joint = ${joint}`;
      this.#set({ ...told, ...WELL, last_ok_ms: now, delivered: webhook.delivered + 1 });
      return true;
    }
    if (answer.kind !== "not called" && isGone(answer)) {
      this.#set({ ...told, enabled: 0, gone_ms: now });
      const dropped = this.#dropCalls();
      log.warn("a receiver of alerts has switched itself off", { durable_object: "Watch", receiver: this.id, dropped });
      return false;
    }
    this.#failed(
      { joint, isRefused: answer.kind !== "not called" && isRefused(answer) },
      webhook,
      told,
      answer.kind === "answer" ? answer.retryAfterS : null,
    );
    return false;
  }

  /** Notes the answer for the page of each incident that the message told of. */
  #noteTold(
    joint: number,
    { name, format }: ReceiverRow,
    how: Pick<ReceiverAnswer, "answer" | "taken">,
    nowMs: number,
  ): void {
    const receiver = { id: this.id, name, format };
    const calls = this.#sql.all<Pick<RowOf<typeof WATCH_STEPS, "call">, "incident" | "body" | "tries">>`
      SELECT incident, body, tries FROM call WHERE ${this.#ours} AND joint = ${joint}`;
    for (const { incident, body, tries } of calls)
      this.#events.told(incident, {
        ...{ ...how, call: readCall(body).type as CallType, receiver, tries: tries + 1, atMs: nowMs },
      });
  }

  #failed(
    { joint, isRefused }: { joint: number; isRefused: boolean },
    before: ReceiverRow,
    told: { last_answer: string; last_try_ms: number },
    retryAfterS: number | null,
  ): void {
    const { last_answer: why, last_try_ms: now } = told;
    const failures = before.failures + 1;
    const message = clause`${this.#ours} AND joint = ${joint}`;
    this.#sql.run`UPDATE call SET tries = tries + 1 WHERE ${message}`;
    const calls = this.#sql.all<CallRow>`SELECT number, tries FROM call WHERE ${message} ORDER BY number`;
    const half = calls[Math.ceil(calls.length / 2)]?.number;
    if (half !== undefined && (isRefused || (calls[0]?.tries ?? 0) >= WHOLE_TRIES))
      this.#sql.run`UPDATE call SET joint = ${half} WHERE ${message} AND number >= ${half}`;
    // A message goes with the last of its calls.
    const young = clause`SELECT ifnull(joint, number) FROM call WHERE ${this.#ours} AND made_ms > ${now - GIVE_UP_MS}`;
    const old = clause`${this.#ours} AND ifnull(joint, number) NOT IN (${young})`;
    const givenUp = this.#sql.only<number>`SELECT count(*) FROM call WHERE ${old}`;
    this.#sql.run`DELETE FROM call WHERE ${old}`;
    this.#set({
      ...{ ...told, failures, failing_since_ms: before.failing_since_ms ?? now },
      rest_until_ms: now + restMs(failures, retryAfterS, this.#platform.random()),
      given_up: before.given_up + givenUp,
    });
    const fields = { durable_object: "Watch", receiver: this.id, why, failures, waiting: this.#waiting() };
    log.warn("a call of an alert failed", fields);
    if (givenUp > 0) log.error("calls of an alert were given up", { durable_object: "Watch", calls: givenUp });
  }

  #row(): ReceiverRow | null {
    return this.#sql.first`SELECT * FROM receiver WHERE id = ${this.id}`;
  }

  #set(columns: Partial<ReceiverRow>): void {
    this.#sql.update("receiver", this.id, columns);
  }

  #waiting(): number {
    return this.#sql.only`SELECT count(*) FROM call WHERE ${this.#ours}`;
  }
}

/** Stores a new receiver. @param id null: one that no receiver has had. @returns its id. */
export function insertReceiver(sql: Sql, id: number | null, draft: ReceiverDraft, nowMs: number): number {
  sql.insert("receiver", { id, ...columnsOf(draft, nowMs), created_ms: nowMs });
  return sql.only`SELECT last_insert_rowid()`;
}

/** What a change by its owner sets; it ends earlier failures. */
function columnsOf({ sealed, shown, enabled, origin, chosen }: Omit<ReceiverDraft, "staysGone">, nowMs: number) {
  return {
    ...{ mark: crypto.randomUUID(), sealed, shown, enabled: enabled ? 1 : 0, modified_ms: nowMs },
    ...{ ...WELL, ...chosen },
    ...(origin !== null && { origin }),
  };
}

/** Ignores a rest that a wrong clock set too far ahead. */
function restUntilMs({ rest_until_ms: ms }: ReceiverRow, nowMs: number): number {
  return ms - nowMs > REST_MAX_MS ? nowMs : ms;
}
