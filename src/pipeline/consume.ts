import type { JobsSnapshot } from "../job/config.ts";
import { APPEND_MAX_RAW_BYTES, GROUP_HELD_BYTES } from "../limits.ts";
import { errorText, inLogContext, log } from "../log.ts";
import { type Loaded, load } from "../object/load.ts";
import type { Debt } from "../queue/debt.ts";
import { Delivery, FROM_FUTURE, isFromFuture, isOverdue, takenIds } from "../queue/delivery.ts";
import { type AsideContext, putAside, putAsideUnread } from "../set-aside/keep.ts";
import type { Noted } from "../trace-log/trace-log.ts";
import { commitAndCount, type Owing } from "./commit.ts";
import {
  type AsideCalls,
  BATCH_MS,
  bounded,
  boundedAside,
  Calls,
  type ConsumerCalls,
  type ConsumerContext,
} from "./context.ts";
import { IN_FLIGHT_MS, InFlight } from "./in-flight.ts";
import { parted } from "./suspects.ts";

/** Totals of a batch, for its log line. */
interface Totals {
  events: number;
  /** Jobs that took records. */
  jobs: Set<number>;
  /** Messages that only newer code can read. */
  newer: number;
}

/** What the queue says with a batch. */
interface QueueState {
  name: string;
  /** Messages that wait behind this batch. */
  backlog: number | null;
  /** Their size, in bytes. */
  backlogBytes: number | null;
  /** As in {@link Append}. */
  doneMs: number;
}

/**
 * Handles a batch of the queue. A message is acknowledged after every job that wants its records
 * has committed them. Messages are loaded one at a time and committed in groups of bounded size.
 * Every call has a deadline. A call that times out counts as failed; if it did succeed,
 * deduplication absorbs the retry.
 */
export async function consumeEvents(batch: MessageBatch<unknown>, context: ConsumerCalls): Promise<void> {
  const startedMs = context.platform.now();
  const deliveries = batch.messages.map((message) => new Delivery(message));
  const calls = new Calls(context.callsMax);
  const within = bounded(context, calls);
  const totals: Totals = { events: 0, jobs: new Set(), newer: 0 };
  const held = context.memory?.hold(bytesOf(deliveries), BATCH_MS);
  await inLogContext({ batch_id: crypto.randomUUID() }, async () => {
    const inFlight = new InFlight(deliveries, within);
    try {
      const queue = queueOf(batch, deliveries, startedMs);
      const { again, untried } = await consume(deliveries, queue, inFlight, within, calls, totals);
      await expectAgain(again, within);
      await expectAgain(untried, within, "untried");
    } finally {
      held?.release();
      await inFlight.end();
      calls.end();
      logBatch(batch.queue, deliveries, totals, context.platform.now() - startedMs);
    }
  });
}

/** Deliveries of a dead letter before it is kept unread: reading it may kill the handler. */
const DEAD_READ_MAX = 3;

/** Handles a batch of the dead-letter queue: messages that failed a hundred times are set aside. */
export async function consumeDead(
  batch: MessageBatch<unknown>,
  context: AsideCalls & Pick<ConsumerCalls, "callsMax" | "platform">,
): Promise<void> {
  const startedMs = context.platform.now();
  const deliveries = batch.messages.map((message) => new Delivery(message));
  const calls = new Calls(context.callsMax);
  const within = boundedAside(context, calls);
  await inLogContext({ batch_id: crypto.randomUUID() }, async () => {
    try {
      for (const delivery of deliveries) {
        const keep = delivery.attempts > DEAD_READ_MAX ? putAsideUnread : putAside;
        await keep(delivery, batch.queue, "failed too often", within);
      }
    } finally {
      calls.end();
      logBatch(batch.queue, deliveries, { events: 0, jobs: new Set(), newer: 0 }, context.platform.now() - startedMs);
    }
  });
}

function queueOf(
  { queue, metadata }: MessageBatch<unknown>,
  deliveries: readonly Delivery[],
  nowMs: number,
): QueueState {
  const metrics: MessageBatchMetrics | undefined = metadata?.metrics;
  return {
    name: queue,
    backlog: metrics?.backlogCount ?? null,
    backlogBytes: metrics?.backlogBytes ?? null,
    doneMs: queueDoneMs(deliveries, metrics, nowMs),
  };
}

/**
 * Nothing older waits any more, this batch included: the time of its oldest message, or of an older
 * one that still waits. 0, unknown, where the queue does not say what waits, or has a backlog and
 * does not say how old it is. No time that it or a message says counts beyond now.
 */
