import { describe, expect, it } from "vitest";
import { curlForm, FORM_TYPE } from "../../state/functions/forms.ts";
import { ADMIN_TOKEN } from "../../support/constants.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { call, expectRefused } from "./harness.ts";
import { member, token } from "./principals.ts";
import { type Asked, askAs, patch, put, SCRIPTS, said, scriptedApi, UPSTREAM_API } from "./scripted-platform.ts";

const percentEncoded = (text: string): string =>
  [...text].map((char) => `%${char.charCodeAt(0).toString(16)}`).join("");

describe("what opens this service", () => {
  const routes: [method: string, path: string][] = [
    ["GET", SCRIPTS],
    ["GET", `${SCRIPTS}/shop`],
    ["PUT", `${SCRIPTS}/shop`],
    ["DELETE", `${SCRIPTS}/shop`],
    ["GET", `${SCRIPTS}/shop/script-settings`],
    ["PATCH", `${SCRIPTS}/shop/script-settings`],
  ];
  /** All requests to all routes, with these headers. */
  async function tryAll(headers: Record<string, string>, settings = {}, query = ""): Promise<[number[], Asked[]]> {
    const world = scriptedApi();
    const statuses: number[] = [];
    for (const [method, path] of routes) {
      const body = method === "PUT" ? (curlForm() as Uint8Array<ArrayBuffer>) : method === "PATCH" ? "{}" : undefined;
      const type = method === "PUT" ? FORM_TYPE : "application/json";
      const options = { headers: { "content-type": type, ...headers }, settings };
      const answer = await askAs(world, method, path + query, body, options);
      expect(answer.text).not.toMatch(new RegExp(`${ADMIN_TOKEN}|logship_token_`));
      statuses.push(answer.status);
    }
    return [statuses, world.asked];
  }

  it("is never sent on: the admin's token, tokens and keys of ours, whole or broken, wherever they stand in a bearer", async () => {
    const known = await token(["functions:read", "functions:edit"]);
    const { secret: key } = await member("Administrator");
    const [ours] = await tryAll({ authorization: `Bearer ${known.secret}` });
    expect(ours).toEqual([200, 404, 403, 404, 404, 200]);
    expect((await tryAll({ authorization: `Bearer ${ADMIN_TOKEN}` }))[0]).toEqual([200, 404, 403, 404, 404, 200]);
    for (const bearer of [
      `logship_token_${"A".repeat(43)}`,
      key,
      known.secret.slice(0, -1),
      known.secret.toUpperCase(),
      `${known.secret}.`,
      `"${ADMIN_TOKEN}"`,
      `${ADMIN_TOKEN},`,
      `x${ADMIN_TOKEN}y`,
      `"${key}"`,
      ADMIN_TOKEN.toUpperCase(),
      percentEncoded(ADMIN_TOKEN),
      percentEncoded(percentEncoded(ADMIN_TOKEN.toUpperCase())),
      percentEncoded(known.secret),
      known.secret.replace("_", "%5F"),
      key.replace("_", "%255f"),
    ]) {
      const [statuses, asked] = await tryAll({ authorization: `Bearer ${bearer}` });
      expect([bearer, statuses, asked]).toEqual([bearer, Array(6).fill(401), []]);
    }
  });

  it("is not sent on in a query either, whoever's bearer stands beside it", async () => {
    const { secret } = await token(["functions:read"]);
    for (const query of [
      `?token=${secret}`,
      `?${ADMIN_TOKEN}`,
      `?a=b&token=${percentEncoded(secret)}`,
      `?${percentEncoded(ADMIN_TOKEN)}=`,
    ]) {
      expect([query, await tryAll({}, {}, query)]).toEqual([query, [Array(6).fill(400), []]]);
    }
  });

  it("is all there is, without a platform: other bearers are 401, as they are everywhere else with one", async () => {
    expect(await tryAll({}, { UPSTREAM_API: undefined })).toEqual([Array(6).fill(401), []]);
    const world = scriptedApi();
    for (const [method, path] of [
      ["GET", "/logship/jobs"],
      ["GET", "/tokens"],
      ["GET", "/logship/audit"],
      ["POST", "/logship/datasets/functions_trace_events/events"],
      ["POST", `${SCRIPTS}/shop`],
    ] as const)
      expect([path, (await askAs(world, method, path, method === "POST" ? "{}" : undefined)).status]).toEqual([
        path,
        401,
      ]);
    expect((await askAs(world, "GET", SCRIPTS, undefined, { account: "another" })).status).toBe(401);
    expect(world.asked).toEqual([]);
  });

  it("is no pair that we do not know, no cookie, and nothing in the address", async () => {
    const world = scriptedApi();
    const pair = { "x-auth-email": "a@example.com", "x-auth-key": "k" };
    for (const headers of [pair, { authorization: "", ...pair }, { authorization: "Basic abc" }, { authorization: "" }])
      expect((await askAs(world, "GET", SCRIPTS, undefined, { headers })).status).toBe(401);
    expect(world.asked).toEqual([]);
  });

  it("is what an upload of our own callers is refused for, as the platform needs its own", async () => {
    const settings = { UPSTREAM_API };
    const answer = await call("PUT", "/functions/scripts/shop", curlForm(), {
      settings,
      headers: { "content-type": FORM_TYPE },
    });
    const why =
      "logship forwards an upload to Cloudflare, which needs a bearer token of Cloudflare, not one of logship";
    expectRefused(answer, 403, [10000, undefined, `Authorization error: ${why}`]);
  });
});

