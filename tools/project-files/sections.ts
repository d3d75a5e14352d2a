/**
 * What a project file says of each of its deployments: the top level, and every environment, with
 * what wrangler makes an environment inherit.
 */
import { CONSUMERS, isObject, type Json, own, type Place, ProjectFault, placeName } from "./model.ts";
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

/** The switch as it applies to a place. */
export interface Logging {
  readonly value: boolean;
  readonly name: (typeof SWITCHES)[number];
  /** Where it is set: environments inherit that of the top level. */
  readonly from: Place;
}

export interface Section {
  readonly place: Place;
  readonly raw: Json;
  /** null: not set. */
  readonly logging: Logging | null;
  /**
   * The name that it is deployed under: `<name>-<environment>` unless the environment has one;
   * null: the file has none.
   */
  readonly scriptName: string | null;
  /** Not inherited by environments. */
  readonly consumers: readonly Consumer[];
}

/**
 * The sections of a project file, the top level first.
 * @throws ProjectFault for what wrangler would refuse, and for what is ambiguous.
 */
export function readSections(value: Json): Section[] {
  const top = readSection(value, null, null);
  const environments = own(value, "env");
  if (environments === undefined) return [top];
  if (!isObject(environments)) throw new ProjectFault('"env" is not an object');
  const names = Object.keys(environments);
  if (names.includes("")) throw new ProjectFault('"env" has an environment without a name, which cannot be deployed');
  if (names.length > ENVIRONMENTS_MAX) throw new ProjectFault(`more than ${ENVIRONMENTS_MAX} environments`);
  return [top, ...names.map((name) => readSection(own(environments, name), name, top))];
}

function readSection(raw: unknown, place: Place, top: Section | null): Section {
  if (!isObject(raw)) throw new ProjectFault(`${plain(placeName(place))} is not an object`);
  const name = own(raw, "name");
  if (name !== undefined && typeof name !== "string") throw fault(place, '"name" is no string');
  const inherited = top?.scriptName ? `${top.scriptName}-${place}` : null;
  return {
    place,
    raw,
    logging: readLogging(raw, place) ?? top?.logging ?? null,
    scriptName: name ?? inherited,
    consumers: readConsumers(raw, place),
  };
}

function readLogging(raw: Json, place: Place): Logging | null {
  const found: Logging[] = [];
  for (const name of SWITCHES) {
    const value = own(raw, name);
    if (value === undefined) continue;
    if (typeof value !== "boolean") throw fault(place, `"${name}" is neither true nor false`);
    found.push({ value, name, from: place });
  }
  if (found.length > 1 && found[0]?.value !== found[1]?.value) {
    throw fault(
      place,
      `"logship" is ${found[0]?.value}, and "logpush", which is another name for it, is ${found[1]?.value}`,
    );
  }
  return found[0] ?? null;
}

function readConsumers(raw: Json, place: Place): Consumer[] {
  const consumers = own(raw, CONSUMERS);
  if (consumers === undefined) return [];
  if (!Array.isArray(consumers)) throw fault(place, `"${CONSUMERS}" is not an array`);
  if (consumers.length > CONSUMERS_MAX) throw fault(place, `"${CONSUMERS}" has more than ${CONSUMERS_MAX} entries`);
  return consumers.map((consumer: unknown, index) => {
    if (!isObject(consumer))
      throw fault(place, `"${CONSUMERS}" has an entry that is not an object, number ${index + 1}`);
    const service = own(consumer, "service");
    if (typeof service !== "string")
      throw fault(place, `"${CONSUMERS}" has an entry without "service", number ${index + 1}`);
    return { ...consumer, service };
  });
}

function fault(place: Place, what: string): ProjectFault {
  return new ProjectFault(`${plain(placeName(place))}: ${what}`);
}

/** Whether an entry is this service. One with an environment or a namespace is another one. */
export function isService({ service, environment, namespace }: Consumer, name: string): boolean {
  return service === name && !environment && !namespace;
}

export function isAttached({ consumers }: Section, service: string): boolean {
  return consumers.some((consumer) => isService(consumer, service));
}

/** Where the switch is set and its value, as text. */
export function loggingWords({ value, name, from }: Logging, place: Place): string {
  return `${name} is ${value}${from === place ? "" : " at the top level, which it inherits"}`;
}
