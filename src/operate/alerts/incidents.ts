/**
 * From checks to incidents: when a finding opens an incident, and when the incident is over. Pure.
 */

import { type Finding, keyOf } from "../status/finding.ts";
import { head } from "../status/finding-text.ts";

/** A finding opens an incident when two checks at least this far apart, in ms, have it. */
export const CONFIRM_MS = 60_000;

/** An incident is over when it was absent for this long, in ms… */
export const SETTLE_MS = 15 * 60_000;
/** …and from this many checks in a row, each of which could have seen it. */
export const SETTLE_CHECKS = 3;

/**
 * How many findings are tracked individually; one more finding counts the rest. Each of these has
 * room of its own: what senders name, functions, searches, and of jobs and the account warnings,
 * and errors.
 */
export const ROOM = { sent: 90, functions: 100, warnings: 50, errors: 100, searches: 50 } as const;

/** What one sender names, of that. Those that still fail stay, though it names others now. */
const SENT_BY_ONE_MAX = 10;

/** Errors that are recovering, beside those: a new error does not wait until they are over. */
const RECOVERING_MAX = 100;

/** The kind of that finding. */
export const MORE = "more_findings";

/** A finding that is tracked: suspected at first, then an incident. */
export interface Tracked {
  readonly id: string;
  /** As it was last seen. */
  readonly finding: Finding;
  /** The earliest time that any check found, in ms since the epoch. */
  readonly sinceMs: number;
  readonly firstSeenMs: number;
  /** When it became an incident; null: it is suspected. */
  readonly openedMs: number | null;
  /**
   * Since which check it is absent, and from how many; null: the last check saw it, or could not
   * have.
   */
  readonly well: { readonly sinceMs: number; readonly checks: number } | null;
  /** How often it came back. */
  readonly flaps: number;
  /** The last check could not tell whether it is still there. */
  readonly unknown?: true;
  /** It opened as a warning, and has become an error: it is told once more. */
  readonly worse?: true;
}

/**
 * Of what the last check says about a tracked finding: `open`: it is among the check's findings;
 * `recovering`: it is not; `unknown`: the part that could tell does not answer.
 */
export type TrackedState = "open" | "recovering" | "unknown";

export type Incident = Tracked & { readonly openedMs: number };

/** Not seen since `overMs`. */
export type OverIncident = Incident & { readonly overMs: number };

export interface Check {
  /** In ms since the epoch. */
  readonly atMs: number;
  readonly findings: readonly Finding[];
  /**
   * Whether this check could not tell if there is such a finding; its absence then means nothing.
   */
  isUnknown(finding: Finding): boolean;
}

export interface Step {
  /** What is tracked after the check. */
  readonly tracked: readonly Tracked[];
  /** Incidents that the check opened. */
  readonly opened: readonly Incident[];
  /** Incidents that ended with the check; no longer tracked. */
  readonly over: readonly OverIncident[];
}

/**
 * Applies a check to what is tracked. An incident that returns before it is over stays the same,
 * with one more flap.
 * @param newId makes the id of a newly tracked finding.
 */
export function advance(before: readonly Tracked[], check: Check, newId: () => string): Step {
  const known = new Map(before.map((each) => [keyOf(each.finding), each]));
  const seen = bounded(check.findings, known);
  const tracked: Tracked[] = [];
  const opened: Incident[] = [];
  const over: OverIncident[] = [];
  for (const [key, each] of known) {
    const finding = seen.get(key);
    seen.delete(key);
    const past = notAfter(each, check.atMs);
    if (finding !== undefined) {
      const next = seenAgain(past, finding, check.atMs);
      if (isIncident(next) && past.openedMs === null) opened.push(next);
      tracked.push(next);
    } else if (check.isUnknown(past.finding)) {
      tracked.push({ ...past, well: null, unknown: true });
    } else {
      const { unknown: _, ...rest } = past;
      const next = {
        ...rest,
        well: { sinceMs: past.well?.sinceMs ?? check.atMs, checks: (past.well?.checks ?? 0) + 1 },
      };
      if (check.atMs - next.well.sinceMs < SETTLE_MS || next.well.checks < SETTLE_CHECKS) tracked.push(next);
      else if (isIncident(next)) over.push({ ...next, overMs: next.well.sinceMs });
    }
  }
  for (const finding of seen.values()) {
    const sinceMs = Math.min(finding.sinceMs ?? check.atMs, check.atMs);
    const suspected = { id: newId(), finding, sinceMs, firstSeenMs: check.atMs, openedMs: null, well: null, flaps: 0 };
    const each = opensAtOnce(finding) ? { ...suspected, openedMs: check.atMs } : suspected;
    if (isIncident(each)) opened.push(each);
    tracked.push(each);
  }
  return { tracked, opened, over };
}

/**
 * When the next check could open an incident, in ms since the epoch; null: nothing is suspected.
 */
export function confirmMs(tracked: readonly Tracked[], nowMs: number): number | null {
  const times = tracked
    .filter(isSuspected)
    .map(({ firstSeenMs }) => firstSeenMs + CONFIRM_MS)
    .filter((ms) => ms > nowMs);
  return times.length === 0 ? null : Math.min(...times);
}

