/** `npm run model`: random runs of the model of the log and its readers, test/model. */
import { runMany } from "../test/model/many.ts";
import { MUTANTS, type Mutant } from "../test/model/mutants.ts";
import { FORCES, type Force, type Options } from "../test/model/world.ts";
import { argumentsOf } from "./command.ts";

const USAGE = `usage: npm run model [-- [<runs> [<first seed> [<mutant>]]]]
       npm run model -- find [<runs> [<mutants>]]

Random runs of the model of the log and its readers (1000, from seed 1). With a mutant, they run
without the rule that it leaves out; find shows the first seed that finds each mutant.
  npm run model -- 1000 1 noDedupe
  npm run model -- find 1000 noAlarm,noDedupe

FORCE=long,keyed makes rare things common: the runs do this, and nothing else of ODDS in
test/model/world.ts. TRACE=<word> prints each line of a run that has the word; TRACE= all.`;

/** Failures that a run without a mutant prints before it ends. */
const MOST = 8;

const { FORCE, TRACE: trace } = process.env;

function number(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${text} is no number of runs, and no seed`);
  return value;
}
function mutantOf(name: string): Mutant {
  if (!(name in MUTANTS)) throw new RangeError(`there is no mutant ${name}`);
  return name as Mutant;
}
function forceOf(word: string): Force {
  const found = FORCES.find((each) => each === word);
  if (found === undefined) throw new RangeError(`FORCE=${word}: one of ${FORCES.join(", ")}`);
  return found;
}

const options: Options = { force: FORCE?.split(",").map(forceOf), trace };
const [what = "1000", ...rest] = argumentsOf(USAGE, {}, true).positionals;
if (what === "find") {
  const [runs = "1000", names] = rest;
  for (const name of names?.split(",") ?? Object.keys(MUTANTS)) {
    const { failures } = runMany({ first: 1, runs: number(runs) }, { ...options, mutant: mutantOf(name) });
    console.log(`${name}: ${failures.map(({ seed, what }) => `${seed} ${what}`)[0] ?? `not found in ${runs} runs`}`);
  }
} else {
  const [first = "1", name] = rest;
  const mutant = name === undefined ? undefined : mutantOf(name);
  const began = Date.now();
  const { failures, sums } = runMany({ first: number(first), runs: number(what) }, { ...options, mutant }, MOST);
  for (const failure of failures) console.log(`seed ${failure.seed}: ${failure.what}`);
  console.log(JSON.stringify({ failures: failures.length, ...sums, seconds: (Date.now() - began) / 1000 }));
  if (failures.length > 0) process.exitCode = 1;
}
