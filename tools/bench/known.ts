/**
 * What it costs to know which Worker and version fails since when, with which errors, and to count
 * ten searches with an alert: rows and CPU time for a million events, by rate. Each measurement is
 * a process of its own; they go by turns, so that all of them have the same noise. Not part of the
 * tests: nothing here passes or fails.
 *
 *     node --import ./tools/ready.js tools/bench/known.ts [--rate 100] [--rounds 3] [--than <dir>]
 *
 * `--than`: a checkout of an earlier commit, which gets the same events without the searches. It
 * needs node_modules and this folder's alerts.ts, known.ts, measure.ts, simulation.ts, troubles.ts.
 */
import "../../test/schedule/hooks.ts";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ROOT } from "../paths.ts";
import { ALERTS } from "./alerts.ts";
import { median, table } from "./table.ts";

/** Simulated time that is counted, in s: at low rates of two hours, whose rows are counted. */
const SECONDS: Readonly<Record<number, number>> = { 1: 7_200, 100: 900, 1000: 600 };

const KINDS = ["without alerts", "with alerts", "before"] as const;
type Kind = (typeof KINDS)[number];

/** For a million events. */
interface Figures {
  rows: number;
  /** In s, of handlers and objects. */
  cpu: Record<string, number>;
  rowsOf: Record<string, number>;
}

const SEARCHES = ALERTS.map(({ name, query, alert: { measure, threshold, when } }) => ({
  ...{ name, query },
  alert: { measure, threshold, when, over: "5m" },
}));

async function figures(rate: number, hasAlerts: boolean): Promise<Figures> {
  const { measure } = await import("./measure.ts");
  const load = { eventsPerSecond: rate, isolates: 1, shards: 1, packer: true, isTroubled: true };
  const effort = { seconds: SECONDS[rate] ?? 300, cpuSeconds: Number.POSITIVE_INFINITY };
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const measured = await measure(load, 1, effort, say, hasAlerts ? SEARCHES : []);
  if (!measured.isComplete) throw new Error("the job has not got every event once");
  const each = (value: number): number => (value / measured.events) * 1e6;
  const cpu: Record<string, number> = { tail: each(measured.tailMs) / 1e3, queue: each(measured.consumerMs) / 1e3 };
  const rowsOf: Record<string, number> = {};
  for (const { className, cpuMs, rowsWritten } of measured.objects) {
    cpu[className] = (cpu[className] ?? 0) + each(cpuMs) / 1e3;
    rowsOf[className] = (rowsOf[className] ?? 0) + each(rowsWritten);
  }
  return { rows: Object.values(rowsOf).reduce((sum, rows) => sum + rows, 0), cpu, rowsOf };
}

/** In a process of its own. */
async function measured(folder: string, rate: number, kind: Kind): Promise<Figures> {
  const args = ["--import", "./tools/ready.js", "tools/bench/known.ts", "--one", `${rate}`, kind];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 1e8 });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Figures;
}

const cpuOf = ({ cpu }: Figures): number => Object.values(cpu).reduce((sum, s) => sum + s, 0);

async function report(rates: readonly number[], rounds: number, before: string | undefined): Promise<void> {
  const kinds = KINDS.filter((kind) => kind !== "before" || before !== undefined);
  const rows: string[][] = [];
  for (const rate of rates) {
    const all = new Map<Kind, Figures[]>(kinds.map((kind) => [kind, []]));
    for (let round = 0; round < rounds; round++)
      for (const kind of kinds) {
        const found = await measured(kind === "before" ? (before as string) : ROOT, rate, kind);
        all.get(kind)?.push(found);
        process.stderr.write(`${rate}/s, ${kind}: ${JSON.stringify(found)}\n`);
      }
    const last = all.get(kinds.at(-1) as Kind) ?? [];
    for (const kind of kinds) {
      const own = all.get(kind) ?? [];
      const ratios = own.map((one, i) => cpuOf(one) / cpuOf(last[i] as Figures));
      const [{ rows: rowsOwn }, { rows: rowsLast }] = [own[0] as Figures, last[0] as Figures];
      rows.push([
        ...[`${rate}`, kind, rowsOwn.toFixed(0), (rowsOwn / rowsLast).toFixed(3), median(own.map(cpuOf)).toFixed(1)],
        ...[median(ratios).toFixed(3), `${Math.min(...ratios).toFixed(3)}–${Math.max(...ratios).toFixed(3)}`],
      ]);
    }
  }
  const heads = ["events/s", "", "rows", "×", "CPU s", "×, median", "×, of rounds"];
  process.stdout.write(`For a million events, beside "${kinds.at(-1)}":\n${table(heads, rows)}\n`);
}

const args = process.argv.slice(2);
/** What follows each option of this name. */
const given = (name: string): string[] => args.flatMap((arg, i) => (arg === name ? [args[i + 1] ?? ""] : []));
if (args[0] === "--one") {
  const found = await figures(Number(args[1]), args[2] === "with alerts");
  process.stdout.write(`${JSON.stringify(found)}\n`);
} else {
  const rates = given("--rate").map(Number);
  await report(rates.length > 0 ? rates : [1, 100, 1_000], Number(given("--rounds")[0] ?? 3), given("--than")[0]);
}
