/**
 * `npm run attach`: adds logship to Workers' project files as their tail consumer, or removes
 * it. See docs/attach.md.
 *
 *     npm run attach -- ../shop           the project file of that folder, at every place it needs
 *     npm run attach -- ../shop/wrangler.toml --env production
 *     npm run attach -- --all ..          every project below a folder, after one question
 *     npm run attach -- ../shop --local   builds and runs it here, beside `npm start`
 */
import { resolve } from "node:path";
import { ask, command, isTerminal, UsageFault } from "./command.ts";
import { SHIPPER_CONFIG, userFolder } from "./paths.ts";
import { attachAll, changedLines, deployLines, prepare, stepLines, write } from "./project-files/attaching.ts";
import { isScriptName, serviceName, shownPath } from "./project-files/command-line.ts";
import { fileInFolder, kindOf } from "./project-files/files.ts";
import { ProjectFault } from "./project-files/model.ts";
import type { Wish } from "./project-files/plan.ts";
import { attachLocally } from "./servers/attached-worker.ts";

const USAGE = `usage: npm run attach -- <project file or its folder> [--env <name>] [--previews] [--detach] [--dry-run] [--service <name>]
       npm run attach -- --all <folder> [--detach] [--dry-run] [--yes] [--service <name>]
       npm run attach -- <project file or its folder> --local [--env <name>] [--service <name>]

  --all             every project below the folder: shows what would change, and asks once
--yes             with --all: writes without asking
--env <name>      only this environment; "" is the top level
--previews        only previews: wrangler gives them no consumer of their Worker
--detach          removes the consumer; without --env, everywhere in the file
--local           builds and runs the Worker here, attached to the running npm start; writes nothing
  --dry-run         shows what would change, and writes nothing
--service <name>  logship's name, if it is not the one in its wrangler.jsonc`;

const OPTIONS = {
  all: { type: "boolean", default: false },
  local: { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
  env: { type: "string" },
  previews: { type: "boolean", default: false },
  detach: { type: "boolean", default: false },
  "dry-run": { type: "boolean", default: false },
  service: { type: "string" },
} as const;

await command(USAGE, OPTIONS, async ({ values, positionals: [given, ...more] }) => {
  const from = userFolder(process.env);
  const isDry = values["dry-run"];
  if (given === undefined || more.length > 0)
    throw new UsageFault(values.all ? "one folder is expected" : "one project at a time; for several: --all <folder>");
  if (values.service !== undefined && !isScriptName(values.service))
    throw new UsageFault("--service: not a valid Worker name");
  if (values.all && (values.env !== undefined || values.previews))
    throw new UsageFault(`--${values.previews ? "previews" : "env"} is only for a single project file, not for --all`);
  if (values.yes && !values.all)
    throw new UsageFault("--yes is only for --all: a single project file is written without asking");
  const other = (["all", "detach", "dry-run", "previews"] as const).find((name) => values[name]);
  if (values.local && other !== undefined) throw new UsageFault(`--local changes no file, so it takes no --${other}`);
  let shown = shownPath(resolve(from, given), from);
  try {
    const wish: Wish = {
      service: values.service ?? serviceName(SHIPPER_CONFIG),
      place: values.env === undefined ? undefined : values.env || null,
      previewsOnly: values.previews,
      detach: values.detach,
    };
    if (values.all)
      return await attachAll({
        ...{ folder: resolve(from, given), from, shipper: SHIPPER_CONFIG, wish, say: console.log },
        mode: isDry ? "dry" : values.yes ? "write" : "ask",
        // Yes only for a plain yes.
        ask: isTerminal ? async (question) => /^y(es)?$/i.test(await ask(question)) : null,
      });
    const path = projectFile(resolve(from, given), from);
    shown = shownPath(path, from);
    if (values.local) return await attachLocally({ path, place: wish.place ?? null, service: wish.service });
    one(path, from, wish, isDry);
    return 0;
  } catch (error) {
    if (!(error instanceof ProjectFault)) throw error;
    console.error(`${shown}: ${error.message}`);
    return 1;
  }
});

function projectFile(path: string, from: string): string {
  if (kindOf(path) !== "folder") return path;
  const found = fileInFolder(path);
  if (found === null) throw new ProjectFault("there is no wrangler.json, wrangler.jsonc or wrangler.toml in it");
  for (const ignored of found.ignored) {
    console.log(`${shownPath(ignored, from)} is ignored: wrangler uses ${shownPath(found.path, from)}`);
  }
  return found.path;
}

function one(path: string, from: string, wish: Wish, isDry: boolean): void {
  const attaching = prepare(path, { from, shipper: SHIPPER_CONFIG }, wish);
  const { shown, changes } = attaching;
  if (changes.length > 0 && !isDry) write(attaching);
  const head = `${shown}, consumer "${wish.service}"`;
  console.log([isDry ? `${head}: dry run` : head, ...stepLines(attaching, from)].join("\n"));
  const { why, commands } = deployLines(attaching);
  if (changes.length === 0) console.log("\nNothing to do.");
  else if (isDry) console.log(`\n${changedLines(attaching).join("\n")}\n\nNothing was written.`);
  else console.log(`\n${[why, ...commands].join("\n")}`);
}
