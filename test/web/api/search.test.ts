/** Searches over HTTP: in objects of the store, and in what waits. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type Cursor, writeCursor } from "../../../src/operate/search/cursor.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { searchAll, searchFor } from "../../operate/search/searched.ts";
import { type MintOptions, Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { call, errorsOf } from "./harness.ts";

const HOUR_MS = 3_600_000;

async function shipping(fields: object = {}) {
  const clock = setClock(NOON);
  const bucket = freshBucket();
  const job = await createJob(bucket.name, fields);
  const oracle = new Oracle({ at: NOON });
  const since = new Date(NOON - HOUR_MS).toISOString();
  const until = new Date(NOON + HOUR_MS).toISOString();
  return {
    job,
    clock,
    control: bucket.control,
    span: { since, until },
    /** Events, in one append. */
    async take(count: number, options: MintOptions = {}) {
      const minted = oracle.mint(count, { at: clock.nowMs(), ...options });
      await deliver(pack(minted, clock.nowMs()));
      return minted;
    },
    settle: () => settle(job, clock),
    ask: (question: object = {}) => searchFor({ since, until, ...question }),
  };
}

const linesOf = (hits: readonly { record: object }[]): string[] =>
  hits.map(({ record }) => JSON.stringify(record)).sort();

describe("POST /search", () => {
  it("finds what waits, and the same when it is cut and when it is delivered", async () => {
    const { take, ask, settle, clock } = await shipping();
    await take(7);
    const open = await ask();
    expect(open.type).toBe("application/x-ndjson");
    expect(open.hits.map(({ object, line }) => [object, line]).sort()).toEqual(
      [1, 2, 3, 4, 5, 6, 7].map((line) => [null, line]),
    );
    expect(open.end).toEqual({ type: "end", complete: true, cursor: null, not_searched: [] });
    expect(open.progress.at(-1)).toMatchObject({ objects: 1, read: 1, skipped: 0, bytes_read: 0, records: 7 });
    await settle();
    clock.advance(1);
    const delivered = await ask();
    expect(linesOf(delivered.hits)).toEqual(linesOf(open.hits));
    expect(new Set(delivered.hits.map(({ object }) => object))).toEqual(new Set([1]));
    expect(delivered.progress.at(-1)?.bytes_read).toBeGreaterThan(0);
  });

  it("reads only the objects whose sketches do not exclude a hit", async () => {
    const { take, ask, settle } = await shipping();
    for (const scriptName of ["shop-a", "shop-b", "shop-c", "cart"]) {
      await take(3, { scriptName });
      await settle();
    }
    const filter = JSON.stringify({ where: { key: "ScriptName", operator: "eq", value: "shop-c" } });
    const found = await ask({ filter });
    expect(found.hits.map(({ record }) => record.ScriptName)).toEqual(["shop-c", "shop-c", "shop-c"]);
    expect(found.progress.at(-1)).toMatchObject({ objects: 4, read: 1, skipped: 3, records: 3 });
    expect(found.progress.at(-1)?.sketch_bytes).toBeGreaterThan(0);
    const text = await ask({ text: "HOP-" });
    expect([text.hits.length, text.progress.at(-1)?.read]).toEqual([9, 4]);
  });

  it.each(["ndjson", "parquet"])(
    "finds rows of log lines, where they wait and where they are delivered: %s",
    async (output_type) => {
      const { take, ask, settle } = await shipping({ output_options: { output_type, rows: "log" } });
      const [first] = await take(4);
      const text = first?.id ?? "";
      const filter = JSON.stringify({ where: { key: "ScriptName", operator: "eq", value: "shop" } });
      const open = await ask({ text, filter });
      expect(open.hits).toMatchObject([{ object: null, line: 1, record: { RowType: "log", Message: text } }]);
      await settle();
      expect((await ask({ text, filter })).hits).toMatchObject([{ object: 1, line: 1, record: open.hits[0]?.record }]);
      expect((await ask({ text: "no such line" })).progress.at(-1)).toMatchObject({ objects: 1, read: 0, skipped: 1 });
    },
  );

  it("finds by a query: words, fields, and what was logged, and reads no object that cannot have it", async () => {
    const { take, ask, settle } = await shipping();
    for (const [scriptName, outcome] of [
      ["shop-a", "ok"],
      ["shop-b", "exception"],
    ] as const) {
      await take(2, { scriptName, outcome });
      await settle();
    }
    const found = async (question: object) => {
      const { hits, progress } = await ask(question);
      return [hits.map(({ record }) => record.ScriptName), progress.at(-1)?.read];
    };
    expect(await found({ query: "SHOP-A get" })).toEqual([["shop-a", "shop-a"], 1]);
    expect(await found({ query: "shop-a* get" })).toEqual([["shop-a", "shop-a"], 2]);
    expect(await found({ query: "worker:shop-b -outcome:ok status:2xx" })).toEqual([["shop-b", "shop-b"], 1]);
    expect(await found({ query: "worker:shop-a OR worker:shop-c" })).toEqual([["shop-a", "shop-a"], 1]);
    expect(await found({ query: "worker:shop-*", text: "hop-b" })).toEqual([["shop-b", "shop-b"], 2]);
    expect(await found({ query: "status:5xx" })).toEqual([[], 2]);
  });

  it("points at the fault of a query", async () => {
    setClock(NOON);
    const { status, body } = await call("POST", "/logship/search", { query: 'path:/a "b' });
    expect([status, body.errors]).toEqual([
      400,
      [
        {
          code: 1004,
          message: "query, character 9: this quote is not closed",
          source: { pointer: "/query", at: 8 },
        },
      ],
    ]);
  });

  it("reads all objects of a job that keeps no sketches, and finds the same", async () => {
    const { take, ask, settle } = await shipping({ sketches: false });
    await take(3);
    await settle();
    await take(3);
    await settle();
    const { hits, progress } = await ask({ ray_id: "0000000000000000" });
    expect([hits.length, progress.at(-1)?.read, progress.at(-1)?.skipped]).toEqual([0, 2, 0]);
  });

  it("asks a store that gives nothing for a few objects alone, and names all", async () => {
    const { take, ask, settle, control, job } = await shipping();
    for (let i = 0; i < 12; i++) {
      await take(1);
      await settle();
    }
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "GET" })]);
    const before = (await control.requests()).length;
    const { hits, end } = await ask();
    expect(hits).toEqual([]);
    // Four at once.
    expect((await control.requests()).length - before).toBeLessThanOrEqual(6);
    expect(JSON.stringify(end.not_searched)).toContain("skipped, because the store had refused");
    const named = end.not_searched.reduce((sum, { what }) => sum + Number(/^(\d+) objects/.exec(what)?.[1] ?? 1), 0);
    expect([named, job]).toEqual([12, job]);
  });

  it("says of which time objects are on no list any more", async () => {
    const { ask, clock } = await shipping();
    const since = new Date(clock.nowMs() - 31 * 24 * HOUR_MS).toISOString();
    const { end } = await ask({ since });
    expect(end).toMatchObject({
      complete: false,
      not_searched: [{ what: "a part of the time", why: expect.stringContaining("are no longer listed") }],
    });
  });

  it("lets a caller have two searches at once", async () => {
    setClock(NOON);
    const control = controlPlane(env.CONTROL);
    expect([await control.beginSearch("admin admin", "a"), await control.beginSearch("admin admin", "b")]).toEqual([
      true,
      true,
    ]);
    const refused = await call("POST", "/logship/search", {});
    expect([refused.status, errorsOf(refused)[0]?.[2]]).toEqual([
      429,
      "2 of your searches are running; repeat the request when one has ended",
    ]);
    // What an estimate takes is no less.
    expect((await call("POST", "/logship/search", { dry_run: true })).status).toBe(429);
    await control.endSearch("admin admin", "a");
    expect((await call("POST", "/logship/search", { dry_run: true })).status).toBe(200);
    expect((await call("POST", "/logship/search", {})).status).toBe(200);
    expect((await call("POST", "/logship/search", {})).status).toBe(200);
  });

  it("is not in the audit", async () => {
    setClock(NOON);
    expect((await call("POST", "/logship/search", { dry_run: true })).status).toBe(200);
    expect((await call("GET", "/logship/audit")).body.result).toEqual([]);
  });

  it("names the jobs that cannot be searched", async () => {
    const csv = await shipping({ output_options: { output_type: "csv", field_names: ["ScriptName"] } });
    await csv.take(2);
    const { hits, end } = await csv.ask();
    expect(hits).toEqual([]);
    expect(end).toMatchObject({
      complete: false,
      not_searched: [
        { what: `job ${csv.job}`, why: "its records are text/csv, not JSON: a reader searches them", job: csv.job },
      ],
    });
  });

  it("says what it would read, and reads no object, with dry_run", async () => {
    const { take, settle, control, span } = await shipping();
    await take(3);
    await settle();
    const before = (await control.requests()).length;
    const { status, body } = await call<object>("POST", "/logship/search", { ...span, dry_run: true });
    expect([status, (await control.requests()).length]).toEqual([200, before]);
    expect(body.result).toMatchObject({ objects: 1, skipped: 0, records: 3, not_searched: [] });
  });

  it.each([
    [{ since: "2100-11-20T12:00:00Z", until: "2100-11-20T11:00:00Z" }, "until: must be later than since"],
    [{ filter: "{" }, "bad predicate: not valid JSON"],
    [{ filter: '{"where":{"key":"Nope","operator":"eq","value":"x"}}' }, 'unknown field "Nope"'],
    [{ cursor: "bm8" }, "cursor: does not belong to this search"],
    [{ ray_id: "-FRA" }, "ray_id: is empty, or has nothing before its hyphen"],
    [{ ray_id: " " }, "ray_id: is empty"],
    [{ limit: 0 }, "limit"],
    [{ limit: 1_001 }, "limit"],
    [{ order: "best" }, "order"],
    [{ text: "x".repeat(1_001) }, "text"],
    [{ query: "x".repeat(2_001) }, "query"],
    [{ query: "status:teapot" }, "status is a number"],
    [{ unknown: 1 }, "unknown"],
  ])("refuses %j", async (question, words) => {
    setClock(NOON);
    const answer = await call("POST", "/logship/search", question);
    expect(answer.status).toBe(400);
    expect(errorsOf(answer).join()).toContain(words);
  });

  it("goes on with a search that begins before 1970", async () => {
    const { take, settle, span } = await shipping();
    await take(3);
    await settle();
    const pages = await searchAll({ ...span, since: "1969-12-31T23:00:00Z", limit: 2 });
    expect(pages.map(({ hits }) => hits.length)).toEqual([2, 1]);
  });

  it("takes the longest cursor that it gives, and gives none that it would not take", async () => {
    setClock(NOON);
    const span = { since: new Date(NOON - HOUR_MS).toISOString(), until: new Date(NOON).toISOString() };
    const question = JSON.stringify([span.since, span.until, undefined, undefined, undefined, undefined, "newest"]);
    const cursorOf = (count: number) => {
      const done = Array.from({ length: count }, (_, i): Cursor["done"][number] => [
        [9_999, 4_095, 9_000_000 + i],
        [NOON, 9_999, 4_095, 9_000_000 + i, 1_000_000, ""],
        NOON - HOUR_MS,
      ]);
      const times = { sinceMs: NOON - HOUR_MS, untilMs: NOON };
      return writeCursor({ cursor: { after: null, done }, span: times, lacks: false, jobs: undefined }, question);
    };
    expect(cursorOf(4_001)).toBeNull();
    const cursor = cursorOf(4_000) ?? "";
    expect(cursor.length).toBeGreaterThan(400_000);
    expect((await searchFor({ ...span, cursor })).end).toMatchObject({ complete: true, cursor: null });
  });

  it("refuses a cursor of another question, and a job that is not there", async () => {
    const { take, span, settle } = await shipping();
    await take(3);
    await settle();
    const { end } = await searchFor({ ...span, limit: 1 });
    const other = await call("POST", "/logship/search", { ...span, text: "x", limit: 1, cursor: end.cursor });
    expect(other.status).toBe(400);
    expect((await call("POST", "/logship/search", { job_id: 999 })).status).toBe(404);
  });
});

