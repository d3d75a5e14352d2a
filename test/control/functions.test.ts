import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { controlPlane } from "../../src/control/plane.ts";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import { ControlPlane, JobReader, TraceLog } from "../../src/index.ts";
import { CLOCK_SKEW_MS, type JobConfig, type JobsSnapshot } from "../../src/job/config.ts";
import { readSnapshot } from "../../src/job/snapshot.ts";
import { traceLog } from "../../src/trace-log/trace-log.ts";
import { Oracle } from "../support/oracle.ts";
import { api, createJob } from "../support/runtime/api.ts";
import { deliver, freshBucket, logStatus, NOON, pack, setClock } from "../support/runtime/pipeline.ts";

const DAY_MS = 86_400_000;
const ANSWER_MS = 2 * CLOCK_SKEW_MS;

const control = () => controlPlane(env.CONTROL);
const ledger = () => traceLog(env.TRACE_LOG, 0);

const outOfReach = () => {
  throw new Error("out of reach");
};

const set = (name: string, logship: boolean | null) =>
  api("PATCH", `/functions/scripts/${name}/script-settings`, { logship });

async function snapshot(): Promise<JobsSnapshot> {
  const all = await control().configSince("");
  if (all.jobs === null) throw new Error("there is a state that is none");
  return all;
}

/** A job in its log's copy. */
const logJob = (id: number): Promise<JobConfig> =>
  runInDurableObject(
    nodeAt(env.READERS, id, 0),
    (_log, { storage: { sql } }) => JSON.parse(String(sql.exec("SELECT job FROM reader").one().job)) as JobConfig,
  );

/** What the ledger answers to callers that are behind. */
async function ledgerSnapshot(): Promise<JobsSnapshot | null> {
  const { state } = await snapshot();
  const epoch = state.split(".")[0] ?? "";
  return readSnapshot(await ledger().count({ done: [], failed: [], backlog: 0, state: `${epoch}.0` }));
}

const job = async (fields: object = {}): Promise<number> => createJob(freshBucket().name, fields);

/** Five events of one function, taken in at one time. */
const events = (scriptName: string, takenInMs: number) =>
  pack(new Oracle({ at: NOON, name: `${scriptName}-${takenInMs}` }).mint(5, { scriptName }), takenInMs);

const counts = async () => (await ledger().status()).counts;

describe("switching logging of a function", () => {
  it("is known to every job's log and to the ledger before it is answered, under a new version", async () => {
    const clock = setClock(NOON);
    const jobs = [await job(), await job({ enabled: false }), await job()];
    const before = await snapshot();
    expect(before).toMatchObject({ optOuts: [], optOutVersion: 0 });
    expect((await set("shop", false)).status).toBe(200);
    expect(clock.nowMs()).toBe(NOON + ANSWER_MS);
    const after = await snapshot();
    const optOuts = [{ scriptName: "shop", windows: [{ fromMs: NOON + CLOCK_SKEW_MS + 1, untilMs: null }] }];
    expect(after.optOuts).toEqual(optOuts);
    for (const [i, id] of jobs.entries()) {
      const config = after.jobs[i];
      expect(config).toEqual({ ...before.jobs[i], version: after.optOutVersion, optOutVersion: after.optOutVersion });
      expect(await logJob(id)).toEqual(config);
    }
    expect(await ledgerSnapshot()).toEqual(after);
  });

  it("back makes a version of its own, and the window ends", async () => {
    const clock = setClock(NOON);
    await job();
    await set("shop", false);
    const { optOutVersion } = await snapshot();
    clock.advance(60_000);
    const on = clock.nowMs();
    expect((await set("shop", true)).status).toBe(200);
    expect(clock.nowMs()).toBe(on + ANSWER_MS);
    const after = await snapshot();
    expect(after.optOutVersion).toBeGreaterThan(optOutVersion);
    expect(after.optOuts[0]?.windows).toEqual([{ fromMs: NOON + CLOCK_SKEW_MS + 1, untilMs: on + CLOCK_SKEW_MS }]);
  });

  it.each([
    ["unset to on", null, { logship: true }],
    ["on to unset", true, { logship: null }],
    ["on to on", true, { logship: true }],
    ["nothing but tail consumers", true, { tail_consumers: [{ service: "logship" }] }],
  ])("%s changes nothing for anybody, and is answered at once", async (_what, first, body) => {
    const clock = setClock(NOON);
    await job();
    await set("shop", first);
    const { state } = await snapshot();
    expect((await api("PATCH", "/functions/scripts/shop/script-settings", body)).status).toBe(200);
    expect(await control().configSince(state)).toEqual({ state, jobs: null });
    expect(clock.nowMs()).toBe(NOON);
  });

  it("holds for a job that is created later, too", async () => {
    setClock(NOON);
    await set("shop", false);
    const id = await job();
    expect((await logJob(id)).optOutVersion).toBe((await snapshot()).optOutVersion);
    expect((await logJob(id)).optOutVersion).toBeGreaterThan(0);
  });

  it("reaches the log of a job that is deleted but drains, and calls back none that is long gone", async () => {
    const clock = setClock(NOON);
    const id = await job();
    await api("DELETE", `/logship/jobs/${id}`);
    await set("shop", false);
    expect((await logJob(id)).optOutVersion).toBeGreaterThan(0);
    clock.advance(16 * DAY_MS);
    const configured = vi.spyOn(JobReader.prototype, "configure");
    expect((await set("billing", false)).status).toBe(200);
    expect(configured).not.toHaveBeenCalled();
  });

  it("is no conflict with a change of a job that was based on what was before, as another change of the job is", async () => {
    setClock(NOON);
    const id = await job();
    const stored = await control().get(id);
    if (stored === null) throw new Error("it is gone");
    const { body, config } = stored;
    await set("shop", false);
    const { filter, sampleRate, output, limits, canary = false, destination, path } = config;
    const draft = { body, meaning: { filter, sampleRate, output, limits, canary }, destination, path };
    const change = (): Promise<{ kind: string }> => control().update(id, config.modifiedVersion, draft, false);
    expect((await change()).kind).toBe("changed");
    expect(await change()).toEqual({ kind: "conflict" });
    expect((await logJob(id)).optOutVersion).toBe((await snapshot()).optOutVersion);
  });
});

