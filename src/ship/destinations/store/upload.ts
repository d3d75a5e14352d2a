import type { Body, FixedObject, WriteOutcome } from "../destination.ts";
import type { Failure } from "../failure.ts";
import {
  answerWords,
  causeOf,
  classify,
  forbidsOverwriting,
  hasStatus,
  isSuccess,
  isThere,
  mayMeanHeader,
} from "./answers.ts";
import type { StoreAnswer, StoreClient } from "./client.ts";
import { look, type Seen } from "./look.ts";
import { beliefOf, CONDITION, inManner, isConditional, isTried, LEFT_OUT, mannerOf, plainerThan } from "./manner.ts";
import { notKept, type Probed } from "./probe.ts";
import { confirms, damageWords, type SentObject } from "./stored.ts";

/** `doubtful`: an earlier attempt ended without an answer. */
export interface UploadableObject extends FixedObject {
  doubtful: boolean;
}

export interface UploadOptions {
  /** The manner that the store takes, and whether it heeds the condition; manner.ts. */
  leaveOut: number;
  /** `tryCondition` of probe.ts, in a manner. */
  tryCondition(leaveOut: number): Promise<"honoured" | "ignored" | StoreAnswer>;
  /** Asks with a probe what a refusal was about. @param from the manner that is tried first. */
  probe(from: number): Promise<Probed>;
}

/** Above this size, in bytes, a store that refuses early can look like a broken connection. */
const EARLY_REFUSAL_BYTES = 65_536;

/** A PUT was refused, and what that means has to be found out. */
interface Rejected {
  kind: "rejected";
  answer: StoreAnswer;
  error: Failure;
}

/**
 * `OpenDestination.write` for stores.
 *
 * A 2xx that carries the object's MD5 as ETag is delivered. A 2xx alone proves nothing: after it,
 * after 412, and before sending what may be there already, the object is looked at: HEAD decides,
 * or its bytes, where HEAD shows an MD5 that is not ours beside the right length and no checksum.
 *
 * | what is shown | after our own 2xx | after 412 | before sending |
 * | --- | --- | --- | --- |
 * | `same` | delivered | delivered | delivered |
 * | `hidden` | delivered, unverified | delivered, unverified | sent |
 * | `damaged` | sent over it, once | sent over it, once | sent over it, once |
 * | `different` | sent over it, once | key taken | key taken |
 * | `nameless` | sent over it, once | failed | sent |
 * | `absent` | failed | failed | sent |
 * | `unknown` | failed | failed | sent |
 *
 * A key is given up only for an object that the store names. A proxy's page may answer HEAD for a
 * while, and what we have stored would be stored again. Only our own bytes are written over: those
 * beside our checksum, and what stands there right after the store said that it took ours.
 *
 * The condition is believed only of a store that was seen to refuse a second object under a key. A
 * store that takes it is asked with HEAD before each write.
 *
 * A refusal is the object's own only if the store takes a probe, and refuses the object without
 * every header that a store may not know.
 */
export async function uploadObject(
  object: UploadableObject,
  body: () => Uint8Array | Body,
  store: StoreClient,
  { leaveOut: known, tryCondition, probe }: UploadOptions,
): Promise<WriteOutcome> {
  const trial = await tryOnce(known, tryCondition);
  let isSent = false;
  const noted = () => {
    isSent = true;
    return body();
  };
  const isHeeded = trial.lasts === "always" && (trial.known & CONDITION.ignored) === 0;
  const doubtful = object.doubtful || !isHeeded;
  const options = { leaveOut: mannerOf(trial.known), probe };
  const outcome = await uploadIn({ object: { ...object, doubtful }, body: noted, store }, options);
  if (outcome.kind !== "delivered" && outcome.kind !== "failed") return outcome;
  const { leaveOut: manner, ...said } = outcome;
  const learned = learnedFrom(known, trial, { manner, isTaken: isSent && isTaken(outcome) });
  return learned === known ? said : { ...said, leaveOut: learned };
}

/**
 * What a trial of the condition came to, and whether it is remembered: always, if the store takes
 * the object, or never.
 */
