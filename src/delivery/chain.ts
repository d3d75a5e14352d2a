import type { JobConfig } from "../job/config.ts";
import { type Append, ForgottenError } from "../object/append.ts";
import type { TakenId } from "../storage/id-memory.ts";
import type { CanaryReport } from "./canary.ts";
import type { DeliveryLog } from "./delivery-log.ts";
import type { HealthHour } from "./health.ts";
import { segmentName, segmentOfNumber } from "./log-state.ts";
import type { Replayable, ReplaySpan } from "./replayed.ts";
import type { AsideObject, LogStatus, ObjectEntry } from "./types.ts";

type Logs = DurableObjectNamespace<DeliveryLog>;

/**
 * The segments of a job's log, one durable object each, from 0. Only the last one takes records.
 */
export function segmentOf(logs: Logs, jobId: number, segment: number): DurableObjectStub<DeliveryLog> {
  return logs.getByName(segmentName(jobId, segment));
}

/**
 * Brings a job's configuration to every segment of its log. @returns the newest version that is in
 * force in any of them.
 */
export async function configureChain(logs: Logs, job: JobConfig): Promise<number> {
  let newest = 0;
  for (let segment = 0; ; segment++) {
    const { sealed, version } = await segmentOf(logs, job.id, segment).configure(job, segment);
    newest = Math.max(newest, version);
    if (!sealed) return newest;
  }
}

/** How often in a row a log may answer without bringing an append further. */
const STALLED_MAX = 3;

/** More segments than any log has: eight terabytes. */
const SEGMENTS_MAX = 1_000;

export type ChainResult = { kind: "taken" } | { kind: "stale"; job: JobConfig };

/**
 * Commits an append once, wherever in the chain its messages may have been before.
 * @param build makes the append for the messages that are left; it is what costs, so it is not
 *   called for what is known.
 * @param suspects messages that may well be in already (they were delivered before): the log is
 *   asked for these before anything is built.
 * @returns stale: the job has changed; build everything again from what comes back.
 * @throws ForgottenError for an append of what is sent again.
 */
export async function appendToChain(
  logs: Logs,
  job: JobConfig,
  build: (without: ReadonlySet<string>) => Append,
  suspects: readonly TakenId[],
): Promise<ChainResult> {
  const taken = new Set<string>();
  for (let segment = 0; suspects.length > 0; segment++) {
    const { ids, sealed } = await segmentOf(logs, job.id, segment).holds(suspects);
    for (const id of ids) taken.add(id);
    if (!sealed) break;
  }
  let append = build(taken);
  let segment = 0;
  let stalled = 0;
  while (append.messages.length > 0) {
    // Each answer is to bring it further; a log that says the same again and again is not asked
    // without end.
    if (stalled > STALLED_MAX || segment > SEGMENTS_MAX) throw new Error("the log gives no answer that leads on");
    const log = segmentOf(logs, job.id, segment);
    // Two of the same type, told apart by the call that pipelines them: what is needed is plain
    // data.
    const result = await log.append(append);
    switch (result.kind) {
      case "taken":
        return { kind: "taken" };
      case "behind":
        stalled += 1;
        await log.configure(job, segment);
        continue;
      case "stale":
        return { kind: "stale", job: result.job as JobConfig };
      case "forgotten":
        throw new ForgottenError(job.id);
      case "full":
        segment += 1;
        stalled = 0;
        break;
      case "known":
        break;
    }
    const before = taken.size;
    for (const id of result.ids) taken.add(id);
    if (taken.size > before) append = build(taken);
    if (result.kind === "known") stalled = taken.size > before ? 0 : stalled + 1;
  }
  return { kind: "taken" };
}

/**
 * The status of a whole log: counts summed over its segments; null if it has never been configured.
 * @param notAfterMs as in {@link DeliveryLog.status}.
 */
export async function chainStatus(logs: Logs, jobId: number, notAfterMs?: number): Promise<LogStatus | null> {
  let whole: LogStatus | null = null;
  for (let segment = 0; ; segment++) {
    const status: LogStatus | null = await segmentOf(logs, jobId, segment).status(notAfterMs);
    if (status === null) return whole;
    whole = whole === null ? status : joined(whole, status);
    if (!status.sealed) return whole;
  }
}

