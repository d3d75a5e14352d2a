import type * as z from "zod";
import { CODE, faultsError, missing, oneError } from "../errors.ts";
import { type Body, decodeUtf8, readBody } from "../intake/body.ts";
import { API_BODY_MAX_BYTES, API_BODY_PACE } from "../limits.ts";
import type { Fault } from "../record/record.ts";

/** The code of an error about a body, by its HTTP status. */
export const BODY_CODE = { 400: CODE.invalid, 408: CODE.tooSlow, 413: CODE.tooLarge, 415: CODE.mediaType } as const;

/** What was read from each request, kept for the audit: a body can be read only once. */
const sent = new WeakMap<Request, unknown>();

/** The request's JSON body, once it was read and had the right shape; otherwise null. */
export function sentBody(request: Request): unknown {
  return sent.get(request) ?? null;
}

/** Sets what the audit may keep of a body, if that is not what {@link jsonBody} read. */
export function noteBody(request: Request, body: unknown): void {
  sent.set(request, body);
}

/** The media type of a request, lower case, without parameters; "" if it has none. */
export function mediaType(request: Request): string {
  return (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** @throws ApiError what is wrong with the body. */
export function bodyBytes(body: Body): Uint8Array {
  if (!body.ok) throw oneError(body.fault.status, BODY_CODE[body.fault.status], body.fault.message);
  return body.bytes;
}

/**
 * A JSON body of the given shape.
 * @throws ApiError 415 for another media type, 413 if it is too large, 408 if it is too slow, 400
 *   with one entry per fault.
 */
export async function jsonBody<S extends z.ZodType>(request: Request, schema: S): Promise<z.infer<S>> {
  const bytes = bodyBytes(await readBody(request, API_BODY_MAX_BYTES, API_BODY_PACE));
  const type = mediaType(request);
  if (type !== "" && type !== "application/json")
    throw oneError(415, CODE.mediaType, "Content-Type must be application/json");
  const text = decodeUtf8(bytes);
  if (!text.ok) throw oneError(400, CODE.invalid, text.why);
  let value: unknown;
  try {
    value = JSON.parse(text.value);
  } catch {
    throw oneError(400, CODE.invalid, "the body is not JSON");
  }
  const parsed = schema.safeParse(value, { error: missing });
  if (!parsed.success) throw faultsError(400, CODE.invalid, shapeFaults(parsed.error));
  sent.set(request, parsed.data);
  return parsed.data;
}

/** What is wrong with the shape of a body, one entry per fault. */
export function shapeFaults(error: z.ZodError): Fault[] {
  return error.issues.flatMap(issueFaults);
}

function issueFaults(issue: z.core.$ZodIssue): Fault[] {
  const base = issue.path.map((step) => `/${escapePointer(String(step))}`).join("");
  const name = base === "" ? "the body" : base.slice(1).replaceAll("/", ".");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      pointer: `${base}/${escapePointer(key)}`,
      message: `unknown key ${JSON.stringify(key.slice(0, 64))}`,
    }));
  }
  return [{ pointer: base, message: `${name}: ${issue.message}` }];
}

/** RFC 6901. */
function escapePointer(step: string): string {
  return step.replaceAll("~", "~0").replaceAll("/", "~1");
}
