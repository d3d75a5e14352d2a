/**
 * The shipper on a simulated platform: its own handlers and durable objects in this process, with
 * the stand-ins of `npm run schedule`, without faults, and a meter around every one of them. Events
 * come with real bytes; the store takes everything.
 */

import * as shipper from "../../src/index.ts";
import { Gatherer } from "../../src/ship/intake/gather.ts";
import { handleTail, type TailContext } from "../../src/ship/intake/tail.ts";
import { tailContext } from "../../src/ship/intake/tail-context.ts";
import { jobStatus } from "../../src/ship/reader/job-status.ts";
import { createWorker } from "../../src/worker.ts";
import { takeOver } from "../../test/schedule/globals.ts";
import { Objects } from "../../test/schedule/objects.ts";
import { type Life, lives, Scheduler } from "../../test/schedule/scheduler.ts";
import { Accounts, HANDLERS, type Handler, storedBytes } from "./meter.ts";
import { SimulatedQueue } from "./queue.ts";
import { RecordMix, seeded, type TraceItem } from "./records.ts";
import { settings } from "./settings.ts";
import { SimulatedStore, STORE } from "./store.ts";
import { troubled } from "./troubles.ts";

/** When every simulation begins: at noon, far from the end of a day, just after the cron ran. */
const BEGIN_MS = Date.parse("2026-11-20T12:00:01Z");

/** As wrangler.jsonc has it. */
const CRON_MS = 300_000;

/** Trace items that are reused with a new time and version: making them would cost the most. */
const POOL = 5_000;

/**
 * From an isolate to the packer, one way, in ms, which includes how far its clock is off. Assumed:
 * some isolates are in the packer's town, others on another continent.
 */
const WAY_MS = { min: 2, max: 120 };

/** Between durable objects and handlers, one way, and until rows are on disk, in ms: assumed. */
const CALL_MS = { min: 1, max: 9 };

const ACCOUNT_ID = "bench";
const ADMIN_TOKEN = "token-of-the-simulation";
const API = `https://logship.example/client/v4/accounts/${ACCOUNT_ID}`;
const EVENTS_PATH = "/logship/datasets/functions_trace_events/events";
const HEADERS = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };
const CONTEXT = { waitUntil: (promise: Promise<unknown>) => void promise, passThroughOnException: () => {} };

/** Where events come from. */
export interface Load {
  eventsPerSecond: number;
  /** Isolates of the tail handler; events go to a random one. 0: each is a request of its own. */
  isolates: number;
  /** Of the log. */
  shards: number;
  /** Isolates hand over to the packer; or each goes to the queue, which makes most messages. */
  packer: boolean;
  /** Events of many Workers with many errors; by default each event has a version of its own. */
  isTroubled?: boolean;
}

interface Isolate {
  life: Life;
  context: TailContext;
}

/** Of the runtime; pages that are open do not occur here. */
class WebSocketRequestResponsePair {}

type Lives = { readonly [name in Handler]: Life };

class Tick {
  readonly cron = "*/5 * * * *";
  readonly scheduledTime = Date.now();
  noRetry(): void {}
}

export class Simulation {
  readonly scheduler = new Scheduler(5, BEGIN_MS);
  readonly accounts = new Accounts(this.scheduler);
  readonly store = new SimulatedStore(this.scheduler);
  readonly queue: SimulatedQueue;
  readonly objects: Objects;
  readonly jobs: number[] = [];
  events = 0;
  crons = 0;
  /** Lines that the shipper wrote. */
  lines = 0;
  readonly #load: Load;
  #eventsPerSecond = 0;
  readonly #worker = createWorker();
  readonly #lives: Lives;
  readonly #isolates: readonly Isolate[];
  readonly #random = seeded(3);
  readonly #pool: readonly TraceItem[];
  readonly #giveBack: () => void;
  /** Of the next event, with fractions: clocks have none. */
  #arrivalMs = 0;
  #arrivesUntilMs = 0;
  /** What something has thrown that nothing waits for. */
  #failure: unknown = null;

