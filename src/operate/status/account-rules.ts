import { counted } from "../../base/counted.ts";
import { QUEUE_MAX_BYTES, SHARD_LOAD, SHARD_MAX_BYTES } from "../../base/limits.ts";
import { sentBy } from "../../formats/record/shares.ts";
import type { AccountFacts, Facts } from "./facts.ts";
import { NO_ANSWER } from "./facts.ts";
import { type Found, head, type Rest, shown, shownGB } from "./finding-text.ts";
import {
  AFTER,
  BACKLOG_MIN,
  GROWING_MS,
  isQuiet,
  LEDGER_LARGE_BYTES,
  LOSS_TOLD_MS,
  NAMED_MAX,
  QUEUE_FULL_BYTES,
  QUEUE_LARGE_BYTES,
} from "./thresholds.ts";

/** What is wrong with the account as a whole. */
export function accountFindings(facts: Facts): Found[] {
  const { account } = facts;
  const found = [configurationFindings(facts), silenceFindings(facts)];
  if (account !== NO_ANSWER)
    found.push(
      routingFindings(facts, account),
      lossFindings(facts, account),
      unitFindings(facts, account),
      queueFindings(facts, account),
      sizeFindings(account),
      loadFindings(account),
      crowdFindings(account),
      restoredFindings(facts, account),
      balanceFindings(account),
    );
  return found.flat().map((rest) => ({ ...rest, subject: { type: "account" } }));
}

function configurationFindings({ configFaults }: Facts): Rest | Rest[] {
  if (configFaults.length === 0) return [];
  return {
    ...head("configuration_malformed", "error"),
    summary: `The configuration is malformed: ${configFaults.join("; ")}.`,
    advice: "Correct the named settings and deploy. Until then, events are accepted but not delivered.",
  };
}

/**
 * A part that does not answer is a finding of its own: what only that part knows is unknown
 * meanwhile.
 */
function silenceFindings(facts: Facts): Rest[] {
  const { controlAnswered, account, functions, replays, attachments } = facts;
  const silent = (kind: Rest["kind"], part: string, unknown: string): Rest => ({
    ...head(kind, "warning"),
    summary: `${part} does not answer, so it is unknown ${unknown}.`,
    advice:
      "This usually ends within minutes. If it lasts, look for errors in this service's log and on Cloudflare's status page.",
  });
  return [
    ...(controlAnswered
      ? []
      : [silent("control_silent", "The control plane", "whether jobs have changed (those last known are checked)")]),
    ...(account === NO_ANSWER ? [silent("ledger_silent", "The account's ledger", "where events went")] : []),
    // The ledger can answer for its totals and still time out on the counts of functions, which are
    // far more.
    ...(account !== NO_ANSWER && functions === NO_ANSWER
      ? [silent("ledger_silent", "The account's ledger (counts of Workers)", "whether any Worker has gone quiet")]
      : []),
    ...(replays === NO_ANSWER ? [silent("replays_silent", "The store of replays", "whether any is stuck")] : []),
    ...(attachments === NO_ANSWER
      ? [silent("attachments_silent", "The attachment check", "whether Workers are still attached")]
      : []),
  ];
}

function routingFindings({ jobs, functions, nowMs }: Facts, { status, past, usual }: AccountFacts): Rest | Rest[] {
  const enabled = jobs.flatMap(({ enabledSinceMs }) => enabledSinceMs ?? []);
  if (enabled.length === 0) {
    const { grewMs, sinceMs, by } = past.notRouted;
    if (grewMs === null || nowMs - grewMs > GROWING_MS) return [];
    const none = jobs.every(({ deletedMs }) => deletedMs !== null) ? "There is no job" : "No job is enabled";
    return {
      ...head("no_job_enabled", "error", sinceMs, by, "events"),
      summary: `${none}, so incoming events are dropped (counted as not_routed).`,
      advice: "Create a job or enable one. Events dropped until then are not shipped later.",
    };
  }
  const since = Math.min(...enabled);
  const never = status.counts.processed === 0;
  // Events accepted after this time may still be in the queue.
  const untilMs = functions === NO_ANSWER ? null : functions.countedUntilMs;
  const late = never
    ? nowMs - since > AFTER.nothingReceived
    : usual !== null && untilMs !== null && untilMs - since > AFTER.quiet && isQuiet(usual, untilMs);
  if (!late) return [];
  return {
    ...head("no_events", "warning", never ? since : (usual?.lastMs ?? null)),
    summary: never
      ? "A job is enabled, but no event has ever arrived."
      : "No event has arrived from any Worker for longer than usual.",
    advice:
      'Check that your Workers run, and that each is deployed with `"tail_consumers": [{ "service": "logship" }]` in its project file.',
  };
}

