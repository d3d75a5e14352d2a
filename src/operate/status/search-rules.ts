import { duration, figure, plural } from "../../base/words.ts";
import { type AlertedSearch, bucketEndMs, bucketsAt, isPast, type SearchAlert } from "../../ship/job/searches.ts";
import { addedSums, type SearchSum } from "../../ship/log/search-counts.ts";
import { type Found, head, shown } from "./finding-text.ts";

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

/** Pure. @param isBehind records wait in the queue that may count. */
export function factOf(
  search: AlertedSearch,
  shards: readonly (readonly SearchSum[])[],
  past: PastSearches,
  { nowMs, isBehind }: { nowMs: number; isBehind: boolean },
): SearchFact {
  const { alert, sinceMs } = search;
  const { value, values, buckets } = addedSums(search, shards, nowMs);
  // The window is up to a bucket longer than its time.
  const wholeMs = bucketEndMs(alert, bucketsAt(alert, sinceMs).last);
  const isEarly = alert.when === "below" && nowMs < wholeMs;
  const isOver = isPast(alert, value);
  const isUnknown = alert.when === "below" && isOver && (isEarly || isBehind);
  const before = past[search.id]?.of === thresholdOf(search) ? (past[search.id]?.sinceMs ?? null) : null;
  const pastSinceMs = isUnknown ? before : isOver ? Math.min(before ?? nowMs, nowMs) : null;
  const dues = [
    ...(isEarly ? [wholeMs] : []),
    ...(isOver && !isUnknown && nowMs - (pastSinceMs ?? nowMs) < alert.forMs
      ? [Math.min(nowMs + LOOK_EVERY_MS, (pastSinceMs ?? nowMs) + alert.forMs)]
      : []),
    ...(alert.when === "below" && !isOver ? belowFromMs(alert, buckets, nowMs) : []),
    // One shard has so much that a few more records of another one may be enough.
    ...(alert.when === "at_least" && !isOver && values.some((own) => isPast(alert, own, shards.length))
      ? [nowMs + LOOK_EVERY_MS]
      : []),
  ];
  return {
    search,
    value,
    standing: isUnknown ? "unknown" : isOver ? "past" : "well",
    pastSinceMs,
    dueMs: dues.length === 0 ? null : Math.min(...dues),
  };
}

/** When it is below its threshold if no record comes, at the earliest. */
function belowFromMs(alert: SearchAlert, buckets: readonly [number, number][], nowMs: number): number[] {
  const ends = buckets.map(([n]) => bucketEndMs(alert, n));
  if (alert.measure.op !== "count") return ends.slice(0, 1).map((ms) => Math.max(ms, nowMs + LOOK_EVERY_MS));
  const left = buckets.map((_, i) => buckets.slice(i + 1).reduce((sum, [, count]) => sum + count, 0));
  const at = left.findIndex((count) => count < alert.threshold);
  if (at === -1) return [];
  // While records come, one that is just above its threshold would be looked at with each bucket.
  return [at === ends.length - 1 ? (ends[at] as number) : Math.max(ends[at] as number, nowMs + LOOK_EVERY_MS)];
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
