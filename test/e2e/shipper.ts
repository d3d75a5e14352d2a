import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiClient } from "../../tools/api-client.ts";
import { Bucket, localDestination } from "../../tools/bucket.ts";
import { type BuiltWorker, buildWorker, startDevServer } from "../../tools/dev-server.ts";
import type { LocalServer } from "../../tools/local-server.ts";
import { localObjectStore, SHIPPER_CONFIG } from "../../tools/paths.ts";
import { readSingleMember } from "../support/gzip-member.ts";
import { ndjson } from "../support/oracle.ts";

/** Far from where a developer's own `wrangler dev` listens. */
const FIRST_PORT = 18_787;

/** `tail()` gathers for 2 s and the queue for 10 s at most; the rest is for a machine that has other things to do. In ms. */
export const RECEIVED_WITHIN_MS = 60_000;

/** Settings and secrets of a deployment, by name; an empty text is a value, too. */
export type Settings = Readonly<Record<string, string>>;

export interface ShipperOptions {
  /** Beside those that it has anyway, or in their place. */
  readonly settings?: Settings;
  /** How long the queue gathers a batch, in seconds; as wrangler.jsonc says by default. */
  readonly queueWaitS?: number;
}

export interface Restart {
  /** For this life alone, in place of those of the first one. */
  readonly settings?: Settings;
  /** Nobody asks it anything, not even whether it is there. */
  readonly unasked?: boolean;
}

/**
 * A real `wrangler dev` of the shipper with secrets, state and registry of its own, in a temporary folder. It runs a build of now, so that edits
 * to the source while the tests run do not restart it. `await using` it.
 */
export class IsolatedShipper implements AsyncDisposable {
  readonly #folder: string;
  readonly #built: BuiltWorker;
  readonly #settings: Settings;
  readonly #token: string;
  #server: LocalServer;
  #lives = 1;
  #isUp = true;

  private constructor(folder: string, built: BuiltWorker, settings: Settings, token: string, server: LocalServer) {
    this.#folder = folder;
    this.#built = built;
    this.#settings = settings;
    this.#token = token;
    this.#server = server;
  }

  static async start({ settings: given = {}, queueWaitS }: ShipperOptions = {}): Promise<IsolatedShipper> {
    const folder = mkdtempSync(join(tmpdir(), "logship-e2e-"));
    try {
      const built = await buildWorker(SHIPPER_CONFIG, folder);
      if (queueWaitS !== undefined) setQueueWait(built.config, queueWaitS);
      const token = randomBytes(24).toString("base64url");
      const settings = {
        ACCOUNT_ID: "local",
        ADMIN_TOKEN: token,
        SECRETS_KEY: randomSecretsKey(),
        ALLOW_LOOPBACK_DESTINATIONS: "true",
        ...given,
      };
      return new IsolatedShipper(folder, built, settings, token, await startServer(folder, built, settings));
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Of the server, in the life it is in, without a slash at the end: another start may find another port. */
  get url(): string {
    return this.#server.url;
  }

  /** The admin's. */
  get token(): string {
    return this.#token;
  }

  /** The latest of what the process printed. */
  get output(): string {
    return this.#server.output;
  }

  /** Of the life it is in, too. */
  get api(): ApiClient {
    return new ApiClient(this.#server.url, { token: this.#token });
  }

  get bucket(): Bucket {
    return new Bucket(this.#server.url);
  }

  /** For whatever a test writes; gone with the shipper. */
  get folder(): string {
    return this.#folder;
  }

  /** Where queues, durable objects and buckets are on disk. */
  get state(): string {
    return join(this.#folder, "state");
  }

  /** The records of all objects below a folder of the local bucket. @throws if one is no strict single-member gzip. */
  async recordsBelow(folder: string): Promise<unknown[]> {
    const objects = (await this.bucket.read(`${folder}/`)).filter(({ key }) => key.endsWith(".log.gz"));
    return objects.flatMap(({ key, bytes }) => {
      const member = readSingleMember(bytes);
      if (!member.ok) throw new Error(`${key}: ${member.reason}`);
      return ndjson(member.raw);
    });
  }

  /** Ends it before its time; what is on disk stays until it is disposed of. */
  async stop(): Promise<void> {
    await this.#server.stop();
  }

  /** How often it was started. */
  get lives(): number {
    return this.#lives;
  }

  /** Whether it is started, and nobody has killed it since. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** `kill -9` of everything at once. */
  async kill(): Promise<void> {
    this.#isUp = false;
    await this.#server.kill("SIGKILL");
    // What a killed process leaves in the local registry is believed: other workers would go on calling it.
    rmSync(join(this.#folder, "registry"), { recursive: true, force: true });
  }

  /** A new start, after a kill, on what is on disk. */
  async restart({ settings = {}, unasked = false }: Restart = {}): Promise<void> {
    this.#server = await startServer(this.#folder, this.#built, { ...this.#settings, ...settings }, unasked);
    this.#lives += 1;
    this.#isUp = true;
  }

  /** `kill -9` of everything at once, and a new start on what is on disk. */
  async crashAndRestart(how: Restart = {}): Promise<void> {
    await this.kill();
    await this.restart(how);
  }

  /**
   * @returns what the action gives; undefined if it is down, or was killed meanwhile and the action failed.
   * @throws whatever the action throws otherwise.
   */
  async unlessKilled<T>(action: (api: ApiClient) => Promise<T>): Promise<T | undefined> {
    if (!this.#isUp) return undefined;
    const life = this.#lives;
    try {
      return await action(this.api);
    } catch (error) {
      if (this.#isUp && this.#lives === life) throw error;
      return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A SECRETS_KEY as it should be. */
export function randomSecretsKey(): string {
  return randomBytes(32).toString("base64");
}

function startServer(
  folder: string,
  built: BuiltWorker,
  { OBJSTORE_ENDPOINT, ...others }: Settings,
  unasked = false,
): Promise<LocalServer> {
  const envFile = join(folder, "settings.env");
  const lines = Object.entries(others).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(envFile, lines.join(""), { mode: 0o600 });
  return startDevServer({
    ...built,
    port: FIRST_PORT,
    persistTo: join(folder, "state"),
    registry: join(folder, "registry"),
    envFile,
    logFile: join(folder, "shipper.log"),
    ...(!unasked && { probe: "/" }),
    vars: (url) => ({ OBJSTORE_ENDPOINT: OBJSTORE_ENDPOINT ?? localObjectStore(url) }),
  });
}

/** In the copy of the configuration that a build has. @throws Error if it is not where it is looked for. */
function setQueueWait(config: string, seconds: number): void {
  const text = readFileSync(config, "utf8");
  const changed = text.replace(/("queue": "logship-events",[^}]*?"max_batch_timeout": )\d+/, `$1${seconds}`);
  if (changed === text) throw new Error(`${config} has no max_batch_timeout of logship-events`);
  writeFileSync(config, changed);
}

/** The path of a job's destination, as `destination_conf` and an audit need it. */
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
