/** The pages of alerts and the webhook. */
import { beforeEach, describe, expect, it } from "vitest";
import { lookAnew } from "../../operate/alerts/fresh.ts";
import { putWebhook, readWebhook, URL_OF_RECEIVER } from "../../operate/alerts/receiver.ts";
import { begin, clock, post, watchEach } from "../../operate/alerts/watching.ts";
import { call } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { IMAGE, OBEYED, SCRIPT } from "./hostile.ts";
import { textOf, Visitor } from "./support.ts";

lookAnew();

watchEach();

let admin: Visitor;
beforeEach(async () => {
  admin = await Visitor.signedIn();
});

const textAt = async (path: string, who = admin): Promise<string> => textOf((await who.get(path)).html);

const AT = "/alerts";

describe("the webhook", () => {
  const at = "/alerts/webhook";

  it("is set, its secret shown once, and its address masked from then on", async () => {
    expect(await textAt(AT)).toContain("No alerts configured");
    expect(await textAt(at)).toContain("Set up a webhook");
    const answer = await admin.submit(at, { url: ` ${URL_OF_RECEIVER} `, enabled: "true" });
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const secret = /whsec_[\w+/=]+/.exec(answer.html)?.[0] ?? "";
    expect(secret.length).toBeGreaterThan(30);
    for (const path of [AT, at, `${at}/delete`, "/access/audit"]) {
      const { html } = await admin.get(path);
      for (const hidden of [secret, "webhook-part", "query-part"]) expect(html).not.toContain(hidden);
      if (path !== "/access/audit") expect(html).toContain("https://hooks.example.com/****");
    }
  });

  it("keeps its address where it is sent back masked, and gets a new secret when asked", async () => {
    const secret = await putWebhook();
    const off = await admin.submit(at, { url: "https://hooks.example.com/****" });
    expect([off.status, off.location]).toEqual([303, `${at}?saved`]);
    expect(await readWebhook()).toMatchObject({ enabled: false });
    expect(await textAt(`${at}?saved`)).toContain("State ○ off");
    expect(await textAt(at)).toContain("Create a new secret Shown once.");
    const rotated = await admin.submit(at, { url: "https://hooks.example.com/****", enabled: "true", rotate: "true" });
    const fresh = /whsec_[\w+/=]+/.exec(rotated.html)?.[0];
    expect([rotated.status, fresh === secret, fresh === undefined]).toEqual([200, false, false]);
    await admin.submit(`${at}/test`);
    expect(post.calls.map(({ url }) => url)).toEqual([URL_OF_RECEIVER]);
  });

  it.each([
    "",
    "http://hooks.example.com/x",
    "https://wiki.intranet/x",
    "https://10.0.0.1/",
    IMAGE,
    `https://x.test/${"y".repeat(9_000)}`,
  ])("is refused with the address %j, beside its field", async (url) => {
    const answer = await admin.submit(at, { url, enabled: "true" });
    expect([answer.status, OBEYED.exec(answer.html)]).toEqual([400, null]);
    expect(answer.html).toMatch(/id="field-url-error"/);
    // The path of an address may be secret: no page shows it again.
    expect(url !== "" && answer.html.includes(`value="${url}`)).toBe(false);
    expect(answer.html.includes("Enter the address again")).toBe(url !== "");
    expect(await readWebhook()).toBeNull();
  });

  it("is tested, and says what the receiver answered", async () => {
    await putWebhook();
    const taken = await admin.submit(`${at}/test`);
    expect([taken.status, textOf(taken.html)]).toEqual([200, expect.stringContaining("Test call accepted")]);
    const soon = await admin.submit(`${at}/test`);
    expect([soon.status, textOf(soon.html)]).toEqual([429, expect.stringContaining("Wait 5 s, then test again.")]);
    expect(soon.headers.get("retry-after")).not.toBeNull();
    clock.advance(60_000);
    post.answers(500);
    const failed = await admin.submit(`${at}/test`);
    expect([failed.status, textOf(failed.html)]).toEqual([200, expect.stringContaining("Test call not accepted")]);
    expect(textOf(failed.html)).toContain("HTTP 500");
  });

  it("says since when it fails", async () => {
    await putWebhook();
    post.answers(503);
    await begin(1);
    expect(await textAt(AT)).toContain("▲ failing: 1 failure in a row");
    expect(await textAt("/alerts/webhook")).toContain("1 failure in a row, since 2100-11-20 12:01:00 UTC");
    expect(await textAt(AT)).toContain("HTTP 503");
  });

  it("is deleted after a page that says what that means; where there is none, that is a 404", async () => {
    await putWebhook();
    expect(await textAt(`${at}/delete`)).toContain("the secret is deleted");
    expect((await admin.submit(`${at}/delete`)).location).toBe("/alerts?deleted");
    expect(await readWebhook()).toBeNull();
    expect([(await admin.get(`${at}/delete`)).status, (await admin.submit(`${at}/delete`)).status]).toEqual([404, 404]);
    expect((await admin.submit(`${at}/test`)).status).toBe(404);
  });
});

