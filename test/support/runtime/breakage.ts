/** Ways in which a durable object breaks, at a step of one's choice. */
import { vi } from "vitest";

/**
 * What becomes of one call of a method:
 * - `refused`: it fails before anything is done;
 * - `lost`: it is done, and whoever called is told that it failed;
 * - `dies before`, `dies after`: the object dies before it, or after it; what was committed stays;
 * - `dies after, on disk`: as well, once the disk has it;
 * - `hangs`: it is never answered, and never done;
 * - `late`: it is done, and never answered.
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

/** The breakages that are known at once: no clock has to run out until somebody gives up. */
export const PROMPT_BREAKAGES = BREAKAGES.filter((breakage) => breakage !== "hangs" && breakage !== "late");

type Method = (...args: unknown[]) => unknown;

/**
 * Lets a method of every instance of a durable object's class break, or of a part of one that has its `ctx`, until `vi.restoreAllMocks()`.
 * @param decide is asked at each call; null: it goes well.
 * @returns how many calls are stuck: they will never be answered, and nothing more comes of them.
 */
export function breakable<T extends object>(
  prototype: T,
  method: keyof T & string,
  decide: () => Breakage | null,
): { stuck(): number } {
  const present = prototype[method] as Method;
  // What another mock does goes on.
  const original = (vi.isMockFunction(present) && present.getMockImplementation()) || present;
  let stuck = 0;
  const hang = (): Promise<never> => {
    stuck += 1;
    return new Promise(() => {});
  };
  vi.spyOn(prototype as Record<string, Method>, method).mockImplementation(function (this: unknown, ...args) {
    const breakage = decide();
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
  // A step that waits for nothing breaks within it, so that nothing behind it happens either.
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
