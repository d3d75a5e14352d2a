import { counted } from "../../base/counted.ts";
import { SEGMENT_MAX_BYTES } from "../../base/limits.ts";
import { DAY_MS } from "../../base/time.ts";
import { remedyFor } from "../../ship/destinations/remedies.ts";
import { rerunName } from "../../ship/job/config.ts";
import type { JobStatus } from "../../ship/reader/statuses.ts";
import { canaryFindings, manifestFindings } from "./canary-rules.ts";
import { type Facts, type JobFacts, NO_ANSWER } from "./facts.ts";
import type { Subject } from "./finding.ts";
import { causeIn, type Found, head, parkedAdvice, type Rest, shownGB } from "./finding-text.ts";
import { AFTER, EXPIRES_WITHIN_MS, GROWING_MS, READER_LARGE_BYTES, REFUSED_MIN, SCRIPTS_MANY } from "./thresholds.ts";

/** By its number, or as what follows "job". */
type Called = { id: number | string };

/** What is wrong with one job. */
export function jobFindings(job: JobFacts, facts: Facts): Found[] {
  if (job.rerunOf !== undefined) return rerunFindings(job, job.rerunOf, facts.nowMs);
  const subject: Subject = { type: "job", id: job.id };
  // What else the rules would find rests on settings that are unknown.
  if (job.isUnreadable) return [{ ...unreadable(job), subject }];
  const { status } = job;
  const pending = status === NO_ANSWER || status === null ? 0 : status.counts.pending;
  const isLive = job.deletedMs === null;
  const rest: (Rest | Rest[])[] = [];
  if (isLive) rest.push(destinationFindings(job, pending), expiryFindings(job, facts.nowMs));
  if (status === NO_ANSWER) rest.push(logSilent(job));
  else if (status !== null) {
    rest.push(isLive ? deliveryFindings(job, status, facts.nowMs) : drainFindings(job, status, facts.nowMs));
    rest.push(holdingFindings(job, status, facts.nowMs));
    if (isLive)
      rest.push(keptFindings(job, facts.nowMs), scriptFindings(job, status), pastFindings(job, status, facts.nowMs));
    if (isLive && status.canary !== null) rest.push(canaryFindings(status.canary));
    if (isLive && status.manifests) rest.push(manifestFindings(status.manifests, facts.nowMs));
  }
  if (isLive) rest.push(receiptFindings(job, facts), fieldFindings(job));
  if (status !== NO_ANSWER && status !== null)
    rest.push(unreadFindings(job, status, facts.nowMs), unmadeFindings(job, status));
  return rest.flat().map((found) => ({ ...found, subject }));
}

/** Of a rerun, what it could not ship. What keeps it from going on is a finding of replays. */
function rerunFindings(job: JobFacts, rerunOf: number, nowMs: number): Found[] {
  const { id, status } = job;
  const rerun = rerunName(id);
  const called = { ...job, id: `${rerunOf}'s rerun ${rerun}` };
  if (status === null) return [];
  const rest =
    status === NO_ANSWER ? logSilent(called) : [holdingFindings(called, status, nowMs), unmadeFindings(called, status)];
  return [rest].flat(2).map(({ advice, ...found }) => ({
    ...{ ...found, subject: { type: "job", id: rerunOf }, rerun },
    advice: found.kind === "objects_set_aside" ? RERUN_REFUSED : advice,
  }));
}

const RERUN_REFUSED =
  "The job's page of replays shows the destination's answers. Fix the cause, then resend the objects under On hold, or delete those that you do not need.";

/** Found before any upload fails on it. */
function destinationFindings({ id, destination, status }: JobFacts, pending: number): Rest | Rest[] {
  const failingSinceMs = status === NO_ANSWER || status === null ? null : status.failingSinceMs;
  if (destination.kind === "lost")
    return {
      ...head("key_lost", "error", failingSinceMs, pending),
      summary: `logship cannot decrypt the destination of job ${id}: neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS fits.`,
      advice:
        "Restore the key that encrypted it as SECRETS_KEY or SECRETS_KEY_PREVIOUS, or enter the job's destination again. Nothing is lost meanwhile.",
    };
  if (destination.kind === "unusable")
    return {
      ...head("destination_unusable", "error", failingSinceMs, pending),
      summary: `Job ${id} cannot use its destination: ${destination.why}.`,
      advice: "Set the secret or setting that it needs, or correct the job's destination. Nothing is lost meanwhile.",
    };
  return [];
}

