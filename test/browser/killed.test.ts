import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { until } from "../../tools/until.ts";

interface Listed {
  pid: number;
  parent: number;
  command: string;
}

/** All processes except zombies. Linux only. */
function processes(): Listed[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const [, command = "", state, parent] =
        /^\d+ \((.*)\) (\S) (\d+)/s.exec(readFileSync(join("/proc", entry, "stat"), "utf8")) ?? [];
      return state === "Z" ? [] : [{ pid: Number(entry), parent: Number(parent), command }];
    } catch {
      // It has ended since the folder was read.
      return [];
    }
  });
}

/** All descendants of a process. */
function below(pid: number, all: readonly Listed[]): Listed[] {
  return all.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...below(child.pid, all)]);
}

it.runIf(process.platform === "linux")("a test that is killed leaves no browser behind", async () => {
  const child: ChildProcess = fork(join(import.meta.dirname, "launched.ts"), { execArgv: [], stdio: "ignore" });
  await once(child, "message");
  const browser = below(child.pid ?? 0, processes());
  expect(browser.some(({ command }) => /chrom/.test(command))).toBe(true);
  child.kill("SIGKILL");
  await until({
    what: "the browser to end",
    withinMs: 20_000,
    look: async () => processes().filter(({ pid }) => browser.some((each) => each.pid === pid)),
    enough: (left) => left.length === 0,
  });
});
