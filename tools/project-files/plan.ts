/** Decides where in a project file a consumer is added or removed. */
import { isSpot, NotMeantFault, type Place, ProjectFault, placeName, type Spot } from "./model.ts";
import { isAttached, isService, loggingWords, type Section } from "./sections.ts";
import { plain } from "./text.ts";

export interface Wish {
  readonly service: string;
  /** An environment, or the top level (null) alone; undefined: all places that need it. */
  readonly place: Place | undefined;
  /** Only previews: of that place, or of all that need it. */
  readonly previewsOnly?: boolean;
  readonly detach: boolean;
}

export interface Step extends Spot {
  readonly action: "add" | "remove" | "none";
  /** What is done and why, after the place. */
  readonly words: string;
}

/**
 * The changes, spot by spot.
 *
 * Attaching without a place: where the switch is on, environments and previews that inherit it
 * included, as they do not inherit `tail_consumers`. If no place is switched on: where none is off.
 * With a place: there, and its previews unless they are switched off themselves.
 * @throws ProjectFault if there is no such environment or there are no such previews, if the switch
 *   is off everywhere, or if the file is logship's own.
 */
export function plan(sections: readonly Section[], wish: Wish): Step[] {
  const { service, place, previewsOnly = false, detach } = wish;
  refuseItself(sections, wish);
  if (place !== undefined && !sections.some((each) => each.place === place))
    throw new ProjectFault(`there is no ${plain(placeName(place))}; ${environmentsOf(sections)}`);
  const chosen = sections.filter(
    (each) => (place === undefined || each.place === place) && (each.isPreviews || !previewsOnly),
  );
  if (chosen.length === 0)
    throw new ProjectFault(`${place === undefined ? "the file" : plain(placeName(place))} has no "previews"`);
  if (detach) return chosen.map((section) => removal(section, service));
  if (place !== undefined) {
    return chosen.map((section) => {
      const { isPreviews, logging } = section;
      const isOff = isPreviews && logging?.value === false && isSpot(logging.from, section);
      return isOff ? leftAlone(section, service) : addition(section, service);
    });
  }
  const someOn = sections.some(({ isPreviews, logging }) => !isPreviews && logging?.value === true);
  if (sections.every(({ logging }) => logging?.value === false)) {
    throw new NotMeantFault(
      `logging is off everywhere in this file; --env <name> attaches one environment anyway (--env "": the top level)`,
    );
  }
  return chosen.map((section) => {
    const logging = section.logging?.value ?? !someOn;
    if (logging) return addition(section, service);
    return leftAlone(section, service);
  });
}

/**
 * Logship's own events are never shipped: attached to itself, each call would cause another.
 */
function refuseItself(sections: readonly Section[], { service, detach }: Wish): void {
  if (!detach && sections.some(({ scriptName }) => scriptName === service)) {
    throw new ProjectFault(`it deploys "${plain(service)}", logship itself, which must not consume its own events`);
  }
}

function environmentsOf(sections: readonly Section[]): string {
  const names = sections.flatMap(({ place, isPreviews }) =>
    place === null || isPreviews ? [] : [`"${plain(place)}"`],
  );
  return names.length === 0 ? "the file has no environments" : `the file has ${names.join(", ")}`;
}

function addition(section: Section, service: string): Step {
  const { logging } = section;
  const words = logging === null ? "" : loggingWords(logging, section);
  const because = logging === null ? "" : logging.value ? ` (${words})` : `, though ${words}`;
  if (isAttached(section, service))
    return {
      ...spotOf(section),
      action: "none",
      words: `${section.isPreviews ? "were" : "was"} attached already${because}`,
    };
  return { ...spotOf(section), action: "add", words: `attached${because}` };
}

function removal(section: Section, service: string): Step {
  if (isAttached(section, service)) return { ...spotOf(section), action: "remove", words: "detached" };
  return { ...spotOf(section), action: "none", words: section.isPreviews ? "are not attached" : "is not attached" };
}

function leftAlone(section: Section, service: string): Step {
  const { logging } = section;
  const because = logging === null ? "nothing switches logging on" : loggingWords(logging, section);
  const still = isAttached(section, service)
    ? "; it is attached anyway, and its events ship: --detach --env removes the consumer"
    : "";
  return { ...spotOf(section), action: "none", words: `left alone: ${because}${still}` };
}

function spotOf({ place, isPreviews }: Spot): Spot {
  return { place, isPreviews };
}

/** The index of the service's first entry at a spot; -1: there is none. */
export function entryIndex(sections: readonly Section[], spot: Spot, service: string): number {
  const section = sections.find((each) => isSpot(each, spot));
  return section?.consumers.findIndex((consumer) => isService(consumer, service)) ?? -1;
}
