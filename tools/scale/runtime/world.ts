/**
 * The shipper on a simulated platform: its own handlers and durable objects in this process, under
 * one clock, with a meter around every one of them.
 */

import { platform } from "../../../src/base/platform.ts";
import * as shipper from "../../../src/index.ts";
import { createWorker } from "../../../src/worker.ts";
import { seeded } from "../../bench/records.ts";
import { SimulatedClock } from "./clock.ts";
import { Account, meter, threadCpuMs } from "./meter.ts";
import { type Hosted, type ObjectClass, type OnCall, SimulatedNamespace } from "./objects.ts";
import { SimulatedQueue } from "./queue.ts";
import { settings } from "./settings.ts";
import { SimulatedStore } from "./store.ts";

/** As wrangler.jsonc has it. */
const CRON_MS = 300_000;

/** When every simulation begins: at noon, far from the end of a day, just after the cron ran. */
const BEGIN_MS = Date.parse("2026-11-20T12:00:01Z");

const ACCOUNT_ID = "scale";
const ADMIN_TOKEN = "token-of-the-simulation";

/** Default of {@link World.stuckMs}. */
const STUCK_MS = 2_000;
const STUCK_TURNS = 200;

/** `body` of a fixed length; a piece is copied, as its writer frees it once it is written. */
class FixedLengthStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(bytes: number) {
    let seen = 0;
    super({
      transform(piece, controller) {
        seen += piece.length;
        controller.enqueue(piece.slice());
      },
      flush() {
        if (seen !== bytes) throw new TypeError(`${seen} of ${bytes} bytes were written`);
      },
    });
  }
}

class WebSocketRequestResponsePair {}

class Tick {
  readonly cron = "*/5 * * * *";
  readonly scheduledTime: number;

  constructor(scheduledTime: number) {
    this.scheduledTime = scheduledTime;
  }

  noRetry(): void {}
}

/** Something that happens at its time. */
export interface Source {
  /** In ms since the epoch; Infinity: never. */
  nextMs(): number;
  run(): Promise<void>;
}

const REAL = { setTimeout, clearTimeout, setImmediate };

export class World {
  readonly clock = new SimulatedClock(BEGIN_MS);
  readonly store = new SimulatedStore();
  readonly queue: SimulatedQueue;
  readonly namespaces = new Map<string, SimulatedNamespace>();
  readonly env: Env;
  readonly worker = createWorker();
  readonly accounts = { queue: handler("queue"), scheduled: handler("scheduled") };
  /** Lines that the shipper wrote… */
  lines = 0;
  /** …of which these do not count. */
  countsLines = true;
  crons = 0;
  /**
   * CPU time without any progress after which a wait is taken to be one for the clock, in ms: the
   * machine may be busy with other things.
   */
  stuckMs = STUCK_MS;
  /** A handler begins to run. */
  onRun: ((handler: Account) => void) | null = null;
  readonly #say: (line: string) => void;
  readonly #sources: readonly Source[];
  #nextCronMs = Math.ceil(BEGIN_MS / CRON_MS) * CRON_MS;

