/** The made incident set, and what is told of alerts. */
import { describe, expect, it } from "vitest";
import {
  alertRows,
  failingFromMs,
  type Planted,
  slowFromMs,
  strangers,
  type Told,
} from "../../../tools/bench/questions/alerts.ts";
import { BROKEN, CUSTOMER, madeFrom, NOTHING_YET, SLOW, Truth } from "../../../tools/bench/questions/events.ts";

const MINUTE = 60_000;
const NOON = Date.UTC(2026, 10, 20, 12);

describe("the made incident set", () => {
  const own = { brokenMs: NOON + MINUTE, slowMs: NOON + MINUTE, stoppedMs: NOON + 90_000, fixedMs: NOON + 4 * MINUTE };
  const plan = { ...NOTHING_YET, ...own };
  const all = madeFrom(plan, NOON, NOON + 5 * MINUTE);

  it("is the same however it is cut", () => {
    const cuts = [0, 1, 777, 60_000, 61_007, 299_999, 300_000].map((ms) => NOON + ms);
    const pieces = cuts.slice(1).flatMap((until, i) => madeFrom(plan, cuts[i] ?? 0, until));
    expect(pieces).toEqual(all);
  });

  it("has ordinary traffic of eight Workers, and what was planted in its time alone", () => {
    const of = (worker: string, version: string) =>
      all.filter((each) => each.worker === worker && each.version === version);
    expect(new Set(all.map(({ worker }) => worker)).size).toBe(8);
    const [v42, v43] = [of(BROKEN, "v42"), of(BROKEN, "v43")];
    expect(v42.filter(({ hasFailed }) => hasFailed).length / v42.length).toBeCloseTo(0.3, 1);
    expect(v43.length).toBeGreaterThan(100);
    expect([...of(BROKEN, "v41"), ...v43].some(({ hasFailed }) => hasFailed)).toBe(false);
    const slow = all.filter(({ isSlow }) => isSlow).map(({ atMs }) => atMs);
    expect([Math.min(...slow), Math.max(...slow)]).toEqual([plan.slowMs, plan.fixedMs - 500]);
    expect(all.filter(({ isCron }) => isCron).map(({ atMs }) => (atMs - NOON) / MINUTE)).toEqual([0, 1, 4]);
    const seen = all.filter(({ customer }) => customer === CUSTOMER);
    expect(Map.groupBy(seen, ({ ray }) => ray).size).toBe(5);
    expect(new Set(seen.map(({ worker }) => worker)).size).toBe(3);
    expect(new Set(all.flatMap(({ ray }) => ray || [])).size).toBe(all.filter(({ isCron }) => !isCron).length - 10);
  });

  it("has thresholds where they are crossed", () => {
    const truth = new Truth();
    truth.add(all, NOON);
    expect(truth.firstBroken()).toMatchObject({ worker: BROKEN, hasFailed: true, version: "v42" });
    const crossedMs = failingFromMs(all, BROKEN);
    expect(truth.broken().filter(({ atMs }) => atMs <= crossedMs)).toHaveLength(20);
    const before = all.filter(({ worker, atMs }) => worker === SLOW && atMs < plan.slowMs).length;
    // The 95th of a hundred is slow when more than five are.
    const slowed = all.filter(({ isSlow, atMs }) => isSlow && atMs <= slowFromMs(all, 5 * MINUTE)).length;
    expect(slowed / (before + slowed)).toBeGreaterThan(0.05);
    expect((slowed - 1) / (before + slowed - 1)).toBeLessThanOrEqual(0.05);
    expect(failingFromMs(madeFrom(NOTHING_YET, NOON, NOON + MINUTE), BROKEN)).toBeNaN();
  });
});

it("tells of each incident when its messages came, and of those that were not planted", () => {
  const planted: Planted[] = ["parked", "function_failing", "lagging"].map((kind) => ({
    ...{ name: kind, crossedMs: NOON, is: (about) => about.kind === kind },
  }));
  const call = (atMs: number, type: string, data: Told["data"]): Told => ({ atMs, type, data });
  const told = [
    call(NOON + 1, "incident.opened", {
      ...{ kind: "function_failing", version: "v42", links: { first_record: "…" } },
      also: [{ kind: "parked" }, { kind: "no_events", subject: { type: "account" } }],
    }),
    call(NOON + 2, "incident.opened", { kind: "parked" }),
    call(NOON + 3, "incident.over", { kind: "other", also: [{ kind: "parked" }] }),
  ];
  expect(alertRows(planted, told)).toMatchObject([
    {
      name: "parked",
      toldMs: [NOON + 1, NOON + 2],
      beside: 2,
      overMs: NOON + 3,
      links: ["first_record", "version v42"],
    },
    { name: "function_failing", toldMs: [NOON + 1], beside: 2, overMs: null },
    { name: "lagging", toldMs: [], beside: 0, overMs: null, links: [] },
  ]);
  expect(strangers(planted, told)).toEqual(['no_events {"type":"account"}', "other undefined"]);
});
