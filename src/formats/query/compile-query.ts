import { compileFilter } from "../filter/compile.ts";
import type { Question } from "../filter/parse.ts";
import { fieldsAt, longest } from "../filter/sought.ts";
import type { ExtraValues, TraceRecord } from "../record/fields.ts";
import { fold } from "../sketch/terms.ts";
import type { Needed } from "./needed-terms.ts";
import { neededBy, plainParts } from "./prune.ts";

export interface Query {
  /** All of these have to match a record as it was shipped. */
  all: readonly Question[];
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
export const PART_MAX = 64;

export function compileQuery({ all, sinceMs, untilMs }: Query): CompiledQuery {
  const question: Question = { kind: "and", nodes: all };
  const passes = compileFilter(question);
  return {
    matches: (record) => {
      if (typeof record !== "object" || record === null) return false;
      // A record that was shipped without its time is taken to be of its object's.
      const { EventTimestampMs: at } = record as { EventTimestampMs?: unknown };
      if (typeof at === "number" && (at < sinceMs || at >= untilMs)) return false;
      return passes(record as TraceRecord & ExtraValues);
    },
    foldedPart: fold(longest(plainParts(question)).slice(0, PART_MAX)),
    fields: fieldsOf(question),
    needed: neededBy(question),
  };
}

/** The fields of records that decide whether one matches; null: all. */
function fieldsOf(question: Question): ReadonlySet<string> | null {
  const fields = new Set(["EventTimestampMs"]);
  const left: Question[] = [question];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if ("nodes" in next) left.push(...next.nodes);
    else {
      const own = next.kind === "sought" ? fieldsAt(next.where) : next.path.slice(0, 1);
      if (own === null) return null;
      for (const field of own) fields.add(field);
    }
  }
  return fields;
}
