/**
 * The Worker whose memory is measured, in `wrangler dev`: there its requests leave the runtime
 * directly, through no other process's memory.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unstable_readConfig } from "wrangler";
import { ApiClient } from "../../client/api-client.ts";
import { ROOT, SHIPPER_CONFIG } from "../../paths.ts";
import { type BuiltWorker, buildWorker, startDevServer } from "../../servers/dev-server.ts";
import type { LocalServer } from "../../servers/local-server.ts";
import { runtimes } from "../cpu-clock.ts";
import type { Body } from "./bodies.ts";
import { ProcessMemory } from "./process-memory.ts";
import { ASK_HEADER } from "./worker/commands.ts";

const ACCOUNT = "bench";
const TOKEN = "token-of-the-benchmark";

/** When events that were refused are sent again, in ms. */
const AGAIN_MS = 500;

/** In ms. The longest request is for uploads of several GB. */
const PATIENCE_MS = 120_000;

/** In bytes, of the whole process. */
export interface Peak {
  before: number;
  /** The peak of resident memory. */
  peak: number;
}

/** The last line of an answer. */
export interface SearchEnd {
  /** Objects, as the line before it says. */
  read: number;
  complete: boolean;
  cursor: string | null;
  not_searched: unknown[];
}

export class MemoryHarness {
  readonly #root: string;
  readonly #worker: BuiltWorker;
  #server: LocalServer;
  #memory: ProcessMemory;
  #asked = 0;

  private constructor(root: string, worker: BuiltWorker, { server, memory }: Running) {
    this.#root = root;
    this.#worker = worker;
    this.#server = server;
    this.#memory = memory;
  }

  /**
   * @param storedMaxBytes largest object, as stored.
   * @throws if it does not start, or its memory cannot be read. Nothing is left then.
   */
  static async start(storedMaxBytes: number): Promise<MemoryHarness> {
    process.env.WRANGLER_WRITE_LOGS = "false";
    const root = mkdtempSync(join(tmpdir(), "logship-bench-"));
    process.once("exit", () => remove(root));
    try {
      // Built first: edits to its source must not restart it.
      const worker = await buildWorker(writeConfig(root, storedMaxBytes), join(root, "built"));
      return new MemoryHarness(root, worker, await run(root, worker));
    } catch (error) {
      remove(root);
      throw error;
    }
  }

  /** Of the process that the worker runs in. */
  get memory(): ProcessMemory {
    return this.#memory;
  }

