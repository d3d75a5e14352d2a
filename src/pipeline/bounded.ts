import { answered, type Patience } from "../platform.ts";
import type { AsideContext } from "./aside.ts";
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

/** The world of a batch, which nothing in it can hold up: each answer is bounded, and whoever hangs is asked once. */
export function bounded(context: ConsumerContext, patience: Patience): ConsumerContext {
  const { blobs, platform } = context;
  return {
    // Bounded where it is asked, as it has an answer of its own where there is none.
    jobs: () => context.jobs(),
    append: (job, build, suspects) =>
      patience.answer(`the log of job ${job.id}`, BOUND_MS.append, () => context.append(job, build, suspects)),
    count: (outcome) => patience.answer(LEDGER, BOUND_MS.count, () => context.count(outcome)),
    counted: (ids) => patience.answer(LEDGER, BOUND_MS.counted, () => context.counted(ids)),
    // Asked whatever came before: it is the last that can be done for these messages.
    expectAgain: (messages) => answered(LEDGER, BOUND_MS.expectAgain, context.expectAgain(messages)),
    ...boundedAside(context, patience),
    blobs: {
      ...boundedAside(context, patience).blobs,
      drop: (key) => patience.answer(shardOf(key), BOUND_MS.drop, () => blobs.drop(key)),
    },
    platform,
  };
}

/** The same of what is needed to set messages aside. */
export function boundedAside({ setAside, blobs }: AsideContext, patience: Patience): AsideContext {
  return {
    setAside: (message) => patience.answer(LEDGER, BOUND_MS.setAside, () => setAside(message)),
    blobs: { get: (key) => patience.answer(shardOf(key), BOUND_MS.get, () => blobs.get(key)) },
  };
}

/** The blob store is sixteen durable objects, told apart by the first digit of the key: if one hangs, the others do not. */
function shardOf(key: string): string {
  return `blobs ${key.charAt(0)}`;
}
