import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";

const BASE = `http://localhost:8787/client/v4/accounts/${ACCOUNT}`;

it.each([
  "/logship/jobs",
  "/logship/datasets/functions_trace_events/events",
  "/functions/scripts/shop",
  "/tokens",
  "/nowhere",
])("a page of another origin reads no answer of %s, and a cookie opens none", async (path) => {
  const ask = (method: string, headers: Record<string, string>) =>
    exports.default.fetch(BASE + path, { method, headers: { Origin: "http://localhost:3000", ...headers } });
  const wanted = { "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization" };
  const answers = [
    await ask("OPTIONS", wanted),
    await ask("GET", { Authorization: `Bearer ${ADMIN_TOKEN}` }),
    await ask("GET", { Cookie: `Authorization=Bearer ${ADMIN_TOKEN}; token=${ADMIN_TOKEN}` }),
  ];
  for (const { headers } of answers)
    expect([...headers.keys()].filter((name) => /^access-control-|^timing-allow|^set-cookie/.test(name))).toEqual([]);
  const [preflight, , cookie] = answers;
  expect([preflight?.ok, cookie?.ok]).toEqual([false, false]);
  for (const { body } of answers) await body?.cancel();
});
