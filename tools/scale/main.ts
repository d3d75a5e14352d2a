/** The command: what is measured, and how it is shown. */
import { parseArgs } from "node:util";
import { type CellResult, type LoadResult, measureCell, measureLoad, withoutBytes } from "./cell.ts";
import { COST_EFFORT, COST_ISOLATES, COST_RATES, type Cost, costOf } from "./costs.ts";
import * as report from "./report.ts";
import type { Load } from "./stages/intake.ts";

const RATES = [1, 100, 10_000, 100_000];
const JOBS = [1, 10, 100];
const ISOLATES: { readonly [name: string]: number } = { few: 2, many: 1_000 };

/** Simulated time of a load, in s, and CPU time after which it ends earlier. */
const EFFORT = { seconds: 3_600, cpuSeconds: 15 };

/** What is measured first and thrown away: code that runs for the first time is slow. */
const WARM_UP = { load: { eventsPerSecond: 500, isolates: 2 }, effort: { seconds: 120, cpuSeconds: 5 } };

interface Wanted {
  load: Load;
  jobs: readonly number[];
}

interface Results {
  loads: LoadResult[];
  cells: CellResult[];
  costs: Cost[];
}

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      cell: { type: "string" },
      only: { type: "string" },
      json: { type: "boolean" },
      markdown: { type: "boolean" },
      seconds: { type: "string", default: `${EFFORT.seconds}` },
      cpu: { type: "string", default: `${EFFORT.cpuSeconds}` },
    },
  });
  const { cell, only } = values;
  if (only !== undefined && only !== "cells" && only !== "costs") throw new Error(`--only=${only}: cells or costs`);
  const effort = { seconds: Number(values.seconds), cpuSeconds: Number(values.cpu) };
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const results: Results = { loads: [], cells: [], costs: [] };
  if (cell === undefined) await measureLoad(WARM_UP.load, WARM_UP.effort, say);
  const wanted = cell !== undefined ? [parseCell(cell)] : only === "costs" ? [] : everything();
  for (const { load, jobs } of wanted) {
    say(`${load.eventsPerSecond} events/s in ${load.isolates} isolates …`);
    const result = await measureLoad(load, effort, say);
    for (const each of jobs) results.cells.push(await measureCell(result, each, say));
    results.loads.push(withoutBytes(result));
  }
  if (cell === undefined && only !== "cells") {
    for (const eventsPerSecond of COST_RATES) {
      for (const isolates of COST_ISOLATES) {
        say(`what ${eventsPerSecond} events/s in ${isolates} isolates cost …`);
        results.costs.push(costOf(await measureLoad({ eventsPerSecond, isolates }, COST_EFFORT, say)));
      }
    }
  }
  const shown = values.json ? JSON.stringify(results, null, 2) : text(results, values.markdown ?? false);
  process.stdout.write(`${shown}\n`);
}

function everything(): Wanted[] {
  return RATES.flatMap((eventsPerSecond) =>
    Object.values(ISOLATES).map((isolates) => ({ load: { eventsPerSecond, isolates }, jobs: JOBS })),
  );
}

/** @throws Error for what is no cell. */
function parseCell(text: string): Wanted {
  const [, rate, jobs, isolates = ""] = /^(\d+)x(\d+)x(few|many|\d+)$/.exec(text) ?? [];
  if (rate === undefined) throw new Error(`--cell=${text}: as in 10000x10xmany`);
  return {
    load: { eventsPerSecond: Number(rate), isolates: ISOLATES[isolates] ?? Number(isolates) },
    jobs: [Number(jobs)],
  };
}

function text({ loads, cells, costs }: Results, asMarkdown: boolean): string {
  const table = asMarkdown ? report.markdown : report.plain;
  const parts: string[] = [];
  const [only] = cells;
  if (loads.length > 0) parts.push("LOADS, with one job", report.loadTable(loads, table));
  if (cells.length === 1 && only !== undefined) parts.push("THE CELL", report.figureTable(only, table));
  if (cells.length > 1) {
    parts.push("CELLS: how much of each limit is used", report.cellTable(cells, table));
    parts.push("OVER HALF", report.overHalf(cells, table), "LIMITS", report.boundTable(table));
    const highest = cells.filter(({ load, jobs }) => load.eventsPerSecond === RATES.at(-1) && jobs === 1);
    for (const cell of highest) {
      parts.push(`A MILLION A SECOND, from ${cell.load.isolates} isolates`, report.millionTable(cell, table));
    }
  }
  if (costs.length > 0) parts.push(`COSTS of a million events, one job (${report.PRICE_LINE})`);
  if (costs.length > 0) parts.push(report.costTable(costs, table));
  return parts.join("\n\n");
}
