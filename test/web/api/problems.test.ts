/** `/problems`: what it says of records that came through the queue, and what an owner decides. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { TraceLog } from "../../../src/index.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { searchFor } from "../../operate/search/searched.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, redeliver, setClock } from "../../support/runtime/pipeline.ts";
import { call, errorsOf } from "./harness.ts";
import { type Headers, token } from "./principals.ts";

const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(ms).toISOString();

interface Problem {
  id: string;
  worker: string;
  name: string;
  message: string;
  frame: string;
  count: number;
  state: string;
  ignored_until: string | null;
  changed_by: string | null;
  new: boolean;
  regressed: boolean;
  first_seen: string;
  first_record: { script: string; event_timestamp_ms: number; ray_id: string | null };
  last_record: { script: string; event_timestamp_ms: number; ray_id: string | null };
  counts?: { hour: string; version: string | null; count: number }[];
}

const list = (query = "") => call<Problem[]>("GET", `/logship/problems${query}`);
const problems = async (query = ""): Promise<Problem[]> => (await list(query)).body.result;
const read = async (id: string): Promise<Problem> =>
  (await call<Problem>("GET", `/logship/problems/${id}`)).body.result;
const decide = (id: string, body: object, headers?: Headers) =>
  call<Problem>("PATCH", `/logship/problems/${id}`, body, { headers });

const threw = (message: string, ray = "8f3a") => ({
  EventType: "fetch",
  Event: { RayID: ray, Request: { URL: "https://shop.example/", Method: "GET" }, Response: {} },
  Outcome: "exception",
  Exceptions: [{ name: "TypeError", message, TimestampMs: NOON }],
});

/** A message of records with these fields. */
function messageOf(nowMs: number, scriptName: string, ...each: readonly object[]) {
  const some = new Oracle({ at: nowMs, seed: nowMs + each.length } as never).mint(each.length, {
    at: nowMs,
    scriptName,
  });
  return pack(
    some.map((minted, n) => ({
      ...minted,
      event: { ...minted.event, ...each[n] },
      record: { ...minted.record, ...each[n] },
    })),
    nowMs,
  );
}

