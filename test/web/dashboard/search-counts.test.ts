/** The counts of a search: the histogram, values beside it, and how they go on. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { askedOf, exactly, searchPath, withValue } from "../../../src/web/dashboard/pages/search/address.ts";
import { Facets, slotsOf } from "../../../src/web/dashboard/pages/search/figures.tsx";
import { Sums } from "../../../src/web/dashboard/pages/search/sums.ts";
import { type MintOptions, Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";
import { IMAGE, OBEYED, SCRIPT, STEERING } from "./hostile.ts";
import { textOf, Visitor } from "./support.ts";

afterEach(() => void vi.restoreAllMocks());

const asked = (query: string) => askedOf(new URLSearchParams(query)) ?? expect.unreachable("nothing is asked");

/** The hour before and after the events of these tests. */
const SPAN = exactly(NOON - 3_600_000, NOON + 3_600_000);
const counts = (query = "") =>
  searchPath({ ...asked(`last=1h&${query}`), ...SPAN }).replace("/search", "/search/counts");

/** A filter that keeps every record of these tests. */
const LONG = JSON.stringify({ where: { key: "Outcome", operator: "!in", value: ["x".repeat(5_000)] } });

/** Objects of one job, one for each list of events. */
async function shipped(...objects: (MintOptions & { count: number; fields?: object })[]) {
  const clock = setClock(NOON);
  const job = await createJob(freshBucket().name);
  const oracle = new Oracle({ at: NOON });
  for (const { count, fields, ...options } of objects) {
    const minted = oracle.mint(count, options).map((each) => ({ ...each, event: { ...each.event, ...fields } }));
    await deliver(pack(minted, NOON));
    await settle(job, clock);
  }
  return { job, clock, visitor: await Visitor.signedIn() };
}

const hrefsIn = (html: string) =>
  [...html.matchAll(/href="([^"]*)"/g)].map(([, href = ""]) => href.replaceAll("&amp;", "&"));
const queriesIn = (html: string) => hrefsIn(html).map((href) => new URL(href, "http://x").searchParams.get("q") ?? "");
const totalIn = (html: string) => Number(/<strong>([\d,]+)<\/strong> record/.exec(html)?.[1]?.replaceAll(",", ""));

/** Follows the link, or the form, by which a count goes on; null: there is none. */
async function goOn(visitor: Visitor, html: string): Promise<string | null> {
  const link = /<a href="([^"]*)" data-go="auto">Go on counting/.exec(html)?.[1];
  if (link !== undefined) return (await visitor.get(link.replaceAll("&amp;", "&"))).html;
  const [, form] = /<form method="post" action="\/search\/counts"[^>]* data-go="auto">(.*?)<\/form>/s.exec(html) ?? [];
  if (form === undefined) return null;
  const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = "", value = ""]) => [
    name,
    value.replaceAll("&quot;", '"'),
  ]);
  return (await visitor.submit("/search/counts", Object.fromEntries(fields))).html;
}

it("versions of the Worker that is asked for stand where they were first seen; of an unknown one none do", async () => {
  const of = { ScriptVersion: { ID: "bbbbbbbb-2", Message: "", Tag: "v42" } };
  const { visitor } = await shipped({ count: 2, scriptName: "checkout", fields: of });
  const marked = async (query: string) => (await visitor.get(counts(query))).html;
  const html = await marked("function=checkout");
  expect(html.match(/<rect class="tone-mark"/g)).toHaveLength(1);
  expect(textOf(html)).toContain("v42 first seen 2100-11-20 12:00 UTC");
  expect(totalIn(html)).toBe(2);
  for (const query of ["", "function=unknown"]) expect(await marked(query)).not.toContain('class="tone-mark"');
});

describe("what a value adds to a search", () => {
  it.each([
    ["", "worker", "shop", false, "worker:shop"],
    ["card", "status", 500, true, "card -status:500"],
    ["a OR b", "status", 500, false, "(a OR b) status:500"],
    ["(a OR b) c", "level", "error", false, "(a OR b) c level:error"],
    ["", "Event.Queue", "two words", false, 'Event.Queue:"two words"'],
    ["", "Fields.say", 'a "b" *', false, 'Fields.say:"a \\"b\\" *"'],
    // Records without a value.
    ["", "status", null, false, "-status:*"],
    ["", "status", null, true, "status:*"],
    // A value that was cut begins so.
    ["", "path", `${"x".repeat(256)}…`, false, `path:"${"x".repeat(256)}"*`],
  ])("%j and %s of %j", (q, name, value, isAgainst, expected) => {
    expect(withValue(asked(`last=1h&q=${encodeURIComponent(q)}&cursor=x`), name, value, isAgainst)).toMatchObject({
      q: expected,
      cursor: "",
    });
  });

  it("is nothing where the query would be too long", () => {
    expect(withValue(asked(`last=1h&q=${"x".repeat(1_995)}`), "status", 500, false)).toBeNull();
  });
});

