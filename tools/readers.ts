/**
 * `npm run readers`: runs the lines of docs/reading.md with every reader that is installed, and
 * compares what they read with what is there.
 *
 *     npm run readers                              a sample of every kind of event
 *     npm run readers -- --dir <folder>            your objects: <folder>/<YYYYMMDD>/*.log.gz
 *     npm run readers -- --python <python>         the Python that has the packages
 *     npm run readers -- jq DuckDB                 these readers
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { ROOT, userFolder } from "./paths.ts";
import { plain } from "./project-files/text.ts";
import { blocksOf, forTabs } from "./readers/blocks.ts";
import { difference, type Row, type Summary, summaryOf } from "./readers/compare.ts";
import { FORMS, type Form, sampleObjects, sampleRecords } from "./readers/sample.ts";
import { type Command, type Reader, readers } from "./readers/ways.ts";

const USAGE = "usage: npm run readers -- [readers…] [--dir <folder>] [--python <python>]";

/** Spark alone takes half a minute to start on a small machine. */
const RUN_MS = 300_000;
/** Of what a reader prints. */
const OUTPUT_MAX_BYTES = 2 ** 30;
const FORM_NAMES: Readonly<Record<Form, string>> = {
  logs: "NDJSON",
  csv: "CSV",
  tab: "tabs",
  parquet: "Parquet",
  parts: "hours",
};

type Printed = { ok: true; text: string } | { ok: false; why: string };

/** Runs a command. It is not ok if it is not there, fails or takes too long. */
function printed({ file, args }: Command, cwd: string): Printed {
  const done = spawnSync(file, args, { cwd, encoding: "utf8", timeout: RUN_MS, maxBuffer: OUTPUT_MAX_BYTES });
  if (done.error !== undefined) return { ok: false, why: done.error.message };
  if (done.status === 0) return { ok: true, text: done.stdout };
  return { ok: false, why: done.stderr.trim().split("\n").at(-1) || `ends with ${done.status ?? done.signal}` };
}

function rowsOf(text: string): Row[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Row);
}

/** What to run, in order: the lines of another form may use the names of the first. */
function blocksFor(reader: Reader, form: Form, page: ReadonlyMap<string, string>): string[] {
  const block = (heading: string): string => {
    const found = page.get(heading);
    if (found === undefined) throw new Error(`docs/reading.md has no line for ${heading}`);
    return found;
  };
  if (form === "parts") return [block(`${reader.name} with partitions`)];
  if (form === "parquet") return [block(`${reader.name} as Parquet`)];
  const first = block(reader.name);
  if (form === "logs") return [first];
  const csv = block(`${reader.name} as CSV`);
  return [first, form === "tab" ? forTabs(csv) : csv];
}

/** @returns `ok`, or how it differs. */
function verdict(reader: Reader, way: Reader["ways"][number], form: Form, setting: Setting): string {
  const rows = printed(way.rows(blocksFor(reader, form, setting.page)), setting.folder);
  if (!rows.ok) return `differs: ${rows.why}`;
  try {
    const differs = difference(
      summaryOf(rowsOf(rows.text), { escaped: form === "csv" || form === "tab" }),
      setting.truth,
    );
    return differs === null ? "ok" : `differs: ${differs}`;
  } catch (error) {
    return `differs: ${error instanceof Error ? error.message : String(error)}`;
  }
}

interface Setting {
  page: ReadonlyMap<string, string>;
  /** Holds a folder for each form, and is where the lines run. */
  folder: string;
  forms: readonly Form[];
  truth: Summary;
}

/** Puts the sample into a folder. @returns what is in it. */
function writeSample(folder: string): Summary {
  const records = sampleRecords();
  for (const form of Object.keys(FORMS) as Form[]) {
    for (const { key, bytes } of sampleObjects(records, form)) {
      const file = join(folder, form, key);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    }
  }
  return summaryOf(records.map((record) => ({ ...record })));
}

/**
 * @returns what Node reads in the objects of a folder.
 * @throws Error if there is none, or one is not NDJSON with all fields.
 */
function readFolder(folder: string): Summary {
  const files = globSync("2*/*.log.gz", { cwd: folder });
  if (files.length === 0) throw new Error(`${folder} has no 2*/*.log.gz`);
  return summaryOf(files.flatMap((file) => rowsOf(gunzipSync(readFileSync(join(folder, file))).toString())));
}

function parse() {
  return parseArgs({
    options: { dir: { type: "string" }, python: { type: "string", default: "python3" } },
    allowPositionals: true,
  });
}

/** @returns the exit code. */
function main(): number {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse();
  } catch (error) {
    console.error(`${plain(error instanceof Error ? error.message : String(error))}\n\n${USAGE}`);
    return 2;
  }
  const { values, positionals } = parsed;
  const from = userFolder(process.env);
  // A name is looked for on the PATH; a path is the user's.
  const python = values.python.includes("/") ? resolve(from, values.python) : values.python;
  const known = readers(python);
  const unknown = positionals.find((name) => known.every((reader) => reader.name !== name));
  if (unknown !== undefined) {
    console.error(`no reader is called ${plain(unknown)}: ${known.map(({ name }) => name).join(", ")}`);
    return 2;
  }
  const chosen = known.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const folder = mkdtempSync(join(tmpdir(), "readers-"));
  try {
    const theirs = values.dir === undefined ? null : resolve(from, values.dir);
    if (theirs !== null) symlinkSync(theirs, join(folder, "logs"));
    const setting: Setting = {
      page: blocksOf(readFileSync(join(ROOT, "docs/reading.md"), "utf8")),
      folder,
      forms: theirs === null ? (Object.keys(FORMS) as Form[]) : ["logs"],
      truth: theirs === null ? writeSample(folder) : readFolder(theirs),
    };
    const kinds = Object.entries(setting.truth.kinds).map(([kind, count]) => `${count} ${plain(kind)}`);
    console.log(`${setting.truth.count} records: ${kinds.join(", ")}\n`);
    return readAll(chosen, setting);
  } catch (error) {
    console.error(plain(error instanceof Error ? error.message : String(error)));
    return 2;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints a line for each reader and form. @returns the exit code. */
function readAll(all: readonly Reader[], setting: Setting): number {
  let differ = 0;
  for (const reader of all) {
    const installed = installedWay(reader, setting.folder);
    for (const form of reader.forms.filter((each) => setting.forms.includes(each))) {
      const says = installed === null ? "absent" : verdict(reader, installed.way, form, setting);
      if (says.startsWith("differs")) differ += 1;
      const version = installed?.version ?? "-";
      const row = [reader.name.padEnd(10), FORM_NAMES[form].padEnd(7), plain(version).padEnd(24), plain(says)];
      console.log(row.join("  "));
    }
  }
  return differ === 0 ? 0 : 1;
}

function installedWay({ ways }: Reader, cwd: string): { way: Reader["ways"][number]; version: string } | null {
  for (const way of ways) {
    const version = printed(way.version, cwd);
    if (version.ok) return { way, version: version.text.trim().split("\n")[0] ?? "" };
  }
  return null;
}

process.exitCode = main();
