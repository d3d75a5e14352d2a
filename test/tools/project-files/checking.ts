import { relative } from "node:path";
import { ROOT } from "../../../tools/paths.ts";
import { checkProjects, projectLines, sumUp } from "../../../tools/project-files/check.ts";
import { attachCommand } from "../../../tools/project-files/command-line.ts";
import { findProjects } from "../../../tools/project-files/find.ts";
import { folderOf } from "./temporary.ts";

/** Checks a folder with these files, by their paths, as `npm run doctor` does. */
export function check(files: Record<string, string>) {
  const folder = folderOf(files);
  const { found, unnamed, faults } = findProjects(folder);
  const result = checkProjects(found, "logship", (path) => relative(folder, path));
  return {
    ...result,
    faults,
    unnamed: unnamed.map((path) => relative(folder, path)),
    text: result.reports.flatMap((report) => projectLines(report, attachCommand(ROOT, ROOT, undefined))).join("\n"),
    sum: sumUp(result, faults.length),
  };
}