describe("the slots of a histogram", () => {
  it.each([
    ["15 minutes", 900, "15s", 60],
    ["an hour", 3_600, "1m", 60],
    ["a day", 86_400, "30m", 48],
    ["7 days", 7 * 86_400, "3h", 56],
    ["30 days", 30 * 86_400, "12h", 60],
    ["90 days", 90 * 86_400, "1d", 45],
    ["three years", 1_095 * 86_400, "1d", 58],
    ["a minute", 60, "1s", 60],
  ])("of %s", (_of, seconds, every, bars) => {
    const slots = slotsOf({ sinceMs: NOON, untilMs: NOON + seconds * 1_000 });
    expect([slots.every, Math.ceil((seconds * 1_000) / slots.barMs)]).toEqual([every, bars]);
  });
});

describe("the counts of a search", () => {
  it("are of all records, not of those on the page, and lead to the records of each bar and value", async () => {
    const { visitor } = await shipped(
      { count: 130, scriptName: "shop" },
      { count: 20, outcome: "exception", scriptName: "cart" },
    );
    const { html } = await visitor.get(counts());
    expect(totalIn(html)).toBe(150);
    expect(textOf(html)).toContain("ok 130 ■ failed 20 ■ other 0");
    expect(textOf(html)).toContain(
      "150 records from 2100-11-20 11:00 to 2100-11-20 13:00 UTC, 20 failed, 0 with another outcome. The first: 2100-11-20 12:00 UTC.",
    );
    const [, facets = ""] = /id="facets"(.*)<\/section>/s.exec(html) ?? [];
    expect(textOf(facets)).toMatch(
      /outcome ok 130 .* exception 20 .*worker shop 130 .* cart 20 .*status 200 150 .*level log 150/,
    );
    expect(queriesIn(facets)).toEqual(
      expect.arrayContaining(["worker:cart", "-worker:cart", "status:200", "-level:log", "outcome:exception"]),
    );
    const [bar = ""] = [...html.matchAll(/<a href="([^"]*)" tabindex="-1">/g)].map(([, href = ""]) =>
      href.replaceAll("&amp;", "&"),
    );
    expect(totalIn((await visitor.get(bar.replace("/search", "/search/counts"))).html)).toBe(150);
    const cart = hrefsIn(facets).find((href) => href.includes("q=worker%3Acart")) ?? "";
    expect((await visitor.get(cart)).html.match(/<details class="record"/g)).toHaveLength(20);
  });

  it("are asked for by the page of a search, for its time, and not again with each page of hits", async () => {
    const { visitor, clock } = await shipped({ count: 101 });
    const { html } = await visitor.get("/search?last=1h");
    expect(html.match(/<details class="record"/g)).toHaveLength(100);
    const [, href = ""] = /<a href="([^"]*)" data-go="auto">Count all records/.exec(html) ?? [];
    clock.advance(3_600_000);
    expect(totalIn((await visitor.get(href.replaceAll("&amp;", "&"))).html)).toBe(101);
    clock.advance(-3_600_000);
    const more = /<a href="([^"]+cursor=[^"]+)">More/.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect((await visitor.get(more)).html).toContain('data-go="asked">Count all records');
  });

  it("are drawn while they come for the script of the page", async () => {
    const { visitor } = await shipped({ count: 3 });
    const { html } = await visitor.get(counts(), { "x-logship-refresh": "1" });
    const pieces = html.split("<!--piece-->").slice(0, -1);
    expect(pieces.length).toBeGreaterThan(0);
    for (const piece of pieces) expect(piece).toMatch(/<div id="figures">.*<section[^>]* id="facets"/s);
    expect(totalIn(pieces.at(-1) ?? "")).toBe(3);
  });

  it("have values of pinned names: of fields, and of logged objects", async () => {
    const at = (customer: number) => ({
      Logs: [{ Level: "log", Message: [JSON.stringify({ customer, plan: { name: "gold" } })], TimestampMs: NOON }],
    });
    const { visitor } = await shipped({ count: 2, fields: at(4711) }, { count: 1, fields: at(4712) });
    const { html } = await visitor.get("/search?last=1h&pins=Event.Request.Method");
    const pinnable = [...html.matchAll(/form="pin" name="pins" value="([^"]*)"/g)].map(([, name]) => name);
    expect(pinnable).toEqual(expect.arrayContaining(["Fields.customer", "Fields.plan.name", "Event.Request.URL"]));
    for (const counted of ["Outcome", "ScriptName", "Event.Response.Status", "Event.Request.Method"])
      expect(pinnable).not.toContain(counted);
    expect(html).toMatch(
      /<form method="get" action="\/search" id="pin" hidden=""><input type="hidden" name="last" value="1h".*name="pins" value="Event.Request.Method"/,
    );
    // As that form sends it.
    const figures = await visitor.get(counts("pins=Event.Request.Method&pins=Fields.customer"));
    expect(textOf(figures.html)).toMatch(
      /Event\.Request\.Method Unpin .* GET 3 .*Fields\.customer Unpin .* 4711 2 .* 4712 1/,
    );
    expect(
      hrefsIn(figures.html).some(
        (href) => href.includes("pins=Fields.customer&") || href.endsWith("pins=Fields.customer"),
      ),
    ).toBe(true);
    expect(queriesIn(figures.html)).toContain("Fields.customer:4711");
    const one = hrefsIn(figures.html).find((href) => href.includes("q=Fields.customer%3A4712")) ?? "";
    expect((await visitor.get(one)).html.match(/<details class="record"/g)).toHaveLength(1);
  });

  it("tell how many values there are where not all are shown", () => {
    const shown = (n: number, more: object = {}): string => {
      const values = [
        ...Array.from({ length: n }, (_, i) => ({ value: `v${i}`, records: 2 })),
        { value: null, records: 1 },
      ];
      const facet = { name: "worker", values, other: 0, overflow: false, ...more };
      return textOf(`${Facets({ facets: [facet], asked: asked("last=1h") })}`);
    };
    expect(shown(8)).not.toContain("8 values");
    expect(shown(23)).toContain("worker 23 values");
    expect(shown(23, { other: 4 })).toContain("worker over 23 values");
    expect(shown(23, { overflow: true })).toContain("worker over 23 values");
  });

  it("pin only names that can be counted, and not those that are", () => {
    const pins = "nope,Event.Queue,status,,Event.Queue,Fields.a,Fields.b,Fields.c,Fields.d,Fields.e,Fields.f";
    expect(asked(`last=1h&pins=${pins}`).pins).toBe("Event.Queue,Fields.a,Fields.b,Fields.c,Fields.d,Fields.e");
  });

  it("are asked for where they take long: what they would read, and how long that is", async () => {
    const { visitor, job } = await shipped({ count: 3 });
    await runInDurableObject(nodeAt(env.READERS, job, 0), (_reader, { storage }) =>
      storage.sql.exec("UPDATE object SET raw_bytes = 3000000000, bytes = 1200000000, records = 2000000").toArray(),
    );
    const { html } = await visitor.get(counts());
    expect(totalIn(html)).toBeNaN();
    expect(textOf(html)).toContain(
      "1 file with about 2,000,000 records have to be read: 1.2 GB, 3.0 GB before compression.",
    );
    const [, href = "", label] = /<a href="([^"]*)" data-go="asked">(Count all[^<]*)/.exec(html) ?? [];
    expect(label).toBe("Count all: about 1.2 GB, 32 s");
    expect(href).toContain("all=1");
  });

  it.each([
    ["a link", ""],
    ["a form, where an address would be too long", `&filter=${encodeURIComponent(LONG)}`],
  ])("go on by %s, with the sums so far, until all is counted", async (_way, more) => {
    const { visitor } = await shipped(
      { count: 3, scriptName: "shop" },
      { count: 2, scriptName: "cart", outcome: "exception" },
      { count: 4, scriptName: "shop" },
    );
    // Whenever an answer looks whether its time is over, it is: it reads one object.
    const isLate = (): boolean => new Error().stack?.includes("#isLate") === true;
    vi.spyOn(platform, "now").mockImplementation(() => NOON + 3_600_000 + (isLate() ? 31_000 : 0));
    const start = counts(`pins=Event.Request.Method${more}`);
    let html = (await visitor.get(`${start}&all=1`)).html;
    const totals = [totalIn(html)];
    for (let next = await goOn(visitor, html); next !== null; next = await goOn(visitor, html)) {
      expect(textOf(html)).toContain(" so far; complete from 2100-11-20 12:");
      expect(html).toContain('class="unknown"');
      html = next;
      totals.push(totalIn(html));
      expect(totals.length).toBeLessThan(5);
    }
    expect(totals.length).toBeGreaterThan(1);
    expect([...totals].sort((a, b) => a - b)).toEqual(totals);
    expect(totals.at(-1)).toBe(9);
    expect(textOf(html)).not.toContain("so far");
    expect(html).not.toContain('class="unknown"');
    expect(textOf(html)).toMatch(/ok 7 ■ failed 2 .*worker shop 7 .*cart 2 .*Event\.Request\.Method Unpin .*GET 9/);
    expect(textOf(html)).toContain("9 records. Searched 3 files");
  });

  it.each(["", "bm8", "x".repeat(1_000)])("do not go on with %j as the sums so far", async (soFar) => {
    setClock(NOON);
    const { html, status } = await (await Visitor.signedIn()).get(`${counts()}&cursor=x&so_far=${soFar}`);
    expect([status, textOf(html).includes("the sums so far are those of another count")]).toEqual([200, true]);
  });

  it.each([
    ["since=teatime", "teatime is not a time or time zone"],
    ["last=1h&q=%28a", "this bracket is not closed"],
  ])("say what is wrong with %s", async (query, words) => {
    setClock(NOON);
    const { html } = await (await Visitor.signedIn()).get(`/search/counts?${query}`);
    expect(textOf(html)).toContain(words);
  });

  it("escape the values of records", async () => {
    const hostile = `${SCRIPT}${IMAGE}${STEERING}`;
    const { visitor } = await shipped({ count: 2, scriptName: hostile, outcome: hostile });
    const { html } = await visitor.get(counts(`pins=${encodeURIComponent(`Fields.${hostile}`)}`), {
      "x-logship-refresh": "1",
    });
    expect(totalIn(html.split("<!--piece-->").at(-2) ?? "")).toBe(2);
    expect(html).not.toMatch(OBEYED);
  });
});

