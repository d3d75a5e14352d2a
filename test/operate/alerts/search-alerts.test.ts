/** Alerts on saved searches: from the definition to the incident, without a second look. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { ControlPlane, TraceLog } from "../../../src/index.ts";
import { FRESH, Watch, watch } from "../../../src/operate/alerts/watch.ts";
import { shardsOf } from "../../../src/ship/log/log-shards.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { type Minted, type MintOptions, Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, runCron, setClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { call } from "../../web/api/harness.ts";
import { MINUTE_MS, type SaidIncident } from "../status/support.ts";
import { lookAnew } from "./fresh.ts";

lookAnew();

let clock: ReturnType<typeof setClock>;
let oracle: Oracle;
let woken: MockInstance;
beforeEach(async () => {
  for (const how of ["error", "warn", "info"] as const) vi.spyOn(console, how).mockImplementation(() => {});
  clock = setClock(NOON);
  oracle = new Oracle({ at: NOON });
  woken = vi.spyOn(Watch.prototype, "look");
  await createJob(freshBucket().name);
});

async function save(body: object): Promise<number> {
  const { status, body: answer } = await call<{ id: number }>("POST", "/logship/searches", { name: "Mine", ...body });
  expect(status, JSON.stringify(answer.errors)).toBe(201);
  return answer.result.id;
}

/**
 * Events come, in a batch of the queue, and the watch does what it is woken for.
 * @param wakes how often a shard has woken it by then.
 */
async function come(count: number, options: MintOptions = {}, wakes = woken.mock.calls.length): Promise<void> {
  await deliver(pack(oracle.mint(count, { at: clock.nowMs(), ...options }), clock.nowMs()));
  await until(() => woken.mock.calls.length >= wakes);
  await pass(0);
}

const alarmMs = (): Promise<number | null> =>
  runInDurableObject(watch(env.WATCH), (_watch, { storage }) => storage.getAlarm());

/** Time passes with what the watch does by itself; no cron ticks. */
async function pass(ms: number): Promise<void> {
  const endMs = clock.nowMs() + ms;
  for (let next = await alarmMs(); next !== null && next <= endMs; next = await alarmMs()) {
    clock.advance(Math.max(0, next - clock.nowMs()));
    await runDurableObjectAlarm(watch(env.WATCH));
  }
  clock.advance(endMs - clock.nowMs());
}

const incidents = async (): Promise<SaidIncident[]> => {
  const listed = (await call<SaidIncident[]>("GET", "/logship/incidents")).body.result;
  return listed.filter(({ kind }) => kind === "search_alert");
};

const read = async (id: number) =>
  (await call<{ counts: { total: number; value: number | null } }>("GET", `/logship/searches/${id}`)).body.result
    .counts;

const withWall = (each: Minted, WallTimeMs: number): Minted => ({ ...each, event: { ...each.event, WallTimeMs } });

