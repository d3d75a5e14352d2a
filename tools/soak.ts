/** `npm run soak`: random faults in simulated time; see docs/faults.md. */
import { randomInt } from "node:crypto";
import * as z from "zod";
import { SOAK_VARIABLE, type SoakSettings } from "../test/support/soak-settings.ts";
import { argumentsOf } from "./command.ts";
import { faultTable } from "./faults/fault-report.ts";
import { exitOnSignals, reportFaults } from "./faults/report-faults.ts";

const USAGE = `usage: npm run soak [-- --seed <n>] [--minutes <n>] [--episode <n>]

Random faults in simulated time, each followed by an audit.

  --seed <n>     where it begins (a random one, which is printed)
  --minutes <n>  how long it runs (5)
  --episode <n>  this one alone, as a failure names it`;

/** Episodes per process: the isolates that they create add up. */
const EPISODES_AT_ONCE = 25;

/** In ms. No episode takes this long, and neither does the end after a process's last one. */
const SILENCE_MS = 90_000;
const END_MS = 15_000;

const EPISODE = /^soak: seed \d+, episode (?<number>\d+): (?<summary>\{.*\})$/;
const Summary = z.object({ events: z.number(), faults: z.number(), objects: z.number() });

const { values } = argumentsOf(
  USAGE,
  {
    seed: { type: "string" },
    minutes: { type: "string" },
    episode: { type: "string" },
  },
  false,
);

/** @throws RangeError naming the option. */
function number(name: keyof typeof values, fallback: number, { least = 0, whole = true } = {}): number {
  const given = values[name];
  const value = given === undefined ? fallback : Number(given);
  if (!Number.isFinite(value) || value < least || (whole && !Number.isSafeInteger(value))) {
    throw new RangeError(`--${name}: a ${whole ? "whole " : ""}number of at least ${least}`);
  }
  return value;
}

const seed = number("seed", randomInt(1_000_000));
const minutes = number("minutes", 5, { whole: false });
const only = values.episode === undefined ? null : number("episode", 1, { least: 1 });
console.log(`seed ${seed}, ${only === null ? `${minutes} minutes` : `episode ${only}`}`);
exitOnSignals();

const endMs = Date.now() + minutes * 60_000;
const total = { events: 0, faults: 0, objects: 0 };
let next = only ?? 1;
let done = 0;
let hangs = 0;
let failed = false;
while (!failed && (only === null ? Date.now() < endMs : done === 0 && hangs < 3)) {
  const leftMs = Math.max(endMs - Date.now(), 0);
  const episodes = only === null ? EPISODES_AT_ONCE : 1;
  const settings: SoakSettings = { seed, first: next, episodes, minutes: only === null ? leftMs / 60_000 : 1 };
  const otherLines: string[] = [];
  let ended = false;
  const code = await reportFaults(["--project=runtime", "test/soak/soak.test.ts"], {
    env: { [SOAK_VARIABLE]: JSON.stringify(settings) },
    silenceMs: () => (ended ? END_MS : SILENCE_MS),
    onLine(line) {
      ended ||= line === `soak: seed ${seed}: the end`;
      const { number: at, summary } = EPISODE.exec(line)?.groups ?? {};
      if (at === undefined || summary === undefined) return void otherLines.push(line);
      const { events, faults, objects } = Summary.parse(JSON.parse(summary));
      console.log(line);
      total.events += events;
      total.faults += faults;
      total.objects += objects;
      done += 1;
      next = Number(at) + 1;
    },
  });
  // The test runtime hangs once in some hundred crashes. When all episodes have passed, only its
  // end is missing.
  if (code === "hung" && ended) continue;
  if (code === "hung") {
    // An episode that hangs repeatedly is a fault of this project.
    hangs += 1;
    console.log(`soak: seed ${seed}, episode ${next}: nothing was heard for ${SILENCE_MS / 1_000} s; once more`);
    failed = hangs >= 3;
  } else if (code !== 0) {
    failed = true;
    console.log(otherLines.join("\n"));
  }
}
console.log(`\n${faultTable([{ row: `soak of seed ${seed}, ${done} episodes`, ...total }])}`);
if (hangs > 0) console.log(`${hangs} times the runtime hung, and the episode was begun again`);
console.log(failed ? "\nFAILED" : "\npassed");
process.exitCode = failed || done === 0 ? 1 : 0;
