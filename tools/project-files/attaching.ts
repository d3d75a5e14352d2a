/** What attaching changes in one project file, before anything is written. */
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { shellWord, shownPath } from "./command-line.ts";
import { diffLines } from "./diff.ts";
import { edit } from "./edit.ts";
import { builtMain, isBuilt, type ProjectFile, readProjectFile, writeProjectFile } from "./files.ts";
import { shadowOf } from "./find.ts";
import { ProjectFault, placeName } from "./model.ts";
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

/** The user's folder, and the shipper's own project file, which must not be attached. */
export interface Setting {
  readonly from: string;
  readonly shipper: string;
}

/** Whether it is the shipper's project file, under whatever path. */
export function isShipper(file: ProjectFile, { shipper }: Setting): boolean {
  return file.realPath === realpathSync(shipper);
}

/** @throws ProjectFault if it cannot be done. */
export function prepare(path: string, setting: Setting, wish: Wish): Attaching {
  const file = readProjectFile(path);
  // Under any name of its environments.
  if (!wish.detach && isShipper(file, setting))
    throw new ProjectFault("this is the shipper's own project file: the shipper must not consume its own events");
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
    ...steps.map(({ place, words }) => `  ${plain(placeName(place))}: ${plain(words)}`),
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
  const commands = changes.map(({ place }) => {
    // With environments, wrangler needs --env="" for the top level.
    const target = place === null ? (steps.length > 1 ? ' --env ""' : "") : ` --env ${shellWord(place)}`;
    return `  npx wrangler deploy${config}${target}`;
  });
  return { why, commands };
}
