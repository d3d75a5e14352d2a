import { type JobConfig, type JobsSnapshot, type OptOut, optedOut, type UnreadableJob, wasIn } from "../job/config.ts";
import { readJobConfig, readSnapshot } from "../job/snapshot.ts";
import { errorText, log } from "../log.ts";
import type { CommitAppend } from "../object/append.ts";
import { appendsOf, buildAppend, type Offered, rulesOf, SharedBuild } from "../object/build.ts";
import type { Loaded } from "../object/load.ts";
import { settled } from "../platform.ts";
import { idOf } from "../queue/message.ts";
import { type CommitCount, partlyOf, type Work } from "../trace-log/outcome.ts";
import type { Outcome } from "../trace-log/trace-log.ts";
import { countOf } from "./counting.ts";
import { type Arrived, arrivedOf } from "./live.ts";
import { recentOf } from "./recent.ts";

/** What committing a group calls. */
export interface CommitContext {
  append: CommitAppend;
  count: CommitCount;
  /**
   * Keeps what jobs could not take until they can. @throws if it is not kept: then it comes again.
   * Absent: nothing is kept.
   */
  owe?(owing: readonly Owing[]): Promise<void>;
  /** Where copies of new records are held and shown; absent: nowhere. */
  arrivals?: Arrivals;
}

/** A message, and the jobs that could not take it. */
export interface Owing {
  /** Id of the message. */
  id: string;
  jobs: { id: number; records: number }[];
  /** Functions whose logging was off at its intake. */
  off: string[];
}

/**
 * A failure that ends by itself with the next delivery, by newer settings or more calls: nothing is
 * owed for it.
 */
export class ComesAgainError extends Error {}

export interface Arrivals {
  /** Whether the next count carries recent records, for previews. Asking takes the turn. */
  handsOverRecent(): boolean;
  /** Sends records to live viewers. Returns at once, and never throws. */
  show(records: Arrived): void;
}

export interface Committed {
  /** Ids of messages that must come again. */
  failed: ReadonlySet<string>;
  /** The ledger has noted these. */
  noted: boolean;
  /** Events of the messages that were counted. */
  events: number;
  /** Jobs that took records. */
  jobs: ReadonlySet<number>;
}

/**
 * Concurrent appends of one group: each holds its job's share of the group in memory, and an
 * isolate has 128 MB (docs/costs.md).
 */
const COMMITS_AT_ONCE = 3;

/**
 * How often an append is rebuilt for a job that keeps changing, before the message is left to a
 * later delivery.
 */
const REBUILDS_MAX = 5;

const NO_WORK = { appends: 0, offered: 0 };

/**
 * Offers a group of messages to every job, and counts what became of them.
 * @param queue `backlog`: messages waiting behind the batch, and their bytes; `doneMs`: as in
 * {@link Append}; `isFirst`: the batch begins with this group.
 */
export async function commitAndCount(
  group: readonly Loaded[],
  jobs: JobsSnapshot,
  queue: { backlog: number | null; backlogBytes?: number | null; doneMs: number; isFirst: boolean },
  context: CommitContext,
): Promise<Committed> {
  let current = jobs;
  let waiting = group;
  let events = 0;
  const taken: Taken = {
    routed: new Map(),
    work: { batches: queue.isFirst ? 1 : 0, ...NO_WORK },
    jobs: new Set(),
  };
  const { routed } = taken;
  const { arrivals } = context;
  const handsOver = arrivals?.handsOverRecent() ?? false;
  for (let rounds = 0; rounds < REBUILDS_MAX; rounds++) {
    const offers = offersOf(waiting, current).map((offer) => {
      const before = routed.get(offer.message.id);
      return before?.loaded === offer.loaded ? before : offer;
    });
    const failures = await commitAll(offers, current, queue.doneMs, taken, context.append);
    const { again: failed, owed } = await unlessOwed(failures, current, context);
    // What is owed is judged anew where the ledger knows newer jobs: a log that does not answer
    // could not say that its job has changed.
    const counted = new Map([...owed.map((offer) => [offer.message.id, offer] as const), ...routed]);
    const counting = unique(offers).map((offer) => counted.get(offer.message.id) ?? offer);
    const { optOuts } = current;
    const recent = handsOver
      ? optional("recent records could not be handed over", () => recentOf(waiting, optOuts))
      : null;
    try {
      const outcome: Outcome = {
        done: counting
          .filter(({ message }) => !failed.has(message.id))
          .map((offer) => countOf(offer, counted.has(offer.message.id), recent?.get(offer.message.id))),
        failed: counting.filter(({ message }) => failed.has(message.id)).map(({ message }) => idOf(message)),
        ...(owed.length > 0 && { owes: true as const }),
        backlog: queue.backlog,
        backlogBytes: queue.backlogBytes ?? null,
        work: taken.work,
        state: current.state,
      };
      const { counted: done, watched, hasWork, newer } = partlyOf(await context.count(outcome), outcome.done);
      if (watched.length > 0 && arrivals !== undefined)
        optional("records could not be shown as they arrived", () =>
          show(waiting, new Set(watched), optOuts, arrivals),
        );
      for (const message of outcome.done) if (done.has(message.id)) events += message.events;
      if (newer === null) return { failed, noted: true, events, jobs: taken.jobs };
      // What one shard of the ledger has counted is done, though another one has newer jobs.
      waiting = waiting.filter(({ message }) => !done.has(message.id));
      if (hasWork) taken.work = { batches: 0, ...NO_WORK };
      if (newer === undefined) break;
      const snapshot = readSnapshot(newer);
      if (snapshot === null) throw new Error("the ledger's answer is not a configuration");
      current = snapshot;
    } catch (error) {
      // The messages come again. The logs then know them, and only the count is repeated.
      log.error("counting failed", { error: errorText(error) });
      break;
    }
  }
  return { failed: new Set(waiting.map(({ message }) => message.id)), noted: false, events, jobs: taken.jobs };
}

