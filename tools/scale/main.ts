/** The command: what is measured, by which processes, and how it is shown. */
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs, promisify } from "node:util";
import { type CellResult, type LoadResult, measureCell, measureLoad, withoutBytes } from "./cell.ts";
import { COST_EFFORT, COST_ISOLATES, COST_RATES, costOf } from "./costs.ts";
import { OUTAGE_HOURS, OUTAGE_RATES, outage, UNREAD_RATES, unread } from "./outages.ts";
import { type Results, report } from "./report.ts";
import type { Load } from "./stages/intake.ts";
import { PARTS, type PartName } from "./stages/outage.ts";
import type { Effort } from "./stages/replay.ts";

/** With one shard of the log. */
const RATES = [1, 100, 10_000];
const JOBS = [1, 10, 100];
const ISOLATES: { readonly [name: string]: number } = { few: 2, many: 1_000 };

/** With one shard each of these takes more than status says a shard should. */
const SHARDED: readonly Load[] = [
  { eventsPerSecond: 100, isolates: 1_000, shards: 2 },
  { eventsPerSecond: 10_000, isolates: 1_000, shards: 8 },
  { eventsPerSecond: 100_000, isolates: 2, shards: 8 },
  { eventsPerSecond: 100_000, isolates: 1_000, shards: 8 },
];

/** Simulated time of a load, in s, and CPU time after which it ends earlier. */
const EFFORT: Effort = { seconds: 3_600, cpuSeconds: 60 };

/** What is measured first and thrown away: code that runs for the first time is slow. */
const WARM_UP = { load: { eventsPerSecond: 500, isolates: 2, shards: 1 }, effort: { seconds: 120, cpuSeconds: 5 } };

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

const NOTHING: Results = { loads: [], cells: [], costs: [], outages: [], unread: [] };

const SECTIONS = ["cells", "costs", "outages", "unread"];

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      cell: { type: "string" },
      outage: { type: "string" },
      unread: { type: "string" },
      only: { type: "string", multiple: true, default: SECTIONS },
      warm: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      markdown: { type: "boolean", default: false },
      seconds: { type: "string", default: `${EFFORT.seconds}` },
      cpu: { type: "string", default: `${EFFORT.cpuSeconds}` },
    },
  });
  const effort = { seconds: Number(values.seconds), cpuSeconds: Number(values.cpu) };
  const say: Say = (line) => void process.stderr.write(`${line}\n`);
  const results = await resultsOf(values, effort, say);
  process.stdout.write(`${values.json ? JSON.stringify(results) : report(results, values.markdown)}\n`);
}

async function resultsOf(
  {
    cell,
    outage: part,
    unread: rate,
    only,
    warm,
  }: { cell?: string; outage?: string; unread?: string; only: string[]; warm: boolean },
  effort: Effort,
  say: Say,
): Promise<Results> {
  if (cell !== undefined) {
    const { load, cells } = await measure({ ...parseCell(cell), effort }, warm, say);
    return { ...NOTHING, loads: [load], cells };
  }
  if (part !== undefined) {
    const { name, eventsPerSecond, hours } = parseOutage(part);
    return { ...NOTHING, outages: [await outage(name, eventsPerSecond, hours, say)] };
  }
  if (rate !== undefined) return { ...NOTHING, unread: [await unread(Number(rate), say)] };
  const other = only.find((section) => !SECTIONS.includes(section));
  if (other !== undefined) throw new Error(`--only=${other}: ${SECTIONS.join(", ")}`);
  const loads = only.includes("cells") ? cellLoads(effort) : [];
  const costs = only.includes("costs") ? costLoads() : [];
  const outages = only.includes("outages") ? allOutages() : [];
  const unreads = only.includes("unread") ? UNREAD_RATES.map((each) => [`--unread=${each}`]) : [];
  const all = await inTurn([...[...loads, ...costs].map(optionsOf), ...outages, ...unreads], say);
  const measured = all.slice(0, loads.length);
  const priced = all.slice(loads.length, loads.length + costs.length);
  return {
    loads: measured.flatMap((each) => each.loads),
    cells: measured.flatMap((each) => each.cells),
    costs: priced.flatMap((each) => each.loads).map(costOf),
    outages: all.flatMap((each) => each.outages),
    unread: all.flatMap((each) => each.unread),
  };
}