  /** @param say gets warnings and errors of the shipper: on a good day there are none. */
  constructor(load: Load, say: (line: string) => void) {
    const { scheduler } = this;
    this.#load = load;
    scheduler.hasFaults = false;
    scheduler.latency = () => CALL_MS.min + scheduler.random.below(CALL_MS.max);
    this.#giveBack = takeOver(scheduler, this.store.fetch);
    Object.assign(globalThis, { WebSocketRequestResponsePair });
    this.#listen(say);
    const classes = [...settings.classes].map(([binding, name]) => [binding, Reflect.get(shipper, name)]);
    this.objects = new Objects(scheduler, Object.fromEntries(classes), (life) => this.#envOf(life));
    this.objects.skewMaxMs = 0;
    this.objects.observer = this.accounts;
    this.#lives = Object.fromEntries(HANDLERS.map((name) => [name, this.#lifeOf(name, name)])) as Lives;
    this.queue = new SimulatedQueue(scheduler, (batch) => this.#consume(batch));
    const mix = new RecordMix(3);
    const pool = Array.from({ length: POOL }, () => mix.next(BEGIN_MS));
    this.#pool = load.isTroubled ? troubled(pool) : pool;
    this.#isolates = Array.from({ length: load.isolates }, (_, i) => this.#isolate(i));
    this.#planCron();
  }

  /** Gives the surroundings back, and frees what was stored. */
  end(): void {
    for (const thing of this.objects.things.values()) thing.end();
    this.#giveBack();
  }

  /** Creates a job that takes everything, at a path of its own. */
  async createJob(): Promise<void> {
    const query = `region=auto&endpoint=${STORE}&access-key-id=simulated&secret-access-key=simulated`;
    const destination_conf = `s3://traces/job-${this.jobs.length + 1}/{DATE}?${query}`;
    const { id } = await this.#settled(this.#api<{ id: number }>("/logship/jobs", { destination_conf, enabled: true }));
    this.jobs.push(id);
  }

  /** Saves a search, as the API takes it. */
  async saveSearch(search: object): Promise<void> {
    await this.#settled(this.#api("/logship/searches", search));
  }

  /** Whether every job has delivered every event once, by its own count, and nothing waits. */
  async isComplete(): Promise<boolean> {
    const env = this.#envOf(this.#lives.fetch);
    for (const job of this.jobs) {
      const status = await this.#settled(lives.run(this.#lives.fetch, () => jobStatus(env, job)));
      if (status?.counts.pending !== 0 || status.counts.delivered !== this.events) return false;
    }
    return true;
  }

  /**
   * Lets time pass, with new events or without.
   * @param eventsPerSecond by default those of the load.
   * @throws what a handler has thrown.
   */
  async pass(seconds: number, arriving: boolean, eventsPerSecond = this.#load.eventsPerSecond): Promise<void> {
    const { scheduler } = this;
    this.#eventsPerSecond = eventsPerSecond;
    const untilMs = scheduler.nowMs + seconds * 1_000;
    if (arriving) {
      this.#arrivalMs = scheduler.nowMs;
      this.#arrivesUntilMs = untilMs;
      this.#planArrival();
    }
    await scheduler.run(untilMs);
    if (this.#failure !== null) throw this.#failure;
  }

  async #settled<T>(task: Promise<T>): Promise<T> {
    let isDone = false;
    const done = (): void => {
      isDone = true;
    };
    task.then(done, done);
    await this.scheduler.run(Number.POSITIVE_INFINITY, () => isDone);
    return task;
  }

  /** A handler, or an isolate: it never dies here. */
  #lifeOf(name: string, handler: Handler): Life {
    const life: Life = { name, skewMs: 0, isAlive: true, send: (leave) => leave() };
    this.accounts.assign(life, handler);
    return life;
  }

  #envOf(life: Life): Env {
    const namespaces = [...settings.classes.keys()].map((binding) => [binding, this.objects.namespace(binding, life)]);
    return {
      ...settings.vars,
      LOG_SHARDS: `${this.#load.shards}`,
      // Blocks go within the run, and are counted: by default they do so a day later.
      LOG_KEEP_HOURS: "0",
      ...{ ACCOUNT_ID, ADMIN_TOKEN, SECRETS_KEY: Buffer.alloc(32, 7).toString("base64") },
      EVENTS: { sendBatch: (messages: Iterable<{ body: Uint8Array }>) => this.queue.sendBatch(messages) },
      ...Object.fromEntries(namespaces),
    } as unknown as Env;
  }

