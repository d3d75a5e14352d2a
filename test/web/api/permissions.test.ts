/** A handwritten table of permissions per route, and every kind of caller against all of it. */
import { describe, expect, it } from "vitest";
import { PERMISSIONS, type Permission, ROLE_NAMES, type Role } from "../../../src/state/access/roles.ts";
import type { Route } from "../../../src/web/api/route.ts";
import { GROUPS } from "../../../src/web/app.ts";
import { NOON } from "../../formats/record/samples.ts";
import { setClock } from "../../support/runtime/pipeline.ts";
import { call, errorsOf, filled, intake } from "./harness.ts";
import { bearer, type Headers, member, pair, token } from "./principals.ts";

/**
 * The permission of each route, under each name of its group. A route that is missing here fails
 * the first test.
 */
const LOGS: { readonly [route: string]: Permission } = {
  "POST /datasets/:dataset/events": "events:write",
  "GET /jobs": "logs:read",
  "POST /jobs": "logs:edit",
  "GET /datasets/:dataset/jobs": "logs:read",
  "GET /jobs/:job_id": "logs:read",
  "PUT /jobs/:job_id": "logs:edit",
  "DELETE /jobs/:job_id": "logs:edit",
  "GET /jobs/:job_id/ledger": "logs:read",
  "GET /jobs/:job_id/objects": "logs:read",
  "GET /jobs/:job_id/objects/:number": "logs:read",
  "GET /jobs/:job_id/objects/:number/records": "logs:read",
  "GET /jobs/:job_id/health": "logs:read",
  "GET /jobs/:job_id/canary": "logs:read",
  "POST /jobs/:job_id/flush": "logs:edit",
  "GET /jobs/:job_id/replay": "logs:read",
  "POST /jobs/:job_id/replay": "logs:edit",
  "POST /jobs/:job_id/rerun": "logs:edit",
  "GET /jobs/:job_id/replay/estimate": "logs:read",
  "GET /jobs/:job_id/replay/:replay_id": "logs:read",
  "DELETE /jobs/:job_id/replay/:replay_id": "logs:edit",
  "GET /ledger": "logs:read",
  "GET /status": "logs:read",
  "GET /usage": "logs:read",
  "POST /ownership": "logs:edit",
  "POST /ownership/validate": "logs:edit",
  "POST /validate/destination": "logs:edit",
  "POST /validate/destination/exists": "logs:edit",
  "POST /validate/origin": "logs:edit",
  "GET /datasets/:dataset/fields": "logs:read",
  "GET /datasets/:dataset/fields/default": "logs:read",
  "GET /set-aside": "logs:edit",
  "GET /set-aside/:aside_id": "logs:edit",
  "PUT /set-aside/:aside_id": "logs:edit",
  "DELETE /set-aside/:aside_id": "logs:edit",
  "POST /set-aside/:aside_id/resend": "logs:edit",
  "POST /set-aside/resend": "logs:edit",
  "POST /preview": "logs:read",
  "POST /search": "logs:read",
  "GET /searches": "logs:read",
  "POST /searches": "logs:read",
  "GET /searches/:search_id": "logs:read",
  "PUT /searches/:search_id": "logs:read",
  "DELETE /searches/:search_id": "logs:read",
  "GET /incidents": "logs:read",
  "GET /incidents/:incident_id": "logs:read",
  "GET /webhook": "logs:read",
  "PUT /webhook": "logs:edit",
  "DELETE /webhook": "logs:edit",
  "POST /webhook/test": "logs:edit",
  "GET /alerts": "logs:read",
  "POST /alerts": "logs:edit",
  "GET /alerts/:alert_id": "logs:read",
  "PUT /alerts/:alert_id": "logs:edit",
  "DELETE /alerts/:alert_id": "logs:edit",
  "POST /alerts/:alert_id/test": "logs:edit",
  "PUT /incidents/:incident_id/mute": "logs:edit",
  "DELETE /incidents/:incident_id/mute": "logs:edit",
  "GET /functions": "logs:read",
  "GET /problems": "logs:read",
  "GET /problems/:problem_id": "logs:read",
  "PATCH /problems/:problem_id": "logs:edit",
  "GET /audit": "access:edit",
};
const SCRIPTS: { readonly [route: string]: Permission } = {
  "GET ": "functions:read",
  "GET /:script_name": "functions:read",
  "PUT /:script_name": "functions:edit",
  "DELETE /:script_name": "functions:edit",
  "GET /:script_name/script-settings": "functions:read",
  "GET /:script_name/health": "logs:read",
  "GET /:script_name/expect": "logs:read",
  "PUT /:script_name/expect": "logs:edit",
  "PATCH /:script_name/script-settings": "functions:edit",
};
/** null: any known caller. */
const TOKENS: { readonly [route: string]: Permission | null } = {
  "GET /verify": null,
  "GET ": "access:edit",
  "POST ": "access:edit",
  "DELETE /:token_id": "access:edit",
};
const MEMBERS: { readonly [route: string]: Permission } = {
  "GET ": "access:edit",
  "POST ": "access:edit",
  "PUT /:member_id": "access:edit",
  "DELETE /:member_id": "access:edit",
};
const NEEDED: { readonly [base: string]: { readonly [route: string]: Permission | null } } = {
  "/logship": LOGS,
  "/logpush": LOGS,
  "/functions/scripts": { ...SCRIPTS, "GET /:script_name/versions": "logs:read" },
  "/workers/scripts": SCRIPTS,
  "/tokens": TOKENS,
  "/members": MEMBERS,
};

