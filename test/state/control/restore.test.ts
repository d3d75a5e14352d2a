import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { TraceLog } from "../../../src/index.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { api, createJob, destinationConf } from "../../support/runtime/api.ts";
import { deliver, freshBucket, logStatus, NOON, readAll, setClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { beforeChanges, control, copyOf, events, joinShards, readerJob, set, snapshot } from "./copies.ts";

const TABLES = ["control", "job", "function_setting"];

type Rows = Record<string, Record<string, SqlStorageValue>[]>;

/** The storage, as point-in-time recovery restores it. */
const save = (): Promise<Rows> =>
  runInDurableObject(control(), (_control, { storage: { sql } }) =>
    Object.fromEntries(TABLES.map((table) => [table, sql.exec(`SELECT * FROM ${table}`).toArray()])),
  );

/** Another instance begins with it. */
async function restore(saved: Rows): Promise<void> {
  await runInDurableObject(control(), (_control, { storage: { sql } }) => {
    for (const [table, rows] of Object.entries(saved)) {
      sql.exec(`DELETE FROM ${table}`);
      for (const row of rows) {
        const columns = Object.keys(row);
        const marks = columns.map(() => "?").join(", ");
        sql.exec(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`, ...Object.values(row));
      }
    }
  });
  await evictDurableObject(control());
}

/** Expects these shards, and the readers of these jobs, to have the state of the control plane. */
async function expectAgreement(jobs: readonly number[], shards: readonly number[] = [0]): Promise<void> {
  const { shards: _shards, ...known } = await snapshot();
  for (const shard of shards) expect(await copyOf(shard)).toEqual(known);
  await readAll();
  for (const id of jobs) expect(await readerJob(id)).toEqual(known.jobs.find((job) => job.id === id));
}

beforeEach(() => {
  for (const how of ["error", "warn"] as const) vi.spyOn(console, how).mockImplementation(() => {});
});

describe("a control plane that was restored to an earlier time", () => {
  it("overtakes every shard with its next switch, and what it knows of functions counts again", async () => {
    const clock = setClock(NOON);
    const jobs = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    await joinShards(1);
    await set("billing", false);
    const saved = await save();
    for (const name of ["shop", "shop-2", "shop-3"]) await set(name, false);
    await restore(saved);
    clock.advance(60_000);
    expect((await set("search", false)).status).toBe(200);
    await expectAgreement(jobs, [0, 1]);
    expect((await snapshot()).optOuts.map(({ scriptName }) => scriptName)).toEqual(["billing", "search"]);
    clock.advance(1);
    const messages = ["shop", "billing", "search"].flatMap((name) => events(name, clock.nowMs()));
    expect((await deliver(messages)).acked).toHaveLength(3);
    for (const id of jobs) expect((await logStatus(id)).counts.received).toBe(5);
  });

  it("overtakes them with the next change of a job, too, and gives no id again", async () => {
    const clock = setClock(NOON);
    const jobs = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    const saved = await save();
    await createJob(freshBucket().name);
    for (const name of ["shop", "shop-2", "shop-3"]) await set(name, false);
    await restore(saved);
    clock.advance(60_000);
    expect((await api("PUT", `/logship/jobs/${jobs[1]}`, { name: "x" })).status).toBe(200);
    await expectAgreement(jobs);
    expect((await deliver(events("shop", clock.nowMs()))).acked).toHaveLength(1);
    for (const id of jobs) expect((await logStatus(id)).counts.received).toBe(5);
    expect(await createJob(freshBucket().name)).toBeGreaterThan(1_000_000);
  });

  it("overtakes a shard as soon as that asks, and until then the shard goes by what it knows", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    await deliver(events("warm", clock.nowMs()));
    const saved = await save();
    for (const name of ["shop", "shop-2", "shop-3"]) await set(name, false);
    const { state } = await snapshot();
    await restore(saved);
    clock.advance(60_000);
    const messages = ["shop", "billing"].flatMap((name) => events(name, clock.nowMs()));
    expect((await deliver(messages)).acked).toHaveLength(2);
    expect((await logStatus(job)).counts.received).toBe(10);
    clock.advance(300_000);
    await traceLog(env.TRACE_LOG, 0).drive();
    await until(async () => (await copyOf()).state !== state);
    expect(Number((await snapshot()).state.split(".")[1])).toBeGreaterThan(Number(state.split(".")[1]));
    await runDurableObjectAlarm(control());
    await expectAgreement([job]);
    expect((await deliver(events("shop", clock.nowMs()))).acked).toHaveLength(1);
    expect((await logStatus(job)).counts.received).toBe(15);
  });

  it("goes on where a shard does not say what it knows, and overtakes that when it takes the change", async () => {
    setClock(NOON);
    await joinShards(1);
    const saved = await save();
    await set("shop", false);
    await restore(saved);
    vi.spyOn(TraceLog.prototype, "configState").mockRejectedValue(new Error("out of reach"));
    expect((await set("billing", false)).status).toBe(200);
    await expectAgreement([], [0, 1]);
    expect((await snapshot()).optOuts.map(({ scriptName }) => scriptName)).toEqual(["billing"]);
  });
});

describe("a control plane that was restored twice to the same moment", () => {
  it.each([
    ["says nothing", () => vi.spyOn(TraceLog.prototype, "configState").mockRejectedValue(new Error("out of reach"))],
    ["says what it knows", () => {}],
  ])("gives no id again, to jobs or reruns, while a shard %s", async (_what, silence) => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    const span = { since: new Date(NOON).toISOString(), until: new Date(NOON + 1_000).toISOString() };
    const rerun = async () => {
      const answer = await api<{ id: string }>("POST", `/logship/jobs/${job}/rerun`, span);
      return Number(answer.body.result.id.slice(1));
    };
    clock.advance(60_000);
    const saved = await save();
    const ids = [job, await createJob(freshBucket().name), await rerun()];
    silence();
    for (let times = 0; times < 2; times++) {
      await abortAllDurableObjects();
      await restore(saved);
      clock.advance(60_000);
      ids.push(await createJob(freshBucket().name), await rerun());
    }
    expect(ids).toHaveLength(7);
    expect(new Set(ids).size).toBe(7);
    await expectAgreement([job]);
  });
});

describe("a control plane that was restored by exactly one change", () => {
  it("takes no version for its own that a shard knows for another destination", async () => {
    const clock = setClock(NOON);
    const bucket = freshBucket().name;
    const id = await createJob(bucket);
    const move = (path: string) =>
      api<{ destination_conf: string }>("PUT", `/logship/jobs/${id}`, {
        destination_conf: destinationConf(bucket, path),
      });
    const saved = await save();
    expect((await move("forgotten/{DATE}")).status).toBe(200);
    await restore(saved);
    clock.advance(60_000);
    expect((await move("kept/{DATE}")).status).toBe(200);
    await expectAgreement([id]);
    expect((await snapshot()).jobs.map((job) => job.path)).toEqual(["kept/{DATE}"]);
  });

  it("takes none that one shard alone knows for another one, as the change did not come further", async () => {
    setClock(NOON);
    const id = await createJob(freshBucket().name);
    await joinShards(1);
    const saved = await save();
    const unreached = beforeChanges((shard) => {
      if (shard === 0) throw new Error("out of reach");
    });
    expect((await api("PUT", `/logship/jobs/${id}`, { max_upload_interval_seconds: 60 })).status).toBe(503);
    unreached.mockRestore();
    await abortAllDurableObjects();
    await restore(saved);
    expect((await api("PUT", `/logship/jobs/${id}`, { max_upload_interval_seconds: 120 })).status).toBe(200);
    await expectAgreement([id], [0, 1]);
    expect((await snapshot()).jobs.map(({ limits }) => limits.intervalMs)).toEqual([120_000]);
  });

  it.each([
    ["with a job", 1],
    ["without any", 0],
  ])("takes none for its own that a shard and a handler know for another opt-out, %s", async (_what, jobs) => {
    const clock = setClock(NOON);
    const ids = await Promise.all(Array.from({ length: jobs }, () => createJob(freshBucket().name)));
    await deliver(events("warm", clock.nowMs()));
    const saved = await save();
    await set("shop", false);
    clock.advance(60_000);
    // The handler sees it.
    await deliver(events("warm", clock.nowMs()));
    await restore(saved);
    clock.advance(60_000);
    expect((await set("billing", false)).status).toBe(200);
    await expectAgreement(ids);
    clock.advance(60_000);
    expect((await deliver(["billing", "shop"].flatMap((name) => events(name, clock.nowMs())))).acked).toHaveLength(2);
    const became = new Map((await traceLog(env.TRACE_LOG, 0).functions()).map((count) => [count.scriptName, count]));
    expect(became.get("billing")).toMatchObject({ routed: 0, notEnabled: 5, notRouted: 0 });
    expect(became.get("shop")).toMatchObject({ notEnabled: 0 });
  });

  it("tells a handler that knows the forgotten change of the one that took its place", async () => {
    const clock = setClock(NOON);
    const gone = await createJob(freshBucket().name);
    await api("DELETE", `/logship/jobs/${gone}`);
    clock.advance(16 * 86_400_000);
    const saved = await save();
    // No shard gets this change: only callers see it.
    await control().forget(gone);
    const { state } = await snapshot();
    await restore(saved);
    const id = await createJob(freshBucket().name);
    const told = await control().configSince(state);
    expect(told.jobs?.map((job) => job.id)).toContain(id);
    expect(await control().configSince(told.state)).toEqual({ state: told.state, jobs: null });
  });
});
