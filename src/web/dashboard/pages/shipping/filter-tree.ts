import { FILTER_MAX_DEPTH, FILTER_MAX_OPERATORS } from "../../../../base/limits.ts";
import { plain, quoted, unquoted } from "./text.ts";

/** A filter as the builder shows it: of the right shape, but not checked for meaning. */
export type FilterNode = FilterGroup | FilterCondition;

export interface FilterGroup {
  readonly join: Join;
  readonly nodes: readonly FilterNode[];
}
export type Join = "and" | "or";

export interface FilterCondition {
  readonly key: string;
  readonly operator: string;
  readonly value: FilterValue;
}
export type Scalar = string | number | boolean;
export type FilterValue = Scalar | readonly Scalar[];

/** A new condition. */
export const BLANK: FilterCondition = { key: "", operator: "eq", value: "" };

/** How deep the builder nests groups. A deeper filter is still shown. */
export const BUILDER_MAX_DEPTH = 5;

export function isGroup(node: FilterNode): node is FilterGroup {
  return "join" in node;
}

/**
 * Parses a filter for the builder. `root` null: no filter. `ok` false: the builder cannot show it.
 */
export function readTree(text: string): { ok: true; root: FilterNode | null } | { ok: false } {
  if (text === "") return { ok: true, root: null };
  try {
    const json: unknown = JSON.parse(text);
    if (!hasOnly(json, ["where"])) return { ok: false };
    const left = { conditions: FILTER_MAX_OPERATORS };
    return { ok: true, root: readNode(json.where, 0, left) };
  } catch (error) {
    if (error instanceof SyntaxError || error === UNFIT) return { ok: false };
    throw error;
  }
}

const UNFIT = new Error("not for the builder");

function readNode(json: unknown, depth: number, left: { conditions: number }): FilterNode {
  for (const join of ["and", "or"] as const) {
    if (!hasOnly(json, [join])) continue;
    const nodes = json[join];
    if (!Array.isArray(nodes) || nodes.length === 0 || depth === FILTER_MAX_DEPTH) throw UNFIT;
    return { join, nodes: nodes.map((node) => readNode(node, depth + 1, left)) };
  }
  left.conditions -= 1;
  if (left.conditions < 0 || !hasOnly(json, ["key", "operator", "value"])) throw UNFIT;
  const { key, operator, value } = json;
  if (typeof key !== "string" || typeof operator !== "string" || !isValue(value)) throw UNFIT;
  return { key, operator, value };
}

/** Whether it is an object with exactly these keys. null counts as absent, as in a filter. */
function hasOnly(json: unknown, keys: readonly string[]): json is { readonly [key: string]: unknown } {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return false;
  const there = Object.entries(json).filter(([, value]) => value !== null);
  const known = ["where", "and", "or", "key", "operator", "value"];
  if (Object.keys(json).some((key) => !known.includes(key))) return false;
  return there.length === keys.length && there.every(([key]) => keys.includes(key));
}

