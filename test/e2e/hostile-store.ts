import { pause } from "../../tools/until.ts";
import { type Match, type Rule, rule } from "../support/s3-script.ts";
import { DEFAULT_CREDENTIALS, type S3Server, startS3Server } from "../support/s3-server.ts";
import type { Chance } from "./chance.ts";
import { pathOf } from "./shipper.ts";

const PUT: Match = { method: "PUT" };

/** Requests with records to a receiver. */
const POST: Match = { method: "POST", keyExcludes: "/test-" };

type Faults = readonly [(times?: number) => Rule, ...((times?: number) => Rule)[]];

/**
 * Faults of a request. After each the store behaves like S3: it has every object that it reports.
 */
const FAULTS: Faults = [
  (times) => rule({ do: "answer", status: 503, code: "SlowDown" }, {}, times),
  (times) => rule({ do: "reset", when: "before" }, {}, times),
  (times) => rule({ do: "reset", when: "during" }, PUT, times),
  (times) => rule({ do: "reset", when: "after" }, PUT, times),
  (times) => rule({ do: "answer", status: 500, code: "InternalError", store: true }, PUT, times),
  (times) => rule({ do: "answer", status: 403, code: "AccessDenied" }, {}, times),
  (times) => rule({ do: "hold" }, PUT, times),
  (times) => rule({ do: "ignore-conditional" }, PUT, times),
];

/** The same of a receiver, which shows nothing of what it has. */
const FAULTS_OF_RECEIVERS: Faults = [
  (times) => rule({ do: "answer", status: 503 }, {}, times),
  (times) => rule({ do: "reset", when: "before" }, {}, times),
  (times) => rule({ do: "reset", when: "during" }, POST, times),
  (times) => rule({ do: "reset", when: "after" }, POST, times),
  (times) => rule({ do: "answer", status: 500, store: true }, POST, times),
  (times) => rule({ do: "answer", status: 403 }, {}, times),
  (times) => rule({ do: "hold" }, POST, times),
  (times) => rule({ do: "limit", records: 20 }, POST, times),
];

const isReceiver = (name: string): boolean => name.startsWith("receiver-");

/**
 * The scripted S3 endpoint in this process. A kill of the shipper does not touch its requests and
 * objects. Use it with `await using`.
 */
export class HostileStore implements AsyncDisposable {
  readonly server: S3Server;

  private constructor(server: S3Server) {
    this.server = server;
  }

  static async start(): Promise<HostileStore> {
    return new HostileStore(await startS3Server());
  }

  /** A job that ships into a bucket of this store, below a folder of the same name. */
  job(bucket: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    const destination_conf = this.destination(bucket);
    return { name: bucket, enabled: true, destination_conf, max_upload_interval_seconds: 30, ...more };
  }

  /**
   * @param bucket or a receiver: `receiver-elastic-…` as its dialect is called.
   * @param folder where in the bucket; the folder of the same name by default.
   */
  destination(bucket: string, folder = bucket): string {
    const [, scheme] = /^receiver-(https|elastic)-/.exec(bucket) ?? [];
    if (scheme !== undefined)
      return `${scheme}://${new URL(this.server.url).host}/in?tls=off&header_X-Receiver=${bucket}`;
    const [[accessKeyId, secretAccessKey] = []] = Object.entries(DEFAULT_CREDENTIALS);
    const endpoint = encodeURIComponent(this.server.url);
    const keys = `access-key-id=${accessKeyId}&secret-access-key=${secretAccessKey}`;
    return `s3://${bucket}/${pathOf(folder)}?endpoint=${endpoint}&region=auto&${keys}`;
  }

  /** From now on every PUT into a bucket is received and held. */
  holdPuts(bucket: string): void {
    this.server.script(bucket, [rule({ do: "hold" }, PUT)]);
  }

  /**
   * Ends the faults of a bucket and completes every held request, even if its sender is gone.
   * @returns how many requests were held.
   */
  letGo(bucket: string): number {
    this.server.script(bucket, []);
    return this.server.release(bucket);
  }

  /** All current objects of a bucket, probes included. */
  contents(bucket: string): { key: string; bytes: Uint8Array }[] {
    return this.server.objects(bucket).flatMap(({ key }) => {
      const bytes = this.server.object(bucket, key);
      return bytes === undefined ? [] : [{ key, bytes }];
    });
  }

  /** What a receiver kept, request by request. */
  received(name: string): { key: string; bytes: Uint8Array }[] {
    return this.server.puts(name).flatMap(({ key, version }) => {
      const bytes = this.server.object(name, key, version);
      return bytes === undefined ? [] : [{ key: `${key} (${version})`, bytes }];
    });
  }

  /** How many requests did not get what a working store answers. */
  faults(bucket: string): number {
    return this.server.requests(bucket).filter(({ action }) => action !== null).length;
  }

  /** Keys of records that were written twice with different bytes. */
  overwritten(bucket: string): string[] {
    const written = new Map<string, string>();
    return this.server.puts(bucket).flatMap(({ key, sha256 }) => {
      const before = written.get(key);
      written.set(key, sha256);
      return key.endsWith(".log.gz") && before !== undefined && before !== sha256 ? [key] : [];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }
}

/** Changing faults on one bucket until it is stopped. */
export class Storm {
  #isOver = false;
  readonly #blowing: Promise<void>;

  constructor(store: HostileStore, bucket: string, chance: Chance) {
    this.#blowing = this.#blow(store, bucket, chance);
    // Reported by stop().
    this.#blowing.catch(() => {});
  }

  /** Ends the faults and completes every held request. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#blowing;
  }

  async #blow(store: HostileStore, bucket: string, chance: Chance): Promise<void> {
    while (!this.#isOver) {
      store.server.script(bucket, spell(chance, isReceiver(bucket) ? FAULTS_OF_RECEIVERS : FAULTS));
      await pause(chance.between(300, 1_500));
      store.letGo(bucket);
    }
  }
}

/** One fault until the next change, several one after the other, or none. */
function spell(chance: Chance, faults: Faults): Rule[] {
  switch (chance.between(0, 5)) {
    case 0:
      return [];
    case 1:
    case 2:
      return [chance.pick(faults)()];
    default:
      return Array.from({ length: 3 }, () => chance.pick(faults)(chance.between(1, 2)));
  }
}
