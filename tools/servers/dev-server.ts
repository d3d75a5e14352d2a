import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DEFAULT_PORT, REGISTRY, ROOT, WRANGLER } from "../paths.ts";
import { LocalServer, localUrl, type ServerOptions } from "./local-server.ts";
import { SupervisedProcess, toolEnv } from "./supervised.ts";

/** The first port tried is 8787, unless another is given. */
export interface DevServerOptions extends ServerOptions {
  /** A wrangler.jsonc; `.dev.vars` beside it is used unless `envFile` is given. */
  readonly config: string;
  /** Project files of other workers, which run in the same process. */
  readonly also?: readonly string[];
  /** The environment of the project files. */
  readonly env?: string;
  /** A built worker; without it, `main` of the configuration is bundled. */
  readonly script?: string;
  /** Folder of queues, durable objects and buckets. */
  readonly persistTo: string;
  /** Absolute path of a file of secrets, instead of `.dev.vars`. */
  readonly envFile?: string;
  /**
   * Settings that override all others, for the URL of the server. Never secrets: command lines are
   * visible to other users of the machine.
   */
  readonly vars?: (url: string) => Readonly<Record<string, string>>;
}

/**
 * The environment of wrangler, and of its plugin for Vite. The runtime's explorer is always closed:
 * it shows and changes all that local workers have stored, and any page on `localhost` can reach
 * it.
 */
export function wranglerEnv(registry = REGISTRY, more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return toolEnv({
    WRANGLER_SEND_METRICS: "false",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    X_LOCAL_EXPLORER: "false",
    X_LOCAL_OBSERVABILITY: "false",
    WRANGLER_REGISTRY_PATH: registry,
    MINIFLARE_REGISTRY_PATH: registry,
    ...more,
  });
}

/**
 * Starts a `wrangler dev`.
 * @throws Error with its output if it ends early or does not answer in time; nothing is left
 *   running then.
 */
export function startDevServer(options: DevServerOptions): Promise<LocalServer> {
  const { config, registry, logFile, onOutput } = options;
  return LocalServer.start(
    {
      name: "wrangler dev",
      line: /Ready on (https?:\/\/\S+)/,
      portTaken: /Address already in use|EADDRINUSE/i,
      firstPort: DEFAULT_PORT,
      command: (port) => ({
        argv: [process.execPath, WRANGLER, ...devArguments(options, port)],
        // Temporary files go below this folder, and stay there after a SIGKILL.
        cwd: dirname(config),
        env: wranglerEnv(registry),
        ...(logFile !== undefined && { logFile }),
        ...(onOutput !== undefined && { onOutput }),
      }),
    },
    options,
  );
}

function devArguments(options: DevServerOptions, port: number): string[] {
  const vars = Object.entries(options.vars?.(localUrl(port)) ?? {});
  return [
    "dev",
    ...(options.script === undefined ? [] : [options.script, "--no-bundle"]),
    ...[options.config, ...(options.also ?? [])].flatMap((config) => ["--config", config]),
    ...(options.env === undefined ? [] : ["--env", options.env]),
    ...["--port", String(port)],
    // Any free port: 9229 may be in use by a debugger.
    ...["--inspector-port", "0"],
    ...["--persist-to", options.persistTo],
    ...(options.envFile === undefined ? [] : ["--env-file", options.envFile]),
    ...vars.flatMap(([name, value]) => ["--var", `${name}:${value}`]),
  ];
}

/** A built worker: edits to its source do not restart it. */
export interface BuiltWorker {
  readonly config: string;
  readonly script: string;
}

/**
 * Bundles a worker into a folder of its own, with a copy of its configuration.
 * @throws Error with wrangler's output.
 */
export async function buildWorker(config: string, outDir: string): Promise<BuiltWorker> {
  const dist = join(outDir, "dist");
  mkdirSync(dist, { recursive: true });
  // An empty file of secrets: a build must not depend on any.
  const envFile = join(outDir, "build.env");
  writeFileSync(envFile, "");
  const building = new SupervisedProcess({
    argv: [
      ...[process.execPath, WRANGLER],
      ...["deploy", "--dry-run", "--outdir", dist, "--config", config, "--env-file", envFile],
    ],
    cwd: ROOT,
    env: wranglerEnv(),
  });
  await building.done(`building ${config}`);
  const copy = join(outDir, "wrangler.jsonc");
  copyFileSync(config, copy);
  return { config: copy, script: join(dist, "index.js") };
}
