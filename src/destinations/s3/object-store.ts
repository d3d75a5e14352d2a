import { AwsV4Signer } from "aws4fetch";
import { fromHex, toBase64 } from "../../bytes.ts";
import { readStream } from "../../streams.ts";
import type { Destination, NetworkPlatform, Place } from "../destination.ts";
import { retryAfter } from "../retry-after.ts";

export interface S3Place extends Place {
  readonly region: string;
  /** Asks the store to encrypt at rest. */
  readonly sse: "AES256" | null;
}

/** What signs the requests. */
export interface S3Destination extends S3Place, Destination {
  readonly credentials: { accessKeyId: string; secretAccessKey: string };
}

/**
 * What a store said, as far as anything follows from it. Of its own words only status, code and a
 * region are kept: the rest is untrusted text.
 */
export type StoreAnswer =
  | {
      kind: "answer";
      status: number;
      /** `<Code>` of an error body: letters, digits, a dot. */
      code: string | null;
      /** Where the store says that the bucket is, if it refuses for that. */
      region?: string;
      retryAfterS: number | null;
      etag: string | null;
      bytes: number | null;
      /** What we stored as metadata with the object. */
      sha256: string | null;
    }
  | { kind: "unreachable"; cause: "timeout" | "connection failed" };

export interface PutRequest {
  key: string;
  body: Uint8Array | ReadableStream<Uint8Array>;
  bytes: number;
  /** Hex. */
  sha256: string;
  contentType: string;
  /** Hex; sent as `Content-MD5`. null: not sent. */
  md5: string | null;
  /** `If-None-Match: *`. */
  conditional: boolean;
}

/**
 * Our checksum, stored beside the object: HEAD tells ours from another's even where an ETag is no
 * MD5 (encrypted by a managed key).
 */
const SHA256_META = "x-amz-meta-logship-sha256";

/** SHA-256 of nothing, for requests without a body. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** Bounds of reading an error body, in bytes and ms. The status has arrived, and it decides. */
const ERROR_BODY_MAX_BYTES = 16_384;
const ERROR_BODY_WAIT_MS = 5_000;

/**
 * Time for an answer without a large body, in ms; the slowest upload, in bytes a ms (50 kB/s); and
 * the longest, in ms: less than an alarm may run.
 */
const ANSWER_TIMEOUT_MS = 60_000;
const SLOWEST_BYTES_PER_MS = 50;
const TIMEOUT_MAX_MS = 14 * 60_000;

/**
 * A bucket reached by signed requests, Signature V4 with path-style addressing. It never follows a
 * redirect and never retries: callers decide.
 */
export class ObjectStore {
  readonly #destination: S3Destination;
  readonly #platform: NetworkPlatform;

  constructor(destination: S3Destination, platform: NetworkPlatform) {
    this.#destination = destination;
    this.#platform = platform;
  }

  /** PUTs one object. @returns never throws; an answer or its absence is data. */
  put(request: PutRequest): Promise<StoreAnswer> {
    const { sse } = this.#destination;
    const headers = new Headers({
      "Content-Type": request.contentType,
      "Content-Length": `${request.bytes}`,
      "X-Amz-Content-Sha256": request.sha256,
      [SHA256_META]: request.sha256,
    });
    if (sse !== null) headers.set("x-amz-server-side-encryption", sse);
    // One integrity header alone: R2 refuses this one beside a checksum header.
    if (request.md5 !== null) headers.set("Content-MD5", toBase64(fromHex(request.md5)));
    if (request.conditional) headers.set("If-None-Match", "*");
    const timeout = Math.min(ANSWER_TIMEOUT_MS + request.bytes / SLOWEST_BYTES_PER_MS, TIMEOUT_MAX_MS);
    return this.#request("PUT", request.key, headers, request.body, timeout);
  }

  head(key: string): Promise<StoreAnswer> {
    return this.#request("HEAD", key, new Headers({ "X-Amz-Content-Sha256": EMPTY_SHA256 }), null, ANSWER_TIMEOUT_MS);
  }

  /**
   * Asks for an object. The caller bounds the time for its body.
   * @returns never throws; `body` with a 2xx alone, to be read to its end or cancelled.
   */
  async get(key: string): Promise<{ answer: StoreAnswer; body: ReadableStream<Uint8Array> | null }> {
    const headers = new Headers({ "X-Amz-Content-Sha256": EMPTY_SHA256 });
    const { answer, response } = await this.#exchange("GET", key, headers, null, ANSWER_TIMEOUT_MS);
    return { answer, body: response?.ok ? response.body : null };
  }