function joined(earlier: LogStatus, later: LogStatus): LogStatus {
  const counts = { ...later.counts };
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += earlier.counts[name];
  // A segment with something pending or set aside holds the whole back; one that has delivered
  // everything does not.
  const complete =
    earlier.counts.pending > 0 || earlier.setAside.objects > 0
      ? earlier.lastCompleteMs
      : Math.max(earlier.lastCompleteMs ?? 0, later.lastCompleteMs ?? 0) || null;
  const failing = (later.lastErrorMs ?? 0) >= (earlier.lastErrorMs ?? 0) ? later : earlier;
  return {
    counts,
    pendingObjects: earlier.pendingObjects + later.pendingObjects,
    oldestPendingTakenMs: least(earlier.oldestPendingTakenMs, later.oldestPendingTakenMs),
    deliveredRawBytes: earlier.deliveredRawBytes + later.deliveredRawBytes,
    deliveredBytes: earlier.deliveredBytes + later.deliveredBytes,
    lastCompleteMs: complete,
    lastErrorMs: failing.lastErrorMs,
    errorMessage: failing.errorMessage,
    lastReceivedMs: greatest(earlier.lastReceivedMs, later.lastReceivedMs),
    failingSinceMs: least(earlier.failingSinceMs, later.failingSinceMs),
    parked: earlier.parked || later.parked,
    storedBytes: earlier.storedBytes + later.storedBytes,
    segments: earlier.segments + later.segments,
    ...(later.openBytes === undefined ? {} : { openBytes: later.openBytes }),
    setAside: {
      objects: earlier.setAside.objects + later.setAside.objects,
      records: earlier.setAside.records + later.setAside.records,
      oldestMs: least(earlier.setAside.oldestMs, later.setAside.oldestMs),
    },
    // Only the newest segment sends any.
    canary: later.canary ?? earlier.canary,
    replayed: {
      objects: earlier.replayed.objects + later.replayed.objects,
      records: earlier.replayed.records + later.replayed.records,
      bytes: earlier.replayed.bytes + later.replayed.bytes,
    },
    sealed: later.sealed,
  };
}

function least(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

function greatest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}

/**
 * Objects of a job with a number above `after`, in the order of their numbers, and how many there
 * are in all. Walks the chain from its first segment: a name that is merely computed would bring an
 * empty object into being.
 */
export async function chainObjects(
  logs: Logs,
  jobId: number,
  after: number,
  limit: number,
): Promise<{ entries: ObjectEntry[]; total: number }> {
  const entries: ObjectEntry[] = [];
  let total = 0;
  for (let segment = 0; ; segment++) {
    const page = await segmentOf(logs, jobId, segment).objects(after, limit - entries.length);
    entries.push(...page.entries);
    total += page.total;
    if (!page.sealed) return { entries, total };
  }
}

/**
 * Objects of a job with a number below `before`, the newest first, and how many there are in all.
 * As above, the chain is walked from its first segment.
 */
export async function chainObjectsBefore(
  logs: Logs,
  jobId: number,
  before: number,
  limit: number,
): Promise<{ entries: ObjectEntry[]; total: number }> {
  const totals: number[] = [];
  for (let segment = 0; ; segment++) {
    const { total, sealed } = await segmentOf(logs, jobId, segment).objects(0, 0);
    totals.push(total);
    if (!sealed) break;
  }
  const entries: ObjectEntry[] = [];
  for (let segment = totals.length - 1; segment >= 0 && entries.length < limit; segment--) {
    if (totals[segment] === 0) continue;
    const page = (await segmentOf(logs, jobId, segment).objectsBefore(before, limit - entries.length)) as ObjectEntry[];
    entries.push(...page);
  }
  return { entries, total: totals.reduce((sum, each) => sum + each, 0) };
}

/** One object of a job; null: there is none of this number (any more). */
export async function chainObject(logs: Logs, jobId: number, number: number): Promise<ObjectEntry | null> {
  const { entries } = await chainObjects(logs, jobId, number - 1, 1);
  return entries[0]?.number === number ? entries[0] : null;
}

/**
 * What of a whole log a replay can ship again, and the keys of some of it: the first and the last
 * of each segment.
 */
