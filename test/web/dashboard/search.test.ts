/** The page Search: its form, its address, and what it shows of an answer. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { askedOf, narrowed, questionOf, searchPath } from "../../../src/web/dashboard/pages/search/address.ts";
import { RecordDetails } from "../../../src/web/dashboard/parts/record-details.tsx";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";
import { IMAGE, OBEYED, SCRIPT, STEERING } from "./hostile.ts";

const HOSTILE = `${SCRIPT}${IMAGE}${STEERING}`;

import { textOf, Visitor } from "./support.ts";

afterEach(() => void vi.restoreAllMocks());

const asked = (query: string) => askedOf(new URLSearchParams(query)) ?? expect.unreachable("nothing is asked");

async function shipped(count: number, options: object = {}) {
  const clock = setClock(NOON);
  const job = await createJob(freshBucket().name);
  await deliver(pack(new Oracle({ at: NOON }).mint(count, options), NOON));
  await settle(job, clock);
  return { job, clock, visitor: await Visitor.signedIn() };
}

describe("the address of a search", () => {
  it("is the question: what is typed, the conditions, and the time", () => {
    const query = "text=card+declined&function=shop&outcome=failed&last=24h&job=3";
    expect(questionOf(asked(query), NOON)).toEqual({
      since: "2100-11-19T12:00:00.000Z",
      until: "2100-11-20T12:00:00.000Z",
      query: '"card declined"',
      job_id: 3,
      filter:
        '{"where":{"and":[{"or":[{"key":"Outcome","operator":"!eq","value":"ok"},{"key":"Exceptions","operator":"contains","value":""},{"key":"Event.Response.Status","operator":"geq","value":500}]},{"key":"ScriptName","operator":"eq","value":"shop"}]}}',
    });
  });

  it.each([
    ["q=status:5xx+checkout", { query: "status:5xx checkout" }],
    ["q=8F14e45fceea167A-FRA", { query: "ray:8f14e45fceea167a" }],
    // Of addresses from before.
    ["text=8F14e45fceea167A-FRA", { query: "ray:8f14e45fceea167a" }],
    ["ray_id=8f14e45fceea167a", { query: "ray:8f14e45fceea167a" }],
    ["text=say+%22hi%22", { query: '"say \\"hi\\""' }],
    [
      "since=2100-11-20+10:30&until=2100-11-20T11:00%2B01:00",
      { since: "2100-11-20T10:30:00.000Z", until: "2100-11-20T10:00:00.000Z" },
    ],
    ["since=2100-11-20", { since: "2100-11-20T00:00:00.000Z" }],
    ["last=own", { since: "2100-11-20T11:00:00.000Z" }],
    ["at=yesterday+15:00", { since: "2100-11-19T14:45:00.000Z", until: "2100-11-19T15:15:00.000Z" }],
    ["at=15:00&zone=Europe/Berlin", { since: "2100-11-19T13:45:00.000Z", until: "2100-11-19T14:15:00.000Z" }],
    // What another choice of time left in the form.
    ["last=24h&since=x&until=x&at=x&zone=x", { since: "2100-11-19T12:00:00.000Z", until: "2100-11-20T12:00:00.000Z" }],
    ["slower=250", { query: "took:>=250" }],
    ["last=never", { since: "2100-11-20T11:00:00.000Z" }],
    ["outcome=canceled", { filter: '{"where":{"key":"Outcome","operator":"eq","value":"canceled"}}' }],
    ["order=oldest&cursor=abc", { order: "oldest", cursor: "abc" }],
  ])("%s asks for %j", (query, part) => {
    expect(questionOf(asked(query), NOON)).toMatchObject(part);
  });

  it("gets a condition with each value that is clicked, beside those that it has", () => {
    const once = narrowed(asked("q=a&cursor=x"), { key: "Outcome", operator: "eq", value: "ok" }, false);
    const twice = narrowed(once, { key: "Event.Response.Status", operator: "eq", value: 500 }, true);
    expect(new URL(searchPath(twice), "http://x").searchParams.get("filter")).toBe(
      '{"where":{"and":[{"key":"Outcome","operator":"eq","value":"ok"},{"key":"Event.Response.Status","operator":"!eq","value":500}]}}',
    );
    expect(searchPath(twice)).not.toContain("cursor");
  });
});

describe("the page Search", () => {
  it("asks nothing by itself, leaves no record out, and suggests what failed", async () => {
    setClock(NOON);
    const { html } = await (await Visitor.signedIn()).get("/search");
    expect(html).toMatch(/<option value="" selected[^>]*>any outcome/);
    expect(html).toContain('href="/search?outcome=failed&amp;last=1h"');
    expect(html).not.toContain('id="hits"');
  });

  it("shows what was found, the newest first, with where it is and what narrows it", async () => {
    const { job, visitor } = await shipped(3, { outcome: "exception", scriptName: "shop" });
    const { html, status } = await visitor.get("/search?outcome=failed&last=1h");
    expect(status).toBe(200);
    expect(html.match(/<details class="record"/g)).toHaveLength(3);
    expect(html).toContain(`href="/jobs/${job}/objects/1?skip=0#line-3"`);
    expect(textOf(html)).toContain("3 records. Searched 1 file (");
    expect(html).toContain("%22key%22%3A%22ScriptName%22%2C%22operator%22%3A%22%21eq%22%2C%22value%22%3A%22shop%22");
    const lines = [...html.matchAll(/objects\/1\?skip=0#line-(\d)/g)].map(([, line]) => line);
    expect(lines).toEqual(["3", "2", "1"]);
  });

  it("says when nothing is found, and when not all could be searched", async () => {
    const { visitor, clock } = await shipped(1);
    expect(textOf((await visitor.get("/search?q=nowhere&last=1h")).html)).toContain("Nothing found");
    await createJob(freshBucket().name, { output_options: { output_type: "csv", field_names: ["ScriptName"] } });
    clock.advance(1_000);
    await deliver(pack(new Oracle({ at: NOON, name: "b" }).mint(1), clock.nowMs()));
    expect(textOf((await visitor.get("/search?last=1h")).html)).toContain("its records are text/csv, not JSON");
  });

  it("leads on where nothing is found: each link leaves one condition out, or takes a longer time", async () => {
    const { visitor } = await shipped(1, { outcome: "ok", scriptName: "shop" });
    const waysOf = async (query: string) => {
      const { html } = await visitor.get(`/search?${query}`);
      const [, empty = ""] = /class="empty">([\s\S]*?)<\/div>/.exec(html) ?? [];
      return [...empty.matchAll(/<a href="([^"]*)">([^<]*)/g)].map(
        ([, href = "", label]) => [label, href.replaceAll("&amp;", "&")] as const,
      );
    };
    const hits = async (path: string) => (await visitor.get(path)).html.match(/<details class="record"/g)?.length ?? 0;

    const conditions = await waysOf("function=shop&outcome=failed&job=1&last=15m");
    expect(conditions.map(([label]) => label)).toEqual(["any outcome", "the last hour", "all Workers", "all jobs"]);
    const byOutcome = await waysOf("function=shop&outcome=failed&last=1h");
    expect(await Promise.all(byOutcome.map(([, href]) => hits(href)))).toEqual([1, 0, 0]);
    const [[label, wider] = []] = await waysOf("last=around&at=2100-11-20+13:00");
    expect([label, await hits(wider ?? "")]).toEqual(["60 min more before and after", 1]);
    expect(await waysOf("last=90d&q=nowhere")).toEqual([]);
  });

  it("shows how long each took", async () => {
    const { visitor } = await shipped(3, { scriptName: "shop" });
    const { html } = await visitor.get("/search?function=shop&last=1h");
    expect(textOf(html)).toMatch(/GET \/\S* shop\.example 7 ms shop/);
  });

  it("shows a record once, however many jobs ship it, with most fields", async () => {
    const clock = setClock(NOON);
    const jobs = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    const few = { output_options: { field_names: ["EventTimestampMs", "ScriptName", "Event", "Outcome"] } };
    jobs.push(await createJob(freshBucket().name, few));
    const [minted] = new Oracle({ at: NOON }).mint(1);
    // Two invocations that look the same are two.
    await deliver(pack([minted, minted] as never, NOON));
    for (const job of jobs) await settle(job, clock);
    const { html } = await (await Visitor.signedIn()).get("/search?last=1h");
    expect(html.match(/<details class="record"/g)).toHaveLength(2);
    expect(textOf(html)).toContain("2 records. Searched 3 files (");
    expect(textOf(html)).toContain(`Also in jobs ${jobs[1]}, ${jobs[2]}`);
  });

  it("goes on with a page of a hundred and one", async () => {
    const { visitor } = await shipped(101);
    const { html } = await visitor.get("/search?last=1h");
    expect(html.match(/<details class="record"/g)).toHaveLength(100);
    const more = /<a href="([^"]+cursor=[^"]+)">More/.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const rest = (await visitor.get(more)).html;
    expect(rest.match(/<details class="record"/g)).toHaveLength(1);
  });

  it("goes on by a form where the address would be too long, and gives its records so", async () => {
    const { visitor } = await shipped(101);
    const filter = JSON.stringify({ where: { key: "Outcome", operator: "!in", value: ["x".repeat(5_000)] } });
    const fieldsOf = (html: string, action: string) => {
      const [, form = ""] =
        new RegExp(`<form method="post" action="${action}"[^>]*>(.*?)</form>`, "s").exec(html) ?? [];
      const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)];
      return Object.fromEntries(fields.map(([, name = "", value = ""]) => [name, value.replaceAll("&quot;", '"')]));
    };
    const first = await visitor.get(`/search?last=1h&filter=${encodeURIComponent(filter)}`);
    expect(first.html.match(/<details class="record"/g)).toHaveLength(100);
    expect(first.html).not.toContain("cursor=");
    const more = fieldsOf(first.html, "/search");
    expect(more.cursor).toMatch(/^\w/);
    const second = await visitor.submit("/search", more);
    expect(second.html.match(/<details class="record"/g)).toHaveLength(1);
    const file = await visitor.submit("/search/export", fieldsOf(second.html, "/search/export"));
    expect(file.html.trimEnd().split("\n")).toHaveLength(1);
  });

  it("is in the address after its form was sent, and shows the form again for a button of the builder", async () => {
    setClock(NOON);
    const visitor = await Visitor.signedIn();
    const form = "q=a&outcome=&last=1h&since=x&filter-was=%22%22";
    expect((await visitor.get(`/search?${form}`)).location).toBe("/search?q=a&last=1h");
    const { html, status } = await visitor.get(`/search?${form}&do=filter:add:0`);
    expect(status).toBe(200);
    expect(html).toContain('name="key-0"');
    expect(html).not.toContain('id="hits"');
  });

  it.each([
    ["since=teatime", "teatime is not a time or time zone"],
    ["at=15:00&zone=Mars", "Mars is not a time or time zone"],
    ["slower=fast&last=1h", "took is a time"],
    ["since=2100-11-20&until=2100-11-19", "until: must be later than since"],
    ["filter=%7B", "bad predicate"],
    ["job=99", "job not found"],
    ["q=say+%22a+b&last=1h", 'query, character 5: this quote is not closed say "a b Search for it as a phrase'],
  ])("says what is wrong with %s", async (query, words) => {
    setClock(NOON);
    const { html, status } = await (await Visitor.signedIn()).get(`/search?${query}`);
    expect([status, textOf(html).includes(words)]).toEqual([200, true]);
  });

  it("gives the records as a file", async () => {
    const { visitor } = await shipped(2);
    const { html, headers } = await visitor.get("/search/export?last=1h");
    expect(headers.get("content-disposition")).toContain("records.ndjson");
    expect(
      html
        .trimEnd()
        .split("\n")
        .map((line) => Object.keys(JSON.parse(line))[0]),
    ).toEqual(["CPUTimeMs", "CPUTimeMs"]);
  });

  it("says of which file the time is none", async () => {
    setClock(NOON);
    const { html, status } = await (await Visitor.signedIn()).get("/search/export?since=teatime");
    expect([status, textOf(html).includes("teatime is not a time")]).toEqual([400, true]);
  });

  it("repeats no long search in the links of each value", async () => {
    const { visitor } = await shipped(3);
    const links = async (filter: string) =>
      (await visitor.get(`/search?last=1h&filter=${encodeURIComponent(filter)}`)).html.match(/only with this value/g);
    const filter = (value: string) => JSON.stringify({ where: { key: "Outcome", operator: "!in", value: [value] } });
    expect((await links(filter("x")))?.length).toBeGreaterThan(10);
    expect(await links(filter("x".repeat(1_000)))).toBeNull();
  });

  it("shows stacks below what was thrown, and those of logged errors below their line", () => {
    const error = (Log: number, stack: string) => ({ Log, Argument: 0, name: "E", message: "m", stack });
    const record = {
      EventTimestampMs: NOON,
      Exceptions: ["A", "B"].map((name) => ({ name, message: "m", TimestampMs: NOON })),
      ExceptionStacks: ["at a.js", ""],
      Logs: ["one", "two", "three"].map((text) => ({ Level: "log", Message: [text], TimestampMs: NOON })),
      LogErrors: [error(1, `at two.js ${HOSTILE}`), error(1, "at too.js"), error(2, "")],
    };
    const html = `${RecordDetails({ id: "r", record })}`;
    const [thrown, lines] = [/<ul class="thrown">.*?<\/ul>/s, /<table class="logged">.*?<\/table>/s].map(
      (part) => part.exec(html)?.[0] ?? "",
    );
    expect(thrown?.split("<li>").map((each) => each.match(/<pre>/g)?.length ?? 0)).toEqual([0, 1, 0]);
    expect(textOf(thrown ?? "")).toContain("at a.js");
    const rows = lines?.split(/<tr[^>]*>/).slice(1) ?? [];
    expect(rows.map((each) => each.match(/<pre>/g)?.length ?? 0)).toEqual([0, 2, 0]);
    expect(textOf(rows[1] ?? "")).toMatch(/two.*at two\.js.*at too\.js/s);
    expect(html).not.toMatch(OBEYED);
    // Where none is shipped, the page says why.
    const { ExceptionStacks: _, ...without } = record;
    const missing =
      "No stack, as the field ExceptionStacks is not shipped. To ship it, name it in the setting EXTRA_FIELDS , and tick it in the form of job 3 .";
    const told = (one: { [name: string]: unknown }) =>
      textOf(`${RecordDetails({ id: "r", record: one, job: 3 })}`).includes(missing);
    expect([record, without, { Exceptions: [] }].map(told)).toEqual([false, true, false]);
  });

  it("escapes what records and addresses hold", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    const minted = new Oracle({ at: NOON }).mint(1);
    const [first] = minted;
    const hostile = {
      ...first,
      event: {
        ...first?.event,
        ScriptName: HOSTILE,
        Logs: [{ Level: HOSTILE, Message: [HOSTILE], TimestampMs: NOON }],
      },
    };
    await deliver(pack([hostile as (typeof minted)[number]], NOON));
    await settle(job, clock);
    const visitor = await Visitor.signedIn();
    const { html } = await visitor.get(`/search?last=1h&function=${encodeURIComponent(HOSTILE)}`);
    expect(html).toMatch(/<details class="record"/);
    expect(html).not.toMatch(OBEYED);
  });
});
