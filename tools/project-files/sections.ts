/**
 * What a project file says of each of its deployments: the top level, every environment, and their
 * previews, with what wrangler makes these inherit.
 */
import { CONSUMERS, isObject, isSpot, type Json, own, PREVIEWS, ProjectFault, type Spot, spotName } from "./model.ts";
import { plain } from "./text.ts";

/** Names of the switch; the second is Cloudflare's. */
export const SWITCHES = ["logship", "logpush"] as const;

/** Bounded because each change reads the file again. Cloudflare takes as many consumers. */
const ENVIRONMENTS_MAX = 100;
const CONSUMERS_MAX = 100;

export interface Consumer {
  readonly service: string;
  readonly environment?: unknown;
  readonly namespace?: unknown;
}

/** The switch as it applies to a spot. */
export interface Logging {
  readonly value: boolean;
  readonly name: (typeof SWITCHES)[number];
  /** Where it is set: environments inherit the top level's, and previews that of their place. */
  readonly from: Spot;
}

export interface Section extends Spot {
  readonly raw: Json;
  /** null: not set. */
  readonly logging: Logging | null;
  /**
   * The name that it is deployed under: `<name>-<environment>` unless the environment has one;
   * null: the file has none.
   */
  readonly scriptName: string | null;
  /** Inherited neither by environments nor by previews. */
  readonly consumers: readonly Consumer[];
}

/**
 * The sections of a project file, the top level first, and the previews after all places: an
 * environment without `previews` uses those of the top level.
 * @throws ProjectFault for what wrangler would refuse, and for what is ambiguous.
 */
export function readSections(value: Json): Section[] {
  const top = readSection(value, { place: null, isPreviews: false }, null);
  const environments = own(value, "env") ?? {};
  if (!isObject(environments)) throw new ProjectFault('"env" is not an object');
  const names = Object.keys(environments);
  if (names.includes("")) throw new ProjectFault('"env" has an environment without a name, which cannot be deployed');
  if (names.length > ENVIRONMENTS_MAX) throw new ProjectFault(`more than ${ENVIRONMENTS_MAX} environments`);
  const places = [
    top,
    ...names.map((place) => readSection(own(environments, place), { place, isPreviews: false }, top)),
  ];
  return [...places, ...places.flatMap((section) => readPreviews(section, places))];
}

function readSection(raw: unknown, spot: Spot, top: Section | null): Section {
  if (!isObject(raw)) throw new ProjectFault(`${plain(spotName(spot))} is not an object`);
  const name = own(raw, "name");
  if (name !== undefined && typeof name !== "string") throw fault(spot, '"name" is no string');
  const inherited = top?.scriptName ? `${top.scriptName}-${spot.place}` : null;
  return {
    ...spot,
    raw,
    logging: readLogging(raw, spot) ?? top?.logging ?? null,
    scriptName: name ?? inherited,
    consumers: readConsumers(raw, spot),
  };
}

/** The previews that a section has settings for; they are on if those of any place are. */
function readPreviews(section: Section, places: readonly Section[]): Section[] {
  const raw = own(section.raw, PREVIEWS);
  if (raw === undefined) return [];
  const spot: Spot = { place: section.place, isPreviews: true };
  if (!isObject(raw)) throw new ProjectFault(`${plain(spotName(spot))} are not an object`);
  const users = usersOf(spot, places);
  const logging = readLogging(raw, spot) ?? users.find((user) => user.logging?.value)?.logging ?? section.logging;
  return [{ ...spot, raw, logging, scriptName: section.scriptName, consumers: readConsumers(raw, spot) }];
}

/** The places whose previews have these settings. */
export function usersOf({ place }: Spot, sections: readonly Section[]): Section[] {
  return sections.filter(
    (each) => !each.isPreviews && (each.place === place || (place === null && own(each.raw, PREVIEWS) === undefined)),
  );
}

function readLogging(raw: Json, spot: Spot): Logging | null {
  const found: Logging[] = [];
  for (const name of SWITCHES) {
    const value = own(raw, name);
    if (value === undefined) continue;
    if (typeof value !== "boolean") throw fault(spot, `"${name}" is neither true nor false`);
    found.push({ value, name, from: spot });
  }
  if (found.length > 1 && found[0]?.value !== found[1]?.value) {
    throw fault(
      spot,
      `"logship" is ${found[0]?.value}, and "logpush", which is another name for it, is ${found[1]?.value}`,
    );
  }
  return found[0] ?? null;
}

function readConsumers(raw: Json, spot: Spot): Consumer[] {
  const consumers = own(raw, CONSUMERS);
  if (consumers === undefined) return [];
  if (!Array.isArray(consumers)) throw fault(spot, `"${CONSUMERS}" is not an array`);
  if (consumers.length > CONSUMERS_MAX) throw fault(spot, `"${CONSUMERS}" has more than ${CONSUMERS_MAX} entries`);
  return consumers.map((consumer: unknown, index) => {
    if (!isObject(consumer))
      throw fault(spot, `"${CONSUMERS}" has an entry that is not an object, number ${index + 1}`);
    const service = own(consumer, "service");
    if (typeof service !== "string")
      throw fault(spot, `"${CONSUMERS}" has an entry without "service", number ${index + 1}`);
    return { ...consumer, service };
  });
}

function fault(spot: Spot, what: string): ProjectFault {
  return new ProjectFault(`${plain(spotName(spot))}: ${what}`);
}

/** Whether an entry is this service. One with an environment or a namespace is another one. */
export function isService({ service, environment, namespace }: Consumer, name: string): boolean {
  return service === name && !environment && !namespace;
}

export function isAttached({ consumers }: Section, service: string): boolean {
  return consumers.some((consumer) => isService(consumer, service));
}

/** Where the switch is set and its value, as text. */
export function loggingWords({ value, name, from }: Logging, spot: Spot): string {
  const [it, does] = spot.isPreviews ? ["they", "inherit"] : ["it", "inherits"];
  const where = from.place === null ? "at the top level" : `in ${plain(spotName(from))}`;
  return `${name} is ${value}${isSpot(from, spot) ? "" : ` ${where}, which ${it} ${does}`}`;
}
