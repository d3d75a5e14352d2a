/**
 * Commands to the scripted S3 endpoint (s3-server.ts) and its reports. Plain data that crosses HTTP
 * as JSON, without APIs of one runtime: Node and the Workers runtime share this file.
 */

/**
 * Which requests a rule applies to; an absent field matches everything. A request about a bucket
 * (list) has the key "".
 */
export interface Match {
  method?: string;
  keyIncludes?: string;
  keyExcludes?: string;
  /** true: only requests with `If-None-Match`; false: only those without it. */
  conditional?: boolean;
  /** true: only requests with `Content-MD5`; false: only those without it. */
  digest?: boolean;
  /** Only requests whose body, inflated, has this text. */
  holds?: string;
}

/**
 * What happens to a request that a rule matches. Rules see only requests with a valid signature,
 * declared body hash and Content-Length, so that no script hides a badly signed request. A body
 * that is read is checked too.
 */
export type Action =
  /**
   * This answer instead of the store's own. `code` makes an S3 error body; `body` is sent
   * unchanged. With `store` the request is executed as well (conditions included): "500, yet the
   * object is there".
   */
  | {
      do: "answer";
      status: number;
      code?: string;
      message?: string;
      headers?: Record<string, string>;
      body?: string;
      store?: boolean;
    }
  /**
   * The connection is reset: before the body is read, after half of it, or once the request was
   * executed.
   */
  | { do: "reset"; when: "before" | "during" | "after" }
  /**
   * The body is read and the request is held until the bucket is released, or for HOLD_MAX_MS. Then
   * it is executed as usual, even if its sender has gone: a slow store.
   */
  | { do: "hold" }
  /**
   * The request is executed at once, and its answer is held until the bucket is released, or for
   * HOLD_MAX_MS: a lost or late answer. If the client hangs up before, the hold ends and the
   * request is recorded as `aborted`.
   */
  | { do: "withhold" }
  /**
   * An answer whose head comes at once and whose body never ends: `code` or `body` first, then one
   * space every `everyMs` (default 1000) until the client hangs up, which is recorded as `aborted`.
   * The connection is reset after HOLD_MAX_MS. `store` as with `answer`.
   */
  | {
      do: "trickle";
      status: number;
      code?: string;
      message?: string;
      headers?: Record<string, string>;
      body?: string;
      store?: boolean;
      everyMs?: number;
    }
  /** A store that ignores `If-None-Match`: it overwrites. */
  | { do: "ignore-conditional" }
  /**
   * A bucket whose keys are only created, never overwritten: a PUT to a key that exists is refused,
   * whatever its condition, with this status, by default 403. All else is executed as usual.
   */
  | { do: "create-only"; status?: number }
  /** `status` is 307 by default. */
  | { do: "redirect"; location: string; status?: number }
  /** Keeps the first half of a body and answers 200, with the ETag of that half. */
  | { do: "truncate" }
  /**
   * Answers a PUT with 200, without an ETag, and stores nothing; any other request is executed as
   * usual.
   */
  | { do: "discard" }
  /** A store without `x-amz-meta-*`: a PUT stores none, and a HEAD or GET returns none. */
  | { do: "drop-meta" }
  /** As `drop-meta`, and with ETags that look like an MD5 and are none of the object. */
  | { do: "own-etag" }
  /** Executes the request and answers with an ETag that is not the object's. */
  | { do: "wrong-etag" }
  /** Executes the request and answers without an ETag. */
  | { do: "no-etag" }
  /** A receiver that refuses each `each`-th record of a request with this status, if it can. */
  | { do: "refuse"; each: number; status: number }
  /** A receiver that answers 413 to more records or characters than this in one request. */
  | { do: "limit"; records?: number; bytes?: number }
  /**
   * A receiver that takes no record of a time before this, in ms since the epoch, and says so or
   * does not, as its service.
   */
  | { do: "past"; beforeMs: number }
  /** A receiver that has forgotten all but the latest of the inserts by which it tells repeats. */
  | { do: "window"; inserts: number };

/**
 * The first rule that matches and has `times` left (by default unlimited) decides. Without one the
 * endpoint behaves as a store.
 */
export interface Rule {
  match?: Match;
  times?: number;
  then: Action;
}

/** A rule in one line: `rule({ do: "reset", when: "after" }, { method: "PUT" }, 1)`. */
export function rule(action: Action, match: Match = {}, times?: number): Rule {
  // biome-ignore lint/suspicious/noThenProperty: the field's name in the script; a rule is never awaited.
  return { match, then: action, ...(times === undefined ? {} : { times }) };
}

/** One request, in order of arrival. Holds no signature and no secret. */
export interface SeenRequest {
  seq: number;
  method: string;
  key: string;
  query: Record<string, string>;
  /** Content-*, If-* and x-amz-* as received, names in lower case. */
  headers: Record<string, string>;
  /** From the credential scope; null if it has none. */
  accessKeyId: string | null;
  region: string | null;
  /** What the rule that applied does; null: none applied. */
  action: Action["do"] | null;
  /**
   * answered: an answer was sent; it may not have arrived. aborted: the sender hung up before its
   * whole body had arrived, or before the end of a withheld or trickled answer.
   */
  state: "open" | "held" | "answered" | "reset" | "aborted";
  status: number | null;
  /** Whether this request wrote an object. */
  stored: boolean;
}

/** One successful PUT. `version` counts from 1 per key; a second one is an overwrite. */
export interface PutSummary {
  key: string;
  version: number;
  size: number;
  /** As in the header: MD5 in quotes. */
  etag: string;
  sha256: string;
  contentType: string | null;
  contentEncoding: string | null;
  /** `x-amz-meta-*`, by full header name. */
  meta: Record<string, string>;
}

/** A current object, and the number of PUTs of its key. */
export interface ObjectSummary extends PutSummary {
  puts: number;
}