/** The permissions of each role, also handwritten. */
const HELD: { readonly [role in Role]: readonly Permission[] } = {
  "Super Administrator": ["logs:read", "logs:edit", "events:write", "functions:read", "functions:edit", "access:edit"],
  Administrator: ["logs:read", "logs:edit", "events:write", "functions:read", "functions:edit", "access:edit"],
  "Log Share": ["logs:read", "logs:edit"],
  "Log Share Reader": ["logs:read"],
  "Functions Admin": ["functions:read", "functions:edit"],
};

/** What is enough beside what the table has, of what an earlier release asked for. */
const OR: { readonly [route: string]: Permission } = {
  "GET /webhook": "logs:edit",
  "GET /alerts": "logs:edit",
  "GET /alerts/:alert_id": "logs:edit",
};

const ROUTES = Object.entries(NEEDED).flatMap(([base, routes]) =>
  Object.entries(routes).map(([route, permission]) => {
    const [method = "", path = ""] = route.split(" ");
    return { method, path: base + filled(path), permission, or: OR[route] ?? permission };
  }),
);

interface Answered {
  route: string;
  permission: Permission | null;
  or: Permission | null;
  said: unknown[];
}

/** Each route's answer: status, error codes and messages. */
async function answersTo(headers: Headers): Promise<Answered[]> {
  const answers: Answered[] = [];
  const { options, queue } = intake();
  for (const { method, path, permission, or } of ROUTES) {
    const body = method === "GET" || method === "DELETE" ? undefined : {};
    const answer = await call(method, path, body, { settings: options.settings ?? {}, headers });
    const challenge = answer.headers.get("www-authenticate");
    answers.push({
      route: `${method} ${path}`,
      ...{ permission, or },
      said: [answer.status, challenge, ...errorsOf(answer).map(([code, , message]) => [code, message])],
    });
  }
  expect(queue.calls).toEqual([]);
  return answers;
}

/**
 * Expects that a caller is admitted exactly where permitted, and elsewhere told which permission is
 * missing.
 */
async function expectHolds(headers: Headers, held: readonly Permission[]): Promise<void> {
  for (const { route, permission, or, said } of await answersTo(headers)) {
    const refused = [403, null, [10000, `Authorization error: this needs the permission ${permission}`]];
    const needed = [permission, or].filter((each) => each !== null);
    if (needed.length > 0 && !needed.some((each) => held.includes(each)))
      expect([route, said]).toEqual([route, refused]);
    else expect([route, [200, 400, 404, 409].includes(Number(said[0]))]).toEqual([route, true]);
  }
}

