/** Durable objects: constructed on demand, one for each name, in this process. */
import { createHash } from "node:crypto";
import { Account, meter, sizeOf } from "./meter.ts";
import { SimulatedStorage } from "./storage.ts";

type Method = (...args: unknown[]) => unknown;
type Instance = { readonly [method: string]: Method | undefined };
export type ObjectClass = new (ctx: never, env: never) => object;

/** One durable object. */
export class Hosted {
  readonly account: Account;
  readonly storage: SimulatedStorage;
  readonly createdMs: number;
  readonly #instance: Instance;
  #ready: Promise<unknown> = Promise.resolve();

  /** @param busy gets what goes on beside its calls. */
  constructor(
    Class: ObjectClass,
    name: string,
    id: ObjectId,
    env: object,
    nowMs: number,
    busy: (work: Promise<unknown>) => void,
  ) {
    this.account = new Account(Class.name, name);
    this.storage = new SimulatedStorage(this.account);
    this.createdMs = nowMs;
    const ctx = {
      id,
      storage: this.storage,
      waitUntil: busy,
      blockConcurrencyWhile: (run: () => Promise<unknown>) => {
        this.#ready = run();
        return this.#ready;
      },
      setWebSocketAutoResponse: () => {},
      getWebSockets: () => [],
    };
    this.#instance = meter.as(this.account, () => new Class(ctx as never, env as never)) as Instance;
  }

  /** A call as the platform makes it: with copies of arguments and result. */
  async call(method: string, args: readonly unknown[]): Promise<unknown> {
    const { account } = this;
    await this.#ready;
    const bytes = sizeOf(args);
    account.calls += 1;
    account.bytesIn += bytes;
    account.largestCall = Math.max(account.largestCall, bytes);
    const answer = await this.#counting(() => {
      const run = this.#instance[method];
      if (run === undefined) throw new TypeError(`${account.className} has no method ${method}`);
      return Reflect.apply(run, this.#instance, args.map(copied));
    });
    account.bytesOut += sizeOf(answer);
    return meter.as(account, () => copied(answer));
  }

  /** As on the platform, the alarm counts as not set while its handler runs. */
  async fireAlarm(): Promise<void> {
    this.storage.alarmMs = null;
    this.account.alarms += 1;
    await this.#counting(() => this.#instance.alarm?.());
  }

  async #counting(run: () => unknown): Promise<unknown> {
    const { rowsWritten } = this.account;
    const answer = await meter.as(this.account, run);
    if (this.account.rowsWritten > rowsWritten) this.account.writing += 1;
    return answer;
  }
}

/** Streams and requests are handed over, everything else is copied. */
function copied(value: unknown): unknown {
  return value instanceof ReadableStream || value instanceof Request || value instanceof Response
    ? value
    : structuredClone(value);
}

class ObjectId {
  readonly #hex: string;
  readonly name: string;

  constructor(className: string, name: string) {
    this.#hex = createHash("sha256").update(`${className} ${name}`).digest("hex");
    this.name = name;
  }

  toString(): string {
    return this.#hex;
  }

  equals(other: ObjectId): boolean {
    return other.toString() === this.#hex;
  }
}

/** A call with other arguments, or one that does not reach its object, and its answer. */
export type Intercepted = { args: readonly unknown[] } | { answer: unknown };

/** Sees each call before it is made; null: it is made as it is. */
export type OnCall = (object: Account, method: string, args: readonly unknown[]) => Intercepted | null;

/** One binding of the worker. */
export class SimulatedNamespace {
  readonly #Class: ObjectClass;
  readonly #env: () => object;
  readonly #nowMs: () => number;
  readonly #ids = new Map<string, ObjectId>();
  readonly #stubs = new Map<string, object>();
  readonly objects = new Map<string, Hosted>();
  onCall: OnCall | null = null;
  /** Calls that have not been answered yet, and what goes on beside them. */
  waiting = 0;

  constructor(Class: ObjectClass, env: () => object, nowMs: () => number) {
    this.#Class = Class;
    this.#env = env;
    this.#nowMs = nowMs;
  }

  getByName(name: string): object {
    return this.get(this.idFromName(name));
  }

  idFromName(name: string): ObjectId {
    const id = new ObjectId(this.#Class.name, name);
    this.#ids.set(id.toString(), id);
    return id;
  }

  idFromString(hex: string): ObjectId {
    const id = this.#ids.get(hex);
    if (id === undefined) throw new TypeError("no such id");
    return id;
  }

  get(id: ObjectId): object {
    const { name } = id;
    const known = this.#stubs.get(name);
    if (known !== undefined) return known;
    const stub = new Proxy(
      {},
      {
        get: (_, method) => {
          if (typeof method === "symbol" || method === "then") return undefined;
          if (method === "name") return name;
          if (method === "id") return id;
          return (...args: unknown[]) => this.#call(id, method, args);
        },
      },
    );
    this.#stubs.set(name, stub);
    return stub;
  }

  async #call(id: ObjectId, method: string, args: readonly unknown[]): Promise<unknown> {
    const object = this.#hosted(id);
    const intercepted = this.onCall?.(object.account, method, args) ?? { args };
    if ("answer" in intercepted) return intercepted.answer;
    this.waiting += 1;
    try {
      return await object.call(method, intercepted.args);
    } finally {
      this.waiting -= 1;
    }
  }

  #hosted(id: ObjectId): Hosted {
    const { name } = id;
    const known = this.objects.get(name);
    if (known !== undefined) return known;
    const object = new Hosted(this.#Class, name, id, this.#env(), this.#nowMs(), (work) => {
      this.waiting += 1;
      const ended = (): void => {
        this.waiting -= 1;
      };
      work.then(ended, ended);
    });
    this.objects.set(name, object);
    return object;
  }
}
