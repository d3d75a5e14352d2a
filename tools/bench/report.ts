/** The results as text. */

import { PRICE_NAMES, type PriceName } from "../../src/base/prices.ts";
import { ASSUMED_SECONDS } from "../../src/ship/log/usage.ts";
import type { KindResult } from "./kinds.ts";
import type { CostResult, CpuResult, GrowthResult, Results } from "./measure.ts";
import { ALIKE } from "./protocol.ts";
import { memoryReport, mixesReport } from "./report-memory.ts";
import { searchReport } from "./search.ts";
import { type Summary, summary } from "./stats.ts";
import { count, table } from "./table.ts";

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

export function report(results: Results): string {
  const { cpu, costs, growth, memory, consumer } = results;
  const parts: string[] = [];
  if (cpu !== null) {
    parts.push(
      `CPU TIME from queue message to fragment (${results.clock === "cpu" ? "of the runtime's threads" : "WALL TIME: no /proc here"})`,
      cpuTable("with a filter and a projection", cpu.filtered),
      cpuTable("all fields of all records", cpu.everything),
    );
  }
  if (costs !== null) {
    const { reading, writing, upload } = ASSUMED_SECONDS;
    parts.push(
      `COSTS by list price. Queue batches: ${consumer.batchSize} messages or ${consumer.batchTimeoutMs / 1_000} s; uploads every 30 s.`,
      `${costSummary(costs)}\n  "objects awake": if no durable object ever came to rest. "a month": 30 days, alone in an account of the paid plan.`,
      `Billed for a million events\n${billedTable(costs, ({ amount }) => count(amount))}`,
      `The same in dollars\n${billedTable(costs, (billed) => dollars(billed.dollars))}`,
      `Assumed: a durable object works ${reading * 1e3} ms for a request that reads, ${writing * 1e3} ms for one that writes, ${upload * 1e3} ms for an upload.`,
    );
  }
  if (growth !== null)
    parts.push("GROWTH: CPU time from message to delivered object while one log grows", growthTable(growth));
  if (results.kinds !== null) parts.push("UPLOADS to each kind of destination", kindsTable(results.kinds));
  if (memory !== null) parts.push(...memoryReport(memory));
  if (results.mixes !== null) parts.push(...mixesReport(results.mixes));
  if (results.search !== null) parts.push(...searchReport(results.search));
  return parts.join("\n\n");
}

function cpuTable(title: string, result: CpuResult): string {
  const { microseconds, prepared, recordsPerCpuSecond } = result;
  const { records, shipped, rawBytes, messageBytes, shippedBytes } = prepared;
  const gzip = microseconds.gzip.median;
  const row = (name: string, value: Summary): string[] => [
    name,
    value.median.toFixed(2),
    `${value.low.toFixed(2)} – ${value.high.toFixed(2)}`,
    (value.median / gzip).toFixed(2),
  ];
  return [
    `${title}, × gzip alone`,
    table(
      ["", "median", "middle half"],
      [
        ratioRow("one job", result.ratio),
        ratioRow("  without sketches", result.unsketchedRatio),
        ratioRow("each further job of equal rules", result.furtherRatio),
      ],
    ),
    `${count(recordsPerCpuSecond)} records per CPU second`,
    `${count(records)} records of ${count(rawBytes / records)} B (${count(messageBytes / records)} B in a message), ${count(shipped)} shipped, ${count(shippedBytes / shipped)} B each`,
    table(
      ["", "µs/record", "middle half", "× gzip"],
      [
        row("gzip alone, of what is shipped", microseconds.gzip),
        row("pipeline: message → fragment", microseconds.pipeline),
        row("  without sketches", microseconds.unsketched),
        row(`  with ${ALIKE} jobs of equal rules`, microseconds.alike),
        row("  of it: decode the message", microseconds.decode),
        row("  of it: decode, read, truncate", microseconds.load),
        row("  of it: filter, encode, deflate", microseconds.build),
        row("  of it: deflate", microseconds.deflate),
        row("intake: tail() → message", microseconds.intake),
      ],
    ),
  ].join("\n");
}

function ratioRow(name: string, { median, low, high }: Summary): string[] {
  return [name, median.toFixed(2), `${low.toFixed(2)} – ${high.toFixed(2)}`];
}

const SCENARIO_HEADS = ["events/s", "jobs", "isolates"];

function scenarioCells({ scenario }: CostResult): string[] {
  return [
    count(scenario.eventsPerSecond),
    `${scenario.jobs.length}`,
    scenario.isolates === 0 ? "POSTs" : `${scenario.isolates}`,
  ];
}

function costSummary(costs: readonly CostResult[]): string {
  return table(
    [...SCENARIO_HEADS, "$/million", "objects awake", "vendor", "$ a month", "vendor"],
    costs.map((result) => [
      ...scenarioCells(result),
      dollars(result.bill.dollars),
      dollars(result.bill.awakeDollars),
      dollars(result.bill.vendor.dollars),
      result.bill.monthDollars.toFixed(2),
      result.bill.vendor.monthDollars.toFixed(2),
    ]),
  );
}

type Billed = CostResult["bill"]["perMillion"][PriceName];

/** Everything that is billed, for a million events, in numbers or in dollars. */
function billedTable(costs: readonly CostResult[], show: (billed: Billed) => string): string {
  return table(
    [...SCENARIO_HEADS, ...PRICE_NAMES.map((name) => HEADS[name])],
    costs.map((result) => [...scenarioCells(result), ...PRICE_NAMES.map((name) => show(result.bill.perMillion[name]))]),
  );
}

function growthTable({ steps }: GrowthResult): string {
  const ranges: { name: string; from: number; to: number }[] = [];
  for (let from = 0, to = 10_000; from < (steps.at(-1)?.grown.records ?? 0); from = to, to *= 10) {
    ranges.push({ name: `${count(from)} – ${count(to)}`, from, to });
  }
  const rows = ranges.flatMap(({ name, from, to }) => {
    const inside = steps.filter(({ grown }) => grown.records > from && grown.records <= to);
    const last = inside.at(-1)?.grown;
    if (last === undefined) return [];
    const { median, low, high } = summary(inside.map(({ microseconds }) => microseconds));
    return [
      [
        name,
        median.toFixed(2),
        `${low.toFixed(2)} – ${high.toFixed(2)}`,
        count(last.objects),
        count(last.logBytes / 1_000),
        count(last.ledgerBytes / 1_000),
      ],
    ];
  });
  return table(["records", "µs/record", "middle half", "objects", "log kB", "ledger kB"], rows);
}

function kindsTable(kinds: readonly KindResult[]): string {
  const { size } = kinds[0] as KindResult;
  const waiting = `each object: ${count(size.records)} records, ${count(size.rawBytes / 1e3)} kB, ${count(size.bytes / 1e3)} kB as it waits; with the answers of its service, from memory`;
  const heads = ["µs/record", "middle half", "× S3", "sent kB", "requests", "rows", "objects of a million records"];
  const rows = kinds.map(({ kind, microseconds, ratio, sentBytes, requests, rows, objectsOfMillion }) => [
    kind,
    microseconds.median.toFixed(2),
    `${microseconds.low.toFixed(2)} – ${microseconds.high.toFixed(2)}`,
    ratio.median.toFixed(2),
    count(sentBytes / 1e3),
    requests.toFixed(1),
    rows.toFixed(1),
    count(objectsOfMillion),
  ]);
  return `${waiting}\n${table(["", ...heads], rows)}`;
}

function dollars(value: number): string {
  return `$${value.toFixed(value < 0.1 ? 4 : 2)}`;
}