describe("events of a function whose logging is switched", () => {
  it.each([
    ["off", "just before", false, [CLOCK_SKEW_MS, 0, -CLOCK_SKEW_MS], 15],
    ["off", "just after it was answered", true, [CLOCK_SKEW_MS, 0, -CLOCK_SKEW_MS], 0],
  ] as const)("%s, accepted %s", async (_to, _when, afterwards, skews, received) => {
    const clock = setClock(NOON);
    const id = await job();
    clock.advance(60_000);
    const take = () => skews.flatMap((skew) => events("shop", clock.nowMs() + skew));
    let messages = take();
    await set("shop", false);
    clock.advance(1);
    if (afterwards) messages = take();
    expect((await deliver(messages)).acked).toHaveLength(3);
    expect((await logStatus(id)).counts.received).toBe(received);
    expect(await counts()).toMatchObject({
      processed: 15,
      routed: received,
      not_enabled: 15 - received,
      not_routed: 0,
    });
  });

  it.each([
    ["on", "just before", false, 0],
    ["on", "just after it was answered", true, 5],
  ] as const)("%s again, accepted %s", async (_to, _when, afterwards, received) => {
    const clock = setClock(NOON);
    const id = await job();
    await set("shop", false);
    clock.advance(60_000);
    let messages = events("shop", clock.nowMs() + CLOCK_SKEW_MS);
    await set("shop", true);
    clock.advance(1);
    if (afterwards) messages = events("shop", clock.nowMs() - CLOCK_SKEW_MS);
    await deliver([...messages, ...events("billing", clock.nowMs())]);
    expect((await logStatus(id)).counts.received).toBe(5 + received);
    const functions = await ledger().functions();
    const shop = functions.find(({ scriptName }) => scriptName === "shop");
    expect(shop).toMatchObject({ routed: received, notEnabled: 5 - received, notRouted: 0 });
  });

  it("do not get into a log by what was built before: it is refused as stale", async () => {
    const clock = setClock(NOON);
    const id = await job();
    const { version } = await logJob(id);
    await set("shop", false);
    const log = nodeAt(env.READERS, id, 0);
    const append = { version, messages: [], fragments: [], queueDoneMs: 0 };
    const refused = await log.append(append);
    expect(refused).toMatchObject({ kind: "stale", job: { id, optOutVersion: (await snapshot()).optOutVersion } });
    expect(clock.nowMs()).toBe(NOON + ANSWER_MS);
  });

  it("are dropped even by a consumer that cannot reach the control plane, and counted as that", async () => {
    const clock = setClock(NOON);
    const id = await job();
    await deliver(events("shop", clock.nowMs()));
    await set("shop", false);
    clock.advance(60_000);
    vi.spyOn(ControlPlane.prototype, "configSince").mockImplementation(outOfReach);
    await deliver([...events("shop", clock.nowMs()), ...events("billing", clock.nowMs())]);
    expect((await logStatus(id)).counts.received).toBe(10);
    expect(await counts()).toMatchObject({ processed: 15, routed: 10, not_enabled: 5 });
  });
});

