/** From when on a function is said to fail, since when, and until when; and its setting. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { FAILING_BY_DEFAULT, FAILING_FAULT, readFailingRules } from "../../../src/base/failing-setting.ts";
import { readConfig } from "../../../src/config.ts";
import { failingFindings, failingOf } from "../../../src/operate/status/failing.ts";
import { SLOT_MS, type Slot } from "../../../src/ship/log/health-slots.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";
import { call } from "../../web/api/harness.ts";
import { lookAnew } from "../alerts/fresh.ts";
import { MINUTE_MS, freshStatus as status } from "./support.ts";

lookAnew();

const NOW = NOON + 3 * MINUTE_MS;
const NOW_SLOT = Math.floor(NOW / SLOT_MS);

/** Events and failures in the slots up to now, the newest last. */
const slots = (...each: readonly (readonly [events: number, failed: number])[]): Slot[] =>
  each.map(([events, failed], i) => {
    const slot = NOW_SLOT - each.length + 1 + i;
    return { slot, events, failed, firstFailedMs: failed === 0 ? 0 : slot * SLOT_MS + 7 };
  });

const failing = (all: Slot[], setting?: string, name = "shop") =>
  failingOf(
    [{ scriptName: name, source: "tail", slots: all }],
    readFailingRules(setting) ?? FAILING_BY_DEFAULT,
    NOW,
  )[0];

describe("a function fails", () => {
  it.each([
    ["20 failures, 5 %", slots([400, 20]), true],
    ["19 failures", slots([19, 19]), false],
    ["less than 5 %", slots([401, 20]), false],
    ["over fifteen minutes together", slots([200, 7], [100, 7], [100, 6]), true],
    ["but not longer ago", slots([200, 20], [100, 0], [100, 0], [100, 0]), false],
    ["nor when nothing comes any more", [{ slot: NOW_SLOT - 3, events: 20, failed: 20, firstFailedMs: 1 }], false],
  ])("%s: so it is", (_what, all, isSo) => {
    expect(failing(all) !== undefined).toBe(isSo);
  });

  it("since its first failure without a break, as far back as is known", () => {
    const bad = [100, 50] as const;
    const start = (ago: number): number => (NOW_SLOT - ago) * SLOT_MS + 7;
    expect(failing(slots([100, 1], bad, bad, bad, bad))).toMatchObject({
      ...{ events: 300, failed: 150, overMs: 13 * MINUTE_MS, sinceMs: start(3), isLonger: false },
    });
    expect(failing(slots([100, 0], [100, 0], [100, 50]))?.sinceMs).toBe(start(0));
    const hour = Array.from({ length: 12 }, () => bad);
    expect(failing(slots(...hour))).toMatchObject({ sinceMs: start(11), isLonger: true });
  });

  it.each([
    [
      "worse of late",
      3,
      slots([1000, 20], [832, 48], [203, 61]),
      "129 of 2,035 requests (6 %) in the last 13 min, 61 of 203 (30 %) in the last 3, ",
    ],
    ["all of a burst", 3, slots([0, 0], [0, 0], [40, 40]), "40 of 40 requests (100 %) in the last 13 min, "],
    [
      "a burst in a slot that has just begun",
      1,
      slots([400, 0], [200, 0], [100, 60]),
      "60 of 700 requests (9 %) in the last 11 min, 60 of 300 (20 %) in the last 6, ",
    ],
    [
      "over of late",
      4,
      slots([100, 0], [100, 90], [50, 0]),
      "90 of 250 requests (36 %) in the last 14 min, 0 of 50 (0 %) in the last 4, ",
    ],
    [
      "quiet of late",
      4,
      slots([100, 0], [100, 90], [0, 0]),
      "90 of 200 requests (45 %) in the last 14 min, none in the last 4, ",
    ],
  ])("%s: says the last five minutes as near as slots go", (_what, afterMin, all, words) => {
    const found = failingOf(
      [{ scriptName: "shop", source: "tail", slots: all }],
      FAILING_BY_DEFAULT,
      NOON + afterMin * MINUTE_MS,
    );
    expect(failingFindings(found).map(({ summary }) => summary)).toEqual([
      expect.stringContaining(`"shop" is failing: ${words}since `),
    ]);
  });

  it.each([
    [
      "which began it",
      [
        ["old", -90, 0],
        ["v42", 0, 50],
      ],
      "v42",
    ],
    [
      "though the one before fails now and then",
      [
        ["old", -90, 4],
        ["v42", 0, 46],
      ],
      "v42",
    ],
    [
      "not one that came long before",
      [
        ["old", -90, 0],
        ["v41", -20, 50],
      ],
      undefined,
    ],
    [
      "nor one that came after",
      [
        ["old", -90, 30],
        ["v42", 0, 20],
      ],
      undefined,
    ],
    [
      "nor one that does not fail",
      [
        ["old", -99, 50],
        ["v42", 0, 0],
      ],
      undefined,
    ],
  ] as const)("since a version, %s", (_what, all, owed) => {
    const start = NOW_SLOT * SLOT_MS;
    const versions = all.map(([version, minutes, failed]) => ({
      ...{ version, tag: "", events: 100, failed, firstMs: start + minutes * MINUTE_MS },
    }));
    const given = [{ scriptName: "shop", source: "tail", slots: slots([100, 0], [100, 50]), versions }];
    const found = failingOf(given, FAILING_BY_DEFAULT, NOW);
    expect(found[0]?.version?.version).toBe(owed);
    const words = / UTC(; version "v42" was first seen at 12:00 UTC)?\.$/.exec(
      failingFindings(found)[0]?.summary ?? "",
    );
    expect(words?.[1] !== undefined).toBe(owed !== undefined);
  });

  it("by a rule of its own", () => {
    const all = slots([100, 2]);
    expect(failing(all)).toBeUndefined();
    expect(failing(all, "1%:2")).toBeDefined();
    expect(failing(all, "1%:2, shop=off")).toBeUndefined();
    expect(failing(all, "shop=2%:2")).toBeDefined();
    expect(failing(all, "shop=2.5%:2")).toBeUndefined();
    expect(failing(slots([100, 90]), "off")).toBeUndefined();
    expect(failing(slots([100, 90]), "off", "till")).toBeUndefined();
    expect(failing(slots([100, 90]), "shop=off", "till")).toBeDefined();
  });

  it("and the setting is checked", () => {
    for (const wrong of ["5%", "5:20", "0%:20", "101%:20", "5%:0", "a=", "5%:20,", "on", 5, "-1%:3"])
      expect(readFailingRules(wrong)).toBeNull();
    expect(readConfig({ ...env, FUNCTION_FAILING: "often" })).toMatchObject({ ok: false, faults: [FAILING_FAULT] });
    expect(readFailingRules("")).toBe(FAILING_BY_DEFAULT);
    expect(readFailingRules("a=b=5%:20")?.of.get("a=b")).toEqual({ share: 0.05, least: 20 });
  });
});

