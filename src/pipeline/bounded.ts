import { SUBREQUESTS_MAX } from "../limits.ts";
import { answered, type Patience } from "../platform.ts";
import type { AsideContext } from "../set-aside/keep.ts";
import type { ConsumerContext } from "./commit.ts";

/**
 * How long each of those whom a batch asks may take, in ms. They answer within a fraction of a second, or something is wrong; a message whose
 * batch gives up on one of them comes again. What was asked for may be done all the same, late, and that is no harm:
 */
const BOUND_MS = {
  /** When the message comes again, the log knows its id; and what was built for a job that has changed by then it refuses. */
  append: 30_000,
  /** The ledger knows the ids as well, and counts each once. What it notes as coming again, it notes only as long as it is not counted. */
  count: 10_000,
  /** Nothing changes by being read. */
  counted: 10_000,
  get: 10_000,
  /** A message is kept and counted once, by its id or its bytes. */
  setAside: 10_000,
  /** All jobs have these records, and nobody asks for them again. Those that are not dropped are swept one day. */
  drop: 5_000,
  /** As with what is noted when it counts. */
  expectAgain: 5_000,
};

const LEDGER = "the ledger";

/** Calls that are kept for what must be noted at the end, and for what is not seen from here: the segments of a log, and a log that is behind its job. */
const CALLS_KEPT = 100;

/** The calls that one batch makes: beyond what the platform allows, every one of them would fail, and with it the note of what has to come again. */
export class Calls {
  #made = 0;

  get made(): number {
    return this.#made;
  }

  get left(): number {
    return SUBREQUESTS_MAX - CALLS_KEPT - this.#made;
  }

  /** @throws if there are none left: nobody is to be asked. */
  make(): void {
    if (this.left <= 0) throw new Error("the batch has made all the calls that it may");
    this.#made += 1;
  }
}

/** The world of a batch, which nothing in it can hold up: each answer is bounded, whoever hangs is asked once, and the calls are counted. */
export function bounded(context: ConsumerContext, patience: Patience, calls: Calls): ConsumerContext {
  const { platform } = context;
  const ask = asking(patience, calls);
  const aside = boundedAside(context, patience, calls);
  return {
    // Bounded where it is asked, as it has an answer of its own where there is none.
    jobs() {
      calls.make();
      return context.jobs();
    },
    append: (job, build, suspects) =>
      patience.answer(`the log of job ${job.id}`, BOUND_MS.append, async () => {
        if (suspects.length > 0) calls.make();
        // What is built is sent.
        const counting: typeof build = (without) => {
          calls.make();
          return build(without);
        };
        return context.append(job, counting, suspects);
      }),
    count: (outcome) => ask(LEDGER, BOUND_MS.count, () => context.count(outcome)),
    counted: (ids) => ask(LEDGER, BOUND_MS.counted, () => context.counted(ids)),
    // Asked whatever came before: it is the last that can be done for these messages, and calls are kept for it.
    expectAgain: (messages) => answered(LEDGER, BOUND_MS.expectAgain, context.expectAgain(messages)),
    arrivals: {
      handsOverRecent: () => context.arrivals.handsOverRecent(),
      // Nothing waits for it. Where no call is left for it, the others are worth more.
      show(records) {
        if (calls.left <= 0) return;
        calls.make();
        context.arrivals.show(records);
      },
    },
    ...aside,
    blobs: {
      ...aside.blobs,
      drop: (key) => ask(shardOf(key), BOUND_MS.drop, () => context.blobs.drop(key)),
    },
    platform,
  };
}

/** The same of what is needed to set messages aside. */
export function boundedAside({ setAside, blobs }: AsideContext, patience: Patience, calls: Calls): AsideContext {
  const ask = asking(patience, calls);
  return {
    setAside: (message) => ask(LEDGER, BOUND_MS.setAside, () => setAside(message)),
    blobs: { get: (key) => ask(shardOf(key), BOUND_MS.get, () => blobs.get(key)) },
  };
}

/** Whoever is known to be silent is not asked, and that is no call. */
function asking(patience: Patience, calls: Calls) {
  return <T>(who: string, ms: number, call: () => Promise<T>): Promise<T> =>
    patience.answer(who, ms, () => {
      calls.make();
      return call();
    });
}

/** The blob store is sixteen durable objects, told apart by the first digit of the key: if one hangs, the others do not. */
function shardOf(key: string): string {
  return `blobs ${key.charAt(0)}`;
}
