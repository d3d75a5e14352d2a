/** Finds the project files of a set of paths. */
import { type Dirent, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { FILE_NAMES, fileInFolder, isGenerated, kindOf } from "./files.ts";

/** Bounds, so that a search of a whole disk ends. */
const DEPTH_MAX = 16;
const FOLDERS_MAX = 20_000;

const SKIPPED = new Set(["node_modules", "dist"]);

export interface Found {
  readonly path: string;
  /** Others in its folder, which wrangler ignores. */
  readonly ignored: readonly string[];
  /** One in its folder, or above, that wrangler takes instead of this one, without --config. */
  readonly shadowedBy: string | null;
}

export interface Search {
  readonly found: readonly Found[];
  /** Files such as `wrangler.staging.toml`, for which wrangler does not look. */
  readonly unnamed: readonly string[];
  /** Folders of Nuxt without a project file: a build writes it. */
  readonly nuxt: readonly string[];
  /** Paths that could not be searched, with the reason. */
  readonly faults: readonly { readonly path: string; readonly words: string }[];
}

/**
 * @param path of a project file, or of a folder that is searched with all below it. Links are not
 *   followed; built and installed files are skipped.
 */
export function findProjects(path: string): Search {
  const kind = kindOf(path);
  if (kind === null) return { found: [], unnamed: [], nuxt: [], faults: [{ path, words: "there is no such file" }] };
  if (kind !== "folder")
    return { found: [{ path, ignored: [], shadowedBy: shadowOf(path) }], unnamed: [], nuxt: [], faults: [] };
  const found: Found[] = [];
  const unnamed: string[] = [];
  const nuxt: string[] = [];
  const faults: { path: string; words: string }[] = [];
  let queue = [path];
  let folders = 0;
  for (let depth = 0; queue.length > 0; depth++) {
    const next: string[] = [];
    for (const folder of queue) {
      if (depth > DEPTH_MAX || folders >= FOLDERS_MAX) {
        faults.push({
          path: folder,
          words: "not searched: it has too many folders, or too deep ones; name it, or a folder below it",
        });
        return { found, unnamed, nuxt, faults };
      }
      folders += 1;
      const own = fileInFolder(folder);
      if (own !== null && !isGenerated(own.path)) found.push({ ...own, shadowedBy: shadowOf(own.path) });
      try {
        const entries = readdirSync(folder, { withFileTypes: true });
        next.push(...subfoldersOf(folder, entries));
        unnamed.push(...unnamedOf(folder, entries));
        if (own === null && entries.some(({ name }) => /^nuxt\.config\.[cm]?[jt]s$/.test(name))) nuxt.push(folder);
      } catch {
        faults.push({ path: folder, words: "this folder cannot be read" });
      }
    }
    queue = next;
  }
  if (found.length === 0 && nuxt.length === 0 && faults.length === 0)
    faults.push({ path, words: `it has no ${FILE_NAMES.join(", ")}` });
  return { found, unnamed, nuxt, faults };
}

function unnamedOf(folder: string, entries: readonly Dirent[]): string[] {
  return entries
    .filter((entry) => !entry.isDirectory() && /^wrangler[._-].+\.(?:jsonc?|toml)$/.test(entry.name))
    .map(({ name }) => join(folder, name))
    .toSorted();
}

function subfoldersOf(folder: string, entries: readonly Dirent[]): string[] {
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && !SKIPPED.has(entry.name))
    .map(({ name }) => join(folder, name))
    .toSorted();
}

/** Wrangler looks for each name in all folders above before it looks for the next name. */
export function shadowOf(path: string): string | null {
  const names = FILE_NAMES.slice(0, Math.max(0, (FILE_NAMES as readonly string[]).indexOf(basename(path))));
  for (const name of names) {
    for (let folder = dirname(path); ; folder = dirname(folder)) {
      const above = join(folder, name);
      if (kindOf(above) === "file") return above;
      if (dirname(folder) === folder) break;
    }
  }
  return null;
}