function queueDoneMs(deliveries: readonly Delivery[], metrics: MessageBatchMetrics | undefined, nowMs: number): number {
  // The runtime says 1970 where nothing waits.
  const waiting = metrics?.oldestMessageTimestamp?.getTime() || undefined;
  if (waiting === undefined && metrics?.backlogCount !== 0) return 0;
  const own = takenIds(deliveries).map(({ takenInMs }) => takenInMs);
  return own.length === 0 ? 0 : Math.min(nowMs, waiting ?? Number.POSITIVE_INFINITY, ...own) - IN_FLIGHT_MS;
}

/** Messages that go back to the queue, and of which the ledger does not know yet. */
interface Returned {
  again: readonly Delivery[];
  untried: readonly Delivery[];
}

/**
 * @param inFlight loses messages that are set aside.
 * @param calls those that `context` has made and may still make.
 */
async function consume(
  deliveries: readonly Delivery[],
  queue: QueueState,
  inFlight: InFlight,
  context: ConsumerContext,
  calls: Calls,
  totals: Totals,
): Promise<Returned> {
  const jobs = await context.jobs();
  await inFlight.ready();
  if (jobs === null) {
    for (const delivery of deliveries) delivery.retry();
    return { again: [], untried: deliveries };
  }
  const trying = await withoutSuspects(deliveries, queue.name, inFlight, context);
  const again: Delivery[] = [];
  const untried: Delivery[] = [];
  let group: Member[] = [];
  let size = 0;
  let before = calls.made;
  let costliest = 0;
  let full = false;
  let isFirst = true;
  const flush = async (): Promise<void> => {
    const commit = () => commitGroup(group, jobs, { ...queue, isFirst }, context, totals);
    // Requests, and another batch, wait for each other and for it.
    if (group.length > 0) again.push(...(await (context.memory?.during(GROUP_HELD_BYTES, commit) ?? commit())));
    isFirst &&= group.length === 0;
    group = [];
    size = 0;
    costliest = Math.max(costliest, calls.made - before);
    before = calls.made;
    // A group is committed as a whole. The first one is always begun, so that each batch makes
    // progress.
    full = calls.left < costliest;
  };
  for (const delivery of trying) {
    const loaded = full ? "full" : await loadOrDecide(delivery, queue.name, inFlight, context, totals);
    if (loaded === "retried") again.push(delivery);
    if (loaded === "decided" || loaded === "retried") continue;
    const more = loaded === "full" ? 0 : loaded.reduce((sum, part) => sum + part.size, 0);
    if (size + more > APPEND_MAX_RAW_BYTES) await flush();
    if (loaded === "full" || full) {
      delivery.giveBack();
      untried.push(delivery);
      continue;
    }
    group.push({ delivery, loaded });
    size += more;
  }
  await flush();
  return { again, untried };
}

/**
 * Leaves out messages that earlier batches died with, or that are to be spared their company.
 * @returns those to be tried now. It is noted before that what becomes of the others.
 */
async function withoutSuspects(
  deliveries: readonly Delivery[],
  queue: string,
  inFlight: InFlight,
  context: AsideContext & Pick<ConsumerContext, "expectAgain">,
): Promise<readonly Delivery[]> {
  const { now, later, hopeless, isAlone } = parted(deliveries, (delivery) => inFlight.deathsOf(delivery));
  if (later.length > 0 || isAlone) log.warn("batches died with messages of this one", { trying: now.length });
  for (const delivery of later) delivery.giveBack();
  await expectAgain(later, context, "untried");
  if (isAlone) await expectAgain(now, context, "alone");
  for (const delivery of hopeless) {
    if (await inFlight.letGo(delivery))
      await putAsideUnread(delivery, queue, "batches died with it, and so it did alone", context);
    else delivery.retry();
  }
  return now;
}

function bytesOf(deliveries: readonly Delivery[]): number {
  return deliveries.reduce((sum, { body }) => sum + (body instanceof ArrayBuffer ? body.byteLength : 0), 0);
}

/** Nothing is claimed complete beyond these messages. Never throws. */
async function expectAgain(
  deliveries: readonly Delivery[],
  context: Pick<ConsumerContext, "expectAgain">,
  how: Noted = "returned",
): Promise<void> {
  if (deliveries.length === 0) return;
  try {
    await context.expectAgain(takenIds(deliveries), how);
  } catch (error) {
    log.error("messages that come again could not be noted", { error: errorText(error) });
  }
}

