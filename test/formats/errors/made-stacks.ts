/**
 * Stacks as V8 writes them, of Workers that are deployed in several versions and in one of three
 * forms. Positions and minified names follow from the seed, the Worker, the version and the
 * function: they are the same in each error of one version.
 */
import { Random } from "../../soak/random.ts";
import { uuid } from "./made-values.ts";

/**
 * `mapped`: with source maps, so with the paths of sources and packages; `bundled`: one file, in
 * which packages look like the Worker's own code; `minified`: the same, with short names.
 */
export type Form = "mapped" | "bundled" | "minified";

export interface Deployed {
  readonly form: Form;
  /** Of its bundle. */
  readonly file: string;
  readonly versions: number;
  /** Paths of packages that contain their version, which changes from one deployment to another. */
  readonly hasPnpm?: true;
}

/** One version of one Worker. */
export interface Build extends Deployed {
  readonly seed: number;
  readonly worker: string;
  /** From 0. */
  readonly number: number;
  /** A UUID, as Cloudflare gives it. */
  readonly version: string;
}

/** One line of a stack, without its indent. */
export type Frame = (build: Build, r: Random) => string;

/** Randomness of its own for these words (FNV-1a). */
function randomOf(...words: readonly (string | number)[]): Random {
  let hash = 0x811c9dc5;
  for (const char of words.join("\n")) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return new Random(hash);
}

export function buildsOf(seed: number, worker: string, deployed: Deployed): Build[] {
  return Array.from({ length: deployed.versions }, (_, number) => {
    return { ...deployed, seed, worker, number, version: uuid(randomOf(seed, worker, "version", number)) };
  });
}

const FIRST = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ$_";
/** Names that a minifier keeps: those of handlers, as methods of what is exported. */
const KEPT = /^Object\./;

/** Half of the names stay when other code changes. */
function minifiedName(build: Build, name: string): string {
  const { seed, worker, number } = build;
  const stays = randomOf(seed, worker, number, name, "stays").chance(0.5);
  const r = randomOf(seed, worker, stays ? "" : number, name, "name");
  return r.pick([...FIRST]) + r.pick(["", r.pick([...FIRST]), String(r.int(0, 9))]);
}

/** `async Room.save` → `async t.save`; properties are not renamed. */
function minified(build: Build, name: string): string {
  const [, prefix = "", rest = ""] = /^((?:async|new)? ?)(.*)$/.exec(name) ?? [];
  if (rest === "" || KEPT.test(rest)) return name;
  const [first = "", ...methods] = rest.split(".");
  return prefix + [minifiedName(build, first), ...methods].join(".");
}

/** `at name (place)`, or `at place` of an anonymous function. */
function line(name: string, place: string): string {
  if (name === "") return `at ${place}`;
  return name === "async" ? `at async ${place}` : `at ${name} (${place})`;
}

/** Where it is in the bundle of this version. */
function inBundle(build: Build, name: string, path: string, site: string): string {
  const { seed, worker, number, file } = build;
  const then = randomOf(seed, worker, path, name, site);
  if (build.form === "minified") {
    // Everything moves when one byte changes before it.
    const column = then.int(90, 180_000) + randomOf(seed, worker, number, path).int(0, 9_000);
    return `${file}:${then.pick([1, 1, 1, 2, 7])}:${column + number * 13}`;
  }
  const moved = number * randomOf(seed, worker, "moved").int(3, 60) + randomOf(seed, worker, number, path).int(0, 40);
  return `${file}:${then.int(60, 28_000) + moved}:${then.int(3, 90)}`;
}

/**
 * A function of the Worker itself. `name` may begin with `async` or `new`, and is empty if the
 * function has none. Two sites are two lines of one function.
 */
export function own(name: string, path: string, site = ""): Frame {
  return (build) => {
    const { seed, worker, number, form } = build;
    if (form !== "mapped") {
      const shown = form === "minified" ? minified(build, name) : name;
      return line(shown, inBundle(build, name, path, site));
    }
    const then = randomOf(seed, worker, path, name, site);
    const moved = number === 0 ? 0 : number + randomOf(seed, worker, path, number).int(0, 14);
    return line(name, `${path}:${then.int(8, 240) + moved}:${then.int(3, 60)}`);
  };
}

/** A function of a package: `path` begins with the package's name. */
export function lib(name: string, path: string): Frame {
  return (build, r) => {
    if (build.form !== "mapped") return own(name, path)(build, r);
    const [, packageName = path] = /^(@[^/]+\/[^/]+|[^/]+)/.exec(path) ?? [];
    const release = randomOf(build.seed, build.worker, build.number, packageName);
    const version = `${release.int(3, 4)}.${release.int(0, 30)}.${release.int(0, 9)}`;
    const at = randomOf(packageName, build.hasPnpm ? version : build.number >> 1, path, name);
    const folder = build.hasPnpm ? `.pnpm/${packageName.replace("/", "+")}@${version}/node_modules/` : "";
    return line(name, `node_modules/${folder}${path}:${at.int(5, 900)}:${at.int(5, 60)}`);
  };
}

/** A frame of V8 or of the runtime, which is the same for all Workers. */
export function runtime(text: string): Frame {
  return () => `at ${text}`;
}

/** One of several calls that ran at once. */
export const oneOfAll: Frame = (_, r) => `at async Promise.all (index ${r.int(0, 40)})`;

/** The text of `error.stack`. V8 shows ten frames at most. */
export function stackText(head: string, frames: readonly Frame[], build: Build, r: Random): string {
  return [head, ...frames.slice(0, 10).map((frame) => `    ${frame(build, r)}`)].join("\n");
}
