/** What the commands about project files have in common. */
import { isAbsolute, join, relative, resolve } from "node:path";
import { readProjectFile } from "./files.ts";
import { type Json, own, ProjectFault } from "./model.ts";
import { plain } from "./text.ts";

/** Where the user is: npm runs scripts in the project's root, and tells where it was started from. */
export function userFolder(environment: NodeJS.ProcessEnv): string {
  return environment.INIT_CWD || process.cwd();
}

/** A path as the user would write it, from where the user is. */
export function shownPath(path: string, from: string): string {
  const short = relative(from, path);
  return plain(short === "" ? "." : short.startsWith(join("..", "..", "..", "..")) || isAbsolute(short) ? path : short);
}

/** An argument as a shell takes it; an empty one in quotes. */
export function shellWord(word: string): string {
  return /^[\w./@:+-]+$/.test(word) ? word : `'${plain(word).replaceAll("'", "'\\''")}'`;
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
