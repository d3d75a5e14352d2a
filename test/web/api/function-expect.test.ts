import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { watch } from "../../../src/operate/alerts/watch.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { lookAnew } from "../../operate/alerts/fresh.ts";
import { freshStatus as status } from "../../operate/status/support.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, NOON, pack, runCron, setSteadyClock } from "../../support/runtime/pipeline.ts";
import { call, errorsOf, freshBucket, type Settings } from "./harness.ts";

lookAnew();

const MINUTE = 60_000;
const TEN = "*/10 * * * *";
const at = (ms: number): string => new Date(ms).toISOString();

interface View {
  id: string;
  kinds: { event_type: string; cron: string | null; every_minutes: number | null; by: string | null }[];
}
const path = (name = "shop"): string => `/functions/scripts/${name}/expect`;
const put = (body: Settings, name?: string) => call<View>("PUT", path(name), body);
const read = async (name?: string): Promise<View["kinds"]> => (await call<View>("GET", path(name))).body.result.kinds;

/** Events of a Worker that the platform traces. */
async function come(oracle: Oracle, atMs: number, fields: Settings = {}, source = "tail"): Promise<void> {
  const minted = oracle.mint(1, { at: atMs, scriptName: "shop" });
  await deliver(
    pack(
      minted.map((each) => ({ ...each, event: { ...each.event, ...fields } })),
      atMs,
      { source },
    ),
  );
}

const cronRun = (atMs: number) => ({ EventType: "scheduled", Event: { Cron: TEN, ScheduledTimeMs: atMs } });
const kindsQuiet = async () =>
  (await status()).findings.filter(({ kind }) => kind === "function_kind_quiet").map((each) => ({ ...each }));

describe("what is expected of a function", () => {
  it("is set, shown with what is learned and last seen, changed, and taken back", async () => {
    const clock = setSteadyClock(NOON);
    await createJob(freshBucket().name);
    expect((await call("GET", path())).status).toBe(404);
    const answer = await put({ event_type: "queue", every_minutes: 10 });
    const queue = { event_type: "queue", cron: null, every_minutes: 10, by: "set", last_event: null };
    expect(answer.body.result).toEqual({
      id: "shop",
      kinds: [{ ...queue, quiet_after: at(NOON + 20 * MINUTE + 20_000) }],
    });
    const oracle = new Oracle({ at: NOON });
    await come(oracle, NOON, cronRun(NOON));
    clock.advance(1_000);
    await come(oracle, NOON + 1_000);
    clock.advance(MINUTE);
    expect(await read()).toMatchObject([
      { event_type: "fetch", every_minutes: null, by: null, last_event: at(NOON + 1_000), quiet_after: null },
      { event_type: "scheduled", cron: TEN, by: "cron", quiet_after: at(NOON + 20 * MINUTE + 20_000) },
      queue,
    ]);
    await put({ event_type: "queue", every_minutes: 60 });
    expect((await read())[2]).toMatchObject({ every_minutes: 60, quiet_after: at(NOON + 121 * MINUTE + 21_000) });
    await put({ event_type: "queue", every_minutes: null });
    await put({ event_type: "scheduled", cron: TEN, every_minutes: null });
    expect(await read()).toMatchObject([{ event_type: "fetch" }]);
    expect((await call<{ id: string }[]>("GET", "/functions/scripts")).body.result).toMatchObject([{ id: "shop" }]);
    expect((await call("DELETE", "/functions/scripts/shop")).status).toBe(200);
    expect((await call("GET", path())).status).toBe(404);
  });

  it("stands in the audit", async () => {
    setSteadyClock(NOON);
    await put({ event_type: "queue", every_minutes: 10 });
    const { body } = await call<Settings[]>("GET", "/logship/audit");
    expect(body.result[0]).toMatchObject({
      ...{ action: "function.expect", resource: "shop", outcome: "done" },
      body: { event_type: "queue", every_minutes: 10 },
    });
  });

  it.each<[string, Settings, string]>([
    ["a scheduled event without its cron", { event_type: "scheduled", every_minutes: 1 }, "/cron"],
    ["a cron of another type", { event_type: "queue", cron: TEN, every_minutes: 1 }, "/cron"],
    ["an expression that no record can have", { event_type: "scheduled", cron: 'a"', every_minutes: 1 }, "/cron"],
    ["a cron that is too long", { event_type: "scheduled", cron: "1".repeat(101), every_minutes: 1 }, "/cron"],
    ["no interval", { event_type: "queue" }, "/every_minutes"],
    ["part of a minute", { event_type: "queue", every_minutes: 0.5 }, "/every_minutes"],
    ["more than thirty days", { event_type: "queue", every_minutes: 43_201 }, "/every_minutes"],
    ["an unknown key", { event_type: "queue", every_minutes: 1, minutes: 1 }, "/minutes"],
  ])("is no %s", async (_what, body, pointer) => {
    const answer = await put(body);
    expect([answer.status, errorsOf(answer).map((error) => error[1])]).toEqual([400, [pointer]]);
  });

  it("is bounded; forgotten kinds take no room and leave after three days, and other settings stay", async () => {
    const clock = setSteadyClock(NOON);
    await call("PATCH", "/functions/scripts/shop/script-settings", { tags: ["a"] });
    const kept = async () => (await controlPlane(env.CONTROL).functionSetting("shop"))?.expect ?? [];
    for (let n = 0; n < 17; n++) await put({ event_type: `gone ${n}`, every_minutes: null });
    for (let n = 0; n < 16; n++) expect((await put({ event_type: `kind ${n}`, every_minutes: 5 })).status).toBe(200);
    expect((await kept()).map(({ kind }) => kind)).toEqual([
      ...Array.from({ length: 16 }, (_, n) => `gone ${n + 1}`),
      ...Array.from({ length: 16 }, (_, n) => `kind ${n}`),
    ]);
    const one = { event_type: "email", every_minutes: 5 };
    expect([(await put(one)).status, errorsOf(await put(one))[0]?.[0]]).toEqual([403, 1004]);
    expect((await put({ event_type: "kind 3", every_minutes: 6 })).status).toBe(200);
    expect((await put({ event_type: "kind 0", every_minutes: null })).status).toBe(200);
    expect((await put(one)).status).toBe(200);
    clock.advance(4 * 86_400_000);
    await put({ event_type: "kind 3", every_minutes: 7 });
    const setting = await controlPlane(env.CONTROL).functionSetting("shop");
    expect([setting?.expect?.length, setting?.kept]).toEqual([16, '{"tags":["a"]}']);
    await call("PATCH", "/functions/scripts/shop/script-settings", { logship: false });
    expect(await kept()).toHaveLength(16);
  });
});

