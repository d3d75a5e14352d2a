/**
 * Who uses how much. The time of the thread is given to the one whose code runs: every promise
 * remembers who made it, so that what continues after an `await` counts for the same object.
 */
import { createHook, executionAsyncResource } from "node:async_hooks";

/** What one durable object, or one handler of the worker, did. */
export class Account {
  /** Its class and name, with `#` for numbers; or the handler. */
  readonly kind: string;
  readonly name: string;
  readonly className: string;
  calls = 0;
  alarms = 0;
  /** Of calls and alarms, those that wrote. */
  writing = 0;
  bytesIn = 0;
  bytesOut = 0;
  /** Arguments of the largest call, in bytes. */
  largestCall = 0;
  rowsWritten = 0;
  rowsRead = 0;
  setAlarms = 0;
  /** While its code ran, in ms by the wall clock: to be scaled as {@link Meter.inside} says. */
  ms = 0;

  constructor(className: string, name: string) {
    this.className = className;
    this.name = name;
    this.kind = name === "" ? className : `${className} ${name.replace(/\d+|\b[0-9a-f]\b/g, "#")}`;
  }
}

const OWNER = Symbol("owner");

interface Owned {
  [OWNER]?: Account;
}

/** Nothing of the shipper runs: the simulation itself, and waiting. */
export const OUTSIDE = new Account("outside", "");

/** How far CPU time may be behind, in ms: the kernel updates it at its ticks. */
export const CPU_STEP_MS = 10;

/**
 * One meter a process: the hooks of promises are global. Short stretches are measured by the wall
 * clock, which counts other processes' turns, too; CPU time is exact only over seconds. So the
 * stretches tell who took which part, and the CPU time how much all of them took together. A
 * stretch in which the process was stopped counts for no more than its CPU time and a tick.
 */
class Meter {
  /** Overridden by tests. */
  clock = { nowMs: () => performance.now(), cpuMs: threadCpuMs };
  #current = OUTSIDE;
  #sinceMs = performance.now();
  #sinceCpuMs = threadCpuMs();
  /** Of all accounts but {@link OUTSIDE}: their stretches, and CPU time, in ms. */
  inside = { ms: 0, cpuMs: 0 };
  readonly #hook = createHook({
    init: (_id, _type, _trigger, resource: Owned) => {
      resource[OWNER] = this.#current;
    },
    before: () => this.#switchTo((executionAsyncResource() as Owned)[OWNER] ?? OUTSIDE),
    after: () => this.#switchTo(OUTSIDE),
  });

  /** Whose code runs. */
  get current(): Account {
    return this.#current;
  }

  start(): void {
    this.#hook.enable();
  }

  stop(): void {
    this.#hook.disable();
  }

  /** Runs code whose time, also after it awaits, counts for `account`. */
  as<T>(account: Account, run: () => T): T {
    const before = this.#current;
    this.#switchTo(account);
    try {
      return run();
    } finally {
      this.#switchTo(before);
    }
  }

  #switchTo(account: Account): void {
    const before = this.#current;
    if (account === before) return;
    const now = this.clock.nowMs();
    const cpuMs = this.clock.cpuMs();
    const usedMs = cpuMs - this.#sinceCpuMs;
    const ms = Math.min(now - this.#sinceMs, usedMs + CPU_STEP_MS);
    before.ms += ms;
    if (before !== OUTSIDE) {
      this.inside.ms += ms;
      this.inside.cpuMs += usedMs;
    }
    this.#sinceMs = now;
    this.#sinceCpuMs = cpuMs;
    this.#current = account;
  }
}

export const meter = new Meter();

/** CPU time of this thread, in ms. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Size of a value as a call carries it, in bytes, within a few: structure counts little. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + 4;
  if (typeof value !== "object" || value === null) return 8;
  if (value instanceof ArrayBuffer) return value.byteLength + 8;
  // The whole buffer travels with a view of it.
  if (ArrayBuffer.isView(value)) return value.buffer.byteLength + 16;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + sizeOf(each), 8);
  if (value instanceof Map) return sizeOf([...value].flat());
  if (value instanceof Set) return sizeOf([...value]);
  let size = 8;
  for (const [key, each] of Object.entries(value)) size += key.length + 2 + sizeOf(each);
  return size;
}
