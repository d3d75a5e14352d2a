/**
 * `npm run doctor`: reads project files before they are deployed, and lists those whose events
 * would not reach logship. See docs/attach.md.
 *
 *     npm run doctor -- ../shop ../billing/wrangler.toml
 *     npm run doctor -- ..                               every project below
 *     npm run doctor -- --account                        every Worker of the account, as deployed
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { survey, surveyLines } from "./account/survey.ts";
import { command, UsageFault } from "./command.ts";
import { ROOT, SHIPPER_CONFIG, userFolder } from "./paths.ts";
import { checkProjects, nuxtNote, projectLines, sumUp, unnamedNote } from "./project-files/check.ts";
import { attachCommand, isScriptName, serviceName, shownPath } from "./project-files/command-line.ts";
import { findProjects } from "./project-files/find.ts";
import { ProjectFault } from "./project-files/model.ts";
import { askedAccount, outside, run } from "./setup/command.ts";
import { Platform } from "./setup/platform.ts";
import { accountOf, readProject } from "./setup/project.ts";
import { chooseAccount } from "./setup/run.ts";

const USAGE = `usage: npm run doctor -- <project files or folders…> [--service <name>]
       npm run doctor -- --account [<account id>] [--except <Worker>]… [--service <name>]

--account         asks Cloudflare: every Worker of the account, its previews, and user Workers
--except <name>   with --account: this Worker is not meant to ship
--service <name>  logship's name, if it is not the one in its wrangler.jsonc`;

const OPTIONS = {
  account: { type: "boolean", default: false },
  except: { type: "string", multiple: true, default: [] as string[] },
  service: { type: "string" },
} as const;

await command(USAGE, OPTIONS, ({ values, positionals }) => {
  const from = userFolder(process.env);
  const [given, ...more] = positionals;
  if (values.account && more.length > 0) throw new UsageFault("one account at a time");
  if (!values.account && values.except.length > 0) throw new UsageFault("--except is only for --account");
  if (!values.account && positionals.length === 0) throw new UsageFault("at least one path is expected");
  if (values.service !== undefined && !isScriptName(values.service))
    throw new UsageFault("--service: not a valid Worker name");
  if (values.account) return ofAccount(askedAccount(given, []), values.service, values.except);
  let service: string;
  try {
    service = values.service ?? serviceName(SHIPPER_CONFIG);
  } catch (error) {
    if (!(error instanceof ProjectFault)) throw error;
    console.error(`${error.message}: --service sets logship's name`);
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

function ofAccount(asked: string | null, named: string | undefined, except: readonly string[]): Promise<number> {
  return run(async () => {
    const all = await outside(undefined, false);
    const project = readProject(readFileSync(all.config, "utf8"));
    const platform = new Platform(all);
    // Any account may be looked at, whatever this checkout deploys to.
    const account = await chooseAccount(platform, asked === null ? accountOf(project) : null, asked, all.ask);
    platform.account = account;
    const service = named ?? project.name;
    console.log(`The account ${account}, consumer "${service}":\n`);
    const { lines, isGood } = surveyLines(await survey({ platform, account, service, except }));
    console.log(lines.join("\n"));
    return isGood ? 0 : 1;
  });
}
