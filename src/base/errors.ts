import type * as z from "zod";
import { ERRORS_MAX_ENTRIES } from "./limits.ts";

/** Codes of the API's errors; src/web/openapi/failures.ts has their HTTP status. */
export const CODE = {
  tooMany: 971,
  jobNotFound: 1000,
  invalid: 1001,
  wrongChallenge: 1002,
  /** Not an error: a note in `messages`. */
  note: 1003,
  notAllowed: 1004,
  tooSlow: 1008,
  conflict: 1009,
  tooLarge: 1013,
  mediaType: 1015,
  unavailable: 1053,
  methodNotAllowed: 7001,
  noRoute: 7003,
  auth: 10000,
} as const;

export interface ErrorEntry {
  code: number;
  message: string;
  /** JSON pointer into the body; `at`: where in that text, in UTF-16 units from 0. */
  source?: { pointer: string; at?: number };
}

/** What is wrong with an input; `pointer` is a JSON pointer into the body. */
export interface Fault {
  pointer: string;
  message: string;
}

/**
 * A failure that the app answers with. Any other exception is a bug, and its text is never
 * answered.
 */
export class ApiError extends Error {
  readonly status: 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 429 | 500 | 503;
  readonly entries: readonly ErrorEntry[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: ApiError["status"],
    entries: readonly ErrorEntry[],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(entries[0]?.message ?? `HTTP ${status}`);
    this.status = status;
    this.entries = entries.slice(0, ERRORS_MAX_ENTRIES);
    this.headers = headers;
  }
}

export function oneError(
  status: ApiError["status"],
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): ApiError {
  return new ApiError(status, [{ code, message }], headers);
}

/** 404: there is nothing of this name. */
export function notFound(message: string): ApiError {
  return oneError(404, CODE.noRoute, message);
}

/** One entry per fault. @param prefix goes before each message. */
export function faultsError(status: ApiError["status"], code: number, faults: readonly Fault[], prefix = ""): ApiError {
  return new ApiError(
    status,
    faults
      .slice(0, ERRORS_MAX_ENTRIES)
      .map(({ pointer, message }) => ({ code, message: prefix + message, source: { pointer } })),
  );
}

/** 400: a value of a body is wrong. @param prefix as of {@link faultsError}. */
export function badValue(name: string, why: string, code: number = CODE.invalid, prefix = ""): ApiError {
  return faultsError(400, code, [{ pointer: `/${name}`, message: `${name}: ${why}` }], prefix);
}

/** A step of a JSON pointer. RFC 6901. */
export function escapePointer(step: string): string {
  return step.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The message for a missing key, instead of zod's words about types. */
export const missing: z.core.$ZodErrorMap = ({ code, input }) =>
  code === "invalid_type" && input === undefined ? "is missing" : undefined;

/** 503: a part behind the API does not answer; the request may be repeated. */
export function unavailable(message: string, retryAfterS = 5): ApiError {
  return oneError(503, CODE.unavailable, message, { "Retry-After": `${retryAfterS}` });
}

/**
 * After a deployment, objects that are at work keep the code before for minutes.
 * @param sent what was to be stored. @param stored what the other side says that it has stored.
 * @throws ApiError 503 if some of it is missing: code that does not know it has left it out.
 */
export function requireStored(what: string, sent: object, stored: object): void {
  const own = new Map<string, unknown>(Object.entries(stored));
  const left = Object.entries(sent).filter(([key, value]) => JSON.stringify(own.get(key)) !== JSON.stringify(value));
  if (left.length > 0)
    throw unavailable(`${what} was stored by another release, which has left something out: send it again later`, 300);
}

/** @param shards of the log that have not confirmed a change; at least one. */
export function notInForce(shards: readonly number[]): string {
  return `stored; not yet in force in log ${shards.join(", ")}; it will be within a minute`;
}
