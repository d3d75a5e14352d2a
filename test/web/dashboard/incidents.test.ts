/** The pages of incidents. */
import { runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { lookAnew } from "../../operate/alerts/fresh.ts";
import { putWebhook, theWatch } from "../../operate/alerts/receiver.ts";
import { begin, checkAt, clock, eyes, of, pass, post, watchEach } from "../../operate/alerts/watching.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { call } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { OBEYED, SCRIPT } from "./hostile.ts";
import { textOf, Visitor } from "./support.ts";

lookAnew();

watchEach();

let admin: Visitor;
beforeEach(async () => {
  admin = await Visitor.signedIn();
});

const textAt = async (path: string, who = admin): Promise<string> => textOf((await who.get(path)).html);

/** Of the one incident that is listed first. */
const firstPath = async (): Promise<string> =>
  /href="(\/incidents\/inc_[0-9a-f]+)"/.exec((await admin.get("/incidents")).html)?.[1] ?? "";

describe("the list", () => {
  it("has those that are open, and those that are over, with how long each lasted", async () => {
    await putWebhook();
    expect(await textAt("/incidents")).toMatch(/No open incidents .*No incident ended in the last 30 days/);
    const found = await begin(1, 2);
    expect(await textAt("/incidents")).toMatch(/open, error Job 1 12:00:00 UTC 60 s webhook/);
    await pass(10 * 60_000, found);
    // The same check says of the first that it is gone, and that its incident is not over yet.
    eyes.now(found.slice(1));
    clock.advance(60_000);
    const { html } = await admin.get("/incidents");
    const text = textOf(html);
    expect(text).toMatch(/recovering: over after 12:27:00 UTC Job 1 12:00:00 UTC 12 min webhook/);
    expect(html.split('class="state bad"').length - 1).toBe(1);
    eyes.now([]);
    clock.advance(60_000);
    for (const path of ["/", "/status"]) expect(await textAt(path)).toContain("2 incidents are recovering");
    await pass(60 * 60_000, found.slice(1));
    const later = await textAt("/incidents");
    const [now = "", past = ""] = later.split(" Over Past incidents");
    expect([now.includes("Job 2"), past.includes("Job 1"), past.includes("Job 2")]).toEqual([true, true, false]);
  });

  it("has first what is seen now, errors before warnings, the latest of each first", async () => {
    const [warning, early, late, gone] = [of(1, { severity: "warning" }), of(2), of(3), of(4)] as const;
    await checkAt(0, [warning]);
    await checkAt(2, [warning, gone, early]);
    await checkAt(4, [warning, gone, early]);
    await checkAt(6, [warning, gone, early, late]);
    await checkAt(8, [warning, gone, early, late]);
    await checkAt(10, [warning, early, late]);
    const { html } = await admin.get("/incidents");
    expect([...html.matchAll(/href="\/jobs\/(\d)"/g)].map(([, id]) => id)).toEqual(["3", "2", "1", "4"]);
  });

  it("comes in pages", async () => {
    const found = Array.from({ length: 25 }, (_, i) => of(i + 1, { summary: `Job ${i + 1} fails ${SCRIPT}` }));
    await checkAt(0, found);
    await checkAt(5, found);
    for (const minute of [10, 15, 20, 25, 30]) await checkAt(minute);
    const first = await admin.get("/incidents");
    expect(textOf(first.html)).toContain("1 to 20 of 25");
    expect(first.html).not.toMatch(OBEYED);
    expect(await textAt("/incidents?page=2")).toContain("21 to 25 of 25");
    expect(await textAt("/incidents?page=7")).toContain("Only 25 past incidents");
  });
});

describe("an incident", () => {
  it("leads to its problem, first record, Worker and records, and names the version", async () => {
    const firstRecord = { script: "shop", atMs: NOON, rayId: "8f3c2a1b9d4e5f60" };
    const links = { problem: "0123456789abcdef", firstRecord, version: SCRIPT };
    const subject = { type: "function", name: "shop" } as const;
    const found = [of(1, { links, subject, summary: `It fails ${SCRIPT}`, advice: SCRIPT })];
    await checkAt(0, found);
    await checkAt(5, found);
    const { html } = await admin.get(await firstPath());
    expect([OBEYED.exec(html), html.includes('href="/problems/0123456789abcdef"')]).toEqual([null, true]);
    for (const href of [
      "/search?q=ray%3A%228f3c2a1b9d4e5f60%22&amp;function=shop&amp;last=own&amp;since=2100-11-20",
      'href="/functions/shop"',
      "/search?function=shop&amp;last=1h",
    ])
      expect(html).toContain(href);
    const { body } = await call<{ findings: { incident: string }[] }>("GET", "/logship/status");
    const first_record = { script_name: "shop", event_timestamp_ms: NOON, ray_id: "8f3c2a1b9d4e5f60" };
    expect(body.result.findings).toMatchObject([{ links: { problem: links.problem, first_record, version: SCRIPT } }]);
    expect((await admin.get("/status")).html).toContain(`href="/incidents/${body.result.findings[0]?.incident}"`);
    expect((await admin.get("/incidents/inc_0")).status).toBe(404);
  });

  it("says what happened in order, what it said, and who was told with which answer", async () => {
    await putWebhook();
    post.answers(503);
    await begin(1);
    await pass(5 * 60_000, [of(1, { summary: `Uploads fail: ${SCRIPT}` })]);
    post.answers(204);
    await pass(10 * 60_000, [of(1, { summary: `Uploads fail: ${SCRIPT}` })]);
    await checkAt(20);
    await checkAt(25, [of(1, { summary: "Uploads fail: HTTP 503." })]);
    await pass(30 * 60_000, []);
    const { html } = await admin.get(await firstPath());
    expect(html).not.toMatch(OBEYED);
    const timeline = /id="timeline".*?<\/section>/s.exec(html)?.[0] ?? "";
    const said = textOf(timeline)
      .split(/ (?=\d\d:\d\d:\d\d UTC)/)
      .slice(1)
      .reverse();
    const of2 = (each: string) =>
      each
        .replace(/^\S+ UTC \S /, "")
        .slice(0, 42)
        .trim();
    expect(said.map(of2)).toEqual([
      "Began",
      "Incident opened Uploads fail: HTTP 503.",
      expect.stringMatching(/^Now says Uploads fail: .*script/),
      expect.stringMatching(/^webhook \(Webhook\) was told that it is open/),
      "No longer seen",
      "Seen again",
      "Now says Uploads fail: HTTP 503.",
      "Over: not seen since",
      expect.stringMatching(/^webhook \(Webhook\) was told that it is over/),
    ]);
    expect(textOf(timeline)).toMatch(/it is open: HTTP 204 ?, \d+ tries .*/);
    expect(textOf(html)).toContain("Told webhook Kind");
    const { body } = await call<{ events: { type: string }[] }>("GET", `/logship${await firstPath()}`);
    expect(body.result.events.map(({ type }) => type)).toEqual(["said", "said", "gone", "returned", "said", "gone"]);
  });

  it("says which receiver does not take it, and forgets that with the incident", async () => {
    await putWebhook();
    post.answers(503);
    await begin(1);
    expect(await textAt("/incidents")).toContain("failing: webhook");
    expect(await textAt(await firstPath())).toMatch(
      /Told failing: webhook .*webhook \(Webhook\) does not take that it is open: HTTP 503/,
    );
    post.answers(204);
    await pass(2 * 3_600_000, []);
    clock.advance(31 * 86_400_000);
    await checkAt((clock.nowMs() - NOON) / 60_000);
    const left = await runInDurableObject(
      theWatch(),
      (_watch, { storage }) =>
        [...storage.sql.exec("SELECT incident FROM incident_event UNION SELECT id FROM incident")].length,
    );
    expect(left).toBe(0);
  });

  it("keeps the latest of many changes, and notes of a number only now and then that it is another one", async () => {
    await begin(1);
    for (let i = 0; i < 10; i++) await checkAt(2 + i, [of(1, { summary: `Uploads fail: ${i} of 9.` })]);
    const types = async () => {
      const { body } = await call<{ events: { type: string; summary?: string }[] }>(
        "GET",
        `/logship${await firstPath()}`,
      );
      return body.result.events;
    };
    expect((await types()).map(({ summary }) => summary)).toEqual(["Uploads fail: HTTP 503.", "Uploads fail: 0 of 9."]);
    for (let i = 0; i < 70; i++) await checkAt(20 + i, [of(1, { summary: `Uploads fail: ${"x".repeat(i)}` })]);
    const left = await types();
    expect([left.length, left.at(-1)?.summary]).toEqual([60, `Uploads fail: ${"x".repeat(69)}`]);
  });

  it("is muted for hours or until it is over, by whom it says, and no longer then", async () => {
    const found = await begin(1);
    const path = await firstPath();
    const muting = async (fields: Record<string, string> = {}) => {
      const { status, location } = await admin.submit(`${path}/mute`, fields);
      expect([status, location]).toEqual([303, path]);
      return textAt(path);
    };
    expect(await muting({ hours: "8" })).toMatch(
      /muted for 8 h more by Admin token .*Unmute.*Muted by Admin token until 20:01 UTC/,
    );
    expect(await textAt("/incidents")).toContain("muted for 8 h more");
    expect(await muting()).toMatch(/Unmuted by Admin token/);
    expect(await textAt(path)).not.toContain("No one is told");
    expect(await muting({ hours: "over" })).toMatch(
      /muted until it is over by Admin token .*Muted by Admin token until it is over/,
    );
    await putWebhook();
    await pass(10 * 60_000, found);
    expect(post.calls).toEqual([]);
    await pass(40 * 60_000, []);
    await pass(10 * 60_000, found);
    expect(post.calls.map(({ body }) => body.type)).toEqual(["incident.opened"]);
    const reader = await Visitor.signedIn({ token: (await token(["logs:read"])).secret });
    const { html } = await reader.get(path);
    expect(html).not.toContain(`action="${path}/mute"`);
    expect((await reader.submit(`${path}/mute`, { hours: "8" })).status).toBe(403);
  });
});