describe("UPSTREAM_API", () => {
  it.each([
    ["https://api.platform.test", "https://api.platform.test"],
    ["https://api.platform.test/", "https://api.platform.test"],
    ["https://api.platform.test/a/client/v4/", "https://api.platform.test/a/client/v4"],
    ["http://127.0.0.1:8080/client/v4", "http://127.0.0.1:8080/client/v4"],
  ])("is a base URL, of which the path is kept: %s", async (setting, base) => {
    const world = scriptedApi(said([]));
    expect((await askAs(world, "GET", SCRIPTS, undefined, { settings: { UPSTREAM_API: setting } })).status).toBe(200);
    expect(world.asked[0]?.url).toBe(`${base}/accounts/test-account/workers/scripts`);
  });

  it("is named if it is malformed, to everybody, and asked by nobody", async () => {
    const settings = { UPSTREAM_API: "http://127.0.0.1:1/", ALLOW_LOOPBACK_DESTINATIONS: "", OBJSTORE_ENDPOINT: "" };
    const why = "the base URL of Cloudflare's API, https://…/client/v4, or absent: UPSTREAM_API must be a public host";
    const errors = [{ code: 1053, message: `configuration: UPSTREAM_API: ${why}` }];
    const world = scriptedApi();
    const foreign = await askAs(world, "GET", SCRIPTS, undefined, { settings });
    const own = await call("GET", "/logship/jobs", undefined, { settings });
    expect([foreign.status, foreign.json?.errors, world.asked]).toEqual([503, errors, []]);
    expect([own.status, own.body.errors]).toEqual([503, errors]);
  });

  it("needs a name that functions can be attached to", async () => {
    const answer = await call("GET", "/logship/jobs", undefined, { settings: { UPSTREAM_API, SELF_NAME: "" } });
    expect([answer.status, answer.body.errors[0]?.message]).toEqual([
      503,
      "configuration: SELF_NAME: this Worker's own name, to which Workers are attached with UPSTREAM_API",
    ]);
  });

  it("is not this service itself, which would ask itself for ever", async () => {
    const world = scriptedApi();
    const answer = await askAs(world, "GET", SCRIPTS, undefined, {
      settings: { UPSTREAM_API: "https://logship.test/client/v4" },
    });
    expect([answer.status, answer.json?.errors[0]?.message, world.asked]).toEqual([
      503,
      "configuration: UPSTREAM_API: must not be this service itself",
      [],
    ]);
  });
});

describe("the audit", () => {
  interface Note {
    actor: object;
    action: string;
    resource: string | null;
    outcome: string;
    body: unknown;
  }
  const notes = async (): Promise<Note[]> => (await call<Note[]>("GET", "/logship/audit")).body.result;

  it("says what was changed by a bearer of the platform, and nothing of the bearer, nor of the bindings", async () => {
    setClock(NOON);
    const bindings = [{ type: "secret_text", name: "KEY", text: "hunter2" }];
    await put(scriptedApi(said({})), curlForm({ main_module: "my-worker.js", logship: true, bindings }));
    await patch(scriptedApi(said({}), said({})), { logship: false, anything: { password: "hunter2" } });
    await askAs(scriptedApi(said({})), "DELETE", `${SCRIPTS}/shop`);
    const actor = { kind: "platform", id: "platform", name: "platform bearer" };
    const all = await notes();
    expect(all).toMatchObject([
      { actor, action: "function.delete", resource: "shop", outcome: "done", body: null },
      { actor, action: "function.update", resource: "shop", outcome: "done", body: { logship: false } },
      {
        actor,
        action: "function.upload",
        resource: "shop",
        outcome: "done",
        body: { main_module: "my-worker.js", logship: true, modules: 1 },
      },
    ]);
    expect(JSON.stringify(all)).not.toMatch(/hunter2|platform-token/);
  });

  it("keeps no body without bounds, whatever the platform takes", async () => {
    const consumers = Array.from({ length: 5_000 }, (_, i) => ({ service: `consumer-${i}` }));
    const world = scriptedApi(said({ tail_consumers: consumers }));
    expect((await patch(world, { logship: true, tail_consumers: consumers })).status).toBe(200);
    const { result } = (await call<{ body: unknown }[]>("GET", "/logship/audit")).body;
    expect(result.map(({ body }) => body)).toEqual([{ left_out: "more than 32768 characters" }]);
  });

  it("has no entry of what the platform refused, or did not answer: anybody could write there", async () => {
    await put(scriptedApi(said(null, 401)));
    await put(scriptedApi(async () => Promise.reject(new Error("down"))));
    await patch(scriptedApi(said(null, 500)), { logship: false });
    await askAs(scriptedApi(new Response("")), "DELETE", `${SCRIPTS}/shop`, undefined, {
      settings: { UPSTREAM_API: "x" },
    });
    expect(await notes()).toEqual([]);
  });
});
