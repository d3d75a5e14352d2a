import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { live } from "../../../src/operate/live/live.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { Viewing } from "../../operate/live/viewing.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";
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
    expect(text).toContain("Records appear seconds after their events");
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
    expect(textOf((await (await Visitor.signedIn()).get("/live")).html)).toMatch(/bank http:<i>ci /);
  });

  it("lists fifty of them at most", async () => {
    await send({ events: 150 });
    const { html } = await (await Visitor.signedIn()).get("/live");
    expect(html.slice(html.indexOf('id="recent"')).match(/<li>/g)).toHaveLength(50);
  });

  it("has the filters of jobs by name, and begins with what its address says", async () => {
    const id = await createJob(freshBucket().name, { name: "<i>errors</i>", filter: FILTER });
    await createJob(freshBucket().name, { name: "all of it" });
    const visitor = await Visitor.signedIn();
    const { html } = await visitor.get(`/live?job=${id}&script=${encodeURIComponent('a"b')}&text=c&errors=1`);
    const escaped = FILTER.replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    expect(html).toContain(`<option value="${id}">&lt;i&gt;errors&lt;/i&gt;</option>`);
    expect(html).not.toContain("all of it");
    expect(html).toContain(`\n${escaped}</textarea>`);
    expect(html).toContain('value="a&quot;b"');
    expect(html).toMatch(/name="text" type="search" value="c"/);
    expect(html).toMatch(/name="errors" value="1" checked/);
    expect((await visitor.get("/live?job=99")).html).toContain("\n</textarea>");
    expect(textOf((await visitor.get("/live?filter={")).html)).toContain("not valid JSON");
  });

  it("takes conditions without a script: the builder grows, then its address has them", async () => {
    const id = await createJob(freshBucket().name, { name: "errors", filter: FILTER });
    const visitor = await Visitor.signedIn();
    const was = (filter: string) => ({ "filter-was": JSON.stringify(filter), "filter-json": filter });
    const grown = await visitor.submit("/live", { ...was(""), text: "a b", do: "filter:add:0" });
    expect([grown.status, textOf(grown.html).includes("Field of condition 1")]).toEqual([200, true]);
    const where = { key: "Outcome", operator: "eq", value: "ok" };
    const sent = { ...was(JSON.stringify({ where: { ...where, value: "" } })), "key-0": "Outcome", "value-0": "ok" };
    const applied = await visitor.submit("/live", { ...sent, text: " a b ", script: "shop", errors: "1", list: "1" });
    expect(applied.status).toBe(303);
    const to = new URL(applied.headers.get("location") ?? "", "https://x.example");
    const filter = JSON.stringify({ where });
    expect([to.pathname, Object.fromEntries(to.searchParams)]).toEqual([
      "/live",
      { text: "a b", script: "shop", errors: "1", filter, list: "1" },
    ]);
    const chosen = await visitor.submit("/live", { ...sent, job: `${id}` });
    expect(new URLSearchParams(chosen.headers.get("location")?.split("?")[1]).get("filter")).toBe(FILTER);
  });

  it("makes no list of records where the builder alone is asked for", async () => {
    await send({ scriptName: "listed" });
    const visitor = await Visitor.signedIn();
    expect((await visitor.get("/live")).html).toContain("listed");
    const { html } = await visitor.get("/live", { "x-logship-refresh": "1" });
    expect([html.includes("listed"), html.includes('id="live-builder"')]).toEqual([false, true]);
  });

  it("takes no forms at its socket, nor where its records are", async () => {
    const visitor = await Visitor.signedIn();
    expect((await visitor.submit("/live/recent")).status).toBe(405);
    expect((await visitor.submit("/live/socket")).status).toBe(405);
  });
});

describe("the records that it begins with", () => {
  type Found = { records: { record: { ScriptName: string; Outcome: string } }[]; from: string };
  const recent = async (query = ""): Promise<[from: string, ...string[]]> => {
    const { status, html } = await (await Visitor.signedIn()).get(`/live/recent${query}`);
    expect(status).toBe(200);
    const { records, from } = JSON.parse(html) as Found;
    return [from, ...records.map(({ record }) => `${record.ScriptName} ${record.Outcome}`)];
  };

  it("wait in the logs of jobs or are in their objects, each once, and match", async () => {
    const [job] = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    await send({ scriptName: "shop", outcome: "ok", events: 2 });
    clock.advance(1_000);
    await settle(job, clock);
    oracle = new Oracle({ at: clock.nowMs() });
    await send({ scriptName: "bank", outcome: "exception" });
    expect(await recent()).toEqual(["search", "bank exception", "shop ok", "shop ok"]);
    expect(await recent("?errors=1")).toEqual(["search", "bank exception"]);
    expect(await recent("?script=shop")).toEqual(["search", "shop ok", "shop ok"]);
    expect(await recent("?text=EXCEPT")).toEqual(["search", "bank exception"]);
    const filter = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "ok" } });
    expect(await recent(`?${new URLSearchParams({ filter })}`)).toEqual(["search", "shop ok", "shop ok"]);
    // No filter, so no records.
    expect(await recent("?filter={")).toEqual(["memory"]);
    const { html } = await (await Visitor.signedIn()).get("/live?errors=1&list=1");
    expect(textOf(html.slice(html.indexOf('id="recent"')))).toMatch(/last hour.*exception bank/);
  });

  it("are those in memory where there is no job, or too many searches are under way", async () => {
    await send({ scriptName: "shop", outcome: "ok" });
    expect(await recent()).toEqual(["memory", "shop ok"]);
    expect(await recent("?text=nothing")).toEqual(["memory"]);
    await createJob(freshBucket().name);
    clock.advance(1_000);
    await send({ scriptName: "bank", outcome: "ok" });
    const control = controlPlane(env.CONTROL);
    for (const search of ["a", "b"]) await control.beginSearch("admin admin", search);
    expect((await recent())[0]).toBe("memory");
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
    // Without viewers, a block is ignored.
    await live(env.LIVE).added({ shard: 0, n: 1, ids: [] });
  });
});
