import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { controlPlane } from "../../src/control/plane.ts";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import { TraceLog } from "../../src/index.ts";
import { isBehind, type JobConfig, type JobsSnapshot } from "../../src/job/config.ts";
import { traceLog } from "../../src/trace-log/trace-log.ts";
import { Oracle } from "../support/oracle.ts";
import { api, createJob, destinationConf } from "../support/runtime/api.ts";
import { deliver, freshBucket, logStatus, NOON, pack, setClock } from "../support/runtime/pipeline.ts";

const control = () => controlPlane(env.CONTROL);

const TABLES = ["control", "job", "function_setting"];

type Rows = Record<string, Record<string, SqlStorageValue>[]>;

/** The storage, as point-in-time recovery restores it. */
const save = (): Promise<Rows> =>
  runInDurableObject(control(), (_control, { storage: { sql } }) =>
    Object.fromEntries(TABLES.map((table) => [table, sql.exec(`SELECT * FROM ${table}`).toArray()])),
  );

const restore = (saved: Rows): Promise<void> =>
  runInDurableObject(control(), (_control, { storage: { sql } }) => {
    for (const [table, rows] of Object.entries(saved)) {
      sql.exec(`DELETE FROM ${table}`);
      for (const row of rows) {
        const columns = Object.keys(row);
        const marks = columns.map(() => "?").join(", ");
        sql.exec(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`, ...Object.values(row));
      }
    }
  });

async function snapshot(state = ""): Promise<JobsSnapshot> {
  const all = await control().configSince(state);
  if (all.jobs === null) throw new Error("nothing has changed");
  return all;
}

/** Expects every log and the ledger to have the state of the control plane. */
async function expectAgreement(jobs: readonly number[]): Promise<void> {
  const known = await snapshot();
  for (const id of jobs) {
    const config = await runInDurableObject(
      nodeAt(env.READERS, id, 0),
      (_log, { storage: { sql } }) => JSON.parse(String(sql.exec("SELECT job FROM reader").one().job)) as JobConfig,
    );
    expect(config).toEqual(known.jobs.find((job) => job.id === id));
    expect(config.optOutVersion).toBe(known.optOutVersion);
  }
  const epoch = known.state.split(".")[0] ?? "";
  const behind = { done: [], failed: [], backlog: 0, state: `${epoch}.0` };
  expect(await traceLog(env.TRACE_LOG, 0).count(behind)).toEqual(known);
}

const events = (scriptName: string, takenInMs: number) =>
  pack(new Oracle({ at: NOON, name: `${scriptName}-${takenInMs}` }).mint(5, { scriptName }), takenInMs);

const set = (name: string, logship: boolean) => api("PATCH", `/functions/scripts/${name}/script-settings`, { logship });

describe("a control plane that was restored to an earlier time", () => {
  it("overtakes every log and the ledger with its next switch, and what it knows of functions counts again", async () => {
    const clock = setClock(NOON);
    const jobs = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    await set("billing", false);
    const saved = await save();
    for (const name of ["shop", "shop-2", "shop-3"]) await set(name, false);
    await restore(saved);
    clock.advance(60_000);
    expect((await set("search", false)).status).toBe(200);
    await expectAgreement(jobs);
    expect((await snapshot()).optOuts.map(({ scriptName }) => scriptName)).toEqual(["billing", "search"]);
    clock.advance(1);
    const messages = ["shop", "billing", "search"].flatMap((name) => events(name, clock.nowMs()));
    expect((await deliver(messages)).acked).toHaveLength(3);
    for (const id of jobs) expect((await logStatus(id)).counts.received).toBe(5);
  });

  it("overtakes the ledger where there is no log", async () => {
    setClock(NOON);
    const saved = await save();
    for (const name of ["shop", "shop-2", "shop-3"]) await set(name, false);
    await restore(saved);
    expect((await set("search", false)).status).toBe(200);
    await expectAgreement([]);
    expect((await snapshot()).optOuts.map(({ scriptName }) => scriptName)).toEqual(["search"]);
  });

  it("overtakes them with the next change of a job, too", async () => {
    const clock = setClock(NOON);
    const jobs = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    const saved = await save();
    for (const name of ["shop", "shop-2", "shop-3"]) await set(name, false);
    await restore(saved);
    clock.advance(60_000);
    expect((await api("PUT", `/logship/jobs/${jobs[1]}`, { name: "x" })).status).toBe(200);
    await expectAgreement(jobs);
    expect((await deliver(events("shop", clock.nowMs()))).acked).toHaveLength(1);
    for (const id of jobs) expect((await logStatus(id)).counts.received).toBe(5);
  });

  it("overtakes them as soon as somebody asks who knows better, and goes on shipping meanwhile", async () => {
    const clock = setClock(NOON);
    const jobs = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    const saved = await save();
    for (const name of ["shop", "shop-2", "shop-3"]) await set(name, false);
    const newest = (await snapshot()).state;
    await restore(saved);
    clock.advance(60_000);
    const healed = await snapshot(newest);
    expect(Number(healed.state.split(".")[1])).toBeGreaterThan(Number(newest.split(".")[1]));
    expect((await deliver(events("shop", clock.nowMs()))).acked).toHaveLength(1);
    for (const id of jobs) expect((await logStatus(id)).counts.received).toBe(5);
    expect(await runDurableObjectAlarm(control())).toBe(true);
    await expectAgreement(jobs);
    expect(await control().configSince(healed.state)).toEqual({ state: healed.state, jobs: null });
  });

  it("stops nobody who knows nothing: the ledger tells what is in force, and who has learned it makes it overtake that", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    const saved = await save();
    for (const name of ["shop", "shop-2", "shop-3"]) await set(name, false);
    await restore(saved);
    clock.advance(60_000);
    const messages = ["shop", "billing"].flatMap((name) => events(name, clock.nowMs()));
    expect((await deliver(messages)).acked).toHaveLength(2);
    // After the restore, all but the control plane have the opt-out.
    expect((await logStatus(job)).counts.received).toBe(5);
    clock.advance(1_000);
    expect((await deliver(events("shop", clock.nowMs()))).acked).toHaveLength(1);
    expect((await logStatus(job)).counts.received).toBe(10);
    await runDurableObjectAlarm(control());
    await expectAgreement([job]);
  });
});

describe("a control plane that was restored by exactly one change", () => {
  it("takes no version for its own that a log knows for another destination", async () => {
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

  it("takes none that the log alone knows for another one, as the change did not come further", async () => {
    setClock(NOON);
    const id = await createJob(freshBucket().name);
    const saved = await save();
    const unreached = vi.spyOn(TraceLog.prototype, "keepJobs").mockImplementation(() => {
      throw new Error("out of reach");
    });
    expect((await api("PUT", `/logship/jobs/${id}`, { max_upload_interval_seconds: 60 })).status).toBe(503);
    unreached.mockRestore();
    await restore(saved);
    expect((await api("PUT", `/logship/jobs/${id}`, { max_upload_interval_seconds: 120 })).status).toBe(200);
    await expectAgreement([id]);
    expect((await snapshot()).jobs.map(({ limits }) => limits.intervalMs)).toEqual([120_000]);
  });

  it.each([
    ["with a job", 1],
    ["without any", 0],
  ])("takes none for its own that the ledger and a consumer know for another opt-out, %s", async (_what, jobs) => {
    const clock = setClock(NOON);
    const ids = await Promise.all(Array.from({ length: jobs }, () => createJob(freshBucket().name)));
    await deliver(events("warm", clock.nowMs()));
    const saved = await save();
    await set("shop", false);
    clock.advance(60_000);
    // The consumer sees it.
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

  it("tells a consumer that knows the forgotten change by its version of the one that took its place", async () => {
    const clock = setClock(NOON);
    const gone = await createJob(freshBucket().name);
    await api("DELETE", `/logship/jobs/${gone}`);
    clock.advance(16 * 86_400_000);
    const saved = await save();
    // Neither log nor ledger get this change: only callers see it.
    await control().forget(gone);
    const { state } = await snapshot();
    await restore(saved);
    const id = await createJob(freshBucket().name);
    const told = await control().configSince(state);
    expect(told.jobs?.map((job) => job.id)).toContain(id);
    expect(isBehind(told.state, state)).toBe(false);
    expect(await control().configSince(told.state)).toEqual({ state: told.state, jobs: null });
  });
});

describe("states of the control plane", () => {
  it.each([
    ["", "", false],
    ["", "a.1.x", true],
    ["a.1.x", "", false],
    ["a.1.x", "a.1.x", false],
    ["a.1.x", "a.2.y", true],
    ["a.2.y", "a.1.x", false],
    ["a.9.x", "a.10.y", true],
    ["a.1.x", "a.1.y", true],
    ["a.1.y", "a.1.x", true],
    ["a.1.x", "b.2.y", false],
    ["a.2.x", "b.1.y", false],
  ])("%j is behind %j: %j", (a, b, expected) => {
    expect(isBehind(a, b)).toBe(expected);
  });
});
