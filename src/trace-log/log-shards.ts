import type { JobsSnapshot } from "../job/config.ts";
import { TimeoutError } from "../platform.ts";
import type { TakenId } from "../storage/id-memory.ts";
import { ROOT } from "../storage/splits.ts";
import { type FunctionCount, joinCounts, TALLY_BOUNDS, type TallyBounds } from "./function-counts.ts";
import { LISTED_BOUNDS } from "./function-hours.ts";
import type { HourHealth } from "./health-hours.ts";
import { countAtHomes, expectAgainAtHomes } from "./homes.ts";
import { KnownSplits, learning, REFUSED } from "./known-splits.ts";
import type { MonthUse } from "./month-use.ts";
import { type MessageCount, partlyOf } from "./outcome.ts";
import type { RecentRecords } from "./recent.ts";
import type { AsideAsked, AsideEntry, AsideMessage, AsideToAsk } from "./set-aside-messages.ts";
import type { AccountStatus } from "./status.ts";
import { earlier, joinedRecent, sumOfStatus, sumOfUse } from "./sums.ts";
import { ledgerShard, type TraceLog } from "./trace-log.ts";

/** The number of a set-aside message: its shard times this, and its number there. */
const ASIDE_NUMBERS = 2 ** 40;

type Shard = DurableObjectStub<TraceLog>;
type LastEvent = { scriptName: string; lastEventMs: number };

/**
 * The account's ledger, of however many shards: asks all of them, and adds up. Of one shard, each
 * method is one call.
 */
export class LogShards {
  readonly #namespace: DurableObjectNamespace<TraceLog>;
  readonly #splits: KnownSplits;
  #calls = 0;

  constructor(namespace: DurableObjectNamespace<TraceLog>, splits = new KnownSplits()) {
    this.#namespace = namespace;
    this.#splits = splits;
  }

  /** Calls to shards so far. */
  get calls(): number {
    return this.#calls;
  }

  async status(): Promise<AccountStatus> {
    return sumOfStatus(await this.#all((shard, known) => shard.status(known) as Promise<AccountStatus>));
  }

  /** As the method of each shard. @returns the states that they have afterwards, unchecked. */
  keepJobs(snapshot: JobsSnapshot): Promise<unknown[]> {
    return this.#all((shard, known) => shard.keepJobs(snapshot, known));
  }

  /** As the method of each shard. */
  async watchedUntil(ms: number): Promise<void> {
    await this.#all((shard, known) => shard.watchedUntil(ms, known));
  }

  /** As many records of each shard. */
  async recent(): Promise<RecentRecords> {
    return joinedRecent(await this.#all((shard, known) => shard.recent(known) as Promise<RecentRecords>));
  }

  /** Events by function, over the last thirty days. */
  async functions(): Promise<FunctionCount[]> {
    const all = await this.#all((shard, known) => shard.functions(known) as Promise<FunctionCount[]>);
    return joined(all, LISTED_BOUNDS);
  }

  /** Events by function, today and yesterday (UTC). */
  async functionsLately(): Promise<FunctionCount[]> {
    const all = await this.#all((shard, known) => shard.functionsLately(known) as Promise<FunctionCount[]>);
    return joined(all, TALLY_BOUNDS);
  }

  /** As the method of each shard. */
  async lastEvents(scriptNames: readonly string[]): Promise<LastEvent[]> {
    const all = await this.#all((shard, known) => shard.lastEvents(scriptNames, known) as Promise<LastEvent[]>);
    const last = new Map<string, number>();
    for (const { scriptName, lastEventMs } of all.flat())
      last.set(scriptName, Math.max(lastEventMs, last.get(scriptName) ?? 0));
    return [...last].map(([scriptName, lastEventMs]) => ({ scriptName, lastEventMs }));
  }

  /** Events of one function, over the last thirty days; null: there were none. */
  async functionCount(scriptName: string): Promise<FunctionCount | null> {
    const all = await this.#all(
      (shard, known) => shard.functionCount(scriptName, known) as Promise<FunctionCount | null>,
    );
    const known = all.filter((count) => count !== null).map((count) => [count]);
    return joined(known, TALLY_BOUNDS)[0] ?? null;
  }

  /** As the method of each shard: an hour may be there several times. */
  async functionHealth(scriptName: string, since: number, until: number): Promise<HourHealth[]> {
    const all = await this.#all(
      (shard, known) => shard.functionHealth(scriptName, since, until, known) as Promise<HourHealth[]>,
    );
    return all.flat();
  }

