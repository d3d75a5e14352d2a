import type { Memory } from "../../base/memory.ts";
import { answered, Patience, type Platform } from "../../base/platform.ts";
import type { DedupId } from "../../base/storage/dedup-index.ts";
import type { MacKey } from "../../formats/queue/mac.ts";
import type { JobsSnapshot } from "../job/config.ts";
import { SHARD_BUSY, SHARD_NOT_READY } from "../log/append-types.ts";
import type { Noted, NotedMessage } from "../log/redeliveries.ts";
import type { AsideContext } from "../set-aside/put-aside.ts";
import { ComesAgainError, type CommitContext } from "./append-group.ts";

/** What the queue handler calls. */
export interface ConsumerContext extends AsideContext, CommitContext {
  /** The configuration in force, for what is prepared; null: it has never been read. */
  jobs(): Promise<JobsSnapshot | null>;
  /**
   * Which of these parts, without a key, a shard has: nothing is left to do for them. Unchecked.
   */
  known(shard: number, parts: readonly DedupId[]): Promise<unknown>;
  /**
   * Notes parts, so that nothing is claimed complete beyond them.
   * @returns unchecked: those of which deliveries were killed, if they are begun.
   */
  expectAgain(shard: number, parts: readonly NotedMessage[], how: Noted): Promise<unknown>;
  /**
   * Tells the control plane of messages that their shards do not know of. @param takenInMs of the
   * oldest part; 0: unknown.
   */
  unnoted(takenInMs: number): Promise<unknown>;
  /** Sends the bytes of a message to the queue once more. */
  sendAnew(message: ArrayBuffer): Promise<unknown>;
  /** Where the batch, and each group of its messages, is noted; absent: nowhere. */
  memory?: Pick<Memory, "hold" | "during">;
  /** Of the seals of messages; absent: none is known, and each message is parsed. */
  macKeys?: readonly MacKey[];
  /** Calls that one invocation may make. */
  callsMax: number;
  platform: Pick<Platform, "now" | "sleep">;
}

/**
 * Deadlines of the calls, in ms. Answers usually take a fraction of a second. A message whose call
 * times out comes again. The call may still succeed later, which is harmless: a shard takes each
 * part once, and keeps no note of what it has.
 */
const DEADLINE_MS = { append: 10_000, known: 5_000, hold: 10_000, expectAgain: 5_000, unnoted: 5_000, sendAnew: 5_000 };

/** Each shard times out on its own. */
const log = (shard: number): string => `log ${shard}`;

/**
 * How long a batch is worked on, in ms; the rest comes again. The platform ends the handler after
 * 300 s of CPU time (`limits.cpu_ms` in wrangler.jsonc), and ignores its acknowledgements then. CPU
 * time cannot be measured, but is never more than this, and the group under way; what is left is
 * for that. It is enough for a full batch and a hundred jobs of different rules, each of which
 * compresses it on its own.
 */
export const BATCH_MS = 240_000;

/** Waits before a shard that is busy, or has no configuration yet, is asked again, in ms. */
const AGAIN_MS = [200, 1_000, 3_000];

/** Calls in reserve, as a share of all: for the notes, of which each shard gets its own. */
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
export function bounded(context: ConsumerContext, calls: Calls): ConsumerContext {
  const begun = { ids: new Set<string>(), answers: [] as unknown[] };
  return {
    // It has a deadline of its own, and an answer for when that passes.
    jobs() {
      calls.make();
      return context.jobs();
    },
    // One that is busy says so at once: the messages' attempts are not spent on it.
    async append(shard, append) {
      const ask = () => calls.ask(log(shard), DEADLINE_MS.append, () => context.append(shard, append));
      for (const delayMs of AGAIN_MS) {
        try {
          return await ask();
        } catch (error) {
          if (!isPassing(error)) throw error;
          await context.platform.sleep(delayMs);
        }
      }
      return ask();
    },
    ...(context.memory && { memory: context.memory }),
    known: (shard, parts) => calls.ask(log(shard), DEADLINE_MS.known, () => context.known(shard, parts)),
    // Called in any case, from the reserve: it is the last thing to do for these messages. That a
    // message was begun is noted once: a shard that does not answer must not have all others asked
    // again.
    async expectAgain(shard, parts, how) {
      const isOnce = how === "begun";
      const open = isOnce ? parts.filter(({ id }) => !begun.ids.has(id)) : parts;
      if (open.length === 0) return begun.answers.flat();
      calls.makeAnyway();
      const answer = await answered(log(shard), DEADLINE_MS.expectAgain, context.expectAgain(shard, open, how));
      if (!isOnce) return answer;
      for (const { id } of open) begun.ids.add(id);
      begun.answers.push(answer);
      return begun.answers.flat();
    },
    sendAnew: (message) => calls.ask("the queue", DEADLINE_MS.sendAnew, () => context.sendAnew(message)),
    ...boundedAside(context, calls),
    ...(context.macKeys && { macKeys: context.macKeys }),
    callsMax: context.callsMax,
    platform: context.platform,
  };
}

/** What dead letters need of it. */
export type AsideCalls = Pick<ConsumerContext, "hold" | "unnoted">;

/** The part of it that sets messages aside. */
export function boundedAside({ hold, unnoted }: AsideCalls, calls: Calls): AsideCalls {
  return {
    hold: (shard, message) => calls.ask(log(shard), DEADLINE_MS.hold, () => hold(shard, message)),
    // From the reserve, and once in a batch.
    unnoted(takenInMs) {
      calls.makeAnyway();
      return answered("the control plane", DEADLINE_MS.unnoted, unnoted(takenInMs));
    },
  };
}

function isPassing(error: unknown): boolean {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === "string" && (message.startsWith(SHARD_BUSY) || message.startsWith(SHARD_NOT_READY));
}