describe("a cron that stops while fetch goes on", () => {
  it("is an incident two minutes after it was due twice, without a cron of the service, until it runs again", async () => {
    const clock = setSteadyClock(NOON);
    await createJob(freshBucket().name);
    const hook = { destination: { url: "https://pager.example/hook" } };
    expect((await call("PUT", "/logship/webhook", hook.destination)).status).toBeLessThan(300);
    const oracle = new Oracle({ at: NOON });
    await come(oracle, NOON, cronRun(NOON));
    // What another sender sends under its name is no run of it.
    await come(oracle, NOON + 10_000, cronRun(NOON), "http:ci");
    await runCron();
    for (let minute = 5; minute <= 20; minute += 5) {
      clock.advance(5 * MINUTE);
      await come(oracle, clock.nowMs());
      await come(oracle, clock.nowMs(), cronRun(NOON), "http:ci");
      await runCron();
      expect(await kindsQuiet()).toEqual([]);
    }
    const alarmMs = () => runInDurableObject(watch(env.WATCH), (_watch, { storage }) => storage.getAlarm());
    expect(await alarmMs()).toBe(NOON + 20 * MINUTE + 30_000);
    clock.advance(30_000);
    await runDurableObjectAlarm(watch(env.WATCH));
    expect(await kindsQuiet()).toMatchObject([
      { subject: { type: "function", name: "shop" }, event_kind: `cron ${TEN}`, since: at(NOON), incident: null },
    ]);
    expect(await alarmMs()).toBe(NOON + 21 * MINUTE + 30_000);
    clock.advance(MINUTE);
    await runDurableObjectAlarm(watch(env.WATCH));
    expect(await kindsQuiet()).toMatchObject([{ incident: expect.stringMatching(/^inc_/) }]);
    await come(oracle, clock.nowMs(), cronRun(clock.nowMs()));
    expect(await kindsQuiet()).toEqual([]);
  });

  it("and was removed on purpose, is over once its owner has forgotten it, though it was seen today", async () => {
    const clock = setSteadyClock(NOON);
    await createJob(freshBucket().name);
    const oracle = new Oracle({ at: NOON });
    await come(oracle, NOON, cronRun(NOON));
    clock.advance(25 * MINUTE);
    await come(oracle, clock.nowMs());
    expect(await kindsQuiet()).toHaveLength(1);
    await put({ event_type: "scheduled", cron: TEN, every_minutes: null });
    for (let check = 0; check < 3; check++) expect(await kindsQuiet()).toEqual([]);
    clock.advance(1_000);
    await come(oracle, clock.nowMs(), cronRun(NOON));
    clock.advance(30 * MINUTE);
    expect(await kindsQuiet()).toHaveLength(1);
  });

  it("is forgotten with its Worker", async () => {
    const clock = setSteadyClock(NOON);
    await createJob(freshBucket().name);
    await come(new Oracle({ at: NOON }), NOON, cronRun(NOON));
    clock.advance(25 * MINUTE);
    expect(await kindsQuiet()).toHaveLength(1);
    await call("DELETE", "/functions/scripts/shop");
    expect(await kindsQuiet()).toEqual([]);
    expect(await runInDurableObject(watch(env.WATCH), (it) => it.kindPulses("shop"))).toEqual([]);
  });
});
