import { relative } from "node:path";
import { checkProjects } from "../../../tools/project-files/check.ts";
import { findProjects } from "../../../tools/project-files/find.ts";
import { projectLines, sumUp } from "../../../tools/project-files/report.ts";
import { folderOf } from "./temporary.ts";

/** Checks a folder with these files, by their paths, as `npm run doctor` does. */
export function check(files: Record<string, string>) {
  const folder = folderOf(files);
  const { found, faults } = findProjects(folder);
  const result = checkProjects(found, "logship", (path) => relative(folder, path));
  return {
    ...result,
    faults,
    text: result.reports.flatMap(projectLines).join("\n"),
    sum: sumUp(result, faults.length),
  };
}
