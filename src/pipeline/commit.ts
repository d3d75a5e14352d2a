import type { FunctionCount, MessageCount, Outcome } from "../account/ledger.ts";
import { type CommitCount, readWatched, type Work } from "../account/outcome.ts";
import type { RecentRecords } from "../account/recent.ts";
import { type JobConfig, type JobsSnapshot, optedOut, wasIn } from "../job/config.ts";
import { readJobConfig, readSnapshot } from "../job/snapshot.ts";
import { errorText, log } from "../log.ts";
import type { CommitAppend } from "../object/append.ts";
import { appendsOf, buildAppend, idOf, type Offered } from "../object/build.ts";
import type { Loaded } from "../object/load.ts";
import { type Platform, settled } from "../platform.ts";
import type { Blobs } from "../queue/blob-store.ts";
import type { AsideContext } from "../set-aside/keep.ts";
import type { TakenId } from "../storage/id-memory.ts";
import { type Arrived, arrivedOf } from "./live.ts";
import { recentOf } from "./recent.ts";

/** What committing a group takes. */
export interface CommitContext {
  append: CommitAppend;
  count: CommitCount;
  /** Where copies of what arrives are shown and held; absent: nowhere. */
  arrivals?: Arrivals;
}

export interface Arrivals {
  /** Whether recent records are handed over for previews, with the next count. Asking takes the turn. */
  handsOverRecent(): boolean;
  /** Sends records to those that watch. Returns at once, and never throws. */
  show(records: Arrived): void;
}

/** What the handler of the queue needs. */
export interface ConsumerContext extends AsideContext, CommitContext {
  /** The configuration in force; null: it has never been read. */
  jobs(): Promise<JobsSnapshot | null>;
  /** Which of these were counted: nothing is left to do for them. */
  counted(ids: readonly TakenId[]): Promise<readonly string[]>;
  /** Notes messages that have to come again, so that nothing is claimed to be complete beyond them. */
  expectAgain(messages: readonly TakenId[]): Promise<void>;
  arrivals: Arrivals;
  blobs: Pick<Blobs, "get" | "drop">;
  platform: Pick<Platform, "now">;
}

/** What the queue says of itself with a batch. */
export interface QueueState {
  name: string;
  /** Messages that wait behind this batch. */
  backlog: number | null;
  /** As in {@link Append}. */
  doneMs: number;
  /** Whether a batch begins with this group. */
  isFirst: boolean;
}

/** Appends of one group that are built and under way side by side: each holds its job's share of the group in memory, and an isolate has 128 MB (docs/costs.md). */
const COMMITS_AT_ONCE = 3;

/** How often an append is built again for a job that keeps changing, before the message is left to a later delivery. */
const REBUILDS_MAX = 5;

/**
 * Offers a group of messages to every job, and counts what became of them.
 * @returns the ids of messages that must come again, and whether the ledger has noted that of them.
 */
