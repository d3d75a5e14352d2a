import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ROOT } from "../../tools/paths.ts";
import { until } from "../../tools/until.ts";
import { processesWith } from "./processes.ts";

/** Set in the environment of a command, which all its child processes inherit. */
const MARK = "LOGSHIP_TEST_MARK";

/** Building the example takes half a minute, and longer on a busy machine. */
const SAID_WITHIN_MS = 150_000;
const GONE_WITHIN_MS = 10_000;

/** Starts a command of this project as a user does. It ends with the test. */
export function startCommand(script: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const mark = randomUUID();
  const child: ChildProcess = spawn(process.execPath, [join(ROOT, script), ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env, [MARK]: mark },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGTERM"));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  /** The command and all its child processes. Linux only. */
  const processes = (): string[] => processesWith(MARK, mark);
  return {
    process: child,
    ended,
    output: () => text,
    processes,
    processesGone: () =>
      until({
        what: "everything to end",
        withinMs: GONE_WITHIN_MS,
        look: async () => processes(),
        enough: (left) => left.length === 0,
      }),
    said: (words: string) =>
      until({
        what: `${script} to say "${words}"`,
        withinMs: SAID_WITHIN_MS,
        look: async () => text.slice(-2_000),
        enough: () => text.includes(words),
      }),
  };
}
