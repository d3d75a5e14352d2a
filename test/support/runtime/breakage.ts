/** Faults of a durable object at a chosen step. */
import { vi } from "vitest";

/**
 * A fault of one method call:
 * - `refused`: it fails before anything is done;
 * - `lost`: it is done, and the caller gets an error;
 * - `dies before`, `dies after`: the object dies before or after the call; committed data stays;
 * - `dies after, on disk`: as `dies after`, once the data is on disk;
 * - `hangs`: it is never done and never answered;
 * - `late`: it is done and never answered.
 */
export type Breakage = "refused" | "lost" | "dies before" | "dies after" | "dies after, on disk" | "hangs" | "late";

export const BREAKAGES = [
  "refused",
  "lost",
  "dies before",
  "dies after",
  "dies after, on disk",
  "hangs",
  "late",
] as const satisfies readonly Breakage[];

/** The faults that a caller notices at once, without a timeout. */
export const PROMPT_BREAKAGES = BREAKAGES.filter((breakage) => breakage !== "hangs" && breakage !== "late");

type Method = (...args: unknown[]) => unknown;

/**
 * Lets a method break in every instance of a durable object's class, or of a part of it that has
 * its `ctx`, until `vi.restoreAllMocks()`.
 * @param decide is asked at each call, with the object; null: no fault.
 * @returns how many calls are stuck: they are never answered and do nothing more.
 */
export function breakable<T extends object>(
  prototype: T,
  method: keyof T & string,
  decide: (object: T) => Breakage | null,
): { stuck(): number } {
  const present = prototype[method] as Method;
  // Keeps the effect of another mock.
  const original = (vi.isMockFunction(present) && present.getMockImplementation()) || present;
  let stuck = 0;
  const hang = (): Promise<never> => {
    stuck += 1;
    return new Promise(() => {});
  };
  vi.spyOn(prototype as Record<string, Method>, method).mockImplementation(function (this: unknown, ...args) {
    const breakage = decide(this as T);
    return breakage === null
      ? original.apply(this, args)
      : broken(breakage, this as T, method, () => original.apply(this, args), hang);
  });
  return { stuck: () => stuck };
}

function broken(
  breakage: Breakage,
  object: object,
  method: string,
  run: () => unknown,
  hang: () => Promise<never>,
): unknown {
  const { ctx } = object as { ctx: DurableObjectState };
  const die = (): never => {
    ctx.abort(`${breakage} ${method}`);
    throw new Error("dead");
  };
  switch (breakage) {
    case "refused":
      throw new Error(`${method} is refused`);
    case "dies before":
      return die();
    case "hangs":
      return hang();
  }
  const result = run();
  const lose = (): never => {
    throw new Error(`the answer of ${method} is lost`);
  };
  const finish = async (): Promise<unknown> => {
    await result;
    if (breakage === "late") return hang();
    if (breakage === "dies after, on disk") await ctx.storage.sync();
    return breakage === "lost" ? lose() : die();
  };
  if (result instanceof Promise) return finish();
  // A synchronous method breaks synchronously, so that no later step of its caller runs.
  if (breakage === "lost") return lose();
  return breakage === "dies after" ? die() : finish();
}

/** Breaks the first `times` calls, and counts them. */
export function firstCalls(breakage: Breakage, times = 1): { decide(): Breakage | null; broke(): number } {
  let broke = 0;
  return {
    decide: () => {
      if (broke >= times) return null;
      broke += 1;
      return breakage;
    },
    broke: () => broke,
  };
}