export async function chainReplayable(
  logs: Logs,
  jobId: number,
  span: ReplaySpan,
): Promise<Omit<Replayable, "sealed">> {
  const whole: Omit<Replayable, "sealed"> = { objects: 0, records: 0, bytes: 0, keys: [] };
  for (let segment = 0; ; segment++) {
    const { sealed, ...part } = await segmentOf(logs, jobId, segment).replayable(span);
    whole.objects += part.objects;
    whole.records += part.records;
    whole.bytes += part.bytes;
    whole.keys.push(...part.keys);
    if (!sealed) return whole;
  }
}

/** The segment of an object that exists. */
export function segmentWith(logs: Logs, jobId: number, number: number): DurableObjectStub<DeliveryLog> {
  return segmentOf(logs, jobId, segmentOfNumber(number));
}

/**
 * The segment of an object of this number; null: the log has no such segment, and none is
 * created. @param jobId of an existing job.
 */
export async function findSegment(
  logs: Logs,
  jobId: number,
  number: number,
): Promise<DurableObjectStub<DeliveryLog> | null> {
  for (let segment = 0; segment < segmentOfNumber(number); segment++) {
    if (!(await segmentOf(logs, jobId, segment).holds([])).sealed) return null;
  }
  return segmentWith(logs, jobId, number);
}

/**
 * A page of a job's set-aside objects, segment by segment, the oldest first in each, and how many
 * there are in all.
 */
export async function chainAside(
  logs: Logs,
  jobId: number,
  offset: number,
  limit: number,
): Promise<{ entries: AsideObject[]; total: number }> {
  const entries: AsideObject[] = [];
  let total = 0;
  for (let segment = 0; ; segment++) {
    const skip = Math.max(0, offset - total);
    const page = await segmentOf(logs, jobId, segment).asideObjects(skip, limit - entries.length);
    entries.push(...(page.entries as AsideObject[]));
    total += page.total;
    if (!page.sealed) return { entries, total };
  }
}

/**
 * Has every segment remember for good which of these messages it holds. @returns ids that a segment
 * may have forgotten.
 */
export async function pinChainIds(logs: Logs, jobId: number, messages: readonly TakenId[]): Promise<Set<string>> {
  const forgotten = new Set<string>();
  for (let segment = 0; ; segment++) {
    const answer = await segmentOf(logs, jobId, segment).keepIds(messages);
    for (const id of answer.forgotten) forgotten.add(id);
    if (!answer.sealed) return forgotten;
  }
}

/**
 * How the uploads of a whole log went, by the hour, over all of its segments.
 * @param until the first hour that is not asked for; both are hours since the epoch.
 * @returns as {@link DeliveryLog.health}: several may be of the same hour.
 */
export async function chainHealth(logs: Logs, jobId: number, since: number, until: number): Promise<HealthHour[]> {
  const hours: HealthHour[] = [];
  for (let segment = 0; ; segment++) {
    const found = await segmentOf(logs, jobId, segment).health(since, until);
    hours.push(...found.hours);
    if (!found.sealed) return hours;
  }
}

/**
 * How a job's canary fares: that of its newest segment, which alone sends one. null: it has none,
 * or its log has not confirmed the job yet.
 */
export async function chainCanary(logs: Logs, jobId: number): Promise<CanaryReport | null> {
  let newest: CanaryReport | null = null;
  for (let segment = 0; ; segment++) {
    const { report, sealed } = await segmentOf(logs, jobId, segment).canaryReport();
    newest = report ?? newest;
    if (!sealed) return newest;
  }
}

/**
 * Cuts and uploads what waits, in every segment at once.
 * @param owedSinceMs as in {@link DeliveryLog.drive}.
 * @returns objects that still wait.
 * @throws after all of them were driven, if one could not be.
 */
export async function driveChain(
  logs: Logs,
  jobId: number,
  reason: "scheduled" | "manual",
  waitMs: number,
  owedSinceMs: number | null = null,
): Promise<number> {
  let last = 0;
  while ((await segmentOf(logs, jobId, last).status())?.sealed) last += 1;
  const segments = Array.from({ length: last + 1 }, (_, segment) => segmentOf(logs, jobId, segment));
  const driven = await Promise.allSettled(segments.map((log) => log.drive(reason, waitMs, owedSinceMs)));
  let pending = 0;
  for (const result of driven) {
    if (result.status === "rejected") throw result.reason;
    pending += result.value.pendingObjects;
  }
  return pending;
}
