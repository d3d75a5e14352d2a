/** The code of made-up Workers: builds of it, and the stacks that V8 writes in them. */
import { Random } from "../../soak/random.ts";

/**
 * How a Worker is built: bundled as it is; bundled and minified; bundled with a source map, so that
 * stacks name source files; or not bundled, so that they name modules.
 */
export type Style = "bundled" | "minified" | "mapped" | "modules";

export interface Worker {
  readonly name: string;
  readonly style: Style;
  /** Main module: the file that stacks name in the first two styles. */
  readonly main: string;
  readonly versions: readonly string[];
}

/** Version ids are UUIDs; those of a Worker are the same for every seed, like its code. */
export function workerOf(name: string, style: Style, versions: number, main = "index.js"): Worker {
  const ids = Array.from({ length: versions }, (_, i) => uuid(new Random(hash(`${name}/${i}`))));
  return { name, style, main, versions: ids };
}

/** What one error ran in. */
export interface Build {
  readonly worker: Worker;
  readonly version: string;
  /** Release of the runtime: moves the lines of its own modules, whatever the version. */
  readonly runtime: number;
}

/** V8 keeps that many by default. */
export const FRAMES_KEPT = 10;

/** FNV-1a, 32 bits. */
export function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  // Close texts give close sums: mix the high bits in.
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
  return (state ^ (state >>> 13)) >>> 0;
}

/** @returns `length` characters of the alphabet. */
export function chars(random: Random, alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet[random.int(0, alphabet.length - 1)]).join("");
}

export function hex(random: Random, length: number): string {
  return chars(random, "0123456789abcdef", length);
}

export function uuid(random: Random): string {
  return `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-a${hex(random, 3)}-${hex(random, 12)}`;
}

/** Modules that are not the user's: their names and lines are those of the runtime. */
const RUNTIME = /^(?:node:|node-internal:|cloudflare-internal:)/;
/** Receivers that no minifier renames. */
const BUILT_IN = /^(?:Object|Array|JSON|Promise|Map|Function)$/;

/** A name as esbuild deals them: one to three characters, others in each version. */
function mangled(name: string, version: string): string {
  const random = new Random(hash(`${version} ${name}`));
  const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";
  return chars(random, letters, 1) + chars(random, `${letters}0123456789`, random.pick([0, 1, 1, 1, 2]));
}

/** @returns a class's name in this build. */
export function className(name: string, { worker, version }: Build): string {
  return worker.style === "minified" ? mangled(name, version) : name;
}

/** Minified, local functions and classes lose their names; methods are properties and keep them. */
function nameIn(build: Build, name: string): string {
  if (build.worker.style !== "minified") return name;
  const [first = "", ...methods] = name.split(".");
  if (first.startsWith("new ")) return `new ${mangled(first.slice("new ".length), build.version)}`;
  return [BUILT_IN.test(first) ? first : mangled(first, build.version), ...methods].join(".");
}

/** Where the frame is in this build, as `file:line:column`. A file's functions are together. */
function placeIn({ worker, version }: Build, name: string, file: string): string {
  const here = hash(`${file} ${name}`);
  switch (worker.style) {
    case "bundled": {
      // A bundle grows everywhere: what is further down moves more. Columns stay.
      const line = 120 + (hash(file) % 18_000) + (here % 260);
      const moved = 1 + Math.floor(((hash(version) % 900) * line) / 18_000);
      return `${worker.main}:${line + moved}:${5 + (here % 40)}`;
    }
    case "minified": {
      const start = hash(`${version} ${file}`);
      const column = 40 + (start % 91_000) + (hash(`${version} ${file} ${name}`) % 4_000);
      return `${worker.main}:${1 + (start % 36)}:${column}`;
    }
    default: {
      // Only the files that a version changed have other lines, and packages seldom do.
      const changed = !file.startsWith("node_modules/") && hash(`${version} ${file}`) % 3 > 0;
      const moved = changed ? hash(`${file} ${version}`) % 25 : 0;
      return `${file}:${8 + (here % 340) + moved}:${3 + (here % 36)}`;
    }
  }
}

/**
 * One line of a stack.
 * @param frame `[async ]name | file`: `*` names an anonymous function, `name#2` another place in
 *   the same function; a file that is no path stands as it is (`<anonymous>`, `index 2`).
 */
function frameLine(build: Build, frame: string): string {
  const [said = "", file = ""] = frame.split(" | ");
  const isAsync = said.startsWith("async ");
  const name = isAsync ? said.slice("async ".length) : said;
  const [shown = ""] = name.split("#");
  const start = `    at ${isAsync ? "async " : ""}`;
  if (RUNTIME.test(file)) {
    const at = hash(`${build.runtime} ${file} ${name}`);
    const place = `${file}:${90 + (at % 420)}:${5 + (at % 45)}`;
    return shown === "*" ? `${start}${place}` : `${start}${shown} (${place})`;
  }
  if (!file.includes("/")) return `${start}${shown} (${file})`;
  const place = placeIn(build, name, file);
  return shown === "*" ? `${start}${place}` : `${start}${nameIn(build, shown)} (${place})`;
}

/** @returns the stack as V8 writes it: `header: message`, then the frames. */
export function stackIn(build: Build, header: string, message: string, frames: readonly string[]): string {
  return [`${header}: ${message}`, ...frames.map((frame) => frameLine(build, frame))].join("\n");
}
