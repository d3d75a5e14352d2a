/** The webhook over HTTP: what each caller sees, and what is refused. */
import { runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { tellAtOnce } from "../../operate/alerts/fresh.ts";
import {
  expectSigned,
  putWebhook,
  type Receiver,
  readWebhook,
  receiver,
  runWatchAlarm,
  sees,
  theWatch,
  URL_OF_RECEIVER,
  type Webhook,
} from "../../operate/alerts/receiver.ts";
import { finding } from "../../operate/status/findings.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { type CallOptions, call, errorsOf, expectRefused } from "./harness.ts";
import { token } from "./principals.ts";

const PATH = "/logship/webhook";
/** As deployed. */
const PUBLIC_ONLY = { ALLOW_LOOPBACK_DESTINATIONS: "false", OBJSTORE_ENDPOINT: "" };
const OTHER_KEY = btoa("another key of thirty-two bytes!");

let clock: ReturnType<typeof setClock>;
let post: Receiver;

tellAtOnce();
beforeEach(() => {
  clock = setClock(NOON);
  post = receiver();
});

const put = (body: unknown, options: CallOptions = {}) => call<Webhook>("PUT", PATH, body, { platform, ...options });
const test = (options: CallOptions = {}) =>
  call<{ id: string; delivered: boolean; status: number | null; message: string }>("POST", `${PATH}/test`, undefined, {
    platform,
    ...options,
  });

describe("a webhook", () => {
  it("that there is not is null to read, and 404 to delete or test", async () => {
    expect((await call("GET", PATH)).body.result).toBeNull();
    for (const answer of [await call("DELETE", PATH), await test()])
      expectRefused(answer, 404, [7003, undefined, "there is no webhook"]);
  });

  it("shows its secret once, and never its address", async () => {
    const made = await put({ url: URL_OF_RECEIVER });
    expect(made.status).toBe(200);
    const { secret, ...shown } = made.body.result;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toMatchObject({ url: "https://hooks.example.com/****", enabled: true, waiting: 0 });
    expect(await readWebhook()).toEqual(shown);
    const again = await put({ enabled: false });
    expect(again.body.result).toEqual({ ...shown, enabled: false });
  });

  it("stays what it was where nothing else is said, and gets another secret with another address", async () => {
    const secret = await putWebhook();
    for (const body of [{}, { url: "https://hooks.example.com/****" }, { enabled: true }, { rotate: false }])
      expect((await put(body)).body.result).not.toHaveProperty("secret");
    await test();
    const { secret: other = "" } = (await put({ url: "https://other.example.com/x" })).body.result;
    expect(other).not.toBe(secret);
    clock.advance(5_000);
    await test();
    expect(post.calls.map(({ url }) => url)).toEqual([URL_OF_RECEIVER, "https://other.example.com/x"]);
    await expectSigned(post.calls.slice(0, 1), secret);
    await expectSigned(post.calls.slice(1), other);
  });

  it("is gone when it is deleted, with what waits", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const first = await putWebhook();
    const eyes = sees();
    eyes.now([finding()]);
    post.answers(500);
    await theWatch().check();
    clock.advance(60_000);
    await runWatchAlarm();
    expect((await call("DELETE", PATH)).body.result).toEqual({ waiting: 1 });
    expect((await call("GET", PATH)).body.result).toBeNull();
    expect(await putWebhook()).not.toBe(first);
    expect(await readWebhook()).toMatchObject({ delivered: 0, failures: 0, waiting: 1 });
  });

  it("that others change at the same time is changed by one after the other", async () => {
    await putWebhook();
    const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => put({ url: `https://h${i}.example.com/` })));
    for (const { status } of answers) expect([200, 409]).toContain(status);
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect((await readWebhook()).url).toMatch(/^https:\/\/h\d\.example\.com\/\*\*\*\*$/);
  });

  it("whose key is lost says so, and takes a new address", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    await putWebhook();
    const settings = { SECRETS_KEY: OTHER_KEY };
    expect((await call("GET", PATH, undefined, { settings })).status).toBe(200);
    expect([(await put({ enabled: true }, { settings })).status, (await test({ settings })).status]).toEqual([
      400, 503,
    ]);
    const again = await put({ url: URL_OF_RECEIVER }, { settings });
    expect(again.body.result.secret).toMatch(/^whsec_/);
    // With only the previous key, it is the other way round: calls wait, with the reason.
    sees().now([finding()]);
    await theWatch().check();
    clock.advance(60_000);
    await runWatchAlarm();
    expect([post.calls, await readWebhook()]).toMatchObject([
      [],
      { waiting: 1, failures: 1, last_answer: "the stored webhook cannot be decrypted" },
    ]);
  });
});

