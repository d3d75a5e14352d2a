/**
 * Changes one place of the code at a time and looks whether a test notices:
 * `npm run mutants -- --seed 1 --each 20`. The places are drawn by the seed, so that a run can be
 * repeated. Works in a copy of the checkout and changes nothing here.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

/** Folders of src that are mutated, each with the folders of tests that see to it. */
const ROOMS: Record<string, { src: string[]; tests: string[] }> = {
  record: { src: ["record"], tests: ["test/record"] },
  intake: { src: ["intake", "queue"], tests: ["test/intake", "test/queue", "test/api/events.test.ts"] },
  pipeline: {
    src: ["pipeline", "set-aside"],
    tests: ["test/pipeline", "test/set-aside", "test/api/set-aside.test.ts", "test/faults/set-aside.test.ts"],
  },
  delivery: {
    src: ["delivery", "object"],
    tests: ["test/object", "test/delivery", "test/destinations/keys.property.test.ts", "test/pipeline/consume.test.ts"],
  },
};

/** What is put in place of what. A statement that stands alone on its line is left out. */
const CHANGES: readonly (readonly [RegExp, string])[] = [
  [/ < /, " <= "],
  [/ <= /, " < "],
  [/ > /, " >= "],
  [/ >= /, " > "],
  [/ === /, " !== "],
  [/ !== /, " === "],
  [/ && /, " || "],
  [/ \|\| /, " && "],
  [/ \+ /, " - "],
  [/ - /, " + "],
  [/ \+= /, " -= "],
  [/\btrue\b/, "false"],
  [/\bfalse\b/, "true"],
  [/\bMath\.max\b/, "Math.min"],
  [/\bMath\.min\b/, "Math.max"],
  [/\((!)(?=[\w#])/, "("],
  [/^\s*(await )?[\w#.]+\(.*\);$/, ""],
  [/ \?\? /, " && "],
];

interface Mutant {
  room: string;
  file: string;
  line: number;
  from: string;
  to: string;
}

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    each: { type: "string", default: "20" },
    room: { type: "string" },
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

function mutantsOf(room: string, folders: readonly string[]): Mutant[] {
  return folders.flatMap((folder) => {
    const names = readdirSync(join("src", folder), { recursive: true, encoding: "utf8" });
    return names
      .filter((name) => name.endsWith(".ts"))
      .sort()
      .flatMap((name) => {
        const file = join("src", folder, name);
        return readFileSync(file, "utf8")
          .split("\n")
          .flatMap((from, line) => changesOf(from).map((to) => ({ room, file, line, from, to })));
      });
  });
}

/**
 * Comments, imports, log lines and lines with texts or types stay: a change there is no fault of
 * the program.
 */
function changesOf(line: string): string[] {
  if (/^\s*(\*|\/\/|\/\*|import |export (type|interface)|type )|["'`]|\blog\.|=> (void|Promise)/.test(line)) return [];
  return CHANGES.flatMap(([from, to]) => (from.test(line) ? [line.replace(from, to)] : []));
}

const ROOT = process.cwd();
const copy = mkdtempSync(join(tmpdir(), "mutants-"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
for (const name of readdirSync(ROOT)) {
  if (name === "node_modules") symlinkSync(join(ROOT, name), join(copy, name));
  else if (name !== ".git" && name !== ".wrangler") cpSync(join(ROOT, name), join(copy, name), { recursive: true });
}

/** Five minutes: a change that makes a test hang is noticed, too. */
const TEST_MS = 300_000;

function isNoticed({ file, line, to, room }: Mutant): boolean {
  const path = join(copy, file);
  const before = readFileSync(path, "utf8");
  const lines = before.split("\n");
  lines[line] = to;
  writeFileSync(path, lines.join("\n"));
  const tests = (ROOMS[room]?.tests ?? []).filter((name) => existing(name));
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const { status } = spawnSync(process.execPath, [vitest, "run", "--bail=1", "--reporter=dot", ...tests], {
    cwd: copy,
    stdio: "ignore",
    timeout: TEST_MS,
    killSignal: "SIGTERM",
  });
  writeFileSync(path, before);
  return status !== 0;
}

function existing(path: string): boolean {
  return path.endsWith(".ts") ? true : readdirSync(join(ROOT, "test")).includes(path.replace("test/", ""));
}

let all = 0;
let noticed = 0;
for (const [room, { src }] of Object.entries(ROOMS)) {
  if (values.room !== undefined && values.room !== room) continue;
  const random = randomOf(seed);
  const folders = src.filter((folder) => readdirSync("src").includes(folder));
  const places = mutantsOf(room, folders);
  let here = 0;
  const drawn = Array.from({ length: Math.min(Number(values.each), places.length) }, () => {
    const [place] = places.splice(Math.floor(random() * places.length), 1);
    return place as Mutant;
  });
  for (const mutant of drawn) {
    const seen = isNoticed(mutant);
    here += seen ? 1 : 0;
    console.log(
      `${seen ? "noticed " : "SURVIVED"} ${mutant.file}:${mutant.line + 1} ${mutant.from.trim()} -> ${mutant.to.trim() || "(left out)"}`,
    );
  }
  console.log(`${room}: ${here} of ${drawn.length} noticed (${places.length + drawn.length} places, seed ${seed})`);
  all += drawn.length;
  noticed += here;
}
console.log(`${noticed} of ${all} noticed`);
