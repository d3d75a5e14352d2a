import type { JobsSnapshot } from "../job/config.ts";
import { APPEND_MAX_RAW_BYTES } from "../limits.ts";
import { errorText, inLogContext, log } from "../log.ts";
import { idOf } from "../object/build.ts";
import { type Loaded, load } from "../object/load.ts";
import { Patience } from "../platform.ts";
import { decodeEnvelope } from "../queue/message.ts";
import { giveBack, isOverdue, retry } from "../queue/redelivery.ts";
import { type AsideContext, putAside } from "../set-aside/keep.ts";
import type { TakenId } from "../storage/id-memory.ts";
import { bounded, boundedAside, Calls } from "./bounded.ts";
import { type ConsumerContext, commitAndCount, type QueueState } from "./commit.ts";
import { IN_HAND_MS, InHand, takenOf } from "./in-hand.ts";
import { Tally } from "./tally.ts";

/**
 * How long one batch is worked on, in ms; what is left then comes again. The platform ends the handler after fifteen minutes, and what it has
 * acknowledged by then counts for nothing. That is enough for a full batch and a hundred jobs, each of which compresses it on its own.
 */
const BATCH_MS = 600_000;

/**
 * Takes a batch of the queue: each message is acknowledged when every job that wants its records has committed them, and not before. Messages
 * are decoded one at a time, and committed in groups of a bounded size. Nobody is waited for for ever: whoever hangs is one that failed, and what he
 * may have done without saying so, he knows when the messages come again.
 */
export async function consumeEvents(batch: MessageBatch<unknown>, context: ConsumerContext): Promise<void> {
  const patience = new Patience(BATCH_MS);
  const calls = new Calls();
  const tally = new Tally(batch, context.platform.now());
  const within = tally.context(bounded(context, patience, calls));
  await inLogContext({ batch_id: crypto.randomUUID() }, async () => {
    const watched = tally.watch(batch);
    const inHand = new InHand(watched.messages, within);
    try {
      await expectAgain(await consume(watched, inHand, within, calls), within);
    } finally {
      await inHand.end();
      patience.end();
      tally.end(context.platform.now());
    }
  });
}

/**
 * @param inHand loses what is set aside.
 * @param calls that `context` has made, and may still make.
 * @returns messages that were given back to the queue, of which the ledger does not know yet.
 */
async function consume(
  batch: MessageBatch<unknown>,
  inHand: InHand,
  context: ConsumerContext,
  calls: Calls,
): Promise<readonly TakenId[]> {
  const jobs = await context.jobs();
  if (jobs === null) {
    for (const delivery of batch.messages) retry(delivery);
    return batch.messages.flatMap(takenOf);
  }
  const metrics: MessageBatchMetrics | undefined = batch.metadata?.metrics;
  const queue = { name: batch.queue, backlog: metrics?.backlogCount ?? null, doneMs: queueDoneMs(batch, metrics) };
  await inHand.ready();
  const again: TakenId[] = [];
  let group: Loaded[] = [];
  let bytes = 0;
  let before = calls.made;
  let costliest = 0;
  let full = false;
  let isFirst = true;
  const flush = async (): Promise<void> => {
    if (group.length > 0) again.push(...(await commitGroup(group, jobs, { ...queue, isFirst }, context)));
    isFirst &&= group.length === 0;
    group = [];
    bytes = 0;
    costliest = Math.max(costliest, calls.made - before);
    before = calls.made;
    // Half a group would be of no use. The first one is always begun: some of each batch is done.
    full = calls.left < costliest;
  };
  for (const delivery of batch.messages) {
    const loaded = full ? "full" : await loadOrDecide(delivery, batch.queue, inHand, context);
    if (loaded === "retried") again.push(...takenOf(delivery));
    if (loaded === "decided" || loaded === "retried") continue;
    if (loaded !== "full" && bytes + loaded.size > APPEND_MAX_RAW_BYTES) await flush();
    if (loaded === "full" || full) {
      giveBack(delivery);
      again.push(...takenOf(delivery));
      continue;
    }
    group.push(loaded);
    bytes += loaded.size;
  }
  await flush();
  return again;
}

