/** Receivers of alerts beside the webhook, through the API and the watch. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { isRouted } from "../../../src/operate/alerts/routes.ts";
import { ACCOUNT } from "../../support/constants.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { call, send } from "../../web/api/harness.ts";
import { Visitor } from "../../web/dashboard/support.ts";
import { putWebhook, runWatchAlarm, theWatch } from "./receiver.ts";
import { begin, checkAt, clock, HOUR_MS, MINUTE_MS, of, pass, post, watchEach } from "./watching.ts";

watchEach();

const SLACK = "https://hooks.slack.com/services/T0/B0/secret-part";
const KEY = "0123456789abcdef0123456789abcdef";

interface Made {
  id: number;
  address: string;
  waiting: number;
  failures: number;
  delivered: number;
  last_answer: string | null;
  muted_until: string | null;
}

async function add(fields: object = {}): Promise<Made> {
  const body = { name: "chat", format: "slack", address: SLACK, ...fields };
  const answer = await call<Made>("POST", "/logship/alerts", body);
  expect([answer.status, answer.body.errors]).toEqual([201, []]);
  return answer.body.result;
}

const read = async (id: number): Promise<Made> => (await call<Made>("GET", `/logship/alerts/${id}`)).body.result;

/** Urls and, of a pager, what is asked of it. */
const said = (): string[] =>
  post.calls.map(({ url, raw }) => {
    const { event_action } = JSON.parse(raw) as { event_action?: string };
    return [new URL(url).hostname.split(".")[0], event_action].filter(Boolean).join(" ");
  });

