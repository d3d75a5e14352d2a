/** The pages of the status and the webhook. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Watch } from "../../../src/operate/alerts/watch.ts";
import { lookAnew } from "../../operate/alerts/fresh.ts";
import { putWebhook, readWebhook, URL_OF_RECEIVER } from "../../operate/alerts/receiver.ts";
import { begin, checkAt, clock, eyes, of, pass, post, watchEach } from "../../operate/alerts/watching.ts";
import { finding } from "../../operate/status/findings.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { call } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { IMAGE, LONG, OBEYED, SCRIPT, STEERING } from "./hostile.ts";
import { textOf, Visitor } from "./support.ts";

lookAnew();

watchEach();

let admin: Visitor;
beforeEach(async () => {
  admin = await Visitor.signedIn();
});

const textAt = async (path: string, who = admin): Promise<string> => textOf((await who.get(path)).html);

describe("what is wrong", () => {
  it("is nothing, and says when that was seen", async () => {
    const text = await textAt("/status");
    for (const said of ["No problems", "Checked 2100-11-20 12:00:00 UTC", "No open incidents"])
      expect(text).toContain(said);
  });

  it("stands by its severity, with since when, how much, and what to do, and leads to what it is about", async () => {
    eyes.now([
      of(3, { sinceMs: clock.nowMs() - 300_000, affected: { count: 1_234_567_890, what: "records" } }),
      finding({ kind: "lagging", severity: "warning", subject: { type: "job", id: 4 }, summary: "Job 4 is late." }),
      finding({ kind: "function_quiet", severity: "warning", subject: { type: "function", name: "a/b c" } }),
      finding({ kind: "ledger_silent", severity: "warning", subject: { type: "account" }, summary: "No ledger." }),
    ]);
    const { html } = await admin.get("/status");
    const text = textOf(html);
    for (const said of [
      "1 error, 3 warnings",
      "error Job 3 Uploads fail: HTTP 503.",
      "Uploads fail: HTTP 503.",
      "Look at the store.",
      "5 min ago",
      "1,234,567,890 records affected",
    ])
      expect(text).toContain(said);
    const order = ["Errors:", "Uploads fail", "Warnings:", "Job 4 is late.", "No answer:", "No ledger."];
    expect(order.map((each) => text.indexOf(each))).toEqual(
      order.map((each) => text.indexOf(each)).sort((a, b) => a - b),
    );
    expect(html).toContain('href="/jobs/3"');
    expect(html).not.toContain('<a href="/set-aside">Entries on hold');
    eyes.now([of(3, { kind: "objects_set_aside" })]);
    expect((await admin.get("/status")).html).toContain('<a href="/set-aside">Entries on hold');
    expect(html).toContain('href="/functions/a%2Fb%20c"');
    expect(html).toMatch(/<section class="panel" id="findings"[^>]* data-refresh="15"/);
  });

  it("shows names as texts, and many of them behind a click", async () => {
    const names = [SCRIPT, IMAGE, STEERING, LONG, "\ud800", ".."];
    eyes.now([
      ...names.map((name) => finding({ subject: { type: "function", name }, summary: name, advice: name })),
      ...Array.from({ length: 120 }, (_, i) => of(i + 1)),
    ]);
    const { html, status } = await admin.get("/status");
    expect([status, OBEYED.exec(html)]).toEqual([200, null]);
    expect(textOf(html)).toContain("76 more");
    expect(textOf(html)).toContain("␛]0;owned␇<U+202E>gnp.exe");
  });

  it("is not known where the watch does not answer: the panel says so, and looks again", async () => {
    vi.spyOn(Watch.prototype, "snapshot").mockImplementation(async () => null);
    const { html, status } = await admin.get("/status");
    expect([status, textOf(html)]).toEqual([200, expect.stringContaining("Status unavailable")]);
    expect(textOf(html)).not.toContain("No problems");
    expect(html).toContain('data-refresh="15"');
  });

  it("is for who reads logs; of functions there is a name and no link, and of the webhook who may look", async () => {
    eyes.now([finding({ subject: { type: "function", name: "shop" } })]);
    await putWebhook();
    const reader = await Visitor.signedIn({ token: (await token(["logs:read"])).secret });
    const { html } = await reader.get("/status");
    expect(html).not.toContain('href="/functions/shop"');
    expect(textOf(html)).toContain("error shop");
    expect(textOf(html)).toContain("needs the permission logs:edit");
    expect(html).not.toContain("hooks.example.com");
    const other = await Visitor.signedIn({ token: (await token(["functions:read", "logs:edit"])).secret });
    expect([(await other.get("/status")).status, (await reader.get("/status/webhook")).status]).toEqual([403, 403]);
  });
});

describe("incidents", () => {
  it("and findings lead to their problem and first record, and name the version", async () => {
    const firstRecord = { script: "shop", atMs: NOON, rayId: "8f3c2a1b9d4e5f60" };
    const links = { problem: "0123456789abcdef", firstRecord, version: SCRIPT };
    eyes.now([of(1, { links })]);
    const { html } = await admin.get("/status");
    expect([OBEYED.exec(html), html.includes('href="/problems/0123456789abcdef"')]).toEqual([null, true]);
    expect(html).toContain(
      "/search?q=ray%3A%228f3c2a1b9d4e5f60%22&amp;function=shop&amp;last=own&amp;since=2100-11-20",
    );
    const { body } = await call<{ findings: object[] }>("GET", "/logship/status");
    const first_record = { script_name: "shop", event_timestamp_ms: NOON, ray_id: "8f3c2a1b9d4e5f60" };
    expect(body.result.findings).toMatchObject([{ links: { problem: links.problem, first_record, version: SCRIPT } }]);
  });

  it("go on, and are over, with how long each lasted", async () => {
    await putWebhook();
    const found = await begin(1, 2);
    let text = await textAt("/status");
    expect(text).toContain("60 s so far");
    expect(text).toContain("No incidents in the last 30 days");
    await pass(10 * 60_000, found);
    // The same check says of the first that it is gone, and that its incident is not over yet.
    eyes.now(found.slice(1));
    clock.advance(60_000);
    const { html } = await admin.get("/status");
    text = textOf(html);
    expect(text).toContain("Now Checked 2100-11-20 12:12:00 UTC ■ 1 error Errors");
    expect(text).toMatch(
      /error, recovering: over after 12:27:00 UTC Job 1 .* 12 min, until 2100-11-20 12:12:00 UTC no/,
    );
    expect(html.split('class="state bad"').length - 1).toBe(2);
    eyes.now([]);
    clock.advance(60_000);
    text = await textAt("/status");
    expect(text).toContain("No problems");
    expect(text).toContain("2 incidents are recovering");
    expect(await textAt("/")).toContain("2 incidents are recovering");
    expect((await admin.get("/status")).html).not.toContain('class="state bad"');
    await pass(60 * 60_000, found.slice(1));
    text = await textAt("/status");
    const cut = text.indexOf("Past incidents");
    const [now, past] = [text.slice(0, cut), text.slice(cut)];
    expect([now.includes("Job 2"), past.includes("Job 1"), past.includes("Job 2")]).toEqual([true, true, false]);
    expect(past).toMatch(/1[0-9] min, until 2100-11-20 12:1\d:00 UTC/);
  });

  it("that are over come in pages", async () => {
    const found = Array.from({ length: 25 }, (_, i) => of(i + 1, { summary: `Job ${i + 1} fails ${SCRIPT}` }));
    await checkAt(0, found);
    await checkAt(5, found);
    for (const minute of [10, 15, 20, 25, 30]) await checkAt(minute);
    const first = await admin.get("/status");
    expect(textOf(first.html)).toContain("1 to 20 of 25");
    expect(first.html).not.toMatch(OBEYED);
    expect(await textAt("/status?page=2")).toContain("21 to 25 of 25");
    expect(await textAt("/status?page=7")).toContain("Only 25 past incidents");
  });
});

describe("the webhook", () => {
  const at = "/status/webhook";

  it("is set, its secret shown once, and its address masked from then on", async () => {
    expect(await textAt("/status")).toContain("No alerts configured");
    expect(await textAt(at)).toContain("Set up a webhook");
    const answer = await admin.submit(at, { url: ` ${URL_OF_RECEIVER} `, enabled: "true" });
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const secret = /whsec_[\w+/=]+/.exec(answer.html)?.[0] ?? "";
    expect(secret.length).toBeGreaterThan(30);
    for (const path of ["/status", at, `${at}/delete`, "/access/audit"]) {
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
    expect(await textAt("/status")).toContain("▲ failing: 1 failure in a row");
    expect(await textAt("/status/webhook")).toContain("1 failure in a row, since 2100-11-20 12:01:00 UTC");
    expect(await textAt("/status")).toContain("HTTP 503");
  });

  it("is deleted after a page that says what that means; where there is none, that is a 404", async () => {
    await putWebhook();
    expect(await textAt(`${at}/delete`)).toContain("the secret is deleted");
    expect((await admin.submit(`${at}/delete`)).location).toBe("/status/alerts?deleted");
    expect(await readWebhook()).toBeNull();
    expect([(await admin.get(`${at}/delete`)).status, (await admin.submit(`${at}/delete`)).status]).toEqual([404, 404]);
    expect((await admin.submit(`${at}/test`)).status).toBe(404);
  });
});

describe("the alerts", () => {
  const SLACK = "https://hooks.slack.com/services/T0/B0/secret-part";
  const AT = "/status/alerts";

  it("are added by a form of the kind's own fields, tested, muted, changed and deleted", async () => {
    const admin = await Visitor.signedIn();
    expect(await textAt("/status")).toContain("No alerts configured");
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
    expect(await textAt("/status")).toMatch(/on call Slack .* errors only .* muted for 8 h more/);
    expect(await textAt(`${AT}/2`)).toMatch(/State .{0,4}muted for 8 h more/);
    expect((await admin.submit(`${AT}/2`, { name: "room", address: "https://hooks.slack.com/****" })).status).toBe(303);
    expect(await textAt(`${AT}/2`)).toContain("room");
    expect(await textAt(`${AT}/2/delete`)).toContain("No more alerts go to room");
    expect((await admin.submit(`${AT}/2/delete`)).location).toBe(`${AT}?deleted`);
    expect(await textAt(`${AT}?deleted`)).toContain("Deleted");
    expect((await admin.get(`${AT}/2`)).status).toBe(404);
  });

  it("are about some Workers and searches, as the form says, which the list shows", async () => {
    const admin = await Visitor.signedIn();
    const fields = { format: "slack", name: "shop", address: SLACK };
    const wrong = await admin.submit(AT, { ...fields, routes: "shop-*, search 0" });
    expect([wrong.status, wrong.html.includes('value="shop-*, search 0"')]).toEqual([400, true]);
    expect((await admin.submit(AT, { ...fields, routes: " shop-*,,till , search 7" })).status).toBe(303);
    const text = await textAt(AT);
    expect(text).toContain("only about shop-*, till, search 7");
    expect(text).toContain("Problems of jobs and the account are sent nowhere");
    expect((await admin.get(`${AT}/2`)).html).toContain('value="shop-*, till, search 7"');
    const same = { name: "shop", address: "https://hooks.slack.com/****", enabled: "on" };
    await admin.submit(`${AT}/2`, { ...same, routes: "" });
    expect(await textAt(AT)).not.toMatch(/only about|sent nowhere/);
    await admin.submit(`${AT}/2`, { ...same, routes: "", errors_only: "on" });
    expect(await textAt(AT)).toContain("Warnings about jobs and the account are sent nowhere");
    await admin.submit(`${AT}/2`, { name: "shop", address: "https://hooks.slack.com/****", routes: "" });
    expect(await textAt(AT)).toContain("Problems of jobs and the account are sent nowhere");
  });

  it("say why a test was refused and what to do, also later in the list", async () => {
    const admin = await Visitor.signedIn();
    post.answers(() => new Response("no_service", { status: 404 }));
    await admin.submit(AT, { format: "slack", name: "on call", address: SLACK });
    const said = "Test not accepted Answer: HTTP 404: no_service . Nothing is at that address: enter another one.";
    expect((await textAt(`${AT}/2?added`)).replace(/\s+/g, " ")).toContain(said);
    expect(await textAt(AT)).toMatch(/Last test: HTTP 404: no_service/);
  });

  it("ask whether an address is right that does not look so, and name fields as the form does", async () => {
    const admin = await Visitor.signedIn();
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

  it("mute an incident for hours, and no more", async () => {
    const admin = await Visitor.signedIn();
    await begin(1);
    const id = /\/status\/incidents\/(inc_[0-9a-f]+)\/mute/.exec((await admin.get("/status")).html)?.[1];
    expect((await admin.submit(`/status/incidents/${id}/mute`, { hours: "8" })).status).toBe(303);
    expect(await textAt("/status")).toMatch(/muted for 8 h more ?, by Admin token .*Unmute/);
    expect((await admin.submit(`/status/incidents/${id}/mute`)).status).toBe(303);
    expect(await textAt("/status")).toContain("Mute for 8 hours");
  });
});
