import type { AnyField, ExtraValues, TraceRecord } from "../record/fields.ts";
import { canonicalNumber, type Test } from "./operators.ts";
import type { Filter, FilterCondition } from "./parse.ts";
import { finder } from "./text-search.ts";

/**
 * Whether a record is to be shipped. Never throws and allocates nothing, whatever the record holds.
 */
export type RecordPredicate = (record: TraceRecord & ExtraValues) => boolean;

type ValueTest = (value: unknown) => boolean;

/**
 * Compiles a filter into closures, once per version of a job; nothing is parsed, split or looked up
 * per record. The predicate sees the record as intake made it (lone surrogates are U+FFFD, missing
 * values are empty), before truncation and projection.
 */
export function compileFilter(filter: Filter): RecordPredicate {
  switch (filter.kind) {
    case "and":
      return every(filter.nodes.map(compileFilter));
    case "or":
      return some(filter.nodes.map(compileFilter));
    case "condition":
      return compileCondition(filter);
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

/** A value of another type than the test applies to counts as missing: the test fails. */
function compileTest(test: Test, field: AnyField): ValueTest {
  switch (test.kind) {
    case "eq":
      return equalTo(test.text);
    case "in":
      return oneOf(test.texts);
    case "lt":
      return (value) => typeof value === "number" && value < test.bound;
    case "leq":
      return (value) => typeof value === "number" && value <= test.bound;
    case "gt":
      return (value) => typeof value === "number" && value > test.bound;
    case "geq":
      return (value) => typeof value === "number" && value >= test.bound;
    case "startsWith":
      return (value) => typeof value === "string" && value.startsWith(test.text);
    case "endsWith":
      return (value) => typeof value === "string" && value.endsWith(test.text);
    case "contains":
      if (field === "Logs") return logged(test.text);
      if (field === "ExceptionStacks") return stacked(test.text);
      return field === "Exceptions" ? thrown(test.text) : containing(test.text);
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

/** Whether any text of any log contains this. */
function logged(text: string): ValueTest {
  const isIn = finder(text);
  return (logs) => {
    if (!Array.isArray(logs)) return false;
    for (const log of logs) {
      const message: unknown = log?.Message;
      if (!Array.isArray(message)) continue;
      for (const part of message) if (typeof part === "string" && isIn(part)) return true;
    }
    return false;
  };
}

/** Whether any stack contains this. */
function stacked(text: string): ValueTest {
  const isIn = finder(text);
  return (stacks) => {
    if (!Array.isArray(stacks)) return false;
    for (const stack of stacks) if (typeof stack === "string" && isIn(stack)) return true;
    return false;
  };
}

/** Whether the name or the message of any exception contains this. */
function thrown(text: string): ValueTest {
  const isIn = finder(text);
  return (exceptions) => {
    if (!Array.isArray(exceptions)) return false;
    for (const exception of exceptions) {
      const name: unknown = exception?.name;
      const message: unknown = exception?.message;
      if (typeof name === "string" && isIn(name)) return true;
      if (typeof message === "string" && isIn(message)) return true;
    }
    return false;
  };
}