describe("problems", () => {
  it("are the errors of all Workers by cause, each record once, with records that a search finds", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const first = messageOf(NOON, "shop", threw("no order 4711", "aa01"), threw("no order 4712"), { Outcome: "ok" });
    await deliver(first);
    await redeliver(first);
    clock.advance(HOUR_MS);
    await deliver(messageOf(clock.nowMs(), "shop", threw("no order 9", "bb02")));
    clock.advance(1);
    await deliver(messageOf(clock.nowMs(), "billing", { Outcome: "exceededCpu" }));
    const [cpu, order] = await problems();
    expect(cpu).toMatchObject({ worker: "billing", name: "exceededCpu", message: "", count: 1 });
    expect(order).toMatchObject({
      ...{ worker: "shop", source: "", name: "TypeError", message: "no order #", frame: "", count: 3 },
      ...{ state: "open", new: true, regressed: false, only_version: null, changed_by: null },
      ...{ first_seen: at(NOON), last_seen: at(NOON + HOUR_MS) },
      first_record: { script: "shop", ray_id: "aa01" },
      last_record: { script: "shop", ray_id: "bb02" },
    });
    for (const { event_timestamp_ms: ms, ray_id } of [order?.first_record, order?.last_record] as never[]) {
      const { hits } = await searchFor({ since: at(ms), until: at(ms + 1), ray_id });
      expect(hits).toHaveLength(1);
    }
    expect((await read(order?.id ?? "")).counts).toEqual([
      { hour: at(NOON), version: null, count: 2 },
      { hour: at(NOON + HOUR_MS), version: null, count: 1 },
    ]);
    expect((await list("?per_page=1&page=2")).body.result_info).toMatchObject({
      ...{ total_count: 2, count: 1, dropped: 0, other_records: 0 },
    });
    const names = async (query: string) => (await problems(query)).map(({ worker }) => worker);
    expect(await names("?worker=shop")).toEqual(["shop"]);
    expect(await names(`?since=${at(NOON + 1)}`)).toEqual(["billing", "shop"]);
    expect(await names(`?since=${at(NOON + HOUR_MS + 2)}`)).toEqual([]);
    clock.advance(23 * HOUR_MS);
    expect(await names("?state=new")).toEqual(["billing"]);
  });

  it("are resolved, and regressed with the next record that is taken in; who did it is in the audit", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const late = messageOf(NOON, "shop", threw("no order 2"));
    await deliver(messageOf(NOON, "shop", threw("no order 1")));
    const id = (await problems())[0]?.id ?? "";
    clock.advance(1_000);
    const { headers } = await token(["logs:edit", "logs:read"]);
    expect((await decide(id, { state: "resolved" }, headers)).body.result).toMatchObject({ state: "resolved" });
    expect((await call("GET", "/logship/audit")).body.result).toMatchObject([
      { action: "problem.update", resource: id, body: { state: "resolved" } },
      {},
      {},
    ]);
    // It was taken in before.
    await deliver(late);
    expect(await read(id)).toMatchObject({ state: "resolved", regressed: false, count: 2 });
    expect(await problems("?state=open")).toEqual([]);
    clock.advance(1_000);
    await deliver(messageOf(clock.nowMs(), "shop", threw("no order 3")));
    expect(await problems("?state=regressed")).toMatchObject([{ id, state: "open", regressed: true, count: 3 }]);
    await decide(id, { state: "resolved" });
    expect(await read(id)).toMatchObject({ state: "resolved", regressed: false, changed_by: "admin" });
  });

  it("that are resolved are so although the clock of a shard was ahead", async () => {
    const clock = setClock(NOON + HOUR_MS);
    await createJob(freshBucket().name);
    await deliver(messageOf(clock.nowMs(), "shop", threw("no order 1")));
    clock.advance(-HOUR_MS);
    const id = (await problems())[0]?.id ?? "";
    await decide(id, { state: "resolved" });
    await deliver(messageOf(NOON - 1, "shop", threw("no order 2")));
    expect(await read(id)).toMatchObject({ state: "resolved", regressed: false, count: 2 });
  });

  it("are ignored until a time, or until they are opened", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    await deliver(messageOf(NOON, "shop", threw("no order 1")));
    const id = (await problems())[0]?.id ?? "";
    await decide(id, { state: "ignored", until: at(NOON + HOUR_MS) });
    expect(await read(id)).toMatchObject({ state: "ignored", ignored_until: at(NOON + HOUR_MS) });
    clock.advance(HOUR_MS);
    expect(await read(id)).toMatchObject({ state: "open", ignored_until: null });
    await decide(id, { state: "ignored" });
    clock.advance(1_000 * HOUR_MS);
    expect(await problems("?state=ignored")).toMatchObject([{ id, ignored_until: null }]);
    await decide(id, { state: "open" });
    expect(await read(id)).toMatchObject({ state: "open", changed_by: null });
  });

  it("are no others than there are, and are changed as documented", async () => {
    setClock(NOON);
    await createJob(freshBucket().name);
    await deliver(messageOf(NOON, "shop", threw("no order 1")));
    const id = (await problems())[0]?.id ?? "";
    const unknown = await call("GET", "/logship/problems/0123456789abcdef");
    expect([unknown.status, errorsOf(unknown)]).toEqual([404, [[7003, undefined, "no such problem"]]]);
    expect((await decide("0123456789abcdef", { state: "resolved" })).status).toBe(404);
    expect(errorsOf(await decide(id, { state: "ignored", until: at(NOON) }))).toEqual([
      [1001, "/until", "until: must be later than now"],
    ]);
    expect(errorsOf(await decide(id, { state: "resolved", until: at(NOON + 1) }))).toEqual([
      [1001, "/until", "until: goes with ignored alone"],
    ]);
    expect((await decide(id, { state: "gone" })).status).toBe(400);
    expect((await list("?state=gone")).status).toBe(400);
    expect(await read(id)).toMatchObject({ state: "open" });
  });

  it("that are new, or came again, are findings", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const ScriptVersion = { ID: "5b2c0f3e-0000-4000-8000-000000000000", Tag: "v7", Message: "" };
    await deliver(messageOf(NOON, "shop", { ...threw("no order 1"), ScriptVersion }));
    const id = (await problems())[0]?.id ?? "";
    const findings = async () => {
      clock.advance(20_000);
      const { body } = await call<{ findings: { kind: string; problem?: string; links: object }[] }>(
        "GET",
        "/logship/status",
      );
      return body.result.findings.filter(({ problem }) => problem === id);
    };
    const said = async () => (await findings()).map(({ kind }) => kind);
    expect(await findings()).toMatchObject([{ kind: "problem_new", links: { version: "v7" } }]);
    vi.spyOn(console, "warn").mockReturnValue();
    const silent = vi.spyOn(TraceLog.prototype, "functionVersions").mockRejectedValue(new Error("refused") as never);
    expect(await findings()).toMatchObject([{ kind: "problem_new", links: { version: "5b2c0f3e" } }]);
    silent.mockRestore();
    await decide(id, { state: "resolved" });
    expect(await said()).toEqual([]);
    await deliver(messageOf(clock.nowMs(), "shop", threw("no order 2")));
    expect(await said()).toEqual(["problem_regressed"]);
    await decide(id, { state: "ignored" });
    expect(await said()).toEqual([]);
  });

  it("that come in the first minutes in which problems are known are not new: they were there before", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    await deliver(messageOf(NOON, "shop", threw("no order 1")));
    expect(await problems("?state=new")).toHaveLength(1);
    await runInDurableObject(traceLog(env.TRACE_LOG, 0), (_log, { storage: { sql } }) => {
      sql.exec("UPDATE schema_step SET applied_ms = iif(id < 4, 0, ?)", NOON);
    });
    clock.advance(5 * 60_000);
    await deliver(messageOf(clock.nowMs(), "billing", threw("no bill 1")));
    expect(await problems("?state=new")).toEqual([]);
    expect(await problems()).toHaveLength(2);
    clock.advance(1);
    await deliver(messageOf(clock.nowMs(), "till", threw("no till 1")));
    expect(await problems("?state=new")).toMatchObject([{ worker: "till" }]);
  });
});
