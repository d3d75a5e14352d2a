import type { Route } from "../api/route.ts";
import { parameterNames, pathParameter } from "./parameters.ts";

/** The failures of operations by status: component name, and description with codes. */
export const FAILURES = {
  400: {
    name: "BadRequest",
    when: "The request is malformed (1001, one entry per fault), the ownership challenge is wrong (1002), or the change is not allowed (1004).",
  },
  401: { name: "Unauthorized", when: "Missing or unknown credentials (10000)." },
  403: {
    name: "Forbidden",
    when: "The permission is missing (10000), or a maximum number is reached (1004).",
  },
  404: { name: "NotFound", when: "No such job (1000); no such route, account, dataset or other resource (7003)." },
  408: { name: "RequestTimeout", when: "The body did not arrive in time; repeat the request (1008)." },
  409: {
    name: "Conflict",
    when: "A concurrent change, an existing name, or a state that does not allow it (1009).",
  },
  413: { name: "ContentTooLarge", when: "The body is too large (1013)." },
  415: { name: "UnsupportedMediaType", when: "The type or encoding of the body is not supported (1015)." },
  429: {
    name: "TooManyRequests",
    when: "Too many requests, or too many with unknown credentials from this address; repeat it later (971).",
  },
  503: {
    name: "Unavailable",
    when: "A part of the service does not answer, or its configuration is malformed; repeat the request (1053).",
  },
} as const;

export type FailureStatus = keyof typeof FAILURES;

/**
 * The failures that a route may answer with, derived from its input. 405 is not among them: it
 * belongs to no operation.
 * @param path in the router's form, with the account's prefix.
 */
export function failuresOf(path: string, { doc }: Route): FailureStatus[] {
  const hasBody = doc.body !== undefined;
  const checked = hasBody || doc.query !== undefined || doc.headers !== undefined;
  const refuses = checked || parameterNames(path).some((name) => pathParameter(name).refused);
  return [
    ...(refuses ? ([400] as const) : []),
    401,
    403,
    404,
    ...(hasBody ? ([408, 413, 415] as const) : []),
    ...(doc.errors ?? []),
    429,
    503,
  ].sort((a, b) => a - b) as FailureStatus[];
}
