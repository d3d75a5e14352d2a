/**
 * Says of every deployment of a project whether its events would reach logship, and why not.
 */
import { isPages, PAGES_WORDS, type Spot } from "./model.ts";
import { isAttached, isService, loggingWords, type Section, usersOf } from "./sections.ts";
import { suspicionsOf } from "./suspicions.ts";

/** `silent`: its events are apparently meant to ship, and would not. `none`: not meant to ship. */
export type Verdict = "attached" | "silent" | "none" | "shipper";

export interface PlaceVerdict extends Spot {
  readonly scriptName: string | null;
  readonly verdict: Verdict;
  /** Whether `npm run attach` repairs it. */
  readonly isMended: boolean;
  /** Why, if it is not attached. */
  readonly reasons: readonly string[];
  /** What else to check here. */
  readonly notes: readonly string[];
}

const LOST_ENVIRONMENT = "attached only at the top level: environments do not inherit tail_consumers";
const LOST_PREVIEWS = "the Worker is attached, but its previews do not inherit tail_consumers";

type Finding = Omit<PlaceVerdict, "isMended">;

/** @param sections of one project, the top level first. */
export function verdictsOf(sections: readonly Section[], service: string): PlaceVerdict[] {
  const [top] = sections;
  const isOfPages = top !== undefined && isPages(top.raw);
  return sections.map((section) => {
    const givers = section.isPreviews ? usersOf(section, sections) : section.place !== null && top ? [top] : [];
    const lost = givers.some((giver) => isAttached(giver, service));
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
  const { place, isPreviews, scriptName, logging, consumers } = section;
  const suspicions = suspicionsOf(section, service);
  const common = { place, isPreviews, scriptName };
  if (scriptName === service) {
    return { ...common, verdict: "shipper", reasons: ["logship itself, which must not be attached"], notes: [] };
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
    return { ...common, verdict: "none", reasons: [loggingWords(logging, section)], notes: suspicions };
  }
  const reasons = [...(lost ? [isPreviews ? LOST_PREVIEWS : LOST_ENVIRONMENT] : []), ...suspicions];
  if (logging !== null) {
    const switchedOn = loggingWords(logging, section);
    const missing =
      reasons.length === 0 ? [`${switchedOn}, but it has no consumer "${service}"`] : [switchedOn, ...reasons];
    return { ...common, verdict: "silent", reasons: missing, notes: [] };
  }
  if (reasons.length > 0) return { ...common, verdict: "silent", reasons, notes: [] };
  return { ...common, verdict: "none", reasons: ["nothing says that its events should ship"], notes: [] };
}

/** logship never sees this property; it decides by its own settings. */
function shipsAllTheSame(section: Section): string {
  const { logging } = section;
  const off = logging === null ? "" : loggingWords(logging, section);
  return `${off}, but its events ship anyway: tail_consumers attaches it, and logship follows only its own settings (unset ships). To stop this, use --detach, or set "logship": false in its script settings`;
}