function show(group: readonly Loaded[], ids: ReadonlySet<string>, optOuts: readonly OptOut[], to: Arrivals): void {
  const arrived = arrivedOf(group, ids, optOuts);
  if (arrived.lines.length + arrived.leftOut > 0) to.show(arrived);
}

/**
 * Previews and live viewers must not disturb commits. An error is logged by its kind alone: its
 * message may quote a record.
 */
function optional<T>(failure: string, run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    log.error(failure, { error: error instanceof Error ? error.name : typeof error });
    return null;
  }
}

/** A message, and the records of it that jobs are offered. */
interface Offer extends Offered {
  loaded: Loaded;
}

/** What jobs have taken, over all rounds. */
interface Taken {
  /**
   * By message id, as it was offered. It stays so and stays routed, though a later round may know
   * of opt-outs, or of a discard, that this one did not.
   */
  routed: Map<string, Offer>;
  work: Work;
  jobs: Set<number>;
}

/** Leaves out records of functions whose logging was off at intake. */
function offersOf(group: readonly Loaded[], { optOuts }: JobsSnapshot): Offer[] {
  const isOff = optedOut(optOuts);
  return group.map((loaded) => {
    const { message, records, ascii } = loaded;
    const whole = { loaded, message, records, ascii };
    if (optOuts.length === 0) return whole;
    const kept = records.filter((record) => !isOff(record.whole.ScriptName, message.takenInMs));
    return kept.length === records.length ? whole : { loaded, message, records: kept, ascii };
  });
}

/**
 * Each id once. The queue may deliver a message twice in one batch, and a repeated request sends
 * its ids again with another time of intake. Which copy counts may differ by job.
 */
function unique(offers: readonly Offer[]): Offer[] {
  const byId = new Map<string, Offer>();
  for (const offer of offers) if (!byId.has(offer.message.id)) byId.set(offer.message.id, offer);
  return [...byId.values()];
}

/** Messages taken in while the job was enabled. */
function offeredTo(job: UnreadableJob, offers: readonly Offer[]): Offer[] {
  return unique(offers.filter(({ message, records }) => records.length > 0 && wasIn(job, message.takenInMs)));
}

/** What a job could not take, and why. */
interface Failure {
  job: UnreadableJob;
  offers: readonly Offer[];
  error: unknown;
}

/**
 * Has kept what jobs could not take. A message that is owed counts as taken: it is on its way to
 * each of its jobs.
 * @returns ids of messages that have to come again, and what is owed.
 */
async function unlessOwed(
  failures: readonly Failure[],
  { optOuts }: JobsSnapshot,
  { owe }: Pick<CommitContext, "owe">,
): Promise<{ again: Set<string>; owed: Offer[] }> {
  const again = new Set<string>();
  const owing = new Map<string, Owing>();
  for (const { job, offers, error } of failures) {
    for (const { message, records } of offers) {
      if (owe === undefined || error instanceof ComesAgainError) again.add(message.id);
      const off = optOuts.filter((optOut) => wasIn(optOut, message.takenInMs)).map(({ scriptName }) => scriptName);
      const debt = owing.get(message.id) ?? { id: message.id, jobs: [], off };
      debt.jobs.push({ id: job.id, records: records.length });
      owing.set(message.id, debt);
    }
  }
  // What comes again is offered again to all of its jobs.
  const debts = [...owing.values()].filter(({ id }) => !again.has(id));
  if (owe === undefined || debts.length === 0) return { again, owed: [] };
  try {
    await owe(debts);
  } catch (error) {
    log.error("debts could not be kept", { messages: debts.length, error: errorText(error) });
    for (const { id } of debts) again.add(id);
    return { again, owed: [] };
  }
  return { again, owed: failures.flatMap(({ offers }) => offers).filter(({ message }) => !again.has(message.id)) };
}

