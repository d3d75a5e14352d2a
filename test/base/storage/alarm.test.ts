import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { Alarm } from "../../../src/base/storage/alarm.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";

it("an alarm that fails is set again, says so, and is not postponed by a later one", async () => {
  setClock(NOON);
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  await runInDurableObject(env.SKETCHES.getByName("alarm"), async (_object, { storage }) => {
    const alarm = new Alarm(storage);
    const fails = async () => {
      throw new Error("no");
    };
    await alarm.fired("Sketches", 5_000, fails, () => ({ job: 7 }));
    expect(await storage.getAlarm()).toBe(NOON + 5_000);
    alarm.set(NOON + 60_000, NOON);
    expect(await storage.getAlarm()).toBe(NOON + 5_000);
    alarm.set(NOON + 1_000, NOON);
    expect(await storage.getAlarm()).toBe(NOON + 1_000);
    await alarm.fired("Sketches", 5_000, async () => {});
    alarm.set(NOON + 60_000, NOON);
    expect(await storage.getAlarm()).toBe(NOON + 60_000);
    await storage.deleteAlarm();
  });
  const lines = said.mock.calls.map(([line]) => JSON.stringify(line));
  expect(lines.filter((line) => line.includes("alarm failed"))).toHaveLength(1);
  expect(lines.join()).toContain("no");
});