describe("a switch that is not confirmed", () => {
  it.each([
    ["by one of the logs", () => vi.spyOn(JobReader.prototype, "configure").mockImplementationOnce(outOfReach)],
    ["by the ledger", () => vi.spyOn(TraceLog.prototype, "keepJobs").mockImplementationOnce(outOfReach)],
  ])("%s is answered 503, stored, and brought there by the alarm", async (_who, fail) => {
    const clock = setClock(NOON);
    vi.spyOn(console, "error").mockImplementation(() => {});
    const jobs = [await job(), await job(), await job()];
    fail();
    const answer = await set("shop", false);
    expect([answer.status, answer.body.errors]).toEqual([
      503,
      [{ code: 1053, message: 'the setting of "shop" is stored but not in force yet; it will be within a minute' }],
    ]);
    expect(answer.headers.get("retry-after")).toBe("60");
    clock.advance(10_000);
    expect(await runDurableObjectAlarm(control())).toBe(true);
    const after = await snapshot();
    for (const id of jobs) expect(await logJob(id)).toMatchObject({ optOutVersion: after.optOutVersion });
    expect(await ledgerSnapshot()).toEqual(after);
    expect(await runDurableObjectAlarm(control())).toBe(false);
  });

  it("is not answered with 200 when it is repeated, until it is; nor is that of another function held up for it", async () => {
    const clock = setClock(NOON);
    vi.spyOn(console, "error").mockImplementation(() => {});
    const id = await job();
    await set("billing", false);
    clock.advance(60_000);
    const down = vi.spyOn(JobReader.prototype, "configure").mockImplementation(outOfReach);
    expect((await set("shop", false)).status).toBe(503);
    expect((await set("shop", false)).status).toBe(503);
    expect((await set("billing", false)).status).toBe(200);
    down.mockRestore();
    expect((await set("shop", false)).status).toBe(200);
    expect(await logJob(id)).toMatchObject({ optOutVersion: (await snapshot()).optOutVersion });
  });

  it("is brought by the alarm that was set with it when the control plane dies before it could", async () => {
    const clock = setClock(NOON);
    vi.spyOn(console, "error").mockImplementation(() => {});
    const id = await job();
    const before = await snapshot();
    let called = false;
    vi.spyOn(JobReader.prototype, "configure").mockImplementationOnce((async () => {
      called = true;
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    }) as never);
    const answer = set("shop", false);
    await vi.waitUntil(() => called);
    await abortAllDurableObjects();
    expect((await answer).status).toBe(503);
    expect(await ledgerSnapshot()).toEqual(before);
    clock.advance(10_000);
    expect(await runDurableObjectAlarm(control())).toBe(true);
    const { optOuts, optOutVersion } = await snapshot();
    expect(optOuts.map(({ scriptName }) => scriptName)).toEqual(["shop"]);
    expect(await logJob(id)).toMatchObject({ version: optOutVersion, optOutVersion });
    expect(await ledgerSnapshot()).toMatchObject({ optOuts, optOutVersion });
  });

  it("is brought to the ledger by the alarm where there is no job at all", async () => {
    const clock = setClock(NOON);
    vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(TraceLog.prototype, "keepJobs").mockImplementationOnce(outOfReach);
    expect((await set("shop", false)).status).toBe(503);
    clock.advance(10_000);
    await runDurableObjectAlarm(control());
    expect(await ledgerSnapshot()).toMatchObject({ optOuts: [{ scriptName: "shop" }] });
  });

  it("makes a repeat wait, too, while the first answer waits for the clocks", async () => {
    const clock = setClock(NOON);
    await job();
    await control().setFunction("shop", { logging: "off" });
    clock.advance(-ANSWER_MS);
    await control().setFunction("shop", { logging: "off" });
    expect(clock.nowMs()).toBe(NOON + ANSWER_MS);
    await control().setFunction("shop", { logging: "off" });
    expect(clock.nowMs()).toBe(NOON + ANSWER_MS);
  });
});
