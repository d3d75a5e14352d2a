import type { Failure, FailureKind } from "../destinations/failure.ts";
import { jittered, parkedDelayMs, parkedWords, parks } from "./parking.ts";

/**
 * What follows from a failed upload. No answer loses a record; docs/delivery.md has the whole
 * table.
 */
export type Disposition = { do: "retry"; delayMs: number } | { do: "park"; delayMs: number } | { do: "set_aside" };

const RETRY_MS = { first: 5_000, last: 15 * 60_000 };

/**
 * @param attempt failures in a row, from 1.
 * @param random in [0, 1), for jitter.
 */
export function disposition(error: FailureKind, attempt: number, random: number): Disposition {
  if (parks(error)) return { do: "park", delayMs: parkedDelayMs(attempt, random) };
  const delay = jittered(RETRY_MS, attempt, random);
  switch (error.kind) {
    case "busy":
      return { do: "retry", delayMs: Math.max(delay, (error.retryAfterS ?? 0) * 1_000) };
    case "unreachable":
      return { do: "retry", delayMs: delay };
    case "refused":
      return { do: "set_aside" };
  }
}

/**
 * A failure of an object, where the one that ended last was set aside and none has been delivered
 * since: a store that refuses one object after another for itself has a fault of its own, which
 * parks. Objects that are wrong themselves follow one by one, each after one that is delivered.
 */
export function asMisconfigured(error: Failure): Failure {
  if (error.kind !== "refused") return error;
  return { kind: "misconfigured", words: `${error.words} to one object after another`, cause: error.cause };
}

/** How a failing job says what is wrong. */
export function failureWords(words: string, what: Disposition["do"], isRerun = false): string {
  switch (what) {
    case "retry":
      return `upload failed: ${words}; it is being tried again`;
    case "park":
      return parkedWords(words, isRerun);
    case "set_aside":
      return `an object was set aside: ${words}`;
  }
}
