import { compileFilter } from "../../formats/filter/compile.ts";
import { canonicalNumber, type Test } from "../../formats/filter/operators.ts";
import type { Filter } from "../../formats/filter/parse.ts";
import { finder } from "../../formats/filter/text-search.ts";
import type { ExtraValues, TraceRecord } from "../../formats/record/fields.ts";
import { fold, termHash } from "../../formats/sketch/terms.ts";
import type { Wanted } from "../../formats/sketch/wanted.ts";
import { allOf, type Needed, wordsWithin } from "./needed-terms.ts";

/** What is searched for. All that is given has to match. */
export interface Query {
  /** As of a job, on the record as shipped; null: none. */
  filter: Filter | null;
  /** A part of any string in the record, case-insensitive; "": none. */
  text: string;
  /** `Event.RayID`; "": none. */
  rayId: string;
  /** Time of the event, in ms since the epoch: from the first, before the second. */
  sinceMs: number;
  untilMs: number;
}

export interface CompiledQuery {
  /** @param record a line of an object, parsed. */
  matches(record: unknown): boolean;
  /**
   * Every line that matches, folded, contains this; "": unknown. Most lines need not be parsed,
   * then.
   */
  readonly foldedPart: string;
  readonly needed: Needed;
  /** Fields of a record that decide whether it matches; null: all may. */
  readonly fields: ReadonlySet<string> | null;
}

/**
 * Longest part that lines are passed over by, in UTF-16 units: the time of the runtime's search
 * grows with it.
 */
const PART_MAX = 64;

export function compileQuery(query: Query): CompiledQuery {
  const filter = withRayId(query);
  const passes = filter === null ? () => true : compileFilter(filter);
  const holds = query.text === "" ? () => true : holder(fold(query.text));
  const { sinceMs, untilMs } = query;
  const parts = [longestPlain(query.text), ...(filter === null ? [] : plainParts(filter))];
  return {
    matches: (record) => {
      if (typeof record !== "object" || record === null) return false;
      // A record that was shipped without its time is taken to be of its object's.
      const { EventTimestampMs: at } = record as { EventTimestampMs?: unknown };
      if (typeof at === "number" && (at < sinceMs || at >= untilMs)) return false;
      return passes(record as TraceRecord & ExtraValues) && holds(record);
    },
    foldedPart: fold(longest(parts).slice(0, PART_MAX)),
    fields: query.text === "" ? new Set(["EventTimestampMs", ...(filter === null ? [] : fieldsOf(filter))]) : null,
    needed: allOf([filter === null ? null : neededBy(filter), wordsWithin(query.text, false, false)]),
  };
}

function fieldsOf(filter: Filter): string[] {
  return filter.kind === "condition" ? [filter.path[0]] : filter.nodes.flatMap(fieldsOf);
}

function withRayId({ filter, rayId }: Query): Filter | null {
  if (rayId === "") return filter;
  const isRay: Filter = {
    kind: "condition",
    path: ["Event", "RayID"],
    test: { kind: "eq", text: rayId },
    negated: false,
  };
  return filter === null ? isRay : { kind: "and", nodes: [isRay, filter] };
}

/**
 * Whether any string below a value contains this, whatever its case. Names of fields do not count.
 * No recursion: an object of a store may nest deeper than the stack is.
 */
function holder(folded: string): (value: unknown) => boolean {
  const isIn = finder(folded);
  return (root) => {
    const left: unknown[] = [root];
    while (left.length > 0) {
      const value = left.pop();
      if (typeof value === "string" && isIn(fold(value))) return true;
      if (typeof value === "object" && value !== null) for (const below of Object.values(value)) left.push(below);
    }
    return false;
  };
}

/** The hashes of words in sketches; null: no sketch excludes any object. */
export function wantedIn(needed: Needed): Wanted | null {
  if (needed === null) return null;
  if (typeof needed === "string") return termHash(needed);
  if ("any" in needed) {
    const any = needed.any.map((each) => wantedIn(each));
    return any.includes(null) ? null : { any: any as Wanted[] };
  }
  const all = needed.all.map((each) => wantedIn(each)).filter((each) => each !== null);
  return all.length === 0 ? null : { all };
}

function neededBy(filter: Filter): Needed {
  switch (filter.kind) {
    case "and":
      return allOf(filter.nodes.map(neededBy));
    case "or": {
      const any = filter.nodes.map(neededBy);
      return any.includes(null) ? null : { any };
    }
    case "condition":
      return filter.negated ? null : neededByTest(filter.test);
  }
}

function neededByTest(test: Test): Needed {
  switch (test.kind) {
    case "eq":
      return equal(test.text);
    case "in": {
      const any = test.texts.map(equal);
      return any.includes(null) ? null : { any };
    }
    case "startsWith":
      return wordsWithin(test.text, true, false);
    case "endsWith":
      return wordsWithin(test.text, false, true);
    case "contains":
      // An element of an array may be a number.
      return Number.isNaN(canonicalNumber(test.text)) ? wordsWithin(test.text, false, false) : null;
    case "lt":
    case "leq":
    case "gt":
    case "geq":
      return null;
  }
}

/** A number or boolean that is written like the text equals it, and is no word. */
function equal(text: string): Needed {
  if (text === "true" || text === "false" || !Number.isNaN(canonicalNumber(text))) return null;
  return wordsWithin(text, true, true);
}

/** Of each condition that every match fulfils, a part that stands in the line as it is. */
function plainParts(filter: Filter): string[] {
  switch (filter.kind) {
    case "and":
      return filter.nodes.flatMap(plainParts);
    case "or":
      return [];
    case "condition": {
      const { test, negated } = filter;
      return negated || !("text" in test) ? [] : [longestPlain(test.text)];
    }
  }
}

/** The longest run that JSON writes as it is, whatever writes it. */
function longestPlain(text: string): string {
  return longest([...text.matchAll(/[ !#-.0-[\]-~]+/g)].map(([run]) => run));
}

function longest(texts: readonly string[]): string {
  return texts.reduce((best, text) => (text.length > best.length ? text : best), "");
}
