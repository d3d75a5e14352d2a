import { QUERY_MAX_UNITS } from "../../../../base/limits.ts";
import { stamp } from "../../../../base/words.ts";
import { parseFilter } from "../../../../formats/filter/parse.ts";
import { nameOf } from "../../../../formats/query/names.ts";
import { parseQuery } from "../../../../formats/query/parse.ts";
import { anyTerm, fieldTerm, filterAsQuery, quoted } from "../../../../formats/query/show.ts";
import { EXTRA_FIELDS } from "../../../../formats/record/fields.ts";
import { type GroupValue, VALUE_MAX } from "../../../../operate/search/count/groups.ts";
import { LAST } from "../../../../operate/search/words.ts";
import { visible } from "../../parts/foreign.tsx";
import { type Condition, combined, narrowed as narrowedFilter } from "../../parts/record-filter.ts";
import { around, between } from "./when.ts";

/** The value of `last` that stands for `since` and `until`. */
export const OWN_TIME = "own";
/** … and the one that stands for `at`. */
export const AROUND = "around";

/** What became of an invocation, as a search offers it. */
export const OUTCOMES = {
  failed: "failed",
  "": "any outcome",
  ok: "ok",
  exception: "exception",
  exceededCpu: "exceeded CPU",
  exceededMemory: "exceeded memory",
  canceled: "canceled",
} as const;

/** A search, as the address of its page has it. All fields are as they were typed. */
export interface Asked {
  /** In the language of searches. */
  q: string;
  /** Name of a function; "": all. */
  function: string;
  /** A key of {@link OUTCOMES}, or any outcome. */
  outcome: string;
  /** Id of a job; "": all. */
  job: string;
  /** A key of {@link LAST}, {@link OWN_TIME} or {@link AROUND}. */
  last: string;
  since: string;
  until: string;
  at: string;
  /** Of these times, as the IANA names it; "": UTC. */
  zone: string;
  order: string;
  /** JSON of further conditions; "": none. */
  filter: string;
  cursor: string;
  /** Names whose values are counted, beside {@link FACETS}, with commas between. */
  pins: string;
}

const FIELDS = [
  ...["q", "function", "outcome", "job", "last", "since", "until", "at", "zone"],
  ...["order", "filter", "cursor", "pins"],
] as (keyof Asked)[];

/** Names whose values each search counts. */
export const FACETS = ["outcome", "worker", "status", "level"] as const;

/** So many more can be pinned. */
export const PINS_MAX = 6;

/** Sixteen hex digits, as `cf-ray` has them, with or without what follows them there. */
const RAY_ID = /^([0-9a-f]{16})(?:-[a-z]{3})?$/i;

/** null: nothing is asked yet. */
export function askedOf(query: URLSearchParams): Asked | null {
  const asked = Object.fromEntries(FIELDS.map((name) => [name, (query.get(name) ?? "").trim()])) as unknown as Asked;
  // As addresses had it before there was a language; a ray id that is pasted is one.
  const [text, rayId, slower] = ["text", "ray_id", "slower"].map((name) => (query.get(name) ?? "").trim());
  const ray = RAY_ID.exec(asked.q || text || rayId || "")?.[1];
  if (ray !== undefined) asked.q = `ray:${ray.toLowerCase()}`;
  else if (asked.q === "" && text) asked.q = quoted(text);
  if (slower) asked.q = `${asked.q} took:>=${slower}`.trim();
  if ([...query.keys()].length === 0) return null;
  if (asked.last === "" && asked.since !== "") asked.last = OWN_TIME;
  if (asked.last === "" && asked.at !== "") asked.last = AROUND;
  if (!Object.hasOwn(LAST, asked.last) && asked.last !== OWN_TIME && asked.last !== AROUND) asked.last = "1h";
  // What another choice of time left behind.
  if (asked.last !== OWN_TIME) [asked.since, asked.until] = ["", ""];
  if (asked.last !== AROUND) asked.at = "";
  if (asked.since + asked.until + asked.at === "") asked.zone = "";
  asked.pins = pinnedIn(query.getAll("pins").join());
  return asked;
}

/** Of what an address has, what can be counted. */
function pinnedIn(pins: string): string {
  const names = pins
    .split(",")
    .filter((name) => nameOf(name) !== null && visible(name) === name && !FACETS.some((facet) => facet === name));
  return [...new Set(names)].slice(0, PINS_MAX).join();
}

