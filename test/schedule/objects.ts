import { createHash } from "node:crypto";
import { type Life, lives, type Scheduler } from "./scheduler.ts";
import { Disk, type Instance, type Saved, storageOf } from "./storage.ts";

type Methods = Record<string, (...args: unknown[]) => unknown>;
export type ObjectClass = new (ctx: never, env: never) => object;

/** A call to another object has failed: whether it has had an effect is unknown. */
export class NetworkError extends Error {
  constructor(message = "Network connection lost.") {
    super(message);
    this.name = "Error";
  }
}

/** Of an alarm whose handler throws: how often it is tried again, and after how many ms. */
const ALARM_TRIES = 6;
const ALARM_AGAIN_MS = 2_000;

/** How long an alarm of a dead object takes to fire again, in ms. */
const ALARM_REVIVED_MS = 1_000;

/** One instance of a durable object. */
class Started implements Life, Instance {
  readonly name: string;
  readonly skewMs: number;
  isAlive = true;
  alarmRuns = false;
  readonly target: Promise<Methods>;
  /** Ends of the calls that are under way. */
  readonly calls = new Set<(error: Error) => void>();
  /** What leaves with the next commit. */
  #leaving: (() => void)[] = [];
  readonly #disk: Disk;
  readonly #thing: DurableThing;

  /** @param isByAlarm it was begun by its alarm, which does not say its name. */
  constructor(thing: DurableThing, scheduler: Scheduler, isByAlarm: boolean, make: (ctx: object) => object) {
    this.name = thing.name;
    this.skewMs = thing.skewMs;
    this.#thing = thing;
    this.#disk = thing.disk;
    this.#disk.onDirty = () => scheduler.soon(() => this.#commit(), this);
    const ready: Promise<unknown>[] = [];
    const ctx = {
      id: isByAlarm ? { toString: thing.id.toString } : thing.id,
      storage: storageOf(thing.disk, this),
      blockConcurrencyWhile: (run: () => Promise<unknown>) => {
        const done = run();
        done.catch(() => {});
        ready.push(done);
        return done;
      },
      waitUntil: (promise: Promise<unknown>) => void promise.catch(() => {}),
      getWebSockets: () => [],
      setWebSocketAutoResponse: () => {},
    };
    this.target = lives.run(this, async () => {
      const target = make(ctx) as Methods;
      await Promise.all(ready);
      return target;
    });
    this.target.catch(() => {});
  }

  send(leave: () => void): void {
    if (!this.isAlive) return;
    if (this.#disk.isDirty) this.#leaving.push(leave);
    else leave();
  }
  synced(): Promise<void> {
    return new Promise((resolve) => this.send(resolve));
  }
  #commit(): void {
    this.#disk.commit();
    const leaving = this.#leaving;
    this.#leaving = [];
    for (const leave of leaving) leave();
    this.#thing.followAlarm();
  }
  /** Memory is gone, and what was not committed. */
  die(): void {
    this.isAlive = false;
    this.#leaving = [];
    this.#disk.rollBack();
    for (const fail of [...this.calls]) fail(new NetworkError());
  }
}

/** A durable object: its storage, and the instance that runs, if one does. */
export class DurableThing {
  readonly name: string;
  readonly kind: string;
  readonly id: { name: string; toString(): string };
  readonly disk = new Disk();
  readonly skewMs: number;
  instance: Started | null = null;
  /** It does not answer until then. */
  downUntilMs = 0;
  #alarmTimer: { dueMs: number; cancel: () => void } | null = null;
  #alarmTries = 0;
  #isRinging = false;
  readonly #objects: Objects;

  constructor(kind: string, name: string, objects: Objects) {
    this.kind = kind;
    this.name = `${kind} ${name}`;
    const id = createHash("sha256").update(this.name).digest("hex");
    this.id = { name, toString: () => id };
    this.#objects = objects;
    this.skewMs = objects.drawSkew();
  }

