/** Shared by the commands about project files. */
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { readProjectFile } from "./files.ts";
import { type Json, own, ProjectFault, type Spot } from "./model.ts";
import { plain } from "./text.ts";

/** A path relative to the user's folder. */
export function shownPath(path: string, from: string): string {
  const short = relative(from, path);
  const shown = short === "" ? "." : short.startsWith(join("..", "..", "..", "..")) || isAbsolute(short) ? path : short;
  // A shortened path would be another path.
  return plain(shown, Number.POSITIVE_INFINITY);
}

/** An argument quoted for a shell. */
export function shellWord(word: string): string {
  return /^[\w./@:+-]+$/.test(word) ? word : `'${plain(word, Number.POSITIVE_INFINITY).replaceAll("'", "'\\''")}'`;
}

/**
 * How to call `npm run attach` for a spot of a project.
 * @param root of the package that has the command.
 * @param from the user's folder; npm runs the scripts of the nearest package.
 * @param service as the user named it; undefined: the default.
 */
export function attachCommand(
  root: string,
  from: string,
  service: string | undefined,
): (project: string, spot: Spot) => string {
  const npm = packageFolder(from) === root ? "npm" : `npm --prefix ${shellWord(shownPath(root, from))}`;
  const option = service === undefined ? "" : ` --service ${service}`;
  return (project, { place, isPreviews }) => {
    const spot = `--env ${place === null ? '""' : shellWord(place)}${isPreviews ? " --previews" : ""}`;
    return `${npm} run attach -- ${shellWord(project)} ${spot}${option}`;
  };
}

/** The nearest folder with a package.json, as npm looks for it. */
function packageFolder(from: string): string | null {
  const isPackage = ["package.json", "node_modules"].some((name) => existsSync(join(from, name)));
  if (isPackage) return from;
  return dirname(from) === from ? null : packageFolder(dirname(from));
}

/**
 * The name of a deployment, which other projects name as their consumer.
 * @param config the shipper's own project file.
 * @throws ProjectFault if it has none.
 */
export function serviceName(config: string): string {
  const { text, language } = readProjectFile(config);
  const value: Json = language.parse(text);
  const name = own(value, "name");
  if (typeof name !== "string" || name === "") throw new ProjectFault(`${config} has no "name"`);
  return name;
}

/** Names that Cloudflare accepts for a script. */
export function isScriptName(name: string): boolean {
  return /^[a-z0-9_][a-z0-9-_]*$/.test(name);
}