function lossFindings({ nowMs }: Facts, { past, setAside }: AccountFacts): Rest[] {
  const findings: Rest[] = [];
  const { intakeLost, intakeUnfit } = past;
  if (intakeLost.grewMs !== null && nowMs - intakeLost.grewMs <= LOSS_TOLD_MS) {
    findings.push({
      ...head("intake_lost", "error", intakeLost.sinceMs, intakeLost.by, "events"),
      summary: `logship lost ${counted(intakeLost.by, "events")} on arrival: neither the queue nor the log accepted them.`,
      advice:
        "These events are gone. Look for `intake lost events` in this service's log; if it continues, check Cloudflare's status page. This finding stays for a day after the last loss.",
    });
  }
  if (intakeUnfit.grewMs !== null && nowMs - intakeUnfit.grewMs <= LOSS_TOLD_MS) {
    findings.push({
      ...head("intake_unfit", "error", intakeUnfit.sinceMs, intakeUnfit.by, "events"),
      summary: `logship could not keep ${counted(intakeUnfit.by, "events")} that Cloudflare traced: they are too large for a record, or are not trace events.`,
      advice:
        "These events are gone. Have the Worker log less per invocation. This finding stays for a day after the last one.",
    });
  }
  if (setAside.messages > 0) {
    const { grewMs, sinceMs } = past.setAside;
    const grows = grewMs !== null && nowMs - grewMs <= GROWING_MS;
    findings.push({
      ...head(
        "messages_set_aside",
        grows ? "error" : "warning",
        setAside.oldestMs ?? sinceMs,
        setAside.messages,
        "messages",
      ),
      summary: `logship could not process messages with ${counted(setAside.events, "events")} and put them on hold${grows ? "; their number is growing" : ""}.${setAside.stopsClaims ? " It cannot read one of them, so last_complete stands still for every job." : ""}`,
      advice:
        "Each entry under On hold shows its reason. Fix the cause, then resend the entry, or delete it. Until then, last_complete does not pass it.",
    });
  }
  return findings;
}

function unitFindings({ nowMs }: Facts, { status }: AccountFacts): Rest | Rest[] {
  const late = status.inSeconds.filter(({ lastMs }) => nowMs - lastMs <= LOSS_TOLD_MS);
  if (late.length === 0) return [];
  const events = late.reduce((sum, each) => sum + each.events, 0);
  const sources = [...new Set(late.map(({ source }) => (source === "" ? "others" : shown(source))))];
  return {
    ...head("times_in_seconds", "warning", null, events, "events"),
    summary: `logship got ${counted(events, "events")} with times in seconds instead of milliseconds. They came from ${sources.slice(0, NAMED_MAX).join(", ")}.`,
    advice:
      "Have the sender use milliseconds since the epoch. logship keeps these events as they were sent, under days of early 1970. This finding stays for a day after the last one.",
  };
}

function queueFindings({ nowMs }: Facts, { status, backlogSinceMs }: AccountFacts): Rest[] {
  const findings: Rest[] = [];
  const { oldestUnfinishedMs, queueBacklog, queueOldestMs = null, queueSeenMs } = status;
  const queueBytes = status.queueBytes ?? 0;
  const isOld = (ms: number | null): ms is number => ms !== null && nowMs - ms > AFTER.queueOld;
  if (isOld(oldestUnfinishedMs)) {
    findings.push({
      ...head("queue_old", "error", Math.min(oldestUnfinishedMs, queueOldestMs ?? oldestUnfinishedMs)),
      summary:
        "The queue keeps redelivering messages: a shard of the log does not accept them, or a newer version of logship wrote them.",
      advice:
        "Look in this service's log: `an append failed` names the shard; after `messages of a newer version went back to the queue`, deploy that version again. Nothing is lost: logship puts a message that fails for ten days on hold.",
    });
  } else if (isOld(queueOldestMs) && isOld(queueSeenMs ?? 0)) {
    findings.push({
      ...head("queue_old", "error", queueOldestMs, queueBacklog, "messages"),
      summary: `The queue holds ${counted(queueBacklog ?? 0, "messages")}, and none of them has got through for a quarter of an hour.`,
      advice:
        "Run `npx wrangler queues info logship-events`. If delivery is paused, run `npx wrangler queues resume-delivery logship-events`; if this service is not the consumer, deploy it. If batches come and fail at once, its log says why. The queue keeps a message for fourteen days.",
    });
  }
  if (backlogSinceMs !== null && nowMs - backlogSinceMs > AFTER.backlog) {
    const count = queueBacklog ?? BACKLOG_MIN;
    findings.push({
      ...head("queue_backlog", "warning", backlogSinceMs, count, "messages"),
      summary: `The queue holds ${counted(count, "messages")}, which arrive faster than logship processes them.`,
      advice:
        "If the backlog does not shrink, raise max_concurrency of the consumer in wrangler.jsonc, or look in this service's log for what slows it down. The queue keeps a message for fourteen days.",
    });
  }
  if (queueBytes >= QUEUE_LARGE_BYTES) {
    findings.push({
      ...head("queue_large", queueBytes >= QUEUE_FULL_BYTES ? "error" : "warning", null, queueBacklog, "messages"),
      summary: `The queue holds ${shownGB(queueBytes)} of ${QUEUE_MAX_BYTES / 1e9} GB. When it is full, it accepts no messages, and events go to the log one request at a time.`,
      advice:
        "Raise max_concurrency of the consumer in wrangler.jsonc, or look in this service's log for what slows it down. Senders over HTTP can wait and repeat their requests.",
    });
  }
  return findings;
}

