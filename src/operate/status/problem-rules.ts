import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../base/time.ts";
import { clock, count as words } from "../../base/words.ts";
import { sentBy } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import type { Problem } from "../../ship/log/problems.ts";
import type { RecordPlace } from "./finding.ts";
import { type Found, head, shown } from "./finding-text.ts";
import type { ProblemState } from "./problem-states.ts";

/** How long a problem is new, in ms since the intake of its first record. */
export const NEW_MS = DAY_MS;

/** What comes so soon after problems are known, in ms, was there before: after an upgrade. */
const KNOWN_MS = 5 * MINUTE_MS;

/** A new problem is no finding any more if none came for so long, in ms. */
const QUIET_MS = HOUR_MS;

/** How a problem stands. */
export interface Standing {
  state: "open" | ProblemState["state"];
  isNew: boolean;
  /** It was resolved, and came again: it is open. */
  isRegressed: boolean;
}

/**
 * What was decided about a problem, or about one that counts with it since: the latest. undefined:
 * nothing.
 */
export function decidedOf(
  { ids }: Pick<Problem, "ids">,
  states: ReadonlyMap<string, ProblemState>,
): ProblemState | undefined {
  const all = ids.flatMap((id) => states.get(id) ?? []);
  return all.sort((a, b) => b.atMs - a.atMs)[0];
}

/** @param decided about it; undefined: nothing. */
export function standingOf(
  { bornMs, seenMs, knownSinceMs }: Pick<Problem, "bornMs" | "seenMs" | "knownSinceMs">,
  decided: ProblemState | undefined,
  nowMs: number,
): Standing {
  const isNew = nowMs - bornMs < NEW_MS && (knownSinceMs === 0 || bornMs > knownSinceMs + KNOWN_MS);
  if (decided === undefined) return { state: "open", isNew, isRegressed: false };
  if (decided.state === "resolved") {
    const isRegressed = seenMs > decided.atMs;
    return { state: isRegressed ? "open" : "resolved", isNew, isRegressed };
  }
  const isOver = decided.untilMs !== null && decided.untilMs <= nowMs;
  return { state: isOver ? "open" : "ignored", isNew, isRegressed: false };
}

/** A problem that someone may want to know of. */
export interface ProblemFact {
  id: string;
  /** Of the function. */
  name: string;
  /** Who sent these events under this name; absent: the platform traced them. */
  sender?: Source;
  count: number;
  bornMs: number;
  /** It was resolved then, in ms since the epoch; null: it is new. */
  resolvedMs: number | null;
  /** Its first record; where it was resolved, the latest. */
  record: RecordPlace;
  /** The one version that has it; absent: several, or it is unknown. */
  version?: string;
}

/** Those that are new, or came again; the most frequent first. */
export function problemFacts(
  problems: readonly Problem[],
  states: readonly ProblemState[],
  nowMs: number,
): ProblemFact[] {
  const decided = new Map(states.map((state) => [state.id, state]));
  const facts = problems.flatMap((problem): ProblemFact[] => {
    const { id, scriptName: name, source, count, bornMs, seenMs } = problem;
    const state = decidedOf(problem, decided);
    const standing = standingOf(problem, state, nowMs);
    const isComing = standing.isNew && nowMs - seenMs < QUIET_MS;
    if (standing.state !== "open" || !(standing.isRegressed || isComing)) return [];
    const resolvedMs = standing.isRegressed ? (state?.atMs ?? null) : null;
    const { firstMs, firstRay, lastMs, lastRay, versions } = problem;
    const [atMs, ray] = resolvedMs === null ? [firstMs, firstRay] : [lastMs, lastRay];
    const record = { script: name, atMs, rayId: ray || null };
    const [version, other] = versions;
    const only = version === undefined || other !== undefined ? {} : { version };
    return [{ ...{ id, name, count, bornMs, resolvedMs, record }, ...only, ...sentBy(source) }];
  });
  return facts.sort((a, b) => b.count - a.count);
}

export function problemFindings(problems: readonly ProblemFact[]): Found[] {
  return problems.map(({ id, name, sender, count, bornMs, resolvedMs, record, version }) => {
    const who = `${shown(name)}${sender === undefined ? "" : `, as sent by ${shown(sender)},`}`;
    const records = `${words(count)} ${count === 1 ? "record" : "records"}`;
    const links = { problem: id, firstRecord: record, ...(version !== undefined && { version }) };
    const about = { subject: { type: "function", name } as const, problem: id, links, ...sentBy(sender) };
    return resolvedMs === null
      ? {
          ...about,
          ...head("problem_new", "warning", bornMs, count),
          summary: `${who} has a new problem: ${records} since ${clock(bornMs)} UTC (problem ${id}).`,
          advice:
            "The problem shows the error, its first record, and the version that has it. Resolve or ignore it there.",
        }
      : {
          ...about,
          ...head("problem_regressed", "warning", resolvedMs),
          summary: `${who} has a problem again that was resolved at ${clock(resolvedMs)} UTC (problem ${id}).`,
          advice:
            "The problem shows its latest record and the versions that have it. Resolve it again when it is fixed, or ignore it.",
        };
  });
}
