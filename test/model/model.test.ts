import { describe, expect, it } from "vitest";
import { runMany } from "./many.ts";
import { MUTANTS, type Mutant, type Shown } from "./mutants.ts";

/** Blocks of seeds, so that a hang is told from a slow machine. */
const BLOCKS = [1, 501];

const isShown = (entry: [string, object]): entry is [Mutant, Shown] => "seed" in entry[1];

describe("the model of the log and its readers", () => {
  it.each(BLOCKS)("keeps every promise in 500 runs from seed %i", (first) => {
    const { failures, sums } = runMany({ first, runs: 500 });
    expect(failures).toEqual([]);
    // The runs did something, and `last_complete` was compared with the stores.
    expect(sums.parts).toBeGreaterThan(5_000);
    expect(sums.objects).toBeGreaterThan(2_000);
    expect(sums.claims).toBeGreaterThan(500);
  });

  it.each(Object.entries(MUTANTS).filter(isShown))("needs the rule that %s leaves out", (mutant, { seed, force }) => {
    expect(runMany({ first: seed, runs: 1 }, { force }).failures).toEqual([]);
    expect(runMany({ first: seed, runs: 1 }, { force, mutant }).failures).toHaveLength(1);
  });
});
