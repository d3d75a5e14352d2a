/** What attaching changes in project files, shown before it is written; one file, or a folder. */
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { nuxtNote, unnamedNote } from "./check.ts";
import { shellWord, shownPath } from "./command-line.ts";
import { diffLines } from "./diff.ts";
import { edit } from "./edit.ts";
import { builtMain, isBuilt, type ProjectFile, readProjectFile, writeProjectFile } from "./files.ts";
import { findProjects, shadowOf } from "./find.ts";
import { NotMeantFault, ProjectFault, spotName } from "./model.ts";
import type { Step, Wish } from "./plan.ts";
import { plain } from "./text.ts";

/** One project file and its changes. */
export interface Attaching {
  readonly path: string;
  /** As the user sees it. */
  readonly shown: string;
  readonly file: ProjectFile;
  readonly steps: readonly Step[];
  /** Those of them that change the file. */
  readonly changes: readonly Step[];
  /** The text after them. */
  readonly text: string;
}

/** The user's folder, and logship's own project file, which must not be attached. */
export interface Setting {
  readonly from: string;
  readonly shipper: string;
}

/** Whether it is logship's project file, under whatever path. */
function isShipper(file: ProjectFile, { shipper }: Setting): boolean {
  return file.realPath === realpathSync(shipper);
}

/** @throws ProjectFault if it cannot be done. */
export function prepare(path: string, setting: Setting, wish: Wish): Attaching {
  const file = readProjectFile(path);
  // Under any name of its environments.
  if (!wish.detach && isShipper(file, setting))
    throw new ProjectFault("this is logship's own project file: it must not consume its own events");
  const { steps, text } = edit(file.text, file.language, wish);
  const changes = steps.filter(({ action }) => action !== "none");
  return { path, shown: shownPath(path, setting.from), file, steps, changes, text };
}

/** @throws ProjectFault if it changed in the meantime, or cannot be written. */
export function write({ file, text }: Attaching): void {
  writeProjectFile(file, text);
}

/** What is done at each place, and why. */
export function stepLines({ path, steps }: Attaching, from: string): string[] {
  const shadow = shadowOf(path);
  return [
    ...steps.map((step) => `  ${plain(spotName(step))}: ${plain(step.words)}`),
    ...(shadow === null
      ? []
      : [`  but wrangler uses ${shownPath(shadow, from)} instead, unless --config names this file`]),
  ];
}

export function changedLines({ file, text }: Attaching): string[] {
  return diffLines(file.text, text);
}

/** How to deploy what was changed, for each place, with the reason where that is not plain. */
export function deployLines({ path, shown, text, steps, changes }: Attaching): { why: string; commands: string[] } {
  const built = isBuilt(path);
  const made = built ? null : builtMain(path, text);
  const folder = dirname(shown) === "." ? "this folder" : dirname(shown);
  const why = built
    ? `A build generates what is deployed from ${folder}. Build again (with CLOUDFLARE_ENV=<name>, if a build is for one environment), then deploy there:`
    : made !== null
      ? `This takes effect with the next deployment. A build generates ${plain(made)}: build first (OpenNext: npx opennextjs-cloudflare build), then:`
      : "This takes effect with the next deployment:";
  const config = built ? "" : ` --config ${shellWord(shown)}`;
  // With environments, wrangler needs --env="" for the top level.
  const hasEnvironments = steps.some(({ place }) => place !== null);
  const commands = changes.map(({ place, isPreviews }) => {
    const target = place === null ? (hasEnvironments ? ' --env ""' : "") : ` --env ${shellWord(place)}`;
    return `  npx wrangler ${isPreviews ? "preview" : "deploy"}${config}${target}`;
  });
  return { why, commands };
}

export interface AttachAll extends Setting {
  /** The folder that is searched. */
  readonly folder: string;
  readonly wish: Wish;
  /** `dry`: nothing is written. `ask`: as the answer to the question says. */
  readonly mode: "dry" | "ask" | "write";
  /** null: nothing can be asked here. */
  readonly ask: ((question: string) => Promise<boolean>) | null;
  readonly say: (line: string) => void;
}

/**
 * @returns the exit code: 0 if all that can be attached is as it was wished; 1 if some of it could
 *   not be read or changed, or nothing was written for want of an answer.
 */
export async function attachAll({ folder, wish, mode, ask, say, ...setting }: AttachAll): Promise<0 | 1> {
  const { from } = setting;
  const { found, unnamed, nuxt, faults } = findProjects(folder);
  const show = (path: string): string => shownPath(path, from);
  const all: Attaching[] = [];
  const left = faults.map(({ path, words }) => `${show(path)}: ${words}`);
  let failures = left.length;
  const seen = new Set<string>();
  for (const { path } of found) {
    try {
      const file = readProjectFile(path);
      // By a link it is found a second time.
      if (seen.has(file.realPath) || isShipper(file, setting)) continue;
      seen.add(file.realPath);
      all.push(prepare(path, setting, wish));
    } catch (error) {
      if (!(error instanceof ProjectFault)) throw error;
      left.push(`${show(path)}: ${error.message}`);
      if (!(error instanceof NotMeantFault)) failures += 1;
    }
  }
  const changed = all.filter(({ changes }) => changes.length > 0);
  for (const each of all) {
    say(`${each.shown}, consumer "${wish.service}"`);
    for (const line of stepLines(each, from)) say(line);
    if (each.changes.length > 0) say(`${changedLines(each).join("\n")}\n`);
  }
  for (const line of left) say(`left alone: ${line}`);
  for (const note of [...unnamedNote(unnamed.map(show)), ...nuxtNote(nuxt.map(show))]) say(`note: ${note}`);
  if (changed.length === 0) {
    say("\nNothing to do.");
    return failures === 0 ? 0 : 1;
  }
  const files = changed.length === 1 ? "1 file" : `${changed.length} files`;
  if (mode === "dry") {
    say(`\n${files} would be changed. Nothing was written.`);
    return failures === 0 ? 0 : 1;
  }
  if (mode === "ask") {
    if (ask === null) {
      say(
        `\n${files} would be changed. Nothing was written: there is no terminal to ask; --yes writes without asking.`,
      );
      return 1;
    }
    if (!(await ask(`\nWrite ${files}? [y/N] `))) {
      say("Nothing was written.");
      return 1;
    }
  }
  const written = changed.filter((each) => {
    try {
      write(each);
      return true;
    } catch (error) {
      if (!(error instanceof ProjectFault)) throw error;
      failures += 1;
      say(`${each.shown}: ${error.message}`);
      return false;
    }
  });
  if (written.length > 0) say(`${written.length === 1 ? "1 file" : `${written.length} files`} written.`);
  const deploys = Map.groupBy(written.map(deployLines), ({ why }) => why);
  for (const [why, each] of deploys) say(`\n${[why, ...each.flatMap(({ commands }) => commands)].join("\n")}`);
  return failures === 0 ? 0 : 1;
}
