import { type ChildProcess, fork, spawn } from "node:child_process";
import { appendFileSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { DEFAULT_PORT, ROOT, WRANGLER } from "./paths.ts";
import { pickPort } from "./ports.ts";
import type { FromSupervisor, ToSupervisor } from "./supervise.ts";
import { pause } from "./until.ts";

export interface DevServerOptions {
  /** A wrangler.jsonc; `.dev.vars` beside it is used unless `envFile` is given. */
  readonly config: string;
  /** A built worker to run as it is; otherwise `main` of the configuration is bundled. */
  readonly script?: string;
  /** Where it listens; the next free port if that one is taken. 8787 by default. */
  readonly port?: number;
  /** Folder of queues, durable objects and buckets. */
  readonly persistTo: string;
  /** Folder in which local workers find each other; that of the user by default. */
  readonly registry?: string;
  /** Absolute path of a file of secrets, instead of `.dev.vars`. */
  readonly envFile?: string;
  /** Settings that go before all others; for those that depend on the port, given the URL of the server. Never secrets: others see them. */
  readonly vars?: (url: string) => Readonly<Record<string, string>>;
  /** Switches of wrangler itself, as it reads them from its environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Gets everything that wrangler and the worker print. */
  readonly logFile?: string;
  readonly onOutput?: (text: string) => void;
  /** A path that is asked before it counts as ready, whatever it answers. Each request is a trace event of the worker. */
  readonly probe?: string;
  /** How long it may take until it answers, in ms. */
  readonly readyWithinMs?: number;
  /** Ends a start that is under way. */
  readonly signal?: AbortSignal;
}

const READY_WITHIN_MS = 60_000;
const READY_LINE = /Ready on (https?:\/\/\S+)/;
const PORT_TAKEN = /Address already in use|EADDRINUSE/i;

/** Starts that are tried when somebody else takes the port between the look and the start. */
const PORT_TRIES = 3;

/** Output kept for a complaint, in characters. */
const OUTPUT_KEPT = 200_000;

/** The environment of wrangler: ours, without what changes its behaviour behind our back. */
function wranglerEnv(registry?: string, switches: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env };
  // A test runner's NODE_ENV would be bundled into the worker.
  for (const name of Object.keys(env))
    if (/^(NODE_ENV|NODE_OPTIONS|TEST|VITEST.*|CLOUDFLARE_ENV)$/.test(name)) delete env[name];
  return {
    ...env,
    WRANGLER_SEND_METRICS: "false",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    ...(registry !== undefined && { WRANGLER_REGISTRY_PATH: registry, MINIFLARE_REGISTRY_PATH: registry }),
    ...(!process.stdout.isTTY && { NO_COLOR: "1", FORCE_COLOR: "0" }),
    ...switches,
  };
}

/** Ports of the servers of this process that are starting: two that start at once must not pick the same one. */
const startingOn = new Set<number>();

async function claimPort(from: number): Promise<number> {
  let port = await pickPort(from);
  while (startingOn.has(port)) port = await pickPort(port + 1);
  startingOn.add(port);
  return port;
}

/** A `wrangler dev` of ours. It ends with `stop()`, or with the process that started it. */
export class DevServer {
  readonly url: string;
  readonly port: number;
  /** Settles when the process has ended, however it ended. */
  readonly ended: Promise<string>;
  readonly #process: WranglerProcess;

  private constructor(process: WranglerProcess, port: number) {
    this.#process = process;
    this.port = port;
    this.url = `http://localhost:${port}`;
    this.ended = process.ended;
  }

  /** @throws Error with wrangler's own words if it ends early or does not answer in time; nothing is left running then. */
  static async start(options: DevServerOptions): Promise<DevServer> {
    let from = options.port ?? DEFAULT_PORT;
    for (let tries = 1; ; tries++) {
      const port = await claimPort(from);
      const url = `http://localhost:${port}`;
      const wrangler = new WranglerProcess(devArguments(options, port), options);
      try {
        await wrangler.ready(url, options);
        return new DevServer(wrangler, port);
      } catch (error) {
        await wrangler.stop();
        if (tries >= PORT_TRIES || !PORT_TAKEN.test(wrangler.output)) throw error;
        from = port + 1;
      } finally {
        startingOn.delete(port);
      }
    }
  }

  /** The latest of what it printed, without colours. */
  get output(): string {
    return this.#process.output;
  }

  /** Ends it tidily, and all that it started; by force if that takes too long. */
  stop(): Promise<void> {
    return this.#process.stop();
  }

  /** Sends a signal to all of it at once, as a crash of the machine would. */
  async kill(signal: "SIGKILL"): Promise<void> {
    await this.#process.kill(signal);
  }
}

