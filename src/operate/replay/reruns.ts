import { REPLAY_PROBLEMS_MAX } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered } from "../../base/platform.ts";
import { rerunName } from "../../ship/job/config.ts";
import { added } from "../../ship/log/sums.ts";
import type { ReaderBindings } from "../../ship/reader/job-nodes.ts";
import { jobStatus, type ShardsStatus, shardsStatus } from "../../ship/reader/job-status.ts";
import { jobAside } from "../../ship/reader/object-pages.ts";
import type { Amount } from "../../ship/reader/replayed.ts";
import type { JobStatus } from "../../ship/reader/statuses.ts";
import { controlPlane } from "../../state/control/plane.ts";
import type { Rerun } from "../../state/control/rerun-rows.ts";
import type { Problem, ReplayState, ReplayStatus } from "./replay-status.ts";

/** Deadline of the log, in ms. */
const ASK_MS = 5_000;

/** What was taken in before the end of a rerun is in the log so long after it, in ms. */
const ARRIVED_MS = 60_000;

const SILENT = "a part of the log does not answer";

/** The number of a rerun; null: it is none's id. */
export function rerunNumber(id: string): number | null {
  const [, number] = /^r([1-9]\d{0,14})$/.exec(id) ?? [];
  return number === undefined ? null : Number(number);
}

/** How reruns fare: asks the log, and notes those that are over. */
export async function rerunStates(
  env: ReaderBindings & Pick<Env, "TRACE_LOG">,
  reruns: readonly Rerun[],
  nowMs: number,
): Promise<ReplayStatus[]> {
  if (reruns.length === 0) return [];
  const ids = reruns.map(({ id }) => id);
  const shards = await orNull("the log", shardsStatus(env, ids));
  return Promise.all(
    reruns.map(async (rerun) => {
      const status = shards && (await orNull(rerunName(rerun.id), jobStatus(env, rerun.id, { before: shards })));
      const shown = viewOf(rerun, shards !== null && isEverywhere(rerun.id, shards) ? status : null, nowMs);
      if (shown.state === "running" || shown.state === "waiting" || rerun.end !== null) return shown;
      const end = { ...shown, endedMs: nowMs };
      await controlPlane(env.CONTROL).rerunEnded(rerun.id, end);
      return end;
    }),
  );
}

/** What reruns have shipped; null: of one that has not ended, it is not known. */
export async function rerunAmount(
  env: ReaderBindings & Pick<Env, "TRACE_LOG">,
  reruns: readonly Rerun[],
  nowMs: number,
): Promise<Amount | null> {
  const states = await rerunStates(env, reruns, nowMs);
  if (states.some(({ error }) => error === SILENT)) return null;
  return states.map(({ done }) => done).reduce(added, { objects: 0, records: 0, bytes: 0 });
}

/** For the cron: notes which reruns are over. */
export async function followReruns(env: ReaderBindings & Pick<Env, "TRACE_LOG">, nowMs: number): Promise<void> {
  const reruns = (await controlPlane(env.CONTROL).reruns()) as Rerun[];
  const open = reruns.filter(({ end }) => end === null);
  await rerunStates(env, open, nowMs);
}

/** What a rerun could not ship. */
export async function rerunProblems(env: ReaderBindings, id: number): Promise<Problem[]> {
  const { entries } = await answered(rerunName(id), ASK_MS, jobAside(env, id, 0, REPLAY_PROBLEMS_MAX));
  return entries.map(({ number, key, error }) => ({ number, key, kind: "failed", why: error ?? "" }));
}

/**
 * An end is final; what comes late from the queue is shipped, and counted.
 * @param status null: it is not known everywhere yet, or a part of the log does not answer.
 */
function viewOf(rerun: Rerun, status: JobStatus | null, nowMs: number): ReplayStatus {
  const { id, job, sinceMs, untilMs, askedMs, shown } = rerun;
  const end = rerun.end as ReplayStatus | null;
  if (end !== null && status === null) return end;
  const amount = (objects = 0, records = 0, bytes = 0): Amount => ({ objects, records, bytes });
  const counts = status?.counts;
  const done = amount(status?.deliveredObjects, counts?.delivered, status?.deliveredBytes);
  const failed = amount(status?.setAside.objects, counts?.set_aside);
  const objects = done.objects + failed.objects + (status?.pendingObjects ?? 0);
  const state = end?.state ?? stateOf(rerun, status, nowMs);
  return {
    ...{ id: rerunName(id), kind: "rerun", job, sinceMs, untilMs, destination: shown, state },
    planned: amount(objects, counts?.received, done.bytes),
    ...{ done, failed, missing: amount(), damaged: amount() },
    ...{ filtered: counts?.filtered ?? 0, sampledOut: counts?.sampled_out ?? 0 },
    error: end === null ? errorOf(rerun, status) : end.error,
    resumeMs: null,
    askedMs,
    endedMs: end?.endedMs ?? null,
  };
}

function stateOf({ untilMs, isCancelled }: Rerun, status: JobStatus | null, nowMs: number): ReplayState {
  if (isCancelled) return "cancelled";
  if (status === null) return "running";
  if (status.counts.pending > 0) return status.errorMessage === null ? "running" : "waiting";
  if (nowMs < untilMs + ARRIVED_MS) return "running";
  return status.lost === null ? "done" : "failed";
}

function errorOf({ isCancelled }: Rerun, status: JobStatus | null): string | null {
  if (isCancelled) return null;
  if (status === null) return SILENT;
  if (status.lost === null) return status.errorMessage;
  const [from, until] = status.lost.map((ms) => new Date(ms).toISOString());
  return `given up: the log no longer keeps what was taken in from ${from} to ${until}`;
}

function isEverywhere(id: number, shards: ShardsStatus): boolean {
  return [...shards.values()].every(({ jobs }) => jobs[id] !== undefined);
}

/** null: it does not answer. */
async function orNull<T>(who: string, answer: Promise<T>): Promise<T | null> {
  try {
    return await answered(who, ASK_MS, answer);
  } catch (error) {
    log.warn("no answer", { who, error: errorText(error) });
    return null;
  }
}
