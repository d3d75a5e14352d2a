/**
 * The Worker whose memory is measured, in `wrangler dev`: there its requests leave the runtime
 * directly, through no other process's memory.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unstable_readConfig } from "wrangler";
import { ApiClient } from "../../client/api-client.ts";
import { ROOT, SHIPPER_CONFIG } from "../../paths.ts";
import { type BuiltWorker, buildWorker, startDevServer } from "../../servers/dev-server.ts";
import type { LocalServer } from "../../servers/local-server.ts";
import { ProcessMemory, runtimes } from "../proc.ts";
import type { Body } from "./bodies.ts";

const ACCOUNT = "bench";
const TOKEN = "token-of-the-benchmark";

/** When a request that was refused for now is sent again, in ms. */
const AGAIN_MS = 500;

/** In ms. The longest request is for uploads of several GB. */
const PATIENCE_MS = 120_000;

/** https://developers.cloudflare.com/workers/platform/limits/#memory */
const HEAP_MB = 128;

/** In bytes: what the Worker is told to hold, so that its process can be found. */
const HELD_BYTES = 64_000_000;

/** In bytes, of the whole process: before, and the peak of resident memory. */
export interface Peak {
  before: number;
  peak: number;
}

export class MemoryHarness {
  readonly #root: string;
  readonly #worker: BuiltWorker;
  #server: LocalServer | null = null;
  #memory: ProcessMemory | null = null;
  #asked = 0;

  private constructor(root: string, worker: BuiltWorker) {
    this.#root = root;
    this.#worker = worker;
  }

  /**
   * @param storedMaxBytes largest object, as stored.
   * @throws if it does not start, or its memory cannot be read.
   */
  static async start(storedMaxBytes: number): Promise<MemoryHarness> {
    process.env.WRANGLER_WRITE_LOGS = "false";
    const root = mkdtempSync(join(tmpdir(), "logship-bench-"));
    process.once("exit", () => rmSync(root, { recursive: true, force: true }));
    // Built first: edits to its source must not restart it.
    const harness = new MemoryHarness(root, await buildWorker(writeConfig(root, storedMaxBytes), join(root, "built")));
    await harness.restart();
    return harness;
  }

  /** Of the process that the worker runs in. */
  get memory(): ProcessMemory {
    if (this.#memory === null) throw new Error("it does not run");
    return this.#memory;
  }

  /** Starts the runtime, or again on the same storage, with fresh memory. */
  async restart(): Promise<void> {
    await this.#server?.stop();
    const others = new Set(runtimes(process.pid));
    // The runtime takes flags of its engine from the environment only. These let the Worker collect
    // garbage on request, and give each isolate the heap that it has on the platform: without a
    // limit, garbage would pile up until there is much more of it.
    process.env.MINIFLARE_WORKERD_V8_FLAGS = `--expose-gc --max-heap-size=${HEAP_MB}`;
    const [persistTo, registry] = [join(this.#root, "state"), join(this.#root, "registry")];
    this.#server = await startDevServer({ ...this.#worker, persistTo, registry }).finally(() => {
      delete process.env.MINIFLARE_WORKERD_V8_FLAGS;
    });
    this.#memory = await this.#memoryOf(runtimes(process.pid).filter((pid) => !others.has(pid)));
  }

  async close(): Promise<void> {
    await this.#server?.stop();
  }

  /** The shipper's own API. */
  get api(): ApiClient {
    return new ApiClient(this.#url, { token: TOKEN, account: ACCOUNT, fetch: request });
  }

  get #url(): string {
    return this.#server?.url ?? "";
  }

  /** Asks the worker for something; see tools/bench/memory/worker/index.ts. */
  async ask<T>(command: string, argument: unknown = null): Promise<T> {
    this.#asked += 1;
    const body = argument instanceof Uint8Array ? (argument as Buffer<ArrayBuffer>) : JSON.stringify(argument);
    const response = await request(`${this.#url}/bench/${command}/${this.#asked}`, { method: "POST", body });
    if (!response.ok) throw new Error(`${command}: ${response.status} ${(await response.text()).slice(0, 500)}`);
    return (await response.json()) as T;
  }

  /** Sends events. @throws if the answer is another than expected. */
  async post({ bytes, isPacked, status }: Body): Promise<void> {
    const encoding = isPacked ? { "content-encoding": "gzip" } : {};
    const answer = await this.#send("datasets/functions_trace_events/events", bytes, encoding);
    if (answer.status !== status) throw new Error(`events: ${answer.status} ${answer.words.slice(0, 500)}`);
  }

  /** @returns the last two lines of a search in one. @throws if it is refused, or breaks off. */
  async search(question: object): Promise<{ read: number; complete: boolean; not_searched: unknown[] }> {
    const { status, words } = await this.#send("search", JSON.stringify(question));
    const [progress = "", last = ""] = words.trimEnd().split("\n").slice(-2);
    if (status !== 200 || !last.startsWith('{"type":"end"')) throw new Error(`search: ${status} ${words.slice(-500)}`);
    return { ...JSON.parse(progress), ...JSON.parse(last) };
  }

  /** Sends it again and again as long as it is refused for now. */
  async #send(path: string, body: string | Uint8Array<ArrayBuffer>, more: object = {}) {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...more };
    for (const untilMs = Date.now() + PATIENCE_MS; ; await sleep(AGAIN_MS)) {
      const response = await request(`${this.api.url}/${path}`, { method: "POST", headers, body });
      const words = await response.text();
      if (![429, 503].includes(response.status) || Date.now() > untilMs) return { status: response.status, words };
    }
  }

