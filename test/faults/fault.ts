import { abortAllDurableObjects } from "cloudflare:test";
import { type Breakage, breakable } from "../support/runtime/breakage.ts";
import type { World } from "../support/runtime/world.ts";
import { until } from "../support/until.ts";
import { impatiently } from "./impatience.ts";

/**
 * Which side ends the wait for a call that is never answered:
 * - `the caller`: its own timeout ends;
 * - `the platform`: it ends the object, as it does after 15 min.
 */
export type Patience = "the caller" | "the platform";

/**
 * Breaks calls of a method until the faults end, and counts them.
 * @param how every call, or what is decided for the n-th one, from 1, and the name of its object.
 * @returns the number of calls that will never be answered.
 */
export function breaks(
  world: World,
  { prototype }: { prototype: object },
  method: string,
  how: Breakage | ((n: number, name: string | undefined) => Breakage | null),
): () => number {
  let calls = 0;
  const { stuck } = breakable(prototype, method as never, (object: unknown) => {
    calls += 1;
    const breakage = typeof how === "string" ? how : how(calls, (object as { ctx: DurableObjectState }).ctx.id.name);
    if (breakage !== null) world.injected();
    return breakage;
  });
  return stuck;
}

/** One breakage of one call of a durable object's method, and the helpers to survive it. */
export class Fault {
  readonly #world: World;
  readonly #breakage: Breakage;
  readonly #start: () => { stuck(): number };
  #stuck: () => number = () => 0;
  #calls = 0;
  #first = Number.POSITIVE_INFINITY;

  constructor(world: World, prototype: object, method: string, breakage: Breakage) {
    this.#world = world;
    this.#breakage = breakage;
    this.#start = () => breakable(prototype, method as never, () => this.#decide());
  }

  /** Breaks the next call, or the one after `after` more calls. All others succeed. */
  begin(after = 0): void {
    this.#first = this.#calls + after;
    this.#stuck = this.#start().stuck;
    // A client that stops waiting once a call hangs.
    this.#world.jobs.patience = async (answer) => ((await overOrStuck(answer, this.#stuck)) === "over" ? answer : null);
  }

  /** Whether the fault has taken place. */
  took(): boolean {
    return this.#calls > this.#first;
  }

  /** Runs what may meet the fault; it may fail. */
  async meet(run: () => Promise<unknown>, ends: Patience = "the caller"): Promise<void> {
    const isSilent = this.#breakage === "hangs" || this.#breakage === "late";
    if (isSilent && ends === "the platform") await this.#endedByPlatform(run);
    else if (isSilent) await impatiently(this.#stuck, run).catch(() => {});
    else await run().catch(() => {});
  }

  async #endedByPlatform(run: () => Promise<unknown>): Promise<void> {
    const running = run().catch(() => {});
    if ((await overOrStuck(running, this.#stuck)) === "stuck") await abortAllDurableObjects();
    await running;
  }

  #decide(): Breakage | null {
    this.#calls += 1;
    if (this.#calls !== this.#first + 1) return null;
    this.#world.injected();
    return this.#breakage;
  }
}

/**
 * Resolves when the promise settles or another call hangs, whichever comes first.
 * @param stuck the number of calls so far that will never be answered.
 */
export async function overOrStuck(promise: Promise<unknown>, stuck: () => number): Promise<"over" | "stuck"> {
  const before = stuck();
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  promise.then(end, end);
  await until(() => isOver || stuck() > before, 2);
  return isOver ? "over" : "stuck";
}
