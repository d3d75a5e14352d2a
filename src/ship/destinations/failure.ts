/**
 * Why a destination did not do what was asked. Delivery decides what follows:
 * src/ship/reader/disposition.ts.
 */
export type Failure = FailureKind & {
  cause: FailureCause;
  /** The answer's text, bounded and without the credentials sent; absent: none is kept. */
  said?: string;
};

/**
 * What the health of a job counts a failed attempt by: the HTTP status that decided, or a word
 * where there was none. docs/recovery.md explains each word.
 */
export type FailureCause =
  | number
  | "timeout"
  | "connection_failed"
  | "not_kept"
  | "key_taken"
  | "configuration"
  | "internal";

/** What is wrong. `words` hold status and code of the store, and none of its own text. */
export type FailureKind =
  /**
   * 5xx, 429 and the like: not now. Or the store took the object and does not keep it as it was
   * sent.
   */
  | { kind: "busy"; words: string; retryAfterS: number | null }
  /** No answer: the object may have been stored. */
  | { kind: "unreachable"; words: string }
  /** 401, 403, 404, a redirect: the same until a person changes something. */
  | { kind: "misconfigured"; words: string }
  /** 400, 413 for this object, while the store takes others. */
  | { kind: "refused"; words: string }
  /**
   * The destination cannot be read from its configuration: no key opens its seal, or its secret is
   * gone.
   */
  | { kind: "unusable"; words: string };