export async function commitAndCount(
  group: readonly Loaded[],
  jobs: JobsSnapshot,
  queue: Pick<QueueState, "backlog" | "doneMs" | "isFirst">,
  context: CommitContext,
): Promise<{ failed: ReadonlySet<string>; noted: boolean }> {
  let current = jobs;
  // What a log has taken stays as it was offered, and stays routed, though a later round may know of opt-outs, or of a discard, that this one did not.
  const routed = new Map<string, Offer>();
  const work: Work = { batches: queue.isFirst ? 1 : 0, appends: 0, offered: 0 };
  const handsOver = context.arrivals?.handsOverRecent() ?? false;
  for (let rounds = 0; rounds < REBUILDS_MAX; rounds++) {
    const offers = offersOf(group, current).map((offer) => {
      const before = routed.get(offer.message.id);
      return before?.loaded === offer.loaded ? before : offer;
    });
    const failed = await commitAll(offers, current, queue.doneMs, { routed, work }, context);
    const counted = unique(offers).map((offer) => routed.get(offer.message.id) ?? offer);
    const recent = handsOver ? recentOrNone(group, current) : null;
    try {
      const outcome: Outcome = {
        done: counted
          .filter(({ message }) => !failed.has(message.id))
          .map((offer) => countOf(offer, routed, recent?.get(offer.message.id))),
        failed: counted.filter(({ message }) => failed.has(message.id)).map(({ message }) => idOf(message)),
        backlog: queue.backlog,
        work,
        state: current.state,
      };
      const answer = await context.count(outcome);
      if (answer === null) return { failed, noted: true };
      const watched = readWatched(answer);
      if (watched !== null) {
        if (context.arrivals !== undefined) showOrNot(group, new Set(watched), current, context.arrivals);
        return { failed, noted: true };
      }
      const newer = readSnapshot(answer);
      if (newer === null) throw new Error("the ledger's answer is no configuration");
      current = newer;
    } catch (error) {
      // The logs have the records, and will say so when the messages come again: it is the count that still has to be made.
      log.error("counting failed", { error: errorText(error) });
      break;
    }
  }
  return { failed: new Set(group.map(({ message }) => message.id)), noted: false };
}

/** For previews, which are worth no delay. What goes wrong is named by its kind alone: its words may quote a record. */
function recentOrNone(group: readonly Loaded[], { optOuts }: JobsSnapshot): ReadonlyMap<string, RecentRecords> | null {
  try {
    return recentOf(group, optOuts);
  } catch (error) {
    const kind = error instanceof Error ? error.name : typeof error;
    log.error("recent records could not be handed over", { error: kind });
    return null;
  }
}

/** For those who watch, who are worth no delay either. */
function showOrNot(
  group: readonly Loaded[],
  ids: ReadonlySet<string>,
  { optOuts }: JobsSnapshot,
  arrivals: Arrivals,
): void {
  try {
    const arrived = arrivedOf(group, ids, optOuts);
    if (arrived.lines.length + arrived.leftOut > 0) arrivals.show(arrived);
  } catch (error) {
    const kind = error instanceof Error ? error.name : typeof error;
    log.error("records could not be shown as they arrived", { error: kind });
  }
}

/** A message on its way to the jobs. */
interface Offer extends Offered {
  loaded: Loaded;
}

/** What of each message the jobs are offered: records of functions whose logging was off when they were taken in are not. */
function offersOf(group: readonly Loaded[], { optOuts }: JobsSnapshot): Offer[] {
  const isOff = optedOut(optOuts);
  return group.map((loaded) => {
    const { message, records, ascii } = loaded;
    if (optOuts.length === 0) return { loaded, message, records, ascii };
    const kept = records.filter(({ whole }) => !isOff(whole.ScriptName, message.takenInMs));
    return { loaded, message, records: kept, ascii };
  });
}

/**
 * Each id once. The queue may deliver a message twice in one batch, and a repeated request sends its ids again, stamped with another time: which
 * copy counts, is for each job to say.
 */
function unique(offers: readonly Offer[]): Offer[] {
  const byId = new Map<string, Offer>();
  for (const offer of offers) if (!byId.has(offer.message.id)) byId.set(offer.message.id, offer);
  return [...byId.values()];
}

/** What a job is offered: what was taken in while it was enabled. */
function offeredTo(job: JobConfig, offers: readonly Offer[]): Offer[] {
  return unique(offers.filter(({ message, records }) => records.length > 0 && wasIn(job, message.takenInMs)));
}

/**
 * Offers messages to every job that was enabled when they were taken in.
 * @param taken gets those that a job has taken, by id, as they were offered; and what that took.
 * @returns the ids of those that a job could not take.
 */
