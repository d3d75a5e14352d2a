/**
 * `npm run scale`: the shipper's own code on a simulated platform, at many rates, and how far each
 * part of it is from the platform's limits, for docs/scale.md. Not part of the tests: nothing here
 * passes or fails.
 */
import "../../../test/schedule/hooks.ts";
import { argumentsOf } from "../../command.ts";
import type { Effort, Measured } from "../measure.ts";
import type { Load } from "../simulation.ts";
import type { Cell } from "./figures.ts";
import type { Outage, PartName } from "./outage.ts";

const USAGE = `usage: npm run scale [-- options]

The code of src on a simulated Cloudflare, at many rates, and how far each part is from the limits:
all cells and outages, or one.

  --cell <cell>      100x10xmany: events/s, jobs, isolates (few, many, or a number) and, after
                     another x, shards of the log
  --outage <outage>  logx1000x24: a part that is down, events/s, hours
  --seconds <n>      simulated time of a load, in whole upload intervals (1200)
  --cpu <n>          CPU time in s after which it ends earlier (30)`;

const { values } = argumentsOf(
  USAGE,
  {
    cell: { type: "string" },
    outage: { type: "string" },
    seconds: { type: "string", default: "1200" },
    cpu: { type: "string", default: "30" },
  },
  false,
);

// These import src, which the hooks make loadable.
const { measure } = await import("../measure.ts");
const { measureCells } = await import("./figures.ts");
const { measureOutage, PARTS } = await import("./outage.ts");
const { boundTable, cellTable, figureTable, loadTable, millionTable, outageTable } = await import("./report.ts");

const JOBS = [1, 10, 100];
const ISOLATES: { readonly [name: string]: number } = { few: 2, many: 1_000 };

/** Rate, isolates, and as many shards as status would ask for. */
const LOADS = ["1xfew", "100xfew", "100xmanyx2", "10000xfew", "10000xmanyx8", "100000xfewx8"];

const OUTAGE = { eventsPerSecond: 1_000, hours: 0.25 };

/** Measured first and thrown away: code that runs for the first time is slow. */
const WARM_UP = { load: { eventsPerSecond: 200, isolates: 2, shards: 1, packer: false }, seconds: 30 };

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const effort: Effort = { seconds: Number(values.seconds), cpuSeconds: Number(values.cpu) };
  const cells = values.cell !== undefined ? [values.cell] : values.outage === undefined ? LOADS.map(withJobs) : [];
  const outages = values.outage !== undefined ? [values.outage] : values.cell === undefined ? allOutages() : [];
  const { loads, cells: measured } = await measureAll(cells, effort);
  const down: Outage[] = [];
  for (const outage of outages) {
    say(`${outage} …`);
    down.push(await measureOutage(...parseOutage(outage)));
  }
  const parts: string[] = [];
  if (loads.length > 0) parts.push("LOADS, with one job", loadTable(loads));
  if (measured.length > 0) parts.push("CELLS: how much of each limit is used", cellTable(measured));
  if (measured.length > 0) parts.push("FIGURES over half of a limit, or of one cell all", figureTable(measured));
  const highest = measured.findLast(({ jobs }) => jobs === 1);
  if (values.cell === undefined && highest !== undefined)
    parts.push("LIMITS", boundTable(), "A MILLION A SECOND, one job", millionTable(highest));
  if (down.length > 0) parts.push("OUTAGES, run through, and how long they may take", outageTable(down));
  process.stdout.write(`${parts.join("\n\n")}\n`);
}

async function measureAll(texts: readonly string[], effort: Effort): Promise<{ loads: Measured[]; cells: Cell[] }> {
  const loads: Measured[] = [];
  const cells: Cell[] = [];
  if (texts.length > 0) await measure(WARM_UP.load, 1, { seconds: WARM_UP.seconds, cpuSeconds: 5 }, say);
  for (const each of texts) {
    say(`${each} …`);
    const { load, jobs } = parseCell(each);
    const result = await measureCells(load, jobs, effort, say);
    loads.push(result.one);
    cells.push(...result.cells);
  }
  return { loads, cells };
}

function withJobs(load: string): string {
  const [rate, ...rest] = load.split("x");
  return [rate, JOBS.join(), ...rest].join("x");
}

/** @throws Error for what is no cell. */
function parseCell(cell: string): { load: Load; jobs: number[] } {
  const [, rate, jobs = "", isolates = "", shards = "1"] =
    /^(\d+)x([\d,]+)x(few|many|\d+)(?:x(\d+))?$/.exec(cell) ?? [];
  if (rate === undefined) throw new Error(`--cell=${cell}: as in 10000x10xmany, or 10000x10xmanyx8`);
  return {
    // Without the packer: that makes most messages.
    load: {
      ...{ eventsPerSecond: Number(rate), isolates: ISOLATES[isolates] ?? Number(isolates) },
      ...{ shards: Number(shards), packer: false },
    },
    jobs: jobs.split(",").map(Number),
  };
}

function allOutages(): string[] {
  return Object.keys(PARTS).map((part) => `${part}x${OUTAGE.eventsPerSecond}x${OUTAGE.hours}`);
}

/** @throws Error for what is none. */
function parseOutage(outage: string): [part: PartName, eventsPerSecond: number, downS: number] {
  const [, name = "", rate, hours] = /^([a-z]+)x(\d+)x([\d.]+)$/.exec(outage) ?? [];
  if (!(name in PARTS))
    throw new Error(`--outage=${outage}: as in storex1000x24; parts are ${Object.keys(PARTS).join(", ")}`);
  return [name as PartName, Number(rate), Number(hours) * 3_600];
}

await main();
