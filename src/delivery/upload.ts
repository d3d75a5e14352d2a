import type { ObjectStore, StoreAnswer } from "../destinations/object-store.ts";
import { answerWords, type ProbeAnswer, writeProbe } from "../destinations/probe.ts";
import { compare, confirms, damageWords, isSuccess, type SentObject } from "../destinations/stored.ts";
import type { FailureCause, UploadError } from "./policy.ts";

/** What an upload needs to know of an object. */
export interface UploadableObject extends SentObject {
  key: string;
  /** An earlier attempt ended without an answer. */
  doubtful: boolean;
  contentType: string;
}

export type UploadOutcome =
  | { kind: "delivered"; verified: boolean }
  /** Another object stands under the key. */
  | { kind: "key_taken" }
  /** The store does not know `If-None-Match`: it must be asked again without. */
  | { kind: "no_conditional" }
  | { kind: "failed"; error: UploadError };

/** Beyond this size a store that refuses early can look like a broken connection, in bytes. */
const EARLY_REFUSAL_BYTES = 65_536;

/** 400s that say something of the destination or of the moment, not of the object. https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
const MISCONFIGURED_CODES: ReadonlySet<string> = new Set([
  "AuthorizationHeaderMalformed",
  "ExpiredToken",
  "IllegalLocationConstraintException",
  "InvalidBucketName",
  "InvalidToken",
  "TokenRefreshRequired",
]);
const MOMENTARY_CODES: ReadonlySet<string> = new Set([
  "BadDigest",
  "IncompleteBody",
  "RequestTimeout",
  "SlowDown",
  "XAmzContentSHA256Mismatch",
]);

/**
 * One attempt to bring an object's fixed bytes under its fixed key. However often it runs, and wherever an earlier run broke off, the store ends
 * up with the object once, and whole.
 *
 * A 2xx that carries the object's MD5 as ETag is delivered. A 2xx alone claims nothing: after it, after 412, and before sending what may be there
 * already, HEAD decides:
 *
 * | HEAD shows | after our own 2xx | after 412 | before sending |
 * | --- | --- | --- | --- |
 * | `same` | delivered | delivered | delivered |
 * | `hidden` | delivered, unverified | delivered, unverified | sent |
 * | `damaged` | sent over it, once | sent over it, once | sent over it, once |
 * | `different` | sent over it, once; then delivered, unverified, if its length is right | key taken | key taken |
 * | `nameless` | sent over it, once | failed | sent |
 * | `absent` | failed | failed | sent |
 * | `unknown` | failed | failed | sent |
 *
 * A key is given up only for an object that HEAD names: for a page of a proxy, which may answer HEAD for a while, what we have stored would be stored again.
 * Only our own bytes are written over: those beside our checksum, and what stands there right after the store said that it took ours.
 * @param body gives the bytes from their start; called each time they are sent, at most twice.
 * @param options.conditional whether the store may know `If-None-Match`.
 * @param options.path the destination's path, for asking with a probe what a refusal was about.
 */
export async function uploadObject(
  object: UploadableObject,
  body: () => Uint8Array | ReadableStream<Uint8Array>,
  store: Pick<ObjectStore, "put" | "head">,
  options: { conditional: boolean; path: string },
): Promise<UploadOutcome> {
  const { key, bytes, sha256, contentType } = object;
  let overwrite = false;
  if (object.doubtful) {
    const shown = compare(await store.head(key), object);
    if (shown === "same") return { kind: "delivered", verified: true };
    if (shown === "different") return { kind: "key_taken" };
    overwrite = shown === "damaged";
  }
  for (;;) {
    const conditional = options.conditional && !overwrite;
    const answer = await store.put({ key, body: body(), bytes, sha256, contentType, conditional });
    if (confirms(answer, object)) return { kind: "delivered", verified: true };
    if (conditional && hasStatus(answer, 501)) return { kind: "no_conditional" };
    const error = classify(answer);
    const occupied = conditional && hasStatus(answer, 412);
    if (error !== null && !occupied) return { kind: "failed", error: await explain(error, bytes, store, options.path) };
    const outcome = conclude(answer, await store.head(key), object);
    if (outcome.kind !== "damaged") return outcome;
    if (overwrite) {
      // It took the bytes twice, and their number is right: its ETags are of its own making, and it keeps no metadata.
      if (outcome.plausible) return { kind: "delivered", verified: false };
      return { kind: "failed", error: notKept(outcome.words) };
    }
    overwrite = true;
  }
}