interface Tried {
  known: number;
  lasts: "always" | "if taken" | "never";
}

/**
 * Finds out whether the store heeds the condition, unless that is known. A condition that could not
 * be tried is not believed.
 */
async function tryOnce(known: number, tryCondition: UploadOptions["tryCondition"]): Promise<Tried> {
  if (isTried(known)) return { known, lasts: "always" };
  const answer = await tryCondition(known);
  if (answer === "honoured") return { known: known | CONDITION.believed, lasts: "always" };
  const ignored = known | CONDITION.ignored;
  if (answer === "ignored") return { known: ignored, lasts: "always" };
  // Most stores that answer 501 mean the condition.
  if (hasStatus(answer, 501)) return { known: known | LEFT_OUT.condition, lasts: "if taken" };
  const kind = classify(answer)?.kind;
  return { known: ignored, lasts: kind === "misconfigured" || kind === "refused" ? "if taken" : "never" };
}

/**
 * What is known after an attempt.
 * @param sent.manner that the store was found to take; undefined: as it was.
 */
function learnedFrom(known: number, trial: Tried, sent: { manner: number | undefined; isTaken: boolean }): number {
  const counts = trial.lasts === "always" || (trial.lasts === "if taken" && sent.isTaken);
  const manner = sent.manner ?? mannerOf(counts ? trial.known : known);
  if (!isConditional(manner) || !counts) return manner;
  // In another manner, what was refused may be taken.
  const isStill = trial.lasts === "always" || manner === mannerOf(trial.known);
  return isStill ? manner | beliefOf(trial.known) : manner;
}

async function uploadIn(
  sending: Sending & { object: UploadableObject },
  { leaveOut, probe }: Omit<UploadOptions, "tryCondition">,
): Promise<WriteOutcome> {
  const { doubtful } = sending.object;
  let outcome = await (doubtful ? lookAndSend(sending, leaveOut) : send(sending, leaveOut, false));
  if (outcome.kind !== "rejected") return outcome;
  if (hasStatus(outcome.answer, 501) && isConditional(leaveOut)) {
    const next = leaveOut | LEFT_OUT.condition;
    outcome = await lookAndSend(sending, next, leaveOut);
    if (outcome.kind !== "rejected") return outcome;
  }
  return explain(outcome, sending, { leaveOut, probe });
}

interface Sending {
  object: FixedObject;
  body: () => Uint8Array | Body;
  store: StoreClient;
}

/**
 * Sends what is not there yet. What the store takes then shows that it takes this manner.
 * @param known the manner that was known before.
 */
async function lookAndSend(sending: Sending, leaveOut: number, known = leaveOut): Promise<WriteOutcome | Rejected> {
  const { object, store } = sending;
  const { shown } = await look(store, object.key, object);
  if (shown === "same") return { kind: "delivered", verified: true };
  if (shown === "different") return { kind: "key_taken" };
  const outcome = await send(sending, leaveOut, shown === "damaged");
  if (leaveOut === known || !isTaken(outcome)) return outcome;
  return { ...outcome, leaveOut };
}

/** Whether the store has said of a PUT that it took it, whatever it has kept. */
function isTaken(outcome: WriteOutcome | Rejected): outcome is Extract<WriteOutcome, { kind: "delivered" | "failed" }> {
  return outcome.kind === "delivered" || (outcome.kind === "failed" && outcome.error.cause === "not_kept");
}

