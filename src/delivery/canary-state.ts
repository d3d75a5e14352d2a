import type { CanaryFinding, SentCanary } from "./canary-check.ts";
import { canaryAfter } from "./canary-object.ts";
import type { CanaryStatus } from "./types.ts";

/** The row of a job's canary, as schema.ts declares it. */
export interface CanaryRow {
  [column: string]: SqlStorageValue;
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
}

/** What a try did, and found. */
export interface CanaryTry {
  finding: CanaryFinding;
  /** It wrote one, and when that began, in ms; null: it only read. */
  wroteMs: number | null;
  /** The one that is there, as far as the store says; null: it could not be written. */
  sent: SentCanary | null;
}

/** After how long a try that was in vain is repeated, in ms, for the first, the second…: what is wrong for a moment is nothing to be told of. */
const AGAIN_MS: readonly number[] = [15_000, 60_000, 180_000];

/** A store that asks for more patience than this, in ms, cannot be said to be well. */
const PATIENCE_MS = 300_000;

const HOUR_MS = 3_600_000;

/** How long after its time a canary may be sent, in ms: three times what the cron takes to come, should the alarm not. */
const OVERDUE_MS = 900_000;

/** When there is something to do, in ms since the epoch. One that is set for later than in an hour, was set by a clock that went ahead. */
export function canaryDueMs({ next_ms }: Pick<CanaryRow, "next_ms">, nowMs: number): number {
  return next_ms > nowMs + HOUR_MS ? nowMs : next_ms;
}

/** What follows from a try. Decided is a run when one was read back, when what is wrong will not pass by itself, or when it was tried often enough. */
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

/** How a canary is, for whoever asks. That none is sent is seen here alone: whoever should send it does not come to say so. */
export function canaryStatus(row: CanaryRow, nowMs: number): CanaryStatus {
  const overdueMs = row.next_ms + OVERDUE_MS;
  if (nowMs > overdueMs) {
    const due = new Date(row.next_ms).toISOString();
    const why = `no canary was sent, or read again, that was due at ${due}: neither the log's alarm nor the cron has come`;
    return {
      state: "failed",
      sinceMs: row.state === "failed" ? row.since_ms : overdueMs,
      lastOkMs: row.last_ok_ms,
      why,
    };
  }
  return { state: row.state, sinceMs: row.since_ms, lastOkMs: row.last_ok_ms, why: row.why };
}
