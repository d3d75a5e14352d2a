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
    expect(textOf((await (await Visitor.signedIn()).get("/live")).html)).toMatch(/bank\s+http:<i>ci /);
  });

  it("lists fifteen of them at most", async () => {
    await send({ events: 150 });
    const { html } = await (await Visitor.signedIn()).get("/live");
    expect(html.slice(html.indexOf('id="recent"')).match(/<details class="record"/g)).toHaveLength(15);
  });

  it("has the filters of jobs by name, and begins with what its address says", async () => {
    const id = await createJob(freshBucket().name, { name: "<i>errors</i>", filter: FILTER });
    await createJob(freshBucket().name, { name: "all of it" });
    const visitor = await Visitor.signedIn();
    const { html } = await visitor.get(`/live?job=${id}&function=${encodeURIComponent('a"b')}&q=c&outcome=failed`);
    const escaped = FILTER.replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    expect(html).toContain(`<option value="${id}">&lt;i&gt;errors&lt;/i&gt;</option>`);
    expect(html).not.toContain("all of it");
    expect(html).toContain(`\n${escaped}</textarea>`);
    expect(html).toContain('value="a&quot;b"');
    expect(html).toMatch(/<input type="search" value="c" id="field-q"/);
    expect(html).toMatch(/<option value="failed" selected/);
    expect((await visitor.get("/live?job=99")).html).toContain("\n</textarea>");
    expect(textOf((await visitor.get("/live?filter={")).html)).toContain("not valid JSON");
  });

  it("takes addresses of before there was a language, a text as a phrase", async () => {
    const { html } = await (await Visitor.signedIn()).get("/live?text=a+%22b&script=shop&errors=1");
    expect(html).toContain('value="&quot;a \\&quot;b&quot;" id="field-q"');
    expect(html).toMatch(/value="shop" id="field-function"/);
    expect(html).toMatch(/<option value="failed" selected/);
  });

  it("leads to a search of the last hour, and from one to it, with all that is asked", async () => {
    const visitor = await Visitor.signedIn();
    await createJob(freshBucket().name);
    const asked = { q: 'a "b" <i>', function: "shop", outcome: "canceled", filter: FILTER };
    const hrefs = (html: string, label: string) =>
      [...html.matchAll(/<a [^>]*?href="([^"]*)"[^>]*>\s*([^<]*?)\s*<\/a>/g)].flatMap(([, href = "", text]) =>
        text === label ? [new URL(href.replaceAll("&amp;", "&"), "https://x.example")] : [],
      );
    const [search] = hrefs((await visitor.get(`/live?${new URLSearchParams(asked)}`)).html, "Search the last hour");
    expect([search?.pathname, Object.fromEntries(search?.searchParams ?? [])]).toEqual([
      "/search",
      { ...asked, last: "1h" },
    ]);
    const [live] = hrefs((await visitor.get(`${search?.pathname}${search?.search}`)).html, "Watch live");
    expect([live?.pathname, Object.fromEntries(live?.searchParams ?? [])]).toEqual(["/live", asked]);
    expect(hrefs((await visitor.get("/search?last=7d")).html, "Watch live")[0]?.href).toBe("https://x.example/live");
  });

  it("points at the fault of a query, and offers the phrase, with what else was asked", async () => {
    const visitor = await Visitor.signedIn();
    const { html } = await visitor.get(`/live?${new URLSearchParams({ q: "ab (</b>", function: "shop" })}`);
    const told = html.slice(html.indexOf('id="live-faults"'), html.indexOf('id="live-app"'));
    expect(textOf(told)).toContain("query, character 4: this bracket is not closed");
    expect(told).toMatch(/<mark>.*\(&lt;\/b&gt;.*<\/mark>/s);
    const href = /href="(\/live[^"]*)"/.exec(told)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect(Object.fromEntries(new URL(href, "https://x.example").searchParams)).toEqual({
      q: '"ab (</b>"',
      function: "shop",
    });
    expect((await visitor.get(href)).html).not.toContain("<mark>");
    // As a search tells it.
    expect(textOf((await visitor.get("/search?q=ab+%28")).html)).toContain("character 4: this bracket is not closed");
  });

  it("takes conditions without a script: the builder grows, then its address has them", async () => {
    const id = await createJob(freshBucket().name, { name: "errors", filter: FILTER });
    const visitor = await Visitor.signedIn();
    const was = (filter: string) => ({ "filter-was": JSON.stringify(filter), "filter-json": filter });
    const grown = await visitor.submit("/live", { ...was(""), q: "a b", do: "filter:add:0" });
    expect([grown.status, textOf(grown.html).includes("Field of condition 1")]).toEqual([200, true]);
    const where = { key: "Outcome", operator: "eq", value: "ok" };
    const sent = { ...was(JSON.stringify({ where: { ...where, value: "" } })), "key-0": "Outcome", "value-0": "ok" };
    const asked = { q: "a b", function: "shop", outcome: "failed" };
    const applied = await visitor.submit("/live", { ...sent, ...asked, list: "1" });
    expect(applied.status).toBe(303);
    const to = new URL(applied.headers.get("location") ?? "", "https://x.example");
    const filter = JSON.stringify({ where });
    expect([to.pathname, Object.fromEntries(to.searchParams)]).toEqual(["/live", { ...asked, filter, list: "1" }]);
    expect((await visitor.submit("/live", { ...was(""), list: "1" })).headers.get("location")).toBe("/live?list=1");
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
    expect(await recent("?outcome=failed")).toEqual(["search", "bank exception"]);
    expect(await recent("?outcome=ok&q=worker:*")).toEqual(["search", "shop ok", "shop ok"]);
    expect(await recent("?function=shop")).toEqual(["search", "shop ok", "shop ok"]);
    expect(await recent("?q=-outcome:EXCEPT*")).toEqual(["search", "shop ok", "shop ok"]);
    expect(await recent("?text=EXCEPTION")).toEqual(["search", "bank exception"]);
    const filter = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "ok" } });
    expect(await recent(`?${new URLSearchParams({ filter })}`)).toEqual(["search", "shop ok", "shop ok"]);
    // No filter or query, so no records.
    expect(await recent("?filter={")).toEqual(["memory"]);
    expect(await recent("?q=(")).toEqual(["memory"]);
    const { html } = await (await Visitor.signedIn()).get("/live?outcome=failed&list=1");
    expect(textOf(html.slice(html.indexOf('id="recent"')))).toMatch(/last hour.*exception.*bank/);
  });

  it("are those in memory where there is no job, or too many searches are under way", async () => {
    await send({ scriptName: "shop", outcome: "ok" });
    expect(await recent()).toEqual(["memory", "shop ok"]);
    expect(await recent("?q=nothing")).toEqual(["memory"]);
    expect(await recent("?q=worker:SHOP+-worker:bank")).toEqual(["memory", "shop ok"]);
    await createJob(freshBucket().name);
    clock.advance(1_000);
    await send({ scriptName: "bank", outcome: "ok" });
    const control = controlPlane(env.CONTROL);
    for (const search of ["a", "b"]) await control.beginSearch("admin admin", search);
    expect((await recent())[0]).toBe("memory");
  });
});

