import { isObject, type Json, parsedJson } from "../../base/bytes.ts";
import { ERRORS_MAX_ENTRIES, FILTER_MAX_DEPTH, FILTER_MAX_OPERATORS } from "../../base/limits.ts";
import type { ExtraField } from "../record/fields.ts";
import { hint, nearest, quote, type ResolvedKey, resolveKey } from "./fields.ts";
import { jsonFaultAt } from "./json-fault.ts";
import { appliesTo, OPERATORS, type Operator, operatorsOn, readTest, type Test } from "./operators.ts";
import type { Sought } from "./sought.ts";

/** Conditions, joined. */
export type Tree<Condition> = Group<Condition> | Condition;

interface Group<Condition> {
  readonly kind: "and" | "or";
  /** At least one. */
  readonly nodes: readonly Tree<Condition>[];
}

/** A valid filter of a job. */
export type Filter = Tree<FilterCondition>;

/** What a search asks for. */
export type Question = Tree<FilterCondition | Sought>;

export interface FilterCondition {
  readonly kind: "condition";
  readonly path: ResolvedKey["path"];
  readonly test: Test;
  /** The condition is true where the test fails or the value is missing. */
  readonly negated: boolean;
}

const GROUP_KEYS = ["and", "or"] as const;
const NODE_KEYS = [...GROUP_KEYS, "key", "operator", "value"] as const;

/** How much of a malformed text is shown, in UTF-16 code units. */
const EXCERPT_LENGTH = 20;

/**
 * Reads the filter of a job: `{"where": <node>}` as JSON text. Of a repeated key in one object the
 * last one counts. null counts as missing.
 * @param text at most 8,192 bytes, checked by the caller; time and memory are linear in it. "": no
 *   filter.
 * @param extra fields that are on.
 * @returns the filter (null: none), or at most 100 faults, each with its place:
 *   `bad predicate: where.and[1].or[0]: operator is missing`.
 * @throws never.
 */
export function parseFilter(
  text: string,
  extra: readonly ExtraField[] = [],
): { ok: true; filter: Filter | null } | { ok: false; faults: string[] } {
  if (text === "") return { ok: true, filter: null };
  const json = parsedJson(text);
  if (json === undefined) return { ok: false, faults: [`bad predicate: ${notJson(text)}`] };
  const reader = new FilterReader(extra);
  const filter = reader.whole(json);
  return filter === null ? { ok: false, faults: reader.faults } : { ok: true, filter };
}

function notJson(text: string): string {
  const at = jsonFaultAt(text);
  if (at >= text.length) return `not valid JSON: ends too early, at position ${at}`;
  return `not valid JSON at position ${at}, near ${quote(text.slice(at, at + EXCERPT_LENGTH))}`;
}

/** Walks a filter and gathers its faults. A method that returns null has added one. */
class FilterReader {
  readonly faults: string[] = [];
  readonly #extra: readonly ExtraField[];
  #operators = 0;

  constructor(extra: readonly ExtraField[]) {
    this.#extra = extra;
  }

  whole(json: unknown): Filter | null {
    if (!isObject(json)) {
      this.#fault("", `a filter is an object, {"where": …}, not ${kindOf(json)}`);
      return null;
    }
    const filter = isMissing(json.where) ? this.#whereMissing(json) : this.#where(json);
    return this.faults.length === 0 ? filter : null;
  }

