import { APPEND_MAX_RAW_BYTES, APPEND_MIXED_RAW_BYTES, GROUP_HELD_BYTES } from "../../base/limits.ts";
import { errorText, inLogContext, log } from "../../base/logger.ts";
import { type Loaded, load } from "../../formats/queue/load-records.ts";
import { Delivery, FROM_FUTURE, isFromFuture, isOverdue, takenIds } from "../../formats/queue/retries.ts";
import { rulesOf } from "../job/build.ts";
import type { JobsSnapshot } from "../job/config.ts";
import type { QueueState } from "../log/append-types.ts";
import type { Noted } from "../log/redeliveries.ts";
import { putAside } from "../set-aside/put-aside.ts";
import { appendGroup } from "./append-group.ts";
import { type AsideCalls, BATCH_MS, bounded, boundedAside, Calls, type ConsumerContext } from "./context.ts";
import { IN_FLIGHT_MS, InFlight } from "./in-flight.ts";
import { parted } from "./poison-messages.ts";

/** Totals of a batch, for its log line. */
interface Totals {
  events: number;
  /** Jobs that took records. */
  jobs: Set<number>;
  /** Messages that only newer code can read. */
  newer: number;
}

/** What the queue says with a batch. */
interface BatchQueue extends QueueState {
  name: string;
}

/**
 * Handles a batch of the queue. A message is acknowledged after the log has its records, with what
 * each job ships of them. Messages are loaded one at a time and appended in groups of bounded size.
 * Every call has a deadline. A call that times out counts as failed; if it did succeed,
 * deduplication absorbs the retry.
 */
export async function consumeEvents(batch: MessageBatch<unknown>, context: ConsumerContext): Promise<void> {
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
      const consumption = new Consumption(queue, inFlight, within, calls, totals);
      await consumption.run(deliveries);
      const { again, untried } = consumption;
      const noted = [await expectAgain(again, within), await expectAgain(untried, within, "untried")].flat();
      const late = deliveries.filter(({ fate, attempts }) => fate === "retried" && attempts >= ANEW_AFTER);
      await unnoted(
        late.filter((delivery) => !noted.includes(delivery)),
        within,
      );
    } finally {
      held?.release();
      await inFlight.end();
      calls.end();
      logBatch(batch.queue, deliveries, totals, context.platform.now() - startedMs);
    }
  });
}

