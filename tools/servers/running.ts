/** The `npm start` of this checkout: at most one runs on its state, and others find it. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { ROOT } from "../paths.ts";
import { isAlive } from "./foreground.ts";

const NOTE = join(ROOT, ".wrangler/start.json");

const Running = z.object({
  pid: z.int().positive(),
  /** null: it is starting. */
  url: z.string().nullable(),
});
export type Running = z.infer<typeof Running>;

/** The one that runs; null: none does. */
export function running(): Running | null {
  try {
    const note = Running.parse(JSON.parse(readFileSync(NOTE, "utf8")));
    return isStart(note.pid) ? note : null;
  } catch {
    // No note, or the rest of one: its writer was killed.
    return null;
  }
}

/** Whether the process is an `npm start`: the id of a killed one may be another's by now. */
function isStart(pid: number): boolean {
  // After a restart of a container this process may have it itself.
  if (pid === process.pid || !isAlive(pid)) return false;
  const { status, stdout } = spawnSync("ps", ["-o", "args=", "-p", `${pid}`], { encoding: "utf8" });
  // Without `ps`, or with one that knows no such options, it is taken for one.
  return status !== 0 || /tools\/start\.ts/.test(stdout);
}

/** Claims the state for this process. @returns the process that has it; null: none had it. */
export function claim(): Running | null {
  const other = running();
  if (other !== null) return other;
  rmSync(NOTE, { force: true });
  mkdirSync(dirname(NOTE), { recursive: true });
  try {
    writeFileSync(NOTE, JSON.stringify({ pid: process.pid, url: null }), { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // Another one came first, and may not have written all of its note yet.
    return running() ?? { pid: 0, url: null };
  }
  process.on("exit", () => rmSync(NOTE, { force: true }));
  return null;
}

/** Notes where this process serves. */
export function announce(url: string): void {
  writeFileSync(NOTE, JSON.stringify({ pid: process.pid, url }));
}
