/** Commands that start servers and run until Ctrl-C: their output, their state, and their end. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { shown } from "../paths.ts";
import type { LocalServer } from "./local-server.ts";

/** What a running command gets. */
export interface Foreground {
  /** A folder for this run only. */
  readonly state: string;
  /** Aborted on interruption. */
  readonly signal: AbortSignal;
  /** Prints a step, with the seconds since the start. */
  readonly say: (text: string) => void;
  /** Registers a server: it is stopped at the end, and if it ends before, so does the command. */
  readonly keep: (name: string, server: LocalServer) => void;
}

export interface ForegroundCommand<Running> {
  /** "The demo". */
  readonly name: string;
  /** Folder of the folders of its runs. */
  readonly states: string;
  readonly start: (foreground: Foreground) => Promise<Running>;
  /** Its work. @returns the exit code, which a later interruption does not change. */
  readonly work: (running: Running) => Promise<number>;
  /** Runs until the interruption; without it, the command ends by itself. */
  readonly stay?: (running: Running) => Promise<never>;
}

/**
 * Runs a command; nothing is left running. Its state is kept if it failed. @returns the exit code;
 * 130 if interrupted.
 */
export async function runInForeground<Running>(command: ForegroundCommand<Running>): Promise<number> {
  const startedAt = Date.now();
  const say = (text: string): void => {
    console.log(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${text}`);
  };
  let exitCode: number | null = null;
  const signal = interruption();
  const interrupted = aborted(signal).then(() => exitCode ?? (signal.reason === READER_GONE ? 0 : 130));
  const state = freshState(command.states);
  const servers: LocalServer[] = [];
  const lost = Promise.withResolvers<never>();
  // At the end servers are stopped, and nothing waits for this promise.
  lost.promise.catch(() => {});
  const keep = (name: string, server: LocalServer): void => {
    servers.push(server);
    server.ended.then((how) => lost.reject(new Error(`${name} ended by itself (${how})`)));
  };
  const starting = command.start({ state, signal, say, keep });
  const work = async (): Promise<number> => {
    const running = await starting;
    exitCode = await Promise.race([command.work(running), lost.promise]);
    if (command.stay !== undefined) await Promise.race([command.stay(running), lost.promise]);
    return exitCode;
  };
  try {
    exitCode = await Promise.race([work(), interrupted]);
  } catch (error) {
    say(`${command.name} failed: ${error instanceof Error ? error.message : String(error)}`);
    exitCode = 1;
  }
  console.log();
  say("Stopping.");
  await starting.catch(() => {});
  await Promise.all(servers.map((server) => server.stop()));
  if (exitCode === 1) say(`Logs and state are kept in ${shown(state)} until the next run.`);
  else rmSync(state, { recursive: true, force: true });
  return exitCode;
}

/** Why a command ends whose output has no reader any more. */
const READER_GONE = new Error("the output has no reader");

/** Aborted when the process is interrupted, which then does not end by itself. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  process.on("SIGPIPE", () => controller.abort(READER_GONE));
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(name, () => controller.abort(new Error("interrupted")));
  return controller.signal;
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** A folder for this run. Folders of killed runs are removed. */
function freshState(states: string): string {
  mkdirSync(states, { recursive: true });
  for (const name of readdirSync(states)) {
    const pid = Number(/^run-(\d+)$/.exec(name)?.[1]);
    if (Number.isInteger(pid) && !isAlive(pid)) rmSync(join(states, name), { recursive: true, force: true });
  }
  const state = join(states, `run-${process.pid}`);
  // Builds write secrets there.
  mkdirSync(state, { mode: 0o700 });
  return state;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: a process of another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** URL of a server, and why it is not the wanted port. */
export function portWords(server: LocalServer, wanted: number): string {
  return server.port === wanted ? server.url : `${server.url} (${wanted} is in use)`;
}