/** A job that is parked after its credentials ended says so itself. */
function expiryFindings({ id, destination, status }: JobFacts, nowMs: number): Rest | Rest[] {
  if (destination.kind !== "ok" || destination.expiresMs === undefined) return [];
  const leftMs = destination.expiresMs - nowMs;
  const isParked = status !== NO_ANSWER && status?.parked === true;
  if (leftMs > EXPIRES_WITHIN_MS || (leftMs <= 0 && isParked)) return [];
  const at = new Date(destination.expiresMs).toISOString();
  return {
    ...head("credentials_expire", leftMs > 0 ? "warning" : "error", destination.expiresMs - EXPIRES_WITHIN_MS),
    summary: `Job ${id}'s credentials for its destination ${leftMs > 0 ? "expire" : "expired"} at ${at}.`,
    advice: "Create new ones and enter them in the job's destination. After that time records wait; none is lost.",
  };
}

function unreadable({ id }: JobFacts): Rest {
  return {
    ...head("job_unreadable", "error"),
    summary: `This version of logship cannot read job ${id}: a newer one wrote it.`,
    advice:
      "Deploy the newer version again, or delete the job. Until then, logship keeps its records as they came; nothing is lost. Other jobs are not affected.",
  };
}

function fieldFindings({ id, fieldsOff = [] }: JobFacts): Rest | Rest[] {
  if (fieldsOff.length === 0) return [];
  const names = fieldsOff.join(", ");
  return {
    ...head("extra_field_off", "warning"),
    summary: `Job ${id} ships or filters on ${names}, which the setting EXTRA_FIELDS does not name.`,
    advice: `The job continues as before, but no other job can have such a field. Name ${names} in EXTRA_FIELDS again, or take it out of the job's fields and filter.`,
  };
}

/** What the log has for it, and its readers have not read. */
function unreadFindings({ id, intervalMs }: JobFacts, { unread }: JobStatus, nowMs: number): Rest | Rest[] {
  // Since it came, not since its intake: it may have waited in the queue.
  if (unread.sinceMs === null || nowMs - unread.sinceMs <= intervalMs + AFTER.unread) return [];
  return {
    ...head("unread", "warning", unread.sinceMs, unread.records),
    summary: `Job ${id} does not read the log, which holds ${counted(unread.records, "records")} for it.`,
    advice:
      "Nothing is lost, and other jobs are not affected until a shard of the log holds 8 GB. Once the job answers, it catches up within minutes. If it lasts, look for `a job does not read` in this service's log and on Cloudflare's status page.",
  };
}

/** What the log has for it, and could not be made. */
function unmadeFindings({ id }: Called, { unmade: { entries, poison, newer, oldestAtMs } }: JobStatus): Rest | Rest[] {
  if (entries === 0) return [];
  return {
    ...head("unmade", poison > 0 ? "error" : "warning", oldestAtMs, poison + newer),
    summary:
      poison > 0
        ? `Job ${id} has ${counted(poison, "records")} on hold that crash the process that prepares records.`
        : `Job ${id} has ${counted(newer, "records")} that need a newer version of logship.`,
    advice:
      poison > 0
        ? "logship delivers the other records. Retry these under On hold, for example after a new deployment, or delete them."
        : "Deploy the newer version again. logship retries them every hour, and whenever you flush the job.",
  };
}

function logSilent({ id }: Called): Rest {
  return {
    ...head("log_silent", "warning"),
    summary: `A part of the log does not answer for job ${id}, so the state of its delivery is unknown.`,
    advice:
      "This usually ends within minutes. If it lasts, look for errors in this service's log and on Cloudflare's status page. Nothing is lost meanwhile.",
  };
}

/** How old a waiting record may be, in ms, before it counts as late. */
export function lateAfterMs(intervalMs: number): number {
  return intervalMs + AFTER.uploadStarts + AFTER.lagging;
}

/** When failing uploads are a finding if that goes on, in ms; null: they are, or none fails. */
export function nextFailingMs({ failingSinceMs }: JobStatus, nowMs: number): number | null {
  const dueMs = failingSinceMs === null ? nowMs : failingSinceMs + AFTER.failing + 1;
  return dueMs <= nowMs ? null : dueMs;
}

