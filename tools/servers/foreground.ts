/** Commands that start servers and stay with them until Ctrl-C: what they say, where their state is, and how all of it ends. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { shown } from "../paths.ts";
import type { LocalServer } from "./local-server.ts";

/** What a command has while it runs. */
export interface Foreground {
  /** A folder of this run's own. */
  readonly state: string;
  /** Aborted when it is interrupted. */
  readonly signal: AbortSignal;
  /** Each step with the seconds it begins at. */
  readonly say: (text: string) => void;
  /** Takes a server as soon as it runs: it is stopped at the end, and if it ends before, so does the command. */
  readonly keep: (name: string, server: LocalServer) => void;
}

export interface ForegroundCommand<Running> {
  /** In words: "the demo". */
  readonly name: string;
  /** Where the folders of its runs are. */
  readonly states: string;
  readonly start: (foreground: Foreground) => Promise<Running>;
  /** What it is there for. @returns the exit code, which an interruption afterwards does not change. */
  readonly work: (running: Running) => Promise<number>;
  /** What it does until it is interrupted; without it, it ends by itself. */
  readonly stay?: (running: Running) => Promise<never>;
}

/** Runs it to its end, with nothing left running. The state stays for a look if it failed. @returns the exit code; 130 if it was interrupted. */
export async function runInForeground<Running>(command: ForegroundCommand<Running>): Promise<number> {
  const startedAt = Date.now();
  const say = (text: string): void => {
    console.log(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${text}`);
  };
  let exitCode: number | null = null;
  const interruption = new AbortController();
  const interrupted = new Promise<number>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        interruption.abort(new Error("interrupted"));
        resolve(exitCode ?? 130);
      });
    }
  });
  const state = freshState(command.states);
  const servers: LocalServer[] = [];
  const lost = Promise.withResolvers<never>();
  // At the end they are stopped, and nobody listens any more.
  lost.promise.catch(() => {});
  const keep = (name: string, server: LocalServer): void => {
    servers.push(server);
    server.ended.then((how) => lost.reject(new Error(`${name} ended by itself (${how})`)));
  };
  const starting = command.start({ state, signal: interruption.signal, say, keep });
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
  if (exitCode === 1) say(`Kept for a look: ${shown(state)} (removed by the next run)`);
  else rmSync(state, { recursive: true, force: true });
  return exitCode;
}

/** A folder for this run; those of runs that were killed are removed. */
function freshState(states: string): string {
  mkdirSync(states, { recursive: true });
  for (const name of readdirSync(states)) {
    const pid = Number(/^run-(\d+)$/.exec(name)?.[1]);
    if (Number.isInteger(pid) && !isAlive(pid)) rmSync(join(states, name), { recursive: true, force: true });
  }
  const state = join(states, `run-${process.pid}`);
  mkdirSync(state);
  return state;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process is alive as well.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Where a server answers, and why there. */
export function portWords(server: LocalServer, wanted: number): string {
  return server.port === wanted ? server.url : `${server.url} (port ${wanted} is taken)`;
}
