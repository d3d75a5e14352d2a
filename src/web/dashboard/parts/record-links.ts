/** Where an open record leads to. */

import { stamp } from "../../../base/words.ts";
import { nameOf, SHORT_NAMES } from "../../../formats/query/names.ts";
import { quoted } from "../../../formats/query/show.ts";
import { recordPath } from "../../../operate/alerts/link.ts";
import {
  AROUND,
  type Asked,
  exactly,
  FACETS,
  facetsOf,
  NOTHING,
  narrowed,
  PINS_MAX,
  searchPath,
  withValue,
} from "../pages/search/address.ts";
import type { Leaf } from "./record-filter.ts";
import { type Json, summaryOf } from "./record-summary.ts";

/** Where a value leads to: records with it, and those without. */
export interface Links {
  is: string;
  isNot: string;
  /** The name whose values a button of the form {@link PIN_FORM} has counted. */
  pin?: string;
}

/** The id of that form, which the page of a search has. */
export const PIN_FORM = "pin";

export type LinksOf = (leaf: Leaf) => Links | null;

/**
 * Of a search and a value that are longer together, in characters, there are no links: each of the
 * thousands on a page repeats both.
 */
const LINK_MAX = 1_000;

/** To a search of half an hour around a record. */
export function inItsTime(record: unknown): LinksOf {
  const { atMs } = summaryOf(record);
  const time = atMs === null ? { last: "24h" } : { last: AROUND, at: `${stamp(atMs, 1_000)} UTC` };
  return linksIn({ ...NOTHING, ...time }, searchPath);
}

/** To a search that can count, with one condition more. */
export function inSearch(asked: Asked): LinksOf {
  const linksOf = linksIn(asked, searchPath);
  return (leaf) => {
    const [links, name] = [linksOf(leaf), nameIn(leaf)];
    return links !== null && canPin(name, leaf, asked) ? { ...links, pin: name } : links;
  };
}

const nameIn = ({ path, condition }: Leaf): string => condition?.key ?? path;

/** To what is asked, with one condition more. */
export function linksIn(asked: Asked, pathOf: (asked: Asked) => string): LinksOf {
  return (leaf) => {
    const { text, condition } = leaf;
    const name = nameIn(leaf);
    if (asked.q.length + asked.filter.length + text.length > LINK_MAX) return null;
    if (condition === null && !name.startsWith("Fields.") && name !== "Source") return null;
    const [is, isNot] = [false, true].map((isAgainst) =>
      condition === null ? withValue(asked, name, text, isAgainst) : narrowed(asked, condition, isAgainst),
    );
    return is && isNot ? { is: pathOf(is), isNot: pathOf(isNot) } : null;
  };
}

/** These are counted anyway, under short names. */
const COUNTED = FACETS.flatMap((name) => {
  const [where] = SHORT_NAMES[name];
  return where.path.join(".");
});

function canPin(name: string, { condition }: Leaf, asked: Asked): boolean {
  const pinned = facetsOf(asked);
  // Of texts in lists, and of long ones, parts are asked for.
  if (condition?.operator === "contains" && name !== "ScriptTags") return false;
  if (pinned.length === FACETS.length + PINS_MAX || name.includes(",") || COUNTED.includes(name)) return false;
  return nameOf(name) !== null && !pinned.includes(name);
}

/** The searches that a record leads to; null: it does not say enough. */
export function waysOf(record: Json): Record<"itself" | "request" | "around", string | null> {
  const { atMs, script } = summaryOf(record);
  const { RayID: ray } = (record.Event ?? {}) as Json;
  const rayId = typeof ray === "string" && ray !== "" ? ray : null;
  if (atMs === null) return { itself: null, request: null, around: null };
  const around = (ms: number) => ({ ...exactly(atMs - ms, atMs + ms), order: "oldest" });
  return {
    itself: recordPath({ script, atMs, rayId }),
    request: rayId === null ? null : searchPath({ q: `ray:${quoted(rayId)}`, ...around(300_000) }),
    around: searchPath({ function: script, ...around(60_000) }),
  };
}
