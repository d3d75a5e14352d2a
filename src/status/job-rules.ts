import type { LogStatus } from "../delivery/types.ts";
import { canaryFindings } from "./canary-rules.ts";
import { type Facts, type JobFacts, SILENT } from "./facts.ts";
import { AFTER, GROWING_MS, LOG_LARGE_BYTES, REFUSED_MIN } from "./thresholds.ts";
import type { Subject } from "./types.ts";
import { answerIn, causeIn, counted, type Found, parkedAdvice, type Rest } from "./words.ts";

/** What is wrong with one job. */
export function jobFindings(job: JobFacts, facts: Facts): Found[] {
  const subject: Subject = { type: "job", id: job.id };
  const { log } = job;
  const pending = log === SILENT || log === null ? 0 : log.counts.pending;
  const isLive = job.deletedMs === null;
  const rest: Rest[] = [];
  if (isLive) rest.push(...destinationFindings(job, pending));
  if (log === SILENT) rest.push(logSilent(job));
  else if (log !== null) {
    rest.push(...(isLive ? deliveryFindings(job, log, facts.nowMs) : drainFindings(job, log, facts.nowMs)));
    rest.push(...holdingFindings(job, log, facts.nowMs));
    if (isLive) rest.push(...keptFindings(job, facts.nowMs));
    if (isLive && log.canary !== null) rest.push(...canaryFindings(log.canary));
  }
  if (isLive) rest.push(...receiptFindings(job, facts));
  return rest.map((found) => ({ ...found, subject }));
}

/** No need to wait until an upload fails on it. */
function destinationFindings({ id, destination, log }: JobFacts, pending: number): Rest[] {
  const failingSinceMs = log === SILENT || log === null ? null : log.failingSinceMs;
  const common = {
    severity: "error",
    sinceMs: failingSinceMs,
    affected: { count: pending, what: "records" },
  } as const;
  if (destination.kind === "lost")
    return [
      {
        kind: "key_lost",
        ...common,
        summary: `No key opens the destination of job ${id}: neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS fits.`,
        advice:
          "Set the key again that sealed it, as SECRETS_KEY or SECRETS_KEY_PREVIOUS; or send destination_conf again (PUT /jobs/{id}). Nothing is lost meanwhile.",
      },
    ];
  if (destination.kind === "unusable")
    return [
      {
        kind: "destination_unusable",
        ...common,
        summary: `The destination of job ${id} cannot be used: ${destination.why}.`,
        advice:
          "Set the secret or the setting that it needs; or send destination_conf again (PUT /jobs/{id}) with what is right. Nothing is lost meanwhile.",
      },
    ];
  return [];
}

function logSilent({ id }: JobFacts): Rest {
  return {
    kind: "log_silent",
    severity: "warning",
    sinceMs: null,
    affected: null,
    summary: `The log of job ${id} does not answer: nobody can tell how its delivery goes.`,
    advice:
      "It is usually over within minutes. If it is not, look for errors in the service's own log, and at the platform's status page. Messages for the job come again until it answers.",
  };
}

/** How old what waits may be, in ms, before it is late. */
export function lateAfterMs(intervalMs: number): number {
  return intervalMs + AFTER.uploadStarts + AFTER.lagging;
}

