/** What a deployment asks the platform beside its upload: passed on as it is. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { UPLOAD_STREAMED_MAX_BYTES, UPSTREAM_ANSWER_MAX_BYTES } from "../../../src/base/limits.ts";
import { createApp } from "../../../src/web/app.ts";
import { FORM_TYPE, field, form, module } from "../../state/functions/forms.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import { call, send } from "./harness.ts";
import { member, token } from "./principals.ts";
import { type AskOptions, askAs, BEARER, loggingOf, said, scriptedApi, UPSTREAM_API } from "./scripted-platform.ts";

/** Below the API's base, and no account. */
const OUTSIDE: AskOptions = { account: ".." };
const HERE = `${UPSTREAM_API}/accounts/${ACCOUNT}`;

const lengthOf = (body: string) => ({ "content-length": `${new TextEncoder().encode(body).length}` });

describe("a request that has no route here, with the platform's own bearer", () => {
  const requests: [method: string, path: string, options?: AskOptions][] = [
    ["GET", "/workers/services/shop"],
    ["GET", "/workers/scripts/shop/versions?deployable=true"],
    ["GET", "/workers/scripts/shop/deployments"],
    ["GET", "/workers/scripts/a%20b%2Fc/subdomain"],
    ["GET", "/workers/subdomain"],
    ["GET", "/queues?name=q&page=1"],
    ["GET", "/storage/kv/namespaces/1/values/k"],
    ["DELETE", "/workers/services/shop?force=true"],
    ["GET", "/user", OUTSIDE],
    ["GET", "/user/tokens/verify", OUTSIDE],
    ["GET", "/memberships?page=1", OUTSIDE],
    ["GET", "/accounts?page=1", OUTSIDE],
    ["GET", "/zones?name=example.com", OUTSIDE],
  ];

  it.each(requests)(
    "goes on as it is, with nothing but the bearer, and is answered as the platform answers: %s %s",
    async (method, path, options = {}) => {
      const theirs = said({ id: "x" });
      const text = await theirs.clone().text();
      const world = scriptedApi(theirs);
      const headers = { cookie: "session=1", "x-auth-token": "x", "user-agent": "wrangler", "cf-ray": "8a0b-FRA" };
      const answer = await askAs(world, method, path, undefined, { ...options, headers });
      expect([answer.status, answer.text, [...answer.headers]]).toEqual([
        200,
        text,
        [["content-type", "application/json"]],
      ]);
      const url = (options === OUTSIDE ? UPSTREAM_API : HERE) + path;
      const sent = { authorization: `Bearer ${BEARER}` };
      expect(world.asked).toEqual([{ method, url, headers: sent, redirect: "manual", body: "" }]);
    },
  );

  it.each([
    ["POST", "/workers/scripts/shop/deployments", "application/json", '{"versions":[]}'],
    ["PUT", "/workers/scripts/shop/schedules", "application/json", '[{"cron":"* * * * *"}]'],
    ["POST", "/workers/scripts/shop/subdomain", "application/json", '{"enabled":true}'],
    ["PATCH", "/workers/scripts/shop/settings", "application/json", "{"],
    ["PUT", "/workers/scripts/shop/secrets", "application/json", `{"text":"${ADMIN_TOKEN}"}`],
  ])("has its body and its type: %s %s", async (method, path, type, body) => {
    const world = scriptedApi(said({}, 201));
    const answer = await askAs(world, method, path, body, { headers: { "content-type": type, ...lengthOf(body) } });
    expect(answer.status).toBe(201);
    expect(world.asked).toMatchObject([
      { method, url: HERE + path, headers: { authorization: `Bearer ${BEARER}`, "content-type": type }, body },
    ]);
  });

  it("is answered with the platform's refusals, and with no redirect", async () => {
    const world = scriptedApi(
      said(null, 404),
      said(null, 429, { "retry-after": "7" }),
      new Response(null, { status: 302, headers: { location: "https://elsewhere.example/" } }),
      new Response("<html>", { status: 500, headers: { "content-type": "text/html" } }),
      async () => {
        throw new TypeError("fetch failed");
      },
      // No Response has such a status; an HTTP client may.
      { status: 999, headers: new Headers(), body: null } as Response,
    );
    const path = "/workers/services/shop";
    expect((await askAs(world, "GET", path)).json?.errors).toEqual([{ code: 10_001, message: "said by the platform" }]);
    const busy = await askAs(world, "GET", path);
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([429, "7"]);
    for (let n = 0; n < 4; n++) expect((await askAs(world, "GET", path)).json?.errors[0]?.code).toBe(1053);
  });

  it("is answered with what is not JSON as a file, which no browser runs", async () => {
    const html = () =>
      new Response("<script>1</script>", { headers: { "content-type": "text/html", "set-cookie": "a=b" } });
    const world = scriptedApi(
      html(),
      new Response("1", { headers: { "content-type": "text/javascript, text/html" } }),
      new Response(null, { status: 204 }),
      new Response("", { headers: { "content-length": "0" } }),
    );
    const path = "/storage/kv/namespaces/1/values/k";
    const file = await askAs(world, "GET", path);
    expect([file.status, file.text, Object.fromEntries(file.headers)]).toEqual([
      200,
      "<script>1</script>",
      {
        "content-type": "application/octet-stream",
        "content-disposition": "attachment",
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
      },
    ]);
    expect((await askAs(world, "GET", path)).headers.get("content-type")).toBe("application/octet-stream");
    for (const status of [204, 200]) {
      const bare = await askAs(world, "DELETE", "/queues/1");
      expect([bare.status, bare.text, [...bare.headers]]).toEqual([status, "", []]);
    }
  });

  it("is answered as the answer comes, of any size, and none of it is kept", async () => {
    let pulls = 0;
    let isLeft = false;
    const piece = new Uint8Array(UPSTREAM_ANSWER_MAX_BYTES / 4);
    const endless = new ReadableStream({
      pull: (to) => {
        pulls += 1;
        to.enqueue(piece);
      },
      cancel: () => {
        isLeft = true;
      },
    });
    const world = scriptedApi(new Response(endless, { headers: { "content-type": "application/json" } }));
    const response = await createApp(world).request(
      `http://logship.test/client/v4/accounts/${ACCOUNT}/queues`,
      { headers: { authorization: `Bearer ${BEARER}` } },
      { ...env, UPSTREAM_API } as unknown as Env,
    );
    expect([response.status, pulls <= 1]).toEqual([200, true]);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let bytes = 0;
    while (bytes < 2 * UPSTREAM_ANSWER_MAX_BYTES) bytes += (await reader.read()).value?.length ?? 0;
    await reader.cancel();
    expect(isLeft).toBe(true);
  });

  it("has nothing of ours in the upload of a version, and changes no setting here", async () => {
    const metadata = { main_module: "index.js", logpush: true, observability: { enabled: true } };
    const body = form([field(JSON.stringify(metadata)), module("index.js")]) as Uint8Array<ArrayBuffer>;
    const world = scriptedApi(said({ id: "v" }));
    const path = "/workers/scripts/shop/versions";
    expect((await askAs(world, "POST", path, body, { headers: { "content-type": FORM_TYPE } })).status).toBe(200);
    const [asked] = world.asked;
    expect(world.judged.map(({ url }) => url)).toEqual([`${HERE}/workers/scripts/shop/settings`]);
    expect([asked?.method, asked?.url]).toEqual(["POST", HERE + path]);
    expect(asked?.body).toContain('{"main_module":"index.js","observability":{"enabled":true}}');
    expect(asked?.body).toContain('filename="index.js"');
    expect(await loggingOf()).toBe("unset");
    const faulty = await askAs(world, "POST", path, "{}", { headers: { "content-type": "application/json" } });
    expect([faulty.status, world.asked.length]).toEqual([415, 1]);
    // A stranger's upload is not read.
    world.judge = () => said(null, 403);
    const stranger = await askAs(world, "POST", path, body, { headers: { "content-type": FORM_TYPE } });
    expect([stranger.status, world.asked.length]).toEqual([403, 1]);
  });

  it.each([
    [[{ service: "logship" }], true],
    [[{ service: "logship", environment: "staging" }, { service: "other" }], false],
    [null, false],
  ])("has settings that say whether events come here: %j", async (tail_consumers, logpush) => {
    const theirs = { logpush: !logpush, tail_consumers, usage_model: "standard" };
    const world = scriptedApi();
    world.judge = () => said(theirs);
    const answer = await askAs(world, "GET", "/workers/scripts/shop/settings");
    expect([answer.status, answer.json?.result]).toEqual([200, { ...theirs, logpush }]);
  });

  it("is refused if its length is unknown or too large, or it is compressed", async () => {
    const world = scriptedApi();
    const ask = (headers: Record<string, string>) =>
      askAs(world, "POST", "/workers/scripts/shop/secrets", "{}", { headers });
    expect((await ask({ "content-length": "2", "content-encoding": "gzip" })).status).toBe(415);
    expect((await ask({ "content-length": "x" })).status).toBe(400);
    expect((await ask({ "content-length": `${UPLOAD_STREAMED_MAX_BYTES + 1}` })).status).toBe(413);
    expect(world.asked).toEqual([]);
  });
});