function isValue(value: unknown): value is FilterValue {
  return isScalar(value) || (Array.isArray(value) && value.every(isScalar));
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

/** The text of a filter. "" for none. */
export function writeTree(root: FilterNode | null): string {
  return root === null ? "" : JSON.stringify({ where: toJson(root) });
}

function toJson(node: FilterNode): object {
  return isGroup(node) ? { [node.join]: node.nodes.map(toJson) } : node;
}

/** Maps every node, outermost first. Nodes are numbered in this order, from 0. */
export function mapTree(
  root: FilterNode,
  map: { group(join: Join, n: number): Join; condition(condition: FilterCondition, n: number): FilterCondition },
): FilterNode {
  let next = 0;
  const walk = (node: FilterNode): FilterNode => {
    const n = next++;
    if (!isGroup(node)) return map.condition(node, n);
    return { join: map.group(node.join, n), nodes: node.nodes.map(walk) };
  };
  return walk(root);
}

/** A node and its position. */
export interface Placed {
  node: FilterNode;
  /** As {@link mapTree} numbers it. */
  n: number;
  /** Among the groups, or among the conditions, from 1. */
  number: number;
  /** As the API names it: `where.and[1]`. */
  place: string;
  /** Groups around it. */
  depth: number;
  nodes: readonly Placed[];
}

export function placed(root: FilterNode): Placed {
  const next = { n: 0, group: 1, condition: 1 };
  const walk = (node: FilterNode, place: string, depth: number): Placed => {
    const n = next.n++;
    if (!isGroup(node)) return { node, n, number: next.condition++, place, depth, nodes: [] };
    const number = next.group++;
    const nodes = node.nodes.map((each, i) => walk(each, `${place}.${node.join}[${i}]`, depth + 1));
    return { node, n, number, place, depth, nodes };
  };
  return walk(root, "where", 0);
}

export type Change = "add" | "group" | "remove";

/** Adds a condition or a group to node `at`, or removes the node. */
export function changedTree(root: FilterNode | null, change: Change, at: number): FilterNode | null {
  if (root === null) return change === "add" ? BLANK : change === "group" ? { join: "and", nodes: [BLANK] } : null;
  // A single condition becomes the first of a group.
  if (!isGroup(root) && change !== "remove") return { join: "and", nodes: [root, added(change, "and")] };
  let next = 0;
  const walk = (node: FilterNode): FilterNode | null => {
    const isIt = next++ === at;
    const nodes = isGroup(node) ? node.nodes.map(walk).filter((each) => each !== null) : [];
    if (isIt && change === "remove") return null;
    if (!isGroup(node)) return node;
    if (isIt && change !== "remove") nodes.push(added(change, node.join));
    return nodes.length === 0 ? null : { join: node.join, nodes };
  };
  return walk(root);
}

function added(change: Exclude<Change, "remove">, around: Join): FilterNode {
  return change === "add" ? BLANK : { join: around === "and" ? "or" : "and", nodes: [BLANK] };
}

export function takesList(operator: string): boolean {
  return operator === "in" || operator === "!in";
}

const TEXT_ALONE = /^!?(?:startsWith|endsWith|contains)$/;
const NUMBER_ALONE = /^(?:lt|leq|gt|geq)$/;

/** Reads unquoted text as a number or a bool where the operator takes one, else as text. */
function inferred(text: string, operator: string): Scalar {
  if (TEXT_ALONE.test(operator)) return text;
  const number = Number(text);
  // Beyond 2^53 a number loses digits: for equality it stays text.
  const isExact = NUMBER_ALONE.test(operator) || Math.abs(number) <= Number.MAX_SAFE_INTEGER;
  if (Number.isFinite(number) && isExact && String(number) === text) return number;
  if (!takesList(operator) && !NUMBER_ALONE.test(operator) && (text === "true" || text === "false"))
    return text === "true";
  return text;
}

/** A value as its field shows it, lists one per line. Text that reads as a number is quoted. */
export function shownValue(value: FilterValue, operator: string): string {
  if (Array.isArray(value)) return value.map((each: Scalar) => shownScalar(each, "in")).join("\n");
  return shownScalar(value as Scalar, operator);
}

function shownScalar(value: Scalar, operator: string): string {
  if (typeof value !== "string") return String(value);
  const shown = plain(value);
  // In a list, an empty line is skipped.
  const isTaken = shown === value && (inferred(value, operator) !== value || (value === "" && takesList(operator)));
  return isTaken ? quoted(value) : shown;
}

/** Reads the value of a field. */
export function readValue(shown: string, operator: string): FilterValue {
  const each = shown.split("\n").filter((line) => line !== "");
  if (takesList(operator)) return each.map((line) => readScalar(line, operator));
  // Several values where one is wanted: the API refuses them.
  return each.length > 1 ? each.map((line) => readScalar(line, operator)) : readScalar(each[0] ?? "", operator);
}

function readScalar(shown: string, operator: string): Scalar {
  const text = unquoted(shown);
  return text === shown ? inferred(text, operator) : text;
}
