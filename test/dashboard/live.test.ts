import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { live } from "../../src/live/live.ts";
import { Viewing } from "../live/viewing.ts";
import { Oracle } from "../support/oracle.ts";
import { api, createJob } from "../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock } from "../support/runtime/pipeline.ts";
import { textOf, Visitor } from "./support.ts";

let clock: ReturnType<typeof setClock>;
let oracle: Oracle;
let hour = 100;
beforeEach(() => {
  // An hour of its own: an isolate hands recent records over once a second.
  hour += 1;
  clock = setClock(NOON + hour * 3_600_000);
  oracle = new Oracle({ at: clock.nowMs() });
});

const send = (options: { outcome?: string; scriptName?: string; events?: number; source?: string } = {}) => {
  const source = options.source === undefined ? {} : { source: options.source };
  return deliver(pack(oracle.mint(options.events ?? 1, options), clock.nowMs(), source));
};
const FILTER = JSON.stringify({ where: { key: "Outcome", operator: "!eq", value: "</textarea><b>" } });

describe("the live page", () => {
  it("says what it needs, and where nothing has arrived, what to do", async () => {
    const { status, html } = await (await Visitor.signedIn()).get("/live");
    expect(status).toBe(200);
    const text = textOf(html);
    expect(text).toContain("The live view needs JavaScript");
    expect(text).toContain("No records yet");
    expect(text).toContain("No recent records");
    expect(text).toContain("up to ten seconds after its event");
    expect(html).toMatch(/<script type="module" src="\/assets\/live-[\w-]+\.js">/);
  });

  it("lists recent records without a script, with what is foreign made harmless", async () => {
    await send({ outcome: "<img src=x>\u202e" });
    clock.advance(1_000);
    await send({ outcome: "ok", scriptName: "shop\u001b[31m" });
    const { html } = await (await Visitor.signedIn()).get("/live");
    expect(html).not.toContain("<img");
    expect(html).toContain("&lt;img src=x&gt;&lt;U+202E&gt;");
    expect(html).toContain("shop␛[31m");
  });

  it("lists where each of them came from", async () => {
    await send({ scriptName: "bank", source: "http:<i>ci" });
    expect(textOf((await (await Visitor.signedIn()).get("/live")).html)).toMatch(/bank http:<i>ci \{/);
  });

  it("lists fifty of them at most", async () => {
    await send({ events: 150 });
    const { html } = await (await Visitor.signedIn()).get("/live");
    expect(html.slice(html.indexOf('id="recent"')).match(/<tr>/g)).toHaveLength(51);
  });

  it("has the filters of jobs by name, and begins with what its address says", async () => {
    const id = await createJob(freshBucket().name, { name: "<i>errors</i>", filter: FILTER });
    await createJob(freshBucket().name, { name: "all of it" });
    const visitor = await Visitor.signedIn();
    const { html } = await visitor.get(`/live?job=${id}&script=${encodeURIComponent('a"b')}`);
    const escaped = FILTER.replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    expect(html).toContain(`<option value="${id}" data-filter="${escaped}">&lt;i&gt;errors&lt;/i&gt;</option>`);
    expect(html).not.toContain("all of it");
    expect(html).toContain(`\n${escaped}</textarea>`);
    expect(html).toContain('value="a&quot;b"');
    expect((await visitor.get("/live?job=99")).html).toContain("\n</textarea>");
  });

  it("carries no more filters than a page should", async () => {
    const filter = (n: number) =>
      JSON.stringify({ where: { key: "Outcome", operator: "eq", value: `${n}`.repeat(4_000) } });
    for (let n = 10; n < 24; n++) await createJob(freshBucket().name, { name: `job ${n}`, filter: filter(n) });
    const { html } = await (await Visitor.signedIn()).get("/live");
    expect(html.match(/data-filter=/g)?.length).toBe(12);
    expect(html.match(/disabled[^>]*>job \d+ \(open \/live\?job=\d+\)/g)).toHaveLength(2);
  });

  it("is for those who may read logs", async () => {
    const { body } = await api<{ value: string }>("POST", "/tokens", { name: "t", permissions: ["events:write"] });
    const { status, html } = await (await Visitor.signedIn({ token: body.result.value })).get("/live");
    expect([status, textOf(html).includes("logs:read")]).toEqual([403, true]);
  });

  it("takes no forms, nor does its socket", async () => {
    const visitor = await Visitor.signedIn();
    expect((await visitor.submit("/live")).status).toBe(405);
    expect((await visitor.submit("/live/socket")).status).toBe(405);
  });
});

describe("from the queue to whoever watches", () => {
  it("records go by themselves, each once", async () => {
    const viewing = await Viewing.open();
    await viewing.next("hello");
    const sent = pack(oracle.mint(3, { outcome: "ok" }), clock.nowMs());
    await deliver(sent);
    const said = await viewing.next("records");
    expect([said.records?.length, said.counts?.seen]).toEqual([3, 3]);
    await deliver(sent, 2);
    await send({ outcome: "late" });
    expect((await viewing.next("records")).counts).toMatchObject({ seen: 4, shown: 4 });
    viewing.socket.close(1000, "");
    await viewing.end();
    // Without viewers, a push is ignored.
    await live(env.LIVE).push({ lines: ["no record"], leftOut: 0 });
  });
});
