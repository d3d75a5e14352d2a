/**
 * `npm run mutants`: changes one place of the code at a time and looks whether a test notices. The
 * places are drawn by the seed, so that a run can be repeated. Works in a copy of the checkout and
 * changes nothing here.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WHOLE_MATRIX_VARIABLE } from "../test/support/matrix-settings.ts";
import { seeded } from "./bench/records.ts";
import { argumentsOf } from "./command.ts";
import { type Change, changed, changesOf } from "./mutants/changes.ts";
import { ROOT } from "./paths.ts";

const USAGE = `usage: npm run mutants [-- <folders…>] [options]

Changes one place of the code at a time, in a copy of the checkout, and looks whether a test
notices: in these folders, or in all of src that test mirrors.
  npm run mutants -- src/ship/log --each 50 --tests test/faults/segments.test.ts

  --seed <n>      draws the places (1)
  --each <n>      so many of each folder (20)
  --tests <file>  runs these tests, too; again for each file
  --list          only shows what is drawn`;

/** How long tests may take that have no mutant to meet. */
const WHOLE_MS = 900_000;

/** How many times as long they may take with one: it may never end. */
const PATIENCE = 5;

type End = "passed" | "failed" | "hung";
const WORDS: Readonly<Record<End, string>> = { passed: "SURVIVED", failed: "noticed ", hung: "hung    " };

interface Mutant {
  file: string;
  change: Change;
}

process.chdir(ROOT);
const { values, positionals } = argumentsOf(
  USAGE,
  {
    seed: { type: "string", default: "1" },
    each: { type: "string", default: "20" },
    tests: { type: "string", multiple: true, default: [] },
    list: { type: "boolean", default: false },
  },
  true,
);

function mutantsOf(folder: string): Mutant[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .flatMap((name) => {
      const file = join(folder, name);
      return changesOf(readFileSync(file, "utf8")).map((change) => ({ file, change }));
    });
}

/** Up to so many of the places. */
function draw(places: readonly Mutant[], count: number): Mutant[] {
  const random = seeded(Number(values.seed));
  const drawn = places.map((place) => ({ place, at: random() })).sort((a, b) => a.at - b.at);
  return drawn.slice(0, count).map(({ place }) => place);
}

/** Where it is, and what becomes of what stands there. */
function textOf({ file, change: { start, end, to } }: Mutant): string {
  const source = readFileSync(file, "utf8");
  const line = source.slice(0, start).split("\n").length;
  const what = `${source.slice(start, end).trim()} -> ${to === ";" ? "(left out)" : to.trim()}`;
  return `${file}:${line} ${source.split("\n")[line - 1]?.trim()} | ${what}`;
}

function copied(): string {
  const copy = mkdtempSync(join(tmpdir(), "mutants-"));
  process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
  for (const name of readdirSync(ROOT)) {
    if (name === "node_modules") symlinkSync(join(ROOT, name), join(copy, name));
    else if (name !== ".git" && name !== ".wrangler") cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  }
  return copy;
}

/** Runs tests in a copy, up to the first that fails. */
function run(copy: string, tests: readonly string[], timeout: number): End {
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const { status, error } = spawnSync(
    process.execPath,
    [vitest, "run", "--bail=1", "--maxWorkers=1", "--reporter=dot", ...tests],
    { cwd: copy, env: { ...process.env, [WHOLE_MATRIX_VARIABLE]: "1" }, stdio: "ignore", timeout },
  );
  if (status === 0) return "passed";
  return error !== undefined && "code" in error && error.code === "ETIMEDOUT" ? "hung" : "failed";
}

/** How tests with a mutant end. One that hangs is noticed, too. */
function endOf({ file, change }: Mutant, copy: string, tests: readonly string[], patienceMs: number): End {
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  writeFileSync(path, changed(source, change));
  const end = run(copy, tests, patienceMs);
  writeFileSync(path, source);
  return end;
}

const testsOf = (folder: string): string => folder.replace(/^src/, "test");
const folders = positionals.length > 0 ? positionals : globSync("src/*/*").filter((each) => existsSync(testsOf(each)));
const copy = values.list ? "" : copied();
for (const folder of folders.sort()) {
  const places = mutantsOf(folder);
  const drawn = draw(places, Number(values.each));
  if (values.list) {
    for (const mutant of drawn) console.log(textOf(mutant));
    continue;
  }
  const tests = [testsOf(folder), ...values.tests];
  const startMs = Date.now();
  if (run(copy, tests, WHOLE_MS) !== "passed") throw new Error(`without any change, tests fail: ${tests.join(" ")}`);
  const patienceMs = PATIENCE * (Date.now() - startMs);
  let noticed = 0;
  for (const mutant of drawn) {
    const end = endOf(mutant, copy, tests, patienceMs);
    noticed += end === "passed" ? 0 : 1;
    console.log(`${WORDS[end]} ${textOf(mutant)}`);
  }
  console.log(`${folder}: ${noticed} of ${drawn.length} noticed (${places.length} places, seed ${values.seed})`);
}