describe("the alerts", () => {
  const SLACK = "https://hooks.slack.com/services/T0/B0/secret-part";

  it("are added by a form of the kind's own fields, tested, muted, changed and deleted", async () => {
    expect(await textAt(AT)).toContain("No alerts configured");
    expect((await admin.get(`${AT}?format=pagerduty`)).html).toContain("Integration key");
    expect((await admin.get(`${AT}?format=slack`)).html).not.toContain('name="secret"');
    const wrong = await admin.submit(AT, { format: "slack", name: "on call", address: "http://x.example/secret-part" });
    expect([wrong.status, wrong.html.includes("secret-part"), wrong.html.includes('value="on call"')]).toEqual([
      400,
      false,
      true,
    ]);
    const made = await admin.submit(AT, { format: "slack", name: "on call", address: SLACK, errors_only: "true" });
    expect([made.status, made.location]).toEqual([303, `${AT}/2?added`]);
    // Adding tests it.
    expect(post.calls.map(({ url, raw }) => [url, raw.includes("https://logship.test/status|Test")])).toEqual([
      [SLACK, true],
    ]);
    const { html } = await admin.get(`${AT}/2?added`);
    expect(html).not.toContain("secret-part");
    expect(textOf(html)).toMatch(/Added .*Test accepted .*Answer: HTTP 204/);
    post.calls.length = 0;
    clock.advance(5_000);
    const tested = await admin.submit(`${AT}/2/test`);
    expect(textOf(tested.html)).toContain("Test accepted");
    expect(post.calls.map(({ url }) => url)).toEqual([SLACK]);
    expect((await admin.submit(`${AT}/2/mute`, { hours: "8" })).status).toBe(303);
    expect(await textAt(`${AT}/2?muted`)).toContain("Muted until 20:00 UTC");
    expect(await textAt(AT)).toMatch(/on call Slack .* everything ?, errors only .* muted for 8 h more/);
    expect(await textAt(`${AT}/2`)).toMatch(/State .{0,4}muted for 8 h more/);
    expect((await admin.submit(`${AT}/2`, { name: "room", address: "https://hooks.slack.com/****" })).status).toBe(303);
    expect(await textAt(`${AT}/2`)).toContain("room");
    expect(await textAt(`${AT}/2/delete`)).toContain("No more alerts go to room");
    expect((await admin.submit(`${AT}/2/delete`)).location).toBe(`${AT}?deleted`);
    expect(await textAt(`${AT}?deleted`)).toContain("Deleted");
    expect((await admin.get(`${AT}/2`)).status).toBe(404);
  });

  it("are about some Workers and searches, as the form says, which the list shows", async () => {
    const fields = { format: "slack", name: "shop", address: SLACK };
    const wrong = await admin.submit(AT, { ...fields, routes: "shop-*, search 0" });
    expect([wrong.status, wrong.html.includes('value="shop-*, search 0"')]).toEqual([400, true]);
    expect((await admin.submit(AT, { ...fields, routes: " shop-*,,till , search 7" })).status).toBe(303);
    const text = await textAt(AT);
    expect(text).toContain("only shop-*, till, search 7");
    expect(text).toContain("Problems of jobs and the account are sent nowhere");
    expect(text).toContain("Delivery, and the account after a minute no one");
    expect((await admin.get(`${AT}/2`)).html).toContain('value="shop-*, till, search 7"');
    const same = { name: "shop", address: "https://hooks.slack.com/****", enabled: "on" };
    await admin.submit(`${AT}/2`, { ...same, routes: "" });
    expect(await textAt(AT)).not.toMatch(/only shop|no one|sent nowhere/);
    await admin.submit(`${AT}/2`, { ...same, routes: "", errors_only: "on" });
    expect(await textAt(AT)).toContain("Warnings about jobs and the account are sent nowhere");
    await admin.submit(`${AT}/2`, { name: "shop", address: "https://hooks.slack.com/****", routes: "" });
    expect(await textAt(AT)).toContain("Problems of jobs and the account are sent nowhere");
  });

  it("say why a test was refused and what to do, also later in the list", async () => {
    post.answers(() => new Response("no_service", { status: 404 }));
    await admin.submit(AT, { format: "slack", name: "on call", address: SLACK });
    const said = "Test not accepted Answer: HTTP 404: no_service . Nothing is at that address: enter another one.";
    expect((await textAt(`${AT}/2?added`)).replace(/\s+/g, " ")).toContain(said);
    expect(await textAt(AT)).toMatch(/Last test: HTTP 404: no_service/);
  });

  it("ask whether an address is right that does not look so, and name fields as the form does", async () => {
    const discord = "https://discord.com/api/webhooks/1/x";
    const made = await admin.submit(AT, { format: "slack", name: "a", address: discord });
    expect(made.location).toBe(`${AT}/2?added&note=discord`);
    expect(await textAt(made.location ?? "")).toContain("This address belongs to Discord");
    expect(await textAt(`${AT}/2?note=<b>`)).not.toContain("Is this the right address?");
    const secret = "0123456789abcdef0123456789abcde";
    const { html } = await admin.submit(AT, { format: "pagerduty", name: "a", secret });
    expect(textOf(html)).toMatch(
      /[^:] must be 32 letters and digits, of an Events API v2 integration; you sent 31 characters/,
    );
    expect(textOf(html)).not.toContain("secret:");
  });

  it("name what is reported, past which threshold, and who is told of it", async () => {
    const save = (name: string) =>
      call<{ id: number }>("POST", "/logship/searches", {
        name,
        query: "is:failed",
        alert: { threshold: 7, over: "5m" },
      });
    const { id } = (await save(SCRIPT)).body.result;
    await admin.submit(AT, { format: "slack", name: "room", address: SLACK, routes: `shop-*, search ${id}` });
    await admin.submit(AT, { format: "slack", name: "pager", address: SLACK, routes: "search 99" });
    await admin.submit(AT, { format: "slack", name: "night", address: SLACK, errors_only: "true" });
    const { html } = await admin.get(AT);
    expect(html).not.toMatch(OBEYED);
    const text = textOf(html);
    expect(text).toMatch(/Workers that fail 5.0 % of requests fail, and 20 at least room, night/);
    expect(text).toMatch(/at least 7 records in 5 min room, night \(errors only\) Add/);
  });

  it("are seen by who may only read, who can change and test nothing", async () => {
    await admin.submit(AT, { format: "slack", name: "on call", address: SLACK });
    const reader = await Visitor.signedIn({ token: (await token(["logs:read"])).secret });
    for (const path of [AT, `${AT}/2`, `${AT}/webhook`]) {
      const { status, html } = await reader.get(path);
      expect([status, html.includes("secret-part"), />(?:Save|Add and test|Set up)<\/button>/.exec(html)]).toEqual([
        200,
        false,
        null,
      ]);
      if (path !== `${AT}/webhook`) expect(textOf(html)).toMatch(/on call .*needs the permission logs:edit/);
    }
    for (const path of [`${AT}/2`, `${AT}/2/test`, `${AT}/2/mute`])
      expect((await reader.submit(path)).status).toBe(403);
  });

  it.each([
    ["/status/alerts", AT],
    ["/status/alerts/2", `${AT}/2`],
    ["/status/webhook", `${AT}/webhook`],
  ])("are where they were: %s", async (before, now) => {
    const { status, location } = await admin.get(before);
    expect([status, location]).toEqual([303, now]);
  });
});