/** All names whose values a search counts. */
export function facetsOf({ pins }: Asked): string[] {
  return [...FACETS, ...pins.split(",").filter((name) => name !== "")];
}

export const NOTHING: Asked = askedOf(new URLSearchParams("last=1h")) as Asked;

/** The address of a search; a new one begins at its first page. */
export function searchPath(asked: Partial<Asked>): string {
  const query = new URLSearchParams();
  for (const name of FIELDS) if (asked[name]) query.set(name, asked[name]);
  return `/search?${query}`;
}

/** The address of the live page that shows what a search finds; the time is now. */
export function livePath({ q, function: name, outcome, filter }: Asked): string {
  return searchPath({ q, function: name, outcome, filter }).replace("/search", "/live").replace(/\?$/, "");
}

/** Records that failed, as {@link OUTCOMES} has them. */
const FAILED = "(-outcome:ok OR Exceptions:* OR status:5xx)";

/** All that a search asks of a record, as one query, without a filter that cannot be read. */
export function wholeQuery({ q, function: name, outcome, filter }: Asked): string {
  const parsed = parseQuery(q);
  const read = parseFilter(filter, EXTRA_FIELDS);
  const further = read.ok && read.filter !== null ? filterAsQuery(read.filter) : "";
  const parts = [
    parsed.ok && parsed.term?.kind === "or" ? `(${q})` : q,
    name && fieldTerm("worker", name, false),
    outcome === "failed" ? FAILED : outcome && fieldTerm("outcome", outcome, false),
    read.ok && read.filter?.kind === "or" ? `(${further})` : further,
  ];
  const given = parts.filter((part) => part !== "");
  // Alone, it needs no parentheses.
  return given.length === 1 && given[0] === `(${q})` ? q : given.join(" ");
}

/** The fields of an address for this time. */
export function exactly(sinceMs: number, untilMs: number): Partial<Asked> {
  const [since, until] = [sinceMs, untilMs].map((ms) => `${stamp(ms, 1)} UTC`);
  return { last: OWN_TIME, since: since ?? "", until: until ?? "", at: "", zone: "" };
}

/** The same search with one more condition: for it, or against it. */
export function narrowed(asked: Asked, condition: Condition, isAgainst: boolean): Asked {
  return { ...asked, filter: narrowedFilter(asked.filter, condition, isAgainst), cursor: "" };
}

/**
 * The same search for records with a value, or without it.
 * @param value of a count; null: of records that have none.
 * @returns null: the query would be too long.
 */
export function withValue(asked: Asked, name: string, value: GroupValue, isAgainst: boolean): Asked | null {
  const text = `${value}`;
  const isCut = text.length > VALUE_MAX;
  const term = value === null ? anyTerm(name) : fieldTerm(name, isCut ? text.slice(0, VALUE_MAX) : text, isCut);
  const parsed = parseQuery(asked.q);
  const before = parsed.ok && parsed.term?.kind === "or" ? `(${asked.q})` : asked.q;
  const q = `${before} ${isAgainst === (value === null) ? "" : "-"}${term}`.trim();
  return q.length > QUERY_MAX_UNITS ? null : { ...asked, q, cursor: "" };
}

/** The time that a search is about, in ms. @throws RangeError with a text that is no time. */
function spanOf({ last, since, until, at, zone }: Asked, nowMs: number): [since: number, until: number] {
  if (last === AROUND && at !== "") return around(at, zone, nowMs);
  return between(since, until, LAST[last as keyof typeof LAST]?.ms ?? LAST["1h"].ms, zone, nowMs);
}

/** The body of `POST /search`. @throws RangeError with a text that is no time. */
export function questionOf(asked: Asked, nowMs: number): Question {
  const [since, until] = spanOf(asked, nowMs);
  const filter = filterOf(asked);
  return {
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    ...(asked.q !== "" && { query: asked.q }),
    ...(asked.job !== "" && { job_id: Number(asked.job) }),
    ...(filter !== "" && { filter }),
    ...(asked.order === "oldest" && { order: "oldest" }),
    ...(asked.cursor !== "" && { cursor: asked.cursor }),
  };
}

interface Question {
  since: string;
  until: string;
  [name: string]: unknown;
}

/** The filter that stands for all but the query; "": none. */
export function filterOf({ function: name, outcome, filter }: Asked): string {
  return combined(filter, name, outcome);
}