  async #request(
    method: string,
    key: string,
    headers: Headers,
    body: PutRequest["body"] | null,
    timeoutMs: number,
  ): Promise<StoreAnswer> {
    const { answer, response } = await this.#exchange(method, key, headers, body, timeoutMs);
    // Not awaited: a body that hangs may hang here, too. Whether it ends or breaks off does not
    // matter.
    if (response?.body?.locked === false) response.body.cancel().catch(() => {});
    return answer;
  }

  async #exchange(
    method: string,
    key: string,
    headers: Headers,
    body: PutRequest["body"] | null,
    timeoutMs: number,
  ): Promise<{ answer: StoreAnswer; response: Response | null }> {
    const { bucket, endpoint, credentials, region } = this.#destination;
    // Encoded before signing: a raw `=` or `+` would be signed in another form than it arrives in.
    const path = [bucket, ...key.split("/")].map(encodeSegment).join("/");
    const url = `${endpoint.origin}${endpoint.pathname.replace(/\/$/, "")}/${path}`;
    // Not `AbortSignal.timeout`: its timer cannot be cleared, and a durable object with a pending
    // timer stays awake and is billed.
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new DOMException("too slow", "TimeoutError")), Math.round(timeoutMs));
    try {
      const signer = new AwsV4Signer({
        method,
        url,
        headers,
        accessKeyId: credentials.accessKeyId,
        secretAccessKey: credentials.secretAccessKey,
        service: "s3",
        region,
        datetime: new Date(this.#platform.now()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
      });
      const signed = await signer.sign();
      const response = await this.#platform.fetch(signed.url.href, {
        method,
        headers: signed.headers,
        body,
        redirect: "manual",
        signal: deadline.signal,
      });
      const { status, headers: given } = response;
      const length = given.get("content-length") ?? "";
      const answer: StoreAnswer = {
        kind: "answer",
        status,
        ...(response.ok ? { code: null } : await refusal(response, region)),
        retryAfterS: retryAfter(given.get("retry-after"), this.#platform.now()),
        etag: given.get("etag"),
        bytes: /^\d{1,15}$/.test(length) ? Number(length) : null,
        sha256: given.get(SHA256_META),
      };
      return { answer, response };
    } catch (error) {
      // Only the kind of failure is kept: the text may hold the URL, and whatever is in that.
      const timedOut = error instanceof Error && error.name === "TimeoutError";
      return { answer: { kind: "unreachable", cause: timedOut ? "timeout" : "connection failed" }, response: null };
    } finally {
      clearTimeout(timer);
    }
  }
}

/** RFC 3986: `encodeURIComponent` leaves five characters bare that a signature has encoded. */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** What a region looks like (`eu-west-1`, `RegionOne`), so that no other text passes for one. */
const REGION = /^[A-Za-z][A-Za-z0-9]{1,11}(?:[-_][A-Za-z0-9]{1,12}){0,3}$/;

/**
 * `<Code>` of an S3 error body, if it is a plain word; and the region that a store names where it
 * refuses the one of the request. Bounded, and never throws: what was read of a body that breaks
 * off is enough.
 */
async function refusal(
  { status, body, headers }: Response,
  asked: string,
): Promise<Pick<Extract<StoreAnswer, { kind: "answer" }>, "code" | "region">> {
  const { bytes } = await readStream(body, { maxBytes: ERROR_BODY_MAX_BYTES, ms: ERROR_BODY_WAIT_MS });
  const text = new TextDecoder().decode(bytes);
  const code = /<Code>([A-Za-z0-9]{1,64}(?:\.[A-Za-z0-9]{1,64})?)<\/Code>/.exec(text)?.[1] ?? null;
  // Some stores name their region with every error.
  if (code !== "AuthorizationHeaderMalformed" && (status < 300 || status > 399)) return { code };
  const region = /<Region>([^<]*)<\/Region>/.exec(text)?.[1] ?? headers.get("x-amz-bucket-region") ?? "";
  return REGION.test(region) && region !== asked ? { code, region } : { code };
}