/** Nothing may be claimed complete beyond what has to come again. Never throws. */
async function expectAgain(messages: readonly TakenId[], context: ConsumerContext): Promise<void> {
  if (messages.length === 0) return;
  try {
    await context.expectAgain(messages);
  } catch (error) {
    log.error("what has to come again could not be noted", { error: errorText(error) });
  }
}

/** Takes a batch of the dead-letter queue: what failed a hundred times is kept, counted, and in nobody's way. */
export async function consumeDead(
  batch: MessageBatch<unknown>,
  context: AsideContext & Pick<ConsumerContext, "platform">,
): Promise<void> {
  const patience = new Patience(BATCH_MS);
  const tally = new Tally(batch, context.platform.now());
  const within = tally.aside(boundedAside(context, patience, new Calls()));
  await inLogContext({ batch_id: crypto.randomUUID() }, async () => {
    try {
      for (const delivery of tally.watch(batch).messages)
        await putAside(delivery, batch.queue, "failed too often", within);
    } finally {
      patience.end();
      tally.end(context.platform.now());
    }
  });
}

/**
 * Before when nothing waits any more, this batch included: the oldest of its own messages, or an older one that still waits. Where the queue does not
 * say what waits, or has a backlog and does not say how old it is, nothing can be said: 0.
 */
function queueDoneMs(batch: MessageBatch<unknown>, metrics: MessageBatchMetrics | undefined): number {
  // The runtime says 1970 where nothing waits.
  const waiting = metrics?.oldestMessageTimestamp?.getTime() || undefined;
  if (waiting === undefined && metrics?.backlogCount !== 0) return 0;
  const own = batch.messages
    .map(({ body }) => decodeEnvelope(body))
    .flatMap((envelope) => (envelope.ok ? [envelope.value.takenInMs] : []));
  return own.length === 0 ? 0 : Math.min(waiting ?? Number.POSITIVE_INFINITY, ...own) - IN_HAND_MS;
}

/** @returns the message with its records; or what became of it, as there are none to be had. */
async function loadOrDecide(
  delivery: Message<unknown>,
  queue: string,
  inHand: InHand,
  context: ConsumerContext,
): Promise<Loaded | "decided" | "retried"> {
  const aside = async (why: string): Promise<"decided"> => {
    if (await inHand.letGo(delivery)) await putAside(delivery, queue, why, context, why);
    else retry(delivery);
    return "decided";
  };
  try {
    const loading = await load(delivery, context.blobs);
    if (loading.kind === "loaded") return loading.loaded;
    if (loading.kind === "unreadable") return await aside(loading.why);
    // Its records are dropped when all jobs have them and it is counted: it came again because an acknowledgement was lost.
    const taken = idOf(loading.message);
    const counted: unknown = await context.counted([taken]);
    if (!Array.isArray(counted)) throw new Error("the ledger's answer is no list");
    if (!counted.includes(taken.id)) return await aside("refers to records that are not there");
    delivery.ack();
    return "decided";
  } catch (error) {
    log.error("a message could not be loaded", { error: errorText(error) });
    retry(delivery);
    return "retried";
  }
}

/** @returns messages that were given back to the queue, of which the ledger does not know yet. */
async function commitGroup(
  group: readonly Loaded[],
  jobs: JobsSnapshot,
  queue: QueueState,
  context: ConsumerContext,
): Promise<readonly TakenId[]> {
  const { failed, noted } = await commitAndCount(group, jobs, queue, context);
  for (const { delivery, message } of group) {
    if (!failed.has(message.id)) {
      await dropRecords(message, context);
      delivery.ack();
    } else if (isOverdue(message.takenInMs, context.platform.now())) {
      await putAside(delivery, queue.name, "could not be processed for ten days", context);
    } else {
      retry(delivery);
    }
  }
  return noted ? [] : group.filter(({ message }) => failed.has(message.id)).map(({ message }) => idOf(message));
}

/** All jobs have them. */
async function dropRecords({ elsewhere }: Loaded["message"], { blobs }: ConsumerContext): Promise<void> {
  if (elsewhere === null) return;
  try {
    await blobs.drop(elsewhere);
  } catch (error) {
    log.warn("records are left to be swept", { error: errorText(error) });
  }
}