describe("an alert on a saved search", () => {
  it("is an incident as soon as enough records have come, without a cron, and once", async () => {
    const id = await save({ query: "outcome:canceled", alert: { threshold: 3, over: "5m" } });
    await come(2, { outcome: "canceled" });
    await come(5);
    expect([await incidents(), woken.mock.calls.length]).toEqual([[], 0]);
    await come(1, { outcome: "canceled" }, 1);
    const [incident, ...others] = await incidents();
    expect(others).toEqual([]);
    expect(incident).toMatchObject({
      ...{ kind: "search_alert", state: "open", severity: "warning", affected: { count: 3, what: "records" } },
      subject: { type: "search", id, name: "Mine" },
      summary: 'Search "Mine" is past its threshold: 3 records in the last 5 min (at least 3).',
    });
    await come(9, { outcome: "canceled" });
    expect(await incidents()).toMatchObject([{ id: incident?.id }]);
    expect([await read(id), woken.mock.calls.length]).toEqual([
      { since: expect.any(String), standing: "past", total: 12, value: 12, silent_shards: [] },
      1,
    ]);
    clock.advance(6 * MINUTE_MS);
    await runCron();
    expect(await incidents()).toMatchObject([{ id: incident?.id, state: "recovering" }]);
    expect(await read(id)).toMatchObject({ total: 12, value: 0 });
  });

  it("without a record for a whole time is one, and not before; the alarm of the watch sees it", async () => {
    await save({ query: "worker:import", alert: { threshold: 1, when: "below", over: "10m" } });
    await runCron();
    await pass(9 * MINUTE_MS);
    expect(await incidents()).toEqual([]);
    await come(1, { scriptName: "import" });
    await runCron();
    await pass(10 * MINUTE_MS);
    expect(await incidents()).toEqual([]);
    await pass(MINUTE_MS);
    expect(await incidents()).toMatchObject([{ state: "open", affected: null }]);
    expect((await incidents())[0]?.summary).toContain("0 records in the last 10 min (below 1)");
  });

  it("of which nothing comes while the queue has what may be for it, is no incident", async () => {
    const id = await save({ query: "worker:import", alert: { threshold: 1, when: "below", over: "5m" } });
    const standing = async () => (await read(id)) as { standing?: string };
    const waiting = (backlogCount: number, waitedMs: number) =>
      vi.spyOn(env.EVENTS, "metrics").mockImplementation(async () => {
        const oldestMessageTimestamp = new Date(clock.nowMs() - waitedMs);
        return { backlogCount, backlogBytes: 9, oldestMessageTimestamp };
      });
    await runCron();
    waiting(9, 80_000);
    // It stalls when the cron has just looked.
    await pass(6 * MINUTE_MS);
    expect([await incidents(), await standing()]).toMatchObject([[], { standing: "unknown" }]);
    waiting(9, 70_000);
    await pass(MINUTE_MS);
    expect([await incidents(), await standing()]).toMatchObject([[{ state: "open" }], { standing: "past" }]);
  });

  it.each([
    { over: 10, cron: true },
    // The shard wakes the watch: the cron would look too late.
    { over: 4, cron: false },
  ])(
    "whose value rises as what is old leaves its $over minutes is one, though nothing more comes",
    async ({ over, cron }) => {
      const alert = { measure: { op: "avg", of: "WallTimeMs" }, threshold: 500, over: `${over}m` };
      await save({ query: "", alert });
      const walls = async (ms: number, ...all: number[]) => {
        await pass(ms);
        const made = all.flatMap((wall) => oracle.mint(1, { at: clock.nowMs() }).map((each) => withWall(each, wall)));
        await deliver(pack(made, clock.nowMs()));
        await pass(0);
      };
      await walls(0, 10, 10, 10);
      await walls((over / 2) * MINUTE_MS, 900);
      if (cron) await runCron();
      await until(() => woken.mock.calls.length === Number(!cron));
      await pass((over / 2) * MINUTE_MS);
      expect(await incidents()).toEqual([]);
      await pass(MINUTE_MS);
      expect(await incidents()).toMatchObject([{ state: "open" }]);
    },
  );

  it("that must last is one only if it has lasted, whatever its threshold was before", async () => {
    const alert = { threshold: 2, over: "30m", for: "10m" };
    const id = await save({ query: "declined", alert });
    await come(3, { scriptName: "declined" }, 1);
    await pass(9 * MINUTE_MS);
    expect(await incidents()).toEqual([]);
    await call("PUT", `/logship/searches/${id}`, {
      name: "Mine",
      query: "declined",
      alert: { ...alert, threshold: 3 },
    });
    await pass(5 * MINUTE_MS);
    await runCron();
    expect([await incidents(), await read(id)]).toMatchObject([[], { total: 3 }]);
    await pass(11 * MINUTE_MS);
    expect(await incidents()).toHaveLength(1);
  });

  it("goes by a percentile of what was measured, over all shards", async () => {
    const id = await save({
      query: "worker:shop",
      alert: { measure: { op: "p95", of: "WallTimeMs" }, threshold: 900, over: "5m", severity: "error" },
    });
    const slow = (ms: number) => oracle.mint(1, { scriptName: "shop" }).map((each) => withWall(each, ms));
    const ship = async (all: Minted[], shards: number) => {
      await deliver(pack(all, clock.nowMs(), { perMessage: 1, shards }));
    };
    await ship(Array.from({ length: 95 }, () => slow(20)).flat(), 2);
    expect((await read(id)).value).toBeCloseTo(20, -1);
    await ship(Array.from({ length: 4 }, () => slow(1_000)).flat(), 1);
    expect(await incidents()).toEqual([]);
    await ship(Array.from({ length: 2 }, () => slow(1_000)).flat(), 1);
    await runCron();
    expect(await incidents()).toMatchObject([{ severity: "error", affected: null }]);
    expect((await incidents())[0]?.summary).toMatch(
      /p95 of "WallTimeMs" is (9[5-9]\d|1,0[0-4]\d)(\.\d)? in the last 5 min/,
    );
    expect((await shardsOf(env)).length).toBe(2);
  });

  it("near its threshold on one shard of two is looked at again, though no record wakes the watch", async () => {
    await save({ query: "outcome:canceled", alert: { threshold: 10, over: "1h" } });
    const ship = async (count: number, n: number) => {
      const all = pack(oracle.mint(40, { outcome: "canceled" }), clock.nowMs(), { perMessage: 1, shards: 2 });
      await deliver(all.filter(({ shard }) => shard === n).slice(0, count));
    };
    await ship(0, 0);
    for (const shard of [0, 1]) await traceLog(env.TRACE_LOG, shard).drive();
    await ship(6, 1);
    await until(() => woken.mock.calls.length === 1);
    await pass(0);
    await ship(3, 0);
    expect([await incidents(), woken.mock.calls.length]).toEqual([[], 1]);
    clock.advance(11_000);
    await ship(1, 0);
    expect([await incidents(), woken.mock.calls.length]).toEqual([[], 1]);
    await pass(MINUTE_MS);
    expect(await incidents()).toHaveLength(1);
  });

  it("that a shard tells of again at once is looked at a little later, though nothing else comes", async () => {
    FRESH.ms = 10_000;
    await save({ query: "outcome:exception", alert: { threshold: 2, over: "5m" } });
    const other = await save({ query: "outcome:canceled", alert: { threshold: 2, over: "5m" } });
    await come(2, { outcome: "exception" }, 1);
    await come(2, { outcome: "canceled" }, 2);
    expect(await incidents()).toHaveLength(1);
    await pass(10_000);
    expect(await incidents()).toMatchObject([{ subject: { id: other } }, {}]);
  });

  it("is over when it was absent for long enough, and gone with its search", async () => {
    const id = await save({ query: "outcome:exception", alert: { threshold: 1, over: "1h" } });
    await come(1, { outcome: "exception" }, 1);
    expect(await incidents()).toHaveLength(1);
    expect((await call("DELETE", `/logship/searches/${id}`)).status).toBe(200);
    for (let i = 0; i < 5; i++) {
      clock.advance(5 * MINUTE_MS);
      await runCron();
    }
    expect(await incidents()).toMatchObject([{ state: "over" }]);
    expect(await traceLog(env.TRACE_LOG, 0).searchCounts()).toMatchObject([{ id: 0, sinceMs: 0 }]);
  });

  it("is checked by the cron where the counts do not answer", async () => {
    await save({ query: "outcome:exception", alert: { threshold: 1, over: "5m" } });
    const silent = vi.spyOn(TraceLog.prototype, "searchCounts").mockImplementation(() => {
      throw new Error("refused");
    });
    await come(1, { outcome: "exception" }, 1);
    expect(await incidents()).toEqual([]);
    silent.mockRestore();
    await runCron();
    expect(await incidents()).toHaveLength(1);
    const [before] = await incidents();
    vi.spyOn(TraceLog.prototype, "searchCounts").mockImplementation(() => {
      throw new Error("refused");
    });
    clock.advance(6 * MINUTE_MS);
    await runCron();
    expect(await incidents()).toMatchObject([{ id: before?.id, state: "unknown" }]);
    vi.mocked(TraceLog.prototype.searchCounts).mockRestore();
    await runCron();
    expect(await incidents()).toMatchObject([{ state: "recovering" }]);
    // Nor is it over where an earlier release of the control plane knows none.
    await come(1, { outcome: "exception" }, 2);
    expect(await incidents()).toMatchObject([{ id: before?.id, state: "open" }]);
    const snapshot = await controlPlane(env.CONTROL).configSince("");
    vi.spyOn(ControlPlane.prototype, "configSince").mockReturnValue({ ...snapshot, searches: undefined } as never);
    clock.advance(6 * MINUTE_MS);
    await runCron();
    expect(await incidents()).toMatchObject([{ id: before?.id, state: "unknown" }]);
  });
});
