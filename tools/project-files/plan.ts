/** Decides where in a project file a consumer is added or removed. */
import { NotMeantFault, type Place, ProjectFault, placeName } from "./model.ts";
import { isAttached, isService, loggingWords, type Section } from "./sections.ts";
import { plain } from "./text.ts";

export interface Wish {
  readonly service: string;
  /** An environment, or the top level (null) alone; undefined: all places that need it. */
  readonly place: Place | undefined;
  readonly detach: boolean;
}

export interface Step {
  readonly place: Place;
  readonly action: "add" | "remove" | "none";
  /** What is done and why, after the place. */
  readonly words: string;
}

/**
 * The changes, place by place.
 *
 * Attaching without a place: where the switch is on, environments that inherit it included, as they
 * do not inherit `tail_consumers`. If no switch is on: where none is off.
 * @throws ProjectFault if there is no such environment, if the switch is off everywhere, or if the
 *   file is the shipper's own.
 */
export function plan(sections: readonly Section[], wish: Wish): Step[] {
  const { service, place, detach } = wish;
  refuseItself(sections, wish);
  if (place !== undefined) {
    const section = sections.find((each) => each.place === place);
    if (section === undefined)
      throw new ProjectFault(`there is no ${plain(placeName(place))}; ${environmentsOf(sections)}`);
    return [detach ? removal(section, service) : addition(section, service)];
  }
  if (detach) return sections.map((section) => removal(section, service));
  const someOn = sections.some(({ logging }) => logging?.value === true);
  if (!someOn && sections.every(({ logging }) => logging?.value === false)) {
    throw new NotMeantFault(
      `logging is off everywhere in this file; --env <name> attaches one environment anyway (--env "": the top level)`,
    );
  }
  return sections.map((section) => {
    if (someOn ? section.logging?.value === true : section.logging === null) return addition(section, service);
    return leftAlone(section, service);
  });
}

/**
 * The shipper's own events are never shipped: attached to itself, each call would cause another.
 */
function refuseItself(sections: readonly Section[], { service, detach }: Wish): void {
  if (!detach && sections.some(({ scriptName }) => scriptName === service)) {
    throw new ProjectFault(`it deploys "${plain(service)}", the shipper itself, which must not consume its own events`);
  }
}

function environmentsOf(sections: readonly Section[]): string {
  const names = sections.flatMap(({ place }) => (place === null ? [] : [`"${plain(place)}"`]));
  return names.length === 0 ? "the file has no environments" : `the file has ${names.join(", ")}`;
}

function addition(section: Section, service: string): Step {
  const { place, logging } = section;
  const words = logging === null ? "" : loggingWords(logging, place);
  const because = logging === null ? "" : logging.value ? ` (${words})` : `, though ${words}`;
  if (isAttached(section, service)) return { place, action: "none", words: `was attached already${because}` };
  return { place, action: "add", words: `attached${because}` };
}

function removal(section: Section, service: string): Step {
  const { place } = section;
  if (isAttached(section, service)) return { place, action: "remove", words: "detached" };
  return { place, action: "none", words: "is not attached" };
}

function leftAlone(section: Section, service: string): Step {
  const { place, logging } = section;
  const because = logging === null ? "nothing switches logging on" : loggingWords(logging, place);
  const still = isAttached(section, service)
    ? "; it is attached anyway, and its events ship: --detach --env removes the consumer"
    : "";
  return { place, action: "none", words: `left alone: ${because}${still}` };
}

/** The index of the service's first entry at a place; -1: there is none. */
export function entryIndex(sections: readonly Section[], place: Place, service: string): number {
  const section = sections.find((each) => each.place === place);
  return section?.consumers.findIndex((consumer) => isService(consumer, service)) ?? -1;
}