function deliveryFindings(job: JobFacts, log: LogStatus, nowMs: number): Rest[] {
  const { id, destination, intervalMs } = job;
  const { pending } = log.counts;
  if (pending === 0) return [];
  const findings: Rest[] = [];
  const affected = { count: pending, what: "records" } as const;
  // What it is parked for is said of the destination then.
  const isSaid = destination.kind === "lost" || destination.kind === "unusable";
  const { failingSinceMs, oldestPendingTakenMs: oldestMs } = log;
  const cause = causeIn(log.errorMessage);
  const fails = failingSinceMs !== null && nowMs - failingSinceMs > AFTER.failing;
  if (log.parked && !isSaid) {
    findings.push({
      kind: "parked",
      severity: "error",
      sinceMs: failingSinceMs,
      affected,
      summary: `Job ${id} is parked: ${cause}.`,
      advice: parkedAdvice(answerIn(log.errorMessage)),
    });
  } else if (!log.parked && fails && !isSaid) {
    findings.push({
      kind: "failing",
      severity: "error",
      sinceMs: failingSinceMs,
      affected,
      summary: `Uploads of job ${id} fail: ${cause}.`,
      advice:
        "They are tried again by themselves, at first after seconds, later every quarter of an hour; POST /jobs/{id}/flush tries at once. If it lasts, look at the store. Nothing is lost.",
    });
  }
  const isLate = oldestMs !== null && nowMs - oldestMs > lateAfterMs(intervalMs);
  if (!isLate) return findings;
  if (job.enabledSinceMs === null)
    findings.push({
      kind: "disabled_with_pending",
      severity: "warning",
      sinceMs: oldestMs,
      affected,
      summary: `Job ${id} is disabled, and still holds ${counted(pending, "records")} that it had taken.`,
      advice: "They are delivered all the same, when the store takes them; DELETE /jobs/{id}?discard=true drops them.",
    });
  else if (failingSinceMs === null && !isSaid)
    findings.push({
      kind: "lagging",
      severity: "warning",
      sinceMs: oldestMs,
      affected,
      summary: `Job ${id} lags: ${counted(pending, "records")} wait, the oldest for longer than its interval allows.`,
      advice:
        "GET /jobs/{id}/health shows how long uploads take, and /objects what waits. Is the store slow, or are there more events than one log takes, split them over several jobs by filters.",
    });
  return findings;
}

/** Of a job that is deleted: there is nobody left who looks at it. */
function drainFindings({ id, deletedMs, destination }: JobFacts, log: LogStatus, nowMs: number): Rest[] {
  const { pending } = log.counts;
  if (pending === 0 || deletedMs === null) return [];
  const isLost = destination.kind === "lost" || destination.kind === "unusable";
  const isStuck = log.parked || isLost || nowMs - deletedMs > AFTER.drainingStuck;
  const affected = { count: pending, what: "records" } as const;
  const discard = "DELETE /jobs/{id}?discard=true drops what it holds.";
  if (!isStuck)
    return [
      {
        kind: "draining",
        severity: "warning",
        sinceMs: deletedMs,
        affected,
        summary: `Job ${id} is deleted, and delivers what it had taken: ${counted(pending, "records")}.`,
        advice: `Nothing, if they are wanted: it ends by itself. ${discard}`,
      },
    ];
  const why = isLost
    ? "its destination cannot be opened"
    : log.failingSinceMs === null
      ? "it takes longer than an hour"
      : causeIn(log.errorMessage);
  return [
    {
      kind: "draining_stuck",
      severity: "error",
      sinceMs: log.failingSinceMs ?? deletedMs,
      affected,
      summary: `Job ${id} is deleted, and cannot deliver what it had taken (${counted(pending, "records")}): ${why}.`,
      advice: `Mend its destination where it is: a deleted job cannot be changed any more. Or: ${discard}`,
    },
  ];
}

