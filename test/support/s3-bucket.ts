/**
 * One bucket of the scripted S3 endpoint: its objects, every PUT, the script, and the requests
 * received.
 */
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import type { Action, ObjectSummary, PutSummary, Rule, SeenRequest } from "./s3-script.ts";
import type { S3Fault } from "./s3-signature.ts";

/**
 * The longest time that a `hold` lasts without a release: longer than any wait of a test, shorter
 * than the timeout of a hung run.
 */
export const HOLD_MAX_MS = 120_000;

/** The most keys in one answer of ListObjectsV2. */
const LIST_PAGE_KEYS = 1000;

/** A body's text; of what is not compressed, the text that it is. */
function inflated(body: Buffer): string {
  return new TextDecoder().decode(body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body) : body);
}

/** How a hold ended: released, dropped with its bucket, or left by the client. */
export type Held = "released" | "dropped" | "left";

/** A successful PUT with its bytes. */
export interface Stored extends PutSummary {
  readonly bytes: Buffer;
  readonly storedMs: number;
}

/** A request whose signature, length and body hash are valid. */
export interface Operation {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** What a receiver does wrong. */
  readonly fault?: Action;
}

/** What the store answers; `stored`: whether it wrote an object. */
export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer | string;
  readonly stored: boolean;
}

export class Bucket {
  /** Every successful PUT in order, overwritten and deleted objects included. */
  readonly puts: Stored[] = [];
  readonly requests: SeenRequest[] = [];
  readonly #name: string;
  readonly #current = new Map<string, Stored>();
  readonly #versions = new Map<string, number>();
  readonly #held = new Set<(outcome: Held) => void>();
  readonly #waiting = new Set<(over: boolean) => void>();
  #rules: { readonly rule: Rule; left: number }[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** Replaces the script; held requests stay held. */
  script(rules: readonly Rule[]): void {
    this.#rules = rules.map((rule) => ({ rule, left: rule.times ?? Number.POSITIVE_INFINITY }));
  }

