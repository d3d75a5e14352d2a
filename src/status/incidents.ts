/** From looks to incidents: what is seen for long enough to be told, and not seen for long enough to be over. Pure: a look brings its time with it. */
import type { Finding } from "./types.ts";

/** A finding becomes an incident when it is seen in two looks that are so far apart, in ms: what is over by then was a flap. */
export const CONFIRM_MS = 60_000;

/** An incident is over when it was not seen for so long, in ms… */
export const SETTLE_MS = 15 * 60_000;
/** …and in so many looks on end, in each of which it could have been seen. */
export const SETTLE_LOOKS = 3;

/** So many are followed one by one; what else there is becomes one finding that counts. */
export const INCIDENTS_MAX = 100;

/** The kind of that finding. */
export const MORE = "more_findings";

/** A finding that is followed: suspected at first, then an incident. */
export interface Tracked {
  readonly id: string;
  /** As it was last seen. */
  readonly finding: Finding;
  /** Since when it is wrong, in ms since the epoch: as far back as any look could tell. */
  readonly sinceMs: number;
  readonly firstSeenMs: number;
  /** When it became an incident; null: it is suspected. */
  readonly openedMs: number | null;
  /** Since which look it was not seen, and in how many; null: it was seen in the last one, or could not have been. */
  readonly well: { readonly sinceMs: number; readonly looks: number } | null;
  /** How often it was seen again after it was not. */
  readonly flaps: number;
}

/** An incident: one that was seen for long enough. */
export type Incident = Tracked & { readonly openedMs: number };

/** An incident that is over: not seen since `overMs`. */
export type OverIncident = Incident & { readonly overMs: number };

export interface Look {
  /** In ms since the epoch. */
  readonly atMs: number;
  readonly findings: readonly Finding[];
  /** Whether this look could not tell if there is such a finding: that it is not there says nothing then. */
  isBlind(finding: Finding): boolean;
}

export interface Step {
  /** What is followed after the look. */
  readonly tracked: readonly Tracked[];
  /** What became an incident with it. */
  readonly opened: readonly Incident[];
  /** Incidents that were over with it; they are followed no more. */
  readonly over: readonly OverIncident[];
}

/** What tells findings apart: kind and subject. */
export function keyOf({ kind, subject }: Pick<Finding, "kind" | "subject">): string {
  if (subject.type === "job") return JSON.stringify([kind, "job", subject.id]);
  return JSON.stringify(subject.type === "function" ? [kind, "function", subject.name] : [kind, "account"]);
}

/**
 * What a look makes of what is followed. An incident that is seen again before it is over is the same one, with a flap more.
 * @param newId makes the id of what is followed from now on.
 */
export function advance(before: readonly Tracked[], look: Look, newId: () => string): Step {
  const known = new Map(before.map((each) => [keyOf(each.finding), each]));
  const seen = bounded(look.findings, known);
  const tracked: Tracked[] = [];
  const opened: Incident[] = [];
  const over: OverIncident[] = [];
  for (const [key, each] of known) {
    const finding = seen.get(key);
    seen.delete(key);
    const past = notAfter(each, look.atMs);
    if (finding !== undefined) {
      const next = seenAgain(past, finding, look.atMs);
      if (isIncident(next) && past.openedMs === null) opened.push(next);
      tracked.push(next);
    } else if (look.isBlind(past.finding)) {
      tracked.push({ ...past, well: null });
    } else {
      const next = { ...past, well: { sinceMs: past.well?.sinceMs ?? look.atMs, looks: (past.well?.looks ?? 0) + 1 } };
      if (look.atMs - next.well.sinceMs < SETTLE_MS || next.well.looks < SETTLE_LOOKS) tracked.push(next);
      else if (isIncident(next)) over.push({ ...next, overMs: next.well.sinceMs });
    }
  }
  for (const finding of seen.values()) {
    const sinceMs = Math.min(finding.sinceMs ?? look.atMs, look.atMs);
    tracked.push({ id: newId(), finding, sinceMs, firstSeenMs: look.atMs, openedMs: null, well: null, flaps: 0 });
  }
  return { tracked, opened, over };
}

/** When the next look could make an incident of what is suspected, in ms since the epoch; null: there is nothing that only waits for that. */
export function confirmMs(tracked: readonly Tracked[], nowMs: number): number | null {
  const times = tracked
    .filter(({ openedMs, well }) => openedMs === null && well === null)
    .map(({ firstSeenMs }) => firstSeenMs + CONFIRM_MS)
    .filter((ms) => ms > nowMs);
  return times.length === 0 ? null : Math.min(...times);
}

/** Whether something is suspected for so long that the next look may make an incident of it. */
export function isDue(tracked: readonly Tracked[], nowMs: number): boolean {
  return tracked.some(
    ({ openedMs, well, firstSeenMs }) => openedMs === null && well === null && nowMs - firstSeenMs >= CONFIRM_MS,
  );
}

export function isIncident(tracked: Tracked): tracked is Incident {
  return tracked.openedMs !== null;
}

function seenAgain(past: Tracked, finding: Finding, nowMs: number): Tracked {
  return {
    ...past,
    finding,
    sinceMs: Math.min(past.sinceMs, finding.sinceMs ?? past.sinceMs),
    openedMs: past.openedMs ?? (nowMs - past.firstSeenMs >= CONFIRM_MS ? nowMs : null),
    well: null,
    flaps: past.flaps + (past.well === null ? 0 : 1),
  };
}

/** A clock that was put back leaves no time that is yet to come: nothing would be told, or be over, until it has come. */
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
 * The findings that are followed, each once, by their keys. What is followed already stays so; there is room for others as far as it goes, for errors
 * first; those that are left are one finding.
 */
function bounded(findings: readonly Finding[], known: ReadonlyMap<string, Tracked>): Map<string, Finding> {
  const all = new Map(findings.map((finding) => [keyOf(finding), finding]));
  const rank = ([key, { severity }]: [string, Finding]): string => `${severity === "error" ? 0 : 1}${key}`;
  const others = [...all].filter(([key]) => !known.has(key)).sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const followed = [...known.values()].filter(({ finding }) => finding.kind !== MORE).length;
  const left = others.slice(Math.max(0, INCIDENTS_MAX - followed));
  for (const [key] of left) all.delete(key);
  if (left.length > 0) {
    const more = moreFinding(left.map(([, finding]) => finding));
    all.set(keyOf(more), more);
  }
  return all;
}

function moreFinding(left: readonly Finding[]): Finding {
  return {
    kind: MORE,
    subject: { type: "account" },
    severity: left.some(({ severity }) => severity === "error") ? "error" : "warning",
    sinceMs: null,
    affected: null,
    summary: `${left.length} more findings than the ${INCIDENTS_MAX} that are followed one by one.`,
    advice: "Put right what is the same in many of them; GET /status has each that there is.",
  };
}
