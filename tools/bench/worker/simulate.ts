/**
 * Minutes of traffic in a few seconds: events arrive by a simulated clock, and the real code
 * gathers, packs, consumes, appends, cuts and uploads them. Only the queue and the object store are
 * simulated: the queue by its documented rules; the store accepts everything.
 */

import { platform } from "../../../src/base/platform.ts";
import { readIntakeConfig } from "../../../src/config.ts";
import worker from "../../../src/index.ts";
import { Gatherer } from "../../../src/ship/intake/gather.ts";
import { handleTail } from "../../../src/ship/intake/tail.ts";
import { queueUnits } from "../../../src/ship/log/usage.ts";
import { jobStatus } from "../../../src/ship/reader/job-status.ts";
import type { Passing, Scenario, Simulated } from "../protocol.ts";
import { RecordMix, seeded, type TraceItem } from "../records.ts";
import { clock } from "./clock.ts";
import { fireAlarm, meteredEnv, nextAlarm, settled, takeUse } from "./meter.ts";
import { PlayedPacker } from "./packer.ts";
import { batchOf, Tick } from "./queue-batch.ts";
import { Timers } from "./timers.ts";

/** As wrangler.jsonc has it. */
const CRON_MS = 300_000;

/**
 * Trace items that are reused with a new time: making them would cost more than what is measured.
 */
const POOL = 5_000;

/**
 * From an isolate to the packer, one way, in ms, which includes how far its clock is off. Assumed:
 * some isolates are in the packer's town, others on another continent.
 */
const WAY_MS = { min: 2, max: 120 };

/** A scheduled event of the simulation. */
interface Happening {
  atMs: number;
  run(): Promise<void>;
}

interface Isolate {
  gatherer: Gatherer;
  wayMs: number;
}

const NOTHING = { events: 0, messages: 0, messageBytes: 0, messageUnits: 0, batches: 0, crons: 0 };

class Simulation {
  readonly #env: Env;
  readonly #metered: Env;
  readonly #scenario: Scenario;
  readonly #random: () => number;
  readonly #pool: readonly TraceItem[];
  readonly #isolates: readonly Isolate[];
  readonly #timers = new Timers();
  readonly #packer: PlayedPacker;
  #queue: { body: ArrayBuffer; sentMs: number }[] = [];
  #counts = { ...NOTHING };