describe("the records that a page has", () => {
  const judged = async (fields: Record<string, string>) => {
    const { status, html, headers } = await (await Visitor.signedIn()).submit("/live/judge", fields);
    return status === 200 ? [headers.get("content-type"), JSON.parse(html)] : status;
  };
  const [a, b] = [
    { record: { Outcome: "ok", Logs: [{ Message: ["card declined"] }] }, source: "tail" },
    { record: { Outcome: "canceled", ScriptName: "</script>" }, tooLarge: 70_000 },
  ];
  const records = JSON.stringify([a, b]);

  it("are judged by query and filter, as those that arrive", async () => {
    const filter = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "ok" } });
    expect(await judged({ records })).toEqual(["application/json", [true, true]]);
    expect(await judged({ records, filter })).toEqual(["application/json", [true, false]]);
    expect(await judged({ records, query: "CARD -outcome:canceled" })).toEqual(["application/json", [true, false]]);
    expect(await judged({ records, query: "-Source:tail" })).toEqual(["application/json", [false, true]]);
    expect(await judged({ records, filter, query: "canceled" })).toEqual(["application/json", [false, false]]);
  });

  it.each([
    ["no JSON", { records: "[" }],
    ["no list", { records: "{}" }],
    ["no records", { records: "[1]" }],
    ["a record that is none", { records: '[{"record":[]}]' }],
    ["more than a page has", { records: JSON.stringify(Array(1_001).fill(a)) }],
    ["no query", { records, query: "(" }],
    ["no filter", { records, filter: "{" }],
  ])("are none where %s is sent", async (_name, fields) => {
    expect(await judged(fields)).toBe(400);
  });

  it("may nest deeply", async () => {
    const deep = `[{"record":{"Event":${'{"a":['.repeat(20_000)}"needle"${"]}".repeat(20_000)}}}]`;
    expect(await judged({ records: deep, query: "needle" })).toEqual(["application/json", [true]]);
  });
});

describe("a record that a page has", () => {
  const opened = async (fields: Record<string, string>) => {
    const { status, html } = await (await Visitor.signedIn()).submit("/live/record", fields);
    return status === 200 ? (JSON.parse(html) as { html: string }).html : status;
  };

  it("opens as it does in a search, and leads to further conditions", async () => {
    const record = { EventTimestampMs: NOON, Outcome: "<i>", ScriptName: "shop", Logs: [{ Message: ["</script>"] }] };
    const sent = {
      record: JSON.stringify({ record, source: "http:<b>", tooLarge: 70_000 }),
      q: "a",
      outcome: "failed",
    };
    const html = `${await opened(sent)}`;
    expect(html).toMatch(/^<div class="record-details" id="opened">.*<\/div>$/s);
    expect(html).not.toMatch(/<i>|<b>|<\/script>/);
    expect(textOf(html)).toContain("Too large to show in full: 70,000 bytes.");
    const links = [...html.matchAll(/<a class="record-value" href="([^"]*)"/g)].map(
      ([, href = ""]) => new URL(href.replaceAll("&amp;", "&"), "https://x.example"),
    );
    const asked = links.map(({ pathname, searchParams }) => [pathname, Object.fromEntries(searchParams)]);
    const filter = '{"where":{"key":"ScriptName","operator":"eq","value":"shop"}}';
    expect(asked).toContainEqual(["/live", { q: "a", outcome: "failed", filter }]);
    expect(asked).toContainEqual(["/live", { q: 'a Source:"http:<b>"', outcome: "failed" }]);
  });

  it.each(["[", "{}", '{"record":[]}', '{"record":{},"tooLarge":"x"}'])("is none where %s is sent", async (record) => {
    expect(await opened({ record })).toBe(400);
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