/** Handles a batch of the dead-letter queue: messages that failed a hundred times are set aside. */
export async function consumeDead(
  batch: MessageBatch<unknown>,
  context: AsideCalls & Pick<ConsumerContext, "callsMax" | "platform">,
): Promise<void> {
  const startedMs = context.platform.now();
  const deliveries = batch.messages.map((message) => new Delivery(message));
  const calls = new Calls(context.callsMax);
  const within = boundedAside(context, calls);
  await inLogContext({ batch_id: crypto.randomUUID() }, async () => {
    try {
      for (const delivery of deliveries) {
        await putAside(delivery, batch.queue, "failed too often", within);
      }
      await unnoted(
        deliveries.filter(({ fate }) => fate === "retried"),
        within,
      );
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
): BatchQueue {
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

/** One of a group: what the queue is told about, and the parts that are appended. */
interface Member {
  delivery: Delivery;
  parts: readonly Loaded[];
}

/** Messages of one shard that are appended together. */
interface Group {
  members: Member[];
  /** JSON of their records, in bytes. */
  size: number;
}

/** The control plane has never answered: the log decides by its own copy, and readers make all. */
const UNKNOWN: JobsSnapshot = { state: "", jobs: [], optOuts: [], shards: [] };

/** The work on one batch. */
class Consumption {
  readonly #queue: BatchQueue;
  readonly #inFlight: InFlight;
  readonly #context: ConsumerContext;
  readonly #calls: Calls;
  readonly #totals: Totals;
  readonly #groups = new Map<number, Group>();
  /** Messages that go back to the queue, and of which their shards do not know yet. */
  readonly again: Delivery[] = [];
  readonly untried: Delivery[] = [];
  #isFirst = true;
  #costliest = 0;

  /**
   * @param inFlight loses messages that are set aside.
   * @param calls those that `context` has made and may still make.
   */
  constructor(queue: BatchQueue, inFlight: InFlight, context: ConsumerContext, calls: Calls, totals: Totals) {
    this.#queue = queue;
    this.#inFlight = inFlight;
    this.#context = context;
    this.#calls = calls;
    this.#totals = totals;
  }

  async run(deliveries: readonly Delivery[]): Promise<void> {
    const jobs = (await this.#context.jobs()) ?? UNKNOWN;
    await this.#inFlight.ready();
    const trying = await this.#withoutSuspects(deliveries);
    const known = await this.#known(trying);
    const groupMax = groupMaxOf(jobs);
    for (const delivery of trying) {
      // A group is committed as a whole, and so are those that are begun. The first one always is,
      // so that each batch makes progress.
      if (this.#calls.left < this.#costliest * (this.#groups.size + 1)) {
        delivery.giveBack();
        this.untried.push(delivery);
        continue;
      }
      const loaded = await this.#loadOrDecide(delivery);
      if (loaded === null) continue;
      const parts = loaded.filter(({ message }) => !known.has(message.id));
      if (parts.length === 0) {
        delivery.ack();
        continue;
      }
      const size = parts.reduce((sum, part) => sum + part.size, 0);
      const before = this.#groups.get(delivery.shard);
      if (before !== undefined && before.size + size > groupMax) await this.#flush(delivery.shard, jobs);
      const group = this.#groups.get(delivery.shard) ?? { members: [], size: 0 };
      group.members.push({ delivery, parts });
      group.size += size;
      this.#groups.set(delivery.shard, group);
      // What all shards hold together is bounded as well.
      const all = [...this.#groups].reduce((sum, [, each]) => sum + each.size, 0);
      if (all > groupMax) await this.#flush(largest(this.#groups), jobs);
    }
    for (const shard of [...this.#groups.keys()]) await this.#flush(shard, jobs);
  }

  /**
   * Leaves out messages that earlier batches died with, or that are to be tried alone.
   * @returns those to be tried now. It is noted before that what becomes of the others.
   */
  async #withoutSuspects(deliveries: readonly Delivery[]): Promise<readonly Delivery[]> {
    const { now, later, hopeless, isAlone } = parted(deliveries, (delivery) => this.#inFlight.deathsOf(delivery));
    if (later.length > 0 || isAlone) log.warn("batches died with messages of this one", { trying: now.length });
    for (const delivery of later) delivery.giveBack();
    await expectAgain(later, this.#context, "untried");
    if (isAlone) await expectAgain(now, this.#context, "alone");
    for (const delivery of hopeless) await this.#putAside(delivery, "batches died with it, and so it did alone");
    return now;
  }

  /**
   * Which parts of messages that were delivered before a shard has already: nothing is made of them
   * again. Parts with a key go by their copy. A shard that does not answer is asked by the append.
   */
  async #known(deliveries: readonly Delivery[]): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    const redelivered = deliveries.filter(({ attempts }) => attempts > 1);
    for (const [shard, own] of Map.groupBy(redelivered, (delivery) => delivery.shard)) {
      const parts = takenIds(own).filter(({ keyed }) => !keyed);
      if (parts.length === 0) continue;
      try {
        const answer = await this.#context.known(shard, parts);
        if (!Array.isArray(answer)) throw new Error("the log's answer is not a list");
        for (const id of answer) if (typeof id === "string") known.add(id);
      } catch (error) {
        log.warn("it is not known what the log has of messages that come again", { shard, error: errorText(error) });
      }
    }
    return known;
  }

  /** null: something else became of it than that its records are appended. */
  async #loadOrDecide(delivery: Delivery): Promise<readonly Loaded[] | null> {
    const nowMs = this.#context.platform.now();
    if (delivery.taken.some(({ takenInMs }) => isFromFuture(takenInMs, nowMs))) {
      await this.#putAside(delivery, FROM_FUTURE, FROM_FUTURE);
      return null;
    }
    const loading = load(delivery, this.#context.macKeys);
    if (loading.kind === "loaded") return loading.loaded;
    const since = delivery.taken.length === 0 ? [delivery.queuedMs] : delivery.taken.map((part) => part.takenInMs);
    if (loading.kind === "unreadable" || since.some((ms) => isOverdue(ms, nowMs))) {
      await this.#putAside(delivery, loading.why, loading.why);
      return null;
    }
    this.#totals.newer += 1;
    await this.#comeAgain(delivery);
    return null;
  }

  async #putAside(delivery: Delivery, why: string, unreadable?: string): Promise<void> {
    if (await this.#inFlight.letGo(delivery))
      await putAside(delivery, this.#queue.name, why, this.#context, unreadable);
    else delivery.retry();
  }

  async #flush(shard: number, jobs: JobsSnapshot): Promise<void> {
    const group = this.#groups.get(shard);
    this.#groups.delete(shard);
    if (group === undefined) return;
    const before = this.#calls.made;
    const commit = () => this.#commit(shard, group.members, jobs);
    // Requests, and another batch, wait for each other and for it.
    await (this.#context.memory?.during(GROUP_HELD_BYTES, commit) ?? commit());
    this.#isFirst = false;
    this.#costliest = Math.max(this.#costliest, this.#calls.made - before);
  }

  async #commit(shard: number, members: readonly Member[], jobs: JobsSnapshot): Promise<void> {
    const group = members.map(({ delivery, parts }) => ({ body: delivery.body as ArrayBuffer, parts }));
    try {
      const done = await appendGroup(shard, group, jobs, this.#queue, this.#isFirst, this.#context);
      this.#totals.events += done.events;
      for (const job of done.jobs) this.#totals.jobs.add(job);
      for (const { delivery } of members) delivery.ack();
    } catch (error) {
      // They come again. What the shard took all the same, it then knows.
      log.error("an append failed", { shard, error: errorText(error) });
      for (const { delivery } of members) await this.#comeAgain(delivery);
    }
  }

  /** @returns whether a copy of the message is in the queue, and the message is done. */
  async #sendAnew(delivery: Delivery): Promise<boolean> {
    try {
      await this.#context.expectAgain(delivery.shard, takenIds([delivery]), "returned");
      await this.#context.sendAnew(delivery.body as ArrayBuffer);
      delivery.ack();
      return true;
    } catch (error) {
      log.error("a message could not be sent anew", { error: errorText(error) });
      return false;
    }
  }

  async #comeAgain(delivery: Delivery): Promise<void> {
    const nowMs = this.#context.platform.now();
    if (delivery.taken.some(({ takenInMs }) => isOverdue(takenInMs, nowMs))) {
      await this.#putAside(delivery, "could not be processed for ten days");
      return;
    }
    const isKnown = delivery.taken.length > 0;
    if (isKnown && delivery.attempts >= ANEW_AFTER && (await this.#sendAnew(delivery))) return;
    delivery.retry();
    this.again.push(delivery);
  }
}

/**
 * Deliveries after which a message is sent anew, before the platform's hundred retries are used up.
 * The shard must know that it comes again: a new message is young to the queue.
 */
const ANEW_AFTER = 90;

/**
 * How large a group may be, in UTF-16 units of JSON: jobs of many rules make much of each record.
 */
function groupMaxOf({ jobs }: JobsSnapshot): number {
  const rules = new Set(jobs.map((job) => rulesOf(job) ?? job.id));
  return rules.size > RULES_AT_ONCE ? APPEND_MIXED_RAW_BYTES : APPEND_MAX_RAW_BYTES;
}

/** Jobs of so many rules make some 3 MB of 4 MB of records. */
const RULES_AT_ONCE = 4;

function largest(groups: ReadonlyMap<number, Group>): number {
  let [most, size] = [0, -1];
  for (const [shard, group] of groups) if (group.size > size) [most, size] = [shard, group.size];
  return most;
}

function bytesOf(deliveries: readonly Delivery[]): number {
  return deliveries.reduce((sum, { body }) => sum + (body instanceof ArrayBuffer ? body.byteLength : 0), 0);
}

/**
 * Nothing is claimed complete beyond these messages. Never throws. @returns those whose shards have
 * noted them.
 */
async function expectAgain(
  deliveries: readonly Delivery[],
  context: Pick<ConsumerContext, "expectAgain">,
  how: Noted = "returned",
): Promise<readonly Delivery[]> {
  const noted: Delivery[] = [];
  for (const [shard, own] of Map.groupBy(deliveries, (delivery) => delivery.shard)) {
    try {
      await context.expectAgain(shard, takenIds(own), how);
      noted.push(...own);
    } catch (error) {
      log.error("messages that come again could not be noted", { shard, error: errorText(error) });
    }
  }
  return noted;
}

/**
 * The same for messages that their shards do not know of, once the queue may say nothing of them
 * either: as dead letters. Never throws.
 */
async function unnoted(deliveries: readonly Delivery[], context: Pick<ConsumerContext, "unnoted">): Promise<void> {
  if (deliveries.length === 0) return;
  const taken = deliveries.map((delivery) => delivery.taken.map(({ takenInMs }) => takenInMs));
  try {
    await context.unnoted(Math.min(...taken.flatMap((own) => (own.length === 0 ? [0] : own))));
  } catch (error) {
    log.error("messages that come again could not be noted", { error: errorText(error) });
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
