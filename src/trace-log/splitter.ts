import type { JobsSnapshot } from "../job/config.ts";
import { CLOCK_AHEAD_MAX_MS, LEDGER_SPLIT_BYTES, LEDGER_SPLIT_PER_SECOND } from "../limits.ts";
import { type IdMemory, rememberedMs, type TakenId } from "../storage/id-memory.ts";
import { childOf, isBeyond, nextBit, type Split } from "../storage/splits.ts";
import type { JobsCopy } from "./jobs-copy.ts";
import { MeanRate } from "./mean-rate.ts";
import type { OwnSplits } from "./own-splits.ts";
import type { Redeliveries } from "./redeliveries.ts";

/** When a shard is split; see src/limits.ts. Tests override it. */
export const SPLIT_AT = {
  perSecond: LEDGER_SPLIT_PER_SECOND,
  bytes: LEDGER_SPLIT_BYTES,
  /**
   * By how much it must have grown since the last sweep, a day ago at most, to count as growing.
   */
  growing: 1.01,
  /**
   * By how much it must have grown since its last split to be split for its size again: ids from
   * before a split stay for 15 days.
   */
  grown: 1.5,
  /** Deadline of a new shard that is given what it must know, in ms. */
  childMs: 10_000,
};

/** Minutes over which the load is averaged. */
const LOAD_MINUTES = 5;

/** From the decision to the first message of the child, in ms, at least. */
const AHEAD_MS = 60_000;

/** Wait after a split that was not made, in ms. */
const AGAIN_MS = 60_000;

/**
 * Messages from further in the future than clocks explain that are handed on with a split. They are
 * forged, each is set aside whole, and there are hardly any.
 */
const KNOWN_MAX = 10_000;

/** What a child is given before it takes its first message. */
export interface Inheritance {
  shard: number;
  jobs: JobsSnapshot;
  /** As in {@link TraceLog.watchedUntil}. */
  watchedUntilMs: number;
  /** Messages that its parent has taken, though by their times they would be the child's. */
  known: readonly TakenId[];
}

export interface Plan {
  split: Split;
  child: number;
  inheritance: Inheritance;
  /** How many splits there were before. */
  before: number;
}

/** What the splitter reads and changes, each in its own tables. */
export interface Parts {
  storage: DurableObjectStorage;
  splits: OwnSplits;
  ids: Pick<IdMemory, "known" | "remember" | "newestMs" | "since">;
  jobs: JobsCopy;
  redeliveries: Redeliveries;
}

/**
 * Decides when a shard of the ledger hands half of its messages on, and does so in two steps: the
 * child is given what it must know ({@link Splitter.plan}, {@link Splitter.begin}); then the split
 * is stored, if nothing of that has changed meanwhile ({@link Splitter.make}).
 */
export class Splitter {
  readonly #of: Parts;
  #load = new MeanRate(LOAD_MINUTES);
  #notBeforeMs = 0;
  #underWay = false;

  constructor(parts: Parts) {
    this.#of = parts;
  }

  /**
   * Measures. What no split hands on does not count, nor what the last one could not: that has not
   * begun yet, or a backlog comes that was taken in before it.
   */
  taken(messages: readonly TakenId[], nowMs: number): void {
    const sinceMs = this.#of.splits.all().at(-1)?.fromMs ?? 0;
    this.#load.add(messages.filter((each) => !each.keyed && rememberedMs(each) >= sinceMs).length, nowMs);
  }

