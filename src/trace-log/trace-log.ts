import { DurableObject } from "cloudflare:workers";
import { type JobsSnapshot, offNow } from "../job/config.ts";
import { LEDGER_SHARD_MAX_BYTES } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { answered, platform } from "../platform.ts";
import { IdMemory, type TakenId } from "../storage/id-memory.ts";
import { migrate } from "../storage/migrate.ts";
import { ROOT } from "../storage/splits.ts";
import type { FunctionCount } from "./function-counts.ts";
import { FunctionHours } from "./function-hours.ts";
import { HealthHours, type HourHealth } from "./health-hours.ts";
import { JobsCopy } from "./jobs-copy.ts";
import type { MonthUse } from "./month-use.ts";
import { countsOf, type MessageCount, type Outcome, type Watched } from "./outcome.ts";
import { OwnSplits } from "./own-splits.ts";
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
import { type Inheritance, SPLIT_AT, Splitter } from "./splitter.ts";
import { type AccountStatus, accountStatus } from "./status.ts";
import { earlier } from "./sums.ts";
import { Totals } from "./totals.ts";

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
 * messages that are set aside. One object while that is enough; then {@link Splitter} makes more.
 * src/trace-log/log-shards.ts asks all of them.
 *
 * The last parameter of most methods, `known`, is the number of splits of this shard that the
 * caller knows. If any message is another shard's, or if all shards are to be asked and there are
 * more, the answer is a {@link Stale}, whatever the type says. Without `known`, as of code that has
 * never heard of splits, that is an error.
 */
