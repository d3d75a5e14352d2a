import { spawn } from "node:child_process";
import { join } from "node:path";
import { REPORT_FD_VARIABLE } from "./fault-report.ts";
import { ROOT } from "./paths.ts";

/** In the child: what it and the runtime print of what was broken on purpose goes nowhere, the report comes here. */
const REPORT_FD = 3;

/**
 * Runs tests of faults, and prints what they counted.
 * @param files as vitest takes them.
 * @returns the exit code: 0 if all of them passed.
 */
export function reportFaults(files: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<number> {
  const vitest = spawn(
    process.execPath,
    [
      join(ROOT, "node_modules/vitest/vitest.mjs"),
      "run",
      "--reporter=./tools/fault-report.ts",
      "--silent=false",
      ...files,
    ],
    {
      cwd: ROOT,
      env: { ...process.env, ...env, [REPORT_FD_VARIABLE]: String(REPORT_FD) },
      stdio: ["ignore", "ignore", "ignore", process.stdout.fd],
    },
  );
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => vitest.kill(signal));
  return new Promise((resolve, reject) => {
    vitest.once("error", reject);
    vitest.once("exit", (code) => resolve(code ?? 1));
  });
}
