import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ROOT } from "../paths.ts";
import { REPORT_FD_VARIABLE } from "./fault-report.ts";

/**
 * File descriptor of the report in the child process. Its other output, with the errors of injected
 * faults, is discarded.
 */
const REPORT_FD = 3;

export interface ReportOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each line of the report. */
  readonly onLine: (line: string) => void;
  /**
   * After this many ms without a line the tests are killed; called after each line. By default they
   * are not.
   */
  readonly silenceMs?: () => number;
}

/**
 * Runs tests of faults.
 * @param files as vitest takes them.
 * @returns the exit code, 0 if all of them passed; `hung` after too long a silence.
 */
export async function reportFaults(
  files: readonly string[],
  { env = {}, onLine, silenceMs }: ReportOptions,
): Promise<number | "hung"> {
  const vitest = spawn(
    process.execPath,
    [
      join(ROOT, "node_modules/vitest/vitest.mjs"),
      "run",
      "--reporter=./tools/faults/fault-report.ts",
      "--silent=false",
      ...files,
    ],
    {
      cwd: ROOT,
      env: { ...process.env, ...env, [REPORT_FD_VARIABLE]: String(REPORT_FD) },
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      // A process group of its own, so that the runtime's processes can be ended with it.
      detached: true,
    },
  );
  const onExit = (): void => kill(vitest);
  process.once("exit", onExit);
  let hung = false;
  let silence: NodeJS.Timeout | undefined;
  const listen = (): void => {
    clearTimeout(silence);
    if (silenceMs === undefined) return;
    silence = setTimeout(() => {
      hung = true;
      kill(vitest);
    }, silenceMs());
  };
  listen();
  const report = createInterface({ input: vitest.stdio[REPORT_FD] as NodeJS.ReadableStream });
  report.on("line", (line) => {
    onLine(line);
    listen();
  });
  try {
    const code = await new Promise<number>((resolve, reject) => {
      vitest.once("error", reject);
      vitest.once("close", (exitCode) => resolve(exitCode ?? 1));
    });
    return hung ? "hung" : code;
  } finally {
    clearTimeout(silence);
    process.off("exit", onExit);
    kill(vitest);
  }
}

function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // ESRCH: all of them have ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** A signal would end this process without its exit handlers, which end the tests. */
export function exitOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
}
