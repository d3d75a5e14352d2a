import type { JobsSnapshot } from "../job/config.ts";
import type { Memory } from "../memory.ts";
import { answered, Patience, type Platform, TimeoutError } from "../platform.ts";
import { type Blobs, shardOf } from "../queue/blob-store.ts";
import type { Debt } from "../queue/debt.ts";
import type { SealKey } from "../queue/seal.ts";
import type { AsideContext } from "../set-aside/keep.ts";
import type { TakenId } from "../storage/id-memory.ts";
import { ROOT } from "../storage/splits.ts";
import {
  countAtHomes,
  countedAtHomes,
  expectAgainAtHomes,
  type HomeCalls,
  setAsideAtHome,
} from "../trace-log/homes.ts";
import { type KnownSplits, splitsIn } from "../trace-log/known-splits.ts";
import type { Noted, NotedMessage } from "../trace-log/trace-log.ts";
import { type Arrivals, ComesAgainError, type CommitContext } from "./commit.ts";
import type { SilentLogs } from "./silent-logs.ts";

/** What the queue handler calls. */
export interface ConsumerContext extends AsideContext, Omit<CommitContext, "owe"> {
  /** The configuration in force; null: it has never been read. */
  jobs(): Promise<JobsSnapshot | null>;
  /** Which of these messages were counted. Nothing is left to do for them. */
  counted(ids: readonly TakenId[]): Promise<readonly string[]>;
  /**
   * Notes messages, so that nothing is claimed complete beyond them.
   * @returns unchecked: those of which deliveries were killed, if they are begun.
   */
  expectAgain(messages: readonly NotedMessage[], how: Noted): Promise<unknown>;
  arrivals: Arrivals;
  /**
   * Keeps what jobs could not take until they can.
   * @throws if it is not kept.
   */
  owe(debts: readonly Debt[]): Promise<void>;
  /** Logs that did not answer other batches of this isolate. */
  silent: SilentLogs;
  blobs: Pick<Blobs, "get" | "drop">;
  /** Where the batch, and each group of its messages, is noted; absent: nowhere. */
  memory?: Pick<Memory, "hold" | "during">;
  /** Of the seals of messages; absent: none is known, and each message is parsed. */
  sealKeys?: readonly SealKey[];
  /** Calls that one invocation may make. */
  callsMax: number;
  platform: Pick<Platform, "now">;
}

/** The same as the service provides it: with the ledger's shards as they are. */
export interface ConsumerCalls extends Omit<ConsumerContext, keyof HomeCalls>, HomeCalls {
  /** What is known of them. */
  splits: KnownSplits;
}

/** The part of it that sets messages aside. */
export type AsideCalls = Pick<ConsumerCalls, "setAside" | "asideAs" | "splits" | "blobs">;

/**
 * Deadlines of the calls, in ms. Answers usually take a fraction of a second. A message whose call
 * times out comes again. The call may still succeed later, which is harmless for the reason given
 * with each:
 */
const DEADLINE_MS = {
  /**
   * The message is owed to the job then. When it is paid, the log knows the message's id if it took
   * it after all, and it refuses an append that was built for an older job.
   */
  append: 2_000,
  /** Debts are kept once, by the message's id. */
  owe: 10_000,
  /** The ledger counts each id once, and keeps no note of what it has counted. */
  count: 10_000,
  /** A read changes nothing. */
  counted: 10_000,
  get: 10_000,
  /** The ledger keeps and counts a message once, by its id or its bytes. */
  setAside: 10_000,
  /** All jobs have these records. What is not dropped is swept later. */
  drop: 5_000,
  /** As with `count`. */
  expectAgain: 5_000,
};

/** Each shard times out on its own. */
const ledger = (shard: number): string => (shard === ROOT ? "the ledger" : `shard ${shard} of the ledger`);

/**
 * How long a batch is worked on, in ms; the rest comes again. The platform ends the handler after
 * 300 s of CPU time (`limits.cpu_ms` in wrangler.jsonc), and ignores its acknowledgements then. CPU
 * time cannot be measured, but is never more than this, and the group under way; what is left is
 * for that. It is enough for a full batch and a hundred jobs of different rules, each of which
 * compresses it on its own.
 */
export const BATCH_MS = 240_000;

/**
 * Calls in reserve, as a share of all: for the notes, of which each shard of the ledger gets its
 * own, for the segments of a log, and for a log that is behind its job.
 */
const CALLS_KEPT = 0.1;

/**
 * The calls of one batch, counted: beyond the platform's limit every call fails, the note of what
 * comes again included.
 */
export class Calls {
  readonly patience = new Patience(BATCH_MS);
  readonly #max: number;
  #made = 0;

  /** @param max that one invocation may make. */
  constructor(max: number) {
    this.#max = Math.floor(max * (1 - CALLS_KEPT));
  }