/** Each sender that names too much, to its own harm alone. */
function crowdFindings({ status: { crowded } }: AccountFacts): Rest[] {
  return [...Map.groupBy(crowded, ({ source }) => sentBy(source).sender)].map(([sender, own]) => {
    const who = sender === undefined ? "Cloudflare" : shown(sender);
    return {
      ...{ ...head("sender_crowds", "warning"), ...sentBy(sender) },
      summary: own.some(({ what }) => what === "refused")
        ? `logship refuses requests of ${who}: it names too many Workers or distant days within an hour.`
        : `${who} names more Workers within an hour than logship keeps apart, so the health of some is part of a sum.`,
      advice:
        "Other senders' Workers are not affected. Have the sender use fixed names, send a backfill in the order of its days, and repeat refused requests in the next hour.",
    };
  });
}

function restoredFindings({ nowMs }: Facts, { status: { restored } }: AccountFacts): Rest | Rest[] {
  if (restored === null || nowMs - restored.atMs > LOSS_TOLD_MS) return [];
  const { who, job, atMs } = restored;
  const part = who === "shard" ? "A shard of the log" : `A reader of job ${job}`;
  const lost =
    who === "shard"
      ? "Jobs that had not read its later records have lost these, and messages on hold that you have resent since are back."
      : "Records that it read since then are lost, or arrive a second time.";
  return {
    ...head("restored", "error", atMs),
    summary: `${part} was restored to an earlier time. ${lost}`,
    advice: "Compare the objects of that time with what your Workers logged. This finding stays for a day.",
  };
}

function balanceFindings({ status: { counts } }: AccountFacts): Rest | Rest[] {
  const { processed, routed, not_enabled, not_routed, set_aside, discarded } = counts;
  const off = Math.abs(processed - routed - not_enabled - not_routed - set_aside - discarded);
  if (off === 0) return [];
  return {
    ...head("out_of_balance", "error", null, off, "events"),
    summary:
      "The account's ledger does not add up: processed is not routed + not_enabled + not_routed + set_aside + discarded.",
    advice: "This is a bug in logship. Save the account's ledger as it is now, and report it.",
  };
}

function sizeFindings({ status: { storedBytes } }: AccountFacts): Rest | Rest[] {
  if (storedBytes < LEDGER_LARGE_BYTES) return [];
  const isFull = storedBytes >= SHARD_MAX_BYTES;
  return {
    ...head("ledger_large", isFull ? "error" : "warning"),
    summary: `A shard of the log holds ${shownGB(storedBytes)} of ${SHARD_MAX_BYTES / 1e9} GB${isFull ? ", and accepts no more: messages wait in the queue" : ""}.`,
    advice:
      "Find the job that does not read the log, or resend or delete what is on hold. If neither helps, raise LOG_SHARDS and deploy.",
  };
}

function loadFindings({ status: { load } }: AccountFacts): Rest | Rest[] {
  if (load === null || (load.parts <= SHARD_LOAD.parts && load.bytes <= SHARD_LOAD.bytes)) return [];
  const took =
    load.parts > SHARD_LOAD.parts
      ? `${Math.ceil(load.parts)} parts a second, more than ${SHARD_LOAD.parts}`
      : `${(load.bytes / 1e6).toFixed(1)} MB a second, more than ${SHARD_LOAD.bytes / 1e6}`;
  return {
    ...head("ledger_busy", "warning"),
    summary: `In the last ten minutes, a shard of the log took ${took}.`,
    advice:
      "Raise LOG_SHARDS to the next power of two, and deploy with npm run setup, which raises max_concurrency of the consumer with it (six for each shard).",
  };
}
