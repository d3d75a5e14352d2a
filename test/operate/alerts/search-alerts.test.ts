/** Alerts on saved searches: from the definition to the incident, without a second look. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Watch, watch } from "../../../src/operate/alerts/watch.ts";
import { type MintOptions, Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, runCron, setClock } from "../../support/runtime/pipeline.ts";
import { call } from "../../web/api/harness.ts";
import { MINUTE_MS, type SaidIncident } from "../status/support.ts";
import { lookAnew } from "./fresh.ts";

lookAnew();

let clock: ReturnType<typeof setClock>;
let oracle: Oracle;
let woken: Promise<void>[];
beforeEach(async () => {
  for (const how of ["error", "warn", "info"] as const) vi.spyOn(console, how).mockImplementation(() => {});
  clock = setClock(NOON);
  oracle = new Oracle({ at: NOON });
  woken = [];
  const { searchesCrossed } = Watch.prototype;
  vi.spyOn(Watch.prototype, "searchesCrossed").mockImplementation(function (this: Watch) {
    const own = searchesCrossed.call(this);
    woken.push(own);
    return own;
  });
  await createJob(freshBucket().name);
});

async function save(body: object): Promise<number> {
  const { status, body: answer } = await call<{ id: number }>("POST", "/logship/searches", { name: "Mine", ...body });
  expect(status, JSON.stringify(answer.errors)).toBe(201);
  return answer.result.id;
}

/** Events come, in a batch of the queue; shards that wake the watch have done so. */
async function come(count: number, options: MintOptions = {}): Promise<void> {
  await deliver(pack(oracle.mint(count, { at: clock.nowMs(), ...options }), clock.nowMs()));
  await Promise.all(woken);
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

describe("an alert on a saved search", () => {
  it("is an incident as soon as enough records have come, without a cron, and once", async () => {
    const id = await save({ query: "outcome:exception", alert: { threshold: 3, over: "5m" } });
    await come(2, { outcome: "exception" });
    await come(5);
    expect([await incidents(), woken.length]).toEqual([[], 0]);
    await come(1, { outcome: "exception" });
    const [incident, ...others] = await incidents();
    expect(others).toEqual([]);
    expect(incident).toMatchObject({
      ...{ kind: "search_alert", state: "open", severity: "warning", affected: { count: 3, what: "records" } },
      subject: { type: "search", id, name: "Mine" },
      summary: 'Search "Mine" is past its threshold: 3 records in the last 5 min (at least 3).',
    });
    await come(9, { outcome: "exception" });
    expect(await incidents()).toMatchObject([{ id: incident?.id }]);
    expect([await read(id), woken.length]).toEqual([{ since: expect.any(String), total: 12, value: 12 }, 1]);
    clock.advance(6 * MINUTE_MS);
    await runCron();
    expect(await incidents()).toMatchObject([{ id: incident?.id, state: "recovering" }]);
    expect(await read(id)).toMatchObject({ total: 12, value: 0 });
  });
});
