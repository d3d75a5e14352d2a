import { DurableObject } from "cloudflare:workers";
import { type JobsSnapshot, offNow } from "../job/config.ts";
import { platform } from "../platform.ts";
import { IdMemory, type TakenId } from "../storage/id-memory.ts";
import { migrate } from "../storage/migrate.ts";
import type { FunctionCount } from "./function-counts.ts";
import { FunctionHours } from "./function-hours.ts";
import { JobsCopy } from "./jobs-copy.ts";
import { type MonthUse, parseUse, useAt, withUse } from "./month-use.ts";
import type { MessageCount, Outcome, Watched } from "./outcome.ts";
import { type RecentRecords, RecentRing } from "./recent.ts";
import { type Deaths, type Noted, type NotedMessage, Redeliveries } from "./redeliveries.ts";
import { ACCOUNT_STEPS } from "./schema.ts";
import {
  type AsideAsked,
  type AsideEntry,
  type AsideMessage,
  AsideMessages,
  type AsideToAsk,
  type SetAsideMessage,
} from "./set-aside-messages.ts";
import { type AccountStatus, accountStatus } from "./status.ts";
import { queueUnits } from "./usage.ts";

export type { FunctionCount } from "./function-counts.ts";
export type { MessageCount, Outcome } from "./outcome.ts";
export { ALONE_DEATHS, type Noted, type NotedMessage } from "./redeliveries.ts";
export { ACCOUNT_STEPS } from "./schema.ts";
export type { SetAsideMessage } from "./set-aside-messages.ts";
export type { AccountCounts, AccountStatus } from "./status.ts";

const SWEEP_EVERY_MS = 86_400_000;

/**
 * Messages get through if one was counted within this, in ms: less than it takes to set a message
 * aside that dies alone three times, 300 s apart, from its first delivery on. So a deployment that
 * dies of every message sets none aside.
 */
const WELL_MS = 1_200_000;

/**
 * Counts processed messages for the account, deduplicated by the same ids as the logs, and stores
 * messages that are set aside.
 */
