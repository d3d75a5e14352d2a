import type { AnyField, ExtraValues, TraceRecord } from "../record/fields.ts";
import { canonicalNumber, comparing, type Test } from "./operators.ts";
import type { FilterCondition, Question } from "./parse.ts";
import { compileSought } from "./sought.ts";
import { finder } from "./text-search.ts";

/** Whether a record is to be shipped, or a hit. Never throws; a job's filter allocates nothing. */
export type RecordPredicate = (record: TraceRecord & ExtraValues) => boolean;

type ValueTest = (value: unknown) => boolean;

/**
 * Compiles a filter into closures, once per version of a job; nothing is parsed, split or looked up
 * per record. The predicate sees the record as intake made it (lone surrogates are U+FFFD, missing
 * values are empty), before truncation and projection.
 */
export function compileFilter(filter: Question): RecordPredicate {
  switch (filter.kind) {
    case "and":
      return every(filter.nodes.map(compileFilter));
    case "or":
      return some(filter.nodes.map(compileFilter));
    case "condition":
      return compileCondition(filter);
    case "sought":
      return compileSought(filter);
  }
}

function every(predicates: readonly RecordPredicate[]): RecordPredicate {
  return (record) => {
    for (const matches of predicates) if (!matches(record)) return false;
    return true;
  };
}

function some(predicates: readonly RecordPredicate[]): RecordPredicate {
  return (record) => {
    for (const matches of predicates) if (matches(record)) return true;
    return false;
  };
}

/** An operator with `!` is the plain opposite, so it is true where something is missing. */
function compileCondition({ path, test, negated }: FilterCondition): RecordPredicate {
  const [field, ...below] = path;
  const matches = compileTest(test, field);
  if (below.length === 0) return (record) => matches(record[field]) !== negated;
  return (record) => matches(valueBelow(record[field], below)) !== negated;
}

/** The value at the end of a path through own properties of objects; not into arrays. */
function valueBelow(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const name of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
      return undefined;
    value = (value as { readonly [name: string]: unknown })[name];
  }
  return value;
}

/** Lists whose elements hold texts. */
const TOLD: ReadonlySet<AnyField> = new Set(["Exceptions", "ExceptionStacks", "LogErrors", "Logs"]);

/** A value of another type than the test applies to counts as missing: the test fails. */
function compileTest(test: Test, field: AnyField): ValueTest {
  switch (test.kind) {
    case "eq":
      return equalTo(test.text);
    case "in":
      return oneOf(test.texts);
    case "lt":
    case "leq":
    case "gt":
    case "geq":
      return comparing(test);
    case "startsWith":
      return (value) => typeof value === "string" && value.startsWith(test.text);
    case "endsWith":
      return (value) => typeof value === "string" && value.endsWith(test.text);
    case "contains":
      return TOLD.has(field) ? told(test.text) : containing(test.text);
  }
}

/** Equal as written; the number with this spelling is computed beforehand. */
function equalTo(text: string): ValueTest {
  const number = canonicalNumber(text);
  return (value) => (typeof value === "boolean" ? String(value) === text : value === text || value === number);
}

function oneOf(texts: readonly string[]): ValueTest {
  const strings: ReadonlySet<unknown> = new Set(texts);
  const numbers: ReadonlySet<unknown> = new Set(texts.map(canonicalNumber).filter((number) => !Number.isNaN(number)));
  return (value) => (typeof value === "string" ? strings.has(value) : typeof value === "number" && numbers.has(value));
}

function containing(text: string): ValueTest {
  const isEqual = equalTo(text);
  const isIn = finder(text);
  return (value) => {
    if (typeof value === "string") return isIn(value);
    if (Array.isArray(value)) for (const element of value) if (isEqual(element)) return true;
    return false;
  };
}

/** Whether a text of a message, a stack, or name, message or stack of an error contains this. */
function told(text: string): ValueTest {
  const isIn = finder(text);
  const holds = (part: unknown): boolean => typeof part === "string" && isIn(part);
  return (entries) => {
    if (!Array.isArray(entries)) return false;
    for (const entry of entries) {
      if (holds(entry) || holds(entry?.name) || holds(entry?.message) || holds(entry?.stack)) return true;
      if (Array.isArray(entry?.Message) && entry.Message.some(holds)) return true;
    }
    return false;
  };
}
