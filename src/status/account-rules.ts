import type { AccountFacts, Facts } from "./facts.ts";
import { SILENT } from "./facts.ts";
import { AFTER, BACKLOG_MIN, GROWING_MS, isQuiet, LOSS_TOLD_MS } from "./thresholds.ts";
import type { Subject } from "./types.ts";
import { counted, type Found } from "./words.ts";

const subject: Subject = { type: "account" };

/** What is wrong with the account as a whole. */
export function accountFindings(facts: Facts): Found[] {
  const { account, outbox } = facts;
  return [
    ...configurationFindings(facts),
    ...silenceFindings(facts),
    ...(account === SILENT
      ? []
      : [
          ...routingFindings(facts, account),
          ...lossFindings(facts, account),
          ...queueFindings(facts, account),
          ...balanceFindings(account),
        ]),
    ...(outbox === SILENT ? [] : outboxFindings(outbox, facts.nowMs)),
  ];
}

function configurationFindings({ configFaults }: Facts): Found[] {
  if (configFaults.length === 0) return [];
  return [
    {
      kind: "configuration_malformed",
      subject,
      severity: "error",
      sinceMs: null,
      affected: null,
      summary: `The configuration is malformed: ${configFaults.join("; ")}.`,
      advice:
        "Set what is named as it should be, and deploy again. Events are taken in meanwhile; jobs deliver nothing.",
    },
  ];
}

/** That somebody does not answer is said of itself: what only he knows, nobody can tell meanwhile. */
function silenceFindings({ controlTold, account, functions, outbox, replays, attachments }: Facts): Found[] {
  const silent = (kind: Found["kind"], who: string, untold: string): Found => ({
    kind,
    subject,
    severity: "warning",
    sinceMs: null,
    affected: null,
    summary: `${who} does not answer: nobody can tell ${untold}.`,
    advice:
      "It is usually over within minutes. If it is not, look for errors in the service's own log, and at the platform's status page.",
  });
  return [
    ...(controlTold
      ? []
      : [silent("control_silent", "The control plane", "whether jobs have changed; those last known are looked at")]),
    ...(account === SILENT ? [silent("ledger_silent", "The account's ledger", "what became of events")] : []),
    // It may tell its sums, and not what is far more: the counts of functions.
    ...(account !== SILENT && functions === SILENT
      ? [silent("ledger_silent", "The account's ledger, asked after functions,", "whether any has gone quiet")]
      : []),
    ...(outbox === SILENT ? [silent("outbox_silent", "The outbox", "whether it holds events")] : []),
    ...(replays === SILENT ? [silent("replays_silent", "What keeps the replays", "whether any waits")] : []),
    ...(attachments === SILENT
      ? [silent("attachments_silent", "What looks after attachments", "whether functions are still attached")]
      : []),
  ];
}

function routingFindings({ jobs, functions, nowMs }: Facts, { status, past, usual }: AccountFacts): Found[] {
  const enabled = jobs.flatMap(({ enabledSinceMs }) => enabledSinceMs ?? []);
  if (enabled.length === 0) {
    const { grewMs, sinceMs, by } = past.notRouted;
    if (grewMs === null || nowMs - grewMs > GROWING_MS) return [];
    const none = jobs.every(({ deletedMs }) => deletedMs !== null) ? "There is no job" : "No job is enabled";
    return [
      {
        kind: "no_job_enabled",
        subject,
        severity: "error",
        sinceMs,
        affected: { count: by, what: "events" },
        summary: `${none}, and events come: they are counted as not_routed, and ship nowhere.`,
        advice: "Create a job (POST /jobs), or enable one. What came before is not shipped afterwards.",
      },
    ];
  }
  const since = Math.min(...enabled);
  const never = status.counts.processed === 0;
  // What was taken in since then may be on its way: it is no silence.
  const untilMs = functions === SILENT ? null : functions.countedUntilMs;
  const late = never
    ? nowMs - since > AFTER.nothingReceived
    : usual !== null && untilMs !== null && untilMs - since > AFTER.quiet && isQuiet(usual, untilMs);
  if (!late) return [];
  return [
    {
      kind: "no_events",
      subject,
      severity: "warning",
      sinceMs: never ? since : (usual?.lastMs ?? null),
      affected: null,
      summary: never
        ? "A job is enabled, and no event has ever come."
        : "No event of any function has come for longer than is usual.",
      advice:
        'Look whether functions run, and whether they are attached: `"tail_consumers": [{ "service": "logship" }]` in their project file, and deployed with it.',
    },
  ];
}

