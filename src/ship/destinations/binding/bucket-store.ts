import { fromHex, toHex } from "../../../base/bytes.ts";
import { within } from "../../../base/platform.ts";
import type { ByteRange } from "../destination.ts";
import type { Meaning, PutRequest, StoreAnswer, StoreClient } from "../store/client.ts";
import { ANSWER_TIMEOUT_MS, putTimeoutMs } from "../store/http-store.ts";

/** Our checksum, stored beside the object: `checksums` shows it only where the object was put. */
const SHA256_META = "logship-sha256";

/**
 * What R2 throws, by the number at the end of its message, as status and code of its S3 interface.
 * https://developers.cloudflare.com/r2/api/error-codes/
 */
const ERRORS: Readonly<Record<number, readonly [status: number, code: string, means?: Meaning]>> = {
  10001: [500, "InternalError"],
  10002: [401, "Unauthorized"],
  10003: [403, "AccessDenied"],
  10005: [400, "InvalidBucketName", "destination"],
  10006: [404, "NoSuchBucket", "destination"],
  10007: [404, "NoSuchKey"],
  10012: [400, "MetadataTooLarge"],
  10013: [400, "IncompleteBody", "moment"],
  10014: [400, "InvalidDigest"],
  10020: [400, "InvalidObjectName", "object"],
  10031: [412, "PreconditionFailed"],
  10039: [416, "InvalidRange"],
  10037: [400, "BadDigest", "moment"],
  10042: [403, "NotEntitled"],
  10043: [503, "ServiceUnavailable"],
  10054: [400, "ClientDisconnect", "moment"],
  10058: [429, "TooManyRequests"],
  10069: [403, "ObjectLockedByBucketPolicy"],
  100100: [400, "EntityTooLarge", "object"],
};

const LATE: StoreAnswer = { kind: "unreachable", cause: "timeout" };

/**
 * An R2 bucket that the worker is bound to. A call that is late goes on: it brings the same bytes.
 * https://developers.cloudflare.com/r2/api/workers/workers-api-reference/
 */
export class BucketStore implements StoreClient {
  readonly #bucket: R2Bucket;

  constructor(bucket: R2Bucket) {
    this.#bucket = bucket;
  }

  /** `null` says that the condition was not met. One checksum alone is allowed. */
  put({ key, body, bytes, sha256, contentType, conditional }: PutRequest): Promise<StoreAnswer> {
    return this.#answer(putTimeoutMs(bytes), async () => {
      const stored = await this.#bucket.put(key, body, {
        ...(conditional && { onlyIf: { etagDoesNotMatch: "*" } }),
        sha256: fromHex(sha256),
        httpMetadata: { contentType },
        customMetadata: { [SHA256_META]: sha256 },
      });
      return stored === null ? refused(412, "PreconditionFailed") : shown(stored);
    });
  }

  head(key: string): Promise<StoreAnswer> {
    return this.#answer(ANSWER_TIMEOUT_MS, async () => {
      const object = await this.#bucket.head(key);
      return object === null ? refused(404, "NoSuchKey") : shown(object);
    });
  }

  async get(key: string, range?: ByteRange): Promise<{ answer: StoreAnswer; body: ReadableStream<Uint8Array> | null }> {
    let body: ReadableStream<Uint8Array> | null = null;
    let isLate = false;
    const answer = await this.#answer(ANSWER_TIMEOUT_MS, async () => {
      const part = range && { range: { offset: range.from, length: range.bytes } };
      const object = await this.#bucket.get(key, part);
      if (object === null) return refused(404, "NoSuchKey");
      if (isLate) await object.body.cancel();
      else body = object.body;
      return shown(object);
    });
    isLate = true;
    return { answer, body };
  }

  async #answer(ms: number, call: () => Promise<StoreAnswer>): Promise<StoreAnswer> {
    try {
      return await within(ms, call(), LATE);
    } catch (error) {
      // Only the kind of failure is kept of its words.
      const number = / \((\d{5,6})\)$/.exec(error instanceof Error ? error.message : "")?.[1];
      const known = ERRORS[Number(number)];
      if (known !== undefined) return refused(...known);
      const timedOut = error instanceof Error && error.name === "TimeoutError";
      return { kind: "unreachable", cause: timedOut ? "timeout" : "connection failed" };
    }
  }
}

/** An ETag of R2 is the MD5 of an object that came in one piece. */
function shown({ etag, size, checksums, customMetadata }: R2Object): StoreAnswer {
  const { md5, sha256 } = checksums;
  return {
    kind: "answer",
    status: 200,
    code: null,
    retryAfterS: null,
    etag: md5 === undefined ? etag : toHex(new Uint8Array(md5)),
    bytes: size,
    sha256: sha256 === undefined ? (customMetadata?.[SHA256_META] ?? null) : toHex(new Uint8Array(sha256)),
  };
}

function refused(status: number, code: string, means?: Meaning): StoreAnswer {
  const nothing = { retryAfterS: null, etag: null, bytes: null, sha256: null };
  return { kind: "answer", status, code, ...nothing, ...(means !== undefined && { means }) };
}