describe("what is refused", () => {
  const ASCII = "url: must be ASCII without spaces and backslashes";
  it.each<[string, unknown, string]>([
    ["no address", {}, "url: is missing"],
    ["http", { url: "http://hooks.example.com/" }, "url: must use https"],
    ...["%0A", "%20", "%E2%80%8B", "%C2%A0", "?key=a%0D%0A", "?key=a%20", "?key=a%00b"].map(
      (end): [string, unknown, string] => [
        `what cannot be seen, ${end}`,
        { url: `https://hooks.example.com/in${end}` },
        "url: must not have blanks, line breaks or invisible characters",
      ],
    ),
    ["another scheme", { url: "ftp://hooks.example.com/" }, "url: must begin with https://"],
    ["a host alone", { url: "hooks.example.com" }, "url: must begin with https://"],
    ["user info", { url: "https://user:hunter2@hooks.example.com/" }, "url: must not contain user information"],
    ["a fragment behind a query", { url: "https://hooks.example.com/?a#x" }, "url: must not contain a fragment"],
    ["a mask", { url: "https://hooks.example.com/****" }, "url: is masked but not as it was shown; send it in full"],
    ["a line", { url: "https://hooks.example.com/\r\nHost: x" }, ASCII],
    ["a backslash", { url: "https://hooks.example.com\\@evil" }, ASCII],
    ["a name in another script", { url: "https://hööks.example/" }, ASCII],
    ["no host", { url: "https://?x" }, "url: must be a host or an https:// URL"],
    ["too much", { url: `https://h.example/${"x".repeat(2_048)}` }, "url: must have at most 2048 characters"],
    ["null", { url: null }, "url: Invalid input: expected string, received null"],
    ["a secret of one's own", { url: URL_OF_RECEIVER, secret: "whsec_AAAA" }, 'unknown key "secret"'],
    ["an inner address", { url: "https://169.254.169.254/x" }, "url: must be a public host"],
    ["an inner name", { url: "https://METADATA.google.internal./x" }, "url: must be a public host"],
  ])("is %s", async (_what, body, message) => {
    const answer = await put(body, { settings: PUBLIC_ONLY });
    expect([answer.status, errorsOf(answer).map(([code, , words]) => [code, words])]).toEqual([400, [[1001, message]]]);
    expect((await call("GET", PATH)).body.result).toBeNull();
  });

  it("is http but to this machine, where that is allowed", async () => {
    expect((await put({ url: "http://127.0.0.1:9/x" })).status).toBe(200);
    expect((await put({ url: "http://hooks.example.com/x" })).status).toBe(400);
    expect((await put({ url: "http://127.0.0.1:9/y" }, { settings: PUBLIC_ONLY })).status).toBe(400);
  });

  it("is a mask of another host", async () => {
    await putWebhook();
    const answer = await put({ url: "https://evil.example.com/****" });
    expect([answer.status, errorsOf(answer)[0]?.[1]]).toEqual([400, "/url"]);
    await test();
    expect(post.calls[0]?.url).toBe(URL_OF_RECEIVER);
  });
});

