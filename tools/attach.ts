/**
 * `npm run attach`: adds the shipper to a Worker's project file as its tail consumer, or removes
 * it. See docs/attach.md.
 *
 *     npm run attach -- ../shop the project file of that folder, wherever logging is on, or at
 *     every place npm run attach -- ../shop/wrangler.toml --env production npm run attach --
 *     ../shop --detach --dry-run shows what would change
 */
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { SHIPPER_CONFIG } from "./paths.ts";
import {
  absolutePath,
  isScriptName,
  serviceName,
  shellWord,
  shownPath,
  userFolder,
} from "./project-files/command-line.ts";
import { diffLines } from "./project-files/diff.ts";
import { edit } from "./project-files/edit.ts";
import { fileInFolder, isBuilt, kindOf, readProjectFile, writeProjectFile } from "./project-files/files.ts";
import { shadowOf } from "./project-files/find.ts";
import { ProjectFault, placeName } from "./project-files/model.ts";
import type { Step } from "./project-files/plan.ts";
import { plain } from "./project-files/text.ts";

const USAGE = `usage: npm run attach -- <project file or its folder> [--env <name>] [--detach] [--dry-run] [--service <name>]

  --env <name>      that environment only; "" is the top level
  --detach          removes the consumer, without --env wherever it stands
  --dry-run         shows what would change, and writes nothing
  --service <name>  the shipper, if it is deployed under another name than that of its wrangler.jsonc`;

const OPTIONS = {
  env: { type: "string" },
  detach: { type: "boolean", default: false },
  "dry-run": { type: "boolean", default: false },
  service: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

function main(): number {
  const from = userFolder(process.env);
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse();
  } catch (error) {
    return usage(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = parsed;
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const [given] = positionals;
  if (given === undefined || positionals.length > 1) return usage("one project file is expected");
  if (values.service !== undefined && !isScriptName(values.service)) return usage("--service: no name of a function");
  let shown = shownPath(absolutePath(given, from), from);
  try {
    const path = projectFile(absolutePath(given, from), from);
    shown = shownPath(path, from);
    run(path, from, values);
    return 0;
  } catch (error) {
    if (!(error instanceof ProjectFault)) throw error;
    console.error(`${shown}: ${error.message}`);
    return 1;
  }
}

function parse() {
  return parseArgs({ options: OPTIONS, allowPositionals: true });
}

function usage(why: string): number {
  console.error(`${plain(why)}\n\n${USAGE}`);
  return 2;
}

function projectFile(path: string, from: string): string {
  if (kindOf(path) !== "folder") return path;
  const found = fileInFolder(path);
  if (found === null) throw new ProjectFault("there is no wrangler.json, wrangler.jsonc or wrangler.toml in it");
  for (const ignored of found.ignored) {
    console.log(`${shownPath(ignored, from)} is ignored, as wrangler does beside ${shownPath(found.path, from)}`);
  }
  return found.path;
}

function run(path: string, from: string, values: ReturnType<typeof parse>["values"]): void {
  const shown = shownPath(path, from);
  const service = values.service ?? serviceName(SHIPPER_CONFIG);
  const file = readProjectFile(path);
  // Under any name of its environments.
  if (!values.detach && file.realPath === realpathSync(SHIPPER_CONFIG)) {
    throw new ProjectFault("the shipper's own project file: it must not consume its own events");
  }
  const place = values.env === undefined ? undefined : values.env || null;
  const { steps, text } = edit(file.text, file.language, { service, place, detach: values.detach });
  const changes = steps.filter(({ action }) => action !== "none");
  const isDry = values["dry-run"];
  if (changes.length > 0 && !isDry) writeProjectFile(file, text);
  const shadow = shadowOf(path);
  console.log(isDry ? `${shown}, consumer "${service}": what would be done` : `${shown}, consumer "${service}"`);
  for (const { place: where, words } of steps) console.log(`  ${plain(placeName(where))}: ${plain(words)}`);
  if (shadow !== null) {
    console.log(`  but wrangler takes ${shownPath(shadow, from)} instead of it, unless --config names it`);
  }
  if (changes.length === 0) console.log("\nNothing to do.");
  else if (isDry) console.log(`\n${diffLines(file.text, text).join("\n")}\n\nNothing was written.`);
  else console.log(`\n${next(path, shown, steps, changes).join("\n")}`);
}

/** What the user has to do next. */
function next(path: string, shown: string, steps: readonly Step[], changes: readonly Step[]): string[] {
  const config = ` --config ${shellWord(shown)}`;
  const built = isBuilt(path);
  const folder = dirname(shown) === "." ? "this folder" : dirname(shown);
  const lines = built
    ? [
        `A build writes what is deployed from ${folder}. Build it again (where it builds for one environment, with CLOUDFLARE_ENV=<name>), then deploy there:`,
      ]
    : ["It counts from the next deployment on:"];
  for (const { place } of changes) {
    // With environments, wrangler needs --env="" for the top level.
    const target = place === null ? (steps.length > 1 ? ' --env ""' : "") : ` --env ${shellWord(place)}`;
    lines.push(`  npx wrangler deploy${built ? "" : config}${target}`);
  }
  return lines;
}

process.exitCode = main();