  /**
   * The action of the first rule that applies; uses up one of the rule's times.
   * @param body absent: it is not read yet, and no rule about it applies.
   */
  takeAction(method: string, key: string, headers: Readonly<Record<string, string>>, body?: Buffer): Action | null {
    const isAsMatched = (name: string, wanted: boolean | undefined): boolean =>
      wanted === undefined || wanted === (headers[name] !== undefined);
    const entry = this.#rules.find(({ rule: { match = {} }, left }) => {
      if (left <= 0) return false;
      if (match.method !== undefined && match.method.toUpperCase() !== method) return false;
      if (match.keyIncludes !== undefined && !key.includes(match.keyIncludes)) return false;
      if (match.keyExcludes !== undefined && key.includes(match.keyExcludes)) return false;
      if (match.holds !== undefined && !(body !== undefined && inflated(body).includes(match.holds))) return false;
      return isAsMatched("if-none-match", match.conditional) && isAsMatched("content-md5", match.digest);
    });
    if (entry === undefined) return null;
    entry.left -= 1;
    return entry.rule.then;
  }

  /**
   * Resolves on release, after HOLD_MAX_MS, or as "dropped" when the bucket is forgotten.
   * @param gone settles when the client hangs up, which ends the hold as "left". Without it the
   * hold continues without its client.
   */
  hold(gone?: Promise<void>): Promise<Held> {
    return new Promise((resolve) => {
      const end = (outcome: Held) => {
        clearTimeout(timer);
        this.#held.delete(end);
        resolve(outcome);
      };
      const timer = setTimeout(() => end("released"), HOLD_MAX_MS);
      this.#held.add(end);
      gone?.then(() => end("left"));
      for (const look of [...this.#waiting]) look(false);
    });
  }

  /** Releases every held request. @returns how many there were. */
  release(): number {
    const held = [...this.#held];
    for (const end of held) end("released");
    return held.length;
  }

  /** Drops what is held and ends every wait, so that nothing of this bucket stays behind. */
  drop(): void {
    for (const end of [...this.#held]) end("dropped");
    for (const look of [...this.#waiting]) look(true);
  }

  /**
   * Resolves to true once `count` requests are held at the same time; to false after `timeoutMs`,
   * or when the bucket is dropped.
   */
  whenHeld(count: number, timeoutMs: number): Promise<boolean> {
    if (this.#held.size >= count) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = (reached: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(reached);
      };
      const look = (over: boolean) => {
        if (over || this.#held.size >= count) end(!over);
      };
      const timer = setTimeout(() => end(false), timeoutMs);
      this.#waiting.add(look);
    });
  }

  get(key: string): Stored | undefined {
    return this.#current.get(key);
  }

  /** Sorted by the UTF-8 bytes of the key, as S3 lists. */
  list(): Stored[] {
    return [...this.#current.values()].sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  }

  summaries(): ObjectSummary[] {
    return this.list().map((stored) => ({ ...summarise(stored), puts: stored.version }));
  }

  /** Executes a request as a store does. @param unconditional ignores `If-None-Match`. */
  perform(operation: Operation, nowMs: number, unconditional = false): Answer {
    const { method, key, query } = operation;
    if (key === "") {
      if (method === "HEAD") return answer(200);
      if (method === "GET" && query.get("list-type") === "2") return this.#listObjects(query);
      return faultAnswer(notImplemented(`${method} on a bucket`));
    }
    // Requests with a sub-resource (?uploads, ?acl, …) are other operations.
    if (query.size > 0) return faultAnswer(notImplemented(`?${query}`));
    switch (method) {
      case "PUT":
        return this.#put(operation, nowMs, unconditional);
      case "GET":
      case "HEAD":
        return this.#read(key, operation.headers.range);
      case "DELETE":
        this.#current.delete(key);
        return answer(204);
      default:
        return faultAnswer({ status: 405, code: "MethodNotAllowed", message: `${method} is not allowed.` });
    }
  }

  #put({ key, headers, body }: Operation, nowMs: number, unconditional: boolean): Answer {
    const condition = headers["if-none-match"];
    if (!unconditional && (headers["if-match"] !== undefined || (condition !== undefined && condition !== "*"))) {
      return faultAnswer(notImplemented("a condition other than If-None-Match: *"));
    }
    if (!unconditional && condition === "*" && this.#current.has(key)) {
      return faultAnswer({ status: 412, code: "PreconditionFailed", message: "The key exists already." });
    }
    const stored = this.keep(key, body, headers, nowMs);
    return { ...answer(200, { etag: stored.etag }), stored: true };
  }

  /** Another version of an object. */
  protected keep(key: string, body: Buffer, headers: Operation["headers"], nowMs: number): Stored {
    const version = (this.#versions.get(key) ?? 0) + 1;
    const stored: Stored = {
      key,
      version,
      size: body.length,
      etag: `"${createHash("md5").update(body).digest("hex")}"`,
      sha256: createHash("sha256").update(body).digest("hex"),
      contentType: headers["content-type"] ?? null,
      contentEncoding: headers["content-encoding"] ?? null,
      meta: Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("x-amz-meta-"))),
      bytes: body,
      storedMs: nowMs,
    };
    this.#versions.set(key, version);
    this.puts.push(stored);
    this.#current.set(key, stored);
    return stored;
  }

  /** @param range as the one header of a GET that is understood: `bytes=<first>-<last>`. */
  #read(key: string, range: string | undefined): Answer {
    const stored = this.#current.get(key);
    if (stored === undefined) {
      return faultAnswer({ status: 404, code: "NoSuchKey", message: "The specified key does not exist." });
    }
    const headers: Record<string, string> = {
      etag: stored.etag,
      "last-modified": new Date(stored.storedMs).toUTCString(),
      "content-type": stored.contentType ?? "binary/octet-stream",
      ...stored.meta,
    };
    if (stored.contentEncoding !== null) headers["content-encoding"] = stored.contentEncoding;
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
    if (first === undefined || last === undefined) return answer(200, headers, stored.bytes);
    if (Number(first) >= stored.size) return faultAnswer({ status: 416, code: "InvalidRange", message: "Too far." });
    const part = stored.bytes.subarray(Number(first), Number(last) + 1);
    headers["content-range"] = `bytes ${first}-${Number(first) + part.length - 1}/${stored.size}`;
    return answer(206, headers, part);
  }

  #listObjects(query: URLSearchParams): Answer {
    const known = ["list-type", "prefix", "continuation-token", "start-after", "max-keys"];
    const unknown = [...query.keys()].filter((name) => !known.includes(name));
    if (unknown.length > 0) return faultAnswer(notImplemented(`?${unknown.join("&")}`));
    const prefix = query.get("prefix") ?? "";
    const token = query.get("continuation-token");
    const after = Buffer.from(token === null ? (query.get("start-after") ?? "") : Buffer.from(token, "base64url"));
    const maxKeys = Math.min(Number(query.get("max-keys") ?? LIST_PAGE_KEYS), LIST_PAGE_KEYS);
    const found = this.list().filter(
      ({ key }) => key.startsWith(prefix) && Buffer.compare(Buffer.from(key), after) > 0,
    );
    const page = found.slice(0, maxKeys);
    const last = page.at(-1);
    const next = last !== undefined && found.length > page.length ? Buffer.from(last.key).toString("base64url") : null;
    const contents = page.map(
      ({ key, size, etag, storedMs }) =>
        `<Contents><Key>${escapeXml(key)}</Key><LastModified>${new Date(storedMs).toISOString()}</LastModified>` +
        `<ETag>${escapeXml(etag)}</ETag><Size>${size}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
    );
    const xml =
      '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
      `<Name>${escapeXml(this.#name)}</Name><Prefix>${escapeXml(prefix)}</Prefix><KeyCount>${page.length}</KeyCount>` +
      `<MaxKeys>${maxKeys}</MaxKeys><IsTruncated>${next !== null}</IsTruncated>` +
      (next === null ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`) +
      `${contents.join("")}</ListBucketResult>`;
    return answer(200, { "content-type": "application/xml" }, xml);
  }
}

export function summarise({ bytes: _bytes, storedMs: _storedMs, ...summary }: Stored): PutSummary {
  return summary;
}

/** S3's XML error body. */
export function faultAnswer({ status, code, message }: S3Fault): Answer {
  const xml =
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<Error><Code>${escapeXml(code)}</Code><Message>${escapeXml(message)}</Message></Error>`;
  return answer(status, { "content-type": "application/xml" }, xml);
}

export function answer(status: number, headers: Record<string, string> = {}, body: Buffer | string = ""): Answer {
  return { status, headers, body, stored: false };
}

function notImplemented(what: string): S3Fault {
  return { status: 501, code: "NotImplemented", message: `Not implemented: ${what}` };
}

const XML_ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => XML_ESCAPES[char] ?? char);
}
