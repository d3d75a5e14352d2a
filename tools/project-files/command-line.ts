/** What the commands about project files have in common. */
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { ROOT } from "../paths.ts";
import { readProjectFile } from "./files.ts";
import { type Json, own, type Place, ProjectFault } from "./model.ts";
import { plain } from "./text.ts";

/** Where the user is: npm runs scripts in the project's root, and tells where it was started from. */
export function userFolder(environment: NodeJS.ProcessEnv): string {
  return environment.INIT_CWD || process.cwd();
}

/** A path as the user would write it, from where the user is. */
export function shownPath(path: string, from: string): string {
  const short = relative(from, path);
  const shown = short === "" ? "." : short.startsWith(join("..", "..", "..", "..")) || isAbsolute(short) ? path : short;
  // Cut off, it would be another one.
  return plain(shown, Number.POSITIVE_INFINITY);
}

/** An argument as a shell takes it; an empty one in quotes. */
export function shellWord(word: string): string {
  return /^[\w./@:+-]+$/.test(word) ? word : `'${plain(word, Number.POSITIVE_INFINITY).replaceAll("'", "'\\''")}'`;
}

/**
 * How to call `npm run attach` for a place of a project.
 * @param from where the user is; npm runs the scripts of the nearest package.
 * @param service as the user named it; undefined: by default.
 */
export function attachCommand(from: string, service: string | undefined): (project: string, place: Place) => string {
  const npm = packageFolder(from) === ROOT ? "npm" : `npm --prefix ${shellWord(shownPath(ROOT, from))}`;
  const option = service === undefined ? "" : ` --service ${service}`;
  return (project, place) =>
    `${npm} run attach -- ${shellWord(project)} --env ${place === null ? '""' : shellWord(place)}${option}`;
}

/** The nearest folder that npm takes for a package. */
function packageFolder(from: string): string | null {
  const isPackage = ["package.json", "node_modules"].some((name) => existsSync(join(from, name)));
  if (isPackage) return from;
  return dirname(from) === from ? null : packageFolder(dirname(from));
}

export function absolutePath(path: string, from: string): string {
  return resolve(from, path);
}

/**
 * The name of a deployment, which others name as their consumer.
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

/** Names that the platform takes for a script. */
export function isScriptName(name: string): boolean {
  return /^[a-z0-9_][a-z0-9-_]*$/.test(name);
}
