/** Says of every deployment of a project whether its events would reach the shipper, and why not. */
import type { Place } from "./model.ts";
import { isAttached, loggingWords, type Section } from "./sections.ts";
import { suspicionsOf } from "./suspicions.ts";

/** `silent`: its events are meant to ship, as far as one can see, and would not. `none`: nothing says that they should. */
export type Verdict = "attached" | "silent" | "none" | "shipper";

export interface PlaceVerdict {
  readonly place: Place;
  readonly scriptName: string | null;
  readonly verdict: Verdict;
  /** Why, if it is not attached. */
  readonly reasons: readonly string[];
  /** What else should be looked at here. */
  readonly notes: readonly string[];
}

/** @param sections of one project, the top level first. */
export function verdictsOf(sections: readonly Section[], service: string): PlaceVerdict[] {
  const [top] = sections;
  return sections.map((section) => {
    const lost = section.place !== null && top !== undefined && isAttached(top, service);
    return verdictOf(section, service, lost);
  });
}

function verdictOf(section: Section, service: string, lost: boolean): PlaceVerdict {
  const { place, scriptName, logging } = section;
  const suspicions = suspicionsOf(section, service);
  const common = { place, scriptName };
  if (scriptName === service) {
    return { ...common, verdict: "shipper", reasons: ["the shipper itself, which is not to be attached"], notes: [] };
  }
  if (isAttached(section, service)) {
    const notes = logging?.value === false ? [...suspicions, shipsAllTheSame(section)] : suspicions;
    return { ...common, verdict: "attached", reasons: [], notes };
  }
  if (logging?.value === false) {
    return { ...common, verdict: "none", reasons: [loggingWords(logging, place)], notes: suspicions };
  }
  const reasons = [
    ...(lost ? ["attached at the top level alone: environments do not inherit tail_consumers"] : []),
    ...suspicions,
  ];
  if (logging !== null) {
    const switchedOn = loggingWords(logging, place);
    const missing =
      reasons.length === 0 ? [`${switchedOn}, but it has no consumer "${service}"`] : [switchedOn, ...reasons];
    return { ...common, verdict: "silent", reasons: missing, notes: [] };
  }
  if (reasons.length > 0) return { ...common, verdict: "silent", reasons, notes: [] };
  return { ...common, verdict: "none", reasons: ["nothing says that its events are to ship"], notes: [] };
}

/** A property of a project file does not reach the shipper, which decides by its own settings. */
function shipsAllTheSame({ logging, place }: Section): string {
  const off = logging === null ? "" : loggingWords(logging, place);
  return `${off}, but its events ship all the same: what attaches it is tail_consumers, and the shipper knows only its own settings (unset ships). --detach ends that, or "logship": false in its script settings`;
}
