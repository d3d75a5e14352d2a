import type { Body, FixedObject, WriteOutcome } from "../destination.ts";
import type { Failure } from "../failure.ts";
import { answerWords, causeOf, classify, isSuccess } from "./answers.ts";
import type { ObjectStore, StoreAnswer } from "./object-store.ts";
import { writeProbe } from "./probe.ts";
import { compare, confirms, damageWords, type SentObject } from "./stored.ts";

/** `doubtful`: an earlier attempt ended without an answer. */
export interface UploadableObject extends FixedObject {
  doubtful: boolean;
}

/** Above this size, in bytes, a store that refuses early can look like a broken connection. */
const EARLY_REFUSAL_BYTES = 65_536;

/**
 * `OpenDestination.write` for S3.
 *
 * A 2xx that carries the object's MD5 as ETag is delivered. A 2xx alone proves nothing: after it,
 * after 412, and before sending what may be there already, HEAD decides:
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
 * A key is given up only for an object that HEAD names. A proxy's page may answer HEAD for a while,
 * and what we have stored would be stored again. Only our own bytes are written over: those beside
 * our checksum, and what stands there right after the store said that it took ours.
 * @param options.conditional whether the store may know `If-None-Match`.
 * @param options.path the destination's path, for asking with a probe what a refusal was about.
 */
export async function uploadObject(
  object: UploadableObject,
  body: () => Uint8Array | Body,
  store: Pick<ObjectStore, "put" | "head">,
  options: { conditional: boolean; path: string },
): Promise<WriteOutcome> {
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
      // It took the bytes twice, and the length is right: its ETags are no MD5, and it keeps no
      // metadata.
      if (outcome.plausible) return { kind: "delivered", verified: false };
      return { kind: "failed", error: notKept(outcome.words) };
    }
    overwrite = true;
  }
}

/**
 * What HEAD makes of a 2xx without our MD5, or of 412; `damaged`: what stands there is ours to be
 * written over.
 */
function conclude(
  answer: StoreAnswer,
  head: StoreAnswer,
  object: SentObject,
): WriteOutcome | { kind: "damaged"; words: string; plausible: boolean } {
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
      // The next attempt begins with HEAD, not with the bytes.
      const cause = causeOf(head);
      if (head.kind === "unreachable") return { kind: "failed", error: { kind: "unreachable", words, cause } };
      return { kind: "failed", error: { kind: "busy", words, retryAfterS: head.retryAfterS, cause } };
    }
  }
}

/**
 * Why a PUT failed. Where the answer alone does not tell the object's fault from the destination's,
 * a probe is written.
 */
async function explain(
  error: Failure,
  bytes: number,
  store: Pick<ObjectStore, "put" | "head">,
  path: string,
): Promise<Failure> {
  const early = error.kind === "unreachable" && bytes > EARLY_REFUSAL_BYTES;
  if (!early && error.kind !== "refused") return error;
  // A wrong region is a 400, too: without the probe, all objects would be set aside for it.
  const answer = await writeProbe(store, path);
  const probe = answer.kind === "not_kept" ? notKept(answer.words) : classify(answer);
  if (probe === null) return error;
  if (early) return probe.kind === "misconfigured" ? probe : error;
  return probe.kind === "refused" ? { kind: "misconfigured", words: probe.words, cause: probe.cause } : probe;
}

function notKept(words: string): Failure {
  return { kind: "busy", words, retryAfterS: null, cause: "not_kept" };
}

function hasStatus(answer: StoreAnswer, status: number): boolean {
  return answer.kind === "answer" && answer.status === status;
}