function deliveryFindings(job: JobFacts, status: JobStatus, nowMs: number): Rest[] {
  const { id, destination, intervalMs } = job;
  const { pending } = status.counts;
  if (pending === 0) return [];
  const findings: Rest[] = [];
  // A finding about the destination already gives the cause.
  const isSaid = destination.kind === "lost" || destination.kind === "unusable";
  const { failingSinceMs, oldestPendingTakenMs: oldestMs } = status;
  const cause = causeIn(status.errorMessage);
  const fails = failingSinceMs !== null && nextFailingMs(status, nowMs) === null;
  if (status.parked && !isSaid) {
    findings.push({
      ...head("parked", "error", failingSinceMs, pending),
      summary: `Delivery of job ${id} is paused: ${cause}.`,
      advice: parkedAdvice(status.errorMessage),
    });
  } else if (!status.parked && fails && !isSaid) {
    findings.push({
      ...head("failing", "error", failingSinceMs, pending),
      summary: `Uploads of job ${id} fail: ${cause}.`,
      advice: `${remedyFor(status.errorMessage) ?? "If it lasts, check the destination."} logship retries after seconds at first, later every 15 minutes. Flush the job to retry now; test its destination to see why a connection fails. Nothing is lost.`,
    });
  }
  const isLate = oldestMs !== null && nowMs - oldestMs > lateAfterMs(intervalMs);
  if (!isLate) return findings;
  if (job.enabledSinceMs === null)
    findings.push({
      ...head("disabled_with_pending", "warning", oldestMs, pending),
      summary: `Job ${id} is disabled but still holds ${counted(pending, "records")}.`,
      advice:
        "logship delivers them as soon as the destination accepts them. Deleting the job with its records drops them.",
    });
  // What the log still has is `unread`; what is of the past was old when it came.
  else if (failingSinceMs === null && !isSaid && !status.hasPast && oldestMs !== status.unread.oldestMs)
    findings.push({
      ...head("lagging", "warning", oldestMs, pending),
      summary: `Job ${id} is behind. It has ${counted(pending, "records")} waiting, the oldest for longer than its interval allows.`,
      advice:
        "The job's health shows how long uploads take; its list of objects shows what is waiting. If the destination is slow, split the events over several jobs with filters.",
    });
  return findings;
}

/** A deleted job that still holds records. */
function drainFindings({ id, deletedMs, destination }: JobFacts, status: JobStatus, nowMs: number): Rest | Rest[] {
  const { pending } = status.counts;
  if (pending === 0 || deletedMs === null) return [];
  const isLost = destination.kind === "lost" || destination.kind === "unusable";
  const isStuck = status.parked || isLost || nowMs - deletedMs > AFTER.drainingStuck;
  const discard = "Deleting the job with its records drops them.";
  if (!isStuck)
    return {
      ...head("draining", "warning", deletedMs, pending),
      summary: `Job ${id} is deleted and still delivers ${counted(pending, "records")}.`,
      advice: `Nothing to do if you want these records. ${discard}`,
    };
  const why = isLost
    ? "its destination cannot be used"
    : status.failingSinceMs === null
      ? "it takes longer than an hour"
      : causeIn(status.errorMessage);
  return {
    ...head("draining_stuck", "error", status.failingSinceMs ?? deletedMs, pending),
    summary: `Job ${id} is deleted and cannot deliver ${counted(pending, "records")}: ${why}.`,
    advice: `Fix the cause at the destination: you cannot change a deleted job. ${discard}`,
  };
}

/** Findings about what a log holds. */
function holdingFindings({ id, past }: Called & Pick<JobFacts, "past">, status: JobStatus, nowMs: number): Rest[] {
  const findings: Rest[] = [];
  const { counts, segments, openBytes, setAside } = status;
  if (counts.pending > 0 && (segments > 1 || openBytes >= READER_LARGE_BYTES)) {
    const isFull = segments > 1;
    findings.push({
      ...head("log_large", isFull ? "error" : "warning", status.oldestPendingTakenMs, counts.pending),
      summary: isFull
        ? `Job ${id} was full and continues in ${counted(segments, "segments")}: records arrive faster than it delivers them.`
        : `Job ${id} holds ${Math.floor(openBytes / 1e9)} GB: records arrive faster than it delivers them.`,
      advice:
        "Fix what keeps the job from delivering, or reduce what it gets with a filter, a sample or fewer fields. Nothing is lost: another segment follows a full one.",
    });
  } else if (openBytes >= READER_LARGE_BYTES) {
    findings.push({
      ...head("log_large", "warning"),
      summary: `Job ${id} holds ${shownGB(openBytes)} of the ${SEGMENT_MAX_BYTES / 1e9} GB of a segment, though nothing waits.`,
      advice: "Resend or delete what is on hold. Nothing is lost: another segment follows a full one.",
    });
  }
  if (setAside.objects > 0) {
    const grew = past.setAside?.grewMs ?? null;
    const grows = grew !== null && nowMs - grew <= GROWING_MS;
    findings.push({
      ...head(
        "objects_set_aside",
        grows ? "error" : "warning",
        setAside.oldestMs ?? past.setAside?.sinceMs ?? null,
        setAside.objects,
        "objects",
      ),
      summary: `The destination rejects objects of job ${id}. logship keeps ${counted(setAside.records, "records")} on hold${grows ? ", and the number is growing" : ""}.`,
      advice:
        "The job's objects show the destination's answers. Fix the cause, then resend them under On hold, or delete those that you do not need. Until then, last_complete does not pass them.",
    });
  }
  const { received, filtered, sampled_out, delivered, pending, set_aside, discarded } = counts;
  const off = Math.abs(received - filtered - sampled_out - delivered - pending - set_aside - discarded);
  if (off > 0)
    findings.push({
      ...head("out_of_balance", "error", null, off),
      summary: `The ledger of job ${id} does not add up: received is not the sum of the others.`,
      advice: "This is a bug in logship. Save the job's ledger as it is now, and report it.",
    });
  return findings;
}