async function send(
  { object, body, store }: Sending,
  leaveOut: number,
  isDamaged: boolean,
): Promise<WriteOutcome | Rejected> {
  const { key, bytes, sha256, md5, contentType } = object;
  let overwrite = isDamaged;
  for (;;) {
    const manner = overwrite ? leaveOut | LEFT_OUT.condition : leaveOut;
    const answer = await store.put({ key, body: body(), bytes, sha256, contentType, ...inManner(manner, md5) });
    if (confirms(answer, object)) return { kind: "delivered", verified: true };
    const error = classify(answer);
    const occupied = isConditional(manner) && isThere(answer);
    if (error !== null && !occupied) {
      if (!isConditional(leaveOut) && forbidsOverwriting(answer)) {
        // A store that forbids overwriting refuses so what it has of an attempt that died, or that
        // it answered with an error.
        const { shown } = await look(store, key, object);
        if (shown === "same") return { kind: "delivered", verified: true };
        if (shown === "different") return { kind: "key_taken" };
      }
      const isEarly = error.kind === "unreachable" && bytes > EARLY_REFUSAL_BYTES;
      if (isEarly || error.kind === "refused" || mayMeanHeader(answer)) return { kind: "rejected", answer, error };
      return { kind: "failed", error };
    }
    const outcome = conclude(answer, await look(store, key, object), object);
    if (outcome.kind !== "damaged") return outcome;
    if (overwrite) return { kind: "failed", error: notKept(outcome.words) };
    overwrite = true;
  }
}

/**
 * What is made of a look after a 2xx without our MD5, or after 412; `damaged`: what stands there is
 * ours to be written over.
 */
function conclude(
  answer: StoreAnswer,
  seen: Seen,
  object: SentObject,
): WriteOutcome | { kind: "damaged"; words: string } {
  switch (seen.shown) {
    case "same":
      return { kind: "delivered", verified: true };
    case "hidden":
      // The key holds our log's own tag, so what stands there is ours but for one chance in 2^32.
      return { kind: "delivered", verified: false };
    case "nameless":
      if (!isSuccess(answer)) {
        const words = `${answerWords(answer)}, then ${answerWords(seen.answer)} to ${seen.by}, without the object's name`;
        return { kind: "failed", error: { kind: "busy", words, retryAfterS: null, cause: causeOf(answer) } };
      }
      return { kind: "damaged", words: damageWords(seen.answer, object) };
    case "damaged":
      return { kind: "damaged", words: damageWords(seen.answer, object) };
    case "different":
      if (!isSuccess(answer)) return { kind: "key_taken" };
      return { kind: "damaged", words: damageWords(seen.answer, object) };
    case "absent": {
      const words = `${answerWords(answer)}, but the object is not there`;
      return { kind: "failed", error: { ...notKept(words), cause: causeOf(answer) } };
    }
    case "unknown": {
      const words = `${answerWords(answer)}, then ${answerWords(seen.answer)} to ${seen.by}`;
      // The next attempt begins with a look, not with the bytes.
      const cause = causeOf(seen.answer);
      if (seen.answer.kind === "unreachable") return { kind: "failed", error: { kind: "unreachable", words, cause } };
      const { retryAfterS } = seen.answer;
      return { kind: "failed", error: { kind: "busy", words, retryAfterS, cause } };
    }
  }
}

/**
 * Why a PUT was refused: a probe tells the object's fault from the destination's, and in which
 * manner the store takes anything. An object that is still refused for itself is sent without the
 * headers that the store may not know, before that is believed.
 */
async function explain(
  { answer, error }: Rejected,
  sending: Sending,
  { leaveOut, probe: ask }: Omit<UploadOptions, "tryCondition">,
): Promise<WriteOutcome> {
  // A wrong region is a 400, too: without the probe, all objects would be set aside for it.
  const probe = await ask(leaveOut);
  if (probe.kind === "failed") {
    const { failure } = probe;
    const found: Failure = failure.kind === "refused" ? { ...failure, kind: "misconfigured" } : failure;
    return { kind: "failed", error: error.kind === "unreachable" && found.kind !== "misconfigured" ? error : found };
  }
  let manners: readonly number[] = mayMeanHeader(answer) ? plainerThan(leaveOut) : [];
  if (probe.leaveOut !== leaveOut) manners = [probe.leaveOut];
  for (const manner of manners) {
    const outcome = await lookAndSend(sending, manner, leaveOut);
    if (outcome.kind !== "rejected") return outcome;
    // It may be there.
    if (outcome.error.kind === "unreachable") return { kind: "failed", error: outcome.error };
  }
  return { kind: "failed", error };
}
