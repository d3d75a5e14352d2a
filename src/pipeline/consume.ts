import { createHash } from "node:crypto";
import { concat } from "../bytes.ts";
import { type JobConfig, type JobsSnapshot, wasIn } from "../control/job-config.ts";
import type { MessageCount, Outcome, SetAsideMessage } from "../control/ledger.ts";
import type { Append, AppendedMessage } from "../delivery/types.ts";
import { utcDay } from "../intake/events.ts";
import { decodeEnvelope, decodeMessage, type Message as EventMessage } from "../intake/message.ts";
import { APPEND_MAX_RAW_BYTES } from "../limits.ts";
import { type Platform, settled, within } from "../platform.ts";
import { recordEncoder } from "../record/encode.ts";
import type { TraceRecord } from "../record/fields.ts";
import type { TakenId } from "../storage/id-memory.ts";
import { FragmentBuilder } from "./fragment.ts";
import { isOverdue, retryDelayS } from "./policy.ts";

/** What the handler needs of the world. */
export interface ConsumerContext {
  /** The configuration in force; null: it has never been read. */
  jobs(): Promise<JobsSnapshot | null>;
  /** Commits an append once, asking first for messages that may be in already; `stale` says that the job has changed. */
  append(
    job: JobConfig,
    build: (without: ReadonlySet<string>) => Append,
    suspects: readonly TakenId[],
  ): Promise<{ kind: "taken" } | { kind: "stale"; job: JobConfig }>;
  /**
   * Counts what was committed; a snapshot: there is a newer configuration, nothing was counted, and the messages must be offered to its jobs, too.
   */
  count(outcome: Outcome): Promise<JobsSnapshot | null>;
  setAside(message: SetAsideMessage): Promise<void>;
  platform: Pick<Platform, "now">;
}

/** A delivered message whose records are in memory. */
interface Loaded {
  delivery: Message<unknown>;
  message: EventMessage;
  records: TraceRecord[];
}

/** Appends of one group that are built and under way side by side: each holds its job's share of the group in memory. */
const COMMITS_AT_ONCE = 8;

/** How long a log may take to commit an append, in ms. One that comes late is no harm: when the message comes again, its id is known. */
const APPEND_MS = 30_000;

/** How often an append is built again for a job that keeps changing, before the message is left to a later delivery. */
const REBUILDS_MAX = 5;

/**
 * Takes a batch of the queue: each message is acknowledged when every job that wants its records has committed them, and not before. Messages
 * are decoded one at a time, and committed in groups of a bounded size.
 */
export async function consumeEvents(batch: MessageBatch<unknown>, context: ConsumerContext): Promise<void> {
  const jobs = await context.jobs();
  if (jobs === null) {
    for (const delivery of batch.messages) retry(delivery);
    return;
  }
  const metrics: MessageBatchMetrics | undefined = batch.metadata?.metrics;
  const queue = { name: batch.queue, backlog: metrics?.backlogCount ?? null, doneMs: queueDoneMs(batch, metrics) };
  let group: Loaded[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (group.length > 0) await commitGroup(group, jobs, queue, context);
    group = [];
    bytes = 0;
  };
  for (const delivery of batch.messages) {
    const loaded = load(delivery);
    if (typeof loaded === "string") {
      await putAside(delivery, batch.queue, loaded, context);
      continue;
    }
    const size = loaded.message.lines.reduce((sum, line) => sum + line.length, 0);
    if (bytes + size > APPEND_MAX_RAW_BYTES) await flush();
    group.push(loaded);
    bytes += size;
  }
  await flush();
}

/** Takes a batch of the dead-letter queue: what failed a hundred times is kept, counted, and in nobody's way. */
export async function consumeDead(
  batch: MessageBatch<unknown>,
  context: Pick<ConsumerContext, "setAside">,
): Promise<void> {
  for (const delivery of batch.messages) await putAside(delivery, batch.queue, "failed too often", context);
}

/** What the queue says of itself with a batch. */
interface QueueState {
  name: string;
  /** Messages that wait behind this batch. */
  backlog: number | null;
  /** As in {@link Append}. */
  doneMs: number;
}

/** What other consumers have in hand, and intake is sending, is younger than this, in ms; what fails longer the ledger remembers. */
const IN_HAND_MS = 60_000;

