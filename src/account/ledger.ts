import { DurableObject } from "cloudflare:workers";
import { type JobsSnapshot, offNow } from "../job/config.ts";
import { platform } from "../platform.ts";
import { IdMemory, type TakenId } from "../storage/id-memory.ts";
import { migrate } from "../storage/migrate.ts";
import type { FunctionCount } from "./function-counts.ts";
import { FunctionHours } from "./function-hours.ts";
import { KeptJobs } from "./kept-jobs.ts";
import { type MonthUse, parseUse, useAt, withUse } from "./month-use.ts";
import type { MessageCount, Outcome, Watched } from "./outcome.ts";
import { type RecentRecords, RecentRing } from "./recent.ts";
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
import { Unfinished } from "./unfinished.ts";
import { queueUnits } from "./usage.ts";

export type { FunctionCount } from "./function-counts.ts";
export type { MessageCount, Outcome } from "./outcome.ts";
export { ACCOUNT_STEPS } from "./schema.ts";
export type { SetAsideMessage } from "./set-aside-messages.ts";
export type { AccountCounts, AccountStatus } from "./status.ts";

const SWEEP_EVERY_MS = 86_400_000;

/** The account's own count of what was processed, deduplicated by the same ids as the logs, and the keeper of messages that nobody could read. */
export class AccountLedger extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #ids: IdMemory;
  readonly #functions: FunctionHours;
  readonly #jobs: KeptJobs;
  readonly #unfinished: Unfinished;
  readonly #aside: AsideMessages;
  /** Gone with the object: never stored. */
  readonly #recent = new RecentRing();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#ids = new IdMemory(ctx.storage.sql);
    this.#functions = new FunctionHours(ctx.storage.sql);
    this.#jobs = new KeptJobs(ctx.storage.sql);
    this.#unfinished = new Unfinished(ctx.storage.sql, this.#ids);
    this.#aside = new AsideMessages(ctx.storage.sql, this.#ids, this.#functions);
    migrate(ctx.storage, ACCOUNT_STEPS);
  }

  /**
   * Counts messages that all their jobs have committed; one that is counted already is passed over. Remembers those that have to come again.
   * @returns null, or which were counted now, if somebody watches them; or the jobs as they are by now if they were routed by a state that is behind:
   * then nothing was counted, and the messages must be offered to these.
   */
  count({ done, failed, backlog, work, state }: Outcome): JobsSnapshot | Watched | null {
    const { newer, watchedUntilMs } = this.#jobs.sinceAndWatched(state);
    if (newer !== null) return newer;
    const now = platform.now();
    const fresh = this.ctx.storage.transactionSync(() => {
      this.#unfinished.note(failed);
      for (const { id } of done) this.#unfinished.finished(id);
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
          messages: fresh.length,
          messageUnits: sum(({ bytes }) => queueUnits(bytes ?? 0)),
          events,
        },
        now,
      );
      // One row, whatever is in it: what a month has used costs nothing to know.
      this.#sql.exec(
        `UPDATE account SET processed = processed + ?, routed = routed + ?, not_enabled = not_enabled + ?, not_routed = not_routed + ?,
           queue_backlog = ?, queue_seen_ms = ?, month_use = ? WHERE id = 1`,
        events,
        sum(({ routed }) => routed),
        sum(({ notEnabled }) => notEnabled),
        sum(({ notRouted }) => notRouted),
        backlog,
        now,
        JSON.stringify(use),
      );
      this.#functions.add(
        fresh.flatMap(({ functions }) => functions),
        now,
      );
      return fresh;
    });
    // What is counted once is held once.
    for (const { recent } of fresh) if (recent !== undefined) this.#recent.add(recent);
    // A consumer that says nothing of its work is of a version before this answer: it would take it for a failure, and everything would come again.
    const isUnderstood = work !== undefined;
    return isUnderstood && fresh.length > 0 && watchedUntilMs > now ? { watched: fresh.map(({ id }) => id) } : null;
  }

  /** Somebody watches records arrive until then, in ms since the epoch; 0: nobody does. */
  watchedUntil(ms: number): void {
    this.#sql.exec("UPDATE account SET watched_until_ms = ? WHERE id = 1", ms);
  }

  /** The newest records that consumers have handed over, oldest first; nothing after the object was evicted. */
  recent(): RecentRecords {
    return this.#recent.all();
  }

  /** Which of these messages were counted, or set aside. */
  counted(messages: readonly TakenId[]): string[] {
    return [...this.#ids.known(messages)];
  }

  /** Takes a copy of the jobs and opt-outs; one that is behind what is here changes nothing. @returns the state that is kept. */
  keepJobs(snapshot: JobsSnapshot): string {
    const kept = this.ctx.storage.transactionSync(() => this.#jobs.keep(snapshot));
    if (kept === snapshot.state) this.#recent.forget(offNow(snapshot.optOuts));
    return kept;
  }

  /** Keeps a message that cannot go its way, whole, and counts it; once, however often it comes. */
  setAside({ noted, ...message }: SetAsideMessage): void {
    const { taken } = message;
    this.ctx.storage.transactionSync(() => {
      this.#unfinished.finished(taken.id);
      if (noted !== undefined) this.#unfinished.finishedAsNoted(noted);
      if (this.#ids.known([taken]).size > 0) return;
      this.#ids.remember([taken]);
      this.#aside.keep(message, platform.now());
    });
  }

  /** A part of the messages that are set aside, the oldest first, and how many there are in all. */
  asideList(offset: number, limit: number): { entries: AsideEntry[]; total: number } {
    const { total } = this.#sql.exec<{ total: number }>("SELECT aside_messages AS total FROM account").one();
    return { entries: this.#aside.list(offset, limit, platform.now()), total };
  }

  /** null: it is not set aside (any more). */
  asideMessage(id: number): AsideMessage | null {
    return this.#aside.get(id, platform.now());
  }

  /**
   * Counts the events of a message that was set aside as what became of them now that all jobs have it, and lets go of it.
   * @returns as {@link AccountLedger.count}; `gone`: somebody else has sent or discarded it meanwhile, and it is counted as that.
   */
  asideSent(id: number, message: MessageCount, state: string): JobsSnapshot | "gone" | null {
    const newer = this.#jobs.since(state);
    if (newer !== null) return newer;
    const counted = this.ctx.storage.transactionSync(() => this.#aside.countSent(id, message, platform.now()));
    return counted ? null : "gone";
  }

  /** Lets go of a message that nobody wants sent again; its events count as discarded. @returns as how many; null: it is not there (any more). */
  asideDiscarded(id: number): number | null {
    return this.ctx.storage.transactionSync(() => this.#aside.countDiscarded(id));
  }

  /** Of which messages which jobs' logs are to be asked now whether they hold them. */
  asideToAsk(limit: number): { messages: AsideToAsk[]; jobs: number[] } {
    const messages = this.ctx.storage.transactionSync(() => this.#aside.toAsk(limit, platform.now()));
    return { messages, jobs: this.#jobs.ids() };
  }

  /** What these logs have said. */
  asideAsked(answers: readonly AsideAsked[]): void {
    this.ctx.storage.transactionSync(() => this.#aside.asked(answers, platform.now()));
  }

  /** Events that intake had and could not keep. */
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

  /** When an event of these functions was last counted, in ms; those without one for thirty days are left out. */
  lastEvents(scriptNames: readonly string[]): { scriptName: string; lastEventMs: number }[] {
    const last = this.#functions.lastOf(new Set(scriptNames), platform.now());
    return [...last].map(([scriptName, lastEventMs]) => ({ scriptName, lastEventMs }));
  }

  /** Events of one function, over the last thirty days; null: there were none. */
  functionCount(scriptName: string): FunctionCount | null {
    return this.#functions.of(scriptName, platform.now());
  }

  /** Forgets a function's name; what was counted under it stays in the sum, under none. Events that come later are counted anew. */
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
      this.#unfinished.sweep(now);
      this.#functions.sweep(now);
      this.#sql.exec("UPDATE account SET swept_ms = ? WHERE id = 1", now);
    });
  }

  /** Notes messages that are on their way, later than others that were taken in with them; what is counted already is not. */
  expectAgain(messages: readonly TakenId[]): void {
    this.ctx.storage.transactionSync(() => this.#unfinished.note(messages));
  }

  /** Time of intake of the oldest message that has to come again, in ms; null: there is none. */
  oldestUnfinishedMs(): number | null {
    return this.#unfinished.oldestMs();
  }

  /** What this month (UTC) has used so far; null: nothing was ever counted. */
  monthUse(): MonthUse | null {
    return useAt(this.#monthUse(), platform.now());
  }

  #monthUse(): MonthUse | null {
    return parseUse(this.#sql.exec<{ month_use: string | null }>("SELECT month_use FROM account").one().month_use);
  }

  status(): AccountStatus {
    const oldest = { oldestUnfinishedMs: this.#unfinished.oldestMs(), oldestAsideMs: this.#aside.oldestMs() };
    return accountStatus(this.#sql, oldest);
  }
}

/** The one ledger of the account. */
export function accountLedger(namespace: DurableObjectNamespace<AccountLedger>): DurableObjectStub<AccountLedger> {
  return namespace.getByName("account");
}
