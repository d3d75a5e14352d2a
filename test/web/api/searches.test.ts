/** Saved searches over the API: whose they are, what is refused, and what the audit has of them. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { TraceLog } from "../../../src/index.ts";
import { readSnapshot } from "../../../src/ship/job/snapshot.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { SEARCH_ALERTS_MAX, SEARCHES_MAX } from "../../../src/state/control/saved-searches.ts";
import { NOON, setSteadyClock } from "../../support/runtime/pipeline.ts";
import { type CallOptions, call } from "./harness.ts";

beforeEach(() => {
  for (const how of ["error", "warn"] as const) vi.spyOn(console, how).mockImplementation(() => {});
  setSteadyClock(NOON);
});

interface Said {
  id: number;
  name: string;
  query: string;
  alert: object | null;
  owner: string;
  cost: object | null;
  counts?: { total: number } | null;
}

const ALERT = { threshold: 10, over: "5m" };
const BODY = { name: "Checkout fails", query: "status:5xx", alert: ALERT };

const save = (body: object = BODY, options: CallOptions = {}) => call<Said>("POST", "/logship/searches", body, options);

async function tokenOf(name: string, ...permissions: string[]): Promise<CallOptions> {
  const made = await call<{ value: string }>("POST", "/tokens", { name, permissions });
  expect(made.status, JSON.stringify(made.body.errors)).toBe(201);
  return { headers: { authorization: `Bearer ${made.body.result.value}` } };
}

const alerted = async () => readSnapshot((await controlPlane(env.CONTROL).configSince("")) as unknown)?.searches;

describe("a saved search", () => {
  it("is made, read, listed, changed and deleted; with an alert, those who count have it", async () => {
    const made = await save();
    expect(made.status).toBe(201);
    const { id } = made.body.result;
    expect(made.body.result).toMatchObject({
      ...{ name: "Checkout fails", query: "status:5xx", owner: "Admin token" },
      alert: { measure: { op: "count" }, threshold: 10, when: "at_least", over: "5m", for: "0m", severity: "warning" },
      cost: { cpu_us_per_record: expect.any(Number), usd_per_million_events: expect.any(Number) },
    });
    expect((await call<Said>("GET", `/logship/searches/${id}`)).body.result.counts).toMatchObject({
      total: 0,
      value: 0,
    });
    expect((await call("GET", "/logship/searches")).body.result).toMatchObject([
      { id, counts: { since: new Date(NOON).toISOString(), total: 0, value: 0, standing: "well" } },
    ]);
    const [before] = (await alerted()) ?? [];
    expect(before).toMatchObject({ id, sinceMs: NOON, alert: { overMs: 300_000, forMs: 0 } });
    const change = (body: object) => call<Said>("PUT", `/logship/searches/${id}`, body);
    expect((await change({ ...BODY, name: "Other", alert: { ...ALERT, threshold: 1, for: "2h" } })).status).toBe(200);
    const [renamed] = (await alerted()) ?? [];
    expect(renamed).toMatchObject({ name: "Other", stamp: before?.stamp, alert: { threshold: 1, forMs: 7_200_000 } });
    for (const body of [{ ...BODY, query: "x" }, { ...BODY, alert: { ...ALERT, over: "1h" } }, BODY]) {
      const [last] = (await alerted()) ?? [];
      await change(body);
      expect((await alerted())?.[0]?.stamp).not.toBe(last?.stamp);
    }
    expect((await change({ name: "None", query: "" })).body.result).toMatchObject({ alert: null, cost: null });
    expect((await call<Said>("GET", `/logship/searches/${id}`)).body.result.counts).toBeNull();
    expect(await alerted()).toEqual([]);
    expect((await call<Said[]>("GET", "/logship/searches")).body.result).toMatchObject([{ id, name: "None" }]);
    expect((await call("DELETE", `/logship/searches/${id}`)).body.result).toEqual({ id });
    for (const method of ["GET", "DELETE"]) expect((await call(method, `/logship/searches/${id}`)).status).toBe(404);
    expect((await save()).body.result.id).toBeGreaterThan(id);
  });

  it("says what the shards count that answer, and which do not", async () => {
    const { id } = (await save()).body.result;
    await save({ name: "None", query: "" });
    await controlPlane(env.CONTROL).join(1, "");
    const counts = vi.spyOn(TraceLog.prototype, "searchCounts");
    const reads = async () =>
      Promise.all([
        call<Said>("GET", `/logship/searches/${id}`).then(({ body }) => body.result.counts),
        call<Said[]>("GET", "/logship/searches").then(({ body }) => body.result.map((each) => each.counts)),
      ]);
    const [well, silent] = [
      { total: 0, standing: "well", silent_shards: [] },
      { total: 0, standing: "unknown", silent_shards: [1] },
    ];
    expect(await reads()).toMatchObject([well, [well, null]]);
    counts.mockImplementation(function (this: TraceLog) {
      const { id } = (this as unknown as { ctx: DurableObjectState }).ctx;
      if (id.name?.endsWith("1")) throw new Error("refused");
      return [];
    });
    expect(await reads()).toMatchObject([silent, [silent, null]]);
  });

  it("is its owner's; who may edit sees and changes all", async () => {
    const [one, two] = [await tokenOf("one", "logs:read"), await tokenOf("two", "logs:read")];
    const { id } = (await save(BODY, one)).body.result;
    await save({ ...BODY, name: "second" }, two);
    const listed = async (as: CallOptions) =>
      (await call<Said[]>("GET", "/logship/searches", undefined, as)).body.result.map(({ owner }) => owner);
    expect([await listed(one), await listed(two), await listed({})]).toEqual([["one"], ["two"], ["one", "two"]]);
    for (const [method, body] of [["GET"], ["PUT", BODY], ["DELETE"]] as const)
      expect((await call(method, `/logship/searches/${id}`, body, two)).status).toBe(404);
    expect((await call<Said>("PUT", `/logship/searches/${id}`, BODY)).body.result.owner).toBe("one");
    const [none] = [await tokenOf("none", "functions:read")];
    expect((await save(BODY, none)).status).toBe(403);
    const audit = (await call<{ action: string; resource: string; actor: { name: string } }[]>("GET", "/logship/audit"))
      .body;
    expect(audit.result.filter(({ action }) => action.startsWith("search."))).toMatchObject([
      { action: "search.update", resource: `${id}`, actor: { name: "Admin token" } },
      { action: "search.create", actor: { name: "two" } },
      { action: "search.create", resource: `${id}`, actor: { name: "one" } },
    ]);
  });

  it.each<[body: object, status: number, source: object]>([
    [{ ...BODY, query: 'a "b' }, 400, { pointer: "/query", at: 2 }],
    [{ ...BODY, query: "status:many" }, 400, { pointer: "/query", at: 7 }],
    [{ ...BODY, query: "x".repeat(2_001) }, 400, { pointer: "/query" }],
    [{ ...BODY, name: " " }, 400, { pointer: "/name" }],
    [{ ...BODY, alert: { ...ALERT, over: "30s" } }, 400, { pointer: "/alert/over" }],
    [{ ...BODY, alert: { ...ALERT, over: "0m" } }, 400, { pointer: "/alert/over" }],
    [{ ...BODY, alert: { ...ALERT, over: "25h" } }, 400, { pointer: "/alert/over" }],
    [{ ...BODY, alert: { ...ALERT, for: "1441m" } }, 400, { pointer: "/alert/for" }],
    [{ ...BODY, alert: { ...ALERT, threshold: "9" } }, 400, { pointer: "/alert/threshold" }],
    [{ ...BODY, alert: { ...ALERT, measure: { op: "p95" } } }, 400, { pointer: "/alert/measure/of" }],
    [{ ...BODY, alert: { ...ALERT, measure: { op: "p95", of: "nope" } } }, 400, { pointer: "/alert/measure/of" }],
    [{ ...BODY, alert: { ...ALERT, measure: { op: "distinct", of: "took" } } }, 400, { pointer: "/alert/measure/op" }],
  ])("%j is refused", async (body, status, source) => {
    const answer = await save(body);
    expect([answer.status, answer.body.errors[0]?.source]).toEqual([status, source]);
  });

  it("is refused beyond so many, and so many with an alert", async () => {
    const { id } = (await save()).body.result;
    const plain = { name: "x", query: "x" };
    const copies = (alert: boolean, count: number) =>
      runInDurableObject(controlPlane(env.CONTROL), (_control, { storage: { sql } }) => {
        const { search } = sql.exec<{ search: string }>("SELECT search FROM saved_search WHERE id = ?", id).one();
        const copy = alert ? search : JSON.stringify({ ...JSON.parse(search), alert: null });
        for (let i = 0; i < count; i++) sql.exec("INSERT INTO saved_search (search) VALUES (?)", copy);
      });
    await copies(true, SEARCH_ALERTS_MAX - 1);
    expect((await save()).status).toBe(409);
    const { result } = (await save(plain)).body;
    expect((await call("PUT", `/logship/searches/${result.id}`, BODY)).status).toBe(409);
    expect((await call("PUT", `/logship/searches/${id}`, BODY)).status).toBe(200);
    await copies(false, SEARCHES_MAX - SEARCH_ALERTS_MAX - 1);
    expect((await save(plain)).status).toBe(409);
    expect((await call<Said[]>("GET", "/logship/searches")).body.result).toHaveLength(SEARCHES_MAX);
    expect((await alerted())?.length).toBe(SEARCH_ALERTS_MAX);
  });
});