/**
 * Before when nothing waits any more, this batch included: the oldest of its own messages, or an older one that still waits. Where the queue has a
 * backlog and does not say how old it is, nothing can be said.
 */
function queueDoneMs(batch: MessageBatch<unknown>, metrics: MessageBatchMetrics | undefined): number {
  // The runtime says 1970 where nothing waits.
  const waiting = metrics?.oldestMessageTimestamp?.getTime() || undefined;
  if (waiting === undefined && (metrics?.backlogCount ?? 0) > 0) return 0;
  const own = batch.messages
    .map(({ body }) => decodeEnvelope(body))
    .flatMap((envelope) => (envelope.ok ? [envelope.value.takenInMs] : []));
  return own.length === 0 ? 0 : Math.min(waiting ?? Number.POSITIVE_INFINITY, ...own) - IN_HAND_MS;
}

/** Intake wrote it, and the checksum says that it arrived so; whoever else may write to the queue must not stop it. */
function readRecord(line: string): TraceRecord | null {
  try {
    const record = JSON.parse(line) as TraceRecord | null;
    return Number.isSafeInteger(record?.EventTimestampMs) ? record : null;
  } catch {
    return null;
  }
}

/** @returns the records, or why they cannot be read. */
function load(delivery: Message<unknown>): Loaded | string {
  const decoded = decodeMessage(delivery.body);
  if (!decoded.ok) return decoded.why;
  const records: TraceRecord[] = [];
  for (const line of decoded.value.lines) {
    const record = readRecord(line);
    if (record === null) return "holds a line that is no record";
    records.push(record);
  }
  return { delivery, message: decoded.value, records };
}

async function commitGroup(
  group: readonly Loaded[],
  jobs: JobsSnapshot,
  queue: QueueState,
  context: ConsumerContext,
): Promise<void> {
  const failed = await commitAndCount(group, jobs, queue, context);
  for (const { delivery, message } of group) {
    if (!failed.has(message.id)) {
      delivery.ack();
    } else if (isOverdue(message.takenInMs, context.platform.now())) {
      await putAside(delivery, queue.name, "could not be processed for ten days", context);
    } else {
      retry(delivery);
    }
  }
}

/**
 * Each id once. The queue may deliver a message twice in one batch, and a repeated request sends its ids again, stamped with another time: which
 * copy counts, is for each job to say.
 */
function once(group: readonly Loaded[]): Loaded[] {
  const byId = new Map<string, Loaded>();
  for (const loaded of group) if (!byId.has(loaded.message.id)) byId.set(loaded.message.id, loaded);
  return [...byId.values()];
}

/** @returns the ids of messages that must come again. */
async function commitAndCount(
  group: readonly Loaded[],
  jobs: JobsSnapshot,
  queue: QueueState,
  context: ConsumerContext,
): Promise<ReadonlySet<string>> {
  let current = jobs;
  for (let rounds = 0; rounds < REBUILDS_MAX; rounds++) {
    const { routed, failed } = await commitAll(group, current.jobs, queue.doneMs, context);
    const messages = once(group).map(({ message }) => message);
    try {
      const newer = await context.count({
        done: messages.filter(({ id }) => !failed.has(id)).map((message) => countOf(message, routed.has(message.id))),
        failed: messages.filter(({ id }) => failed.has(id)).map(idOf),
        backlog: queue.backlog,
        state: current.state,
      });
      if (newer === null) return failed;
      current = newer;
    } catch (error) {
      // The logs have the records, and will say so when the messages come again: it is the count that still has to be made.
      console.error({ message: "counting failed", error: String(error) });
      break;
    }
  }
  return new Set(group.map(({ message }) => message.id));
}

/** The messages that were taken in while the job was enabled, each id once. */
function offeredTo(job: JobConfig, group: readonly Loaded[]): Loaded[] {
  return once(group.filter(({ message }) => wasIn(job, message.takenInMs)));
}