describe("the sums of a count", () => {
  const answer = (n: number) => ({
    rows: [
      { by: ["ok"], time: "2100-11-20T12:00:00.000Z", values: [n] },
      { by: ["canceled"], values: [1] },
    ],
    facets: [
      {
        name: "path",
        values: Array.from({ length: n }, (_, i) => ({ value: `/${i}`, records: i + 1 })),
        other: 0,
        overflow: false,
      },
    ],
  });

  it("add up, go from answer to answer as a text, and keep the most frequent values of many", () => {
    const first = new Sums(["path"]).with(answer(3_000));
    const text = first.write();
    const kept = Sums.read(text, ["path"]) ?? expect.unreachable("it is none");
    expect(text.length).toBeLessThan(250_000);
    const [facet] = kept.facets;
    expect([facet?.values[0], facet?.values.length, facet?.overflow]).toEqual([
      { value: "/2999", records: 3_000 },
      200,
      true,
    ]);
    const records = (facet?.other ?? 0) + (facet?.values ?? []).reduce((sum, each) => sum + each.records, 0);
    expect(records).toBe((3_000 * 3_001) / 2);
    const sum = kept.with(answer(2));
    expect([sum.total, sum.ends, sum.facets[0]?.values.at(-1)]).toEqual([
      3_004,
      [3_002, 0, 2],
      { value: "/0", records: 1 },
    ]);
  });

  it("keep fewer of long ones", () => {
    const long = {
      rows: [],
      facets: answer(300).facets.map((each) => ({
        ...each,
        values: each.values.map(({ records }) => ({ value: `${records}${"界".repeat(250)}`, records })),
      })),
    };
    const text = Array.from({ length: 10 }, (_, i) => `Fields.${i}`);
    const sums = new Sums(text).with({ rows: [], facets: text.flatMap(() => long.facets) });
    const written = sums.write();
    expect(written.length).toBeLessThan(250_000);
    expect(Sums.read(written, text)?.facets[0]?.values.length).toBeGreaterThan(5);
  });

  it("are none of other names", () => {
    expect(Sums.read(new Sums(["path"]).write(), ["path", "status"])).toBeNull();
  });
});
