/**
 * Dollars in docs/costs.md and docs/compare.md: what was counted at the prices in force. A test
 * compares the pages with this.
 */
import { LOG_PRICES, PRICE_NAMES, PRICES, type Price, type PriceName, VENDOR } from "../../src/base/prices.ts";
import { beyondPlan } from "../../src/ship/log/bill.ts";
import { type Counted, counted } from "./counted.ts";
import { count } from "./table.ts";

/** Millions of seconds of a month: of thirty days. */
const MONTH_MS = 2.592;

/** Size of the benchmark's records as JSON, in kB. */
export const RECORD_KB = 0.8;

/**
 * What the vendor's pipelines charge, per million kB: for what SQL has read, and for what is
 * written as Parquet or Iceberg.
 */
const PIPELINES = [
  { dollars: 0.04, included: 50e6, source: "https://developers.cloudflare.com/pipelines/platform/pricing/" },
  { dollars: 0.06, included: 50e6, source: "https://developers.cloudflare.com/pipelines/platform/pricing/" },
] as const satisfies Price[];

/** What Durable Objects store, per million kB-months. */
const STORED = {
  ...{ dollars: 0.2, included: 5e6 },
  source: "https://developers.cloudflare.com/durable-objects/platform/pricing/",
} as const satisfies Price;

/** Units a month at this rate. @param perMillion units for a million events. */
const monthly = (eventsPerSecond: number, perMillion: number): number => eventsPerSecond * MONTH_MS * perMillion;

/** A million events by list price. */
export function millionDollars({ billed }: Counted): number {
  return PRICE_NAMES.reduce((sum, name) => sum + (billed[name] / 1e6) * PRICES[name].dollars, 0);
}

/**
 * What Durable Objects store, in kB: sketches of each job until their day is over, 10 B a record
 * (docs/search.md; manifests are written, and later sketches are in the bucket), and the records of
 * a day that the log keeps, of 170 B, at most 1 GB (one shard).
 */
function storedKb({ eventsPerSecond, jobs }: Counted): number {
  const dayRecords = eventsPerSecond * 86_400;
  return jobs * dayRecords * 0.01 + Math.min(1e6, dayRecords * 0.17);
}

/** A month beyond what the plan includes, in an account that does nothing else. */
export function monthDollars(each: Counted): number {
  const { eventsPerSecond, billed } = each;
  const operations = PRICE_NAMES.map((name) => beyondPlan(monthly(eventsPerSecond, billed[name]), PRICES[name]));
  return operations.reduce((sum, dollars) => sum + dollars, beyondPlan(storedKb(each), STORED));
}

/** The vendor's own, for the same events. */
export const OTHERS = {
  logpush: (rate: number, jobs = 1): number => beyondPlan(monthly(rate, 1e6) * jobs, VENDOR),
  pipelines: (rate: number): number =>
    OTHERS.logpush(rate) + PIPELINES.reduce((sum, price) => sum + beyondPlan(monthly(rate, 1e6) * RECORD_KB, price), 0),
  /** Workers Logs, where an event has this size. */
  logs: (rate: number, eventKb: number = LOG_PRICES.eventKb): number => {
    const kb = monthly(rate, 1e6) * eventKb;
    return beyondPlan(kb, LOG_PRICES.takenIn) + beyondPlan(kb * LOG_PRICES.keptMonths, LOG_PRICES.stored);
  },
} as const;

const RATES = [1, 100, 1_000] as const;

