import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ControlPlane, TraceLog } from "../../../src/index.ts";
import { CLOCK_SKEW_MS, type JobsSnapshot, stampOf } from "../../../src/ship/job/config.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, logStatus, NOON, setClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { beforeChanges, control, copyOf, events, joinShards, set, snapshot } from "./copies.ts";

const DAY_MS = 86_400_000;
const ANSWER_MS = 2 * CLOCK_SKEW_MS;

const ledger = () => traceLog(env.TRACE_LOG, 0);

const outOfReach = () => {
  throw new Error("out of reach");
};

/** What shards are to have of it. */
const inForce = async (): Promise<Omit<JobsSnapshot, "shards">> => {
  const { shards: _shards, ...rest } = await snapshot();
  return rest;
};

const job = async (fields: object = {}): Promise<number> => createJob(freshBucket().name, fields);

const counts = async () => (await ledger().accountStatus()).counts;

beforeEach(() => {
  for (const how of ["error", "warn"] as const) vi.spyOn(console, how).mockImplementation(() => {});
});

describe("switching logging of a function", () => {
  it("is in force in every shard of the log before it is answered, under a new version of each job", async () => {
    const clock = setClock(NOON);
    for (const fields of [{}, { enabled: false }, {}]) await job(fields);
    await joinShards(1, 3);
    const before = await snapshot();
    expect(before).toMatchObject({ optOuts: [], shards: [0, 1, 3] });
    expect((await set("shop", false)).status).toBe(200);
    expect(clock.nowMs()).toBe(NOON + ANSWER_MS);
    const after = await inForce();
    expect(after.optOuts).toEqual([
      { scriptName: "shop", windows: [{ fromMs: NOON + CLOCK_SKEW_MS + 1, untilMs: null }] },
    ]);
    const [, version, mark = ""] = after.state.split(".");
    expect(after.jobs).toEqual(before.jobs.map((each) => ({ ...each, version: Number(version), mark })));
    for (const shard of [0, 1, 3]) expect(await copyOf(shard)).toEqual(after);
  });

  it("gives no rerun a new version, as it gets nothing that is taken in from then on", async () => {
    const clock = setClock(NOON);
    const id = await job();
    clock.advance(60_000);
    const span = { since: new Date(NOON).toISOString(), until: new Date(NOON + 1_000).toISOString() };
    await api("POST", `/logship/jobs/${id}/rerun`, span);
    const [before, rerun] = (await snapshot()).jobs;
    expect(rerun).toMatchObject({ rerunOf: id });
    await set("shop", false);
    const after = await inForce();
    const [, version, mark = ""] = after.state.split(".");
    expect(after.jobs).toEqual([{ ...before, version: Number(version), mark }, rerun]);
    expect(await copyOf()).toEqual(after);
  });

  it("back makes a version of its own, and the window ends", async () => {
    const clock = setClock(NOON);
    await job();
    await set("shop", false);
    const { jobs } = await snapshot();
    clock.advance(60_000);
    const on = clock.nowMs();
    expect((await set("shop", true)).status).toBe(200);
    expect(clock.nowMs()).toBe(on + ANSWER_MS);
    const after = await snapshot();
    expect(after.jobs.map(stampOf)).not.toEqual(jobs.map(stampOf));
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

  it("makes a version of a job that is deleted but drains, and none of one that is long gone", async () => {
    const clock = setClock(NOON);
    const id = await job();
    await api("DELETE", `/logship/jobs/${id}`);
    const versions = async () => (await snapshot()).jobs.map(({ version }) => version);
    const [before = 0] = await versions();
    await set("shop", false);
    const [draining = 0] = await versions();
    expect(draining).toBeGreaterThan(before);
    clock.advance(16 * DAY_MS);
    expect((await set("billing", false)).status).toBe(200);
    expect(await versions()).toEqual([draining]);
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
    expect(await copyOf()).toEqual(await inForce());
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
  it.each([0, 1])("by shard %i is answered 503, stored, and brought there by the alarm", async (shard) => {
    const clock = setClock(NOON);
    await job();
    await joinShards(1);
    const fail = beforeChanges((asked) => asked === shard && outOfReach());
    const answer = await set("shop", false);
    const message = `the setting of "shop" is stored; not yet in force in log ${shard}; it will be within a minute`;
    expect([answer.status, answer.body.errors]).toEqual([503, [{ code: 1053, message }]]);
    expect(answer.headers.get("retry-after")).toBe("60");
    const after = await inForce();
    expect(await copyOf(1 - shard)).toEqual(after);
    expect(await copyOf(shard)).not.toEqual(after);
    fail.mockRestore();
    clock.advance(10_000);
    expect(await runDurableObjectAlarm(control())).toBe(true);
    for (const each of [0, 1]) expect(await copyOf(each)).toEqual(after);
    expect(await runDurableObjectAlarm(control())).toBe(false);
  });

  it("is not answered with 200 when it is repeated, until it is; nor is that of another function held up for it", async () => {
    const clock = setClock(NOON);
    await job();
    await set("billing", false);
    clock.advance(60_000);
    const down = beforeChanges(outOfReach);
    expect((await set("shop", false)).status).toBe(503);
    expect((await set("shop", false)).status).toBe(503);
    expect((await set("billing", false)).status).toBe(200);
    down.mockRestore();
    expect((await set("shop", false)).status).toBe(200);
    expect(await copyOf()).toEqual(await inForce());
  });

  it("is brought by the alarm that was set with it when the control plane dies before it could", async () => {
    const clock = setClock(NOON);
    await job();
    const before = await inForce();
    let called = false;
    const hanging = vi.spyOn(TraceLog.prototype, "configure").mockImplementation(async () => {
      called = true;
      return new Promise(() => {});
    });
    const answer = set("shop", false);
    await until(() => called);
    await abortAllDurableObjects();
    hanging.mockRestore();
    expect((await answer).status).toBe(503);
    expect(await copyOf()).toEqual(before);
    clock.advance(10_000);
    expect(await runDurableObjectAlarm(control())).toBe(true);
    expect((await snapshot()).optOuts.map(({ scriptName }) => scriptName)).toEqual(["shop"]);
    expect(await copyOf()).toEqual(await inForce());
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
