import { type ChildProcess, fork } from "node:child_process";
import { appendFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { printable } from "../client/show.ts";
import { foldObjects } from "../fold.ts";
import { pause } from "../until.ts";
import type { FromSupervisor, ToSupervisor } from "./supervise.ts";

/** Output kept for error messages, in characters. */
const OUTPUT_KEPT = 200_000;

/** {@link SupervisedProcess.ended} after success. */
const WELL = "exit code 0";

export interface Command {
  /** The program and its arguments. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Gets everything that it prints, with nothing in it that steers a terminal. */
  readonly logFile?: string;
  /** Gets everything that it prints, as it comes. */
  readonly onOutput?: (text: string) => void;
}

export interface Readiness {
  /** Its name in error messages. */
  readonly name: string;
  /** The line with its URL, which is the first group. */
  readonly line: RegExp;
  /** The URL it must listen on. */
  readonly url: string;
  /** A path to request then; any answer will do. */
  readonly probe?: string | undefined;
  readonly withinMs: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Our environment for another tool, without variables that would change its behaviour unnoticed.
 */
export function toolEnv(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env };
  // A test runner's NODE_ENV would be bundled into builds.
  for (const name of Object.keys(env))
    if (/^(NODE_ENV|NODE_OPTIONS|TEST|VITEST.*|CLOUDFLARE_ENV)$/.test(name)) delete env[name];
  return { ...env, ...(!process.stdout.isTTY && { NO_COLOR: "1", FORCE_COLOR: "0" }), ...more };
}

/** Lines without escape sequences, and with every other control character but tabs written out. */
function harmless(text: string): string {
  return stripVTControlCharacters(text).replace(/[^\n\t]+/g, printable);
}

/**
 * A process tree under its own supervisor. It ends with `stop()`, or with the process that started
 * it.
 */
export class SupervisedProcess {
  /** Settles when it has ended, in any way. */
  readonly ended: Promise<string>;
  readonly #supervisor: ChildProcess;
  #group: number | null = null;
  #output = "";
  #hasEnded = false;

  constructor({ argv, cwd, env, logFile, onOutput }: Command) {
    if (logFile !== undefined) mkdirSync(dirname(logFile), { recursive: true });
    this.#supervisor = fork(join(import.meta.dirname, "supervise.ts"), argv, {
      cwd,
      detached: true,
      execArgv: [],
      env,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const write = foldObjects((text) => {
      if (logFile !== undefined) appendFileSync(logFile, text, { mode: 0o600 });
    });
    const take = (chunk: string): void => {
      const text = harmless(chunk);
      this.#output = (this.#output + text).slice(-OUTPUT_KEPT);
      write(text);
      onOutput?.(chunk);
    };
    this.#supervisor.stdout?.setEncoding("utf8").on("data", take);
    this.#supervisor.stderr?.setEncoding("utf8").on("data", take);
    this.#supervisor.on("message", (message) => {
      const { group } = message as FromSupervisor;
      this.#group = group;
    });
    this.ended = new Promise((resolve) => {
      this.#supervisor.once("error", (error) => resolve(error.message));
      // `close`, not `exit`: by then all output has been read.
      this.#supervisor.once("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    this.ended.then(() => {
      this.#hasEnded = true;
      // The last line may have no end.
      write("\n");
    });
    // If only the supervisor was killed, the rest must be ended here.
    this.#supervisor.once("exit", () => {
      this.#killGroup("SIGKILL");
      this.#group = null;
    });
  }

  /** The latest output, without colours. */
  get output(): string {
    return this.#output;
  }

  /** The id of the command's process, which leads its group; null: it does not run. */
  get group(): number | null {
    return this.#group;
  }

  /** @throws Error with its output if it ends early, is not ready in time, or listens elsewhere. */
  async ready({ name, line, url, probe, withinMs, signal }: Readiness): Promise<void> {
    const deadline = Date.now() + withinMs;
    while (!line.test(this.#output)) {
      signal?.throwIfAborted();
      if (this.#hasEnded) throw new Error(`${name} ended (${await this.ended}) before it was ready:\n${this.excerpt}`);
      if (Date.now() > deadline) throw new Error(`${name} was not ready within ${withinMs / 1000} s:\n${this.excerpt}`);
      await Promise.race([pause(50), this.ended]);
    }
    const announced = line.exec(this.#output)?.[1];
    if (announced !== url) throw new Error(`${name} listens on ${announced}, not on ${url}`);
    if (probe === undefined) return;
    const answer = await fetch(url + probe, { signal: AbortSignal.timeout(Math.max(1, deadline - Date.now())) });
    await answer.arrayBuffer();
  }

  /** Waits for its end. @throws Error with its output if it fails. */
  async done(name: string, signal?: AbortSignal): Promise<void> {
    const stop = (): void => void this.stop();
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
    const how = await this.ended;
    signal?.removeEventListener("abort", stop);
    signal?.throwIfAborted();
    if (how !== WELL) throw new Error(`${name} failed (${how}):\n${this.#output.trim() || "(it printed nothing)"}`);
  }

  /** Ends it and all that it started; by force after a grace period. */
  async stop(): Promise<void> {
    const message: ToSupervisor = { do: "stop" };
    if (this.#supervisor.connected) this.#supervisor.send(message, () => {});
    await this.ended;
  }

  /** Kills the whole tree at once, like a crash of the machine. */
  async kill(signal: "SIGKILL"): Promise<void> {
    this.#killGroup(signal);
    await this.ended;
  }

  #killGroup(signal: NodeJS.Signals): void {
    try {
      if (this.#group !== null) process.kill(-this.#group, signal);
    } catch {
      // It has ended.
    }
  }

  /** The last lines of what it printed. */
  get excerpt(): string {
    const lines = this.#output.split("\n").map((line) => line.trimEnd());
    const telling = lines.filter((line) => line !== "" && !/^\s*stack: /.test(line));
    return telling.slice(-20).join("\n") || "(it printed nothing)";
  }
}
