import type { Filter, FilterCondition } from "../filter/parse.ts";

/** A text as a phrase. */
export function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}

/**
 * The filter of a job in the language of searches: what the filter keeps, that finds. It may find
 * more: a filter tells upper from lower case, and leads into no arrays.
 */
export function filterAsQuery(filter: Filter): string {
  switch (filter.kind) {
    case "and":
      return filter.nodes.map((node) => (node.kind === "or" ? bracketed(node) : filterAsQuery(node))).join(" ");
    case "or":
      return filter.nodes.map((node) => (node.kind === "and" ? bracketed(node) : filterAsQuery(node))).join(" OR ");
    case "condition":
      return `${filter.negated ? "-" : ""}${named(filter.path.join("."))}:${testText(filter)}`;
  }
}

function bracketed(filter: Filter): string {
  const text = filterAsQuery(filter);
  return "nodes" in filter && filter.nodes.length > 1 ? `(${text})` : text;
}

function named(key: string): string {
  return /^[\p{L}_$@][\p{L}\p{N}_$-]*(?:\.[\p{L}\p{N}_$-]+)*$/u.test(key) ? key : quoted(key);
}

const COMPARED = { lt: "<", leq: "<=", gt: ">", geq: ">=" } as const;

/** Lists whose elements `contains` compares as a whole. */
const isOfElements = ({ path: [field, ...below] }: FilterCondition): boolean =>
  field === "ScriptTags" && below.length === 0;

/** Texts of whose parts a field alone finds each. */
const isOfTexts = ({ path: [field, ...below] }: FilterCondition): boolean =>
  below.length === 0 && ["Exceptions", "ExceptionStacks", "LogErrors", "Logs"].includes(field);

function testText(condition: FilterCondition): string {
  const { test } = condition;
  switch (test.kind) {
    case "eq":
      return valueText(test.text);
    case "in": {
      const texts = test.texts.map(valueText);
      return texts.length === 1 ? (texts[0] as string) : `(${texts.join(" OR ")})`;
    }
    case "startsWith":
      return `${valueText(test.text)}*`;
    case "endsWith":
      return `*${valueText(test.text)}`;
    case "contains":
      return isOfElements(condition) || isOfTexts(condition) ? valueText(test.text) : `*${valueText(test.text)}*`;
    default:
      return `${COMPARED[test.kind]}${test.bound}`;
  }
}

/** In quotes where it might be read as something else. */
function valueText(text: string): string {
  return /^(?!\/\/|-|(?:OR|AND)$)[\p{L}\p{N}_./@-]+$/u.test(text) ? text : quoted(text);
}
