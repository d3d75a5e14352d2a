import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DEFAULT_PORT, ROOT, WRANGLER } from "../paths.ts";
import { LocalServer, localUrl, type ServerOptions } from "./local-server.ts";
import { SupervisedProcess, toolEnv } from "./supervised.ts";

/** 8787 is the first port that is tried, unless another one is given. */
export interface DevServerOptions extends ServerOptions {
  /** A wrangler.jsonc; `.dev.vars` beside it is used unless `envFile` is given. */
  readonly config: string;
  /** A built worker to run as it is; otherwise `main` of the configuration is bundled. */
  readonly script?: string;
  /** Folder of queues, durable objects and buckets. */
  readonly persistTo: string;
  /** Absolute path of a file of secrets, instead of `.dev.vars`. */
  readonly envFile?: string;
  /** Settings that go before all others; for those that depend on the port, given the URL of the server. Never secrets: others see them. */
  readonly vars?: (url: string) => Readonly<Record<string, string>>;
  /** Switches of wrangler itself, as it reads them from its environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The environment of wrangler, and of its plugin for Vite: ours, without what changes its behaviour behind our back. */
export function wranglerEnv(registry?: string, switches: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return toolEnv({
    WRANGLER_SEND_METRICS: "false",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    ...(registry !== undefined && { WRANGLER_REGISTRY_PATH: registry, MINIFLARE_REGISTRY_PATH: registry }),
    ...switches,
  });
}

/**
 * A `wrangler dev`.
 * @throws Error with wrangler's own words if it ends early or does not answer in time; nothing is left running then.
 */
export function startDevServer(options: DevServerOptions): Promise<LocalServer> {
  const { config, registry, environment, logFile, onOutput } = options;
  return LocalServer.start(
    {
      name: "wrangler dev",
      line: /Ready on (https?:\/\/\S+)/,
      portTaken: /Address already in use|EADDRINUSE/i,
      firstPort: DEFAULT_PORT,
      command: (port) => ({
        argv: [process.execPath, WRANGLER, ...devArguments(options, port)],
        // Its temporary files go below this folder; after a SIGKILL they stay.
        cwd: dirname(config),
        env: wranglerEnv(registry, environment),
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
    ...["--config", options.config],
    ...["--port", String(port)],
    // Any free one: 9229 belongs to whoever debugs something.
    ...["--inspector-port", "0"],
    ...["--persist-to", options.persistTo],
    ...(options.envFile === undefined ? [] : ["--env-file", options.envFile]),
    ...vars.flatMap(([name, value]) => ["--var", `${name}:${value}`]),
  ];
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