  #where(json: Json): Filter | null {
    this.#unknownKeys(json, ["where"], "");
    const filter = this.#node(json.where, "where", 0);
    if (this.#operators > FILTER_MAX_OPERATORS) {
      // First, so that other faults cannot push it out of the list.
      this.faults.unshift(`bad predicate: where: ${this.#operators} operators, at most ${FILTER_MAX_OPERATORS}`);
      this.faults.length = Math.min(this.faults.length, ERRORS_MAX_ENTRIES);
    }
    return filter;
  }

  #whereMissing(json: Json): null {
    const stray = NODE_KEYS.find((key) => !isMissing(json[key]));
    const how = stray === undefined ? "" : `: "${stray}" belongs inside it, as in {"where":{"${stray}":…}}`;
    this.#fault("", `where is missing${how}`);
    this.#unknownKeys(json, stray === undefined ? ["where"] : ["where", ...NODE_KEYS], "");
    return null;
  }

  /** @param depth number of enclosing `and` and `or`. */
  #node(json: unknown, at: string, depth: number): Filter | null {
    if (!isObject(json)) {
      this.#fault(at, `must be an object, not ${kindOf(json)}`);
      return null;
    }
    this.#unknownKeys(json, NODE_KEYS, at);
    const present = NODE_KEYS.filter((key) => !isMissing(json[key]));
    const groups = GROUP_KEYS.filter((key) => present.includes(key));
    const [kind] = groups;
    if (kind === undefined) return this.#condition(json, at);
    if (present.length > 1) {
      const others = NODE_KEYS.filter((key) => key !== kind);
      this.#fault(at, `${kind} can't be set with ${others.slice(0, -1).join(", ")} or ${others.at(-1)}`);
    }
    if (depth === FILTER_MAX_DEPTH) {
      this.#fault(at, `nested too deeply: and, or nest at most ${FILTER_MAX_DEPTH} levels`);
      return null;
    }
    const [nodes = null] = groups.map((group) => this.#nodes(json[group], `${at}.${group}`, depth + 1));
    return nodes === null ? null : { kind, nodes };
  }

  #nodes(json: unknown, at: string, depth: number): Filter[] | null {
    if (!Array.isArray(json)) {
      this.#fault(at, `must be an array, not ${kindOf(json)}`);
      return null;
    }
    if (json.length === 0) {
      this.#fault(at, "must not be empty");
      return null;
    }
    const nodes = json.map((node, i) => this.#node(node, `${at}[${i}]`, depth)).filter((node) => node !== null);
    return nodes.length === json.length ? nodes : null;
  }

  #condition(json: Json, at: string): FilterCondition | null {
    this.#operators += 1;
    const key = this.#key(json.key, at);
    const operator = this.#operator(json.operator, at);
    if (isMissing(json.value)) this.#fault(at, "value is missing");
    if (operator === null || isMissing(json.value)) return null;
    if (key !== null && !appliesTo(operator, key.type)) {
      const others = operatorsOn(key.type).join(", ");
      this.#fault(
        `${at}.operator`,
        `${operator.name} does not apply to ${key.path.join(".")} (${key.type}); ${others} do`,
      );
      return null;
    }
    // With an invalid key, the value is checked as for any type.
    const type = key?.type ?? "any";
    const test = readTest(operator.test, type, json.value, (below, why) => this.#fault(`${at}.value${below}`, why));
    if (key === null || test === null) return null;
    return { kind: "condition", path: key.path, test, negated: operator.negated };
  }

  #key(key: unknown, at: string): ResolvedKey | null {
    const text = this.#text(key, "key", at);
    if (text === null) return null;
    const resolved = resolveKey(text, this.#extra);
    if (typeof resolved !== "string") return resolved;
    this.#fault(`${at}.key`, resolved);
    return null;
  }

  #operator(name: unknown, at: string): Operator | null {
    const text = this.#text(name, "operator", at);
    if (text === null) return null;
    const operator = OPERATORS.get(text);
    if (operator !== undefined) return operator;
    const known = [...OPERATORS.keys()];
    const meant = nearest(text, known);
    const help = meant === undefined ? `; operators are ${known.join(", ")}` : hint(meant);
    this.#fault(`${at}.operator`, `unknown operator ${quote(text)}${help}`);
    return null;
  }

  #text(value: unknown, name: string, at: string): string | null {
    if (typeof value === "string" && value !== "") return value;
    if (value === "" || isMissing(value)) this.#fault(at, `${name} is missing`);
    else this.#fault(`${at}.${name}`, `must be a string, not ${kindOf(value)}`);
    return null;
  }

  #unknownKeys(json: Json, known: readonly string[], at: string): void {
    for (const key of Object.keys(json)) {
      if (!known.includes(key)) this.#fault(at, `unknown key ${quote(key)}${hint(nearest(key, known))}`);
    }
  }

  #fault(at: string, why: string): void {
    if (this.faults.length < ERRORS_MAX_ENTRIES) this.faults.push(`bad predicate: ${at === "" ? "" : `${at}: `}${why}`);
  }
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "boolean" ? "a bool" : `a ${typeof value}`;
}
