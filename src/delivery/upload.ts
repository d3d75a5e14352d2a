import type { ObjectStore, StoreAnswer } from "../destinations/object-store.ts";
import { answerWords, writeProbe } from "../destinations/probe.ts";
import type { UploadError } from "./policy.ts";

/** What an upload needs to know of an object. */
export interface UploadableObject {
  key: string;
  bytes: number;
  /** Hex. */
  sha256: string;
  /** Hex; a store's ETag of an object that came in one PUT. */
  md5: string;
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
 * up with the object once.
 * @param body gives the bytes; called at most once, and only when they are sent.
 * @param path the destination's path, for asking with a probe what a refusal was about.
 */
export async function uploadObject(
  object: UploadableObject,
  body: () => Uint8Array | ReadableStream<Uint8Array>,
  store: Pick<ObjectStore, "put" | "head">,
  options: { conditional: boolean; path: string },
): Promise<UploadOutcome> {
  if (object.doubtful) {
    // It may be there already. If it is not, or the store will not say, it is simply sent.
    const found = compare(await store.head(object.key), object);
    if (found === "same") return { kind: "delivered", verified: true };
    if (found === "different") return { kind: "key_taken" };
  }
  const { key, bytes, sha256, contentType } = object;
  const answer = await store.put({ key, body: body(), bytes, sha256, contentType, conditional: options.conditional });
  if (answer.kind === "unreachable") {
    if (bytes > EARLY_REFUSAL_BYTES) {
      const refusal = classify(await writeProbe(store, options.path));
      if (refusal !== null && refusal.kind === "misconfigured") return { kind: "failed", error: refusal };
    }
    return { kind: "failed", error: { kind: "unreachable", words: answerWords(answer) } };
  }
  if (answer.status === 412 && options.conditional) {
    const head = await store.head(key);
    switch (compare(head, object)) {
      case "same":
        return { kind: "delivered", verified: true };
      case "different":
        return { kind: "key_taken" };
      case "refused":
        // Write-only credentials: the key holds our log's own tag, so what stands there is ours but for one chance in 2^32.
        return { kind: "delivered", verified: false };
      case "absent":
      case "unknown":
        return {
          kind: "failed",
          error: { kind: "busy", words: `HTTP 412, then ${answerWords(head)} to HEAD`, retryAfterS: null },
        };
    }
  }
  if (answer.status === 501 && options.conditional) return { kind: "no_conditional" };
  const error = classify(answer);
  if (error === null) return { kind: "delivered", verified: true };
  if (error.kind !== "refused") return { kind: "failed", error };
  // Is it the object, or would the store refuse anything? A wrong region, too, is a 400; setting all objects aside for it would be a disaster.
  const probe = classify(await writeProbe(store, options.path));
  if (probe === null) return { kind: "failed", error };
  return { kind: "failed", error: probe.kind === "refused" ? { kind: "misconfigured", words: probe.words } : probe };
}

type Comparison = "same" | "different" | "absent" | "refused" | "unknown";

/** Whether what HEAD shows is our object: same size, and our own checksum beside it or the MD5 as ETag. */
function compare(head: StoreAnswer, object: UploadableObject): Comparison {
  if (head.kind === "unreachable") return "unknown";
  if (head.status === 404) return "absent";
  if (head.status === 401 || head.status === 403 || head.status === 405) return "refused";
  if (head.status !== 200) return "unknown";
  const etag = head.etag?.replace(/^W\//, "").replaceAll('"', "").toLowerCase();
  const ours = head.sha256 === object.sha256 || etag === object.md5;
  return ours && (head.bytes === null || head.bytes === object.bytes) ? "same" : "different";
}

/** What an answer to a PUT means; null: stored. */
function classify(answer: StoreAnswer): UploadError | null {
  const words = answerWords(answer);
  if (answer.kind === "unreachable") return { kind: "unreachable", words };
  const { status, code, retryAfterS } = answer;
  if (status >= 200 && status < 300) return null;
  if (status >= 500 && status !== 501) return { kind: "busy", words, retryAfterS };
  if (status === 408 || status === 409 || status === 412 || status === 425 || status === 429)
    return { kind: "busy", words, retryAfterS };
  if (status === 400 && code !== null && MISCONFIGURED_CODES.has(code)) return { kind: "misconfigured", words };
  if (status === 400 && code !== null && MOMENTARY_CODES.has(code)) return { kind: "busy", words, retryAfterS };
  if (status === 400 || status === 413) return { kind: "refused", words };
  return { kind: "misconfigured", words };
}
