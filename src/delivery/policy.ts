import { backoffMs } from "../backoff.ts";

/** What follows from a failed upload. No answer loses a record; see docs/delivery.md for the whole table. */
export type UploadError = UploadFault & { cause: FailureCause };

/**
 * What an attempt failed on, as the health of a job counts it: the status of the answer that decided, or a word where none did. docs/operations.md says
 * what each word stands for.
 */
export type FailureCause =
  | number
  | "timeout"
  | "connection_failed"
  | "not_kept"
  | "key_taken"
  | "configuration"
  | "internal";

/** What is wrong, without what it is counted by. */
export type UploadFault =
  /** 5xx, 429 and the like: the store cannot now; or it took the object and does not keep it as it was sent. */
  | { kind: "busy"; words: string; retryAfterS: number | null }
  /** No answer: the object may have been stored. */
  | { kind: "unreachable"; words: string }
  /** 401, 403, 404, a redirect: nothing will change until somebody changes something. */
  | { kind: "misconfigured"; words: string }
  /** 400, 413 for this object, while the store takes others. */
  | { kind: "refused"; words: string }
  /** The destination cannot even be read: no key fits its seal, its secret is gone. */
  | { kind: "unusable"; words: string };

export type Disposition = { do: "retry"; delayMs: number } | { do: "park"; delayMs: number } | { do: "set_aside" };

const RETRY_MS = { first: 5_000, last: 15 * 60_000 };
const PARK_MS = { first: 60_000, last: 5 * 60_000 };

/**
 * @param attempt failures in a row, from 1.
 * @param random in [0, 1): spreads the retries of many jobs over half to all of the delay.
 */
export function disposition(error: UploadFault, attempt: number, random: number): Disposition {
  switch (error.kind) {
    case "busy": {
      const delay = jitter(backoffMs(RETRY_MS, attempt), random);
      return { do: "retry", delayMs: Math.max(delay, (error.retryAfterS ?? 0) * 1_000) };
    }
    case "unreachable":
      return { do: "retry", delayMs: jitter(backoffMs(RETRY_MS, attempt), random) };
    case "misconfigured":
    case "unusable":
      return { do: "park", delayMs: jitter(backoffMs(PARK_MS, attempt), random) };
    case "refused":
      return { do: "set_aside" };
  }
}

/** How a failing job says what is wrong. */
export function failureWords(error: Pick<UploadFault, "words">, what: Disposition["do"]): string {
  switch (what) {
    case "retry":
      return `upload failed: ${error.words}; it is being tried again`;
    case "park":
      return `parked: ${error.words}; nothing is lost, it is tried again every few minutes and when the job is changed`;
    case "set_aside":
      return `an object was set aside: ${error.words}`;
  }
}

function jitter(delayMs: number, random: number): number {
  return Math.round(delayMs * (0.5 + random / 2));
}
