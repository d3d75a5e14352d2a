/**
 * Changes one place of the code at a time and looks whether a test notices:
 * `npm run mutants -- --seed 1 --each 20`. The places are drawn by the seed, so that a run can be
 * repeated. Works in a copy of the checkout and changes nothing here. `--list` only shows what is
 * drawn.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { WHOLE_MATRIX_VARIABLE } from "../test/support/matrix-settings.ts";
import { type Change, changed, changesOf } from "./mutants/changes.ts";

interface Room {
  /** Folders of src that are changed. */
  src: readonly string[];
  /** Files and folders of tests that see to them. */
  tests: readonly string[];
  /** Tests that take longer: they run where the others have noticed nothing. */
  slow: readonly string[];
}

const ROOMS: Readonly<Record<string, Room>> = {
  record: { src: ["formats/record"], tests: ["test/formats/record"], slow: [] },
  intake: {
    src: ["ship/intake", "formats/queue"],
    tests: ["test/ship/intake", "test/formats/queue", "test/web/api/events.test.ts"],
    slow: [],
  },
  pipeline: {
    src: ["ship/consumer", "ship/set-aside"],
    tests: ["test/ship/consumer", "test/ship/set-aside", "test/web/api/set-aside.test.ts"],
    slow: ["test/faults/set-aside.test.ts"],
  },
  reader: {
    src: ["ship/reader", "formats/object"],
    tests: [
      "test/formats/object",
      "test/ship/reader",
      "test/formats/object/keys.property.test.ts",
      "test/ship/consumer/consume.test.ts",
    ],
    slow: ["test/ship/set-aside/objects.test.ts", "test/operate/replay/replay.test.ts", "test/faults/segments.test.ts"],
  },
};

interface Mutant {
  file: string;
  change: Change;
}

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    each: { type: "string", default: "20" },
    room: { type: "string" },
    list: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);

/** Mulberry32: a small generator whose whole state is one 32-bit number. */
function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function mutantsOf(folder: string): Mutant[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .flatMap((name) => {
      const file = join(folder, name);
      return changesOf(readFileSync(file, "utf8")).map((change) => ({ file, change }));
    });
}

/** Takes up to `count` of the places, and leaves the others. */
function draw(places: Mutant[], count: number): Mutant[] {
  const random = randomOf(seed);
  return Array.from({ length: Math.min(count, places.length) }, () => {
    const [place] = places.splice(Math.floor(random() * places.length), 1);
    return place as Mutant;
  });
}

/** Where it is, and its line before and after. */
function textOf({ file, change }: Mutant): string {
  const source = readFileSync(file, "utf8");
  const start = source.lastIndexOf("\n", change.start - 1) + 1;
  const end = source.indexOf("\n", change.end);
  const line = source.slice(0, change.start).split("\n").length;
  const before = source.slice(start, end);
  const after = changed(before, { start: change.start - start, end: change.end - start, to: change.to });
  const short = (text: string): string => text.trim().replaceAll(/\s+/g, " ");
  return `${file}:${line} ${short(before)} -> ${change.to === ";" ? "(left out)" : short(after)}`;
}

const ROOT = process.cwd();
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");

function copied(): string {
  const copy = mkdtempSync(join(tmpdir(), "mutants-"));
  process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
  for (const name of readdirSync(ROOT)) {
    if (name === "node_modules") symlinkSync(join(ROOT, name), join(copy, name));
    else if (name !== ".git" && name !== ".wrangler") cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  }
  return copy;
}

/** How long tests may take that have no mutant to meet. */
const WHOLE_MS = 900_000;

/** How many times as long they may take with one: it may never end. */
const PATIENCE = 5;

type End = "passed" | "failed" | "hung";

/** Runs tests in a copy, up to the first that fails. */
function run(copy: string, tests: readonly string[], patienceMs: number): End {
  const { status, error } = spawnSync(
    process.execPath,
    [VITEST, "run", "--bail=1", "--maxWorkers=1", "--reporter=dot", ...tests],
    {
      cwd: copy,
      env: { ...process.env, [WHOLE_MATRIX_VARIABLE]: "1" },
      stdio: "ignore",
      timeout: patienceMs,
      killSignal: "SIGTERM",
    },
  );
  if (status === 0) return "passed";
  return error !== undefined && "code" in error && error.code === "ETIMEDOUT" ? "hung" : "failed";
}

interface Tests {
  names: readonly string[];
  patienceMs: number;
}

/** Tests that are there, and pass, with the time that they may take; the slow ones last. */
function testsOf({ tests, slow }: Room, copy: string): Tests[] {
  return [tests, slow]
    .map((names) => names.filter((name) => existsSync(name)))
    .filter((names) => names.length > 0)
    .map((names) => {
      const startMs = Date.now();
      if (run(copy, names, WHOLE_MS) !== "passed")
        throw new Error(`without any change, these tests fail: ${names.join(" ")}`);
      return { names, patienceMs: PATIENCE * (Date.now() - startMs) };
    });
}

/** Files of tests that are named after a file of src: they run first. */
function namedAfter(file: string, { tests }: Room): string[] {
  const name = basename(file, ".ts");
  return tests
    .filter((folder) => existsSync(folder) && !folder.endsWith(".ts"))
    .flatMap((folder) => readdirSync(folder).map((test) => join(folder, test)))
    .filter((test) => test.endsWith(".test.ts") && basename(test).split(".")[0] === name);
}

/** How tests with a mutant end. One that hangs is noticed, too. */
function endOf({ file, change }: Mutant, copy: string, room: Room, tests: readonly Tests[]): End {
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  const first = namedAfter(file, room);
  const patienceMs = tests[0]?.patienceMs ?? WHOLE_MS;
  writeFileSync(path, changed(source, change));
  try {
    for (const each of first.length > 0 ? [{ names: first, patienceMs }, ...tests] : tests) {
      const end = run(copy, each.names, each.patienceMs);
      if (end !== "passed") return end;
    }
    return "passed";
  } finally {
    writeFileSync(path, source);
  }
}

const WORDS: Readonly<Record<End, string>> = { passed: "SURVIVED", failed: "noticed ", hung: "hung    " };

const copy = values.list ? "" : copied();
let all = 0;
let noticed = 0;
for (const [name, room] of Object.entries(ROOMS)) {
  if (values.room !== undefined && values.room !== name) continue;
  const folders = room.src.map((folder) => join("src", folder));
  const places = folders.flatMap(mutantsOf);
  const count = places.length;
  const drawn = draw(places, Number(values.each));
  if (values.list) {
    for (const mutant of drawn) console.log(textOf(mutant));
    continue;
  }
  const tests = testsOf(room, copy);
  let here = 0;
  for (const mutant of drawn) {
    const end = endOf(mutant, copy, room, tests);
    here += end === "passed" ? 0 : 1;
    console.log(`${WORDS[end]} ${textOf(mutant)}`);
  }
  console.log(`${name}: ${here} of ${drawn.length} noticed (${count} places, seed ${seed})`);
  all += drawn.length;
  noticed += here;
}
if (!values.list) console.log(`${noticed} of ${all} noticed`);
