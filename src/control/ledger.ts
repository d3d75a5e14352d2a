import { DurableObject } from "cloudflare:workers";
import { fromHex } from "../bytes.ts";
import { ID_MEMORY_MS } from "../limits.ts";
import { platform } from "../platform.ts";
import { RecordLine } from "../record/line.ts";
import { IdMemory, type TakenId } from "../storage/id-memory.ts";
import { migrate } from "../storage/migrate.ts";
import { ACCOUNT_STEPS } from "./account-schema.ts";
import type { FunctionCount } from "./function-counts.ts";
import { FunctionHours } from "./function-hours.ts";
import { isBehind, type JobConfig, type JobsSnapshot, type OptOut, offNow } from "./job-config.ts";
import { type RecentRecords, RecentRing } from "./recent.ts";
import {
  type AsideAsked,
  type AsideEntry,
  type AsideMessage,
  AsideMessages,
  type AsideToAsk,
  type SetAsideMessage,
} from "./set-aside.ts";

export { ACCOUNT_STEPS } from "./account-schema.ts";
export type { FunctionCount } from "./function-counts.ts";
export type { SetAsideMessage } from "./set-aside.ts";

/** How the events of one message ended up, from the account's point of view. */
export interface MessageCount extends TakenId {
  /** As the message's envelope says. */
  events: number;
  /** Offered to at least one enabled job. */
  routed: number;
  /** Dropped because logging of their function is off. */
  notEnabled: number;
  /** No job was enabled. */
  notRouted: number;
  /** The same by function; adds up to the three. */
  functions: readonly FunctionCount[];
  /** Some of its records, for previews: held in memory only, and no part of any count. */
  recent?: RecentRecords;
}

/** What became of some messages. */
export interface Outcome {
  /** Committed by all their jobs. */
  done: readonly MessageCount[];
  /** They have to come again. */
  failed: readonly TakenId[];
  /** Messages that wait in the queue, as it says. */
  backlog: number | null;
  /** The state of the control plane that they were routed by. */
  state: string;
}

export interface AccountCounts {
  processed: number;
  routed: number;
  not_enabled: number;
  not_routed: number;
  set_aside: number;
  /** Set aside, and then given up by somebody. */
  discarded: number;
}

export interface AccountStatus {
  counts: AccountCounts;
  /** Events that intake could not hand to the queue. */
  intakeLost: number;
  /** Time of intake of the oldest message that has to come again, in ms. */
  oldestUnfinishedMs: number | null;
  queueBacklog: number | null;
  queueSeenMs: number | null;
  /** Messages that are set aside, with the events in them; the time, in ms, of the first that is still there. */
  setAsideMessages: { messages: number; events: number; oldestMs: number | null };
}

const SWEEP_EVERY_MS = 86_400_000;

