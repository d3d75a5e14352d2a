import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { FUNCTIONS_MAX, ROW_MAX_BYTES, SWITCHES_MAX } from "../../../src/base/limits.ts";
import { CLOCK_SKEW_MS, type Window } from "../../../src/ship/job/config.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { api } from "../../support/runtime/api.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { beforeChanges, control, joinShards } from "./copies.ts";

const DAY_MS = 86_400_000;

const windowsOf = async (name: string): Promise<readonly Window[]> => {
  const all = await control().configSince("");
  if (all.jobs === null) throw new Error("there is a state that is none");
  return all.optOuts.find(({ scriptName }) => scriptName === name)?.windows ?? [];
};

const storedNames = (): Promise<string[]> =>
  runInDurableObject(control(), (_control, { storage: { sql } }) =>
    sql
      .exec<{ name: string }>("SELECT name FROM function_setting ORDER BY name")
      .toArray()
      .map(({ name }) => name),
  );

/** Writes settings as a long-lived account has them. */
const fill = (settings: readonly { name: string; logging: "on" | "off" | null; windows: readonly Window[] }[]) =>
  runInDurableObject(control(), (_control, { storage: { sql } }) => {
    for (const { name, logging, windows } of settings) {
      sql.exec(
        "INSERT INTO function_setting (name, logging, windows, switched_version, modified_ms) VALUES (?, ?, ?, 0, ?)",
        name,
        logging,
        JSON.stringify(windows),
        NOON,
      );
    }
  });

/** So many switches off and on again, one a second, before noon. */
const switchedOften = (times: number): Window[] =>
  Array.from({ length: times }, (_, i) => ({
    fromMs: NOON - 2_000 * (i + 1),
    untilMs: NOON - 2_000 * i - 1_000,
  })).reverse();

