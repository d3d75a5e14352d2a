/** Finds the project files of a set of paths. */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { FILE_NAMES, fileInFolder, kindOf } from "./files.ts";

/** How far a search goes, so that one of a whole disk ends. */
const DEPTH_MAX = 16;
const FOLDERS_MAX = 20_000;

const SKIPPED = new Set(["node_modules", "dist"]);

export interface Found {
  readonly path: string;
  /** Others in its folder, which the platform's tool does not look at. */
  readonly ignored: readonly string[];
  /** One in a folder above that the tool takes instead of this one, unless it is told which. */
  readonly shadowedBy: string | null;
}

export interface Search {
  readonly found: readonly Found[];
  /** What could not be searched, with the reason. */
  readonly faults: readonly { readonly path: string; readonly words: string }[];
}

/** @param path of a project file, or a folder that is searched with all below it; links are not followed, nor what is built or installed. */
export function findProjects(path: string): Search {
  const kind = kindOf(path);
  if (kind === null) return { found: [], faults: [{ path, words: "there is no such file" }] };
  if (kind !== "folder") return { found: [{ path, ignored: [], shadowedBy: null }], faults: [] };
  const found: Found[] = [];
  const faults: { path: string; words: string }[] = [];
  let queue = [path];
  let folders = 0;
  for (let depth = 0; queue.length > 0; depth++) {
    const next: string[] = [];
    for (const folder of queue) {
      if (depth > DEPTH_MAX || folders >= FOLDERS_MAX) {
        faults.push({ path: folder, words: "not searched: too many folders, or too deep; name it, or one below it" });
        return { found, faults };
      }
      folders += 1;
      const own = fileInFolder(folder);
      if (own !== null) found.push({ ...own, shadowedBy: shadowOf(own.path) });
      try {
        next.push(...subfoldersOf(folder));
      } catch {
        faults.push({ path: folder, words: "a folder that cannot be read" });
      }
    }
    queue = next;
  }
  if (found.length === 0 && faults.length === 0)
    faults.push({ path, words: `found no ${FILE_NAMES.join(", ")} in it` });
  return { found, faults };
}

function subfoldersOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && !SKIPPED.has(entry.name))
    .map(({ name }) => join(folder, name))
    .toSorted();
}

/** The tool looks for each name in all folders above before it looks for the next name. */
function shadowOf(path: string): string | null {
  const names = FILE_NAMES.slice(
    0,
    FILE_NAMES.findIndex((name) => path.endsWith(name)),
  );
  for (const name of names) {
    for (let folder = dirname(dirname(path)); ; folder = dirname(folder)) {
      const above = join(folder, name);
      if (kindOf(above) === "file") return above;
      if (dirname(folder) === folder) break;
    }
  }
  return null;
}