async function expectUnknown(headers: Headers): Promise<void> {
  for (const { route, said } of await answersTo(headers))
    expect([route, said]).toEqual([route, [401, "Bearer", [10000, expect.stringMatching(/^Authentication error/)]]]);
}

describe("the table of permissions", () => {
  it("has every route, and no other", () => {
    const there = GROUPS.flatMap(({ names, resources }) =>
      names.flatMap((base = "") =>
        Object.entries(resources).flatMap(([path, methods]) =>
          Object.entries<Route>(methods).map(([method, { permission }]) => [`${base} ${method} ${path}`, permission]),
        ),
      ),
    );
    const written = Object.entries(NEEDED).flatMap(([base, routes]) =>
      Object.entries(routes).map(([route, permission]) => [`${base} ${route}`, permission]),
    );
    expect(Object.fromEntries(there)).toEqual(Object.fromEntries(written));
    const or = GROUPS.flatMap(({ resources }) =>
      Object.entries(resources).flatMap(([path, methods]) =>
        Object.entries<Route>(methods).flatMap(([method, { or }]) => (or ? [[`${method} ${path}`, or]] : [])),
      ),
    );
    expect(Object.fromEntries(or)).toEqual(OR);
  });

  it("knows of every change what it is called in the audit", () => {
    const silent = GROUPS.flatMap(({ names, resources }) =>
      Object.entries(resources).flatMap(([path, methods]) =>
        Object.entries<Route>(methods)
          .filter(([method, route]) => method !== "GET" && !("take" in route) && route.action === undefined)
          .map(([method]) => `${method} ${names[0]}${path}`),
      ),
    );
    expect(silent).toEqual([]);
  });
});

describe("every route", () => {
  it.each(PERMISSIONS)("lets by a token that holds %s where that is what it needs, and nowhere else", async (each) => {
    await expectHolds((await token([each])).headers, [each]);
  });

  it("lets by a token that holds several, wherever one of them is needed", async () => {
    await expectHolds((await token(["functions:read", "logs:edit"])).headers, ["logs:edit", "functions:read"]);
  });

  it.each(ROLE_NAMES)("lets by a member who is %s where that role may go", async (role) => {
    await expectHolds((await member(role)).headers, HELD[role]);
  });

  it("lets nobody by without credentials", () => expectUnknown({ authorization: null }));

  it("lets nobody by with a token that was never issued", () =>
    expectUnknown(bearer(`logship_token_${"A".repeat(43)}`)));

  it("lets nobody by with a token that has expired", async () => {
    const clock = setClock(NOON);
    const { headers } = await token(PERMISSIONS, { expires_on: new Date(NOON + 60_000).toISOString() });
    expect((await call("GET", "/tokens", undefined, { headers })).status).toBe(200);
    clock.advance(60_000);
    await expectUnknown(headers);
  });

  it("lets nobody by with a token that was revoked", async () => {
    const { id, headers } = await token(PERMISSIONS);
    expect((await call("DELETE", `/tokens/${id}`, undefined, { headers })).status).toBe(200);
    await expectUnknown(headers);
  });

  it("lets nobody by who is no member any more", async () => {
    const { id, headers } = await member("Super Administrator");
    expect((await call("DELETE", `/members/${id}`, undefined, { headers })).status).toBe(200);
    await expectUnknown(headers);
  });

  it("lets nobody by with the key of somebody else", async () => {
    await member("Super Administrator", "ada@example.com");
    const { secret } = await member("Log Share Reader", "bob@example.com");
    await expectUnknown(pair("ada@example.com", secret));
  });

  it("lets nobody by with a token as a key, or a key as a token", async () => {
    const { secret } = await member("Super Administrator");
    await expectUnknown(bearer(secret));
    await expectUnknown(pair("ada@example.com", (await token(PERMISSIONS)).secret));
  });
});