/** What a log holds that should not stay there. */
function holdingFindings({ id, past }: JobFacts, log: LogStatus, nowMs: number): Rest[] {
  const findings: Rest[] = [];
  const { counts, segments, storedBytes, setAside } = log;
  if (counts.pending > 0 && (segments > 1 || storedBytes >= LOG_LARGE_BYTES)) {
    const isFull = segments > 1;
    findings.push({
      kind: "log_large",
      severity: isFull ? "error" : "warning",
      sinceMs: log.oldestPendingTakenMs,
      affected: { count: counts.pending, what: "records" },
      summary: isFull
        ? `The log of job ${id} was full, and goes on in ${counted(segments, "segments")}: more comes than is delivered.`
        : `The log of job ${id} holds ${Math.floor(storedBytes / 1e9)} GB: more comes than is delivered.`,
      advice:
        "Mend what keeps the job from delivering, if that is said too; or give it less: a filter, a sample, fewer fields. It goes on in further segments, and loses nothing.",
    });
  }
  if (counts.set_aside > 0 || setAside.objects > 0) {
    const grew = past.setAside?.grewMs ?? null;
    const grows = grew !== null && nowMs - grew <= GROWING_MS;
    findings.push({
      kind: "objects_set_aside",
      severity: grows ? "error" : "warning",
      sinceMs: setAside.oldestMs ?? past.setAside?.sinceMs ?? null,
      affected:
        setAside.objects > 0
          ? { count: setAside.objects, what: "objects" }
          : { count: counts.set_aside, what: "records" },
      summary: `The store refuses objects of job ${id} for what they are. Set aside: ${counted(counts.set_aside, "records")}${grows ? ", and they become more" : ""}.`,
      advice:
        "GET /jobs/{id}/objects says what the store answered, and GET /set-aside lists them. When that is mended, POST /set-aside/{id}/resend; or DELETE what is not wanted.",
    });
  }
  const { received, filtered, sampled_out, delivered, pending, set_aside, discarded } = counts;
  const off = Math.abs(received - filtered - sampled_out - delivered - pending - set_aside - discarded);
  if (off > 0)
    findings.push({
      kind: "out_of_balance",
      severity: "error",
      sinceMs: null,
      affected: { count: off, what: "records" },
      summary: `The ledger of job ${id} does not add up: received is not the sum of the others.`,
      advice: "This is an error of the service. Keep GET /jobs/{id}/ledger as it is now, and report it.",
    });
  return findings;
}

function keptFindings({ id, hasFilter, sampleRate, past }: JobFacts, nowMs: number): Rest[] {
  const findings: Rest[] = [];
  const { filter, sample } = past;
  if (hasFilter && filter !== null && filter.refused >= REFUSED_MIN && nowMs - filter.sinceMs > AFTER.keptNothing)
    findings.push({
      kind: "filter_keeps_nothing",
      severity: "warning",
      sinceMs: filter.sinceMs,
      affected: { count: filter.refused, what: "records" },
      summary: `The filter of job ${id} keeps nothing: it refused all ${filter.refused} records.`,
      advice:
        "If that is not what is wanted, POST /preview with the filter shows what it would keep of recent events; PUT /jobs/{id} with another mends it. What was filtered is not shipped afterwards.",
    });
  const enough = Math.ceil(REFUSED_MIN / sampleRate);
  if (sampleRate < 1 && sample !== null && sample.refused >= enough && nowMs - sample.sinceMs > AFTER.keptNothing)
    findings.push({
      kind: "sample_keeps_nothing",
      severity: "warning",
      sinceMs: sample.sinceMs,
      affected: { count: sample.refused, what: "records" },
      summary: `The sample of job ${id} (${sampleRate}) keeps nothing: it left out all ${sample.refused} records.`,
      advice: "Raise output_options.sample_rate, or leave it out. What was not kept is not shipped afterwards.",
    });
  return findings;
}

/** A job that gets nothing while others do: every enabled job is offered every event. */
function receiptFindings({ id, enabledSinceMs, log }: JobFacts, { jobs, account, functions }: Facts): Rest[] {
  if (enabledSinceMs === null || log === SILENT || account === SILENT || functions === SILENT) return [];
  const others = jobs.flatMap((other) =>
    other.id === id || other.log === SILENT ? [] : (other.log?.lastReceivedMs ?? []),
  );
  const lastMs = log?.lastReceivedMs ?? null;
  const sinceMs = Math.max(enabledSinceMs, lastMs ?? 0);
  // What was taken in before may be on its way to this one.
  const othersMs = Math.min(Math.max(0, ...others), functions.countedUntilMs);
  if (othersMs - sinceMs <= AFTER.nothingReceived) return [];
  return [
    {
      kind: "nothing_received",
      severity: "error",
      sinceMs,
      affected: null,
      summary: `Job ${id} is enabled and gets nothing${lastMs === null ? "" : " any more"}, while other jobs do.`,
      advice:
        "Look for `append failed` with its number in the service's own log. Messages that it could not take come again.",
    },
  ];
}