/** The account's own count of what was processed, deduplicated by the same ids as the logs, and the keeper of messages that nobody could read. */
export class AccountLedger extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #ids: IdMemory;
  readonly #functions: FunctionHours;
  readonly #aside: AsideMessages;
  /** Gone with the object: never stored. */
  readonly #recent = new RecentRing();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#ids = new IdMemory(ctx.storage.sql);
    this.#functions = new FunctionHours(ctx.storage.sql);
    this.#aside = new AsideMessages(ctx.storage.sql, this.#ids, this.#functions);
    migrate(ctx.storage, ACCOUNT_STEPS);
  }

  /**
   * Counts messages that all their jobs have committed; one that is counted already is passed over. Remembers those that have to come again.
   * @returns null, or the jobs as they are by now if they were routed by a state that is behind: then nothing was counted, and the messages must be
   * offered to these.
   */
  count({ done, failed, backlog, state }: Outcome): JobsSnapshot | null {
    const { jobs_state } = this.#sql.exec<{ jobs_state: string }>("SELECT jobs_state FROM account").one();
    if (isBehind(state, jobs_state)) return this.#snapshot(jobs_state);
    const now = platform.now();
    const fresh = this.ctx.storage.transactionSync(() => {
      this.#unfinished(failed);
      for (const { id } of done) this.#finished(id);
      const known = this.#ids.known(done);
      const fresh = done.filter(({ id }) => !known.has(id));
      if (fresh.length === 0) return fresh;
      this.#ids.remember(fresh);
      const sum = (of: (message: MessageCount) => number): number =>
        fresh.reduce((total, message) => total + of(message), 0);
      this.#sql.exec(
        `UPDATE account SET processed = processed + ?, routed = routed + ?, not_enabled = not_enabled + ?, not_routed = not_routed + ?,
           queue_backlog = ?, queue_seen_ms = ? WHERE id = 1`,
        sum(({ events }) => events),
        sum(({ routed }) => routed),
        sum(({ notEnabled }) => notEnabled),
        sum(({ notRouted }) => notRouted),
        backlog,
        now,
      );
      this.#functions.add(
        fresh.flatMap(({ functions }) => functions),
        now,
      );
      return fresh;
    });
    // What is counted once is held once.
    for (const { recent } of fresh) if (recent !== undefined) this.#recent.add(recent);
    return null;
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
  keepJobs({ state, jobs, optOuts, optOutVersion }: JobsSnapshot): string {
    const keptState = this.ctx.storage.transactionSync(() => {
      const { jobs_state } = this.#sql.exec<{ jobs_state: string }>("SELECT jobs_state FROM account").one();
      if (isBehind(state, jobs_state)) return jobs_state;
      const kept = new Map(
        this.#sql
          .exec<{ id: number; config: string }>("SELECT id, config FROM job")
          .toArray()
          .map(({ id, config }) => [id, config]),
      );
      for (const job of jobs) {
        const config = JSON.stringify(job);
        if (kept.get(job.id) !== config)
          this.#sql.exec("INSERT OR REPLACE INTO job (id, config) VALUES (?, ?)", job.id, config);
        kept.delete(job.id);
      }
      for (const id of kept.keys()) this.#sql.exec("DELETE FROM job WHERE id = ?", id);
      const functions = JSON.stringify(optOuts);
      this.#sql.exec(
        "UPDATE opt_outs SET version = ?, functions = ? WHERE version <> ? OR functions <> ?",
        optOutVersion,
        functions,
        optOutVersion,
        functions,
      );
      this.#sql.exec("UPDATE account SET jobs_state = ? WHERE id = 1", state);
      return state;
    });
    if (keptState === state) this.#forgetRecent(offNow(optOuts));
    return keptState;
  }

  /** Lets go of the recent records of these functions. */
  #forgetRecent(scriptNames: ReadonlySet<string>): void {
    if (scriptNames.size === 0) return;
    this.#recent.keep((line) => {
      const name = scriptNameOf(line);
      return name !== null && !scriptNames.has(name);
    });
  }

  /** Keeps a message that cannot go its way, whole, and counts it; once, however often it comes. */
  setAside({ noted, ...message }: SetAsideMessage): void {
    const { taken } = message;
    this.ctx.storage.transactionSync(() => {
      this.#finished(taken.id);
      // Only what was noted with the same time: another that has the id is not finished by somebody who merely says that he is it.
      if (noted !== undefined)
        this.#sql.exec(
          "DELETE FROM unfinished WHERE id = ? AND taken_ms = ?",
          fromHex(noted.id).buffer,
          noted.takenInMs,
        );
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
    const { jobs_state } = this.#sql.exec<{ jobs_state: string }>("SELECT jobs_state FROM account").one();
    if (isBehind(state, jobs_state)) return this.#snapshot(jobs_state);
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
    const jobs = this.#sql.exec<{ id: number }>("SELECT id FROM job ORDER BY id").toArray();
    return { messages, jobs: jobs.map(({ id }) => id) };
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
    this.#forgetRecent(new Set([scriptName]));
  }

  /** Forgets old ids and counts, once a day. */
  sweep(): void {
    const now = platform.now();
    const { swept_ms } = this.#sql.exec<{ swept_ms: number }>("SELECT swept_ms FROM account").one();
    if (now - swept_ms < SWEEP_EVERY_MS) return;
    this.ctx.storage.transactionSync(() => {
      this.#ids.sweep(now);
      this.#sql.exec("DELETE FROM unfinished WHERE taken_ms < ?", now - ID_MEMORY_MS);
      this.#functions.sweep(now);
      this.#sql.exec("UPDATE account SET swept_ms = ? WHERE id = 1", now);
    });
  }

  /** Notes messages that are on their way, later than others that were taken in with them; what is counted already is not. */
  expectAgain(messages: readonly TakenId[]): void {
    this.ctx.storage.transactionSync(() => this.#unfinished(messages));
  }

  /** Time of intake of the oldest message that has to come again, in ms; null: there is none. */
  oldestUnfinishedMs(): number | null {
    return this.#sql.exec<{ oldest: number | null }>("SELECT min(taken_ms) AS oldest FROM unfinished").one().oldest;
  }

  #snapshot(state: JobsSnapshot["state"]): JobsSnapshot {
    const rows = this.#sql.exec<{ config: string }>("SELECT config FROM job ORDER BY id").toArray();
    const { version, functions } = this.#sql
      .exec<{ version: number; functions: string }>("SELECT version, functions FROM opt_outs")
      .one();
    return {
      state,
      jobs: rows.map(({ config }) => JSON.parse(config) as JobConfig),
      optOuts: JSON.parse(functions) as OptOut[],
      optOutVersion: version,
    };
  }

  /** What is counted by now needs no note, and nobody would take it back: its copy was faster, or whoever notes it was late. */
  #unfinished(messages: readonly TakenId[]): void {
    const known = this.#ids.known(messages);
    for (const { id, takenInMs } of messages) {
      if (known.has(id)) continue;
      this.#sql.exec("INSERT OR IGNORE INTO unfinished (id, taken_ms) VALUES (?, ?)", fromHex(id).buffer, takenInMs);
    }
  }

  #finished(id: string): void {
    this.#sql.exec("DELETE FROM unfinished WHERE id = ?", fromHex(id).buffer);
  }

  status(): AccountStatus {
    const row = this.#sql
      .exec<{
        processed: number;
        routed: number;
        not_enabled: number;
        not_routed: number;
        set_aside: number;
        discarded: number;
        aside_messages: number;
        intake_lost: number;
        queue_backlog: number | null;
        queue_seen_ms: number | null;
      }>("SELECT * FROM account")
      .one();
    const { processed, routed, not_enabled, not_routed, set_aside, discarded } = row;
    return {
      counts: { processed, routed, not_enabled, not_routed, set_aside, discarded },
      intakeLost: row.intake_lost,
      oldestUnfinishedMs: this.oldestUnfinishedMs(),
      queueBacklog: row.queue_backlog,
      queueSeenMs: row.queue_seen_ms,
      setAsideMessages: { messages: row.aside_messages, events: set_aside, oldestMs: this.#aside.oldestMs() },
    };
  }
}

/** Of a record's line; null if it has none. Never throws: what is only there to be shown may not stop what it comes along with. */
function scriptNameOf(line: string): string | null {
  try {
    return RecordLine.read(line)?.ScriptName ?? null;
  } catch {
    return null;
  }
}

/** The one ledger of the account. */
export function accountLedger(namespace: DurableObjectNamespace<AccountLedger>): DurableObjectStub<AccountLedger> {
  return namespace.getByName("account");
}