/** Whether the next check may open an incident. */
export function mayOpen(tracked: readonly Tracked[], nowMs: number): boolean {
  return tracked.filter(isSuspected).some(({ firstSeenMs }) => nowMs - firstSeenMs >= CONFIRM_MS);
}

/** Its owner has said from when on it is one, and for how long it must be so. */
function opensAtOnce({ kind }: Finding): boolean {
  return kind === "search_alert";
}

function isSuspected({ openedMs, well }: Tracked): boolean {
  return openedMs === null && well === null;
}

export function stateOf({ well, unknown }: Tracked): TrackedState {
  if (unknown === true) return "unknown";
  return well === null ? "open" : "recovering";
}

/** When a recovering incident is over at the earliest, in ms since the epoch; null: it is not. */
export function overAtMs({ well }: Tracked): number | null {
  return well === null ? null : well.sinceMs + SETTLE_MS;
}

/**
 * The tracked finding that stands for each of a check's findings, by {@link keyOf}: its own, or
 * that of the rest.
 */
export function trackedByKey(findings: readonly Finding[], tracked: readonly Tracked[]): ReadonlyMap<string, Tracked> {
  const own = new Map(tracked.map((each) => [keyOf(each.finding), each]));
  const more = tracked.find(({ finding }) => finding.kind === MORE);
  return new Map(
    findings.flatMap((finding) => {
      const each = own.get(keyOf(finding)) ?? more;
      return each === undefined ? [] : [[keyOf(finding), each]];
    }),
  );
}

export function isIncident(tracked: Tracked): tracked is Incident {
  return tracked.openedMs !== null;
}

function seenAgain({ unknown: _, ...past }: Tracked, finding: Finding, nowMs: number): Tracked {
  const isWorse = past.openedMs !== null && past.finding.severity === "warning" && finding.severity === "error";
  return {
    ...past,
    ...(isWorse && { worse: true }),
    finding,
    sinceMs: Math.min(past.sinceMs, finding.sinceMs ?? past.sinceMs),
    openedMs: past.openedMs ?? (opensAtOnce(finding) || nowMs - past.firstSeenMs >= CONFIRM_MS ? nowMs : null),
    well: null,
    flaps: past.flaps + (past.well === null ? 0 : 1),
  };
}

/**
 * After a clock was set back, times in the future are cut to now: otherwise nothing would open or
 * end until then.
 */
function notAfter(each: Tracked, nowMs: number): Tracked {
  const at = (ms: number): number => Math.min(ms, nowMs);
  return {
    ...each,
    sinceMs: at(each.sinceMs),
    firstSeenMs: at(each.firstSeenMs),
    openedMs: each.openedMs === null ? null : at(each.openedMs),
    well: each.well === null ? null : { ...each.well, sinceMs: at(each.well.sinceMs) },
  };
}

/**
 * The findings to track, by their keys. Those already tracked stay; new ones fill what is left of
 * their {@link ROOM}, errors first; the rest becomes one finding.
 */
function bounded(findings: readonly Finding[], known: ReadonlyMap<string, Tracked>): Map<string, Finding> {
  const all = new Map(findings.map((finding) => [keyOf(finding), finding]));
  const rank = ([key, { severity }]: [string, Finding]): string => `${severity === "error" ? 0 : 1}${key}`;
  const others = [...all].filter(([key]) => !known.has(key)).sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const rooms = new Rooms(known.values());
  const left = others.filter(([, finding]) => !rooms.admits(finding));
  for (const [key] of left) all.delete(key);
  if (left.length > 0) {
    const more = moreFinding(left.map(([, finding]) => finding));
    all.set(keyOf(more), more);
  }
  return all;
}

/** What is left of {@link ROOM}. */
class Rooms {
  readonly #left = new Map<string, number>(Object.entries(ROOM));

  constructor(followed: Iterable<Tracked>) {
    let recovering = 0;
    for (const { finding, well } of followed) {
      const isRecovering = well !== null && roomsOf(finding).includes("errors") && recovering < RECOVERING_MAX;
      if (isRecovering) recovering += 1;
      else this.#take(finding);
    }
  }

  admits(finding: Finding): boolean {
    const isRoom = roomsOf(finding).every((room) => this.#leftOf(room) > 0);
    if (isRoom) this.#take(finding);
    return isRoom;
  }

  #take(finding: Finding): void {
    for (const room of roomsOf(finding)) this.#left.set(room, this.#leftOf(room) - 1);
  }

  #leftOf(room: string): number {
    return this.#left.get(room) ?? SENT_BY_ONE_MAX;
  }
}

/** In which a finding takes room. */
function roomsOf({ kind, subject, sender, severity }: Finding): string[] {
  // It counts others.
  if (kind === MORE) return [];
  if (sender !== undefined) return ["sent", `of ${sender}`];
  if (subject.type === "function") return ["functions"];
  // There are no more with an alert.
  if (subject.type === "search") return ["searches"];
  return [severity === "error" ? "errors" : "warnings"];
}

function moreFinding(left: readonly Finding[]): Finding {
  return {
    subject: { type: "account" },
    ...head(MORE, left.some(({ severity }) => severity === "error") ? "error" : "warning"),
    summary: `${left.length} more findings are too many to track one by one.`,
    advice: "Fix what many of them have in common; the status lists all findings.",
  };
}
