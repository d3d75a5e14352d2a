/** Billed operations by rate, jobs and isolates, and what they cost. */
import { PRICE_NAMES, type PriceName } from "../../src/base/prices.ts";
import { ASSUMED_SECONDS } from "../../src/ship/log/bill.ts";
import { type Bill, bill } from "./billing.ts";
import { type Measured, measure } from "./measure.ts";
import { settings } from "./settings.ts";
import { count, dollars, table } from "./table.ts";

/** Events a second, isolates (0: each event is POSTed by itself), jobs. */
const SCENARIOS: readonly (readonly [rate: number, isolates: number, jobs: number])[] = [
  ...([1, 3] as const).flatMap((jobs) => [1, 100, 1_000].map((rate) => [rate, 1, jobs] as const)),
  ...[[100, 1, 10] as const, [1, 4, 1] as const],
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