async function measure({ load, jobs, effort }: Wanted, warm: boolean, say: Say): Promise<Measured> {
  if (warm) await measureLoad(WARM_UP.load, [1], WARM_UP.effort, say);
  const result = await measureLoad(load, jobs, effort, say);
  const cells: CellResult[] = [];
  for (const each of jobs) cells.push(await measureCell(result, each, say));
  return { load: withoutBytes(result), cells };
}

/** A process for each of these command lines, as many at a time as there are processors. */
function inTurn(all: readonly (readonly string[])[], say: Say): Promise<Results[]> {
  const turns = Array.from({ length: availableParallelism() }, () => Promise.resolve());
  const results = all.map(async (options) => {
    const before = turns.shift();
    const turn = Promise.withResolvers<void>();
    turns.push(turn.promise);
    await before;
    try {
      return await inProcess(options, say);
    } finally {
      turn.resolve();
    }
  });
  return Promise.all(results);
}

async function inProcess(options: readonly string[], say: Say): Promise<Results> {
  const [what] = options;
  say(`${what} …`);
  const run = new URL("./run.ts", import.meta.url).pathname;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [run, ...options, "--json"], {
    maxBuffer: 2 ** 30,
  });
  if (stderr !== "") say(`${what}: ${stderr}`);
  return JSON.parse(stdout) as Results;
}

function optionsOf({ load, jobs, effort }: Wanted): string[] {
  const cell = `${load.eventsPerSecond}x${jobs.join()}x${load.isolates}x${load.shards}`;
  return [`--cell=${cell}`, "--warm", `--seconds=${effort.seconds}`, `--cpu=${effort.cpuSeconds}`];
}

/** Those that take longest come first. */
function cellLoads(effort: Effort): Wanted[] {
  const loads = RATES.flatMap((eventsPerSecond) =>
    Object.values(ISOLATES).map((isolates): Load => ({ eventsPerSecond, isolates, shards: 1 })),
  );
  return [...loads, ...SHARDED]
    .toSorted((a, b) => b.eventsPerSecond - a.eventsPerSecond)
    .map((load) => ({ load, jobs: JOBS, effort }));
}

function costLoads(): Wanted[] {
  return COST_RATES.flatMap((eventsPerSecond) =>
    COST_ISOLATES.map((isolates) => ({
      load: { eventsPerSecond, isolates, shards: 1 },
      jobs: [],
      effort: COST_EFFORT,
    })),
  );
}

/** @throws Error for what is no cell. */
function parseCell(text: string): Pick<Wanted, "load" | "jobs"> {
  const [, rate, jobs = "", isolates = "", shards = "1"] =
    /^(\d+)x([\d,]*)x(few|many|\d+)(?:x(\d+))?$/.exec(text) ?? [];
  if (rate === undefined) throw new Error(`--cell=${text}: as in 10000x10xmany, or 10000x10xmanyx8`);
  return {
    load: { eventsPerSecond: Number(rate), isolates: ISOLATES[isolates] ?? Number(isolates), shards: Number(shards) },
    jobs: jobs.split(",").filter(Boolean).map(Number),
  };
}

function allOutages(): string[][] {
  return Object.keys(PARTS).flatMap((part) =>
    OUTAGE_RATES.map((eventsPerSecond) => [`--outage=${part}x${eventsPerSecond}x${OUTAGE_HOURS}`]),
  );
}

/** @throws Error for what is none. */
function parseOutage(text: string): { name: PartName; eventsPerSecond: number; hours: number } {
  const [, name = "", rate, hours] = /^([a-z]+)x(\d+)x([\d.]+)$/.exec(text) ?? [];
  if (!(name in PARTS))
    throw new Error(`--outage=${text}: as in storex1000x24; parts are ${Object.keys(PARTS).join(", ")}`);
  return { name: name as PartName, eventsPerSecond: Number(rate), hours: Number(hours) };
}
