import { counted } from "../../base/counted.ts";
import { rerunName } from "../../ship/job/config.ts";
import { accountFindings } from "./account-rules.ts";
import { type Facts, type JobFacts, NO_ANSWER } from "./facts.ts";
import { type Finding, keyOf, type Subject } from "./finding.ts";
import { type Found, head } from "./finding-text.ts";
import { isKindQuiet } from "./function-kinds.ts";
import { everyFunctionFinding, functionFindings, mayBeUnnamed } from "./function-rules.ts";
import { jobFindings } from "./job-rules.ts";
import { KIND_SOURCES, KINDS, type Kind } from "./kinds.ts";
import { searchFindings } from "./search-rules.ts";
import { isQuiet } from "./thresholds.ts";

/**
 * All findings, errors first, then by subject and kind. Pure: the same facts give the same
 * findings.
 */
export function findingsOf(facts: Facts): Finding[] {
  return [
    ...accountFindings(facts),
    ...facts.jobs.flatMap((job) => jobFindings(job, facts)),
    ...replayFindings(facts),
    ...functionFindings(facts),
    ...(facts.searches === NO_ANSWER ? [] : searchFindings(facts.searches, facts.nowMs)),
  ].sort(inOrder);
}

/** One finding per job, since the oldest of its waiting replays. */
function replayFindings({ replays, jobs }: Facts): Found[] {
  if (replays === NO_ANSWER) return [];
  const reruns = jobs.flatMap(({ rerunOf, status }) => {
    if (rerunOf === undefined || status === NO_ANSWER || status?.failingSinceMs == null || status.counts.pending === 0)
      return [];
    const { failingSinceMs: sinceMs, errorMessage, pendingObjects: objectsLeft } = status;
    return [{ job: rerunOf, sinceMs, error: errorMessage ?? "its uploads fail", objectsLeft }];
  });
  const byJob = Map.groupBy([...replays, ...reruns], ({ job }) => job);
  return [...byJob].map(([id, waiting]) => ({
    subject: { type: "job", id },
    ...head(
      "replay_waiting",
      "warning",
      Math.min(...waiting.map(({ sinceMs }) => sinceMs)),
      waiting.reduce((sum, { objectsLeft }) => sum + objectsLeft, 0),
      "objects",
    ),
    summary: `${counted(waiting.length, "replays")} of job ${id} cannot continue: ${waiting[0]?.error}.`,
    advice:
      "The job's page of replays has the details. A replay is retried automatically; fix the named cause, or cancel the replay.",
  }));
}

function inOrder(a: Found, b: Found): number {
  return (
    Number(a.severity === "warning") - Number(b.severity === "warning") ||
    rank(a.subject) - rank(b.subject) ||
    compared(a.subject, b.subject) ||
    KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
    (a.rerun ?? "").localeCompare(b.rerun ?? "") ||
    (a.eventKind ?? "").localeCompare(b.eventKind ?? "") ||
    (a.sender ?? "").localeCompare(b.sender ?? "") ||
    (a.problem ?? "").localeCompare(b.problem ?? "")
  );
}

function rank({ type }: Subject): number {
  return ["account", "job", "function", "search"].indexOf(type);
}

function compared(a: Subject, b: Subject): number {
  if (a.type !== "account" && a.type !== "function" && a.type === b.type) return a.id - b.id;
  if (a.type === "function" && b.type === "function") return a.name < b.name ? -1 : Number(a.name > b.name);
  return 0;
}

/** By {@link keyOf}: findings of their own, and those of functions that others may count. */
export interface FoundKeys {
  own: ReadonlySet<string>;
  counted: ReadonlySet<string>;
}

export function keysIn(facts: Facts): FoundKeys {
  return { own: new Set(findingsOf(facts).map(keyOf)), counted: new Set(everyFunctionFinding(facts).map(keyOf)) };
}

/**
 * Whether the facts cannot tell if there is such a finding, because a part is silent or nothing can
 * be decrypted. Its absence from the findings then does not mean that it is over.
 * @param keys of the facts: many may be asked for, and each is found among as many.
 */
