/**
 * Counts billed operations where they happen: at the storage of the real Durable Objects, and at
 * every call to them. The measured code is unchanged.
 */
import type { ObjectUse, Use } from "../protocol.ts";

type ObjectBinding = { [B in keyof Env]: Env[B] extends DurableObjectNamespace<infer _> ? B : never }[keyof Env];

/** The Durable Objects of the shipper: binding and class, as in wrangler.jsonc. */
const CLASS_OF: { readonly [B in ObjectBinding]: string } = {
  CONTROL: "ControlPlane",
  READERS: "JobReader",
  TRACE_LOG: "TraceLog",
  ACCESS: "AccessRegister",
  WATCH: "Watch",
  REPLAYS: "Replays",
  LIVE: "Live",
  PACKER: "Packer",
  SKETCHES: "SketchStore",
};

export const CLASSES: { readonly [binding: string]: string } = CLASS_OF;

let use = noUse();
/** Counts of cursors grow during iteration, so they are read on request. */
let cursors: { className: string; cursor: { rowsRead: number; rowsWritten: number } }[] = [];
/** Ids of objects that touched their storage. */
const active = new Set<string>();

export interface DueAlarm {
  className: string;
  id: string;
  atMs: number;
}

/** Set and not fired yet, by the object's id. */
const alarms = new Map<string, DueAlarm>();

function noUse(): Omit<Use, "activeObjects"> {
  return { objects: {}, puts: 0, otherStoreRequests: 0, logLines: 0 };
}

function useOf(className: string): ObjectUse {
  use.objects[className] ??= { requests: 0, writing: 0, alarms: 0, rowsWritten: 0, rowsRead: 0, setAlarms: 0 };
  return use.objects[className];
}

/** One that an object is in the midst of cannot be read from outside of it: next time. */
function readCursors(): void {
  const left: typeof cursors = [];
  for (const each of cursors) {
    const { className, cursor } = each;
    try {
      const { rowsRead, rowsWritten } = cursor;
      useOf(className).rowsRead += rowsRead;
      useOf(className).rowsWritten += rowsWritten;
    } catch (error) {
      if (!String(error).includes("Cannot perform I/O on behalf of a different")) throw error;
      left.push(each);
    }
  }
  cursors = left;
}

/** The shipper wrote a line. */
export function countLogLine(): void {
  use.logLines += 1;
}

/** The counts since the last call; counting starts again at zero. */
export function takeUse(): Use {
  readCursors();
  const taken = { ...use, activeObjects: active.size };
  use = noUse();
  active.clear();
  return taken;
}

/** What objects do beside their calls, and has not ended. */
let beside = 0;

/** Real time between two looks, in ms. */
const LOOK_MS = 1;

/** Resolves when no object does anything beside its calls: simulated time waits for real work. */
export async function settled(): Promise<void> {
  while (beside > 0) await new Promise((wake) => setTimeout(wake, LOOK_MS));
}

/** Counts an object's storage operations; pass the result to the object's own constructor. */
export function meteredState(ctx: DurableObjectState, className: string): DurableObjectState {
  const { storage } = ctx;
  const id = ctx.id.toString();
  const exec = storage.sql.exec.bind(storage.sql);
  const counted = (query: string, ...bindings: SqlStorageValue[]): object => {
    active.add(id);
    const cursor = exec(query, ...bindings);
    cursors.push({ className, cursor });
    return cursor;
  };
  Object.defineProperty(storage.sql, "exec", { value: counted });
  const setAlarm = storage.setAlarm.bind(storage);
  storage.setAlarm = (at, options) => {
    const object = useOf(className);
    object.setAlarms += 1;
    object.rowsWritten += 1;
    alarms.set(id, { className, id, atMs: Number(at) });
    return setAlarm(at, options);
  };
  const deleteAlarm = storage.deleteAlarm.bind(storage);
  storage.deleteAlarm = (options) => {
    alarms.delete(id);
    return deleteAlarm(options);
  };
  const waitUntil = ctx.waitUntil.bind(ctx);
  Object.defineProperty(ctx, "waitUntil", {
    value: (work: Promise<unknown>) => {
      beside += 1;
      const end = (): void => {
        beside -= 1;
      };
      work.then(end, end);
      waitUntil(work);
    },
  });
  return ctx;
}

/** One billed request to an object. */
async function request<T>(className: string, run: () => Promise<T>): Promise<T> {
  readCursors();
  const object = useOf(className);
  object.requests += 1;
  const before = object.rowsWritten;
  const result = await run();
  readCursors();
  if (useOf(className).rowsWritten > before) useOf(className).writing += 1;
  return result;
}

/** A request to an object that is played. */
export function countRequest(className: string): void {
  useOf(className).requests += 1;
}

/** A request to the object store. */
export function countStoreRequest(method: string): void {
  if (method === "PUT") use.puts += 1;
  else use.otherStoreRequests += 1;
}

/** The environment with counted calls to Durable Objects. @throws for an unknown class. */
export function meteredEnv(env: Env): Env {
  const metered: Record<string, unknown> = { ...env };
  for (const [name, binding] of Object.entries(metered)) {
    if (!isNamespace(binding)) continue;
    const className = CLASSES[name];
    if (className === undefined) throw new Error(`bench/worker/meter.ts does not know the binding ${name}`);
    metered[name] = meteredNamespace(binding, className);
  }
  return metered as unknown as Env;
}

function isNamespace(binding: unknown): binding is DurableObjectNamespace {
  return typeof (binding as DurableObjectNamespace | null)?.getByName === "function";
}

type Methods = { readonly [name: string]: (...args: unknown[]) => Promise<unknown> };

function meteredNamespace(namespace: DurableObjectNamespace, className: string): object {
  const stub = (target: object): object =>
    new Proxy(target, {
      get: (methods, name) => {
        if (typeof name === "symbol" || name === "then") return undefined;
        return (...args: unknown[]) => request(className, async () => (methods as Methods)[name]?.(...args));
      },
    });
  return {
    getByName: (name: string) => stub(namespace.getByName(name)),
    get: (id: DurableObjectId) => stub(namespace.get(id)),
    idFromName: (name: string) => namespace.idFromName(name),
    idFromString: (id: string) => namespace.idFromString(id),
  };
}

/** The earliest alarm; null: none is set. */
export function nextAlarm(): DueAlarm | null {
  let first: DueAlarm | null = null;
  for (const alarm of alarms.values()) if (first === null || alarm.atMs < first.atMs) first = alarm;
  return first;
}

/** What the classes in worker/index.ts add to the shipper's. */
export interface Bench {
  fireAlarm(): Promise<void>;
  databaseBytes(): Promise<number>;
}

/** Fires an object's alarm. @param env not metered: the alarm counts as one request by itself. */
export async function fireAlarm(env: Env, { className, id }: DueAlarm): Promise<void> {
  await request(className, async () => {
    useOf(className).alarms += 1;
    await instance(env, className, id).fireAlarm();
  });
}

/** An object by its id, without the meter. */
export function instance(env: Env, className: string, id: string): Bench {
  const binding = Object.keys(CLASSES).find((name) => CLASSES[name] === className) as keyof Env;
  const namespace = env[binding] as unknown as DurableObjectNamespace;
  return namespace.get(namespace.idFromString(id)) as unknown as Bench;
}