function devArguments(options: DevServerOptions, port: number): string[] {
  const vars = Object.entries(options.vars?.(`http://localhost:${port}`) ?? {});
  return [
    "dev",
    ...(options.script === undefined ? [] : [options.script, "--no-bundle"]),
    ...["--config", options.config],
    ...["--port", String(port)],
    // Any free one: 9229 belongs to whoever debugs something.
    ...["--inspector-port", "0"],
    ...["--persist-to", options.persistTo],
    ...(options.envFile === undefined ? [] : ["--env-file", options.envFile]),
    ...vars.flatMap(([name, value]) => ["--var", `${name}:${value}`]),
  ];
}

/** One process tree below a supervisor of its own. */
class WranglerProcess {
  readonly ended: Promise<string>;
  readonly #supervisor: ChildProcess;
  #group: number | null = null;
  #output = "";
  #hasEnded = false;

  constructor(args: readonly string[], { config, registry, environment, logFile, onOutput }: DevServerOptions) {
    if (logFile !== undefined) mkdirSync(dirname(logFile), { recursive: true });
    this.#supervisor = fork(join(import.meta.dirname, "supervise.ts"), [process.execPath, WRANGLER, ...args], {
      // Its temporary files go below this folder; after a SIGKILL they stay.
      cwd: dirname(config),
      detached: true,
      execArgv: [],
      env: wranglerEnv(registry, environment),
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const take = (chunk: string): void => {
      this.#output = (this.#output + stripVTControlCharacters(chunk)).slice(-OUTPUT_KEPT);
      if (logFile !== undefined) appendFileSync(logFile, stripVTControlCharacters(chunk));
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
    });
    // If somebody ended the supervisor alone, the rest is ours to end.
    this.#supervisor.once("exit", () => {
      this.#killGroup("SIGKILL");
      this.#group = null;
    });
  }

  get output(): string {
    return this.#output;
  }

  async ready(
    url: string,
    { probe, readyWithinMs: withinMs = READY_WITHIN_MS, signal }: DevServerOptions,
  ): Promise<void> {
    const deadline = Date.now() + withinMs;
    while (!READY_LINE.test(this.#output)) {
      signal?.throwIfAborted();
      if (this.#hasEnded)
        throw new Error(`wrangler dev ended (${await this.ended}) before it was ready:\n${this.#excerpt()}`);
      if (Date.now() > deadline)
        throw new Error(`wrangler dev was not ready within ${withinMs / 1000} s:\n${this.#excerpt()}`);
      await Promise.race([pause(50), this.ended]);
    }
    const announced = READY_LINE.exec(this.#output)?.[1];
    if (announced !== url) throw new Error(`wrangler dev listens on ${announced}, not on ${url}`);
    if (probe === undefined) return;
    const answer = await fetch(url + probe, { signal: AbortSignal.timeout(Math.max(1, deadline - Date.now())) });
    await answer.arrayBuffer();
  }

  async stop(): Promise<void> {
    const message: ToSupervisor = { do: "stop" };
    if (this.#supervisor.connected) this.#supervisor.send(message, () => {});
    await this.ended;
  }

  async kill(signal: "SIGKILL"): Promise<void> {
    this.#killGroup(signal);
    await this.ended;
  }

  #killGroup(signal: NodeJS.Signals): void {
    try {
      if (this.#group !== null) process.kill(-this.#group, signal);
    } catch {
      // Nothing is left of it.
    }
  }

  /** The last lines that say something. */
  #excerpt(): string {
    const lines = this.#output.split("\n").map((line) => line.trimEnd());
    const telling = lines.filter((line) => line !== "" && !/^\s*stack: /.test(line));
    return telling.slice(-20).join("\n") || "(it printed nothing)";
  }
}

/** A worker that is built, and can be run beside edits to its source. */
export interface BuiltWorker {
  readonly config: string;
  readonly script: string;
}

/**
 * Bundles a worker into a folder of its own, with a copy of its configuration.
 * @throws Error with wrangler's own words.
 */
export async function buildWorker(config: string, outDir: string): Promise<BuiltWorker> {
  const dist = join(outDir, "dist");
  mkdirSync(dist, { recursive: true });
  // An empty file of secrets: a build needs none, and says so if one is used.
  const envFile = join(outDir, "build.env");
  writeFileSync(envFile, "");
  const child = spawn(
    process.execPath,
    [WRANGLER, "deploy", "--dry-run", "--outdir", dist, "--config", config, "--env-file", envFile],
    {
      cwd: ROOT,
      env: wranglerEnv(),
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`building ${config} failed:\n${stripVTControlCharacters(output).trim()}`);
  const copy = join(outDir, "wrangler.jsonc");
  copyFileSync(config, copy);
  return { config: copy, script: join(dist, "index.js") };
}