export function isUnknown(
  facts: Facts,
  finding: Pick<Finding, "subject" | "kind" | "rerun" | "eventKind" | "sender" | "problem">,
  keys: FoundKeys = keysIn(facts),
): boolean {
  const { subject, rerun, eventKind } = finding;
  const of = finding.kind as Kind;
  const key = keyOf(finding);
  if (keys.own.has(key)) return false;
  const source = KIND_SOURCES[of];
  if (source in facts && facts[source as keyof Facts] === NO_ANSWER) return true;
  switch (subject.type) {
    case "account":
      if (of === "functions_more")
        return facts.functions === NO_ANSWER || [facts.attachments, facts.failing, facts.problems].includes(NO_ANSWER);
      if (of === "no_job_enabled") return !facts.controlAnswered;
      if (of === "no_events") return !facts.controlAnswered || isSilenceUnknown(facts);
      return false;
    case "job": {
      if (of === "replay_waiting")
        return facts.jobs.some((each) => each.rerunOf === subject.id && each.status === NO_ANSWER);
      const job = facts.jobs.find(({ id }) => (rerun === undefined ? id === subject.id : rerunName(id) === rerun));
      return job === undefined ? !facts.controlAnswered : isUnknownOf(job, of, facts);
    }
    case "search": {
      if (facts.searches === NO_ANSWER) return true;
      const fact = facts.searches.find(({ search }) => search.id === subject.id);
      return fact?.standing === "unknown";
    }
    case "function":
      if (keys.counted.has(key)) return true;
      if (source !== "functions") return false;
      return !facts.controlAnswered || (of !== "function_off" && isQuietUnknown(facts, subject.name, eventKind));
  }
}

function isUnknownOf(job: JobFacts, kind: Kind, facts: Facts): boolean {
  const { status, destination } = job;
  if (kind === "job_unreadable") return false;
  if (job.isUnreadable) return true;
  if (KIND_SOURCES[kind] === "destination") return destination.kind === "unknown";
  if (kind === "nothing_received" && isReceiptUnknown(job, facts)) return true;
  return status === NO_ANSWER && KIND_SOURCES[kind] === "reader";
}

/**
 * `nothing_received` compares a job with the others: a silent log may be the one that shows the
 * difference.
 */
function isReceiptUnknown(job: JobFacts, facts: Facts): boolean {
  const { jobs, account, functions } = facts;
  if (account === NO_ANSWER || functions === NO_ANSWER) return true;
  return (
    jobs.some(({ status }) => status === NO_ANSWER) &&
    jobFindings(job, facts).every(({ kind }) => kind !== "nothing_received")
  );
}

/**
 * Whether nothing was counted for too long, but events may have arrived since: unnamed, or still in
 * the queue.
 */
function isQuietUnknown({ functions, nowMs }: Facts, name: string, eventKind: string | undefined): boolean {
  if (functions === NO_ANSWER) return true;
  if (eventKind !== undefined) {
    const own = functions.kinds?.find((each) => each.name === name && each.kind === eventKind) ?? null;
    if (own !== null && mayBeUnnamed({ lastEventMs: own.lastMs, usual: null }, functions.unnamedMs)) return true;
    return isKindQuiet(own, nowMs) && !isKindQuiet(own, functions.countedUntilMs);
  }
  const known = functions.each.find((each) => each.name === name);
  if (known === undefined) return false;
  if (mayBeUnnamed(known, functions.unnamedMs)) return true;
  const { usual } = known;
  return usual !== null && isQuiet(usual, nowMs) && !isQuiet(usual, functions.countedUntilMs);
}

/** The same for all events together. */
function isSilenceUnknown({ account, functions, nowMs }: Facts): boolean {
  if (account === NO_ANSWER) return true;
  const { status, usual } = account;
  // The totals already tell that no event has ever arrived.
  if (status.counts.processed === 0) return false;
  if (functions === NO_ANSWER) return true;
  return usual !== null && isQuiet(usual, nowMs) && !isQuiet(usual, functions.countedUntilMs);
}