describe("a receiver of alerts", () => {
  it("is told beside the webhook when an incident opens and when it is over, each in its format", async () => {
    await putWebhook();
    await add();
    await add({ name: "pager", format: "pagerduty", address: undefined, secret: KEY });
    const findings = await begin(1);
    await checkAt(5, findings);
    expect(said().toSorted()).toEqual(["events trigger", "hooks", "hooks"]);
    post.calls.length = 0;
    for (const minute of [10, 15, 20, 25, 30]) await checkAt(minute);
    expect(said().toSorted()).toEqual(["events resolve", "hooks", "hooks"]);
    expect(post.calls.every(({ redirect }) => redirect === "manual")).toBe(true);
  });

  it("that is a pager is called for each incident, by its id, where others get one message", async () => {
    await add();
    await add({ name: "pager", format: "pagerduty", address: undefined, secret: KEY });
    await add({ name: "genie", format: "opsgenie", address: undefined, secret: "key-of-opsgenie-1" });
    await begin(1, 2, 3);
    expect(said().toSorted()).toEqual([...Array(3).fill("api"), ...Array(3).fill("events trigger"), "hooks"]);
    const keys = post.calls.map(({ raw }) => (JSON.parse(raw) as { dedup_key?: string }).dedup_key);
    expect(new Set(keys.filter((each) => each !== undefined)).size).toBe(3);
    post.calls.length = 0;
    for (const minute of [5, 10, 15, 20]) await checkAt(minute);
    expect(said().toSorted()).toEqual([...Array(3).fill("api"), ...Array(3).fill("events resolve"), "hooks"]);
  });

  it("that hangs or fails holds up no other, is a finding by its name, and is told once it answers", async () => {
    const chat = await add();
    const pager = await add({ name: "pager", format: "pagerduty", address: undefined, secret: KEY });
    post.answers(({ url }) => (url === SLACK ? 503 : 202));
    const findings = await begin(1);
    expect(await read(pager.id)).toMatchObject({ delivered: 1, waiting: 0 });
    expect(await read(chat.id)).toMatchObject({ delivered: 0, waiting: 1, failures: 1, last_answer: "HTTP 503" });
    await pass(15 * MINUTE_MS, findings);
    const status = await call<{ findings: { kind: string; summary: string }[] }>("GET", "/logship/status");
    expect(status.body.result.findings.map(({ kind, summary }) => [kind, summary])).toContainEqual([
      "webhook_failing",
      'The address of the alert "chat" does not accept calls: HTTP 503. 1 call waiting.',
    ]);
    // The pager is told of it; the chat that fails is not.
    expect(await read(pager.id)).toMatchObject({ delivered: 2 });
    post.answers(200);
    await pass(HOUR_MS, findings);
    expect(await read(chat.id)).toMatchObject({ delivered: 1, waiting: 0, failures: 0 });
  });

  it("is told of errors only where it asks for that, and of nothing while it is muted or off", async () => {
    const until = new Date(NOON + HOUR_MS).toISOString();
    await add({ name: "errors", min_severity: "error" });
    const muted = await add({ name: "muted", address: `${SLACK}-muted`, muted_until: until });
    await add({ name: "off", address: `${SLACK}-off`, enabled: false });
    const findings = [of(1), of(2, { severity: "warning" })];
    await checkAt(0, findings);
    clock.advance(MINUTE_MS);
    await runWatchAlarm();
    expect(post.calls.map(({ url }) => url)).toEqual([SLACK]);
    // What is still open when the mute ends is told then.
    await pass(HOUR_MS + 10 * MINUTE_MS, findings);
    expect(post.calls.map(({ url }) => url)).toEqual([SLACK, `${SLACK}-muted`]);
    expect(post.calls[1]?.raw).toContain("And 1 more.");
    expect((await read(muted.id)).muted_until).toBe(until);
  });

  it("is told of its Workers and searches alone, also when these change; one without routes of everything", async () => {
    const worker = (name: string) => of(0, { subject: { type: "function", name } });
    const search = (id: number) => of(0, { subject: { type: "search", id, name: "refunds" } });
    const shop = await add({ routes: { workers: ["shop-*-eu", "till"], searches: [7] } });
    const all = await add({ name: "all", address: `${SLACK}-all` });
    expect(shop).toMatchObject({ routes: { workers: ["shop-*-eu", "till"], searches: [7] } });
    expect(all).toMatchObject({ routes: null });
    const findings = [
      ...[worker("shop-api-eu"), worker("shop-eu"), worker("till"), worker("tills"), worker("shop-api-eu-2")],
      ...[search(7), search(8), of(1), of(0, { kind: "ledger_silent", subject: { type: "account" } })],
    ];
    await checkAt(0, findings);
    await checkAt(1, findings);
    const told = (address: string): number => {
      const [{ raw } = { raw: "" }] = post.calls.filter(({ url }) => url === address).slice(-1);
      return 1 + Number(/And (\d+) more/.exec(raw)?.[1] ?? (raw === "" ? -1 : 0));
    };
    expect([told(SLACK), told(`${SLACK}-all`)]).toEqual([3, 9]);
    post.calls.length = 0;
    expect((await call("PUT", `/logship/alerts/${shop.id}`, { name: "same" })).body.result).toMatchObject({
      routes: { searches: [7] },
    });
    await call("PUT", `/logship/alerts/${shop.id}`, { routes: { workers: ["*"] } });
    await runWatchAlarm();
    expect(told(SLACK)).toBe(3);
    await call("PUT", `/logship/alerts/${shop.id}`, { routes: null });
    await runWatchAlarm();
    expect(told(SLACK)).toBe(3);
    for (const [routes, pointer] of [
      [{}, "/routes"],
      [{ workers: [] }, "/routes"],
      [{ workers: Array(51).fill("a") }, "/routes/workers"],
      [{ searches: [0] }, "/routes/searches/0"],
      [{ jobs: [1] }, "/routes"],
    ] as const) {
      const { status, body } = await call("PUT", `/logship/alerts/${shop.id}`, { routes });
      expect([status, body.errors[0]?.source?.pointer]).toEqual([400, expect.stringContaining(pointer)]);
    }
  });

  it.each([
    ["a*c", "abc", true],
    ["a*c", "ac", true],
    ["aba*ba", "aba", false],
    ["*b*b*", "abab", true],
    ["*b*b*", "ab", false],
    ["a", "ab", false],
    ["a.c", "abc", false],
    [`${"a*".repeat(100)}b`, "a".repeat(200), false],
  ])("of Workers like %s is%.0s told of %s: %s", (pattern, name, isTold) => {
    expect(isRouted({ workers: [pattern] }, of(0, { subject: { type: "function", name } }))).toBe(isTold);
  });

  it.each([
    ["functions_more", { workers: ["shop"] }, true],
    ["functions_more", { searches: [7] }, false],
    ["more_findings", { workers: ["shop"] }, true],
    ["more_findings", { searches: [7] }, true],
    ["ledger_silent", { workers: ["*"] }, false],
  ])("of an account's %s is, with routes %j, told: %s", (kind, routes, isTold) => {
    expect(isRouted(routes, of(0, { kind, subject: { type: "account" } }))).toBe(isTold);
  });

  it("is not told of a muted incident, also where it ends and begins again, until it is unmuted", async () => {
    await checkAt(0, [of(1)]);
    clock.advance(MINUTE_MS);
    await runWatchAlarm();
    const { body } = await call<{ id: string; muted_until: string | null }[]>("GET", "/logship/incidents");
    const id = body.result[0]?.id ?? "";
    const until = new Date(NOON + 5 * HOUR_MS).toISOString();
    expect((await call("PUT", `/logship/incidents/${id}/mute`, { until })).status).toBe(200);
    await add();
    await pass(10 * MINUTE_MS, [of(1)]);
    await pass(30 * MINUTE_MS, []);
    await pass(10 * MINUTE_MS, [of(1)]);
    expect(post.calls).toEqual([]);
    const again = await call<{ id: string; state: string; muted_until: string | null }[]>("GET", "/logship/incidents");
    const [open] = again.body.result;
    expect(open).toMatchObject({ state: "open", muted_until: until, muted_by: "Admin token" });
    expect((await call("DELETE", `/logship/incidents/${open?.id}/mute`)).status).toBe(200);
    const audit = await call<{ action: string; resource: string; body: unknown; actor: object }[]>(
      "GET",
      "/logship/audit",
    );
    const who = { kind: "admin", name: "Admin token" };
    expect(audit.body.result.filter(({ action }) => action.startsWith("incident."))).toMatchObject([
      { action: "incident.unmute", resource: open?.id, actor: who },
      { action: "incident.mute", resource: id, body: { until }, actor: who },
    ]);
    await pass(MINUTE_MS, [of(1)]);
    expect(post.calls.map(({ url }) => url)).toEqual([SLACK]);
    expect((await call("PUT", "/logship/incidents/inc_none/mute", { until })).status).toBe(404);
  });

  it("is told anew after a move, keeps its masked address, and frees its place, but not its id", async () => {
    const { id, address } = await add();
    expect(address).toBe("https://hooks.slack.com/****");
    await begin(1);
    expect(post.calls).toHaveLength(1);
    expect((await call("PUT", `/logship/alerts/${id}`, { name: "room", address })).status).toBe(200);
    await runWatchAlarm();
    expect(post.calls).toHaveLength(1);
    expect((await call("PUT", `/logship/alerts/${id}`, { address: `${SLACK}-2` })).status).toBe(200);
    await runWatchAlarm();
    expect(post.calls.map(({ url }) => url)).toEqual([SLACK, `${SLACK}-2`]);
    expect((await call("DELETE", `/logship/alerts/${id}`)).status).toBe(200);
    expect((await call("GET", `/logship/alerts/${id}`)).status).toBe(404);
    expect((await add()).id).toBe(id + 1);
    await runWatchAlarm();
    expect(post.calls).toHaveLength(3);
  });

  it("takes a test, a pager's with its end, and says what was answered", async () => {
    const { id } = await add({ name: "pager", format: "pagerduty", address: undefined, secret: KEY });
    expect((await call("POST", `/logship/alerts/${id}/test`)).body.result).toMatchObject({
      delivered: true,
      status: 204,
    });
    expect(said()).toEqual(["events trigger", "events resolve"]);
    clock.advance(10_000);
    post.answers(400);
    expect((await call("POST", `/logship/alerts/${id}/test`)).body.result).toMatchObject({
      delivered: false,
      message: "HTTP 400",
      advice: "Check that this address accepts the format.",
    });
    expect(await read(id)).toMatchObject({ last_test: "HTTP 400", last_answer: null });
  });

  it.each([
    ["slack", 404, "no_service", "HTTP 404: no_service", "Nothing is at that address"],
    ["slack", 404, "<!channel> no_service", "HTTP 404", "Nothing is at that address"],
    ["slack", 429, "", "HTTP 429", "fewer calls"],
    [
      "discord",
      401,
      '{"message": "Invalid Webhook Token", "code": 50027}',
      "HTTP 401: Invalid Webhook Token",
      "revoked",
    ],
    ["discord", 400, '{"message": "<b>no</b>"}', "HTTP 400", "format"],
    ["discord", 400, '{"message": "key 0123456789abcdef0123"}', "HTTP 400", "format"],
    ["discord", 500, "[".repeat(5_000), "HTTP 500", "is up"],
  ])(
    "of %s says what to do about %i, and no other text of the receiver",
    async (format, status, text, words, advice) => {
      const { id } = await add({ format, address: "https://chat.example.com/hook" });
      post.answers(() => new Response(text, { status }));
      const { body } = await call<{ message: string; advice: string }>("POST", `/logship/alerts/${id}/test`);
      expect(body.result.message).toBe(words);
      expect(body.result.advice).toContain(advice);
    },
  );

  it("is tested every five seconds at most, whatever other receivers are", async () => {
    const [a, b] = [await add(), await add()];
    const test = (id: number) => call("POST", `/logship/alerts/${id}/test`);
    expect([(await test(a.id)).status, (await test(b.id)).status]).toEqual([200, 200]);
    const soon = await test(a.id);
    expect([soon.status, soon.body.errors[0]?.message]).toEqual([429, "Wait 5 s, then test again."]);
    clock.advance(5_000);
    expect((await test(a.id)).status).toBe(200);
  });

  it("that fails has an incident of its own, which the other receivers are told of", async () => {
    const [a, b, c] = [await add({ name: "a" }), await add({ name: "b" }), await add({ name: "c" })];
    const status = async () =>
      (
        await call<{ findings: { kind: string; receiver?: object; incident: string }[] }>("GET", "/logship/status")
      ).body.result.findings.filter(({ kind }) => kind === "webhook_failing");
    let failing = [a, b].map(({ id }) => id);
    // Each sends to an address of its own.
    for (const { id } of [a, b, c]) await call("PUT", `/logship/alerts/${id}`, { address: `${SLACK}-${id}` });
    post.answers(({ url }) => (failing.some((id) => url === `${SLACK}-${id}`) ? 503 : 200));
    const findings = await begin(1);
    await pass(20 * MINUTE_MS, findings);
    const both = await status();
    expect(both.map(({ receiver }) => receiver)).toEqual([
      { id: a.id, name: "a" },
      { id: b.id, name: "b" },
    ]);
    // The job, and in one message both that fail.
    expect(await read(c.id)).toMatchObject({ delivered: 2 });
    failing = [b.id];
    await pass(2 * HOUR_MS, findings);
    const [left, ...none] = await status();
    expect([left?.receiver, left?.incident, none]).toEqual([{ id: b.id, name: "b" }, both[1]?.incident, []]);
    // a was told of the job and of b, not of itself, nor that its own incident is over.
    const toA = post.calls.filter(({ url, raw }) => url === `${SLACK}-${a.id}` && raw.includes("alert"));
    expect(toA.every(({ raw }) => !raw.includes('alert \\"a\\"'))).toBe(true);
    expect(await read(a.id)).toMatchObject({ delivered: 2, failures: 0 });
  });

  it.each([
    ["https://logs.example.com", "https://logs.example.com"],
    ["http://localhost:8787", "http://localhost:8787"],
    // What Workers call each other.
    ["https://logship", null],
    // By the API alone.
    [null, null],
  ])("that was saved on the dashboard at %s gets links there, the same on each try", async (origin, expected) => {
    const chat = await add();
    await putWebhook({ url: `${SLACK}-hook` });
    if (origin !== null) {
      const settings = { ALLOW_LOOPBACK_DESTINATIONS: "true" };
      const visitor = await Visitor.signedIn(undefined, { origin, settings });
      for (const at of [`alerts/${chat.id}`, "webhook"]) {
        const shown = { address: "https://hooks.slack.com/****", url: "https://hooks.slack.com/****" };
        await visitor.submit(at === "webhook" ? "/alerts/webhook" : `/${at}`, {
          name: "chat",
          ...shown,
          enabled: "on",
        });
      }
    }
    post.answers(503);
    await begin(1);
    // A save by the API keeps what is known, and changes no call that was made, whatever the host:
    // a Worker with a service binding calls with one of its choice.
    const at = `https://elsewhere.example/client/v4/accounts/${ACCOUNT}/logship`;
    await send(`${at}/alerts/${chat.id}`, { method: "PUT", body: { name: "room" } });
    await send(`${at}/webhook`, { method: "PUT", body: { enabled: true } });
    post.calls.length = 0;
    for (const each of [`alerts/${chat.id}`, "webhook"]) await send(`${at}/${each}/test`, { method: "POST" });
    for (const { raw } of post.calls.splice(0)) expect(raw).not.toContain("elsewhere.example");
    post.answers(200);
    await pass(HOUR_MS, [of(1)]);
    const texts = [...new Set(post.calls.map(({ raw }) => raw))];
    expect(texts).toHaveLength(2);
    const [url, link] =
      expected === null ? [undefined, '"header"'] : [`${expected}/jobs/1`, `${expected}/jobs/1|Error: `];
    expect(texts.some((text) => text.includes(link))).toBe(true);
    expect(post.calls.find(({ id }) => id !== "")?.body.data.url).toBe(url);
    expect(await read(chat.id)).toMatchObject({ delivered: 1 });
    // So do later calls.
    post.calls.length = 0;
    await pass(10 * MINUTE_MS, [of(1), of(2)]);
    const later = post.calls.map(({ raw }) => raw.includes(`${expected}/jobs/2`));
    expect(later).toEqual([expected !== null, expected !== null]);
  });

  it.each([
    ["slack", "https://discord.com/api/webhooks/1/x", "Discord"],
    ["slack", "https://discord.com/api/webhooks/1/x/slack", null],
    ["slack", "https://hooks.slack.com/", "https://hooks.slack.com/services/"],
    ["slack", SLACK, null],
    ["discord", SLACK, "Slack"],
    ["discord", "https://discord.com/channels/1/2", "https://discord.com/api/webhooks/"],
    ["discord", "https://chat.example.com/x", null],
  ])("in %s at %s is taken, with a note where that looks wrong", async (format, address, words) => {
    const made = await call("POST", "/logship/alerts", { name: "x", format, address });
    expect(made.status).toBe(201);
    const { messages } = made.body as { messages?: { message: string }[] };
    if (words === null) expect(messages).toEqual([]);
    else expect(messages?.map(({ message }) => message).join()).toContain(words);
  });

  it("and an incident are muted until later than now, and what is over may be sent back", async () => {
    const until = new Date(NOON + HOUR_MS).toISOString();
    const { id } = await add({ muted_until: until });
    clock.advance(2 * HOUR_MS);
    expect((await call("PUT", `/logship/alerts/${id}`, { muted_until: until })).status).toBe(200);
    const past = { muted_until: new Date(NOON).toISOString() };
    expect((await call("PUT", `/logship/alerts/${id}`, past)).status).toBe(400);
    await begin(1);
    const { body } = await call<{ id: string }[]>("GET", "/logship/incidents");
    const mute = await call("PUT", `/logship/incidents/${body.result[0]?.id}/mute`, { until });
    expect([mute.status, mute.body.errors[0]?.source?.pointer]).toEqual([400, "/until"]);
  });

  it.each([
    [{ format: "slack", address: undefined }, "/address", "is missing"],
    [{ address: "http://hooks.slack.com/x" }, "/address", "https"],
    [{ address: "https://metadata.google.internal/x" }, "/address", ""],
    [{ format: "pagerduty", address: undefined }, "/secret", "32 letters and digits"],
    [{ secret: "x" }, "/secret", "takes none"],
    [{ format: "email", address: "a@example.com" }, "/address", '"send_email"'],
  ])("is refused: %j", async (fields, pointer, words) => {
    const { status, body } = await call("POST", "/logship/alerts", {
      name: "x",
      format: "slack",
      address: SLACK,
      ...fields,
    });
    expect(status).toBe(400);
    expect(body.errors.map(({ source }) => source?.pointer)).toEqual([pointer]);
    expect(body.errors[0]?.message).toContain(words);
    expect(JSON.stringify(body)).not.toContain("secret-part");
  });

  it("is one of ten at most", async () => {
    for (let i = 0; i < 10; i++) await add({ name: `${i}` });
    const eleventh = { name: "x", format: "slack", address: SLACK };
    expect((await call("POST", "/logship/alerts", eleventh)).status).toBe(409);
    for (let id = 2; id <= 11; id++) expect((await call("DELETE", `/logship/alerts/${id}`)).status).toBe(200);
    for (let id = 12; id <= 21; id++) expect((await add()).id).toBe(id);
    // Each has a place of its own: each is told, once.
    const findings = await begin(1);
    await pass(10 * MINUTE_MS, findings);
    expect(post.calls).toHaveLength(10);
  });

  it("writes an e-mail by the Worker's binding, and says so where that refuses", async () => {
    const mails: object[] = [];
    const send = vi.fn(async (mail: object) => void mails.push(mail));
    Object.assign(env, { ALERT_EMAIL: { send }, ALERT_EMAIL_FROM: "logship@example.com" });
    try {
      const { id, address } = await add({ format: "email", address: "on-call@example.com" });
      expect(address).toBe("on-call@example.com");
      expect((await call("POST", `/logship/alerts/${id}/test`)).body.result).toMatchObject({ delivered: true });
      expect(mails).toEqual([
        {
          from: "logship@example.com",
          to: "on-call@example.com",
          subject: "logship: Test: nothing is wrong",
          text: "Test: nothing is wrong\n\nAlerts from logship look like this.\n",
        },
      ]);
      send.mockRejectedValue(new Error("on-call@example.com is not verified"));
      clock.advance(10_000);
      expect((await call("POST", `/logship/alerts/${id}/test`)).body.result).toMatchObject({
        delivered: false,
        message: "the e-mail was not accepted",
      });
      const bad = { name: "x", format: "email", address: "a@b.example\r\nBcc: c@d.example" };
      expect((await call("POST", "/logship/alerts", bad)).status).toBe(400);
    } finally {
      Object.assign(env, { ALERT_EMAIL: undefined, ALERT_EMAIL_FROM: undefined });
    }
  });

  it("keeps address and key sealed", async () => {
    await add({ format: "opsgenie", address: undefined, secret: "key-of-opsgenie-1" });
    const rows = await runInDurableObject(theWatch(), (_watch, { storage }) =>
      JSON.stringify(storage.sql.exec("SELECT * FROM receiver").toArray()),
    );
    expect(rows).not.toContain("key-of-opsgenie-1");
    expect(rows).toContain("https://api.opsgenie.com/****");
  });
});