async function commitAll(
  offers: readonly Offer[],
  { jobs, optOutVersion }: JobsSnapshot,
  doneMs: number,
  taken: { routed: Map<string, Offer>; work: Work },
  context: Pick<CommitContext, "append">,
): Promise<Set<string>> {
  const failed = new Set<string>();
  const fail = (job: JobConfig, messages: readonly Offer[], error: unknown): void => {
    for (const { message } of messages) failed.add(message.id);
    log.error("append failed", { job: job.id, error: errorText(error) });
  };
  const wanted = jobs.flatMap((job) => {
    const mine = offeredTo(job, offers);
    try {
      return appendsOf(job, mine).map((part) => ({ job, offers: part }));
    } catch (error) {
      fail(job, mine, error);
      return [];
    }
  });
  const results = await settled(wanted, COMMITS_AT_ONCE, (entry) =>
    commit(entry.job, entry.offers, optOutVersion, doneMs, context),
  );
  wanted.forEach((entry, i) => {
    const result = results[i];
    if (result?.status === "fulfilled") {
      for (const offer of result.value) {
        taken.routed.set(offer.message.id, offer);
        taken.work.offered += offer.records.length;
      }
      if (result.value.length > 0) taken.work.appends += 1;
    }
    if (result?.status === "rejected") fail(entry.job, entry.offers, result.reason);
  });
  return failed;
}

/** How the events of a message ended up, in all and by function. */
function countOf(
  { loaded, message, records }: Offer,
  routed: ReadonlyMap<string, Offer>,
  recent: RecentRecords | undefined,
): MessageCount {
  // By the JSON of their names: most messages are of few functions, and a name is parsed once.
  const functions = new Map<string, FunctionCount>();
  const offered = records === loaded.records ? null : new Set(records);
  const fateOfOffered = routed.has(message.id) ? "routed" : "notRouted";
  const sum = { routed: 0, notEnabled: 0, notRouted: 0 };
  for (const record of loaded.records) {
    const { whole } = record;
    const key = whole.text("ScriptName") ?? "";
    let count = functions.get(key);
    if (count === undefined) {
      count = { scriptName: whole.ScriptName, routed: 0, notEnabled: 0, notRouted: 0, lastEventMs: 0 };
      functions.set(key, count);
    }
    const fate = offered === null || offered.has(record) ? fateOfOffered : "notEnabled";
    count[fate] += 1;
    count.lastEventMs = Math.max(count.lastEventMs, whole.EventTimestampMs);
    sum[fate] += 1;
  }
  const { body } = loaded.delivery;
  const count: MessageCount = {
    ...{ ...idOf(message), events: loaded.records.length, ...sum, functions: [...functions.values()] },
    ...(body instanceof ArrayBuffer && { bytes: body.byteLength }),
  };
  return recent === undefined ? count : { ...count, recent };
}

/**
 * Commits messages to one job's log.
 * @param optOutVersion of the opt-outs that the offers follow.
 * @returns those that it was to get, as it is by now.
 * @throws if the log does not answer, or says nonsense, or the job changes faster than appends are built, or functions have opted out since.
 */
async function commit(
  job: JobConfig,
  offers: readonly Offer[],
  optOutVersion: number,
  queueDoneMs: number,
  context: Pick<CommitContext, "append">,
): Promise<readonly Offer[]> {
  let current = job;
  for (let builds = 0; builds < REBUILDS_MAX; builds++) {
    const offered = offeredTo(current, offers);
    if (offered.length === 0) return offered;
    const version = current;
    const suspects = offered.filter(({ loaded }) => loaded.delivery.attempts > 1).map(({ message }) => idOf(message));
    const build = (without: ReadonlySet<string>) => buildAppend(version, offered, without, queueDoneMs);
    const result = await context.append(version, build, suspects);
    if (result.kind === "taken") return offered;
    const newer = readJobConfig(result.job);
    if (newer?.id !== job.id) throw new Error("the log's answer is no configuration of its job");
    current = newer;
    // The log has its job, but not the opt-outs: these are asked for when the messages come again.
    if (current.optOutVersion > optOutVersion) throw new Error("functions have opted out since");
  }
  throw new Error("the job changed too often");
}
