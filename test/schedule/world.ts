import * as source from "../../src/index.ts";
import { isolateKeyShards } from "../../src/ship/intake/key-shards.ts";
import { createWorker } from "../../src/worker.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../support/constants.ts";
import { takeOver } from "./globals.ts";
import { type ObjectClass, Objects } from "./objects.ts";
import { StandInQueue } from "./queue.ts";
import { type Life, lives, Scheduler } from "./scheduler.ts";
import { Stores } from "./stores.ts";

/** When each run begins. */
const START_MS = Date.UTC(2026, 10, 20, 12);

/** Bindings of durable objects, and the class of each. */
const CLASSES = {
  CONTROL: source.ControlPlane,
  READERS: source.JobReader,
  TRACE_LOG: source.TraceLog,
  ACCESS: source.AccessRegister,
  WATCH: source.Watch,
  REPLAYS: source.Replays,
  LIVE: source.Live,
  PACKER: source.Packer,
  SKETCHES: source.SketchStore,
} as unknown as Record<string, ObjectClass>;

// Each isolate asks once, and all runs share this one.
await isolateKeyShards.of({ CONTROL: { getByName: () => ({ keyShards: async () => 1 }) } } as never);

/** An isolate of the worker: its handlers, and what they remember. */
class Isolate implements Life {
  readonly name: string;
  readonly skewMs: number;
  isAlive = true;
  readonly worker = createWorker();
  readonly env: Env;
  /** Ends of what runs in it. */
  readonly #ends = new Set<() => void>();

  constructor(name: string, world: World) {
    this.name = name;
    this.skewMs = world.objects.drawSkew();
    this.env = world.envOf(this) as Env;
  }
  send(leave: () => void): void {
    if (this.isAlive) leave();
  }
  /** Runs a handler. @returns what it returns; undefined: it threw, or died. */
  async run<T>(handler: () => Promise<T>): Promise<T | undefined> {
    return new Promise((resolve) => {
      const end = (): void => resolve(undefined);
      this.#ends.add(end);
      lives.run(this, async () => {
        const value = await handler().catch(() => undefined);
        if (this.#ends.delete(end)) resolve(value);
      });
    });
  }
  die(): void {
    this.isAlive = false;
    for (const end of this.#ends) end();
    this.#ends.clear();
  }
}

/** What a handler gets beside its event. */
const CONTEXT = {
  waitUntil: (promise: Promise<unknown>) => void promise.catch(() => {}),
  passThroughOnException() {},
  props: {},
};

class Tick {
  readonly cron = "*/5 * * * *";
  readonly scheduledTime = Date.now();
  noRetry(): void {}
}

/** The whole service: real handlers and real objects, and stand-ins for what is around them. */
export class World {
  readonly scheduler: Scheduler;
  readonly objects: Objects;
  readonly queue: StandInQueue;
  readonly stores: Stores;
  /** Settings of the present deployment. */
  settings: Record<string, string> = {
    ACCOUNT_ID: ACCOUNT,
    ADMIN_TOKEN,
    SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    ALLOW_LOOPBACK_DESTINATIONS: "true",
    OBJSTORE_ENDPOINT: "http://127.0.0.1:9000",
    SELF_NAME: "logship",
    DEFAULT_SCRIPT_NAME: "unnamed",
    PREVIEW_RECENT: "false",
  };
  isolates: Isolate[] = [];
  readonly #giveBack: () => void;

  constructor(seed: number, isolates: number) {
    this.scheduler = new Scheduler(seed, START_MS);
    this.stores = new Stores(this.scheduler);
    this.#giveBack = takeOver(this.scheduler, this.stores.fetch);
    this.objects = new Objects(this.scheduler, CLASSES, (life) => this.envOf(life));
    this.queue = new StandInQueue(this.scheduler, async (batch) => {
      const isolate = this.isolate();
      const isWell = await isolate.run(async () => {
        await isolate.worker.queue(batch as never, isolate.env);
        return true;
      });
      return isWell === true;
    });
    for (let i = 0; i < isolates; i++) this.isolates.push(new Isolate(`isolate ${i}`, this));
  }

  /** Gives the surroundings back, and frees what was stored. */
  end(): void {
    for (const thing of this.objects.things.values()) thing.end();
    this.#giveBack();
  }

  envOf(life: Life): object {
    const objects = Object.keys(CLASSES).map((kind) => [kind, this.objects.namespace(kind, life)]);
    const EVENTS = { sendBatch: (messages: { body: Uint8Array }[]) => this.#send(life, messages) };
    return { ...this.settings, ...Object.fromEntries(objects), EVENTS };
  }

  /** What a dead one sends does not leave. */
  #send(life: Life, messages: { body: Uint8Array }[]): Promise<void> {
    return new Promise((resolve, reject) =>
      life.send(() => {
        this.queue.sendBatch(messages).then(resolve, reject);
      }),
    );
  }

  isolate(): Isolate {
    return this.scheduler.random.pick(this.isolates);
  }

  /** An isolate dies with all that runs in it; another takes its place. */
  killIsolate(isolate = this.isolate()): void {
    isolate.die();
    this.isolates = this.isolates.map((each) => (each === isolate ? new Isolate(isolate.name, this) : each));
  }

  /** Everything starts anew, with other settings. */
  deploy(settings: Record<string, string> = {}): void {
    this.settings = { ...this.settings, ...settings };
    for (const isolate of this.isolates) this.killIsolate(isolate);
    for (const thing of this.objects.things.values()) thing.kill();
  }

  /** An HTTP request. @returns null: no answer came. */
  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: { result?: unknown; errors?: unknown } } | null> {
    const isolate = this.isolate();
    const answer = await isolate.run(async () => {
      const request = new Request(`http://logship.test/client/v4/accounts/${ACCOUNT}${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const response = await isolate.worker.fetch(request, isolate.env, CONTEXT as never);
      return { status: response.status, body: JSON.parse(await response.text()) };
    });
    return answer ?? null;
  }

  /** Trace items of one invocation. @returns whether the handler has ended. */
  async tail(isolate: Isolate, items: readonly object[]): Promise<boolean> {
    const isWell = await isolate.run(async () => {
      await isolate.worker.tail(items as never, isolate.env, CONTEXT as never);
      return true;
    });
    return isWell === true;
  }

  async cron(): Promise<void> {
    const isolate = this.isolate();
    await isolate.run(() => isolate.worker.scheduled(new Tick() as never, isolate.env));
  }
}
