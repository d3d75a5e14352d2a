/** Billed operations by rate, jobs and isolates, and what they cost. */
import { PRICE_NAMES, PRICES, type PriceName, VENDOR } from "../../src/base/prices.ts";
import { ASSUMED_SECONDS, beyondPlan, CPU_MS, OBJECT_GB } from "../../src/ship/log/bill.ts";
import { type Measured, type MeasuredObject, measure } from "./measure.ts";
import { settings } from "./settings.ts";
import { count, dollars, table } from "./table.ts";

const MONTH_S = 30 * 86_400;

/** Events a second, isolates (0: each event is POSTed by itself), jobs. */
const SCENARIOS: readonly (readonly [rate: number, isolates: number, jobs: number])[] = [
  ...([1, 3] as const).flatMap((jobs) => [1, 100, 1_000].map((rate) => [rate, 1, jobs] as const)),
  ...[[100, 1, 10] as const, [1, 4, 1] as const, [1, 20, 1] as const],
  ...[2, 4, 20].map((isolates) => [100, isolates, 1] as const),
  ...[4, 20, 100].map((isolates) => [1_000, isolates, 1] as const),
  ...[1, 10].map((jobs) => [100, 0, jobs] as const),
];

/** The highest rate of `--quick`. */
const QUICK_RATE = 100;

/** Column heads, in the order of the columns. */
const HEADS: { readonly [name in PriceName]: string } = {
  queueOperations: "queue ops",
  requests: "invocations",
  cpuMs: "CPU ms",
  objectRequests: "DO requests",
  objectGbSeconds: "DO GB-s",
  rowsWritten: "rows written",
  rowsRead: "rows read",
  storeClassA: "PUTs",
  storeClassB: "HEADs",
  logEvents: "own logs",
};

interface Cost extends Measured {
  bill: Bill;
}

/** @throws if a job has not got every event once: the counts would be wrong. */
export async function reportCosts(isQuick: boolean, say: (line: string) => void): Promise<string[]> {
  const effort = { seconds: 300, cpuSeconds: Number.POSITIVE_INFINITY };
  const costs: Cost[] = [];
  for (const [eventsPerSecond, isolates, jobs] of SCENARIOS) {
    if (isQuick && eventsPerSecond > QUICK_RATE) continue;
    say(`Billed operations: ${eventsPerSecond}/s, ${isolates} isolates, ${jobs} jobs …`);
    const measured = await measure({ eventsPerSecond, isolates, shards: 1, packer: true }, jobs, effort, say);
    if (!measured.isComplete) throw new Error("a job has not got every event once");
    costs.push({ ...measured, bill: bill(measured) });
  }
  const rowsOf = (cells: (cost: Cost) => string[]): string[][] =>
    costs.map((cost) => {
      const { eventsPerSecond, isolates } = cost.load;
      return [count(eventsPerSecond), `${cost.jobs}`, isolates === 0 ? "POSTs" : `${isolates}`, ...cells(cost)];
    });
  const heads = ["events/s", "jobs", "isolates"];
  const names = PRICE_NAMES.map((name) => HEADS[name]);
  const { reading, writing, upload } = ASSUMED_SECONDS;
  return [
    `COSTS by list price. Queue batches: ${settings.batchSize} messages or ${settings.batchTimeoutMs / 1_000} s; uploads every 30 s`,
    table(
      [...heads, "$/million", "objects awake", "vendor", "$ a month", "vendor"],
      rowsOf(({ bill: { dollars: all, awakeDollars, monthDollars, vendor } }) => [
        ...[all, awakeDollars, vendor.dollars].map(dollars),
        ...[monthDollars, vendor.monthDollars].map((value) => value.toFixed(2)),
      ]),
    ),
    '"Objects awake": if no durable object ever came to rest. "A month": 30 days, alone in an account of the paid plan.',
    "Billed for a million events; and parts that the packer got, and its GB-s",
    table(
      [...heads, ...names, "batches", "parts"],
      rowsOf(({ bill: { perMillion }, batches, parts, events }) => [
        ...PRICE_NAMES.map((name) => count(perMillion[name].amount)),
        ...[batches, parts].map((value) => count((value / events) * 1e6)),
      ]),
    ),
    `Assumed: a durable object works ${reading * 1e3} ms for a request that reads, ${writing * 1e3} ms for one that writes, ${upload * 1e3} ms for an upload.`,
  ];
}

interface Bill {
  /** What is billed, for a million events: how many, and what that costs in dollars. */
  perMillion: { readonly [name in PriceName]: { amount: number; dollars: number } };
  /** For a million events, by list price: nothing is included. */
  dollars: number;
  /** The same if no Durable Object ever hibernated. */
  awakeDollars: number;
  /** A month at this rate, alone in its account: with what the plan includes. */
  monthDollars: number;
  vendor: { dollars: number; monthDollars: number };
}

/** The cost at the rate of a load of which each job takes every event. */
function bill(measured: Measured): Bill {
  const { events, jobs, seconds, objects } = measured;
  const amounts = amountsOf(measured);
  const perMillion = Object.fromEntries(
    PRICE_NAMES.map((name) => {
      const amount = (amounts[name] / events) * 1e6;
      return [name, { amount, dollars: (amount / 1e6) * PRICES[name].dollars }];
    }),
  ) as Bill["perMillion"];
  const dollars = PRICE_NAMES.reduce((sum, name) => sum + perMillion[name].dollars, 0);
  const active = objects.filter(({ calls, alarms }) => calls + alarms > 0).length;
  const awakeGbSeconds = active * seconds * OBJECT_GB;
  const perMonth = MONTH_S / seconds;
  return {
    perMillion,
    dollars,
    awakeDollars:
      dollars - perMillion.objectGbSeconds.dollars + (awakeGbSeconds / events) * PRICES.objectGbSeconds.dollars,
    monthDollars: PRICE_NAMES.reduce((sum, name) => sum + beyondPlan(amounts[name] * perMonth, PRICES[name]), 0),
    vendor: { dollars: jobs * VENDOR.dollars, monthDollars: beyondPlan(events * jobs * perMonth, VENDOR) },
  };
}

function amountsOf(measured: Measured): { [name in PriceName]: number } {
  const { objects, events, jobs, load, puts, batches, crons, lines } = measured;
  const total = (of: (object: MeasuredObject) => number): number => objects.reduce((sum, each) => sum + of(each), 0);
  const objectRequests = total(({ calls, alarms }) => calls + alarms);
  const writing = total((object) => object.writing);
  const busySeconds =
    measured.packingS +
    (objectRequests - measured.parts - writing) * ASSUMED_SECONDS.reading +
    writing * ASSUMED_SECONDS.writing +
    puts * ASSUMED_SECONDS.upload;
  return {
    // Each message is written, read and deleted.
    queueOperations: 3 * measured.messageUnits,
    requests: batches + crons + (load.isolates === 0 ? events : 0),
    cpuMs: events * (CPU_MS.event + jobs * CPU_MS.offered),
    objectRequests,
    objectGbSeconds: busySeconds * OBJECT_GB,
    rowsWritten: total(({ rowsWritten }) => rowsWritten),
    rowsRead: total(({ rowsRead }) => rowsRead),
    storeClassA: puts,
    logEvents: lines + (events + batches + crons + objectRequests) * settings.loggedShare,
    storeClassB: measured.otherStoreRequests,
  };
}