/**
 * Offers messages to every job that was enabled when they were taken in.
 * @param taken is added to.
 * @returns what jobs could not take.
 */
async function commitAll(
  offers: readonly Offer[],
  { jobs, unreadable = [], optOutVersion }: JobsSnapshot,
  doneMs: number,
  taken: Taken,
  append: CommitAppend,
): Promise<Failure[]> {
  const failures: Failure[] = [];
  const fail = (job: UnreadableJob, failed: readonly Offer[], error: unknown): void => {
    failures.push({ job, offers: failed, error });
    log.error("append failed", { job: job.id, error: errorText(error) });
  };
  for (const job of unreadable) {
    // As if its log failed: they wait for code that can read it.
    const mine = offeredTo(job, offers);
    if (mine.length > 0)
      fail(job, mine, new ComesAgainError("this version cannot read the job, which a newer one wrote"));
  }
  const wanted = sharing(
    jobs.flatMap((job) => {
      const mine = offeredTo(job, offers);
      try {
        return appendsOf(job, mine).map((part) => ({ job, offers: part }));
      } catch (error) {
        fail(job, mine, error);
        return [];
      }
    }),
  );
  const results = await settled(wanted, COMMITS_AT_ONCE, async ({ job, offers: part, shared }) => {
    try {
      return await commit(job, part, optOutVersion, doneMs, append, shared.build);
    } finally {
      shared.users -= 1;
      if (shared.users === 0) shared.build.end();
    }
  });
  wanted.forEach((entry, i) => {
    const result = results[i];
    if (result?.status === "fulfilled") {
      for (const offer of result.value) {
        taken.routed.set(offer.message.id, offer);
        taken.work.offered += offer.records.length;
      }
      if (result.value.length > 0) {
        taken.work.appends += 1;
        taken.jobs.add(entry.job.id);
      }
    }
    if (result?.status === "rejected") fail(entry.job, entry.offers, result.reason);
  });
  return failures;
}

/** What one job's log is to take in one append. */
interface Share {
  job: JobConfig;
  offers: readonly Offer[];
}

/** What jobs of equal rules share of an append, while any of them needs it. */
interface Shared {
  build: SharedBuild;
  users: number;
}

/**
 * Lets jobs of equal rules that are offered the same share what is made of it. They stand side by
 * side, so that no more of it is held than is being committed.
 */
function sharing(wanted: readonly Share[]): (Share & { shared: Shared })[] {
  const byRules = Map.groupBy(wanted, ({ job, offers }) => {
    const rules = rulesOf(job);
    return rules === null ? job : `${offers.map(({ message }) => message.id).join()} ${rules}`;
  });
  return [...byRules.values()].flatMap((alike) => {
    const groups: Share[][] = [];
    for (const share of alike) {
      const group = groups.find(([first]) => first?.offers.every((offer, i) => offer === share.offers[i]));
      if (group === undefined) groups.push([share]);
      else group.push(share);
    }
    return groups.flatMap((group) => {
      const shared = { build: new SharedBuild(group[0]?.offers.length ?? 0), users: group.length };
      return group.map((share) => ({ ...share, shared }));
    });
  });
}

/**
 * Commits messages to one job's log.
 * @param optOutVersion of the opt-outs that the offers follow.
 * @param shared by jobs of the same rules, as the job is known now.
 * @returns those that it took: by its newest configuration, they may be fewer.
 * @throws if the log fails, or the job changes faster than appends are built, or functions have
 *   opted out since.
 */
async function commit(
  job: JobConfig,
  offers: readonly Offer[],
  optOutVersion: number,
  queueDoneMs: number,
  append: CommitAppend,
  shared: SharedBuild,
): Promise<readonly Offer[]> {
  let current = job;
  for (let builds = 0; builds < REBUILDS_MAX; builds++) {
    const offered = offeredTo(current, offers);
    if (offered.length === 0) return offered;
    const version = current;
    const candidates = offered.map(({ loaded, message }) => ({ ...idOf(message), isSuspect: loaded.isRedelivered }));
    const build = (without: ReadonlySet<string>) =>
      buildAppend(version, offered, without, queueDoneMs, version === job ? shared : undefined);
    const result = await append(version, build, candidates);
    if (result.kind === "taken") return offered;
    const newer = readJobConfig(result.job);
    if (newer?.id !== job.id) throw new Error("the log's answer is not a configuration of its job");
    current = newer;
    // The log knows its job, but not the opt-outs. They are read when the messages come again.
    if (current.optOutVersion > optOutVersion) throw new ComesAgainError("functions have opted out since");
  }
  throw new ComesAgainError("the job changed too often");
}
