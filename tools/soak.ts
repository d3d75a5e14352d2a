/**
 * `npm run soak`: random faults for as long as one likes, in simulated time; see docs/delivery.md.
 *
 *     npm run soak                                five minutes from a seed of chance, which is printed
 *     npm run soak -- --seed 7 --minutes 30       from that seed, for so long
 *     npm run soak -- --seed 7 --episode 12       that episode alone, as a failure names it
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { SOAK_VARIABLE, type SoakSettings } from "../test/support/soak-settings.ts";
import { reportFaults } from "./report-faults.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, minutes: { type: "string" }, episode: { type: "string" } },
});

/** @throws RangeError naming the option. */
function number(name: keyof typeof values, fallback: number, { least = 0, whole = true } = {}): number {
  const given = values[name];
  const value = given === undefined ? fallback : Number(given);
  if (!Number.isFinite(value) || value < least || (whole && !Number.isSafeInteger(value))) {
    throw new RangeError(`--${name}: a ${whole ? "whole " : ""}number of at least ${least}`);
  }
  return value;
}

const settings: SoakSettings = {
  seed: number("seed", randomInt(1_000_000)),
  minutes: number("minutes", 5, { whole: false }),
  only: values.episode === undefined ? null : number("episode", 1, { least: 1 }),
};
console.log(
  `seed ${settings.seed}, ${settings.only === null ? `${settings.minutes} minutes` : `episode ${settings.only}`}`,
);

process.exitCode = await reportFaults(["test/soak"], { [SOAK_VARIABLE]: JSON.stringify(settings) });