  /** The instance, begun if there is none. */
  begun(isByAlarm = false): Started {
    const { scheduler, classes } = this.#objects;
    const Class = classes[this.kind];
    if (Class === undefined) throw new Error(`no class for ${this.kind}`);
    this.instance ??= new Started(this, scheduler, isByAlarm, (ctx) => {
      const life = lives.getStore() as Life;
      const target = new Class(ctx as never, this.#objects.envOf(life) as never);
      this.#objects.prepare(this.kind, target);
      return target;
    });
    const { instance } = this;
    instance.target.catch(() => {
      if (this.instance === instance) this.kill();
    });
    return instance;
  }

  /** What is in memory dies, and calls under way fail. The alarm that ran comes again. */
  kill(): void {
    if (this.instance !== null) this.#objects.scheduler.log(() => `${this.name} dies`);
    this.instance?.die();
    this.instance = null;
    this.#alarmTimer?.cancel();
    this.#alarmTimer = null;
    this.#isRinging = false;
    this.followAlarm(ALARM_REVIVED_MS);
  }

  /** Its storage is as it was then, and whatever ran dies. */
  restore(saved: readonly Saved[]): void {
    this.instance?.die();
    this.disk.restore(saved);
    this.kill();
  }

  /** After the run. */
  end(): void {
    if (this.instance !== null) this.instance.isAlive = false;
    this.instance = null;
    this.disk.db.close();
  }

  /** Runs a method. @param done is called once, with its answer or what it has thrown. */
  invoke(method: string, args: unknown[], done: (answer: { value: unknown } | { error: Error }) => void): void {
    const { observer } = this.#objects;
    observer?.began(this, method, args);
    const instance = this.begun();
    const fail = (error: Error): void => {
      if (!instance.calls.delete(fail)) return;
      observer?.ended(this, method, error);
      done({ error });
    };
    instance.calls.add(fail);
    lives.run(instance, async () => {
      try {
        const target = await instance.target;
        const run = target[method];
        if (run === undefined) throw new TypeError(`The RPC receiver does not implement the method "${method}".`);
        const value = sent(await run.apply(target, args));
        instance.send(() => {
          if (!instance.calls.delete(fail)) return;
          observer?.ended(this, method, value);
          done({ value });
        });
      } catch (error) {
        // Only its text is carried.
        const failed = new Error(error instanceof Error ? error.message : `${error}`);
        if (instance.isAlive) instance.send(() => fail(failed));
      }
    });
  }

  /** Sets a timer for the alarm that is on disk. Only what is committed fires. */
  followAlarm(delayMs = 0): void {
    if (this.disk.isDirty || this.#isRinging) return;
    const dueMs = this.disk.alarmMs;
    if (this.#alarmTimer !== null && this.#alarmTimer.dueMs === dueMs) return;
    this.#alarmTimer?.cancel();
    this.#alarmTimer = null;
    if (dueMs === null) return;
    const { scheduler } = this.#objects;
    const atMs = Math.max(dueMs - this.skewMs, scheduler.nowMs + delayMs, this.downUntilMs) + scheduler.latency();
    this.#alarmTimer = { dueMs, cancel: scheduler.at(atMs, () => this.#ring()) };
  }

  #ring(): void {
    this.#alarmTimer = null;
    if (this.disk.alarmMs === null) return;
    const instance = this.begun(true);
    this.#isRinging = true;
    instance.alarmRuns = true;
    this.invoke("alarm", [], (answer) => {
      if (!instance.isAlive) return;
      this.#isRinging = false;
      const isSetSince = !instance.alarmRuns;
      instance.alarmRuns = false;
      const again = "error" in answer && ++this.#alarmTries <= ALARM_TRIES;
      if (!("error" in answer)) this.#alarmTries = 0;
      // It has run: what it has not set again is not set any more.
      if (!isSetSince && !again) this.disk.setAlarm(null);
      this.followAlarm(again ? ALARM_AGAIN_MS * 2 ** this.#alarmTries : 0);
    });
  }
}

/** As what it arrives elsewhere. A stream is passed on. */
export function sent<T>(value: T): T {
  return value instanceof ReadableStream || value === undefined ? value : structuredClone(value);
}

/** Sees what objects do. */
export interface Observer {
  called(caller: Life): void;
  /** A call or an alarm begins to run. */
  began(thing: DurableThing, method: string, args: readonly unknown[]): void;
  /** It has ended, well or not. */
  ended(thing: DurableThing, method: string, value: unknown): void;
}

/** All durable objects, and the calls between them. */
export class Objects {
  readonly scheduler: Scheduler;
  readonly classes: Readonly<Record<string, ObjectClass>>;
  readonly envOf: (life: Life) => object;
  readonly things = new Map<string, DurableThing>();
  /** How likely a call is lost, on its way or on its way back. */
  lossOdds = 0;
  /** Calls to these fail. */
  isDown: (thing: DurableThing) => boolean = () => false;
  observer: Observer | null = null;
  /** Changes an instance before its first call. */
  prepare: (kind: string, target: object) => void = () => {};
  /** By how much clocks differ, in ms. */
  skewMaxMs = 100;

  constructor(scheduler: Scheduler, classes: Readonly<Record<string, ObjectClass>>, envOf: (life: Life) => object) {
    this.scheduler = scheduler;
    this.classes = classes;
    this.envOf = envOf;
  }
  drawSkew(): number {
    return this.scheduler.random.below(2 * this.skewMaxMs + 1) - this.skewMaxMs;
  }

  thing(kind: string, name: string): DurableThing {
    const key = `${kind} ${name}`;
    let thing = this.things.get(key);
    if (thing === undefined) {
      thing = new DurableThing(kind, name, this);
      this.things.set(key, thing);
    }
    return thing;
  }

  /** A binding, as `life` has it. */
  namespace(kind: string, life: Life): object {
    const stub = (name: string): object =>
      new Proxy(
        {},
        {
          get: (_target, method) =>
            typeof method === "string" && method !== "then"
              ? (...args: unknown[]) => this.#call(life, this.thing(kind, name), method, args)
              : undefined,
        },
      );
    return {
      getByName: stub,
      idFromName: (name: string) => this.thing(kind, name).id,
      get: ({ name }: { name: string }) => stub(name),
    };
  }

  #call(life: Life, thing: DurableThing, method: string, args: unknown[]): Promise<unknown> {
    const { scheduler } = this;
    const { random } = scheduler;
    this.observer?.called(life);
    const isLost = (): boolean => this.isDown(thing) || (scheduler.hasFaults && random.chance(this.lossOdds));
    return new Promise((resolve, reject) => {
      const values = args.map(sent);
      const back = (run: () => void): void => void scheduler.soon(run, life);
      const arrive = (): void => {
        if (scheduler.nowMs < thing.downUntilMs) {
          scheduler.at(thing.downUntilMs, arrive);
          return;
        }
        const outcome = (what: string) => scheduler.log(() => `${life.name} -> ${thing.name} ${method}: ${what}`);
        if (isLost()) {
          outcome("lost");
          back(() => reject(new NetworkError()));
          return;
        }
        thing.invoke(method, values, (answer) => {
          const isAnswerLost = isLost();
          outcome(isAnswerLost ? "answer lost" : "error" in answer ? answer.error.message : "answered");
          if (isAnswerLost) back(() => reject(new NetworkError()));
          else if ("error" in answer) back(() => reject(answer.error));
          else back(() => resolve(answer.value));
        });
      };
      life.send(() => void scheduler.soon(arrive));
    });
  }
}
