import type * as z from "zod";
import { parsedJson } from "../../base/bytes.ts";
import type { Fault } from "../../base/errors.ts";
import { CODE, escapePointer, faultsError, missing, oneError } from "../../base/errors.ts";
import { API_BODY_MAX_BYTES, API_BODY_PACE } from "../../base/limits.ts";
import { whyNotJson } from "../../formats/filter/json-fault.ts";
import { type Body, decodeUtf8, markLength, readBody } from "../../ship/intake/body.ts";
import type { AppContext } from "./route.ts";

/** The code of an error about a body, by its HTTP status. */
export const BODY_CODE = { 400: CODE.invalid, 408: CODE.tooSlow, 413: CODE.tooLarge, 415: CODE.mediaType } as const;

/** What was read from each request, kept for the audit: a body can be read only once. */
const sent = new WeakMap<Request, unknown>();

/** The request's JSON body, once it was read and had the right shape; otherwise null. */
export function sentBody(request: Request): unknown {
  return sent.get(request) ?? null;
}

/** Sets what the audit may keep of a body, if that is not what {@link bodyOf} read. */
export function noteBody(request: Request, body: unknown): void {
  sent.set(request, body);
}

/** The media type of a request, lower case, without parameters; "" if it has none. */
export function mediaType(request: Request): string {
  return (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** What `curl -d` says of any body, unless told otherwise. */
const CURL_TYPE = "application/x-www-form-urlencoded";

/**
 * Whether a body is to be read as JSON: it says so or says nothing, or curl's default was left in
 * place. That one needs credentials in a header: a page of another origin can send such a body, but
 * not the header.
 */
export function isJsonType(request: Request): boolean {
  const type = mediaType(request);
  const { headers } = request;
  if (type === CURL_TYPE) return headers.has("authorization") || headers.has("x-auth-key");
  return type === "" || type === "application/json";
}

/** @throws ApiError what is wrong with the body. */
export function bodyBytes(body: Body): Uint8Array {
  if (!body.ok) throw oneError(body.fault.status, BODY_CODE[body.fault.status], body.fault.message);
  return body.bytes;
}

/**
 * The JSON body that a route documents.
 * @param maxBytes of it.
 * @throws ApiError 415 for another media type, 413 if it is too large, 408 if it is too slow, 400
 *   with one entry per fault.
 */
export async function bodyOf<S extends z.ZodType>(
  { req: { raw: request } }: AppContext,
  { body, bodyIsOptional = false }: { body: S; bodyIsOptional?: boolean },
  maxBytes: number = API_BODY_MAX_BYTES,
): Promise<z.infer<S>> {
  const bytes = bodyBytes(await readBody(request, maxBytes, API_BODY_PACE));
  return bodyIsOptional && bytes.length === 0 ? body.parse({}) : jsonOf(request, bytes, body);
}

function jsonOf<S extends z.ZodType>(request: Request, bytes: Uint8Array, schema: S): z.infer<S> {
  if (!isJsonType(request)) throw oneError(415, CODE.mediaType, "Content-Type must be application/json");
  const text = decodeUtf8(bytes);
  if (!text.ok) throw oneError(400, CODE.invalid, text.why);
  const value = parsedJson(text.value);
  if (value === undefined)
    throw oneError(400, CODE.invalid, `the body is not JSON: ${whyNotJson(text.value, markLength(bytes))}`);
  const parsed = schema.safeParse(value, { error: missing });
  const faults = parsed.success ? prototypeFaults(value) : shapeFaults(parsed.error);
  if (!parsed.success || faults.length > 0) throw faultsError(400, CODE.invalid, faults);
  sent.set(request, parsed.data);
  return parsed.data;
}

/** A key that zod drops in silence where unknown keys may be: in a body, and in its options. */
function prototypeFaults(body: unknown): Fault[] {
  const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
  if (!isObject(body)) return [];
  const options: unknown = "output_options" in body ? body.output_options : null;
  return Object.entries({ "": body, "/output_options": options }).flatMap(([base, value]) =>
    isObject(value) && Object.hasOwn(value, "__proto__")
      ? [{ pointer: `${base}/__proto__`, message: 'unknown key "__proto__"' }]
      : [],
  );
}

/** What is wrong with the shape of a body, one entry per fault. */
export function shapeFaults(error: z.ZodError): Fault[] {
  return error.issues.flatMap(issueFaults);
}

function issueFaults(issue: z.core.$ZodIssue): Fault[] {
  const base = issue.path.map((step) => `/${escapePointer(String(step))}`).join("");
  // A key may be the caller's, of any length.
  const name = base === "" ? "the body" : issue.path.map((step) => String(step).slice(0, 64)).join(".");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      pointer: `${base}/${escapePointer(key)}`,
      message: `unknown key ${JSON.stringify(key.slice(0, 64))}`,
    }));
  }
  return [{ pointer: base, message: `${name}: ${issue.message}` }];
}
