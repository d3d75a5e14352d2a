import type { Route } from "../api/route.ts";
import { parameterNames, pathParameter } from "./parameters.ts";

/** Every failure that an operation may answer with: the name of its component, what it means, and its codes. */
export const FAILURES = {
  400: {
    name: "BadRequest",
    when: "The request is malformed (1001, one entry a fault, all at once), the ownership challenge is wrong (1002), or what was asked for is not allowed (1004).",
  },
  401: { name: "Unauthorized", when: "No credentials, or unknown ones (10000)." },
  403: {
    name: "Forbidden",
    when: "The credentials do not have the permission (10000), or there is no room for one more (1004).",
  },
  404: { name: "NotFound", when: "No such job (1000); no such route, account, dataset or other thing (7003)." },
  409: {
    name: "Conflict",
    when: "Somebody else was faster, has the same name already, or there is nowhere to run it (1009).",
  },
  413: { name: "ContentTooLarge", when: "The body is too large (1013)." },
  415: { name: "UnsupportedMediaType", when: "The body has another type or encoding than the route takes (1015)." },
  429: { name: "TooManyRequests", when: "Too much was asked for; the request may be repeated later (971)." },
  503: {
    name: "Unavailable",
    when: "A part of the service does not answer, or its configuration is malformed; the request may be repeated (1053).",
  },
} as const;

export type FailureStatus = keyof typeof FAILURES;

/**
 * With which failures a route may answer, by what it takes. A method that a path does not have is a 405, which is no operation's answer.
 * @param path as the router has it, with that of the account.
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
    ...(hasBody ? ([413, 415] as const) : []),
    ...(doc.errors ?? []),
    503,
  ].sort((a, b) => a - b) as FailureStatus[];
}
