/**
 * Says of every deployment of a project whether its events would reach the shipper, and why not.
 */
import { isPages, PAGES_WORDS, type Place } from "./model.ts";
import { isAttached, isService, loggingWords, type Section } from "./sections.ts";
import { suspicionsOf } from "./suspicions.ts";

/** `silent`: its events are apparently meant to ship, and would not. `none`: not meant to ship. */
export type Verdict = "attached" | "silent" | "none" | "shipper";

export interface PlaceVerdict {
  readonly place: Place;
  readonly scriptName: string | null;
  readonly verdict: Verdict;
  /** Whether `npm run attach` repairs it. */
  readonly isMended: boolean;
  /** Why, if it is not attached. */
  readonly reasons: readonly string[];
  /** What else to check here. */
  readonly notes: readonly string[];
}

type Finding = Omit<PlaceVerdict, "isMended">;

/** @param sections of one project, the top level first. */
export function verdictsOf(sections: readonly Section[], service: string): PlaceVerdict[] {
  const [top] = sections;
  const isOfPages = top !== undefined && isPages(top.raw);
  return sections.map((section) => {
    const lost = section.place !== null && top !== undefined && isAttached(top, service);
    const verdict = verdictOf(section, service, lost);
    const result = isOfPages ? ofPages(verdict) : verdict;
    return { ...result, isMended: result.verdict === "silent" && !isOfPages };
  });
}

/** Nothing arrives, however it is written. */
function ofPages(verdict: Finding): Finding {
  const isMeant = verdict.verdict === "attached" || verdict.verdict === "silent";
  return { ...verdict, verdict: isMeant ? "silent" : verdict.verdict, reasons: [PAGES_WORDS], notes: [] };
}

function verdictOf(section: Section, service: string, lost: boolean): Finding {
  const { place, scriptName, logging, consumers } = section;
  const suspicions = suspicionsOf(section, service);
  const common = { place, scriptName };
  if (scriptName === service) {
    return { ...common, verdict: "shipper", reasons: ["the shipper itself, which must not be attached"], notes: [] };
  }
  if (isAttached(section, service)) {
    const times = consumers.filter((consumer) => isService(consumer, service)).length;
    const notes = [
      ...suspicions,
      ...(logging?.value === false ? [shipsAllTheSame(section)] : []),
      ...(times > 1 ? [`"${service}" is in its tail_consumers ${times} times; once is enough`] : []),
    ];
    return { ...common, verdict: "attached", reasons: [], notes };
  }
  if (logging?.value === false) {
    return { ...common, verdict: "none", reasons: [loggingWords(logging, place)], notes: suspicions };
  }
  const reasons = [
    ...(lost ? ["attached only at the top level: environments do not inherit tail_consumers"] : []),
    ...suspicions,
  ];
  if (logging !== null) {
    const switchedOn = loggingWords(logging, place);
    const missing =
      reasons.length === 0 ? [`${switchedOn}, but it has no consumer "${service}"`] : [switchedOn, ...reasons];
    return { ...common, verdict: "silent", reasons: missing, notes: [] };
  }
  if (reasons.length > 0) return { ...common, verdict: "silent", reasons, notes: [] };
  return { ...common, verdict: "none", reasons: ["nothing says that its events should ship"], notes: [] };
}

/** The shipper never sees this property; it decides by its own settings. */
function shipsAllTheSame({ logging, place }: Section): string {
  const off = logging === null ? "" : loggingWords(logging, place);
  return `${off}, but its events ship anyway: tail_consumers attaches it, and the shipper follows only its own settings (unset ships). To stop this, use --detach, or set "logship": false in its script settings`;
}
