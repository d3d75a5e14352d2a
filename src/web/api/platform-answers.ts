/** What a caller gets of the platform's answer: status, body, and next to none of its headers. */
import { type ApiError, unavailable } from "../../base/errors.ts";
import {
  isOk,
  type PlatformAnswer,
  type PlatformRequest,
  type PlatformStream,
} from "../../state/functions/upstream.ts";

export type Said = Extract<PlatformAnswer, { kind: "answer" }>;
export type Opened = Extract<PlatformStream, { kind: "open" }>;

/**
 * The platform's status and JSON, unchanged. Of its headers only a well-formed Retry-After is kept.
 */
export function passedOn(
  { status, bytes, json, retryAfter }: Said,
  method: PlatformRequest["method"] = "GET",
): Response {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw nothingSaid(method, `answered with HTTP ${status} and no JSON object`);
  return new Response(bytes, { status, headers: jsonHeaders(status, retryAfter) });
}

function jsonHeaders(status: number, retryAfter: string | null): Headers {
  const headers = new Headers({ "content-type": "application/json" });
  if (retryAfter !== null && RETRY_AFTER.test(retryAfter)) headers.set("retry-after", retryAfter);
  else if (status === 429 || status === 503) headers.set("retry-after", "5");
  if (status === 401) headers.set("www-authenticate", "Bearer");
  return headers;
}

/**
 * An answer as it comes, of which none is kept: the caller may be anyone, and it of any size. What
 * does not say that it is JSON is a file. @throws ApiError 503 for a failure that does not.
 */
export async function streamedOn(opened: Opened, method: PlatformRequest["method"]): Promise<Response> {
  const { status, body, contentType, retryAfter } = opened;
  if (body !== null && JSON_TYPE.test(contentType))
    return new Response(body, { status, headers: jsonHeaders(status, retryAfter) });
  if (isOk(status)) return body === null ? new Response(null, { status }) : asFile(opened, body);
  await body?.cancel();
  throw nothingSaid(method, `answered with HTTP ${status} and no JSON object`);
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/** Seconds, or a date. RFC 9110, 10.2.3. */
const RETRY_AFTER = /^(?:[1-9]\d{0,5}|[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)$/;

/** What is not the API's JSON is a file, with headers that keep a browser from running it. */
function asFile(
  { status, contentType }: Pick<Said, "status" | "contentType">,
  body: ReadableStream<Uint8Array>,
): Response {
  return new Response(body, {
    status,
    headers: {
      "content-type": SCRIPT_TYPE.test(contentType) ? contentType : "application/octet-stream",
      "content-disposition": "attachment",
      "content-security-policy": "default-src 'none'; sandbox",
      "x-content-type-options": "nosniff",
    },
  });
}

const SCRIPT_TYPE = /^(?:(?:application|text)\/javascript(?:\+module)?|multipart\/form-data)\s*(?:;[^,]*)?$/i;

export function nothingSaid(method: PlatformRequest["method"], why: string): ApiError {
  const after =
    method === "GET"
      ? "repeat the request"
      : "it may have made the change, but nothing was changed here; repeat the request";
  return unavailable(`Cloudflare's API ${why}; ${after}`);
}