export class AccountLedger extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #ids: IdMemory;
  readonly #functions: FunctionHours;
  readonly #jobs: JobsCopy;
  readonly #redeliveries: Redeliveries;
  readonly #aside: AsideMessages;
  /** In memory only. */
  readonly #recent = new RecentRing();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#ids = new IdMemory(ctx.storage.sql);
    this.#functions = new FunctionHours(ctx.storage.sql);
    this.#jobs = new JobsCopy(ctx.storage.sql);
    this.#redeliveries = new Redeliveries(ctx.storage.sql, this.#ids);
    this.#aside = new AsideMessages(ctx.storage.sql, this.#ids, this.#functions);
    migrate(ctx.storage, ACCOUNT_STEPS);
  }

  /**
   * Counts messages that all their jobs have committed, each once, and notes those that come again.
   * @returns null; or, while live viewers watch, which were counted now; or the newer jobs if the
   * messages were routed by an older state: then nothing was counted, and they must be offered to
   * these jobs.
   */
  count({ done, failed, owes, backlog, backlogBytes = null, work, state }: Outcome): JobsSnapshot | Watched | null {
    const { newer, watchedUntilMs } = this.#jobs.sinceAndWatched(state);
    if (newer !== null) return newer;
    const now = platform.now();
    const fresh = this.ctx.storage.transactionSync(() => {
      this.#redeliveries.note(failed, "returned");
      for (const { id } of done) this.#redeliveries.finished(id);
      if (owes) this.#sql.exec("UPDATE account SET owed_noted_ms = ? WHERE id = 1", now);
      const known = this.#ids.known(done);
      const fresh = done.filter(({ id }) => !known.has(id));
      if (fresh.length === 0) return fresh;
      this.#ids.remember(fresh);
      const sum = (of: (message: MessageCount) => number): number =>
        fresh.reduce((total, message) => total + of(message), 0);
      const events = sum((message) => message.events);
      const use = withUse(
        this.#monthUse(),
        {
          ...(work ?? { batches: 1, appends: 0, offered: 0 }),
          groups: 1,
          messages: fresh.filter(({ bytes }) => bytes !== 0).length,
          messageUnits: sum(({ bytes }) => (bytes === 0 ? 0 : queueUnits(bytes ?? 0))),
          events,
        },
        now,
      );
      // All in one row: counting a month's use costs no further write.
      this.#sql.exec(
        `UPDATE account SET processed = processed + ?, routed = routed + ?, not_enabled = not_enabled + ?, not_routed = not_routed + ?,
           queue_backlog = ?, queue_bytes = ?, queue_seen_ms = ?, month_use = ? WHERE id = 1`,
        events,
        sum(({ routed }) => routed),
        sum(({ notEnabled }) => notEnabled),
        sum(({ notRouted }) => notRouted),
        backlog,
        backlogBytes,
        now,
        JSON.stringify(use),
      );
      this.#functions.add(
        fresh.flatMap(({ functions }) => functions),
        now,
      );
      return fresh;
    });
    // Only those counted now: no record is held twice.
    for (const { recent } of fresh) if (recent !== undefined) this.#recent.add(recent);
    // A consumer that does not report its work is older than this answer and would take it for a
    // failure.
    const isUnderstood = work !== undefined;
    return isUnderstood && fresh.length > 0 && watchedUntilMs > now ? { watched: fresh.map(({ id }) => id) } : null;
  }

  /**
   * When a message was last counted that is owed to a job, in ms since the epoch; null: nothing is
   * owed.
   */
  owedNoted(): number | null {
    return this.#sql.exec<{ noted: number | null }>("SELECT owed_noted_ms AS noted FROM account").one().noted;
  }

  /** The debts are empty, and were asked after this was noted; a later note stays. */
  nothingOwed(notedMs: number): void {
    this.#sql.exec("UPDATE account SET owed_noted_ms = NULL WHERE id = 1 AND owed_noted_ms = ?", notedMs);
  }

  /** Live viewers watch until then, in ms since the epoch; 0: none does. */
  watchedUntil(ms: number): void {
    this.#sql.exec("UPDATE account SET watched_until_ms = ? WHERE id = 1", ms);
  }

  /** The newest records from consumers, oldest first; none after an eviction. */
  recent(): RecentRecords {
    return this.#recent.all();
  }

  /** Which of these messages were counted, or set aside. */
  counted(messages: readonly TakenId[]): string[] {
    return [...this.#ids.known(messages)];
  }

  /** As {@link JobsCopy.keep}. */
  keepJobs(snapshot: JobsSnapshot): string {
    const kept = this.ctx.storage.transactionSync(() => this.#jobs.keep(snapshot));
    if (kept === snapshot.state) this.#recent.forget(offNow(snapshot.optOuts));
    return kept;
  }

  /** Stores a message whole, and counts it. Idempotent by `taken.id`. */
  setAside({ noted, alsoNoted = [], ...message }: SetAsideMessage): void {
    const { taken } = message;
    this.ctx.storage.transactionSync(() => {
      this.#redeliveries.finished(taken.id);
      if (noted !== undefined) this.#redeliveries.finishedAsNoted(noted);
      for (const part of alsoNoted) this.#redeliveries.finishedAsNoted(part);
      if (this.#ids.known([taken]).size > 0) return;
      this.#ids.remember([taken]);
      this.#aside.keep(message, platform.now());
    });
  }

  /** A page of the messages that are set aside, the oldest first, and how many there are in all. */
  asideList(offset: number, limit: number): { entries: AsideEntry[]; total: number } {
    const { total } = this.#sql.exec<{ total: number }>("SELECT aside_messages AS total FROM account").one();
    return { entries: this.#aside.list(offset, limit, platform.now()), total };
  }

  /** null: it is not set aside (any more). */
  asideMessage(id: number): AsideMessage | null {
    return this.#aside.get(id, platform.now());
  }

  /**
   * Counts a message that was set aside and sent again, and deletes it.
   * @param message its parts; consumers of earlier releases send the only one, not in a list.
   * @returns as {@link AccountLedger.count}; `gone`: another request has sent or discarded it
   *   meanwhile.
   */
  asideSent(id: number, message: MessageCount | readonly MessageCount[], state: string): JobsSnapshot | "gone" | null {
    const newer = this.#jobs.since(state);
    if (newer !== null) return newer;
    const counted = this.ctx.storage.transactionSync(() => this.#aside.countSent(id, [message].flat(), platform.now()));
    return counted ? null : "gone";
  }

  /**
   * Deletes a message. @returns how many events count as discarded; null: it is not set aside (any
   * more).
   */
  asideDiscarded(id: number): number | null {
    return this.ctx.storage.transactionSync(() => this.#aside.countDiscarded(id));
  }

  /** Messages for which the logs of these jobs are to be asked now whether they hold them. */
  asideToAsk(limit: number): { messages: AsideToAsk[]; jobs: number[] } {
    const messages = this.ctx.storage.transactionSync(() => this.#aside.toAsk(limit, platform.now()));
    return { messages, jobs: this.#jobs.ids() };
  }

  /** Takes the logs' answers. */
  asideAsked(answers: readonly AsideAsked[]): void {
    this.ctx.storage.transactionSync(() => this.#aside.asked(answers, platform.now()));
  }

  /** Counts events that intake lost. */
  countLost(events: number): void {
    this.#sql.exec("UPDATE account SET intake_lost = intake_lost + ? WHERE id = 1", events);
  }

  /** Events by function, over the last thirty days. */
  functions(): FunctionCount[] {
    return this.#functions.totals(platform.now());
  }

  /** Events by function, today and yesterday (UTC). */
  functionsLately(): FunctionCount[] {
    return this.#functions.lately(platform.now());
  }

  /**
   * The latest event of these functions, in ms since the epoch; functions without one in thirty
   * days are left out.
   */
  lastEvents(scriptNames: readonly string[]): { scriptName: string; lastEventMs: number }[] {
    const last = this.#functions.lastOf(new Set(scriptNames), platform.now());
    return [...last].map(([scriptName, lastEventMs]) => ({ scriptName, lastEventMs }));
  }

  /** Events of one function, over the last thirty days; null: there were none. */
  functionCount(scriptName: string): FunctionCount | null {
    return this.#functions.of(scriptName, platform.now());
  }

  /**
   * Forgets a function's name. Its counts stay in the sum, without a name; later events are counted
   * anew.
   */
  forgetFunction(scriptName: string): void {
    this.ctx.storage.transactionSync(() => this.#functions.forget(scriptName));
    this.#recent.forget(new Set([scriptName]));
  }

  /** Forgets old ids and counts, once a day. */
  sweep(): void {
    const now = platform.now();
    const { swept_ms } = this.#sql.exec<{ swept_ms: number }>("SELECT swept_ms FROM account").one();
    if (now - swept_ms < SWEEP_EVERY_MS) return;
    this.ctx.storage.transactionSync(() => {
      this.#ids.sweep(now);
      this.#redeliveries.sweep(now);
      this.#functions.sweep(now);
      this.#sql.exec("UPDATE account SET swept_ms = ? WHERE id = 1", now);
    });
  }

  /**
   * Notes messages, so that nothing is claimed complete beyond them.
   * @returns as {@link Redeliveries.note}.
   */
  expectAgain(messages: readonly NotedMessage[], how: Noted = "coming"): Deaths[] {
    const seen = this.#sql.exec<{ ms: number | null }>("SELECT queue_seen_ms AS ms FROM account").one().ms;
    const isWell = seen !== null && platform.now() - seen <= WELL_MS;
    return this.ctx.storage.transactionSync(() => this.#redeliveries.note(messages, how, isWell));
  }

  /**
   * Time of intake of the oldest message that comes again, or is set aside, in ms; 0: that of one
   * that is set aside is unknown; null: there is none.
   */
  oldestUnfinishedMs(): number | null {
    const again = this.#redeliveries.oldestMs();
    const aside = this.#aside.oldestTakenMs();
    return again === null || aside === null ? (again ?? aside) : Math.min(again, aside);
  }

  /** Use of this month (UTC) so far; null: nothing was ever counted. */
  monthUse(): MonthUse | null {
    return useAt(this.#monthUse(), platform.now());
  }

  #monthUse(): MonthUse | null {
    return parseUse(this.#sql.exec<{ month_use: string | null }>("SELECT month_use FROM account").one().month_use);
  }

  status(): AccountStatus {
    return accountStatus(this.#sql, {
      oldestUnfinishedMs: this.#redeliveries.oldestMs(),
      oldestAsideMs: this.#aside.oldestMs(),
      stopsClaims: this.#aside.oldestTakenMs() === 0,
    });
  }
}

/** The one ledger of the account. */
export function accountLedger(namespace: DurableObjectNamespace<AccountLedger>): DurableObjectStub<AccountLedger> {
  return namespace.getByName("account");
}
