/**
 * `npm run doctor`: reads project files before they are deployed, and lists those whose events
 * would not reach the shipper. See docs/attach.md.
 *
 *     npm run doctor -- ../shop ../billing/wrangler.toml
 *     npm run doctor -- ..                               every project below
 */
import { resolve } from "node:path";
import { command, UsageFault } from "./command.ts";
import { ROOT, SHIPPER_CONFIG, userFolder } from "./paths.ts";
import { checkProjects, nuxtNote, projectLines, sumUp, unnamedNote } from "./project-files/check.ts";
import { attachCommand, isScriptName, serviceName, shownPath } from "./project-files/command-line.ts";
import { findProjects } from "./project-files/find.ts";
import { ProjectFault } from "./project-files/model.ts";

const USAGE = `usage: npm run doctor -- <project files or folders…> [--service <name>]

--service <name>  the shipper's name, if it is not the one in its wrangler.jsonc`;

await command(USAGE, { service: { type: "string" } }, ({ values, positionals }) => {
  const from = userFolder(process.env);
  if (positionals.length === 0) throw new UsageFault("at least one path is expected");
  if (values.service !== undefined && !isScriptName(values.service))
    throw new UsageFault("--service: not a valid Worker name");
  let service: string;
  try {
    service = values.service ?? serviceName(SHIPPER_CONFIG);
  } catch (error) {
    if (!(error instanceof ProjectFault)) throw error;
    console.error(`${error.message}: --service sets the shipper's name`);
    return 1;
  }
  const show = (path: string) => shownPath(path, from);
  const searches = positionals.map((path) => findProjects(resolve(from, path)));
  const faults = searches.flatMap((search) => search.faults);
  const check = checkProjects(
    searches.flatMap((search) => search.found),
    service,
    show,
  );
  const attach = attachCommand(ROOT, from, values.service);
  for (const report of check.reports) console.log(`${projectLines(report, attach).join("\n")}\n`);
  for (const { path, words } of faults) console.log(`${show(path)}\n  cannot be checked: ${words}\n`);
  const notes = [
    ...check.notes,
    ...unnamedNote(searches.flatMap(({ unnamed }) => unnamed).map(show)),
    ...nuxtNote(searches.flatMap(({ nuxt }) => nuxt).map(show)),
  ];
  for (const note of notes) console.log(`note: ${note}\n`);
  const { lines, isGood } = sumUp(check, faults.length);
  console.log(lines.join("\n"));
  return isGood ? 0 : 1;
});
