/** Attaches, or detaches, every project below a folder: one diff, one question, then all. */
import {
  type Attaching,
  changedLines,
  deployLines,
  isShipper,
  prepare,
  type Setting,
  stepLines,
  write,
} from "./attaching.ts";
import { shownPath } from "./command-line.ts";
import { readProjectFile } from "./files.ts";
import { findProjects } from "./find.ts";
import { NotMeantFault, ProjectFault } from "./model.ts";
import type { Wish } from "./plan.ts";
import { nuxtNote, unnamedNote } from "./report.ts";

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
