import { exports } from "cloudflare:workers";
import { describe, it } from "vitest";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";

const BASE = `http://localhost:8787/client/v4/accounts/${ACCOUNT}`;

/** A locally running function's page, a foreign page, a sandboxed page, and another port. */
const ORIGINS = ["http://shop.localhost:8788", "https://attacker.example", "null", "http://localhost:3000"];

const PATHS = [
  "/logship/jobs",
  "/logship/jobs/1",
  "/logship/datasets/functions_trace_events/events",
  "/functions/scripts",
  "/functions/scripts/shop",
  "/tokens",
  "/members",
  "/logship/audit",
  "/nowhere",
];

const CASES = ORIGINS.flatMap((origin) => PATHS.map((path) => [origin, path] as const));

/** Headers that would let another origin read an answer. */
const opening = ({ headers }: Response): string[] =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-") || name === "timing-allow-origin");

describe("a page of another origin", () => {
  it.for(CASES)("is not let in: %s asks for %s", async ([origin, path], { expect }) => {
    const ask = (method: string, headers: Record<string, string>): Promise<Response> =>
      exports.default.fetch(BASE + path, { method, headers: { Origin: origin, ...headers } });
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
      // A browser's preflight for a token, a JSON body, or a method other than GET and POST.
      const preflight = await ask("OPTIONS", {
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization,content-type",
        "Access-Control-Request-Private-Network": "true",
      });
      expect(opening(preflight)).toEqual([]);
      expect(preflight.ok).toBe(false);
    }
    for (const credentials of [{}, { Authorization: `Bearer ${ADMIN_TOKEN}` }]) {
      const answer = await ask("GET", credentials);
      expect(opening(answer)).toEqual([]);
      expect(answer.headers.has("Set-Cookie")).toBe(false);
      await answer.body?.cancel();
    }
  });

  it.for(PATHS.filter((path) => path !== "/nowhere"))("gains nothing by a cookie: %s", async (path, { expect }) => {
    for (const method of ["GET", "POST"]) {
      const answer = await exports.default.fetch(BASE + path, {
        method,
        headers: {
          Cookie: `Authorization=Bearer ${ADMIN_TOKEN}; token=${ADMIN_TOKEN}`,
          Origin: "http://localhost:8787",
        },
      });
      expect(answer.status).toBe(401);
      await answer.body?.cancel();
    }
  });
});