export class TraceLog extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #ids: IdMemory;
  readonly #totals: Totals;
  readonly #functions: FunctionHours;
  readonly #health: HealthHours;
  readonly #jobs: JobsCopy;
  readonly #redeliveries: Redeliveries;
  readonly #aside: AsideMessages;
  readonly #splits: OwnSplits;
  readonly #splitter: Splitter;
  /** Overridden by tests. */
  maxBytes = LEDGER_SHARD_MAX_BYTES;
  /** In memory only. */
  readonly #recent = new RecentRing();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#ids = new IdMemory(ctx.storage.sql);
    this.#totals = new Totals(ctx.storage.sql);
    this.#functions = new FunctionHours(ctx.storage.sql);
    this.#health = new HealthHours(ctx.storage.sql);
    this.#jobs = new JobsCopy(ctx.storage.sql);
    this.#redeliveries = new Redeliveries(ctx.storage.sql, this.#ids);
    this.#aside = new AsideMessages(ctx.storage.sql, this.#ids, this.#functions, this.#health);
    this.#splits = new OwnSplits(ctx.storage.sql);
    this.#splitter = new Splitter({
      ...{ storage: ctx.storage, splits: this.#splits, ids: this.#ids, jobs: this.#jobs },
      redeliveries: this.#redeliveries,
    });
    migrate(ctx.storage, ACCOUNT_STEPS);
  }

  /**
   * Counts messages that all their jobs have committed, each once, and notes those that come again.
   * @returns null; or, while live viewers watch, which were counted now; or the newer jobs if the
   * messages were routed by an older state: then nothing was counted, and they must be offered to
   * these jobs.
   */
  count(outcome: Outcome, known?: number): JobsSnapshot | Watched | null {
    const { done, failed, owes, work, state } = outcome;
    if (this.#splits.takeAny(done) || this.#splits.takeAny(failed)) return this.#splits.stale(known);
    const { newer, watchedUntilMs } = this.#jobs.sinceAndWatched(state);
    if (newer !== null) return newer;
    const now = platform.now();
    const fresh = this.ctx.storage.transactionSync(() => {
      this.#redeliveries.note(failed, "returned");
      for (const { id } of done) this.#redeliveries.finished(id);
      if (owes) this.#sql.exec("UPDATE account SET owed_noted_ms = ? WHERE id = 1", now);
      const before = this.#ids.known(done);
      const fresh = done.filter(({ id }) => !before.has(id));
      if (fresh.length === 0) return fresh;
      this.#ids.remember(fresh);
      this.#totals.add(fresh, outcome, this.#health.add(fresh, now), now);
      this.#functions.add(countsOf(fresh, now), now);
      return fresh;
    });
    this.#splitter.taken(done, now);
    if (this.#splitter.isDue(now)) this.#split();
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
  watchedUntil(ms: number, known?: number): undefined {
    return this.#splits.told(known, (): undefined => {
      this.#sql.exec("UPDATE account SET watched_until_ms = ? WHERE id = 1", ms);
    });
  }

  /** The newest records from consumers, oldest first; none after an eviction. */
  recent(known?: number): RecentRecords {
    return this.#splits.told(known, () => this.#recent.all());
  }

  /** Which of these messages were counted, or set aside. */
  counted(messages: readonly TakenId[], known?: number): string[] {
    if (this.#splits.takeAny(messages)) return this.#splits.stale(known);
    return [...this.#ids.known(messages)];
  }

  /** As {@link JobsCopy.keep}. */
  keepJobs(snapshot: JobsSnapshot, known?: number): string {
    return this.#splits.told(known, () => {
      const kept = this.ctx.storage.transactionSync(() => this.#jobs.keep(snapshot));
      if (kept === snapshot.state) this.#recent.forget(offNow(snapshot.optOuts));
      return kept;
    });
  }

  /**
   * Stores a message whole, and counts it. Idempotent by `taken.id`.
   * @throws if the shard is full: then the message has to stay in the queue.
   */
  setAside({ noted, alsoNoted = [], ...message }: SetAsideMessage, known?: number): undefined {
    const { taken } = message;
    const notes = noted === undefined ? alsoNoted : [noted, ...alsoNoted];
    if (this.#splits.takeAny([taken, ...notes])) return this.#splits.stale(known);
    this.ctx.storage.transactionSync(() => {
      this.#redeliveries.finished(taken.id);
      for (const note of notes) this.#redeliveries.finishedAsNoted(note);
      if (this.#ids.known([taken]).size > 0) return;
      if (this.#sql.databaseSize >= this.maxBytes) throw new Error("this shard of the ledger is full");
      this.#ids.remember([taken]);
      this.#aside.keep(message, platform.now());
    });
  }

  /** Messages that were set aside under another id. Another shard has them, or none. */
  asideAs(notes: readonly TakenId[], known?: number): undefined {
    if (this.#splits.takeAny(notes)) return this.#splits.stale(known);
    this.ctx.storage.transactionSync(() => {
      for (const note of notes) this.#redeliveries.finishedAsNoted(note);
    });
  }

  /** A page of the messages that are set aside, the oldest first, and how many there are in all. */
  asideList(offset: number, limit: number, known?: number): { entries: AsideEntry[]; total: number } {
    return this.#splits.told(known, () => ({
      entries: this.#aside.list(offset, limit, platform.now()),
      total: this.#aside.count(),
    }));
  }

  /** null: it is not set aside (any more). */
  asideMessage(id: number): AsideMessage | null {
    return this.#aside.get(id, platform.now());
  }

  /**
   * Counts a message that was set aside and sent again, and deletes it.
   * @param message its parts; consumers of earlier releases send the only one, not in a list.
   * @returns as {@link TraceLog.count}; `gone`: another request has sent or discarded it
   *   meanwhile.
   */
  asideSent(
    id: number,
    message: MessageCount | readonly MessageCount[],
    state: string,
    known?: number,
  ): JobsSnapshot | "gone" | null {
    return this.#splits.told(known, () => {
      const newer = this.#jobs.since(state);
      if (newer !== null) return newer;
      const parts = [message].flat();
      const counted = this.ctx.storage.transactionSync(() => this.#aside.countSent(id, parts, platform.now()));
      return counted ? null : "gone";
    });
  }

  /**
   * Deletes a message. @returns how many events count as discarded; null: it is not set aside (any
   * more).
   */
  asideDiscarded(id: number): number | null {
    return this.ctx.storage.transactionSync(() => this.#aside.countDiscarded(id));
  }

  /** Messages for which the logs of these jobs are to be asked now whether they hold them. */
  asideToAsk(limit: number, known?: number): { messages: AsideToAsk[]; jobs: number[] } {
    return this.#splits.told(known, () => {
      const messages = this.ctx.storage.transactionSync(() => this.#aside.toAsk(limit, platform.now()));
      return { messages, jobs: this.#jobs.ids() };
    });
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
  functions(known?: number): FunctionCount[] {
    return this.#splits.told(known, () => this.#functions.totals(platform.now()));
  }

  /** Events by function, today and yesterday (UTC). */
  functionsLately(known?: number): FunctionCount[] {
    return this.#splits.told(known, () => this.#functions.lately(platform.now()));
  }

  /**
   * The latest event of these functions, in ms since the epoch; functions without one in thirty
   * days are left out.
   */
  lastEvents(scriptNames: readonly string[], known?: number): { scriptName: string; lastEventMs: number }[] {
    return this.#splits.told(known, () => {
      const last = this.#functions.lastOf(new Set(scriptNames), platform.now());
      return [...last].map(([scriptName, lastEventMs]) => ({ scriptName, lastEventMs }));
    });
  }

  /** Events of one function, over the last thirty days; null: there were none. */
  functionCount(scriptName: string, known?: number): FunctionCount | null {
    return this.#splits.told(known, () => this.#functions.of(scriptName, platform.now()));
  }

  /** As {@link HealthHours.of}. */
  functionHealth(scriptName: string, since: number, until: number, known?: number): HourHealth[] {
    return this.#splits.told(known, () => this.#health.of(scriptName, since, until, platform.now()));
  }

  /**
   * Forgets a function's name. Its counts stay in the sum, without a name; later events are counted
   * anew.
   */
  forgetFunction(scriptName: string, known?: number): undefined {
    return this.#splits.told(known, (): undefined => {
      this.ctx.storage.transactionSync(() => {
        this.#functions.forget(scriptName);
        this.#health.forget(scriptName, platform.now());
      });
      this.#recent.forget(new Set([scriptName]));
    });
  }

  /** Forgets old ids and counts, once a day; and splits what has become too large. */
  sweep(known?: number): undefined {
    return this.#splits.told(known, (): undefined => {
      const now = platform.now();
      const { swept_ms, swept_bytes } = this.#sql
        .exec<{ swept_ms: number; swept_bytes: number }>("SELECT swept_ms, swept_bytes FROM account")
        .one();
      if (this.#splitter.isTooLarge(swept_bytes, now)) this.#split();
      if (now - swept_ms < SWEEP_EVERY_MS) return;
      this.ctx.storage.transactionSync(() => {
        this.#ids.sweep(now);
        this.#redeliveries.sweep(now);
        this.#functions.sweep(now);
        this.#health.sweep(now);
        const bytes = this.#sql.databaseSize;
        this.#sql.exec("UPDATE account SET swept_ms = ?, swept_bytes = ? WHERE id = 1", now, bytes);
      });
    });
  }

  /**
   * Notes messages, so that nothing is claimed complete beyond them.
   * @returns as {@link Redeliveries.note}.
   */
  expectAgain(messages: readonly NotedMessage[], known?: number, how: Noted = "coming"): Deaths[] {
    if (this.#splits.takeAny(messages)) return this.#splits.stale(known);
    const isWell = this.#totals.hasCountedSince(platform.now() - WELL_MS);
    return this.ctx.storage.transactionSync(() => this.#redeliveries.note(messages, how, isWell));
  }

  /** A new shard is given what it must know. @returns the state of its jobs afterwards. */
  begin(inheritance: Inheritance): string {
    return this.#splitter.begin(inheritance);
  }

  /**
   * Time of intake of the oldest message that comes again, or is set aside, in ms; 0: that of one
   * that is set aside is unknown; null: there is none.
   */
  oldestUnfinishedMs(known?: number): number | null {
    return this.#splits.told(known, () => earlier(this.#redeliveries.oldestMs(), this.#aside.oldestTakenMs()));
  }

  /** Use of this month (UTC) so far; null: nothing was ever counted. */
  monthUse(known?: number): MonthUse | null {
    return this.#splits.told(known, () => this.#totals.monthUse(platform.now()));
  }

  status(known?: number): AccountStatus {
    return this.#splits.told(known, () =>
      accountStatus(this.#sql, {
        oldestUnfinishedMs: this.#redeliveries.oldestMs(),
        oldestAsideMs: this.#aside.oldestMs(),
        stopsClaims: this.#aside.oldestTakenMs() === 0,
        failing: this.#health.failing(platform.now()),
      }),
    );
  }

  /** Makes another shard, beside what its callers wait for. */
  #split(): void {
    const child = (n: number) => ledgerShard(this.env.TRACE_LOG, n);
    const begin = (n: number, inheritance: Inheritance): Promise<unknown> =>
      answered(`shard ${n} of the ledger`, SPLIT_AT.childMs, child(n).begin(inheritance));
    const splitting = this.#splitter
      .split(begin, () => platform.now())
      .then((made) => {
        if (made !== null) log.warn("the ledger was split", { durable_object: "TraceLog", shard: made });
      })
      .catch((error: unknown) => {
        log.error("a shard could not be split", { durable_object: "TraceLog", error: errorText(error) });
      });
    this.ctx.waitUntil(splitting);
  }
}

/** One shard of the account's ledger. */
export function ledgerShard(namespace: DurableObjectNamespace<TraceLog>, shard: number): DurableObjectStub<TraceLog> {
  return namespace.getByName(shard === ROOT ? "account" : `account shard ${shard}`);
}

/** The first shard, and the only one of most accounts. */
export function accountLedger(namespace: DurableObjectNamespace<TraceLog>): DurableObjectStub<TraceLog> {
  return ledgerShard(namespace, ROOT);
}
