import { parsedJson } from "../../../../base/bytes.ts";
import type { ErrorEntry, Fault } from "../../../../base/errors.ts";
import { DO_FIELD } from "../../parts/form.tsx";
import { inShort, type ShippingBody } from "./body.ts";
import {
  type Change,
  changedTree,
  type FilterCondition,
  type FilterNode,
  mapTree,
  readTree,
  readValue,
  shownValue,
  writeTree,
} from "./filter-tree.ts";
import { lines, mayBe, plain, unquoted } from "./text.ts";

/**
 * The names of the builder's fields. The shape of the tree is not among them: it follows from
 * `FILTER_WAS`.
 */
export const FILTER_WAS = "filter-was";
export const FILTER_JSON = "filter-json";
export const joinField = (n: number) => `join-${n}`;
export const keyField = (n: number) => `key-${n}`;
export const operatorField = (n: number) => `operator-${n}`;
export const valueField = (n: number) => `value-${n}`;

/** The value of a builder button: a change to node `n`; `show` only shows the form again. */
export const filterDo = (change: Change | "show", n = 0) => `filter:${change}:${n}`;

const DO = /^filter:(add|group|remove|show):(\d{1,4})$/;

/**
 * Reads the filter of a form. An untouched filter keeps its exact text. Edited JSON goes before the
 * builder.
 * @returns the filter, and whether a button of the builder was pressed.
 */
export function readFilter(form: URLSearchParams, before: ShippingBody): { filter: string; again: boolean } {
  const was = filterWas(form.get(FILTER_WAS), before.filter ?? "");
  const [, change, at] = DO.exec(form.get(DO_FIELD) ?? "") ?? [];
  const again = change !== undefined;
  const typed = form.get(FILTER_JSON);
  if (typed !== null && !mayBe(typed, was, true)) return { filter: lines(typed).trim(), again };
  const tree = readTree(was);
  if (!tree.ok) return { filter: was, again };
  const built = tree.root === null ? null : overlaid(tree.root, form);
  const next = change === undefined || change === "show" ? built : changedTree(built, change as Change, Number(at));
  const filter = writeTree(next);
  return { filter: filter === writeTree(tree.root) ? was : filter, again };
}

/**
 * The filter that the form was made from. The form holds it as a JSON string, in which no browser
 * changes line breaks.
 */
function filterWas(sent: string | null, otherwise: string): string {
  const was = parsedJson(sent ?? "null");
  return typeof was === "string" ? was : otherwise;
}

/** The tree with the values of the form. */
function overlaid(root: FilterNode, form: URLSearchParams): FilterNode {
  return mapTree(root, {
    group(join, n) {
      const sent = form.get(joinField(n));
      return sent === "and" || sent === "or" ? sent : join;
    },
    condition: (condition, n) => readCondition(condition, form, n),
  });
}

function readCondition(was: FilterCondition, form: URLSearchParams, n: number): FilterCondition {
  const sentKey = form.get(keyField(n)) ?? plain(was.key);
  const operator = form.get(operatorField(n)) ?? was.operator;
  const shown = shownValue(was.value, was.operator);
  const value = lines(form.get(valueField(n)) ?? shown);
  const untouched = operator === was.operator && value === shown;
  return {
    key: sentKey === plain(was.key) ? was.key : unquoted(sentKey.trim()),
    operator,
    value: untouched ? was.value : readValue(value, operator),
  };
}

/** The API's faults of a filter, each with the place of its node; "": of no node. */
export function filterFaults(faults: readonly ErrorEntry[]): Fault[] {
  return faults
    .filter(({ source }) => source?.pointer === "/filter")
    .map(({ message }) => {
      const words = inShort(message);
      const [, place = ""] = /^bad predicate: (where(?:\.(?:and|or)\[\d+\])*)/.exec(words) ?? [];
      return { pointer: place, message: words };
    });
}
