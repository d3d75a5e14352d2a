import type { Failure, FailureKind } from "../destinations/failure.ts";
import { jittered, parkedDelayMs, parkedWords, parks } from "./parking.ts";

/**
 * What follows from a failed upload. No answer loses a record; docs/delivery.md has the whole
 * table.
 */

/** What is done with an object: it waits, the test record is sent, or it waits no longer. */
export type Step = "wait" | "ask" | "divide" | "set_aside";

/** How an object stands that has just failed, this time included. */
export interface Standing {
  failure: FailureKind["kind"];
  /** Failures in a row, and since when, in ms. */
  tries: number;
  failingMs: number;
  /** Several records, which can be sent in parts; one; or what a store takes whole. */
  of: "records" | "record" | "object";
  /**
   * The destination has taken another object of the job since the failure before this one; of a
   * refusal, since the first one.
   */
  othersPass: boolean;
  /** An object was set aside, and none has been delivered since. */
  isSetAsideLast: boolean;
  /** Several other objects failed and were delivered later: the destination fails by chance. */
  othersRecover: boolean;
  /**
   * What became of the test record; null: it was not sent. "none": it would show nothing, as a
   * store that takes a small object shows little about a large one.
   */
  test: "taken" | "refused" | "none" | null;
}

/**
 * When a failure may be the object's own: after so many tries, or so long with at least `least`. To
 * take one apart costs requests alone; what is set aside costs a person's time. A store that fails
 * by chance takes most objects in time.
 */
const PATIENCE = {
  records: { tries: 3, ms: 60_000, least: 2 },
  record: { tries: 5, ms: 120_000, least: 3 },
  object: { tries: 7, ms: 100_000, least: 6 },
  /** To set something aside where the destination fails by chance. */
  by_chance: { tries: 20, ms: Number.POSITIVE_INFINITY, least: 20 },
} as const;

/**
 * An object is to blame for a failure, however that is spelt, only while others pass; where nothing
 * else was sent, only if the test record passes. Each failure needs a proof of its own: an outage
 * may begin at any time. Where others recover, long enough to be set aside is much longer.
 *
 * | failure | long enough | others pass | test record | step |
 * | --- | --- | --- | --- | --- |
 * | `refused`: the destination has sent the test record | | | | set aside; wait, if the last one was, and no other passes |
 * | `unusable` | | | | wait |
 * | any other | no | | | wait; `misconfigured`, which would park the job: ask |
 * | | yes | yes | | divide, or set aside |
 * | | yes | no | not sent | ask; wait, if an object was set aside last |
 * | | yes | no | taken | divide, or set aside |
 * | | yes | no | refused, or there is none | wait |
 */
export function stepAfter(standing: Standing): Step {
  const { failure, tries, failingMs, of, othersPass, isSetAsideLast, othersRecover, test } = standing;
  if (failure === "unusable") return "wait";
  if (failure === "refused") return isSetAsideLast && !othersPass ? "wait" : "set_aside";
  // One after another: the fault is not theirs.
  const canAsk = test === null && !othersPass && !isSetAsideLast;
  const isParking = failure === "misconfigured";
  const step = of === "records" ? "divide" : "set_aside";
  const { tries: many, ms, least } = PATIENCE[step === "set_aside" && othersRecover ? "by_chance" : of];
  const isShown = isParking && test === "taken" && of === "records";
  const isLong = isShown || tries >= many || (tries >= least && failingMs >= ms);
  if (!isLong) return isParking && canAsk ? "ask" : "wait";
  if (othersPass || (test === "taken" && !isSetAsideLast)) return step;
  return canAsk ? "ask" : "wait";
}

/** When what waits is tried again. `park`: parking.ts. */
export interface Wait {
  do: "retry" | "park";
  delayMs: number;
}

const RETRY_MS = { first: 5_000, last: 15 * 60_000 };

/**
 * @param attempt failures in a row, from 1.
 * @param random in [0, 1), for jitter.
 */
export function waitAfter(error: FailureKind, attempt: number, random: number): Wait {
  if (parks(error)) return { do: "park", delayMs: parkedDelayMs(attempt, random) };
  const askedMs = error.kind === "busy" ? (error.retryAfterS ?? 0) * 1_000 : 0;
  return { do: "retry", delayMs: Math.max(jittered(RETRY_MS, attempt, random), askedMs) };
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

/** What parks a job, where it is one object that fails beside others: that one is tried again. */
export function asOwnFault(error: Failure): Failure {
  return error.kind === "misconfigured" ? { ...error, kind: "busy", retryAfterS: null } : error;
}

/** How a failing job says what is wrong. */
export function failureWords(words: string, what: Wait["do"] | "set_aside", isRerun = false): string {
  switch (what) {
    case "retry":
      return `upload failed: ${words}; logship is retrying`;
    case "park":
      return parkedWords(words, isRerun);
    case "set_aside":
      return `an object is on hold: ${words}`;
  }
}

/** The same without what was to be done about it. */
export function withoutOutlook(words: string): string {
  return words.replace(
    /; (?:logship is retrying|records are kept, .*|it is being tried again|nothing is lost, .*)$/,
    "",
  );
}
