import type { Filter, FilterCondition } from "../filter/parse.ts";

/** A text as a phrase. */
export function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}

/**
 * A field with this value. @param isBegun more may follow.
 */
export function fieldTerm(name: string, value: string, isBegun: boolean): string {
  return `${named(name)}:${isBegun ? `${quoted(value)}*` : valueText(value)}`;
}

/** A field with any value. */
export function anyTerm(name: string): string {
  return `${named(name)}:*`;
}

/**
 * The filter of a job in the language of searches: what the filter keeps, that finds. It may find
 * more: a filter tells upper from lower case, and leads into no arrays.
 */
export function filterAsQuery(filter: Filter): string {
  switch (filter.kind) {
    case "and":
      return filter.nodes.map((node) => within(node, "or")).join(" ");
    case "or":
      return filter.nodes.map((node) => within(node, "and")).join(" OR ");
    case "condition":
      return `${filter.negated ? "-" : ""}${named(filter.path.join("."))}:${testText(filter)}`;
  }
}

function within(filter: Filter, other: "and" | "or"): string {
  return filter.kind === other ? `(${filterAsQuery(filter)})` : filterAsQuery(filter);
}

function named(key: string): string {
  return /^[\p{L}_$@][\p{L}\p{N}_$-]*(?:\.[\p{L}\p{N}_$-]+)*$/u.test(key) ? key : quoted(key);
}

const COMPARED = { lt: "<", leq: "<=", gt: ">", geq: ">=" } as const;

function testText({ path, test }: FilterCondition): string {
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
      // Of a list of names, one is it.
      return path.join(".") === "ScriptTags" ? valueText(test.text) : `*${valueText(test.text)}*`;
    default:
      return `${COMPARED[test.kind]}${test.bound}`;
  }
}

/** In quotes where it might be read as something else. */
function valueText(text: string): string {
  return /^(?!\/\/|-|(?:OR|AND)$)[\p{L}\p{N}_./@-]+$/u.test(text) ? text : quoted(text);
}
