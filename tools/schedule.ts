/**
 * `npm run schedule`: the real handlers and objects in one process, under interleavings, losses and
 * deaths that a seed chooses. test/schedule has the stand-ins and the oracle.
 */
import { leaveOut } from "../test/schedule/hooks.ts";
import { MUTANTS } from "../test/schedule/mutants.ts";
import { argumentsOf } from "./command.ts";

const USAGE = `usage: npm run schedule [-- options]

The real handlers and objects in one process, under interleavings, losses and deaths that a seed
chooses.

  --runs <n>        so many seeds
  --seconds <n>     as many as that takes
  --seed <n>        the first seed (1); without --runs and --seconds, this one alone
  --force <names>   deaths,keyed: runs that do these, and nothing else
  --trace <word>    shows each line of a run that has this word
  --mutant <name>   noDedupe: without that rule, up to the first run that fails`;

interface Runner {
  FORCES: readonly string[];
  run(
    seed: number,
    options: { force: readonly string[] | undefined; trace: string | undefined },
  ): Promise<Record<string, number>>;
}

/** Failures that are printed before it ends. */
const MOST = 8;
const MOST_OF_MUTANT = 1;

const { values } = argumentsOf(
  USAGE,
  {
    seed: { type: "string" },
    runs: { type: "string" },
    seconds: { type: "string" },
    force: { type: "string" },
    trace: { type: "string" },
    mutant: { type: "string" },
  },
  false,
);

function number(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${text} is no number from 1 on`);
  return value;
}

// What the dead leave behind fails, and nothing waits for it.
process.on("unhandledRejection", () => {});

const mutant = values.mutant === undefined ? undefined : MUTANTS[values.mutant];
if (values.mutant !== undefined && mutant === undefined) throw new RangeError(`there is no mutant ${values.mutant}`);
if (mutant !== undefined) leaveOut(mutant);

// Its types are those of the runtime, which this one does not know.
const { run, FORCES } = (await import(new URL("../test/schedule/run.ts", import.meta.url).href)) as Runner;
const force = (values.force ?? mutant?.force)?.split(",");
for (const name of force ?? []) if (!FORCES.includes(name)) throw new RangeError(`--force: of ${FORCES.join(", ")}`);

const most = mutant === undefined ? MOST : MOST_OF_MUTANT;
const first = number(values.seed ?? "1");
const runs = values.runs ? number(values.runs) : values.seconds || values.seed === undefined ? 1_000_000_000 : 1;
const beganMs = performance.now();
const endMs = beganMs + 1_000 * number(values.seconds ?? "1000000");
const sums: Record<string, number> = {};
let [seeds, failures] = [0, 0];
for (let seed = first; seed < first + runs && failures < most && performance.now() < endMs; seed++) {
  seeds += 1;
  try {
    for (const [name, n] of Object.entries(await run(seed, { force, trace: values.trace })))
      sums[name] = (sums[name] ?? 0) + n;
  } catch (error) {
    failures += 1;
    const forced = force === undefined ? "" : ` --force ${force}`;
    const again = `npm run schedule -- --seed ${seed}${forced}`;
    console.log(`${again}: ${error instanceof Error ? (error.stack ?? error.message) : error}`);
  }
}
const seconds = Math.round((performance.now() - beganMs) / 100) / 10;
console.log(JSON.stringify({ seeds, failures, ...sums, seconds }));
process.exitCode = failures > 0 ? 1 : 0;
