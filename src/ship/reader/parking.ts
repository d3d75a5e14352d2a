import { backoffMs } from "../../base/backoff.ts";
import { RETRY_AFTER_MAX_S } from "../../base/limits.ts";
import type { Sql } from "../../base/storage/sql.ts";
import type { FailureKind } from "../destinations/failure.ts";
import type { ReaderState } from "./reader-state.ts";

/**
 * Parked: uploads fail on something that only a person can change. The reader keeps everything,
 * says so, and tries again every few minutes.
 *
 * - It begins with a failed upload that {@link parks}.
 * - It is tried at once ({@link tryNow}) when the job is changed, and when a user flushes it; a
 *   rerun is neither.
 * - It ends with the next object that is delivered, and with another destination.
 */

const PARK_MS = { first: 60_000, last: 5 * 60_000 };

/**
 * Whether a failure parks: 401, 403, 404, a redirect and the like, or a destination that cannot be
 * read from its configuration.
 */
export function parks(failure: FailureKind): failure is Extract<FailureKind, { kind: "misconfigured" | "unusable" }> {
  return failure.kind === "misconfigured" || failure.kind === "unusable";
}

/** Until the next try. @param attempt failures in a row, from 1. */
export function parkedDelayMs(attempt: number, random: number): number {
  return jittered(PARK_MS, attempt, random);
}

export function parkedWords(words: string, isRerun: boolean): string {
  const rest = isRerun
    ? "; a rerun does not follow its job: cancel it, and begin another"
    : " and whenever you edit the job";
  return `delivery paused: ${words}; records are kept, and logship retries every few minutes${rest}`;
}

/** {@link backoffMs}, spread by chance over half to all of it. @param random in [0, 1). */
export function jittered(range: { first: number; last: number }, attempt: number, random: number): number {
  return Math.round(backoffMs(range, attempt) * (0.5 + random / 2));
}

/**
 * What failed is due now. Belongs into a transaction of its caller.
 * @param afterMs only what was to wait beyond this time.
 */
export function tryNow(sql: Sql, state: ReaderState, afterMs = 0): void {
  sql.run`
    UPDATE object SET next_attempt_ms = 0
    WHERE state = 'waiting' AND attempts > 0 AND next_attempt_ms > ${afterMs}`;
  if (state.requireRow().resume_ms > afterMs) state.set({ resume_ms: 0 });
}

/** Nothing waits for longer: a clock that had leapt ahead has noted a later time. */
export const WAIT_MAX_MS = RETRY_AFTER_MAX_S * 1_000;
