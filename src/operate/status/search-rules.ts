import { duration, figure, plural } from "../../base/words.ts";
import { type AlertedSearch, bucketEndMs, bucketsAt, isPast } from "../../ship/job/searches.ts";
import { addedSums, type SearchSum } from "../../ship/log/search-counts.ts";
import { type Found, head, shown } from "./finding-text.ts";
import { AFTER } from "./thresholds.ts";

/** A saved search with an alert, and what was counted of it. */
export interface SearchFact {
  search: AlertedSearch;
  /** Of its measure, over its time; null: no record has a value. */
  value: number | null;
  /** `unknown`: no whole time has passed, or what would count still waits in the queue. */
  standing: "past" | "well" | "unknown";
  /** Since which look it is past its threshold, in ms; null: it is not. */
  pastSinceMs: number | null;
  /** When it may be another without a further record, in ms; null: never. */
  dueMs: number | null;
}

/** Since when a search is past its threshold, by id; `of` says which threshold that is. */
export type PastSearches = Readonly<Record<string, { of: string; sinceMs: number }>>;

/** How often a search is looked at that is near its threshold, or not past it for long, in ms. */
const LOOK_EVERY_MS = 60_000;

/** Pure. @param waitsMs how long records have waited in the queue that may count. */
export function factOf(
  search: AlertedSearch,
  shards: readonly (readonly SearchSum[])[],
  past: PastSearches,
  { nowMs, waitsMs }: { nowMs: number; waitsMs: number },
): SearchFact {
  const { alert } = search;
  const { value, sinceMs, emptyMs, pastMs, nearMs } = addedSums(search, shards, nowMs);
  // The window is up to a bucket longer than its time.
  const wholeMs = bucketEndMs(alert, bucketsAt(alert, sinceMs).last);
  const soonMs = nowMs + LOOK_EVERY_MS;
  const isBelow = alert.when === "below";
  const isEarly = isBelow && nowMs < wholeMs;
  const isOver = isPast(alert, value);
  // What waits is a share of what is measured; a batch waits ten seconds.
  const isBehind = waitsMs > Math.min(AFTER.searchBehind, alert.overMs / 4);
  const isUnknown = isBelow && isOver && (isEarly || isBehind);
  const before = past[search.id]?.of === thresholdOf(search) ? (past[search.id]?.sinceMs ?? null) : null;
  const pastSinceMs = isUnknown ? before : isOver ? Math.min(before ?? nowMs, nowMs) : null;
  const lastsMs = (pastSinceMs ?? nowMs) + alert.forMs;
  // While records come, one that is just above its threshold would be looked at with each bucket;
  // and with many in one shard, a few of another one may be enough.
  const nextMs = isBelow && pastMs >= emptyMs ? pastMs : Math.max(soonMs, isBelow ? pastMs : nearMs);
  const dues = [
    ...(isEarly ? [wholeMs] : isUnknown ? [soonMs] : []),
    ...(isOver && !isUnknown && nowMs < lastsMs ? [Math.min(soonMs, lastsMs)] : []),
    ...(isOver || nextMs === Number.POSITIVE_INFINITY ? [] : [nextMs]),
  ];
  return {
    search,
    value,
    standing: isUnknown ? "unknown" : isOver ? "past" : "well",
    pastSinceMs,
    dueMs: dues.length === 0 ? null : Math.min(...dues),
  };
}

/** Another one once its owner changes it. */
export function thresholdOf({ stamp, alert: { when, threshold } }: AlertedSearch): string {
  return `${stamp} ${when} ${threshold}`;
}

/** When the first of them is to be looked at again; null: a record will tell. */
export function nextDueMs(searches: readonly SearchFact[]): number | null {
  const dues = searches.flatMap(({ dueMs }) => dueMs ?? []);
  return dues.length === 0 ? null : Math.min(...dues);
}

/** Whether it is a finding. */
export function isAlert({ search, standing, pastSinceMs }: SearchFact, nowMs: number): boolean {
  return standing === "past" && pastSinceMs !== null && nowMs - pastSinceMs >= search.alert.forMs;
}

export function searchFindings(searches: readonly SearchFact[], nowMs: number): Found[] {
  return searches
    .filter((fact) => isAlert(fact, nowMs))
    .map(({ search: { id, name, alert }, value, pastSinceMs }): Found => {
      const { measure, threshold, when, overMs, severity } = alert;
      const isCount = measure.op === "count" && measure.of === undefined;
      const known = value ?? 0;
      const what = isCount
        ? plural(known, "record")
        : `${measure.op} of ${shown(measure.of ?? "")} is ${figure(known)}`;
      const bound = `${when === "below" ? "below" : "at least"} ${figure(threshold)}`;
      return {
        subject: { type: "search", id, name },
        ...head("search_alert", severity, pastSinceMs, isCount && when === "at_least" ? known : null),
        summary: `Search ${shown(name)} is past its threshold: ${what} in the last ${duration(overMs)} (${bound}).`,
        advice: "The search shows its records. Its threshold is that of its owner: change it, or take the alert away.",
      };
    });
}
