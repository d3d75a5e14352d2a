import { type RunSums, run } from "./run.ts";
import { Fault } from "./task.ts";
import type { Options } from "./world.ts";

export interface Failure {
  seed: number;
  what: string;
}

/**
 * Runs seeds one after the other, until `most` have failed. A mutant may also break what the model
 * takes for granted: that finds it as well.
 */
export function runMany(
  { first, runs }: { first: number; runs: number },
  options: Options = {},
  most = 1,
): { failures: Failure[]; sums: Partial<RunSums> } {
  const sums: Partial<RunSums> = {};
  const failures: Failure[] = [];
  for (let seed = first; seed < first + runs && failures.length < most; seed++) {
    try {
      for (const [key, n] of Object.entries(run(seed, options)) as [keyof RunSums, number][])
        sums[key] = (sums[key] ?? 0) + n;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      failures.push({ seed, what: error instanceof Fault ? error.message : String(error.stack) });
    }
  }
  return { failures, sums };
}