  get made(): number {
    return this.#made;
  }

  get left(): number {
    return this.#max - this.#made;
  }

  /** @throws if none is left. */
  make(): void {
    if (this.left <= 0) throw new ComesAgainError("the batch has used up its calls");
    this.#made += 1;
  }

  /** From the reserve, if need be. */
  makeAnyway(): void {
    this.#made += 1;
  }

  /**
   * Makes a call with a deadline. One that is refused as its callee timed out before does not
   * count.
   */
  ask<T>(callee: string, ms: number, call: () => Promise<T>): Promise<T> {
    return this.patience.answer(callee, ms, () => {
      this.make();
      return call();
    });
  }

  end(): void {
    this.patience.end();
  }
}

/**
 * The same context with deadlines and a limited number of calls. A callee that timed out is not
 * called again.
 */
export function bounded(context: ConsumerCalls, calls: Calls): ConsumerContext {
  const aside = boundedAside(context, calls);
  const { splits } = context;
  const begun = { ids: new Set<string>(), answers: [] as unknown[] };
  return {
    // It has a deadline of its own, and an answer for when that passes.
    jobs() {
      calls.make();
      return context.jobs();
    },
    async append(job, build, messages) {
      const { silent } = context;
      const nowMs = context.platform.now();
      if (silent.isPassedOver(job.id, nowMs)) throw new TimeoutError(`the log of job ${job.id}`, DEADLINE_MS.append);
      try {
        const result = await calls.patience.answer(`the log of job ${job.id}`, DEADLINE_MS.append, async () => {
          if (messages.some(({ isSuspect }) => isSuspect)) calls.make();
          // Each build is sent.
          const counting: typeof build = (without) => {
            calls.make();
            return build(without);
          };
          return context.append(job, counting, messages);
        });
        silent.answered(job.id);
        return result;
      } catch (error) {
        if (error instanceof TimeoutError) silent.didNotAnswer(job.id, nowMs);
        throw error;
      }
    },
    owe: (debts) => calls.ask("the debts", DEADLINE_MS.owe, () => context.owe(debts)),
    silent: context.silent,
    ...(context.memory && { memory: context.memory }),
    count: (outcome) =>
      countAtHomes(outcome, splits, (part, shard, known) =>
        calls.ask(ledger(shard), DEADLINE_MS.count, () => context.count(part, shard, known)),
      ),
    counted: (ids) =>
      countedAtHomes(ids, splits, (part, shard, known) =>
        calls.ask(ledger(shard), DEADLINE_MS.counted, () => context.counted(part, shard, known)),
      ),
    // Called in any case, from the reserve: it is the last thing to do for these messages. That a
    // message was begun is noted once: a shard that does not answer must not have all others asked
    // again.
    async expectAgain(messages, how) {
      const isOnce = how === "begun";
      const open = isOnce ? messages.filter(({ id }) => !begun.ids.has(id)) : messages;
      const answers = await expectAgainAtHomes(open, splits, async (part, shard, known) => {
        calls.makeAnyway();
        const asked = context.expectAgain(part, shard, known, how);
        const answer = await answered(ledger(shard), DEADLINE_MS.expectAgain, asked);
        if (isOnce && splitsIn(answer) === undefined) {
          for (const { id } of part) begun.ids.add(id);
          begun.answers.push(answer);
        }
        return answer;
      });
      return isOnce ? begun.answers.flat() : answers;
    },
    arrivals: {
      handsOverRecent: () => context.arrivals.handsOverRecent(),
      // Optional: skipped when no call is left.
      show(records) {
        if (calls.left <= 0) return;
        calls.make();
        context.arrivals.show(records);
      },
    },
    ...aside,
    blobs: {
      ...aside.blobs,
      drop: (key) => calls.ask(blobsOf(key), DEADLINE_MS.drop, () => context.blobs.drop(key)),
    },
    ...(context.sealKeys && { sealKeys: context.sealKeys }),
    callsMax: context.callsMax,
    platform: context.platform,
  };
}

/** The part of it that sets messages aside. */
export function boundedAside({ setAside, asideAs, splits, blobs }: AsideCalls, calls: Calls): AsideContext {
  return {
    setAside: (message) =>
      setAsideAtHome(message, splits, {
        setAside: (part, shard, known) =>
          calls.ask(ledger(shard), DEADLINE_MS.setAside, () => setAside(part, shard, known)),
        asideAs: (notes, shard, known) =>
          calls.ask(ledger(shard), DEADLINE_MS.setAside, () => asideAs(notes, shard, known)),
      }),
    blobs: { get: (key) => calls.ask(blobsOf(key), DEADLINE_MS.get, () => blobs.get(key)) },
  };
}

/** Each shard times out on its own. */
function blobsOf(key: string): string {
  return `blobs ${shardOf(key)}`;
}
