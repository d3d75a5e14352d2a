import type { CanaryFinding, SentCanary } from "./canary-check.ts";
import { canaryAfter } from "./canary-object.ts";
import type { CanaryStatus } from "./types.ts";

/** The row of a job's canary, as schema.ts declares it. */
export type CanaryRow = {
  destination_version: number;
  state: CanaryStatus["state"];
  since_ms: number;
  why: string | null;
  last_ok_ms: number | null;
  last_run_ms: number | null;
  next_ms: number;
  tries: number;
  unread: number;
  sha256: string | null;
  bytes: number | null;
  before_sha256: string | null;
};

/** What a try did, and found. */
export interface CanaryTry {
  finding: CanaryFinding;
  /** When it began to write one, in ms; null: it only read. */
  wroteMs: number | null;
  /** The canary that was written, as the store says; null: it could not be written. */
  sent: SentCanary | null;
}

/** Delays before a failed try is repeated, in ms: a momentary fault is not reported. */
const AGAIN_MS: readonly number[] = [15_000, 60_000, 180_000];

/** A store that asks for more patience than this, in ms, counts as failing. */
const PATIENCE_MS = 300_000;

const HOUR_MS = 3_600_000;

/**
 * A canary is overdue after this long, in ms: three intervals of the cron, which stands in for the
 * alarm.
 */
const OVERDUE_MS = 900_000;

/**
 * When there is something to do, in ms since the epoch. A time more than an hour ahead was set by a
 * wrong clock.
 */
export function canaryDueMs({ next_ms }: Pick<CanaryRow, "next_ms">, nowMs: number): number {
  return next_ms > nowMs + HOUR_MS ? nowMs : next_ms;
}

/**
 * What follows from a try. A run is decided when a canary was read back, when the fault will not
 * pass by itself, or after enough tries.
 */
export function afterTry(
  row: CanaryRow,
  { finding, wroteMs, sent }: CanaryTry,
  jobId: number,
  nowMs: number,
): CanaryRow {
  const tried: CanaryRow = {
    ...row,
    last_run_ms: wroteMs ?? row.last_run_ms,
    ...(sent !== null && { sha256: sent.sha256, bytes: sent.bytes, before_sha256: sent.beforeSha256 }),
  };
  if (finding.state !== "ok" && finding.passing) {
    const again = AGAIN_MS[row.tries];
    const waitMs = Math.max(again ?? 0, finding.retryAfterMs);
    if (again !== undefined && waitMs <= PATIENCE_MS)
      return { ...tried, tries: row.tries + 1, unread: sent === null ? 0 : 1, next_ms: nowMs + waitMs };
  }
  return {
    ...tried,
    state: finding.state,
    since_ms: finding.state === row.state ? row.since_ms : nowMs,
    why: finding.state === "ok" ? null : finding.why,
    last_ok_ms: finding.state === "ok" ? nowMs : row.last_ok_ms,
    tries: 0,
    unread: 0,
    next_ms: canaryAfter(jobId, nowMs),
  };
}

/**
 * The status of a canary. A canary that is not sent is noticed here alone: if alarm and cron fail,
 * nothing else says so.
 */
export function canaryStatus(row: CanaryRow, nowMs: number): CanaryStatus {
  const overdueMs = row.next_ms + OVERDUE_MS;
  if (nowMs > overdueMs) {
    const due = new Date(row.next_ms).toISOString();
    const why = `no canary was sent, or read again, that was due at ${due}: neither the log's alarm nor the cron has come`;
    const sinceMs = row.state === "failed" ? row.since_ms : overdueMs;
    return { state: "failed", sinceMs, lastOkMs: row.last_ok_ms, why };
  }
  return { state: row.state, sinceMs: row.since_ms, lastOkMs: row.last_ok_ms, why: row.why };
}