describe("a test of it", () => {
  it.each([
    [204, true, 204, "HTTP 204", null],
    [302, false, 302, "HTTP 302: redirects are not followed", "Enter the address that it redirects to."],
    [410, false, 410, "HTTP 410", "The address no longer exists there: enter another one."],
    [500, false, 500, "HTTP 500", "Check that the service at this address is up."],
    ["refuses", false, null, "connection failed", "Check that the service at this address is up."],
  ] as const)(
    "that is answered %s says so, and changes nothing else",
    async (answer, delivered, status, message, advice) => {
      const secret = await putWebhook({ url: URL_OF_RECEIVER, enabled: false });
      const before = await readWebhook();
      post.answers(answer);
      const { body } = await test();
      expect(body.result).toEqual({
        id: expect.stringMatching(/^test_[0-9a-f]{32}$/),
        delivered,
        status,
        message,
        advice,
      });
      expect(post.calls).toMatchObject([{ id: body.result.id, redirect: "manual", body: { type: "webhook.test" } }]);
      await expectSigned(post.calls, secret);
      expect(await readWebhook()).toEqual({ ...before, last_test: message, last_test_at: expect.any(String) });
    },
  );

  it("is not made again at once", async () => {
    await putWebhook();
    expect((await test()).status).toBe(200);
    const soon = await test();
    expect([soon.status, soon.headers.get("retry-after")]).toEqual([429, "5"]);
    clock.advance(5_000);
    expect((await test()).status).toBe(200);
    expect(post.calls).toHaveLength(2);
  });
});

describe("what is secret of it", () => {
  const LEVELS = ["debug", "log", "info", "warn", "error"] as const;

  it("is in no line, no answer but the first, no audit, and not on the disk", async () => {
    const spies: MockInstance[] = LEVELS.map((level) => vi.spyOn(console, level).mockImplementation(() => {}));
    const { headers } = await token(["logs:edit"]);
    const made = await put({ url: URL_OF_RECEIVER }, { headers });
    const rotated = await put({ rotate: true, url: URL_OF_RECEIVER }, { headers });
    const secrets = [made.body.result.secret ?? "", rotated.body.result.secret ?? ""].map((secret) => secret.slice(6));
    expect(new Set(secrets).size).toBe(2);
    const eyes = sees();
    eyes.now([finding()]);
    const echo = new Response(`${URL_OF_RECEIVER} ${secrets[0]}`, {
      status: 302,
      statusText: "hush",
      headers: { location: URL_OF_RECEIVER },
    });
    const texts: unknown[] = [];
    for (const answer of ["refuses", echo, 500] as const) {
      post.answers(answer);
      clock.advance(60_000);
      await theWatch().check();
      texts.push((await test({ headers })).body, await readWebhook(), await theWatch().snapshot());
    }
    expect(post.calls.length).toBeGreaterThan(4);
    texts.push((await call("GET", "/logship/audit")).body);
    for (const body of [{ url: `${URL_OF_RECEIVER}#` }, { url: `x${URL_OF_RECEIVER}` }, `{"url":"${URL_OF_RECEIVER}`])
      texts.push((await put(body, { headers })).body);
    const disk = await runInDurableObject(theWatch(), (_watch, { storage: { sql } }) =>
      ["receiver", "call", "incident"].map((table) => sql.exec(`SELECT * FROM ${table}`).toArray()),
    );
    const written = JSON.stringify(spies.map(({ mock }) => mock.calls));
    expect(written).toContain("a call of an alert failed");
    const audit = JSON.stringify(texts);
    expect(audit).toContain('"action":"webhook.update"');
    expect(audit).toContain('{"url":"https://hooks.example.com/****"}');
    for (const secret of [...secrets, "T0000", "webhook-part", "query-part"])
      for (const text of [written, audit, JSON.stringify(disk)]) expect(text).not.toContain(secret);
  });
});