const cents = (value: number): string =>
  `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
/** At most two digits that count. */
const small = (value: number): string => (value < 0.1 ? `$${Number(value.toPrecision(2))}` : cents(value));

/** Without padding, which would count as words. */
function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

/** A month, by rate: docs/compare.md. */
export function comparedTable(): string {
  const row = (name: string, of: (rate: number) => number): string[] => [name, ...RATES.map((rate) => cents(of(rate)))];
  return markdown(
    ["dollars a month", ...RATES.map((rate) => `${count(rate)}/s`)],
    [
      row("**logship**, one isolate", (rate) => monthDollars(counted(rate, 1, 1))),
      row("**logship**, twenty isolates", (rate) => monthDollars(counted(rate, 20, 1))),
      row("Logpush", (rate) => OTHERS.logpush(rate)),
      row("Logpush to Pipelines (Iceberg)", OTHERS.pipelines),
      row(`Workers Logs, ${LOG_PRICES.eventKb} kB`, (rate) => OTHERS.logs(rate)),
      row(`Workers Logs, ${RECORD_KB} kB`, (rate) => OTHERS.logs(rate, RECORD_KB)),
    ],
  );
}

/** Names of what is billed, as pages have them. */
const LABELS: { readonly [name in PriceName]: string } = {
  queueOperations: "queue operations",
  cpuMs: "CPU time, ms",
  objectRequests: "Durable Object requests",
  objectGbSeconds: "Durable Object GB-s, assumed",
  rowsWritten: "rows written",
  rowsRead: "rows read",
  storeClassA: "PUTs",
  storeClassB: "HEADs",
  requests: "invocations of queue and cron",
  logEvents: "its own log lines",
};
/**
 * How the sum of a month at 100 events a second comes about: docs/compare.md. What stays within the
 * plan is left out.
 */
export function sumTable(): string {
  const loads = [counted(100, 1, 1), counted(100, 20, 1)];
  const rows = PRICE_NAMES.flatMap((name) => {
    const price: Price = PRICES[name];
    const units = loads.map(({ eventsPerSecond, billed }) => monthly(eventsPerSecond, billed[name]));
    if (units.every((each) => each <= price.included)) return [];
    const sums = units.flatMap((each) => [(each / 1e6).toPrecision(3), cents(beyondPlan(each, price))]);
    return [[LABELS[name], `${price.included / 1e6}`, `$${price.dollars}`, ...sums]];
  });
  const sum = loads.flatMap((each) => ["", cents(monthDollars(each))]);
  return markdown(
    ["in millions, a month", "included", "a million", "one isolate", "dollars", "twenty", "dollars"],
    [...rows, ["sum", "", "", ...sum]],
  );
}

/** The forecast by rate, jobs and isolates: docs/costs.md. */
export function forecastTable(): string {
  const loads = [
    ...([1, 3] as const).flatMap((jobs) => RATES.map((rate) => [rate, 1, jobs] as const)),
    ...[[100, 1, 10] as const, [1, 20, 1] as const, [100, 2, 1] as const, [100, 20, 1] as const],
    ...[[1_000, 20, 1] as const, [1_000, 100, 1] as const],
  ];
  return markdown(
    ["events/s", "jobs", "isolates", "a month", "operations of a million", "Logpush, a month"],
    loads.map(([rate, isolates, jobs]) => {
      const each = counted(rate, isolates, jobs);
      const dollars = [cents(monthDollars(each)), small(millionDollars(each)), cents(OTHERS.logpush(rate, jobs))];
      return [count(rate), `${jobs}`, `${isolates}`, ...dollars];
    }),
  );
}

/** What a million events cost by what is billed: docs/costs.md. */
export function splitTable(): string {
  const loads = [counted(1, 1, 1), counted(100, 1, 1), counted(1_000, 1, 1), counted(100, 20, 1), counted(100, 1, 10)];
  const names = PRICE_NAMES.toSorted((a, b) => dollarsOf(b) - dollarsOf(a));
  function dollarsOf(name: PriceName): number {
    return (loads[1]?.billed[name] ?? 0) * PRICES[name].dollars;
  }
  const heads = loads.map(({ eventsPerSecond, isolates, jobs }) => {
    const more = isolates > 1 ? `, ${isolates} isolates` : jobs > 1 ? `, ${jobs} jobs` : "";
    return `${count(eventsPerSecond)}/s${more}`;
  });
  return markdown(
    ["units for a million events", ...heads, "a million units"],
    names.map((name) => [
      LABELS[name],
      ...loads.map(({ billed }) => count(billed[name])),
      `$${Number(PRICES[name].dollars.toFixed(3))}`,
    ]),
  );
}