  /** Restarts the runtime on the same storage, with fresh memory. */
  async restart(): Promise<void> {
    await this.#server.stop();
    const { server, memory } = await run(this.#root, this.#worker);
    this.#server = server;
    this.#memory = memory;
  }

  /** Ends it, and removes all it wrote. */
  async close(): Promise<void> {
    await this.#server.stop();
    remove(this.#root);
  }

  /** The shipper's own API. */
  get api(): ApiClient {
    return new ApiClient(this.#server.url, { token: TOKEN, account: ACCOUNT, fetch: request });
  }

  /** Asks the worker for something; see tools/bench/memory/worker/index.ts. */
  ask<T>(command: string, argument: unknown = null): Promise<T> {
    this.#asked += 1;
    const headers = { [ASK_HEADER]: `${this.#asked}` };
    return call(this.#server, `/bench/${command}`, JSON.stringify(argument), headers);
  }

  /**
   * Brings it the messages that it delivers from then on. @param frames as messages.ts makes them.
   */
  bring(frames: Uint8Array<ArrayBuffer>): Promise<void> {
    return call(this.#server, "/bench/pool", frames);
  }

  /**
   * Sends events, again and again as long as they are refused for now.
   * @throws if the answer is another than expected.
   */
  async post(body: Body): Promise<void> {
    for (const untilMs = Date.now() + PATIENCE_MS; ; await sleep(AGAIN_MS)) {
      const encoding = body.isPacked ? { "content-encoding": "gzip" } : {};
      const response = await this.#post("datasets/functions_trace_events/events", body.bytes, encoding);
      const words = await response.text();
      if (response.status === body.status) return;
      if (response.status !== 503 || Date.now() > untilMs)
        throw new Error(`events: ${response.status} ${words.slice(0, 500)}`);
    }
  }

  /**
   * Searches, again and again as long as it is refused for now.
   * @returns its last line. @throws if it is refused otherwise, or breaks off.
   */
  async search(question: object): Promise<SearchEnd> {
    for (const untilMs = Date.now() + PATIENCE_MS; ; await sleep(AGAIN_MS)) {
      const response = await this.#post("search", JSON.stringify(question));
      const words = await response.text();
      const [progress = "", last = ""] = words.trimEnd().split("\n").slice(-2);
      if (response.ok && last.startsWith('{"type":"end"')) return { ...JSON.parse(progress), ...JSON.parse(last) };
      if (![429, 503].includes(response.status) || Date.now() > untilMs)
        throw new Error(`search: ${response.status} ${words.slice(-500)}`);
    }
  }

  #post(path: string, body: string | Uint8Array<ArrayBuffer>, more: object = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...more };
    return request(`${this.api.url}/${path}`, { method: "POST", headers, body });
  }

  /** The most that was resident while something ran, from when garbage has been collected. */
  async peakWhile(run: () => Promise<unknown>): Promise<Peak> {
    await this.ask("collect");
    const before = this.#memory.now();
    this.#memory.forgetPeak();
    await run();
    return { before, peak: this.#memory.peak() };
  }
}

interface Running {
  server: LocalServer;
  memory: ProcessMemory;
}

function remove(root: string): void {
  rmSync(root, { recursive: true, force: true });
}

/** In a folder outside of the project, or its .dev.vars would be read. */
function writeConfig(root: string, storedMaxBytes: number): string {
  const { compatibility_date, compatibility_flags, durable_objects, migrations, rules } = unstable_readConfig(
    { config: SHIPPER_CONFIG },
    { hideWarnings: true },
  );
  const config = join(root, "wrangler.json");
  writeFileSync(
    config,
    JSON.stringify({
      name: "logship-bench",
      main: join(ROOT, "tools/bench/memory/worker/index.ts"),
      compatibility_date,
      compatibility_flags,
      durable_objects,
      migrations,
      rules,
      vars: {
        ACCOUNT_ID: ACCOUNT,
        ADMIN_TOKEN: TOKEN,
        SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
        SELF_NAME: "logship",
        ALLOW_LOOPBACK_DESTINATIONS: "true",
        // The largest that may be configured is what is measured.
        OBJECT_STORED_MAX_BYTES: String(storedMaxBytes),
      },
    }),
  );
  return config;
}

async function run(root: string, { config, script }: BuiltWorker): Promise<Running> {
  const registry = join(root, "registry");
  mkdirSync(registry, { recursive: true });
  const others = new Set(runtimes(process.pid));
  // The runtime takes flags of its engine from the environment only. These let the Worker collect
  // garbage on request, and give each isolate the heap that it has on the platform: without a
  // limit, garbage would pile up until there is much more of it.
  process.env.MINIFLARE_WORKERD_V8_FLAGS = `--expose-gc --max-heap-size=${HEAP_MB}`;
  const server = await startDevServer({ config, script, persistTo: join(root, "state"), registry }).finally(() => {
    delete process.env.MINIFLARE_WORKERD_V8_FLAGS;
  });
  try {
    const candidates = runtimes(process.pid).filter((pid) => !others.has(pid));
    return { server, memory: await memoryOf(server, candidates) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** https://developers.cloudflare.com/workers/platform/limits/#memory */
const HEAP_MB = 128;

/** In bytes: what the Worker is told to hold, so that its process can be found. */
const HELD_BYTES = 64_000_000;

/**
 * The Worker's process is the one that grows when the Worker is told to hold something. This also
 * tests the measure before it is used.
 * @throws if none grows by that much.
 */
async function memoryOf(server: LocalServer, pids: readonly number[]): Promise<ProcessMemory> {
  const hold = (bytes: number): Promise<void> => call(server, "/bench/hold", JSON.stringify(bytes));
  await hold(0);
  const candidates = pids.map((pid) => ({ memory: new ProcessMemory(pid), before: new ProcessMemory(pid).now() }));
  await hold(HELD_BYTES);
  const grown = candidates.map(({ memory, before }) => ({ memory, bytes: memory.now() - before }));
  await hold(0);
  const found = grown.find(({ bytes }) => Math.abs(bytes - HELD_BYTES) < HELD_BYTES / 8);
  if (found === undefined) {
    throw new Error(
      `no process shows the ${HELD_BYTES} B that the worker holds; seen: ${grown.map(({ bytes }) => bytes)}`,
    );
  }
  return found.memory;
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

async function call<T>(
  server: LocalServer,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers = {},
): Promise<T> {
  const response = await request(server.url + path, { method: "POST", body, headers });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${(await response.text()).slice(0, 500)}`);
  return (await response.json()) as T;
}
