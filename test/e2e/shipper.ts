import { randomBytes } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiClient } from "../../tools/client/api-client.ts";
import { Bucket, localDestination } from "../../tools/client/bucket.ts";
import { localObjectStore, SHIPPER_CONFIG } from "../../tools/paths.ts";
import { type BuiltWorker, buildWorker, startDevServer } from "../../tools/servers/dev-server.ts";
import type { LocalServer } from "../../tools/servers/local-server.ts";
import { BUILT_SHIPPER } from "./built.ts";
import { firstPort } from "./ports.ts";
import { setQueueWait } from "./queue-wait.ts";
import { recordsBelow } from "./read-records.ts";

/**
 * In ms. `tail()` gathers for at most 2 s and the queue for at most 10 s; the rest is for a busy
 * machine.
 */
export const RECEIVED_WITHIN_MS = 60_000;

/** Settings and secrets of a deployment, by name; an empty string is a value too. */
export type Settings = Readonly<Record<string, string>>;

export interface ShipperOptions {
  /** Added to the default ones, or in their place. */
  readonly settings?: Settings;
  /** How long the queue gathers a batch, in seconds; by default as in wrangler.jsonc. */
  readonly queueWaitS?: number;
  /** The port, or the lowest one to try. */
  readonly port?: number;
}

export interface Restart {
  /** Another build, with its configuration: from then on, in place of the one before. */
  readonly built?: BuiltWorker;
  /** For this start only, in place of those of the first one. */
  readonly settings?: Settings;
  /** Sends no request, not even to check that it is ready. */
  readonly unasked?: boolean;
}

/**
 * A real `wrangler dev` of the shipper with its own secrets, state and registry, in a temporary
 * folder. It runs a build, so that edits to the source during the tests do not restart it. Use it
 * with `await using`.
 */
export class IsolatedShipper implements AsyncDisposable {
  /** A folder for files of the test; removed with the shipper. */
  readonly folder: string;
  /** What it runs. */
  built: BuiltWorker;
  /** The admin's. */
  readonly token: string;
  /** How often it was started. */
  lives = 1;
  /** Whether it was started and not killed since. */
  isUp = true;
  readonly #settings: Settings;
  readonly #port: number;
  #server: LocalServer;

  private constructor(
    folder: string,
    built: BuiltWorker,
    settings: Settings,
    token: string,
    port: number,
    server: LocalServer,
  ) {
    this.folder = folder;
    this.built = built;
    this.#settings = settings;
    this.token = token;
    this.#port = port;
    this.#server = server;
  }

  static async start({
    settings: given = {},
    queueWaitS,
    port = firstPort("shipper"),
  }: ShipperOptions = {}): Promise<IsolatedShipper> {
    const folder = mkdtempSync(join(tmpdir(), "logship-e2e-"));
    try {
      const built = await builtShipper(folder);
      if (queueWaitS !== undefined) setQueueWait(built.config, queueWaitS);
      const token = randomBytes(32).toString("base64url");
      const settings = {
        ACCOUNT_ID: "local",
        ADMIN_TOKEN: token,
        SECRETS_KEY: randomSecretsKey(),
        ALLOW_LOOPBACK_DESTINATIONS: "true",
        ...given,
      };
      const server = await startServer(folder, built, settings, port);
      return new IsolatedShipper(folder, built, settings, token, port, server);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Of the running server, without a slash at the end. Another start may get another port. */
  get url(): string {
    return this.#server.url;
  }

  /** The latest output of the process. */
  get output(): string {
    return this.#server.output;
  }

  /** A client for the current URL. */
  get api(): ApiClient {
    return new ApiClient(this.#server.url, { token: this.token });
  }

  get bucket(): Bucket {
    return new Bucket(this.#server.url);
  }

  /** The registry in which workers find each other. */
  get registry(): string {
    return registryIn(this.folder);
  }

  /**
   * Calls the API as the admin. @param path below the account.
   * @throws Error with the answer, unless it is a 2xx.
   */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.url}/client/v4/accounts/local${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: HTTP ${response.status} ${text.slice(0, 500)}`);
    return (JSON.parse(text) as { result: T }).result;
  }

  /** {@link recordsBelow} of its bucket. */
  recordsBelow(folder: string): Promise<unknown[]> {
    return recordsBelow(this.bucket, folder);
  }

  /** Ends the process early; what is on disk stays until it is disposed of. */
  async stop(): Promise<void> {
    await this.#server.stop();
  }

  /** `kill -9` of all its processes at once. */
  async kill(): Promise<void> {
    this.isUp = false;
    await this.#server.kill("SIGKILL");
    // A killed process leaves its entries in the local registry, and other workers would go on
    // calling it.
    rmSync(this.registry, { recursive: true, force: true });
  }

  /** A new start after a kill, with the same files. */
  async restart({ settings = {}, unasked = false, built = this.built }: Restart = {}): Promise<void> {
    this.built = built;
    const given = { ...this.#settings, ...settings };
    this.#server = await startServer(this.folder, this.built, given, this.#port, unasked);
    this.lives += 1;
    this.isUp = true;
  }

  /** `kill -9` of all its processes at once, and a new start with the same files. */
  async crashAndRestart(how: Restart = {}): Promise<void> {
    await this.kill();
    await this.restart(how);
  }

  /**
   * @returns the action's result; undefined if the shipper is down, or was killed during the action
   * and the action failed.
   * @throws the action's error in any other case.
   */
  async unlessKilled<T>(action: (api: ApiClient) => Promise<T>): Promise<T | undefined> {
    if (!this.isUp) return undefined;
    const life = this.lives;
    try {
      return await action(this.api);
    } catch (error) {
      if (this.isUp && this.lives === life) throw error;
      return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * The shared build, or a new one if there is none. The configuration is a copy in the folder in any
 * case.
 */
async function builtShipper(folder: string): Promise<BuiltWorker> {
  const shared = process.env[BUILT_SHIPPER];
  if (shared === undefined) return buildWorker(SHIPPER_CONFIG, folder);
  const config = join(folder, "wrangler.jsonc");
  copyFileSync(SHIPPER_CONFIG, config);
  return { config, script: shared };
}

function registryIn(folder: string): string {
  return join(folder, "registry");
}

/** A valid SECRETS_KEY. */
export function randomSecretsKey(): string {
  return randomBytes(32).toString("base64");
}

function startServer(
  folder: string,
  built: BuiltWorker,
  { OBJSTORE_ENDPOINT, ...others }: Settings,
  port: number,
  unasked = false,
): Promise<LocalServer> {
  const envFile = join(folder, "settings.env");
  const lines = Object.entries(others).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(envFile, lines.join(""), { mode: 0o600 });
  return startDevServer({
    ...built,
    port,
    persistTo: join(folder, "state"),
    registry: registryIn(folder),
    envFile,
    logFile: join(folder, "shipper.log"),
    ...(!unasked && { probe: "/" }),
    vars: (url) => ({ OBJSTORE_ENDPOINT: OBJSTORE_ENDPOINT ?? localObjectStore(url) }),
  });
}

/** The path of a job's destination, as `destination_conf` and an audit take it. */
export function pathOf(folder: string): string {
  return `${folder}/{DATE}`;
}

/** A job that ships into a folder of the local bucket. */
export function jobInto(folder: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    name: folder,
    enabled: true,
    destination_conf: localDestination(pathOf(folder)),
    max_upload_interval_seconds: 30,
    ...more,
  };
}