/** Offers messages to every job that was enabled when they were taken in. */
async function commitAll(
  group: readonly Loaded[],
  jobs: readonly JobConfig[],
  doneMs: number,
  context: ConsumerContext,
): Promise<{ routed: Set<string>; failed: Set<string> }> {
  const wanted = jobs
    .map((job) => ({ job, messages: offeredTo(job, group) }))
    .filter((entry) => entry.messages.length > 0);
  const results = await settled(wanted, COMMITS_AT_ONCE, (entry) => commit(entry.job, entry.messages, doneMs, context));
  const failed = new Set<string>();
  const routed = new Set<string>();
  wanted.forEach((entry, i) => {
    const result = results[i];
    if (result?.status === "fulfilled") for (const { message } of result.value) routed.add(message.id);
    if (result?.status === "rejected") {
      for (const { message } of entry.messages) failed.add(message.id);
      console.error({ message: "append failed", job: entry.job.id, error: String(result.reason) });
    }
  });
  return { routed, failed };
}

function countOf(message: EventMessage, routed: boolean): MessageCount {
  const { records } = message;
  return {
    ...idOf(message),
    events: records,
    routed: routed ? records : 0,
    notEnabled: 0,
    notRouted: routed ? 0 : records,
  };
}

/** Commits messages to one job's log. @returns those that it was to get, as it is by now. @throws if the log cannot be reached or the job changes faster than appends are built. */
async function commit(
  job: JobConfig,
  group: readonly Loaded[],
  queueDoneMs: number,
  context: ConsumerContext,
): Promise<readonly Loaded[]> {
  let current = job;
  for (let builds = 0; builds < REBUILDS_MAX; builds++) {
    const offered = offeredTo(current, group);
    if (offered.length === 0) return offered;
    const version = current;
    const suspects = offered.filter(({ delivery }) => delivery.attempts > 1).map(({ message }) => message);
    const build = (without: ReadonlySet<string>) => buildAppend(version, offered, without, queueDoneMs);
    const result = await within(APPEND_MS, context.append(version, build, suspects.map(idOf)), null);
    if (result === null) throw new Error("the log does not answer");
    if (result.kind === "taken") return offered;
    current = result.job;
  }
  throw new Error("the job changed too often");
}

/** What a job gets of these messages: pure. */
export function buildAppend(
  job: JobConfig,
  messages: readonly Pick<Loaded, "message" | "records">[],
  without: ReadonlySet<string>,
  queueDoneMs: number,
): Append {
  const encode = recordEncoder(job.output.fieldNames);
  const builder = new FragmentBuilder();
  const appended: AppendedMessage[] = [];
  for (const { message, records } of messages) {
    if (without.has(message.id)) continue;
    for (const record of records) {
      builder.add(encode(record), utcDay(record.EventTimestampMs), record.EventTimestampMs, message.takenInMs);
    }
    appended.push({ ...idOf(message), received: records.length, filtered: 0, sampledOut: 0 });
  }
  return { version: job.version, messages: appended, fragments: builder.finish(), queueDoneMs };
}

function idOf({ id, takenInMs, keyed }: TakenId): TakenId {
  return { id, takenInMs, keyed };
}

function retry(delivery: Message<unknown>): void {
  delivery.retry({ delaySeconds: retryDelayS(delivery.attempts) });
}

/** Hands a message to the account's keeping; if even that fails, it stays in the queue. */
async function putAside(
  delivery: Message<unknown>,
  queue: string,
  why: string,
  context: Pick<ConsumerContext, "setAside">,
): Promise<void> {
  const body = bytesOf(delivery.body);
  const decoded = decodeMessage(delivery.body);
  const taken = decoded.ok
    ? idOf(decoded.value)
    : // Nothing that it says of itself can be believed: its bytes tell who it is, whenever it comes again, and it counts as one event.
      {
        id: createHash("sha256").update(body).digest("hex").slice(0, 32),
        takenInMs: delivery.timestamp.getTime(),
        keyed: true,
      };
  const events = decoded.ok ? decoded.value.records : 1;
  try {
    await context.setAside({ taken, queue, why, events, message: body.slice().buffer });
    delivery.ack();
  } catch (error) {
    console.error({ message: "setting a message aside failed", error: String(error) });
    retry(delivery);
  }
}

function bytesOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  let text: string;
  try {
    text = typeof body === "string" ? body : (JSON.stringify(body) ?? String(body));
  } catch {
    text = String(body);
  }
  return concat([new TextEncoder().encode(text)]);
}
