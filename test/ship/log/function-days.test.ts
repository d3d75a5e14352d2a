/** The last day of all functions at once, which is that of each. */

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { PartHead } from "../../../src/ship/log/append-types.ts";
import { addedHealth, type Health, invocations, NO_HEALTH, quantile } from "../../../src/ship/log/function-health.ts";
import { slotOf } from "../../../src/ship/log/health-slots.ts";
import { LogShards } from "../../../src/ship/log/log-shards.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { call } from "../../web/api/harness.ts";
import { id } from "../consumer/scripted.ts";
import { open, shard } from "./shard.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const went = (ok: number, failed: number, ms: number): Health => ({
  ...NO_HEALTH,
  outcomes: [
    { outcome: "ok", count: ok },
    { outcome: "exception", count: failed },
  ].filter(({ count }) => count > 0),
  ...{ failed, wall: [ms, ok + failed], cpu: [1, ok + failed] },
});

let ids = 0;
async function take(scriptName: string, version: string, health: Health, takenInMs: number, n: number): Promise<void> {
  ids += 1;
  const head = { id: id(ids), takenInMs, keyed: false, bytes: 100, source: ids % 3 === 0 ? "http:ci" : "tail" };
  const of = { scriptName, version, records: invocations(health), lastEventMs: takenInMs, health };
  await shard(n).append(open([], { parts: [{ ...head, functions: [of] } satisfies PartHead] }));
}

it("each hour is that of its health, however much has become rows, with stragglers of hours before", async () => {
  const clock = setClock(NOON - 26 * HOUR_MS);
  for (let step = 0; step < 54; step++) {
    const nowMs = clock.nowMs();
    for (const name of ["shop", "null", '"'])
      await take(name, step < 30 ? "v1" : "v2", went(step, name === "shop" ? step % 4 : 0, 3), nowMs, step % 2);
    // It was taken in two hours ago, and comes now.
    if (step % 9 === 8) await take("shop", "v1", went(7, 2, 3), nowMs - 2 * HOUR_MS, 0);
    // What is read of an hour is kept, until a straggler comes.
    await new LogShards(env, [0, 1]).functionDays();
    clock.advance(29 * MINUTE_MS);
  }
  const nowMs = clock.nowMs();
  await take("late", "v9", went(3, 1, 12), nowMs, 1);
  const log = new LogShards(env, [0, 1]);
  const hour = Math.floor(nowMs / HOUR_MS);
  const days = await log.functionDays();
  expect(days.map(({ scriptName }) => scriptName).sort()).toEqual(['"', "late", "null", "shop"]);
  for (const day of days) {
    const [found, slots] = await Promise.all([
      log.functionHours(day.scriptName, hour - 23, hour + 1),
      log.functionSlots(day.scriptName, slotOf(nowMs) - 11, slotOf(nowMs) + 1),
    ]);
    const sum = (all: typeof found) => {
      const health = all.reduce<Health>((before, each) => addedHealth(before, each.health), NO_HEALTH);
      return { events: invocations(health), failed: health.failed, wall: health.wall };
    };
    const owed = day.hours.map((_, i) => {
      const { events, failed } = sum(found.filter(({ at }) => at === hour - 23 + i));
      return { events, failed };
    });
    expect(day.hours).toEqual(owed);
    const { events, failed } = sum(slots.filter(({ at }) => at >= slotOf(nowMs) - 1));
    expect(day.now).toEqual({ events, failed });
    expect(quantile(day.wall, 0.95)).toBe(quantile(sum(slots).wall, 0.95));
    expect([day.version, day.lastMs]).toEqual(
      day.scriptName === "late" ? ["v9", nowMs] : ["v2", nowMs - 29 * MINUTE_MS],
    );
  }
});

it("a function that is forgotten is in no hour of it", async () => {
  const clock = setClock(NOON);
  for (const name of ["shop", "till"]) await take(name, "", went(3, 1, 3), NOON, 0);
  clock.advance(3 * HOUR_MS);
  await take("till", "", went(1, 0, 3), clock.nowMs(), 0);
  const log = new LogShards(env, [0]);
  const names = async () => (await log.functionDays()).map(({ scriptName }) => scriptName).sort();
  expect(await names()).toEqual(["shop", "till"]);
  await log.each((each) => each.forgetFunction("shop"));
  expect(await names()).toEqual(["till"]);
});

it("the list begins with what fails now, then with what failed in the day; the rest by how busy it is", async () => {
  const clock = setClock(NOON);
  await take("failed", "", went(50, 40, 3), NOON, 0);
  clock.advance(30 * MINUTE_MS);
  for (const [name, ok, failed] of [
    ["idle", 1, 0],
    ["busy", 900, 0],
    ["fails", 20, 5],
    ["fails seldom", 900, 5],
  ] as const)
    await take(name, "", went(ok, failed, 18), clock.nowMs(), 1);
  const list = await call<{ id: string }[]>("GET", "/logship/functions");
  expect(list.body.result?.map((each) => each.id)).toEqual(["fails", "fails seldom", "failed", "busy", "idle"]);
  expect(list.body.result?.[2]).toMatchObject({
    ...{ invocations: 90, failed: 40, now: { invocations: 0, failed: 0 }, p95_ms: 3, version: "", tag: "" },
    last_event: new Date(NOON).toISOString(),
  });
  const two = await call<{ id: string }[]>("GET", "/logship/functions?per_page=2&page=2");
  expect(two.body.result?.map((each) => each.id)).toEqual(["failed", "busy"]);
});