describe("what is remembered of functions", () => {
  it("are the windows that an event in the queue can fall into, and nothing of a function that has no setting beyond them", async () => {
    const clock = setClock(NOON);
    await control().setFunction("shop", { logging: "off" });
    await control().removeFunction("shop");
    expect(await control().functionSetting("shop")).toBeNull();
    expect(await windowsOf("shop")).toHaveLength(1);
    clock.advance(15 * DAY_MS);
    await control().setFunction("billing", { logging: "off" });
    expect(await storedNames()).toEqual(["billing"]);
    await control().setFunction("billing", { logging: "on" });
    clock.advance(16 * DAY_MS);
    await control().setFunction("other", { logging: "off" });
    expect(await windowsOf("billing")).toEqual([]);
    expect(await control().functionSetting("billing")).toMatchObject({ logging: "on" });
  });

  it("stands in nobody's way once it is old: it is forgotten as soon as its place is needed", async () => {
    const clock = setClock(NOON);
    const windows = [{ fromMs: NOON - 1_000, untilMs: NOON }];
    await fill(Array.from({ length: FUNCTIONS_MAX }, (_, i) => ({ name: `f-${i}`, logging: null, windows })));
    expect(await control().setFunction("new", { logging: "on" })).toMatchObject({ kind: "refused" });
    clock.advance(15 * DAY_MS);
    expect(await control().setFunction("new", { logging: "on" })).toMatchObject({ kind: "changed", missing: [] });
    expect(await storedNames()).toEqual(["new"]);
  });

  it("is nothing for a function that is unset and never was off", async () => {
    setClock(NOON);
    await control().setFunction("shop", { logging: "on" });
    await control().setFunction("shop", { logging: "unset" });
    await control().setFunction("billing", {});
    expect(await storedNames()).toEqual([]);
  });

  it("holds no more than a thousand functions, of which each can still be changed and switched on", async () => {
    setClock(NOON);
    const names = Array.from({ length: FUNCTIONS_MAX }, (_, i) => `f-${String(i).padStart(4, "0")}`);
    await fill(names.map((name) => ({ name, logging: "off", windows: [{ fromMs: NOON - 5_000, untilMs: null }] })));
    const one = await api("PATCH", "/functions/scripts/one-more/script-settings", { logship: false });
    expect([one.status, one.body.errors]).toEqual([
      403,
      [
        {
          code: 1004,
          message:
            "changing the settings of a Worker is not allowed: exceeded max functions with settings allowed (1000)",
        },
      ],
    ]);
    expect((await control().setFunction("one-more", { tailConsumers: [] })).kind).toBe("refused");
    expect((await control().setFunction("one-more", { logging: "unset" })).kind).toBe("changed");
    expect((await control().setFunction("f-0500", { logging: "on" })).kind).toBe("changed");
    expect((await control().setFunction("f-0500", { logging: "off" })).kind).toBe("changed");
    expect(await storedNames()).toEqual(names);
  });

  it("holds a hundred times off within 15 days, after which a function can be switched on, and off when the first is over", async () => {
    const clock = setClock(NOON);
    const windows = switchedOften(SWITCHES_MAX - 1);
    await fill([{ name: "shop", logging: "on", windows }]);
    expect((await control().setFunction("shop", { logging: "off" })).kind).toBe("changed");
    clock.advance(1_000);
    expect((await control().setFunction("shop", { logging: "on" })).kind).toBe("changed");
    clock.advance(1_000);
    expect(await control().setFunction("shop", { logging: "off" })).toEqual({
      kind: "refused",
      why: "logging of a Worker can be switched off 100 times within 15 days",
    });
    expect((await control().functionSetting("shop"))?.logging).toBe("on");
    expect(await windowsOf("shop")).toHaveLength(SWITCHES_MAX);
    clock.advance(15 * DAY_MS - 2_000 * (SWITCHES_MAX - 2));
    expect((await control().setFunction("shop", { logging: "off" })).kind).toBe("changed");
  });

  it("fits a shard's row, whatever the names, and what ends an opt-out is never refused", async () => {
    setClock(NOON);
    const long = (i: number): string => "\u20ac".repeat(250) + String(i).padStart(5, "0");
    const functions = Array.from({ length: 450 }, (_, i) => ({
      name: long(i),
      logging: "off" as const,
      windows: [...switchedOften(60), { fromMs: NOON - 500, untilMs: null }],
    }));
    await fill(functions);
    expect(await control().setFunction("one-more", { logging: "off" })).toMatchObject({
      kind: "changed",
      missing: [],
    });
    await fill(functions.slice(0, 30).map((each) => ({ ...each, name: `x${each.name.slice(1)}` })));
    expect(await control().setFunction("another", { logging: "off" })).toEqual({
      kind: "refused",
      why: "logging of too many Workers was switched off within 15 days",
    });
    for (const { name } of functions.slice(0, 3))
      expect(await control().setFunction(name, { logging: "on" })).toMatchObject({ kind: "changed", missing: [] });
    const bytes = await runInDurableObject(traceLog(env.TRACE_LOG, 0), (_log, { storage: { sql } }) =>
      Number(sql.exec("SELECT length(CAST(functions AS BLOB)) AS n FROM opt_outs").one().n),
    );
    expect(bytes).toBeGreaterThan(1_500_000);
    expect(bytes).toBeLessThan(ROW_MAX_BYTES);
  });
});

it("brings a switch to many shards side by side, sixteen at a time", async () => {
  setClock(NOON);
  await joinShards(...Array.from({ length: 40 }, (_, n) => n));
  let [now, most] = [0, 0];
  const changes = beforeChanges(async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setTimeout(resolve, 20));
    now -= 1;
  });
  expect(await control().setFunction("shop", { logging: "off" })).toMatchObject({ missing: [] });
  expect(changes).toHaveBeenCalledTimes(40);
  expect(most).toBe(16);
});

it("waits for no clock where nothing is switched, and twice their difference where it is", async () => {
  const clock = setClock(NOON);
  await control().setFunction("shop", { tailConsumers: [{ service: "logship" }] });
  expect(clock.nowMs()).toBe(NOON);
  await control().removeFunction("shop");
  expect(clock.nowMs()).toBe(NOON);
  await control().setFunction("shop", { logging: "off" });
  expect(clock.nowMs()).toBe(NOON + 2 * CLOCK_SKEW_MS);
  await control().removeFunction("shop");
  expect(clock.nowMs()).toBe(NOON + 4 * CLOCK_SKEW_MS);
});