function lossFindings({ nowMs }: Facts, { past, setAside }: AccountFacts): Found[] {
  const findings: Found[] = [];
  const { intakeLost } = past;
  if (intakeLost.grewMs !== null && nowMs - intakeLost.grewMs <= LOSS_TOLD_MS) {
    findings.push({
      kind: "intake_lost",
      subject,
      severity: "error",
      sinceMs: intakeLost.sinceMs,
      affected: { count: intakeLost.by, what: "events" },
      summary: `Intake lost ${counted(intakeLost.by, "events")}: neither the queue nor the outbox took them.`,
      advice:
        "They are gone. Look for `intake lost events` in the service's own log; if it goes on, at the platform's status page. This is told for a day after the last loss.",
    });
  }
  if (setAside.messages > 0) {
    const { grewMs, sinceMs } = past.setAside;
    const grows = grewMs !== null && nowMs - grewMs <= GROWING_MS;
    findings.push({
      kind: "messages_set_aside",
      subject,
      severity: grows ? "error" : "warning",
      sinceMs: setAside.oldestMs ?? sinceMs,
      affected: { count: setAside.messages, what: "messages" },
      summary: `Messages with ${counted(setAside.events, "events")} could not go their way, and are set aside${grows ? "; they become more" : ""}.`,
      advice:
        "GET /set-aside says why. When that is mended, POST /set-aside/{id}/resend; or DELETE what is not wanted.",
    });
  }
  return findings;
}

function queueFindings({ nowMs }: Facts, { status, backlogSinceMs }: AccountFacts): Found[] {
  const findings: Found[] = [];
  const { oldestUnfinishedMs, queueBacklog } = status;
  if (oldestUnfinishedMs !== null && nowMs - oldestUnfinishedMs > AFTER.queueOld) {
    findings.push({
      kind: "queue_old",
      subject,
      severity: "error",
      sinceMs: oldestUnfinishedMs,
      affected: null,
      summary: "Messages that were taken in have to come again and again: not every job can take them.",
      advice:
        "Look for `append failed` and `counting failed` in the service's own log: they name the job. Nothing is lost: a message that cannot go its way for ten days is set aside.",
    });
  }
  if (backlogSinceMs !== null && nowMs - backlogSinceMs > AFTER.backlog) {
    const count = queueBacklog ?? BACKLOG_MIN;
    findings.push({
      kind: "queue_backlog",
      subject,
      severity: "warning",
      sinceMs: backlogSinceMs,
      affected: { count, what: "messages" },
      summary: `${counted(count, "messages")} wait in the queue: more come than are taken out.`,
      advice:
        "If it does not go back, raise max_concurrency of the consumer in wrangler.jsonc, or look in the service's own log for what holds it up. The queue keeps a message for fourteen days.",
    });
  }
  return findings;
}

function balanceFindings({ status: { counts } }: AccountFacts): Found[] {
  const { processed, routed, not_enabled, not_routed, set_aside, discarded } = counts;
  const off = Math.abs(processed - routed - not_enabled - not_routed - set_aside - discarded);
  if (off === 0) return [];
  return [
    {
      kind: "out_of_balance",
      subject,
      severity: "error",
      sinceMs: null,
      affected: { count: off, what: "events" },
      summary:
        "The account's ledger does not add up: processed is not routed + not_enabled + not_routed + set_aside + discarded.",
      advice: "This is an error of the service. Keep GET /ledger as it is now, and report it.",
    },
  ];
}

function outboxFindings(
  { events, oldestTakenMs }: { events: number; oldestTakenMs: number | null },
  nowMs: number,
): Found[] {
  if (oldestTakenMs === null || nowMs - oldestTakenMs <= AFTER.outbox) return [];
  return [
    {
      kind: "outbox_waiting",
      subject,
      severity: nowMs - oldestTakenMs > AFTER.outboxBad ? "error" : "warning",
      sinceMs: oldestTakenMs,
      affected: { count: events, what: "events" },
      summary: `The queue does not take ${counted(events, "events")}: they wait in the outbox.`,
      advice:
        "They are sent again by themselves, every few minutes. If it lasts, look for `what was kept` in the service's own log, and at the platform's status page for queues.",
    },
  ];
}
