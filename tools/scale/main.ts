/** The command: what is measured, by which processes, and how it is shown. */
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs, promisify } from "node:util";
import { type CellResult, type LoadResult, measureCell, measureLoad, withoutBytes } from "./cell.ts";
import { COST_EFFORT, COST_ISOLATES, COST_RATES, costOf } from "./costs.ts";
import { type Results, report } from "./report.ts";
import type { Load } from "./stages/intake.ts";
import type { Effort } from "./stages/replay.ts";

const RATES = [1, 100, 10_000, 100_000];
const JOBS = [1, 10, 100];
const ISOLATES: { readonly [name: string]: number } = { few: 2, many: 1_000 };

/** Simulated time of a load, in s, and CPU time after which it ends earlier. */
const EFFORT: Effort = { seconds: 3_600, cpuSeconds: 60 };

/** What is measured first and thrown away: code that runs for the first time is slow. */
const WARM_UP = { load: { eventsPerSecond: 500, isolates: 2 }, effort: { seconds: 120, cpuSeconds: 5 } };

/** A load, the numbers of jobs it is measured with, and how long. */
interface Wanted {
  load: Load;
  jobs: readonly number[];
  effort: Effort;
}

/** What a process for one load answers. */
interface Measured {
  load: LoadResult;
  cells: CellResult[];
}

type Say = (line: string) => void;

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      cell: { type: "string" },
      only: { type: "string" },
      warm: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      markdown: { type: "boolean", default: false },
      seconds: { type: "string", default: `${EFFORT.seconds}` },
      cpu: { type: "string", default: `${EFFORT.cpuSeconds}` },
    },
  });
  const { cell, only, json, markdown } = values;
  const effort = { seconds: Number(values.seconds), cpuSeconds: Number(values.cpu) };
  const say: Say = (line) => void process.stderr.write(`${line}\n`);
  if (cell !== undefined) {
    const measured = await measure({ ...parseCell(cell), effort }, values.warm, say);
    show({ loads: [measured.load], cells: measured.cells, costs: [] }, json, markdown);
    return;
  }
  if (only !== undefined && only !== "cells" && only !== "costs") throw new Error(`--only=${only}: cells or costs`);
  const loads = only === "costs" ? [] : cellLoads(effort);
  const measured = await Promise.all(inTurn([...loads, ...(only === "cells" ? [] : costLoads())], say));
  const cells = measured.slice(0, loads.length);
  const costs = measured.slice(loads.length).map(({ load }) => costOf(load));
  show({ loads: cells.map(({ load }) => load), cells: cells.flatMap((each) => each.cells), costs }, json, markdown);
}

async function measure({ load, jobs, effort }: Wanted, warm: boolean, say: Say): Promise<Measured> {
  if (warm) await measureLoad(WARM_UP.load, WARM_UP.effort, say);
  const result = await measureLoad(load, effort, say);
  const cells: CellResult[] = [];
  for (const each of jobs) cells.push(await measureCell(result, each, say));
  return { load: withoutBytes(result), cells };
}

/** A process for each load, as many at a time as there are processors. */
function inTurn(wanted: readonly Wanted[], say: Say): Promise<Measured>[] {
  const turns = Array.from({ length: availableParallelism() }, () => Promise.resolve());
  return wanted.map(async (each) => {
    const before = turns.shift();
    const turn = Promise.withResolvers<void>();
    turns.push(turn.promise);
    await before;
    try {
      return await inProcess(each, say);
    } finally {
      turn.resolve();
    }
  });
}

async function inProcess({ load, jobs, effort }: Wanted, say: Say): Promise<Measured> {
  const cell = `${load.eventsPerSecond}x${jobs.join()}x${load.isolates}`;
  say(`${cell} …`);
  const options = [`--cell=${cell}`, "--warm", "--json", `--seconds=${effort.seconds}`, `--cpu=${effort.cpuSeconds}`];
  const run = new URL("./run.ts", import.meta.url).pathname;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [run, ...options], { maxBuffer: 2 ** 30 });
  if (stderr !== "") say(`${cell}: ${stderr}`);
  const { loads, cells } = JSON.parse(stdout) as Results;
  const [first] = loads;
  if (first === undefined) throw new Error(`${cell} was not measured`);
  return { load: first, cells: [...cells] };
}

/** Those that take longest come first. */
function cellLoads(effort: Effort): Wanted[] {
  return RATES.toReversed().flatMap((eventsPerSecond) =>
    Object.values(ISOLATES).map((isolates) => ({ load: { eventsPerSecond, isolates }, jobs: JOBS, effort })),
  );
}

function costLoads(): Wanted[] {
  return COST_RATES.flatMap((eventsPerSecond) =>
    COST_ISOLATES.map((isolates) => ({ load: { eventsPerSecond, isolates }, jobs: [], effort: COST_EFFORT })),
  );
}

/** @throws Error for what is no cell. */
function parseCell(text: string): Pick<Wanted, "load" | "jobs"> {
  const [, rate, jobs = "", isolates = ""] = /^(\d+)x([\d,]*)x(few|many|\d+)$/.exec(text) ?? [];
  if (rate === undefined) throw new Error(`--cell=${text}: as in 10000x10xmany`);
  return {
    load: { eventsPerSecond: Number(rate), isolates: ISOLATES[isolates] ?? Number(isolates) },
    jobs: jobs.split(",").filter(Boolean).map(Number),
  };
}

function show(results: Results, asJson: boolean, asMarkdown: boolean): void {
  process.stdout.write(`${asJson ? JSON.stringify(results) : report(results, asMarkdown)}\n`);
}
