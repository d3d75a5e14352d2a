/** The common model of project files in both languages, and their faults. */

export const CONSUMERS = "tail_consumers";

/** The property with the settings of a place's previews. An environment without it inherits it. */
export const PREVIEWS = "previews";

/** A place in a project file: an environment by its name, or the top level. */
export type Place = string | null;

/**
 * What has consumers of its own: the deployment of a place, or its previews. Previews inherit the
 * switch, but not `tail_consumers`.
 */
export interface Spot {
  readonly place: Place;
  readonly isPreviews: boolean;
}

export type Json = Record<string, unknown>;

/** A project file that cannot be read or changed; the message is for its author. */
export class ProjectFault extends Error {
  override name = "ProjectFault";
}

/** A project that is not attached, as it takes no consumers, or says that it does not want to. */
export class NotMeantFault extends ProjectFault {}

/** A language that project files are written in. */
export interface Language {
  /**
   * @param text without a byte order mark.
   * @throws ProjectFault with line and column.
   */
  parse(text: string): Json;
  /**
   * The texts of all comments, in their order. Those inside an entry of `tail_consumers` between
   * braces are left out: they are removed with it.
   */
  comments(text: string): string[];
  /** The text with an entry for the service added, as the last one at a spot that exists. */
  add(text: string, spot: Spot, service: string): string;
  /**
   * The text without the entry of this index at the spot. With the last entry the property goes,
   * unless it holds a comment.
   */
  remove(text: string, spot: Spot, index: number): string;
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own property of an object; never one of its prototype. */
export function own(object: Json, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Levels of a project file that are read; real ones have a dozen at most. */
const DEPTH_MAX = 100;

/** @throws ProjectFault for a file so deep that comparing it would overflow the stack. */
export function refuseDepth(value: Json): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) throw new ProjectFault(`nested deeper than ${DEPTH_MAX} levels`);
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  }
}

/** The name of a place in a message. */
export function placeName(place: Place): string {
  return place === null ? "the top level" : `environment "${place}"`;
}

/** The name of a spot in a message. */
export function spotName({ place, isPreviews }: Spot): string {
  return isPreviews ? `the previews of ${placeName(place)}` : placeName(place);
}

export function isSpot(one: Spot, other: Spot): boolean {
  return one.place === other.place && one.isPreviews === other.isPreviews;
}

/** The keys that lead to a spot from the root of a project file. */
export function pathOf({ place, isPreviews }: Spot): string[] {
  return [...(place === null ? [] : ["env", place]), ...(isPreviews ? [PREVIEWS] : [])];
}

/** Whether keys lead to the consumers of some spot. */
export function isConsumers(path: readonly string[]): boolean {
  if (path.at(-1) !== CONSUMERS) return false;
  const spot = path.slice(path[0] === "env" ? 2 : 0, -1);
  return spot.length === 0 || (spot.length === 1 && spot[0] === PREVIEWS);
}

/** Why a Pages project cannot be attached. */
export const PAGES_WORDS =
  "a Pages project, which takes no tail_consumers; it can send events itself, over a service binding";

/** A project that cannot have consumers in its file. */
export function isPages(value: Json): boolean {
  return Object.hasOwn(value, "pages_build_output_dir");
}
