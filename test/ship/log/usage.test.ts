/**
 * The cost of a month, compared with the benchmark's: the tables of docs/costs.md, for a million
 * events.
 */
import { describe, expect, it } from "vitest";
import { billOf, type OperationName, queueUnits } from "../../../src/ship/log/bill.ts";
import type { MonthUse } from "../../../src/ship/log/month-use.ts";

const SINCE = Date.parse("2026-11-01T00:00:00Z");

/**
 * Jobs and events a second; and, for a million events: batches, groups of 4 MB, message units of 64
 * KB, uploads, parts that the packer has added to messages.
 */
type Million = Record<"jobs" | "rate" | "batches" | "groups" | "units" | "uploads", number> & {
  name: string;
  furtherParts?: number;
};

const SCENARIOS: readonly Million[] = [
  { name: "1/s, 1 job", jobs: 1, rate: 1, batches: 82_000, groups: 82_000, units: 331_000, uploads: 31_500 },
  { name: "100/s, 1 job", jobs: 1, rate: 100, batches: 1_000, groups: 1_000, units: 5_020, uploads: 368 },
  { name: "1,000/s, 1 job", jobs: 1, rate: 1_000, batches: 96, groups: 289, units: 3_500, uploads: 37 },
  { name: "100/s, 3 jobs", jobs: 3, rate: 100, batches: 971, groups: 971, units: 5_020, uploads: 1_004 },
  {
    ...{ name: "100/s, 20 isolates", jobs: 1, rate: 100, batches: 897, groups: 897, units: 5_020, uploads: 332 },
    furtherParts: 95_300,
  },
  {
    ...{ name: "1,000/s, 100 isolates", jobs: 1, rate: 1_000, batches: 96, groups: 289, units: 3_030, uploads: 33 },
    furtherParts: 47_200,
  },
  { name: "100/s, 10 jobs", jobs: 10, rate: 100, batches: 1_000, groups: 1_000, units: 5_020, uploads: 3_680 },
];

/** As in the document. */
const MEASURED: { readonly [name in OperationName]: readonly number[] } = {
  rowsWritten: [735_000, 9_200, 2_060, 15_700, 7_900, 1_960, 41_200],
  queueOperations: [994_000, 15_100, 10_500, 15_100, 15_100, 9_100, 15_100],
  storeClassA: [31_500, 368, 37, 1_004, 332, 33, 3_680],
  objectRequests: [391_000, 5_320, 745, 8_130, 104_500, 50_900, 19_100],
  requests: [85_200, 1_040, 100, 1_000, 930, 100, 1_040],
  logEvents: [114_000, 1_370, 133, 1_970, 1_230, 130, 4_690],
  cpuMs: [26_000, 26_000, 26_000, 53_000, 26_000, 26_000, 144_000],
  objectGbSeconds: [3_135, 37, 4.5, 84, 416, 49, 280],
};

/** Of no jobs, and of one. */
const NONE = { all: 0, enabled: 0, rules: 0 };
const ONE = { all: 1, enabled: 1, rules: 1 };

const DOLLARS = [1.5, 0.0201, 0.0072, 0.032, 0.0382, 0.0147, 0.0793] as const;

/** A month in which nothing was done, but for this. */
const useOf = (fields: Partial<MonthUse>): MonthUse => ({
  ...{ month: 2026 * 12 + 10, sinceMs: SINCE, batches: 0, groups: 0, messages: 0, messageUnits: 0 },
  ...{ furtherParts: 0, events: 0, entries: 0, offered: 0 },
  ...fields,
});
const NO_UPLOADS = { ok: 0, retried: 0, failed: 0 };

function millionOf({ jobs, rate, batches, groups, units, uploads, furtherParts = 0 }: Million) {
  const counts = { events: 1e6, messages: units, messageUnits: units, furtherParts, batches, groups };
  const use = useOf({ ...counts, entries: groups * jobs, offered: 1e6 * jobs });
  const delivered = { uploads: { ...NO_UPLOADS, ok: uploads }, records: 1e6 * jobs };
  return billOf(use, delivered, { all: jobs, enabled: jobs, rules: jobs }, SINCE + (1e6 / rate) * 1_000);
}

describe.each(SCENARIOS.map((scenario, i) => ({ ...scenario, i })))("a million events at $name", (scenario) => {
  const bill = millionOf(scenario);

  it.each(Object.entries(MEASURED))("takes as many %s as were measured, within a quarter", (name, measured) => {
    const of = measured[scenario.i] ?? 0;
    const { amount } = bill.operations[name as OperationName];
    expect(amount).toBeGreaterThan(of * 0.75);
    expect(amount).toBeLessThan(of * 1.25);
  });

  it("costs as much, within a tenth", () => {
    const dollars = DOLLARS[scenario.i] ?? 0;
    expect(bill.dollars).toBeGreaterThan(dollars * 0.9);
    expect(bill.dollars).toBeLessThan(dollars * 1.1);
    expect(bill.vendor.dollars).toBeCloseTo(0.05 * scenario.jobs, 6);
  });
});

it("jobs of equal rules take the CPU time of one", () => {
  const use = useOf({ events: 1e6, messages: 1, messageUnits: 1, batches: 1, groups: 1, entries: 3, offered: 3e6 });
  const delivered = { uploads: { ...NO_UPLOADS, ok: 1 }, records: 3e6 };
  const cpuMs = (rules: number) => billOf(use, delivered, { all: 4, enabled: 3, rules }, SINCE).operations.cpuMs.amount;
  expect([cpuMs(3) - cpuMs(2), cpuMs(2) - cpuMs(1)]).toEqual([13_200, 13_200]);
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