/** @returns the parts of the message with their records; or what became of it without them. */
async function loadOrDecide(
  delivery: Delivery,
  queue: string,
  inFlight: InFlight,
  context: AsideContext & Pick<ConsumerContext, "counted" | "platform" | "sealKeys">,
  totals: Totals,
): Promise<readonly Loaded[] | "decided" | "retried"> {
  const aside = async (why: string): Promise<"decided"> => {
    if (await inFlight.letGo(delivery)) await putAside(delivery, queue, why, context, why);
    else delivery.retry();
    return "decided";
  };
  const nowMs = context.platform.now();
  if (delivery.taken.some(({ takenInMs }) => isFromFuture(takenInMs, nowMs))) return await aside(FROM_FUTURE);
  try {
    const loading = await load(delivery, context.blobs, context.sealKeys);
    if (loading.kind === "loaded") return loading.loaded;
    if (loading.kind === "newer" && !isOverdue(delivery.queuedMs, context.platform.now())) {
      totals.newer += 1;
      delivery.retry();
      return "retried";
    }
    if (loading.kind !== "missing") return await aside(loading.why);
    // Records are dropped after they are committed and counted: then the message came again as its
    // acknowledgement was lost.
    const counted: unknown = await context.counted(takenIds([delivery]));
    if (!Array.isArray(counted)) throw new Error("the ledger's answer is not a list");
    if (!delivery.taken.every(({ id }) => counted.includes(id)))
      return await aside("refers to records that are not there");
    delivery.ack();
    return "decided";
  } catch (error) {
    log.error("a message could not be loaded", { error: errorText(error) });
    delivery.retry();
    return "retried";
  }
}

/** One of a group: what the queue is told about, and what is committed. */
interface Member {
  delivery: Delivery;
  /** Its parts. */
  loaded: readonly Loaded[];
}

/** @returns messages that go back to the queue, and of which the ledger does not know yet. */
async function commitGroup(
  group: readonly Member[],
  jobs: JobsSnapshot,
  queue: QueueState & { isFirst: boolean },
  context: Omit<ConsumerContext, "jobs" | "counted" | "expectAgain">,
  totals: Totals,
): Promise<readonly Delivery[]> {
  const messages = group.flatMap(({ loaded }) => loaded);
  const { failed, noted, ...done } = await commitAndCount(messages, jobs, queue, {
    ...context,
    owe: async (owing) => context.owe(await debtsOf(owing, group, context.blobs)),
  });
  totals.events += done.events;
  for (const job of done.jobs) totals.jobs.add(job);
  const again: Delivery[] = [];
  for (const { delivery, loaded } of group) {
    const waiting = loaded.filter(({ message }) => failed.has(message.id));
    if (waiting.length === 0) {
      await dropRecords(delivery, context.blobs);
      delivery.ack();
      continue;
    }
    if (!noted) again.push(delivery);
    const now = context.platform.now();
    if (!waiting.some(({ message }) => isOverdue(message.takenInMs, now))) delivery.retry();
    else await putAside(delivery, queue.name, "could not be processed for ten days", context);
  }
  return again;
}

/**
 * What is to be kept for jobs: whole messages, as the queue delivered them, whichever part it is.
 */
async function debtsOf(
  owing: readonly Owing[],
  group: readonly Member[],
  blobs: Pick<ConsumerContext["blobs"], "get">,
): Promise<Debt[]> {
  const byPart = new Map(owing.map((part) => [part.id, part]));
  const debts: Debt[] = [];
  for (const { delivery, loaded } of group) {
    const parts = loaded.flatMap(({ message }) => byPart.get(message.id) ?? []);
    const [taken] = delivery.taken;
    if (parts.length === 0 || taken === undefined || !delivery.envelope.ok) continue;
    const { elsewhere } = delivery.envelope.value;
    const blob = elsewhere === null ? null : await blobs.get(elsewhere);
    if (elsewhere !== null && blob === null) throw new Error("the records of a message are gone");
    const records = new Map<number, number>();
    for (const { jobs } of parts) for (const job of jobs) records.set(job.id, (records.get(job.id) ?? 0) + job.records);
    debts.push({
      taken,
      body: delivery.body as ArrayBuffer,
      blob: blob === null ? null : (blob.slice().buffer as ArrayBuffer),
      jobs: [...records].map(([id, sum]) => ({ id, records: sum })),
      off: [...new Set(parts.flatMap(({ off }) => off))],
    });
  }
  return debts;
}

/** Drops records that all jobs have. */
async function dropRecords({ envelope }: Delivery, blobs: Pick<ConsumerContext["blobs"], "drop">): Promise<void> {
  const elsewhere = envelope.ok ? envelope.value.elsewhere : null;
  if (elsewhere === null) return;
  try {
    await blobs.drop(elsewhere);
  } catch (error) {
    log.warn("records are left to be swept", { error: errorText(error) });
  }
}

function logBatch(queue: string, deliveries: readonly Delivery[], { events, jobs, newer }: Totals, ms: number): void {
  if (newer > 0) log.warn("messages of a newer version went back to the queue", { queue, messages: newer });
  const count = (wanted: Delivery["fate"]): number => deliveries.filter(({ fate }) => fate === wanted).length;
  log.info("batch", {
    queue,
    messages: deliveries.length,
    events,
    acknowledged: count("acknowledged"),
    retried: count("retried"),
    set_aside: count("set_aside"),
    jobs: jobs.size,
    ms,
  });
}
