import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import type { CellResult, LoadResult } from "../../../tools/scale/cell.ts";

const TOOL = new URL("../../../tools/scale/run.ts", import.meta.url).pathname;

/** Runs the command for one cell. */
async function measured(cell: string): Promise<{ load: LoadResult; cell: CellResult; warnings: string }> {
  const args = [TOOL, `--cell=${cell}`, "--seconds=120", "--json"];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { maxBuffer: 64 * 2 ** 20 });
  const { loads, cells } = JSON.parse(stdout) as { loads: LoadResult[]; cells: CellResult[] };
  const [load] = loads;
  const [first] = cells;
  if (load === undefined || first === undefined) throw new Error("nothing was measured");
  return { load, cell: first, warnings: stderr };
}

it("delivers each event of a cell to the store of each job once, and counts every call", async () => {
  const { load, cell, warnings } = await measured("40x3x2");
  expect(warnings).toBe("");
  const { taken, played } = load;
  const records = taken.messages.reduce((sum, message) => sum + message.records, 0);
  // Some were still gathered at the start, and some are at the end.
  expect(Math.abs(records - taken.events)).toBeLessThan(2 * 40 * 2);
  const { consumed, figures } = cell;
  expect(cell.isOnce).toBe(true);
  expect(consumed).toMatchObject({ events: records, jobs: 3, isOnce: true });
  expect(consumed.deliveries).toBe(taken.messages.length);

  // Each batch asks for the configuration and appends, whatever the number of jobs.
  const callees = consumed.batches.map(({ calls }) => calls.map(({ callee }) => callee).join(" "));
  expect(new Set(callees)).toEqual(new Set(["ControlPlane.configSince TraceLog.append"]));
  const figure = (of: string, what: string): number | undefined =>
    figures.find((each) => each.of === of && each.what === what)?.value;
  expect(figure("consumer", "calls of a batch")).toBe(2);

  // What is made again is taken as the first time; the cron asks, too.
  const { JobReader: reader, TraceLog: log, ControlPlane: control } = played.use.objects;
  expect(log?.writing).toBeGreaterThanOrEqual(played.batches);
  // A block, ids and its own row.
  expect(log?.rowsWritten).toBeGreaterThanOrEqual(3 * played.batches);
  expect(control?.requests).toBeGreaterThanOrEqual(played.batches);
  // With each object, however many appends it has.
  expect(reader?.rowsWritten).toBeGreaterThanOrEqual(8 * played.use.puts);
  expect(load.several?.jobs).toBe(3);
  expect(load.several?.played.isComplete).toBe(true);
  // Thirty seconds of records make an object.
  expect(played.use.puts).toBeGreaterThanOrEqual(3);
  expect(played.seconds).toBe(120);
}, 120_000);