  /**
   * @param say gets warnings and errors of the shipper: on a good day there are none.
   * @param shards of the log.
   */
  constructor(say: (line: string) => void, shards = 1) {
    this.#say = say;
    const nowMs = (): number => Math.floor(this.clock.nowMs);
    const classes = shipper as unknown as Record<string, ObjectClass>;
    for (const [binding, name] of settings.classes) {
      const Class = classes[name];
      if (Class === undefined) throw new Error(`wrangler.jsonc names a class that src has not: ${name}`);
      this.namespaces.set(binding, new SimulatedNamespace(Class, () => this.env, nowMs));
    }
    this.queue = new SimulatedQueue(settings.consumer, (batch) => this.#consume(batch), nowMs);
    this.env = {
      ...settings.vars,
      LOG_SHARDS: `${shards}`,
      ACCOUNT_ID,
      ADMIN_TOKEN,
      SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
      EVENTS: { sendBatch: (messages: Iterable<{ body: unknown }>) => this.queue.sendBatch(messages) },
      ...Object.fromEntries(this.namespaces),
    } as unknown as Env;
    this.#sources = [
      { nextMs: () => this.clock.nextMs, run: async () => this.clock.fire() },
      { nextMs: () => this.#nextAlarm()?.storage.alarmMs ?? Number.POSITIVE_INFINITY, run: () => this.#fireAlarm() },
      { nextMs: () => this.queue.nextMs(), run: () => this.queue.deliver() },
      { nextMs: () => this.#nextCronMs, run: () => this.#cron() },
    ];
  }

  /** All durable objects there are. */
  get objects(): Hosted[] {
    return [...this.namespaces.values()].flatMap(({ objects }) => [...objects.values()]);
  }

  /** Sees, and may change, every call of a durable object. */
  set onCall(onCall: OnCall | null) {
    for (const namespace of this.namespaces.values()) namespace.onCall = onCall;
  }

  /** The platform's clock, network, randomness and console become those of this world. */
  enter(): void {
    const { clock } = this;
    const random = seeded(5);
    platform.now = () => Math.floor(clock.nowMs);
    platform.random = random;
    platform.sleep = (ms) => clock.sleep(ms);
    platform.fetch = this.store.fetch;
    const timers = { setTimeout: clock.set.bind(clock), clearTimeout: clock.clear.bind(clock) };
    Object.assign(globalThis, timers, { FixedLengthStream, WebSocketRequestResponsePair });
    console.info = () => {
      if (this.countsLines) this.lines += 1;
    };
    for (const level of ["warn", "error"] as const) {
      console[level] = (...args: unknown[]) => {
        this.lines += 1;
        this.#say(`${level}: ${args.map((arg) => JSON.stringify(arg)).join(" ")}`);
      };
    }
  }

  /** Gives the timers back. */
  leave(): void {
    Object.assign(globalThis, REAL);
  }

  /** Lets time pass. Each happening runs to its end before the next begins. */
  async pass(untilMs: number, sources: readonly Source[] = []): Promise<void> {
    const all = [...sources, ...this.#sources];
    for (;;) {
      let next: Source | null = null;
      let atMs = untilMs;
      for (const source of all) {
        const dueMs = source.nextMs();
        if (dueMs > atMs || (next !== null && dueMs === atMs)) continue;
        next = source;
        atMs = dueMs;
      }
      if (next === null) break;
      this.clock.advanceTo(atMs);
      await this.ended(next.run());
    }
    this.clock.advanceTo(untilMs);
  }

  /** Waits for a task, and for all calls that it began. Only if it is stuck does the clock move. */
  async ended<T>(task: Promise<T>): Promise<T> {
    let isDone = false;
    const done = (): void => {
      isDone = true;
    };
    task.then(done, done);
    let seen = -1;
    let sinceMs = threadCpuMs();
    let turns = 0;
    for (;;) {
      await new Promise<void>((wake) => REAL.setImmediate(wake));
      if (isDone && this.#waiting() === 0) return task;
      const progress = this.#progress();
      turns += 1;
      if (progress !== seen) {
        seen = progress;
        sinceMs = threadCpuMs();
        turns = 0;
      } else if (turns > STUCK_TURNS && threadCpuMs() - sinceMs > this.stuckMs) {
        this.clock.advanceTo(Math.min(this.clock.nextMs, this.clock.nowMs + CRON_MS));
        this.clock.fire();
        sinceMs = threadCpuMs();
        turns = 0;
      }
    }
  }

  /** Calls the shipper's own API. @throws if it refuses. */
  async api<T>(method: string, path: string, body: unknown): Promise<T> {
    const url = `https://logship.example/client/v4/accounts/${ACCOUNT_ID}${path}`;
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };
    const request = new Request(url, { method, headers, body: JSON.stringify(body) });
    const ctx = { waitUntil: () => {}, passThroughOnException: () => {} };
    const response = await this.ended(Promise.resolve(this.worker.fetch(request, this.env, ctx as never)));
    const answer = (await response.json()) as { result: T };
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer.result;
  }

  #waiting(): number {
    let waiting = this.store.waiting;
    for (const namespace of this.namespaces.values()) waiting += namespace.waiting;
    return waiting;
  }

  #progress(): number {
    let progress = this.store.puts + this.store.others;
    for (const { account } of this.objects) progress += account.calls + account.rowsWritten + account.rowsRead;
    return progress;
  }

  async #consume(batch: MessageBatch<unknown>): Promise<void> {
    await this.#handle(this.accounts.queue, () => this.worker.queue(batch, this.env));
  }

  async #handle(handler: Account, run: () => Promise<void>): Promise<void> {
    handler.calls += 1;
    this.onRun?.(handler);
    await meter.as(handler, run);
  }

  #nextAlarm(): Hosted | null {
    let next: Hosted | null = null;
    for (const object of this.objects) {
      const { alarmMs } = object.storage;
      if (alarmMs !== null && (next === null || alarmMs < (next.storage.alarmMs ?? 0))) next = object;
    }
    return next;
  }

  async #fireAlarm(): Promise<void> {
    await this.#nextAlarm()?.fireAlarm();
  }

  async #cron(): Promise<void> {
    this.#nextCronMs += CRON_MS;
    this.crons += 1;
    const tick = new Tick(this.clock.nowMs);
    await this.#handle(this.accounts.scheduled, () => this.worker.scheduled(tick, this.env));
  }
}

function handler(name: string): Account {
  return new Account(`worker ${name}()`, "");
}
