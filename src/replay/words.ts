import type { UploadError } from "../delivery/policy.ts";
import type { StoreAnswer } from "../destinations/object-store.ts";
import { answerWords } from "../destinations/probe.ts";

/** Why an object cannot be read where it was delivered. */
export type SourceFault =
  | { kind: "missing"; words: string }
  | { kind: "damaged"; words: string }
  /** It cannot be read now: that says nothing of the object. */
  | { kind: "error"; error: UploadError };

/** 4xx that say something of the moment. */
const MOMENTARY: ReadonlySet<number> = new Set([408, 409, 412, 425, 429]);

/** What follows from an answer to GET that has no object. */
export function sourceFault(answer: StoreAnswer): SourceFault {
  const words = `the source cannot be read: ${answerWords(answer)}`;
  if (answer.kind === "unreachable") {
    const cause = answer.cause === "timeout" ? "timeout" : "connection_failed";
    return { kind: "error", error: { kind: "unreachable", words, cause } };
  }
  const { status, code, retryAfterS } = answer;
  // Without its bucket, nothing is known of any object.
  if ((status === 404 || status === 410) && code !== "NoSuchBucket") {
    return {
      kind: "missing",
      words: `it is not there (${answerWords(answer)}): it was removed, or the job had another destination when it was delivered`,
    };
  }
  if (status >= 500 || MOMENTARY.has(status))
    return { kind: "error", error: { kind: "busy", words, retryAfterS, cause: status } };
  const gone = status === 403 ? " (some stores say so of objects that were removed, too)" : "";
  return { kind: "error", error: { kind: "misconfigured", words: words + gone, cause: status } };
}

/** How a replay that waits says what is wrong. */
export function waitingWords({ kind, words }: Pick<UploadError, "kind" | "words">): string {
  const stuck = kind === "misconfigured" || kind === "unusable";
  return stuck ? `${words}; nothing is lost, it is tried again every few minutes` : `${words}; it is being tried again`;
}
