/**
 * Installs, builds and serves the example, in a separate folder: the developer's own files are
 * neither used nor overwritten.
 */
import { cpSync, existsSync, statSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { EXAMPLE_APP } from "../paths.ts";
import { wranglerEnv } from "../servers/dev-server.ts";
import { LocalServer, type ServerOptions } from "../servers/local-server.ts";
import { SupervisedProcess, toolEnv } from "../servers/supervised.ts";
import { until } from "../until.ts";

/** The shop's name in its project file. */
export const SHOP_NAME = "tea-shop";

/** The shop's name for errors in a visitor's browser. */
export const BROWSER_NAME = "tea-shop-browser";

/** The shipper's name in its project file. */
const SHIPPER_NAME = "logship";

/** Build results, packages, and the developer's own files. */
const NOT_COPIED =
  /^(node_modules|dist|\.wrangler|\.tanstack|\.dev\.vars|\.dev\.vars\.(?!example$).+|\.env|\.env\..+)$/;

/** Where the build writes the values from its environment, below the application. */
export const BUILT_SECRETS = "dist/server/.dev.vars";

/** Vite, below the application. */
const VITE = "node_modules/vite/bin/vite.js";

/** Whether npm has installed them since the lock was last written. */
export function arePackagesInstalled(app: string = EXAMPLE_APP): boolean {
  const installed = join(app, "node_modules/.package-lock.json");
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(app, "package-lock.json")).mtimeMs;
}

/** Runs `npm ci`, for the example or in another folder. @throws Error with npm's output. */
export async function installPackages(signal?: AbortSignal, app: string = EXAMPLE_APP): Promise<void> {
  const npm = new SupervisedProcess({
    argv: [...npmCommand(process.env.npm_execpath), "ci", "--no-audit", "--no-fund"],
    cwd: app,
    env: toolEnv(),
  });
  try {
    await npm.done("npm ci", signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw new Error(
      `the packages of ${basename(app)} could not be installed; the first installation needs a network.\n${wordsOf(error)}`,
    );
  }
}

/** The npm that runs this process; else the one on the PATH. */
export function npmCommand(execPath: string | undefined): string[] {
  return execPath !== undefined && basename(execPath) === "npm-cli.js" ? [process.execPath, execPath] : ["npm"];
}

/** Values that the build takes from its environment. */
export interface ShopSecrets {
  readonly PAYMENT_TOKEN: string;
  readonly SHOP_ADDRESS: string;
}

export interface ShopOptions extends Omit<ServerOptions, "probe"> {
  /** Folder of the built application: {@link buildExample}. */
  readonly app: string;
  /** Folder of queues, durable objects and buckets. */
  readonly state: string;
  /** The registry of the shipper. */
  readonly registry: string;
}

/** Copies the files of the repository, and links the installed packages. */
export function copyExample(to: string): void {
  cpSync(EXAMPLE_APP, to, {
    recursive: true,
    filter: (path) => path === EXAMPLE_APP || !NOT_COPIED.test(basename(path)),
  });
  symlinkSync(join(EXAMPLE_APP, "node_modules"), join(to, "node_modules"), "dir");
}

/** Runs `vite build` in a copy. @throws Error with Vite's output. */
export async function buildExample(
  app: string,
  secrets: ShopSecrets,
  { logFile, signal }: Pick<ServerOptions, "logFile" | "signal"> = {},
): Promise<void> {
  const vite = new SupervisedProcess({
    argv: [process.execPath, VITE, "build"],
    cwd: app,
    // A separate registry: code that runs while pages are prerendered must ship nothing.
    env: wranglerEnv(join(app, ".wrangler/registry"), { ...secrets }),
    ...(logFile !== undefined && { logFile }),
  });
  await vite.done("vite build", signal);
}

/**
 * Runs `vite preview` of a built copy. Start the shipper first: the shop looks it up at its start.
 * The probe is an asset, as no function runs for one.
 * @throws Error with Vite's output if it does not start.
 */
export async function startShop({
  app,
  state,
  registry,
  logFile,
  onOutput,
  ...options
}: ShopOptions): Promise<LocalServer> {
  await until({
    what: `${SHIPPER_NAME} to be in the registry`,
    withinMs: 15_000,
    look: async () => existsSync(join(registry, SHIPPER_NAME)),
    enough: Boolean,
  });
  return LocalServer.start(
    {
      name: "vite preview",
      line: /Local:\s+(https?:\/\/[^\s/]+)\//,
      portTaken: /Port \d+ is already in use|EADDRINUSE/i,
      firstPort: 4_173,
      command: (port) => ({
        argv: [process.execPath, VITE, "preview", "--port", String(port), "--strictPort"],
        cwd: app,
        env: wranglerEnv(registry, { SHOP_STATE: state }),
        ...(logFile !== undefined && { logFile }),
        ...(onOutput !== undefined && { onOutput }),
      }),
    },
    { ...options, probe: "/about" },
  );
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