/** Each script has objects of its own, by the job's path. */
function scriptFindings({ id, intervalMs }: JobFacts, { scripts = 0, lastDay }: JobStatus): Rest | Rest[] {
  if (scripts <= SCRIPTS_MANY) return [];
  const aDay = Math.round(scripts * (DAY_MS / intervalMs));
  return {
    ...head("many_scripts", "warning"),
    summary: `{SCRIPT} in the path of job ${id} makes separate objects for ${scripts} Workers: up to ${aDay} a day, and ${lastDay.objects} in the last 24 hours.`,
    advice:
      "Each object costs a request, and readers open every one. Raise the job's max_upload_interval_seconds, take {SCRIPT} out of its path, or exclude Workers with a filter on ScriptName.",
  };
}

/** What it was to get of the time before it was, and the log does not keep. */
function pastFindings({ id }: JobFacts, { lost }: JobStatus, nowMs: number): Rest | Rest[] {
  if (lost == null || nowMs - lost[1] > AFTER.pastIsOld) return [];
  const [from, until] = lost.map((ms) => new Date(ms).toISOString());
  return {
    ...head("past_incomplete", "warning", lost[0]),
    summary: `Job ${id} starts in the past, but the log no longer keeps the events that arrived between ${from} and ${until}.`,
    advice:
      "This job does not ship them. Another job, or a replay of one, may have them. The log drops kept events when it has too many: raise LOG_SHARDS to keep more.",
  };
}

function keptFindings({ id, hasFilter, sampleRate, past }: JobFacts, nowMs: number): Rest[] {
  const findings: Rest[] = [];
  const { filter, sample } = past;
  if (hasFilter && filter !== null && filter.refused >= REFUSED_MIN && nowMs - filter.sinceMs > AFTER.keptNothing)
    findings.push({
      ...head("filter_keeps_nothing", "warning", filter.sinceMs, filter.refused),
      summary: `The filter of job ${id} keeps nothing: it dropped all ${filter.refused} records.`,
      advice:
        "If this is not intended, change the filter; a preview shows which recent events it would keep. Filtered records are not shipped later.",
    });
  const enough = Math.ceil(REFUSED_MIN / sampleRate);
  if (sampleRate < 1 && sample !== null && sample.refused >= enough && nowMs - sample.sinceMs > AFTER.keptNothing)
    findings.push({
      ...head("sample_keeps_nothing", "warning", sample.sinceMs, sample.refused),
      summary: `The sample of job ${id} (${sampleRate}) keeps nothing: it dropped all ${sample.refused} records.`,
      advice:
        "Raise the job's sample rate (sample_rate) or remove it. Records that the sample dropped are not shipped later.",
    });
  return findings;
}

/** A job that receives nothing while others do: every enabled job is offered every event. */
function receiptFindings({ id, enabledSinceMs, status }: JobFacts, { jobs, account, functions }: Facts): Rest | Rest[] {
  if (enabledSinceMs === null || status === NO_ANSWER || account === NO_ANSWER || functions === NO_ANSWER) return [];
  const others = jobs.flatMap((other) =>
    other.id === id || other.rerunOf !== undefined || other.status === NO_ANSWER
      ? []
      : (other.status?.lastReceivedMs ?? []),
  );
  // The log has something for it: it is `unread`.
  if (status !== null && status.unread.records > 0) return [];
  const lastMs = status?.lastReceivedMs ?? null;
  const sinceMs = Math.max(enabledSinceMs, lastMs ?? 0);
  // Events accepted later may still be on their way to this job.
  const othersMs = Math.min(Math.max(0, ...others), functions.countedUntilMs);
  if (othersMs - sinceMs <= AFTER.nothingReceived) return [];
  return {
    ...head("nothing_received", "error", sinceMs),
    summary: `Job ${id} is enabled but receives no events${lastMs === null ? "" : " any more"} while other jobs do.`,
    advice:
      "Look for `the control plane does not answer` in this service's log: a shard of the log may have an old configuration.",
  };
}