it("is in the status while it lasts, and not for a client that goes away", async () => {
  const clock = setClock(NOON);
  const job = await createJob(freshBucket().name);
  const oracle = new Oracle({ at: NOON });
  const come = async (count: number, outcome: string, scriptName = "checkout"): Promise<void> => {
    await deliver(pack(oracle.mint(count, { at: clock.nowMs(), scriptName, outcome }), clock.nowMs()));
    await settle(job, clock);
  };
  await come(60, "canceled", "left");
  await come(60, "ok");
  await come(19, "exception");
  const said = async () => (await status()).findings.filter(({ kind }) => kind !== "problem_new");
  expect(await said()).toEqual([]);
  await come(1, "exception");
  const findings = await said();
  expect(findings).toMatchObject([
    {
      kind: "function_failing",
      subject: { type: "function", name: "checkout" },
      severity: "warning",
      affected: { count: 20, what: "events" },
    },
  ]);
  expect(findings[0]?.summary).toMatch(
    /^"checkout", as sent by "unknown", is failing: 20 of 80 requests \(25 %\) in the last \d+ min, since 12:0\d UTC\.$/,
  );
  clock.advance(5 * MINUTE_MS);
  await come(400, "ok");
  expect(await said()).toEqual([]);
});

it("leaves out what came while logging was off", async () => {
  const clock = setClock(NOON);
  await call("PATCH", "/functions/scripts/secret/script-settings", { logship: false });
  clock.advance(1_000);
  const minted = new Oracle({ at: clock.nowMs() }).mint(30, { scriptName: "secret", outcome: "exception" });
  await deliver(pack(minted, clock.nowMs()));
  const { body } = await call<{ total: object }>("GET", "/functions/scripts/secret/health");
  expect(body.result?.total).toMatchObject({ invocations: 0, failed: 0 });
});
