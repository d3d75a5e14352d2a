import { readStream } from "../../../base/streams.ts";
import type { ByteRange, NetworkPlatform, Place } from "../destination.ts";
import { retryAfter } from "../retry-after.ts";
import type { Meaning, PutRequest, StoreAnswer, StoreClient } from "./client.ts";

type Answer = Extract<StoreAnswer, { kind: "answer" }>;

/** What one kind of store says its own way over HTTP. */
export interface Dialect {
  /** Headers of a PUT, before it is signed. */
  putHeaders(request: PutRequest): Headers;
  /** A request to a key, signed. @param headers of a PUT; null: HEAD and GET. */
  sign(
    method: "PUT" | "HEAD" | "GET",
    key: string,
    headers: Headers | null,
  ): Promise<{ url: string; headers: Headers }>;
  /** What a success shows of an object; client.ts. */
  shown(headers: Headers): Pick<Answer, "etag" | "sha256">;
  /** The word for an error. @param text the start of its body. */
  code(text: string, headers: Headers): string | null;
  meaning(status: number, code: string | null): Meaning | undefined;
  /** Where the bucket is, where an error is about that. */
  region?(text: string, code: string | null, response: Response): string | null;
}

type Exchange = [
  method: "PUT" | "HEAD" | "GET",
  key: string,
  headers: Headers | null,
  body: PutRequest["body"] | null,
  timeoutMs: number,
  range?: ByteRange | undefined,
];

/** Bounds of reading an error body, in bytes and ms. The status has arrived, and it decides. */
const ERROR_BODY_MAX_BYTES = 16_384;
const ERROR_BODY_WAIT_MS = 5_000;

/**
 * Time for an answer without a large body, in ms; the slowest upload, in bytes a ms (50 kB/s); and
 * the longest, in ms: less than an alarm may run.
 */
export const ANSWER_TIMEOUT_MS = 60_000;
const SLOWEST_BYTES_PER_MS = 50;
const TIMEOUT_MAX_MS = 14 * 60_000;

export function putTimeoutMs(bytes: number): number {
  return Math.min(ANSWER_TIMEOUT_MS + bytes / SLOWEST_BYTES_PER_MS, TIMEOUT_MAX_MS);
}

/**
 * A store that is reached by HTTP. It never follows a redirect and never retries: callers decide.
 */
export class HttpStore implements StoreClient {
  readonly #dialect: Dialect;
  readonly #platform: NetworkPlatform;

  constructor(dialect: Dialect, platform: NetworkPlatform) {
    this.#dialect = dialect;
    this.#platform = platform;
  }

  put(request: PutRequest): Promise<StoreAnswer> {
    const headers = this.#dialect.putHeaders(request);
    return this.#request("PUT", request.key, headers, request.body, putTimeoutMs(request.bytes));
  }

  head(key: string): Promise<StoreAnswer> {
    return this.#request("HEAD", key, null, null, ANSWER_TIMEOUT_MS);
  }

  async get(key: string, range?: ByteRange): Promise<{ answer: StoreAnswer; body: ReadableStream<Uint8Array> | null }> {
    const { answer, response } = await this.#exchange("GET", key, null, null, ANSWER_TIMEOUT_MS, range);
    return { answer, body: response?.ok ? response.body : null };
  }

  async #request(...asked: Exchange): Promise<StoreAnswer> {
    const { answer, response } = await this.#exchange(...asked);
    // Not awaited: a body that hangs may hang here, too. Whether it ends or breaks off does not
    // matter.
    if (response?.body?.locked === false) response.body.cancel().catch(() => {});
    return answer;
  }

  async #exchange(
    ...[method, key, headers, body, timeoutMs, range]: Exchange
  ): Promise<{ answer: StoreAnswer; response: Response | null }> {
    // Not `AbortSignal.timeout`: its timer cannot be cleared, and a durable object with a pending
    // timer stays awake and is billed.
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new DOMException("too slow", "TimeoutError")), Math.round(timeoutMs));
    try {
      const signed = await this.#dialect.sign(method, key, headers);
      // No dialect wants this header to be signed.
      if (range !== undefined) signed.headers.set("range", `bytes=${range.from}-${range.from + range.bytes - 1}`);
      const response = await this.#platform.fetch(signed.url, {
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
        ...(response.ok ? { code: null } : await this.#refusal(response)),
        retryAfterS: retryAfter(given.get("retry-after"), this.#platform.now()),
        bytes: /^\d{1,15}$/.test(length) ? Number(length) : null,
        ...this.#dialect.shown(given),
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

  /** Bounded, and never throws: what was read of a body that breaks off is enough. */
  async #refusal(response: Response): Promise<Pick<Answer, "code" | "means" | "region">> {
    const { bytes } = await readStream(response.body, { maxBytes: ERROR_BODY_MAX_BYTES, ms: ERROR_BODY_WAIT_MS });
    const text = new TextDecoder().decode(bytes);
    const code = this.#dialect.code(text, response.headers);
    const means = this.#dialect.meaning(response.status, code);
    const region = this.#dialect.region?.(text, code, response) ?? null;
    return { code, ...(means !== undefined && { means }), ...(region !== null && { region }) };
  }
}

/** SHA-256 of nothing, for requests without a body. */
export const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** `<Code>` of an error body as S3 has it, if it is a plain word. */
export function xmlCode(text: string): string | null {
  return /<Code>([A-Za-z0-9]{1,64}(?:\.[A-Za-z0-9]{1,64})?)<\/Code>/.exec(text)?.[1] ?? null;
}

/**
 * The path of a key in a URL, as a signature has it: encoded before it is signed, as a raw `=` or
 * `+` would be signed in another form than it arrives in. RFC 3986: `encodeURIComponent` leaves
 * five characters bare that a signature has encoded.
 */
function encodePath(key: string): string {
  const encode = (segment: string): string =>
    encodeURIComponent(segment).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  return key.split("/").map(encode).join("/");
}

/** Below which address the keys of a bucket are, without a slash at its end. */
export function bucketUrl({ endpoint, bucket, addressing }: Pick<Place, "endpoint" | "bucket" | "addressing">): string {
  const { protocol, host, pathname } = endpoint;
  const [before, after] = addressing === "virtual" ? [`${bucket}.`, ""] : ["", `/${encodePath(bucket)}`];
  return `${protocol}//${before}${host}${pathname.replace(/\/$/, "")}${after}`;
}

/** Where a key of a bucket is. */
export function keyUrl(place: Parameters<typeof bucketUrl>[0], key: string): string {
  return `${bucketUrl(place)}/${encodePath(key)}`;
}