  #isolate(number: number): Isolate {
    const life = this.#lifeOf(`isolate ${number}`, "tail");
    const gatherer = new Gatherer();
    if (!this.#load.packer) gatherer.policy.asksPacker = () => false;
    // What open pages cost is left out.
    const { early, ...context } = tailContext(this.#envOf(life), CONTEXT, gatherer);
    const wayMs = WAY_MS.min + Math.floor(this.#random() * (WAY_MS.max - WAY_MS.min));
    const pack: TailContext["pack"] = async (part) => {
      await this.scheduler.sleep(wayMs);
      const answer = await context.pack(part);
      await this.scheduler.sleep(wayMs);
      return answer;
    };
    return { life, context: { ...context, pack } };
  }

  #listen(say: (line: string) => void): void {
    const write = (level: string) => (line: unknown) => {
      this.lines += 1;
      if (level !== "info") say(`${level}: ${JSON.stringify(line)}`);
    };
    Object.assign(console, { info: write("info"), warn: write("warn"), error: write("error") });
  }

  /** Runs a handler in the present event. */
  #handle<T>(handler: Handler, run: (env: Env) => Promise<T>): Promise<T> {
    const life = this.#lives[handler];
    this.accounts.run(handler);
    return lives.run(life, () => run(this.#envOf(life)));
  }

  async #consume(batch: MessageBatch<unknown>): Promise<void> {
    await this.#handle("queue", (env) => this.#worker.queue(batch, env)).catch(this.#fail);
    for (const [thing, account] of this.accounts.objects)
      account.highestBytes = Math.max(account.highestBytes, storedBytes(thing.disk));
  }

  /** Calls the shipper's own API. @throws if it refuses. */
  #api<T>(path: string, body: unknown): Promise<T> {
    return this.#handle("fetch", async (env) => {
      const request = new Request(`${API}${path}`, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
      const response = await this.#worker.fetch(request, env, CONTEXT as never);
      const answer = (await response.json()) as { result: T };
      if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
      return answer.result;
    });
  }

  readonly #fail = (error: unknown): void => {
    this.#failure ??= error;
  };

  /** The next event of a Poisson process. */
  #planArrival(): void {
    this.#arrivalMs += (-Math.log(1 - this.#random()) / this.#eventsPerSecond) * 1_000;
    const atMs = Math.floor(this.#arrivalMs);
    if (atMs <= this.#arrivesUntilMs) this.scheduler.at(atMs, () => this.#arrive());
  }

  #arrive(): void {
    this.events += 1;
    const item = this.#pool[Math.floor(this.#random() * this.#pool.length)];
    const version = this.#load.isTroubled ? {} : { scriptVersion: { id: versionOf(this.events) } };
    const trace = { ...item, eventTimestamp: this.scheduler.nowMs, ...version };
    const isolate = this.#isolates[Math.floor(this.#random() * this.#isolates.length)];
    this.#planArrival();
    // What it took to make the event is no work of the shipper.
    this.accounts.meter.charge(null);
    if (isolate === undefined) this.#api(EVENTS_PATH, trace).catch(this.#fail);
    else {
      this.accounts.run("tail");
      lives.run(isolate.life, () => handleTail([trace], isolate.context)).catch(this.#fail);
    }
  }

  #planCron(): void {
    const atMs = (Math.floor(this.scheduler.nowMs / CRON_MS) + 1) * CRON_MS;
    this.scheduler.at(atMs, () => {
      this.crons += 1;
      this.#handle("cron", (env) => this.#worker.scheduled(new Tick(), env)).catch(this.#fail);
      this.#planCron();
    });
  }
}

/** A UUID of its own for each event, by which it is found again; as random as real ones. */
function versionOf(event: number): string {
  const random = seeded(event);
  const hex = (value: number): string => value.toString(16).padStart(8, "0");
  const rest = [0, 0, 0].map(() => hex(Math.floor(random() * 2 ** 32))).join("");
  return `${hex(event)}-${rest.slice(0, 4)}-${rest.slice(4, 8)}-${rest.slice(8, 12)}-${rest.slice(12)}`;
}

/** The number of the event with this version. */
export function eventOf(version: string): number {
  return Number.parseInt(version.slice(0, 8), 16);
}