  /** There is more than one object should take. */
  isDue(nowMs: number): boolean {
    if (this.#underWay || nowMs < this.#notBeforeMs) return false;
    return (this.#load.perSecond(nowMs) ?? 0) >= SPLIT_AT.perSecond;
  }

  /** The shard is too large, and grows. @param sweptBytes its size at the last sweep. */
  isTooLarge(sweptBytes: number, nowMs: number): boolean {
    if (this.#underWay || nowMs < this.#notBeforeMs) return false;
    const bytes = this.#of.storage.sql.databaseSize;
    const last = this.#of.splits.all().at(-1);
    return (
      bytes >= Math.max(SPLIT_AT.bytes, (last?.bytes ?? 0) * SPLIT_AT.grown) &&
      bytes >= sweptBytes * SPLIT_AT.growing &&
      nowMs >= (last?.fromMs ?? 0)
    );
  }

  /**
   * Splits the shard, with the child's help.
   * @param begin gives the child what it must know; it has a deadline. @returns the state of the
   *   jobs that the child has then.
   * @returns the child; null: the shard is as small as it gets.
   * @throws whatever it throws. Nothing has changed then, and it is tried again in a minute.
   */
  async split(
    begin: (child: number, inheritance: Inheritance) => Promise<unknown>,
    now: () => number,
  ): Promise<number | null> {
    this.#underWay = true;
    this.#notBeforeMs = now() + AGAIN_MS;
    try {
      const plan = this.plan(now());
      if (plan === null) return null;
      const state = await begin(plan.child, plan.inheritance);
      if (state !== plan.inheritance.jobs.state) throw new Error("the new shard has other jobs");
      if (!this.make(plan, now())) throw new Error("what the new shard was given has changed meanwhile");
      return plan.child;
    } finally {
      this.#underWay = false;
    }
  }

  /** null: it is as small as it gets. */
  plan(nowMs: number): Plan | null {
    const { splits, ids, jobs, redeliveries } = this.#of;
    const { shard, watchedUntilMs } = this.#of.storage.sql
      .exec<{ shard: number; watchedUntilMs: number }>("SELECT shard, watched_until_ms AS watchedUntilMs FROM account")
      .one();
    const bit = nextBit(shard, splits.all());
    if (bit === null) return null;
    const untilMs = nowMs + CLOCK_AHEAD_MAX_MS;
    const newestMs = Math.max(ids.newestMs(untilMs), redeliveries.newestMs(untilMs));
    // Whole minutes, as that is how ids are remembered.
    const fromMs = Math.ceil(Math.max(nowMs, newestMs) / 60_000) * 60_000 + AHEAD_MS;
    const split = { bit, fromMs };
    const child = childOf(shard, bit);
    const known = this.#knownBeyond(split);
    if (known.length > KNOWN_MAX) throw new Error("too many messages from the future");
    return {
      split,
      child,
      inheritance: { shard: child, jobs: jobs.snapshot(), watchedUntilMs, known },
      before: splits.all().length,
    };
  }

  /** @returns false: the child was given what does not hold any more. */
  make({ split, inheritance, before }: Plan, nowMs: number): boolean {
    const { storage, splits, jobs, redeliveries } = this.#of;
    const isMade = storage.transactionSync(() => {
      const holds =
        splits.all().length === before &&
        jobs.state() === inheritance.jobs.state &&
        this.#knownBeyond(split).length === inheritance.known.length &&
        redeliveries.newestMs(nowMs + CLOCK_AHEAD_MAX_MS) < split.fromMs &&
        nowMs < split.fromMs;
      if (!holds) return false;
      // Notes of messages from the future: no claim reaches that far, and their deliveries note
      // them again.
      redeliveries.dropFrom(split.fromMs);
      splits.add({ ...split, bytes: storage.sql.databaseSize });
      return true;
    });
    if (isMade) this.#load = new MeanRate(LOAD_MINUTES);
    return isMade;
  }

  /** The child's side. What has come to it meanwhile stays. @returns the state of its jobs. */
  begin({ shard, jobs, watchedUntilMs, known }: Inheritance): JobsSnapshot["state"] {
    const { storage, ids, jobs: copy } = this.#of;
    return storage.transactionSync(() => {
      storage.sql.exec(
        "UPDATE account SET shard = ?, watched_until_ms = max(watched_until_ms, ?) WHERE id = 1",
        shard,
        watchedUntilMs,
      );
      const there = ids.known(known);
      ids.remember(known.filter(({ id }) => !there.has(id)));
      return copy.keep(jobs);
    });
  }

  /** Nearly always none: `fromMs` lies after all that was taken at a time that clocks explain. */
  #knownBeyond(split: Split): TakenId[] {
    const known: TakenId[] = [];
    for (const message of this.#of.ids.since(split.fromMs)) {
      if (isBeyond(message, split)) known.push(message);
      if (known.length > KNOWN_MAX) break;
    }
    return known;
  }
}
