import { TimeoutError } from "../../base/platform.ts";
import type { AccountStatus } from "./account-status.ts";
import type { OpenMessage } from "./blocks.ts";
import { type FunctionCount, joinCounts, TALLY_BOUNDS, type TallyBounds } from "./function-counts.ts";
import { type FunctionDay, joinedDays } from "./function-days.ts";
import { LISTED_BOUNDS } from "./function-hours.ts";
import { joinedVersions, type VersionSeen } from "./function-versions.ts";
import type { RanIn } from "./health-keys.ts";
import type { MonthUse } from "./month-use.ts";
import type { HeldEntry, HeldMessage } from "./on-hold.ts";
import { type Counted, joinedProblems, type ProblemList } from "./problems.ts";
import { sumOfStatus, sumOfUse } from "./sums.ts";
import { type TraceLog, traceLog } from "./trace-log.ts";

/** The number of a message on hold: its shard times this, and its number there. */
const HOLD_NUMBERS = 2 ** 40;

type Shard = DurableObjectStub<TraceLog>;
type LastEvent = { scriptName: string; lastEventMs: number };

/** Bindings by which the shards of the log are found and asked. */
export type LogBindings = Pick<Env, "TRACE_LOG" | "CONTROL">;

/** The shards of the log that have come into being, in order. */
export async function shardsOf({ CONTROL }: Pick<Env, "CONTROL">): Promise<number[]> {
  return CONTROL.getByName("control").shards();
}

/** The log, of however many shards: asks all of them, and adds up. */
export class LogShards {
  readonly #env: LogBindings;
  #shards: Promise<number[]> | null;

  /** @param shards absent: the control plane is asked. */
  constructor(env: LogBindings, shards?: readonly number[]) {
    this.#env = env;
    this.#shards = shards === undefined ? null : Promise.resolve([...shards]);
  }

  /** Their numbers, in order. */
  shards(): Promise<number[]> {
    this.#shards ??= shardsOf(this.#env);
    return this.#shards;
  }

  async status(): Promise<AccountStatus> {
    return sumOfStatus(await this.each((shard) => shard.accountStatus() as Promise<AccountStatus>));
  }

  /** The newest messages of each shard, oldest first. @param maxBytes of each. */
  async newest(maxBytes: number): Promise<OpenMessage[][]> {
    const pages = await this.each((shard) => shard.records(0, maxBytes, true) as Promise<{ messages: OpenMessage[] }>);
    return pages.map(({ messages }) => messages);
  }

  /** Events by function, over the last thirty days. */
  async functions(): Promise<FunctionCount[]> {
    return joined(await this.each((shard) => shard.functions() as Promise<FunctionCount[]>), LISTED_BOUNDS);
  }

  /** Events by function, today and yesterday (UTC). */
  async functionsLately(): Promise<FunctionCount[]> {
    return joined(await this.each((shard) => shard.functionsLately() as Promise<FunctionCount[]>), TALLY_BOUNDS);
  }

  /** As the method of each shard. */
  async lastEvents(scriptNames: readonly string[]): Promise<LastEvent[]> {
    const all = await this.each((shard) => shard.lastEvents(scriptNames) as Promise<LastEvent[]>);
    const last = new Map<string, number>();
    for (const { scriptName, lastEventMs } of all.flat())
      last.set(scriptName, Math.max(lastEventMs, last.get(scriptName) ?? 0));
    return [...last].map(([scriptName, lastEventMs]) => ({ scriptName, lastEventMs }));
  }

  /** Events of one function, over the last thirty days; null: there were none. */
  async functionCount(scriptName: string): Promise<FunctionCount | null> {
    const all = await this.each((shard) => shard.functionCount(scriptName) as Promise<FunctionCount | null>);
    const known = all.filter((count) => count !== null).map((count) => [count]);
    return joined(known, TALLY_BOUNDS)[0] ?? null;
  }

  /** As the method of each shard: an hour may be there several times. */
  async functionHours(scriptName: string, since: number, until: number): Promise<RanIn[]> {
    const ask = (shard: Shard) => shard.functionHours(scriptName, since, until) as Promise<unknown>;
    return ((await this.each(ask)) as RanIn[][]).flat();
  }