/** What HEAD makes of a 2xx without our MD5, or of 412; `damaged`: what stands there is ours to be written over. */
function conclude(
  answer: StoreAnswer,
  head: StoreAnswer,
  object: SentObject,
): UploadOutcome | { kind: "damaged"; words: string; plausible: boolean } {
  const shown = compare(head, object);
  switch (shown) {
    case "same":
      return { kind: "delivered", verified: true };
    case "hidden":
      // The key holds our log's own tag, so what stands there is ours but for one chance in 2^32.
      return { kind: "delivered", verified: false };
    case "nameless":
      if (!isSuccess(answer)) {
        const words = `${answerWords(answer)}, then ${answerWords(head)} to HEAD, without an object's name`;
        return { kind: "failed", error: { kind: "busy", words, retryAfterS: null, cause: causeOf(answer) } };
      }
      return { kind: "damaged", words: damageWords(head, object), plausible: false };
    case "damaged":
      return { kind: "damaged", words: damageWords(head, object), plausible: false };
    case "different": {
      if (!isSuccess(answer)) return { kind: "key_taken" };
      const plausible = head.kind === "answer" && head.sha256 === null && head.bytes === object.bytes;
      return { kind: "damaged", words: damageWords(head, object), plausible };
    }
    case "absent": {
      const words = `${answerWords(answer)}, but the object is not there`;
      return { kind: "failed", error: { ...notKept(words), cause: causeOf(answer) } };
    }
    case "unknown": {
      const words = `${answerWords(answer)}, then ${answerWords(head)} to HEAD`;
      // In doubt: the next attempt begins with HEAD, not with the bytes.
      const cause = causeOf(head);
      if (head.kind === "unreachable") return { kind: "failed", error: { kind: "unreachable", words, cause } };
      return { kind: "failed", error: { kind: "busy", words, retryAfterS: head.retryAfterS, cause } };
    }
  }
}

/** Why a PUT failed; a probe is asked where the answer alone does not tell the object's fault from the destination's. */
async function explain(
  error: UploadError,
  bytes: number,
  store: Pick<ObjectStore, "put" | "head">,
  path: string,
): Promise<UploadError> {
  const early = error.kind === "unreachable" && bytes > EARLY_REFUSAL_BYTES;
  if (!early && error.kind !== "refused") return error;
  // Is it the object, or would the store refuse anything? A wrong region, too, is a 400; setting all objects aside for it would be a disaster.
  const probe = classify(await writeProbe(store, path));
  if (probe === null) return error;
  if (early) return probe.kind === "misconfigured" ? probe : error;
  return probe.kind === "refused" ? { kind: "misconfigured", words: probe.words, cause: probe.cause } : probe;
}

function notKept(words: string): UploadError {
  return { kind: "busy", words, retryAfterS: null, cause: "not_kept" };
}

/** What an answer that is not good enough is counted by. A success that is none says nothing by its status. */
function causeOf(answer: ProbeAnswer): FailureCause {
  if (answer.kind === "not_kept") return "not_kept";
  if (answer.kind === "unreachable") return answer.cause === "timeout" ? "timeout" : "connection_failed";
  const { status } = answer;
  return isSuccess(answer) ? "not_kept" : status;
}

function hasStatus(answer: StoreAnswer, status: number): boolean {
  return answer.kind === "answer" && answer.status === status;
}

/** What an answer to a PUT means; null: the store says that it took it. */
export function classify(answer: ProbeAnswer): UploadError | null {
  const words = answerWords(answer);
  const cause = causeOf(answer);
  if (answer.kind === "not_kept") return notKept(words);
  if (answer.kind === "unreachable") return { kind: "unreachable", words, cause };
  if (isSuccess(answer)) return null;
  const { status, code, retryAfterS } = answer;
  if (status >= 500 && status !== 501) return { kind: "busy", words, retryAfterS, cause };
  if (status === 408 || status === 409 || status === 412 || status === 425 || status === 429)
    return { kind: "busy", words, retryAfterS, cause };
  if (status === 400 && code !== null && MISCONFIGURED_CODES.has(code)) return { kind: "misconfigured", words, cause };
  if (status === 400 && code !== null && MOMENTARY_CODES.has(code)) return { kind: "busy", words, retryAfterS, cause };
  if (status === 400 || status === 413) return { kind: "refused", words, cause };
  return { kind: "misconfigured", words, cause };
}
