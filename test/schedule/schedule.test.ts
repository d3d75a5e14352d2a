import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { MUTANTS, without } from "./mutants.ts";

const SECONDS = 12;

/** Far fewer than a machine makes that has much else to do: then they hang. */
const SEEDS_MIN = 2;

/** Of frequent mutants, nearly all of so many runs fail. */
const RUNS_OF_MUTANT = 20;

/** A process of its own: a run takes the clock, timers and randomness for itself. */
async function schedule(...args: string[]) {
  const child = spawn(process.execPath, ["tools/schedule.ts", ...args], { stdio: "pipe" });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  const lines = output.trim().split("\n");
  return { code, output, errors, sums: JSON.parse(lines.at(-1) ?? "") as Record<string, number> };
}

describe("the real handlers and objects, in an order that a seed chooses", () => {
  it(
    "deliver each event once",
    async () => {
      const { sums, ...ended } = await schedule("--seconds", `${SECONDS}`);
      expect(ended).toMatchObject({ code: 0, errors: "" });
      expect(sums).toMatchObject({ failures: 0 });
      // The runs did something.
      expect(sums.seeds).toBeGreaterThanOrEqual(SEEDS_MIN);
      expect(sums.objects).toBeGreaterThan(sums.seeds ?? 0);
      expect(sums.deaths).toBeGreaterThan(sums.seeds ?? 0);
    },
    3 * SECONDS * 1_000,
  );

  it.each(Object.entries(MUTANTS))("can be had without the rule that %s leaves out", (_name, mutant) => {
    const source = readFileSync(`src/${mutant.file}`, "utf8");
    expect(without(mutant, source)).not.toBe(source);
  });

  it.each(Object.entries(MUTANTS).filter(([, { isFrequent }]) => isFrequent))(
    "need the rule that %s leaves out",
    async (mutant) => {
      const { sums } = await schedule("--mutant", mutant, "--runs", `${RUNS_OF_MUTANT}`);
      expect(sums).toMatchObject({ failures: 1 });
    },
    60_000,
  );
});
