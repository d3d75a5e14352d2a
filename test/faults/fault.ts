import { abortAllDurableObjects } from "cloudflare:test";
import { vi } from "vitest";
import { type Breakage, breakable } from "../support/runtime/breakage.ts";
import type { World } from "../support/runtime/world.ts";
import { impatiently } from "./impatience.ts";

/**
 * Who ends the wait for a call that is never answered:
 * - `the caller`: it has a clock of its own, which runs out;
 * - `the platform`: it ends the object, as it does after a quarter of an hour.
 */
export type Patience = "the caller" | "the platform";

/** One breakage of one call of one method of a durable object's class, and what it takes to live through it. */
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

  /** The next call breaks; or the one after so many others. Then it is over. */
  begin(after = 0): void {
    this.#first = this.#calls + after;
    this.#stuck = this.#start().stuck;
    // A client that knows when no answer will come.
    this.#world.jobs.patience = async (answer) => ((await overOrStuck(answer, this.#stuck)) === "over" ? answer : null);
  }

  /** Whether it has taken place. */
  took(): boolean {
    return this.#calls > this.#first;
  }

  /** Runs what may meet the fault; it does not have to succeed. */
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

/** Resolves when the promise is settled, or once another call is stuck, whichever comes first. @param stuck how many calls will never be answered, by now. */
export async function overOrStuck(promise: Promise<unknown>, stuck: () => number): Promise<"over" | "stuck"> {
  const before = stuck();
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  promise.then(end, end);
  await vi.waitUntil(() => isOver || stuck() > before, { timeout: 20_000, interval: 2 });
  return isOver ? "over" : "stuck";
}
