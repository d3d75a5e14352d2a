import * as z from "zod";
import { parsedJson } from "../../base/bytes.ts";
import { UPSTREAM_ANSWER_MAX_BYTES } from "../../base/limits.ts";
import { type Platform, within } from "../../base/platform.ts";
import { readStream } from "../../base/streams.ts";
import type { Upstream } from "../../config.ts";
import { decodeUtf8 } from "../../ship/intake/body.ts";

/** A body, ready to send. */
export interface SentBody {
  /** Empty: none is sent. */
  contentType: string;
  bytes: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

/** One request to the platform's API. Nothing else of the caller's request is forwarded. */
export interface PlatformRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  url: string;
  bearer: string;
  /** A string is the text of a JSON body. */
  body?: SentBody | string;
}

/** What comes before the body of the platform's answer. */
interface Head {
  /** From 200 to 599, and none of a redirect. */
  status: number;
  contentType: string;
  retryAfter: string | null;
}

/** There is no answer that can be used: why, in words. */
type None = { kind: "none"; why: string };

/** The platform's answer. */
export type PlatformAnswer =
  | (Head & {
      kind: "answer";
      bytes: Uint8Array<ArrayBuffer>;
      /** undefined: not JSON. */
      json: unknown;
    })
  | None;

/** The same, as it comes. */
export type PlatformStream = (Head & { kind: "open"; body: ReadableStream<Uint8Array> | null }) | None;

const LATE: None = { kind: "none", why: "did not answer in time" };
const FAILED: None = { kind: "none", why: "could not be reached, or its answer broke off" };

/**
 * URL of a script at the platform, or of all scripts.
 * @param segments below `/workers/scripts`, not encoded.
 * @param query with its question mark, or empty.
 * @throws Error for a segment that a URL cannot hold; no name in our own paths is one.
 */
export function scriptUrl(
  upstream: Pick<Upstream, "base">,
  accountId: string,
  segments: readonly string[],
  query = "",
): string {
  const path = ["accounts", accountId, "workers", "scripts", ...segments];
  if (path.some((segment) => segment === "" || segment === "." || segment === ".."))
    throw new Error("a segment that changes the path");
  return `${upstream.base}/${path.map(encodeURIComponent).join("/")}${query}`;
}

/**
 * Asks the platform once. Redirects are not followed: they could lead the bearer anywhere. After
 * `none` to anything but a GET, the change may have been made.
 * @param ms for the whole answer.
 * @param maxBytes of the answer.
 */
export async function askPlatform(
  request: PlatformRequest,
  ms: number,
  platform: Platform,
  maxBytes: number = UPSTREAM_ANSWER_MAX_BYTES,
): Promise<PlatformAnswer> {
  const deadline = new AbortController();
  try {
    return await within(ms, ask(request, deadline.signal, platform, maxBytes), LATE);
  } finally {
    deadline.abort();
  }
}

/**
 * Asks the platform once, and leaves its answer unread: it may be of any size, and is for the
 * caller alone. Redirects as for {@link askPlatform}.
 * @param ms until the answer begins.
 */
export async function openPlatform(request: PlatformRequest, ms: number, platform: Platform): Promise<PlatformStream> {
  const deadline = new AbortController();
  const opened = await within(ms, open(request, deadline.signal, platform), LATE);
  if (opened === LATE) deadline.abort();
  return opened;
}

async function ask(
  request: PlatformRequest,
  signal: AbortSignal,
  platform: Platform,
  maxBytes: number,
): Promise<PlatformAnswer> {
  const opened = await open(request, signal, platform);
  if (opened.kind === "none") return opened;
  const { body, ...head } = opened;
  const { end, bytes } = await readStream(body, { maxBytes });
  if (end === "broken") return FAILED;
  if (end !== "whole") return { kind: "none", why: `answered with more than ${maxBytes} bytes` };
  return { ...head, kind: "answer", bytes, json: jsonOf(bytes) };
}

/** Their answers have no body, whatever comes. */
const BARE: readonly number[] = [204, 205];

async function open(
  { method, url, bearer, body }: PlatformRequest,
  signal: AbortSignal,
  platform: Platform,
): Promise<PlatformStream> {
  const headers: Record<string, string> = { authorization: `Bearer ${bearer}` };
  const contentType = body === undefined ? "" : typeof body === "string" ? "application/json" : body.contentType;
  if (contentType !== "") headers["content-type"] = contentType;
  try {
    const response = await platform.fetch(url, {
      method,
      headers,
      redirect: "manual",
      signal,
      ...(body !== undefined && { body: typeof body === "string" ? body : body.bytes }),
    });
    const { status, headers: said } = response;
    const isBare = BARE.includes(status) || said.get("content-length") === "0";
    const why = status >= 300 && status < 400 ? ", which is not followed" : status < 200 || status > 599 ? "" : null;
    if (isBare || why !== null) await response.body?.cancel();
    if (why !== null) return { kind: "none", why: `answered with HTTP ${status}${why}` };
    return {
      kind: "open",
      status,
      body: isBare ? null : response.body,
      contentType: said.get("content-type") ?? "",
      retryAfter: said.get("retry-after"),
    };
  } catch {
    // The text of the error may contain the URL or the body.
    return FAILED;
  }
}

export function isOk(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether the platform confirms success. */
export function isDone({ status, json }: Extract<PlatformAnswer, { kind: "answer" }>): boolean {
  return isOk(status) && z.looseObject({ success: z.literal(true) }).safeParse(json).success;
}

function jsonOf(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  return text.ok ? parsedJson(text.value) : undefined;
}