describe("GET /jobs/{id}/objects with a time", () => {
  it("lists the objects that have events of it, page by page from both ends", async () => {
    const { take, settle, clock, job } = await shipping();
    const begins: number[] = [];
    for (let i = 0; i < 4; i++) {
      begins.push(clock.nowMs());
      await take(3);
      await settle();
      clock.advance(HOUR_MS);
    }
    const [, second, third, fourth] = begins as [number, number, number, number];
    const list = async (query: string) => {
      const { status, body } = await call<{ number: number }[]>("GET", `/logship/jobs/${job}/objects?${query}`);
      return [status, body.result?.map(({ number }) => number), body.result_info?.total_count];
    };
    const time = (ms: number) => new Date(ms).toISOString();
    expect(await list(`since=${time(second)}&until=${time(fourth)}`)).toEqual([200, [2, 3], 2]);
    expect(await list(`since=${time(third + 1)}`)).toEqual([200, [3, 4], 2]);
    expect(await list(`until=${time(second + 1)}&limit=1`)).toEqual([200, [1], 2]);
    expect(await list(`until=${time(second + 1)}&after=1`)).toEqual([200, [2], 1]);
    expect(await list(`since=${time(second)}&before=4`)).toEqual([200, [3, 2], 3]);
    expect((await list("since=yesterday"))[0]).toBe(400);
  });
});