describe("what is never passed on", () => {
  it.each([
    "/logship/jobs",
    "/logpush/jobs/1/nothing",
    "/logpush/edge",
    "/functions/scripts/shop/versions",
    "/tokens",
    "/tokens/1/value",
    "/members/1/more",
  ])("what is this service's own: %s", async (path) => {
    const world = scriptedApi();
    const answer = await askAs(world, "GET", path);
    expect([[401, 404].includes(answer.status), world.asked]).toEqual([true, []]);
  });

  it("another account", async () => {
    const world = scriptedApi();
    const answer = await askAs(world, "GET", "/workers/services/shop", undefined, { account: "another" });
    expect([answer.status, answer.json?.errors[0]?.code, world.asked]).toEqual([404, 7003, []]);
  });

  it.each([
    "//accounts/another/x",
    "/Accounts/another/x",
    "/%61ccounts/another/x",
    "/accounts%2fanother/x",
    "/accounts%2Fanother",
    "/accounts;x/another/x",
    "/accounts/%6fther/x",
    `/accounts/${ACCOUNT}/%6cogpush/nothing`,
    `/accounts/${ACCOUNT}/LogPush/nothing`,
    `/accounts/${ACCOUNT}/logpush%2fnothing`,
    `/accounts/${ACCOUNT}/logpush;x/nothing`,
    `/accounts/${ACCOUNT}//logpush/nothing`,
    `/accounts/${ACCOUNT}/x/..%2flogpush/nothing`,
    `/accounts/${ACCOUNT}/x/%2e%2e%2flogpush/nothing`,
    `/accounts/${ACCOUNT}/x/%252e%252e%252flogpush/nothing`,
    `/accounts/${ACCOUNT}/x/..%5clogpush`,
    `/accounts/${ACCOUNT}/x/..;/logpush`,
    `/accounts/${ACCOUNT}/..%2fanother/x`,
    "/zones/x/y/..%2f..%2f..%2faccounts/another",
    "/user/..%2fips",
  ])("what is this service's own, or another account's, however it is spelled: %s", async (path) => {
    const world = scriptedApi();
    const answer = await askAs(world, "GET", path.slice(1), undefined, { account: "../../" });
    expect([answer.status, world.asked]).toEqual([404, []]);
  });

  it.each(["/%63lient/v4/zones", "/client/%764/zones", "/c%6cient/v4/accounts/another/x", "/client/v4/%75ser"])(
    "a path that is below the API's only once it is decoded: %s",
    async (path) => {
      const world = scriptedApi();
      const headers = { authorization: `Bearer ${BEARER}` };
      const vars = { ...env, UPSTREAM_API } as unknown as Env;
      const answer = await createApp(world).request(`http://logship.test${path}`, { headers }, vars);
      expect([answer.status, world.asked]).toEqual([404, []]);
    },
  );

  it("without a platform, with credentials of ours, with a pair, or with none", async () => {
    const world = scriptedApi();
    const { secret } = await token(["functions:edit"]);
    const { secret: key } = await member("Administrator");
    for (const authorization of [
      "",
      "Basic abc",
      `Bearer ${ADMIN_TOKEN}`,
      `Bearer ${secret}`,
      `Bearer ${key}`,
      `Bearer x${secret.toUpperCase()}`,
    ])
      expect(
        (await askAs(world, "GET", "/workers/services/shop", undefined, { headers: { authorization } })).status,
      ).toBe(404);
    const pair = { authorization: "", "x-auth-email": "a@example.com", "x-auth-key": "k" };
    expect((await askAs(world, "GET", "/workers/services/shop", undefined, { headers: pair })).status).toBe(404);
    const settings = { UPSTREAM_API: undefined };
    expect((await askAs(world, "GET", "/workers/services/shop", undefined, { settings })).status).toBe(404);
    expect((await askAs(world, "GET", "/user", undefined, { ...OUTSIDE, settings })).status).toBe(401);
    expect((await askAs(world, "OPTIONS", "/workers/services/shop")).status).toBe(404);
    const own = { settings: { UPSTREAM_API } };
    expect(
      (await send("http://logship.test/client/v4/user/tokens/verify", { method: "GET", body: undefined }, own)).status,
    ).toBe(200);
    expect((await call("GET", "/workers/services/shop", undefined, own)).status).toBe(404);
    expect(world.asked).toEqual([]);
  });

  it("a secret of ours in a path or a query", async () => {
    const { secret } = await token(["functions:edit"]);
    const world = scriptedApi();
    for (const path of [
      `/workers/services/${secret}`,
      `/workers/services/${encodeURIComponent(ADMIN_TOKEN)}/x`,
      `/queues?name=${secret}`,
      `/workers/scripts/${secret}`,
      `/workers/scripts/x${encodeURIComponent(ADMIN_TOKEN.toUpperCase())}/script-settings`,
    ]) {
      const answer = await askAs(world, "GET", path);
      expect([answer.status, answer.text.includes(secret), world.asked]).toEqual([400, false, []]);
    }
  });

  it.each(["/workers/../../../../evil", "/workers/%2e%2e/%2e%2e/x", "//evil.example/x", "/\\evil.example"])(
    "to another place than below the platform's base: %s",
    async (path) => {
      const world = scriptedApi(said({}));
      await askAs(world, "GET", path);
      for (const { url } of world.asked) expect(new URL(url).href.startsWith(`${UPSTREAM_API}/`)).toBe(true);
    },
  );
});
