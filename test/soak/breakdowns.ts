/** Faults of an episode other than those of stores: calls of durable objects, and the queue. */

import { vi } from "vitest";
import { ControlPlane, JobReader, Packer, Replays, TraceLog } from "../../src/index.ts";
import { Attempts } from "../../src/ship/reader/attempts.ts";
import { BREAKAGES, type Breakage, breakable, PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import type { SendFault } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import type { Random } from "./random.ts";

/** Every call between components. A call may hang, and its caller times out. */
const CALLS: readonly (readonly [{ readonly prototype: object }, readonly string[]])[] = [
  [JobReader, ["pull", "drive"]],
  [TraceLog, ["append", "known", "read", "expectAgain", "configure", "hold", "holdResend", "drive"]],
  [ControlPlane, ["configSince", "join"]],
  [Packer, ["pack"]],
];

/** Steps inside an object, which wait only for the store and the disk. */
const STEPS: typeof CALLS = [
  [Attempts, ["uploadOne", "put", "settle"]],
  [JobReader, ["alarm"]],
  [TraceLog, ["alarm"]],
  [ControlPlane, ["alarm"]],
  [Replays, ["alarm"]],
];

/** What a reader that is down does not answer. */
const READS = "JobReader.pull";

/**
 * Timers run this many times faster, so that a call that hangs times out within a fraction of a
 * second.
 */
const HURRY = 100;

interface Armed {
  /** Calls that succeed first. */
  skip: number;
  /** Calls that break after these. */
  times: number;
  breakage: Breakage;
}

/** Breaks the calls it was told to break, some calls later, and records each fault. */
export class Breakdowns {
  readonly #world: World;
  readonly #random: Random;
  readonly #armed = new Map<string, Armed>();
  readonly #methods = new Map<string, readonly Breakage[]>();
  #sends: SendFault[] = [];
  /** Jobs whose readers are down, and how. */
  readonly #down = new Map<number, Breakage>();

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
  }

  /** Wraps every call. Call it again after `vi.restoreAllMocks()`. */
  install(): void {
    const wait = globalThis.setTimeout;
    const hurried = (run: () => void, ms = 0, ...args: []): unknown => wait(run, ms / HURRY, ...args);
    vi.spyOn(globalThis, "setTimeout").mockImplementation(hurried as typeof setTimeout);
    this.#methods.clear();
    for (const [{ prototype }, methods] of [...CALLS, ...STEPS]) {
      for (const method of methods) {
        const name = `${(prototype.constructor as { name: string }).name}.${method}`;
        const isStep = STEPS.some(([object, steps]) => object.prototype === prototype && steps.includes(method));
        this.#methods.set(name, isStep ? PROMPT_BREAKAGES : BREAKAGES);
        breakable(prototype as Record<string, unknown>, method, (object) => this.#decide(name, object));
      }
    }
    this.#world.queue.sendFault = () => {
      const fault = this.#sends.shift() ?? null;
      if (fault !== null) this.#world.injected();
      return fault;
    };
  }

  /** Makes a random later call break. @returns a description for the trace. */
  arm(): string {
    const [name, breakages] = this.#random.pick([...this.#methods]);
    const armed = {
      skip: this.#random.int(0, 3),
      times: this.#random.chance(0.8) ? 1 : this.#random.int(2, 12),
      breakage: this.#random.pick(breakages),
    };
    this.#armed.set(name, armed);
    return `${name}: ${armed.breakage}, ${armed.times} times after ${armed.skip} calls`;
  }

  /** Makes calls of the queue fail from now on. @returns a description for the trace. */
  armSends(): string {
    const faults = ["refused", "lost", "half"] as const;
    this.#sends = Array.from({ length: this.#random.int(1, 6) }, () => this.#random.pick(faults));
    return `sendBatch: ${this.#sends.join(", ")}`;
  }

  /**
   * A job's readers read nothing until {@link mendReaders}. @returns a description for the trace.
   */
  breakReaders(job: number): string {
    const breakage = this.#random.pick(["refused", "hangs"] as const);
    this.#down.set(job, breakage);
    return `job ${job}: ${breakage}`;
  }

  /** @returns of how many jobs the readers were down. */
  mendReaders(): number {
    const { size } = this.#down;
    this.#down.clear();
    return size;
  }

  #decide(name: string, object: unknown): Breakage | null {
    const down = name === READS ? this.#down.get(jobOf(object)) : undefined;
    if (down !== undefined) {
      this.#world.injected();
      return down;
    }
    const armed = this.#armed.get(name);
    if (armed === undefined) return null;
    if (armed.skip > 0) {
      armed.skip -= 1;
      return null;
    }
    armed.times -= 1;
    if (armed.times <= 0) this.#armed.delete(name);
    this.#world.injected();
    return armed.breakage;
  }
}

/** The job whose reader it is. */
function jobOf(object: unknown): number {
  const { ctx } = object as { ctx: DurableObjectState };
  return Number(/^job (\d+) /.exec(ctx.id.name ?? "")?.[1]);
}
