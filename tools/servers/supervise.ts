/**
 * Runs a command in its own process group, and ends all of it when told to, or when the process
 * that started this one is gone: the channel between the two closes even on SIGKILL. Started by
 * supervised.ts only.
 *
 * Linux and macOS: other systems have no process groups.
 */
import { spawn } from "node:child_process";

/** Grace period of the command, in ms. */
const GRACE_MS = 4_000;

export type FromSupervisor = { readonly event: "started"; readonly group: number };
export type ToSupervisor = { readonly do: "stop" };

const [command = "", ...args] = process.argv.slice(2);
const child = spawn(command, args, { detached: true, stdio: ["ignore", "inherit", "inherit"] });

child.once("error", (error) => {
  console.error(`cannot start ${command}: ${error.message}`);
  process.exit(127);
});
child.once("spawn", () => {
  const started: FromSupervisor = { event: "started", group: child.pid ?? 0 };
  if (process.connected) process.send?.(started, undefined, undefined, () => {});
});
child.once("exit", (code) => {
  // Ends what the command has left running.
  killGroup();
  process.exit(code ?? 1);
});

process.on("message", (message: ToSupervisor) => {
  if (message.do === "stop") stop();
});
process.on("disconnect", stop);
// Signals of a terminal do not reach this session. One sent by hand is meant for the command.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
// The reader of the output may be gone.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

function stop(): void {
  child.kill("SIGTERM");
  setTimeout(killGroup, GRACE_MS);
}

function killGroup(): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group is empty.
  }
}
