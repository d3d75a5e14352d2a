import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";

const SECONDS = 40;

/** Far fewer than a slow machine makes: below this, they hang. */
const SEEDS_MIN = 10;

it(
  "delivers each event once, whatever the seed chooses",
  async () => {
    // A process of its own: a run takes the clock, timers and randomness for itself.
    const child = spawn(process.execPath, ["tools/schedule.ts", "--seconds", `${SECONDS}`], { stdio: "pipe" });
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    const sums = JSON.parse(output.trim().split("\n").at(-1) ?? "");
    expect({ code, output, errors }).toMatchObject({ code: 0 });
    expect(sums).toMatchObject({ failures: 0 });
    expect(sums.seeds).toBeGreaterThan(SEEDS_MIN);
    // The runs did something.
    expect(sums.objects).toBeGreaterThan(sums.seeds);
    expect(sums.deaths).toBeGreaterThan(sums.seeds);
  },
  3 * SECONDS * 1_000,
);
