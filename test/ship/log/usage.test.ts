/**
 * The cost of a month, compared with what the benchmark counted for a million events: the tables of
 * docs/costs.md.
 */
import { describe, expect, it } from "vitest";
import { PRICE_NAMES, PRICES } from "../../../src/base/prices.ts";
import { billOf, type OperationName, queueUnits } from "../../../src/ship/log/bill.ts";
import type { MonthUse } from "../../../src/ship/log/month-use.ts";
import { counted } from "../../../tools/bench/counted.ts";

const SINCE = Date.parse("2026-11-01T00:00:00Z");

/** Events a second, isolates, jobs; and how many groups of 4 MB a batch has. */
const SCENARIOS = (
  [
    ...[[1, 1, 1, 1] as const, [100, 1, 1, 1] as const, [1_000, 1, 1, 3] as const, [100, 1, 3, 1] as const],
    ...[[100, 20, 1, 1] as const, [1_000, 100, 1, 3] as const, [100, 1, 10, 1] as const],
  ] as const
).map(([rate, isolates, jobs, groupsOfBatch]) => {
  const name = `${rate}/s, ${isolates} isolates, ${jobs} jobs`;
  return { name, rate, jobs, groupsOfBatch, measured: counted(rate, isolates, jobs) };
});
type Scenario = (typeof SCENARIOS)[number];

/** Of no jobs, and of one. */
const NONE = { all: 0, enabled: 0, rules: 0 };
const ONE = { all: 1, enabled: 1, rules: 1 };

/** A month in which nothing was done, but for this. */
const useOf = (fields: Partial<MonthUse>): MonthUse => ({
  ...{ month: 2026 * 12 + 10, sinceMs: SINCE, batches: 0, groups: 0, messages: 0, messageUnits: 0 },
  ...{ furtherParts: 0, events: 0, entries: 0, offered: 0 },
  ...fields,
});
const NO_UPLOADS = { ok: 0, retried: 0, failed: 0 };

function millionOf({ rate, jobs, groupsOfBatch, measured: { billed, batches, parts } }: Scenario) {
  const units = billed.queueOperations / 3;
  const groups = groupsOfBatch * batches;
  // The first part of each message is not a further one.
  const furtherParts = Math.max(0, parts - units);
  const counts = { events: 1e6, messages: units, messageUnits: units, furtherParts, batches, groups };
  const use = useOf({ ...counts, entries: groups * jobs, offered: 1e6 * jobs });
  const delivered = { uploads: { ...NO_UPLOADS, ok: billed.storeClassA }, records: 1e6 * jobs };
  return billOf(use, delivered, { all: jobs, enabled: jobs, rules: jobs }, SINCE + (1e6 / rate) * 1_000);
}

describe.each(SCENARIOS)("a million events at $name", (scenario) => {
  const bill = millionOf(scenario);
  const { billed } = scenario.measured;

  it.each(Object.entries(bill.operations))(
    "takes as many %s as were measured, within a quarter",
    (name, { amount }) => {
      const of = billed[name as OperationName];
      expect(amount).toBeGreaterThan(of * 0.75);
      expect(amount).toBeLessThan(of * 1.25);
    },
  );

  it("costs as much, within a tenth", () => {
    const dollars = PRICE_NAMES.reduce((sum, name) => sum + (billed[name] / 1e6) * PRICES[name].dollars, 0);
    expect(bill.dollars).toBeGreaterThan(dollars * 0.9);
    expect(bill.dollars).toBeLessThan(dollars * 1.1);
    expect(bill.vendor.dollars).toBeCloseTo(0.05 * scenario.jobs, 6);
  });
});

it("a log line costs what its size does, taken in and kept for a week", () => {
  const { logEvents } = PRICES;
  expect(logEvents.dollars).toBeCloseTo(4.84 * 0.25 + (4.84 * 7 * 0.1) / 30, 9);
  // 50 GB are used up before 12 GB-months.
  expect(logEvents.included * 4.84).toBeCloseTo(50e6, -2);
  expect((logEvents.included * 4.84 * 7) / 30).toBeLessThan(12e6);
});

it("jobs of equal rules take the CPU time of one", () => {
  const use = useOf({ events: 1e6, messages: 1, messageUnits: 1, batches: 1, groups: 1, entries: 3, offered: 3e6 });
  const delivered = { uploads: { ...NO_UPLOADS, ok: 1 }, records: 3e6 };
  const cpuMs = (rules: number) => billOf(use, delivered, { all: 4, enabled: 3, rules }, SINCE).operations.cpuMs.amount;
  expect([cpuMs(3) - cpuMs(2), cpuMs(2) - cpuMs(1)]).toEqual([15_200, 15_200]);
});

it("a month of nothing costs nothing but its cron", () => {
  const delivered = { uploads: NO_UPLOADS, records: 0 };
  expect(billOf(useOf({}), delivered, NONE, SINCE).dollars).toBe(0);
  // A clock that was set back changes nothing.
  expect(billOf(useOf({}), delivered, NONE, SINCE - 3_600_000).dollars).toBe(0);
  const { operations, beyondPlanDollars, dollars } = billOf(useOf({}), delivered, ONE, SINCE + 30 * 86_400_000);
  expect(operations.requests.amount).toBe(8_640);
  expect(operations.rowsWritten.amount).toBe(17_280);
  expect(dollars).toBeLessThan(0.1);
  expect(beyondPlanDollars).toBe(0);
});

it("what the plan includes is taken off once for each price", () => {
  const use = useOf({ messages: 2e6, messageUnits: 2e6, events: 2e6 });
  const bill = billOf(use, { uploads: NO_UPLOADS, records: 110e6 }, ONE, SINCE);
  // Six million operations, of which one is included.
  expect(bill.beyondPlanDollars).toBeCloseTo(5 * 0.4, 9);
  expect([bill.vendor.dollars, bill.vendor.beyondPlanDollars]).toEqual([5.5, 5]);
});

it("a message is an operation for each started 64 KB, with what the platform adds", () => {
  expect([0, 63_900, 63_901, 127_900, 127_901].map(queueUnits)).toEqual([1, 1, 2, 2, 3]);
});
