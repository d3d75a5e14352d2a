import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { AccountLedger, ControlPlane, DeliveryLog } from "../../src/index.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { api, createJob, destinationConf } from "../support/runtime/api.ts";
import { deliver, freshBucket, logStatus, NOON, pack, runAlarm, setClock } from "../support/runtime/pipeline.ts";

const outOfReach = () => {
  throw new Error("out of reach");
};

describe("a consumer that cannot reach the control plane", () => {
  it("goes on with the last good configuration", async ({ expect }) => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    const oracle = new Oracle({ at: NOON });
    await deliver(pack(oracle.mint(5), clock.nowMs()));
    vi.spyOn(ControlPlane.prototype, "configSince").mockImplementation(outOfReach);
    expect((await deliver(pack(oracle.mint(5), clock.nowMs()))).acked).toHaveLength(1);
    expect((await logStatus(job)).counts.received).toBe(10);
  });

  it("misses no job that was created since: the ledger knows it", async ({ expect }) => {
    const clock = setClock(NOON);
    const oracle = new Oracle({ at: NOON });
    const first = await createJob(freshBucket().name);
    await deliver(pack(oracle.mint(5), clock.nowMs()));
    clock.advance(60_000);
    const bucket = freshBucket();
    const second = await createJob(bucket.name);
    vi.spyOn(ControlPlane.prototype, "configSince").mockImplementation(outOfReach);
    const events = oracle.mint(5);
    oracle.acknowledged("second", events);
    expect((await deliver(pack(events, clock.nowMs()))).acked).toHaveLength(1);
    expect((await logStatus(first)).counts.received).toBe(10);
    expect((await logStatus(second)).counts.received).toBe(5);
    expect((await env.ACCOUNT.getByName("account").status()).counts).toMatchObject({ processed: 10, routed: 10 });
    clock.advance(30_000);
    await runAlarm(second);
    assertClean(oracle.audit("second", await bucket.control.contents(), { path: "logs/{DATE}" }));
  });

  it("acknowledges nothing while the ledger is out of reach, too", async ({ expect }) => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    const messages = pack(new Oracle({ at: NOON }).mint(5), clock.nowMs());
    vi.spyOn(ControlPlane.prototype, "configSince").mockImplementation(outOfReach);
    vi.spyOn(AccountLedger.prototype, "count").mockImplementation(outOfReach);
    expect((await deliver(messages)).acked).toEqual([]);
    vi.restoreAllMocks();
    setClock(NOON);
    expect((await deliver(messages, 2)).acked).toHaveLength(1);
    expect((await logStatus(job)).counts.received).toBe(5);
  });
});

describe("a change that is not confirmed", () => {
  it.for([
    ["by the job's log", () => vi.spyOn(DeliveryLog.prototype, "configure").mockImplementation(outOfReach)],
    ["by the ledger", () => vi.spyOn(AccountLedger.prototype, "keepJobs").mockImplementation(outOfReach)],
  ] as const)("%s is answered 503, stored, and brought there by the alarm", async ([_who, fail], { expect }) => {
    const clock = setClock(NOON);
    const spy = fail();
    const { name } = freshBucket();
    const answer = await api("POST", "/logship/jobs", { destination_conf: destinationConf(name), enabled: true });
    expect(answer).toMatchObject({
      status: 503,
      body: { errors: [{ code: 1053, message: expect.stringContaining("not in force yet") }] },
    });
    expect(answer.headers.get("retry-after")).toBe("60");
    spy.mockRestore();
    clock.advance(10_000);
    expect(await runDurableObjectAlarm(env.CONTROL.getByName("control"))).toBe(true);
    expect((await logStatus(1)).counts.received).toBe(0);
    expect(await runDurableObjectAlarm(env.CONTROL.getByName("control"))).toBe(false);
  });
});
