/**
 * Project files in JSON with comments, edited by the positions of their syntax tree, so that all
 * else stays byte for byte.
 */
import { type Node, type ParseError, parse, parseTree, printParseErrorCode, visit } from "jsonc-parser";
import { hasOtherComments, insertLast, type List, type ListStyle, removeItem, type Source } from "./lists.ts";
import {
  CONSUMERS,
  isObject,
  type Json,
  type Language,
  PREVIEWS,
  ProjectFault,
  pathOf,
  refuseDepth,
  type Spot,
  spotName,
} from "./model.ts";
import { applyEdits, indentation, lineEnding, plain, position, type Range, startsLine } from "./text.ts";

/** As wrangler reads `wrangler.json` and `wrangler.jsonc`. */
const OPTIONS = { allowTrailingComma: true };

/** Names that decide where a consumer goes. One that stands twice is ambiguous. */
const NAMES = ["env", CONSUMERS, "logpush", "logship", "name", PREVIEWS];

export const jsonc: Language = { parse: parseText, comments: commentTexts, add, remove };

function parseText(text: string): Json {
  const errors: ParseError[] = [];
  refuseDeepText(text);
  const value: unknown = parse(text, errors, OPTIONS);
  const [error] = errors;
  if (error !== undefined) {
    const { line, column } = position(text, error.offset);
    throw new ProjectFault(`${line}:${column}: not JSON: ${printParseErrorCode(error.error)}`);
  }
  if (!isObject(value)) throw new ProjectFault("1:1: not a JSON object");
  refuseDepth(value);
  const root = rootOf(text);
  const environments = child(root, "env");
  if (environments?.type === "object") refuseTwins(text, environments, null);
  for (const spot of spotsOf(root)) refuseTwins(text, spot, NAMES);
  return value;
}

/** The parser is recursive. */
function refuseDeepText(text: string): void {
  try {
    visit(text, {}, OPTIONS);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ProjectFault("nested too deeply");
  }
}

/**
 * @throws ProjectFault if a property stands twice in an object (for wrangler the last one counts),
 *   or is no name.
 */
function refuseTwins(text: string, object: Node, names: readonly string[] | null): void {
  const seen = new Set<string>();
  for (const property of object.children ?? []) {
    const key = String(property.children?.[0]?.value);
    // The parser would set the prototype with it, and its value would be lost.
    if (key === "__proto__") throw faultAt(text, property, "is not allowed as a name");
    if (seen.has(key) && (names === null || names.includes(key)))
      throw faultAt(text, property, "appears a second time");
    seen.add(key);
  }
}

function faultAt(text: string, property: Node, what: string): ProjectFault {
  const { line, column } = position(text, property.offset);
  return new ProjectFault(`${line}:${column}: "${plain(String(property.children?.[0]?.value))}" ${what}`);
}

function add(text: string, spot: Spot, service: string): string {
  const source = sourceOf(text);
  const object = objectOf(text, spot);
  const style = styleOf(text);
  const gap = style.compact ? "" : " ";
  const existing = child(object, CONSUMERS);
  if (existing !== undefined) {
    const last = existing.children?.at(-1);
    const lastText = last === undefined ? "" : text.slice(last.offset, last.offset + last.length);
    const padding = lastText.startsWith('{"') ? "" : gap;
    const write = (indent: string) =>
      lastText.includes("\n") ? longEntry(text, service, indent, style) : entry(service, gap, padding);
    return applyEdits(text, insertLast(source, listOf(existing), write, style));
  }
  const write = () => `${JSON.stringify(CONSUMERS)}:${gap}[${entry(service, gap, gap)}]`;
  // An empty object on lines of its own gets the entry on a line of its own.
  const ownLine = !style.compact && (object.parent === undefined || startsLine(text, object.parent.offset));
  return applyEdits(text, insertLast(source, listOf(object), write, { ...style, ownLine, padding: gap }));
}

function remove(text: string, spot: Spot, index: number): string {
  const source = sourceOf(text);
  const object = objectOf(text, spot);
  const consumers = child(object, CONSUMERS);
  if (consumers === undefined) throw new ProjectFault(`there is no ${CONSUMERS}`);
  const list = listOf(consumers);
  if (list.items.length > 1 || hasOtherComments(source, list)) return applyEdits(text, removeItem(source, list, index));
  const properties = object.children ?? [];
  const at = properties.findIndex((property) => property.children?.[1] === consumers);
  const property = properties[at];
  const own = source.comments.some(
    ({ start, end }) =>
      property !== undefined &&
      property.offset <= start &&
      end <= property.offset + property.length &&
      !list.items.some((item) => item.start <= start && end <= item.end),
  );
  // A comment between the name and the brackets keeps the list.
  return applyEdits(text, own ? removeItem(source, list, index) : removeItem(source, listOf(object), at));
}

function entry(service: string, gap: string, padding: string): string {
  return `{${padding}"service":${gap}${JSON.stringify(service)}${padding}}`;
}

function longEntry(text: string, service: string, indent: string, { unit }: ListStyle): string {
  const eol = lineEnding(text);
  return `{${eol}${indent}${unit}"service": ${JSON.stringify(service)}${eol}${indent}}`;
}

function styleOf(text: string): ListStyle {
  const first = rootOf(text).children?.[0];
  const indent = first !== undefined && startsLine(text, first.offset) ? indentation(text, first.offset) : "";
  return { unit: indent === "" ? "  " : indent, compact: /^\s*\{\s*"(?:[^"\\]|\\.)*":\S/.test(text) };
}

function commentTexts(text: string): string[] {
  const entries = spotsOf(rootOf(text)).flatMap((object) => child(object, CONSUMERS)?.children ?? []);
  return sourceOf(text)
    .comments.filter(
      ({ start, end }) => !entries.some(({ offset, length }) => offset <= start && end <= offset + length),
    )
    .map(({ start, end }) => text.slice(start, end));
}

function sourceOf(text: string): Source {
  const comments: Range[] = [];
  visit(text, { onComment: (start, length) => void comments.push({ start, end: start + length }) }, OPTIONS);
  return { text, comments };
}

function rootOf(text: string): Node {
  const root = parseTree(text, [], OPTIONS);
  if (root?.type !== "object") throw new ProjectFault("1:1: not a JSON object");
  return root;
}

/** The objects of all places and of their previews. */
function spotsOf(root: Node): Node[] {
  const environments = child(root, "env")?.children?.flatMap((property) => property.children?.[1] ?? []) ?? [];
  return [root, ...environments]
    .flatMap((place) => [place, child(place, PREVIEWS)])
    .filter((object): object is Node => object?.type === "object");
}

function objectOf(text: string, spot: Spot): Node {
  let object: Node | undefined = rootOf(text);
  for (const key of pathOf(spot)) object = object && child(object, key);
  if (object?.type !== "object") throw new ProjectFault(`there is no object for ${spotName(spot)}`);
  return object;
}

function child(object: Node, key: string): Node | undefined {
  if (object.type !== "object") return undefined;
  return object.children?.find((property) => property.children?.[0]?.value === key)?.children?.[1];
}

function listOf({ offset, length, children = [] }: Node): List {
  return {
    inner: { start: offset + 1, end: offset + length - 1 },
    items: children.map((each) => ({ start: each.offset, end: each.offset + each.length })),
  };
}