  /** The most that was resident while something ran, from when garbage has been collected. */
  async peakWhile(run: () => Promise<unknown>): Promise<Peak> {
    await this.ask("collect");
    const before = this.memory.now();
    this.memory.forgetPeak();
    await run();
    return { before, peak: this.memory.peak() };
  }

  /**
   * The Worker's process is the one that grows when the Worker is told to hold something. This also
   * tests the measure before it is used.
   * @throws if none grows by that much.
   */
  async #memoryOf(pids: readonly number[]): Promise<ProcessMemory> {
    await this.ask("hold", 0);
    const all = pids.map((pid) => ({ memory: new ProcessMemory(pid), before: new ProcessMemory(pid).now() }));
    await this.ask("hold", HELD_BYTES);
    const grown = all.map(({ memory, before }) => memory.now() - before);
    await this.ask("hold", 0);
    const found = all[grown.findIndex((bytes) => Math.abs(bytes - HELD_BYTES) < HELD_BYTES / 8)];
    if (found === undefined) throw new Error(`no process shows the ${HELD_BYTES} B that the Worker holds: ${grown}`);
    return found.memory;
  }
}

/** In a folder outside of the project, or its .dev.vars would be read. */
function writeConfig(root: string, storedMaxBytes: number): string {
  const { compatibility_date, compatibility_flags, durable_objects, migrations, rules } = unstable_readConfig(
    { config: SHIPPER_CONFIG },
    { hideWarnings: true },
  );
  const config = join(root, "wrangler.json");
  const all = {
    ...{ name: "logship-bench", main: join(ROOT, "tools/bench/memory/worker/index.ts") },
    ...{ compatibility_date, compatibility_flags, durable_objects, migrations, rules },
    vars: {
      ...{ ACCOUNT_ID: ACCOUNT, ADMIN_TOKEN: TOKEN, SECRETS_KEY: Buffer.alloc(32, 7).toString("base64") },
      ...{ SELF_NAME: "logship", ALLOW_LOOPBACK_DESTINATIONS: "true" },
      // The largest that may be configured is what is measured.
      OBJECT_STORED_MAX_BYTES: String(storedMaxBytes),
    },
  };
  writeFileSync(config, JSON.stringify(all));
  return config;
}

const TRIES = 5;

/**
 * A connection inside the runtime that was idle during a long computation may be closed, and the
 * next request on it fails; so may one to the process before. It is repeated: the Worker knows
 * commands by number. Only creating a job is not idempotent, and nothing is computed before that.
 */
async function request(url: string, init: RequestInit = {}): Promise<Response> {
  for (let tries = 1; ; tries++) {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) }).catch(
      (error: unknown) => new Response(`connection lost: ${error}`, { status: 502 }),
    );
    if (response.ok || tries === TRIES) return response;
    if (!(await response.clone().text()).includes("connection lost")) return response;
  }
}
