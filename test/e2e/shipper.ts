import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiClient, accountBalance, jobBalance } from "../../tools/api-client.ts";
import { Bucket, localDestination } from "../../tools/bucket.ts";
import { type BuiltWorker, buildWorker, DevServer } from "../../tools/dev-server.ts";
import { localObjectStore, SHIPPER_CONFIG } from "../../tools/paths.ts";
import { pause } from "../../tools/until.ts";
import { readSingleMember } from "../support/gzip-member.ts";
import { ndjson } from "../support/oracle.ts";

/** Far from where a developer's own `wrangler dev` listens. */
const FIRST_PORT = 18_787;

/** `tail()` gathers for 2 s and the queue for 10 s at most; the rest is for a machine that has other things to do. In ms. */
export const RECEIVED_WITHIN_MS = 60_000;

/**
 * A real `wrangler dev` of the shipper with secrets, state and registry of its own, in a temporary folder. It runs a build of now, so that edits
 * to the source while the tests run do not restart it. `await using` it.
 */
export class IsolatedShipper implements AsyncDisposable {
  readonly #folder: string;
  readonly #built: BuiltWorker;
  readonly #token: string;
  #server: DevServer;

  private constructor(folder: string, built: BuiltWorker, token: string, server: DevServer) {
    this.#folder = folder;
    this.#built = built;
    this.#token = token;
    this.#server = server;
  }

  static async start(): Promise<IsolatedShipper> {
    const folder = mkdtempSync(join(tmpdir(), "logship-e2e-"));
    try {
      const built = await buildWorker(SHIPPER_CONFIG, folder);
      const token = randomBytes(24).toString("base64url");
      const env = {
        ADMIN_TOKEN: token,
        SECRETS_KEY: randomBytes(32).toString("base64"),
        ALLOW_LOOPBACK_DESTINATIONS: "true",
      };
      const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
      writeFileSync(join(folder, "secrets.env"), lines.join(""), { mode: 0o600 });
      return new IsolatedShipper(folder, built, token, await startServer(folder, built));
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

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

  /** `kill -9` of everything at once, and a new start on what is on disk. */
  async crashAndRestart(): Promise<void> {
    await this.#server.kill("SIGKILL");
    this.#server = await startServer(this.#folder, this.#built);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function startServer(folder: string, built: BuiltWorker): Promise<DevServer> {
  return DevServer.start({
    ...built,
    port: FIRST_PORT,
    persistTo: join(folder, "state"),
    registry: join(folder, "registry"),
    envFile: join(folder, "secrets.env"),
    logFile: join(folder, "shipper.log"),
    probe: "/",
    vars: (url) => ({ ACCOUNT_ID: "local", OBJSTORE_ENDPOINT: localObjectStore(url) }),
  });
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

/** Watches the ledgers of an account and its jobs while something goes on. */
export class LedgerWatch {
  /** Polls so far; each asked for every ledger. */
  polls = 0;
  /** What did not balance, in words. */
  readonly faults: string[] = [];
  #isOver = false;
  readonly #watching: Promise<void>;

  constructor(api: ApiClient, jobs: readonly number[]) {
    this.#watching = this.#watch(api, jobs);
    // Reported by stop().
    this.#watching.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#watching;
  }

  async #watch(api: ApiClient, jobs: readonly number[]): Promise<void> {
    while (!this.#isOver) {
      for (const id of jobs) {
        const ledger = await api.jobLedger(id);
        const { received, accountedFor } = jobBalance(ledger);
        if (received !== accountedFor) this.faults.push(`job ${id}: ${JSON.stringify(ledger)}`);
      }
      const ledger = await api.accountLedger();
      const { processed, accountedFor } = accountBalance(ledger);
      if (processed !== accountedFor) this.faults.push(`account: ${JSON.stringify(ledger)}`);
      this.polls += 1;
      await pause(100);
    }
  }
}