  /** As the method of each shard: a slot may be there several times. */
  async functionSlots(scriptName: string, since: number, until: number): Promise<RanIn[]> {
    const ask = (shard: Shard) => shard.functionSlots(scriptName, since, until) as Promise<unknown>;
    return ((await this.each(ask)) as RanIn[][]).flat();
  }

  /** The last day of each function. */
  async functionDays(): Promise<FunctionDay[]> {
    return joinedDays((await this.each((shard) => shard.functionDays() as Promise<FunctionDay[]>)).flat());
  }

  /** Versions of a function, the newest first. */
  async functionVersions(scriptName: string): Promise<VersionSeen[]> {
    const all = await this.each((shard) => shard.functionVersions(scriptName) as Promise<VersionSeen[]>);
    return joinedVersions(all.flat());
  }

  /** @param scriptName those of this function; absent: all. */
  async problems(scriptName?: string): Promise<ProblemList> {
    return joinedProblems(await this.each((shard) => shard.problems(scriptName) as Promise<ProblemList<Counted>>));
  }

  /** As the method of each shard. */
  async drive(jobs?: readonly number[]): Promise<void> {
    await this.each((shard) => shard.drive(jobs));
  }

  async monthUse(): Promise<MonthUse | null> {
    return sumOfUse(await this.each((shard) => shard.monthUse() as Promise<MonthUse | null>));
  }

  /**
   * A page of the messages on hold, shard by shard, each with its oldest first; and how many there
   * are in all.
   */
  async holdList(offset: number, limit: number): Promise<{ entries: HeldEntry[]; total: number }> {
    const entries: HeldEntry[] = [];
    let total = 0;
    for (const shard of await this.shards()) {
      const page = await this.#at(shard).holdList(Math.max(0, offset - total), limit - entries.length);
      entries.push(
        ...(page.entries as HeldEntry[]).map((entry) => ({ ...entry, id: shard * HOLD_NUMBERS + entry.id })),
      );
      total += page.total;
    }
    return { entries, total };
  }

  /** null: it is not on hold (any more). */
  async holdMessage(number: number): Promise<HeldMessage | null> {
    const { shard, id } = placeOf(number);
    if (!(await this.#exists(shard))) return null;
    const message = (await this.#at(shard).holdMessage(id)) as HeldMessage | null;
    return message === null ? null : { ...message, id: number };
  }

  /** As the method of its shard. */
  async holdDiscard(number: number): Promise<number | null> {
    const { shard, id } = placeOf(number);
    return (await this.#exists(shard)) ? this.#at(shard).holdDiscard(id) : null;
  }

  /** The shard of a message on hold, and its number there. */
  holder(number: number): { shard: Shard; id: number } {
    const { shard, id } = placeOf(number);
    return { shard: this.#at(shard), id };
  }

  /**
   * Asks every shard.
   * @returns in the order of the shards.
   * @throws if any does not answer; all were asked.
   */
  async each<T>(ask: (stub: Shard, shard: number) => Promise<T>): Promise<T[]> {
    const shards = await this.shards();
    const told = await Promise.allSettled(shards.map(async (shard) => ask(this.#at(shard), shard)));
    const errors = told.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
    if (errors.length > 0) throw errors.find((error) => error instanceof TimeoutError) ?? errors[0];
    return told.map((answer) => (answer as PromiseFulfilledResult<T>).value);
  }

  #at(shard: number): Shard {
    return traceLog(this.#env.TRACE_LOG, shard);
  }

  /** An object that is only named would come into being. */
  async #exists(shard: number): Promise<boolean> {
    return (await this.shards()).includes(shard);
  }
}

/** A single answer stays as it is. */
function joined(all: readonly (readonly FunctionCount[])[], bounds: TallyBounds): FunctionCount[] {
  const [first = [], ...others] = all;
  return others.length === 0 ? (first as FunctionCount[]) : joinCounts(all.flat(), bounds);
}

function placeOf(number: number): { shard: number; id: number } {
  return { shard: Math.floor(number / HOLD_NUMBERS), id: number % HOLD_NUMBERS };
}