  /** As the method of each shard. */
  async forgetFunction(scriptName: string): Promise<void> {
    await this.#all((shard, known) => shard.forgetFunction(scriptName, known));
  }

  /** As the method of each shard. */
  async sweep(): Promise<void> {
    await this.#all((shard, known) => shard.sweep(known));
  }

  /** As the method of each shard, of all. */
  async oldestUnfinishedMs(): Promise<number | null> {
    const all = await this.#all((shard, known) => shard.oldestUnfinishedMs(known) as Promise<number | null>);
    return all.reduce(earlier);
  }

  async monthUse(): Promise<MonthUse | null> {
    return sumOfUse(await this.#all((shard, known) => shard.monthUse(known) as Promise<MonthUse | null>));
  }

  /** Notes messages that come later than others taken in at the same time. */
  async expectAgain(messages: readonly TakenId[]): Promise<void> {
    await expectAgainAtHomes(messages, this.#splits, (part, shard, known) => this.#at(shard).expectAgain(part, known));
  }

  /**
   * A page of the messages that are set aside, shard by shard, each with its oldest first; and how
   * many there are in all.
   */
  async asideList(offset: number, limit: number): Promise<{ entries: AsideEntry[]; total: number }> {
    const done = new Set<number>();
    const entries: AsideEntry[] = [];
    let total = 0;
    for (;;) {
      const shard = this.#splits.shards().find((each) => !done.has(each));
      if (shard === undefined) return { entries, total };
      const page = await learning(this.#splits, shard, (known) =>
        this.#at(shard).asideList(Math.max(0, offset - total), limit - entries.length, known),
      );
      if (page === REFUSED) continue;
      done.add(shard);
      entries.push(...(page.entries as AsideEntry[]).map((entry) => ({ ...entry, id: numberOf(shard, entry.id) })));
      total += page.total;
    }
  }

  /** null: it is not set aside (any more). */
  async asideMessage(number: number): Promise<AsideMessage | null> {
    const { shard, id } = placeOf(number);
    if (!(await this.#exists(shard))) return null;
    const message = (await this.#at(shard).asideMessage(id)) as AsideMessage | null;
    return message === null ? null : { ...message, id: number };
  }

  /** As the method of its shard. */
  async asideDiscarded(number: number): Promise<number | null> {
    const { shard, id } = placeOf(number);
    return (await this.#exists(shard)) ? this.#at(shard).asideDiscarded(id) : null;
  }

  /**
   * Counts a message that was set aside and sent again, and deletes it.
   * @returns as {@link TraceLog.asideSent}, unchecked.
   * @throws also if only some of its parts are counted: then it can be repeated.
   */
  async asideSent(
    { id: number, unreadable }: Pick<AsideMessage, "id" | "unreadable">,
    parts: readonly MessageCount[],
    state: string,
  ): Promise<unknown> {
    const { shard, id } = placeOf(number);
    if (!(await this.#exists(shard))) return "gone";
    for (;;) {
      // One that can be read lies where its id is remembered. Any other lies with the first shard,
      // and its parts may be counted elsewhere: there first, where repeating it changes nothing.
      const away = unreadable === null ? [] : parts.filter((part) => this.#splits.homeOf(part) !== shard);
      const newer = await this.#countElsewhere(away, state);
      if (newer !== null) return newer;
      const own = parts.filter((part) => !away.includes(part));
      const [only] = own;
      // A ledger of an earlier release takes one, not in a list.
      const sent = own.length === 1 && only !== undefined ? only : own;
      const answer = await learning(
        this.#splits,
        shard,
        async (known): Promise<unknown> => this.#at(shard).asideSent(id, sent, state, known),
      );
      if (answer !== REFUSED) return answer;
    }
  }

  /** @returns null: they are counted; or newer jobs. */
  async #countElsewhere(parts: readonly MessageCount[], state: string): Promise<unknown> {
    if (parts.length === 0) return null;
    const done = parts.map((part) => ({ ...part, bytes: 0 }));
    const answer = await countAtHomes({ done, failed: [], backlog: null, state }, this.#splits, (part, shard, known) =>
      this.#at(shard).count(part, known),
    );
    const { newer } = partlyOf(answer, done);
    if (newer === undefined) throw new Error("a shard of the ledger did not count");
    return newer;
  }

  /** As the method of each shard; the limit is for all: what some do not need, others have. */
  async asideToAsk(limit: number): Promise<{ messages: AsideToAsk[]; jobs: number[] }> {
    type ToAsk = { messages: AsideToAsk[]; jobs: number[] };
    const each = Math.ceil(limit / this.#splits.shards().length);
    const all = await this.#each((shard, known) => shard.asideToAsk(each, known) as Promise<ToAsk>);
    const full = [...all].filter(([, { messages }]) => messages.length >= each);
    const spare = [...all.values()].reduce((left, { messages }) => left - messages.length, limit);
    const more = each + Math.floor(Math.max(0, spare) / full.length);
    for (const [shard] of more > each ? full : []) {
      const answer = await learning(
        this.#splits,
        shard,
        (known) => this.#at(shard).asideToAsk(more, known) as Promise<ToAsk>,
      );
      if (answer !== REFUSED) all.set(shard, answer);
    }
    return {
      messages: [...all].flatMap(([shard, { messages }]) =>
        messages.map((message) => ({ ...message, id: numberOf(shard, message.id) })),
      ),
      jobs: [...new Set([...all.values()].flatMap(({ jobs }) => jobs))],
    };
  }

  /** Takes the logs' answers. */
  async asideAsked(answers: readonly AsideAsked[]): Promise<void> {
    const parts = Map.groupBy(answers, ({ id }) => placeOf(id).shard);
    for (const [shard, part] of parts)
      await this.#at(shard).asideAsked(part.map((answer) => ({ ...answer, id: placeOf(answer.id).id })));
  }

  /** For one call. */
  #at(shard: number): Shard {
    this.#calls += 1;
    return ledgerShard(this.#namespace, shard);
  }

  /** An object that is only named would come into being. */
  async #exists(shard: number): Promise<boolean> {
    if (!this.#splits.shards().includes(shard)) await this.oldestUnfinishedMs();
    return this.#splits.shards().includes(shard);
  }

  /** As {@link LogShards.#each}, without the shards' numbers. */
  async #all<T>(ask: (stub: Shard, known: number) => Promise<T>): Promise<T[]> {
    return [...(await this.#each(ask)).values()];
  }

  /**
   * Asks every shard, each with the number of its splits that are known: one that has more names
   * them, and is asked again, as are those that it names. The first one answers last: what turns
   * out to be unreadable is noted in any shard and moves to that one, so it is seen in one of them.
   * @returns in the order of the shards.
   * @throws if any does not answer; all others were asked.
   */
  async #each<T>(ask: (stub: Shard, known: number) => Promise<T>): Promise<Map<number, T>> {
    const answers = new Map<number, T>();
    const errors = new Map<number, unknown>();
    for (;;) {
      const left = this.#splits.shards().filter((shard) => !answers.has(shard) && !errors.has(shard));
      if (left.length === 0) break;
      const open = left.length === 1 ? left : left.filter((shard) => shard !== ROOT);
      const told = await Promise.allSettled(
        open.map((shard) => learning(this.#splits, shard, (known) => ask(this.#at(shard), known))),
      );
      open.forEach((shard, i) => {
        const answer = told[i];
        if (answer?.status === "rejected") errors.set(shard, answer.reason);
        else if (answer !== undefined && answer.value !== REFUSED) answers.set(shard, answer.value);
      });
    }
    if (errors.size === 0) return new Map([...answers].sort(([a], [b]) => a - b));
    throw [...errors.values()].find((error) => error instanceof TimeoutError) ?? [...errors.values()][0];
  }
}

/** A single answer stays as it is. */
function joined(all: readonly (readonly FunctionCount[])[], bounds: TallyBounds): FunctionCount[] {
  const [first = [], ...others] = all;
  return others.length === 0 ? (first as FunctionCount[]) : joinCounts(all.flat(), bounds);
}

function numberOf(shard: number, id: number): number {
  return shard * ASIDE_NUMBERS + id;
}

function placeOf(number: number): { shard: number; id: number } {
  return { shard: Math.floor(number / ASIDE_NUMBERS), id: number % ASIDE_NUMBERS };
}