  constructor(env: Env, scenario: Scenario) {
    this.#env = env;
    this.#metered = meteredEnv(env);
    this.#scenario = scenario;
    this.#random = seeded(scenario.seed);
    const mix = new RecordMix(scenario.seed);
    this.#pool = Array.from({ length: POOL }, () => mix.next(clock.nowMs));
    const { min, max } = WAY_MS;
    this.#isolates = Array.from({ length: scenario.isolates }, () => ({
      gatherer: new Gatherer(),
      wayMs: min + this.#random() * (max - min),
    }));
    const { seal } = readIntakeConfig(env);
    this.#packer = new PlayedPacker(this.#timers, seal, (body) => this.#send([body]));
  }

  /** Lets time pass, with new events or without. */
  async pass(seconds: number, arriving: boolean): Promise<void> {
    const untilMs = clock.nowMs + seconds * 1_000;
    let arrivalMs = arriving ? clock.nowMs + this.#gapMs() : Number.POSITIVE_INFINITY;
    for (;;) {
      const next = this.#nextHappening();
      if (Math.min(next.atMs, arrivalMs) > untilMs) break;
      const arrives = arrivalMs <= next.atMs;
      clock.advanceTo(arrives ? arrivalMs : next.atMs);
      await (arrives ? this.#arrive() : next.run());
      await settled();
      if (arrives) arrivalMs += this.#gapMs();
    }
    clock.advanceTo(untilMs);
  }

  /**
   * Lets time pass until no invocation waits any more, without new events. A promise of a request
   * that is over does not go on in a later one.
   */
  async rest(): Promise<void> {
    for (let timer = this.#timers.first; timer !== null; timer = this.#timers.first)
      await this.pass((timer.atMs - clock.nowMs) / 1_000, false);
  }

  /** The counts since the last call. */
  take(): Simulated {
    const counts = this.#counts;
    this.#counts = { ...NOTHING };
    return { ...counts, ...this.#packer.take(), use: takeUse() };
  }

  /** To the next event of a Poisson process. */
  #gapMs(): number {
    return (-Math.log(1 - this.#random()) / this.#scenario.eventsPerSecond) * 1_000;
  }

  /** The earliest scheduled event, apart from the next trace item. */
  #nextHappening(): Happening {
    const cronMs = (Math.floor(clock.nowMs / CRON_MS) + 1) * CRON_MS;
    let first: Happening = { atMs: cronMs, run: () => this.#cron() };
    const alarm = nextAlarm();
    if (alarm !== null && alarm.atMs < first.atMs) {
      first = { atMs: alarm.atMs, run: () => fireAlarm(this.#env, alarm) };
    }
    const timer = this.#timers.first;
    if (timer !== null && timer.atMs < first.atMs) first = { atMs: timer.atMs, run: () => this.#timers.fire() };
    const [oldest] = this.#queue;
    if (oldest !== undefined) {
      const { batchSize, batchTimeoutMs } = this.#scenario;
      const atMs = this.#queue.length >= batchSize ? clock.nowMs : oldest.sentMs + batchTimeoutMs;
      if (atMs < first.atMs) first = { atMs, run: () => this.#deliver() };
    }
    return first;
  }

  /** A trace item arrives. */
  async #arrive(): Promise<void> {
    this.#counts.events += 1;
    if (this.#isolates.length === 0) return this.#post();
    const isolate = this.#isolates[Math.floor(this.#random() * this.#isolates.length)];
    if (isolate === undefined) throw new Error("a scenario needs at least one isolate");
    const { gatherer, wayMs } = isolate;
    const item = this.#pool[Math.floor(this.#random() * POOL)];
    const sleep = (ms: number): Promise<void> => this.#timers.after(ms);
    await handleTail([{ ...item, eventTimestamp: platform.now() }], {
      queue: { sendBatch: async (messages) => this.#send(messages.map(({ body }) => body)) },
      config: readIntakeConfig(this.#env),
      gatherer,
      platform: { now: platform.now, sleep },
      waitUntil: (promise) => void promise,
      pack: async (part) => {
        await sleep(wayMs);
        const shared = await this.#packer.pack(part);
        await sleep(wayMs);
        return { shared };
      },
      append: () => Promise.reject(new Error("the queue takes everything")),
      countLost: () => Promise.reject(new Error("nothing is lost")),
    });
  }

  /** An event as a request of its own. */
  async #post(): Promise<void> {
    const item = this.#pool[Math.floor(this.#random() * POOL)];
    const body = JSON.stringify({ ...item, eventTimestamp: platform.now() });
    const EVENTS = {
      sendBatch: async (messages: { body: Uint8Array }[]) => this.#send(messages.map((each) => each.body)),
    };
    const url = `https://bench.example/client/v4/accounts/${this.#env.ACCOUNT_ID}/logship/datasets/functions_trace_events/events`;
    const headers = {
      authorization: `Bearer ${Reflect.get(this.#env, "ADMIN_TOKEN")}`,
      "content-type": "application/json",
    };
    const request = new Request(url, { method: "POST", headers, body });
    const ctx = { waitUntil: () => {}, passThroughOnException: () => {} };
    const { status } = await worker.fetch(request, { ...this.#metered, EVENTS } as never, ctx as never);
    if (status !== 202) throw new Error(`a request is answered with ${status}`);
  }

  #send(bodies: readonly Uint8Array[]): void {
    for (const body of bodies) {
      this.#counts.messages += 1;
      this.#counts.messageBytes += body.length;
      this.#counts.messageUnits += queueUnits(body.length);
      this.#queue.push({ body: body.slice().buffer, sentMs: clock.nowMs });
    }
  }

  async #deliver(): Promise<void> {
    const messages = this.#queue.slice(0, this.#scenario.batchSize);
    this.#queue = this.#queue.slice(messages.length);
    this.#counts.batches += 1;
    const batch = batchOf(
      messages.map(({ body }) => body),
      clock.nowMs,
    );
    await worker.queue(batch, this.#metered);
    batch.assertAcknowledged();
  }

  async #cron(): Promise<void> {
    this.#counts.crons += 1;
    await worker.scheduled(new Tick("*/5 * * * *", clock.nowMs), this.#metered);
  }
}

let running: Simulation | null = null;

/** The one that runs. @throws if none does. */
function simulation(): Simulation {
  if (running === null) throw new Error("no scenario was begun");
  return running;
}

/** Begins a scenario. @returns what its jobs have delivered before. */
export async function begin(env: Env, scenario: Scenario): Promise<number[]> {
  running = new Simulation(env, scenario);
  return deliveredTo(env, scenario.jobs);
}

/** Lets time of the scenario pass. */
export async function pass({ seconds }: Passing): Promise<null> {
  await (seconds === null ? simulation().pass(CRON_MS / 1_000, false) : simulation().pass(seconds, true));
  await simulation().rest();
  return null;
}

/** The counts since the last call. */
export function counts(): Simulated {
  return simulation().take();
}

/** What jobs have delivered. */
export function deliveredTo(env: Env, jobs: readonly number[]): Promise<number[]> {
  return Promise.all(jobs.map(async (job) => (await jobStatus(env, job))?.counts.delivered ?? 0));
}
