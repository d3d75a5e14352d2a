import { accountFindings } from "./account-rules.ts";
import { type Facts, type JobFacts, SILENT } from "./facts.ts";
import { everyFunctionFinding, functionFindings } from "./function-rules.ts";
import { jobFindings } from "./job-rules.ts";
import { KINDS, type Kind } from "./kinds.ts";
import { isQuiet } from "./thresholds.ts";
import type { Finding, Subject } from "./types.ts";
import { counted, type Found } from "./words.ts";

export { KINDS, type Kind } from "./kinds.ts";

/** What is wrong, the worst first; then in the order of subjects and kinds. It depends on nothing but the facts. */
export function findingsOf(facts: Facts): Finding[] {
  return [
    ...accountFindings(facts),
    ...facts.jobs.flatMap((job) => jobFindings(job, facts)),
    ...replayFindings(facts),
    ...functionFindings(facts),
  ].sort(inOrder);
}

/** Of a job, but told by who ships again: the worst of several is the oldest. */
function replayFindings({ replays }: Facts): Found[] {
  if (replays === SILENT) return [];
  const byJob = Map.groupBy(replays, ({ job }) => job);
  return [...byJob].map(([id, waiting]) => ({
    kind: "replay_waiting",
    subject: { type: "job", id },
    severity: "warning",
    sinceMs: Math.min(...waiting.map(({ sinceMs }) => sinceMs)),
    affected: { count: waiting.reduce((sum, { objectsLeft }) => sum + objectsLeft, 0), what: "objects" },
    summary: `${counted(waiting.length, "replays")} of job ${id} cannot go on: ${waiting.map(({ error }) => error)[0]}.`,
    advice: "GET /jobs/{id}/replay shows it. It is tried again by itself; mend what it names, or cancel it.",
  }));
}

function inOrder(a: Found, b: Found): number {
  return (
    Number(a.severity === "warning") - Number(b.severity === "warning") ||
    rank(a.subject) - rank(b.subject) ||
    compared(a.subject, b.subject) ||
    KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)
  );
}

function rank({ type }: Subject): number {
  return ["account", "job", "function"].indexOf(type);
}

function compared(a: Subject, b: Subject): number {
  if (a.type === "job" && b.type === "job") return a.id - b.id;
  if (a.type === "function" && b.type === "function") return a.name < b.name ? -1 : Number(a.name > b.name);
  return 0;
}

/** What the ledger alone tells. */
const OF_LEDGER: ReadonlySet<Kind> = new Set([
  "no_job_enabled",
  "no_events",
  "intake_lost",
  "queue_old",
  "queue_backlog",
  "messages_set_aside",
  "out_of_balance",
]);

/** What is known of a job without its log. */
const WITHOUT_LOG: ReadonlySet<Kind> = new Set(["key_lost", "destination_unusable", "log_silent", "replay_waiting"]);

/**
 * Whether the facts do not tell if this is so, because somebody is silent, or nothing can be opened. That it is not among the findings does not say,
 * then, that it is over.
 */
export function isUntold(facts: Facts, subject: Subject, kind: string): boolean {
  const of = kind as Kind;
  const isIt = (found: Finding): boolean =>
    found.kind === of && found.subject.type === subject.type && compared(found.subject, subject) === 0;
  if (findingsOf(facts).some(isIt)) return false;
  switch (subject.type) {
    case "account":
      if (of === "outbox_waiting") return facts.outbox === SILENT;
      if (of === "functions_not_watched") return facts.functions === SILENT;
      if (of === "functions_more") return facts.functions === SILENT || facts.attachments === SILENT;
      if (of === "no_job_enabled") return facts.account === SILENT || !facts.controlTold;
      if (of === "no_events") return facts.account === SILENT || !facts.controlTold || isSilenceUntold(facts);
      return OF_LEDGER.has(of) && facts.account === SILENT;
    case "job": {
      if (of === "replay_waiting") return facts.replays === SILENT;
      const job = facts.jobs.find(({ id }) => id === subject.id);
      return job === undefined ? !facts.controlTold : isUntoldOf(job, of, facts);
    }
    case "function":
      if (isUnnamed(facts, subject.name, of)) return true;
      if (of === "attachment_undone" || of === "attachment_unknown") return facts.attachments === SILENT;
      return (
        facts.functions === SILENT ||
        !facts.controlTold ||
        (of === "function_quiet" && isQuietUntold(facts, subject.name))
      );
  }
}

function isUntoldOf({ log, destination }: JobFacts, kind: Kind, { jobs, account, functions }: Facts): boolean {
  if (kind === "key_lost" || kind === "destination_unusable") return destination.kind === "unknown";
  // It follows from what all the others get.
  if (
    kind === "nothing_received" &&
    (account === SILENT || functions === SILENT || jobs.some((job) => job.log === SILENT))
  )
    return true;
  return log === SILENT && !WITHOUT_LOG.has(kind);
}

/** Whether it is found all the same, and only not named: others stand before it. */
function isUnnamed(facts: Facts, name: string, kind: Kind): boolean {
  const isIn = (found: readonly Found[]): boolean =>
    found.some((each) => each.kind === kind && each.subject.type === "function" && each.subject.name === name);
  return isIn(everyFunctionFinding(facts)) && !isIn(functionFindings(facts));
}

/** Whether nothing has been counted of it for too long, but what was taken in since then is still on its way. */
function isQuietUntold({ functions, nowMs }: Facts, name: string): boolean {
  if (functions === SILENT) return true;
  const usual = functions.each.find((each) => each.name === name)?.usual ?? null;
  return usual !== null && isQuiet(usual, nowMs) && !isQuiet(usual, functions.countedUntilMs);
}

/** The same of all events together. */
function isSilenceUntold({ account, functions, nowMs }: Facts): boolean {
  if (account === SILENT) return true;
  const { status, usual } = account;
  // That none has ever come, the sums tell.
  if (status.counts.processed === 0) return false;
  if (functions === SILENT) return true;
  return usual !== null && isQuiet(usual, nowMs) && !isQuiet(usual, functions.countedUntilMs);
}
