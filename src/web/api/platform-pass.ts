/**
 * Requests that a deployment makes beside its upload: each goes on to the platform's API as it is,
 * with the caller's own bearer. Only the path below {@link API_PATH}, the query, the body and its
 * media type are passed on. Two know of this service: the upload of a version, and reading all
 * settings of a script.
 */

import { encodeUtf8 } from "../../base/bytes.ts";
import { CODE, notFound, oneError } from "../../base/errors.ts";
import { UPLOAD_PACE, UPLOAD_STREAMED_MAX_BYTES, UPSTREAM_MS } from "../../base/limits.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config, Upstream } from "../../config.ts";
import { readingsOf } from "../../formats/secrets/credentials.ts";
import { SettingsAnswer, sightingIn } from "../../state/functions/attachments.ts";
import { isDone, type PlatformRequest, type SentBody } from "../../state/functions/upstream.ts";
import { passedOn, type Said, streamedOn } from "./platform-answers.ts";
import { link, uploadVersion } from "./platform-scripts.ts";
import { API_PATH, type AppContext } from "./route.ts";

/** How long the platform may take for a body and its answer, in ms… */
const PASSED_MS = UPLOAD_PACE.ms;
/** …and all of it, with the question before the upload of a version, memory, and its metadata. */
export const PASS_MS = UPLOAD_PACE.ms + UPSTREAM_MS + UPLOAD_PACE.silenceMs + 20_000;

type Method = PlatformRequest["method"];

const METHODS: ReadonlySet<string> = new Set<Method>(["GET", "POST", "PUT", "PATCH", "DELETE"]);

/** Resources of an account that are this service's own, whatever the platform has there. */
const OURS: ReadonlySet<string> = new Set(["logship", "logpush", "functions", "tokens", "members"]);

/** Whether a request that has no route here may be one for the platform. */
export function isForPlatform(c: AppContext, accountId: string): boolean {
  const segments = segmentsOf(c);
  if (segments === null || !METHODS.has(methodOf(c))) return false;
  const [resource = "", account, below = ""] = segments;
  if (resource.toLowerCase() !== "accounts" || account === undefined) return true;
  return account === accountId && !OURS.has(below.toLowerCase());
}

/** @throws ApiError as the script routes do; 404 for a path that is no plain one. */
export async function passOn(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const segments = segmentsOf(c);
  if (segments === null) throw notFound("no such route");
  const { ask, open, upstream } = link(c, config, platform);
  const method = methodOf(c) as Method;
  const [, , ...place] = segments;
  const of = place.length === 4 && place[0] === "workers" && place[1] === "scripts" ? `${method} ${place[3]}` : null;
  if (of === "POST versions") return uploadVersion(c, config, platform);
  const path = segments.join("/");
  if (of === "GET settings") return settingsOf(await ask(method, { path }), upstream);
  const body = method === "GET" ? null : bodyOf(c);
  return streamedOn(await open(method, { path }, body === null ? {} : { body, ms: PASSED_MS }), method);
}

/**
 * It goes on as it comes, and none of it is kept: only the platform knows the caller. null: there
 * is none.
 * @throws ApiError 413, 415, or 400 for one of unknown length.
 */
function bodyOf(c: AppContext): SentBody | null {
  const { body, headers } = c.req.raw;
  const contentType = headers.get("content-type") ?? "";
  const length = headers.get("content-length") ?? "";
  if (body === null || length === "0") return contentType === "" ? null : { contentType, bytes: new Uint8Array() };
  if ((headers.get("content-encoding") ?? "identity") !== "identity")
    throw oneError(415, CODE.mediaType, "Content-Encoding must be absent");
  if (!/^\d{1,15}$/.test(length)) throw oneError(400, CODE.invalid, "Content-Length is missing");
  if (Number(length) > UPLOAD_STREAMED_MAX_BYTES)
    throw oneError(413, CODE.tooLarge, `the body is larger than ${UPLOAD_STREAMED_MAX_BYTES} bytes`);
  return { contentType, bytes: body };
}

/**
 * Settings whose `logpush` says whether events come here: a declarative client compares it with the
 * one that it uploaded.
 */
function settingsOf(said: Said, { selfName }: Upstream): Response {
  const { data } = SettingsAnswer.safeParse(said.json);
  if (data === undefined || !isDone(said)) return passedOn(said);
  const logpush = sightingIn(data.result.tail_consumers, selfName).kind === "attached";
  const bytes = encodeUtf8(JSON.stringify({ ...data, result: { ...data.result, logpush } }));
  return passedOn({ ...said, bytes: bytes as Uint8Array<ArrayBuffer> });
}

/** Segments that say whose a path is: a resource, an account, a resource of the account. */
const OWNING = 3;

/**
 * The path below {@link API_PATH} as sent, still encoded: the URL's parser has resolved dots. null:
 * one that the platform may read as another, of this service or of another account, as a segment
 * that says whose it is has anything but letters, digits, `_` and `-`, or dots are encoded.
 */
function segmentsOf(c: AppContext): string[] | null {
  const { pathname } = new URL(c.req.url);
  // The router decodes before it compares.
  if (!pathname.startsWith(`${API_PATH}/`)) return null;
  const below = pathname.slice(API_PATH.length + 1);
  const segments = below.split("/");
  const isPlain = segments.slice(0, OWNING).every((segment) => /^[\w-]+$/.test(segment));
  const hasDots = readingsOf(below).some((reading) => /(?:^|[/\\])\.\.?(?:[/\\;]|$)/.test(reading));
  return isPlain && !hasDots ? segments : null;
}

/** HEAD is answered as GET. */
function methodOf(c: AppContext): string {
  return c.req.method === "HEAD" ? "GET" : c.req.method;
}
