/**
 * Project files in TOML, edited by the positions of a syntax tree, because the library's own
 * additions move comments. Another parser checks the result.
 */
import { parse, TomlError } from "smol-toml";
import { hasOtherComments, insertLast, type ListStyle, removeItem } from "./lists.ts";
import {
  CONSUMERS,
  isConsumers,
  isObject,
  type Json,
  type Language,
  ProjectFault,
  pathOf,
  refuseDepth,
  type Spot,
} from "./model.ts";
import {
  applyEdits,
  type Edit,
  endsLine,
  indentation,
  isBlank,
  lineEnd,
  lineEnding,
  lineStart,
  nextLine,
  type Range,
  skipSpaces,
} from "./text.ts";
import { type Block, isPath, type Pair, readTree, startsWith, type Tree, writtenKey } from "./toml-tree.ts";

export const toml: Language = { parse: parseText, comments: commentTexts, add, remove };

const STYLE: ListStyle = { unit: "  ", padding: " " };

function parseText(text: string): Json {
  try {
    const value: unknown = parse(text);
    if (!isObject(value)) throw new ProjectFault("1:1: not a TOML table");
    refuseDepth(value);
    return value;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split("\n")[0]?.replace("Invalid TOML document: ", "") ?? "";
    throw new ProjectFault(`${error.line}:${error.column}: not TOML: ${reason}`);
  }
}

function add(text: string, spot: Spot, service: string): string {
  const tree = readTree(text);
  const path = pathOf(spot);
  return applyEdits(
    text,
    addToArray(tree, [...path, CONSUMERS], service) ??
      addTable(tree, [...path, CONSUMERS], service) ??
      addProperty(tree, path, service),
  );
}

function entry(service: string, padding: string): string {
  return `{${padding}service = ${JSON.stringify(service)}${padding}}`;
}

function addToArray({ source, pairs }: Tree, path: string[], service: string): Edit[] | null {
  const pair = pairs.find((each) => isPath(each.path, path));
  if (pair === undefined) return null;
  if (pair.list === null || pair.value.type !== "InlineArray") throw new ProjectFault(`${CONSUMERS} is not an array`);
  const last = pair.list.items.at(-1);
  const padding = last !== undefined && /^\{\S/.test(source.text.slice(last.start)) ? "" : " ";
  return insertLast(source, pair.list, () => entry(service, padding), { unit: STYLE.unit });
}

/** One more `[[tail_consumers]]` after the last one, set off by an empty line if that one is. */
function addTable({ source: { text }, blocks }: Tree, path: string[], service: string): Edit[] | null {
  const last = blocks.findLast((block) => block.kind === "array" && isPath(block.path, path));
  if (last === undefined) return null;
  // Tables below an entry are part of it.
  const end = blockEnd(text, blocks.findLast((block) => startsWith(block.path, path)) ?? last);
  const eol = lineEnding(text);
  const indent = indentation(text, last.header.start);
  const start = lineStart(text, last.header.start);
  const before = start === 0 ? "" : text.slice(lineStart(text, start - 1), start);
  const gap = start > 0 && isBlank(before) ? eol : "";
  const header = text.slice(last.header.start, last.header.end);
  const inner = last.pairs[0] === undefined ? indent : indentation(text, last.pairs[0].start);
  return insertion(end, `${eol}${gap}${indent}${header}${eol}${inner}service = ${JSON.stringify(service)}`);
}

/** A line among the keys of this path: a TOML table ends where the next header begins. */
function addProperty(tree: Tree, path: string[], service: string): Edit[] {
  const { source, blocks, pairs } = tree;
  const property = `${CONSUMERS} = [${entry(service, " ")}]`;
  const { text } = source;
  const eol = lineEnding(text);
  const table = blocks.find((block) => block.kind !== "array" && isPath(block.path, path));
  if (table !== undefined) {
    const last = table.pairs.at(-1);
    if (last === undefined && table.kind === "root") return addAtTop(tree, property);
    const indent = indentation(text, (last ?? table.header).start);
    return insertion(blockEnd(text, table), `${eol}${indent}${property}`);
  }
  const inline = pairs.find((pair) => isPath(pair.path, path) && pair.value.type === "InlineTable");
  if (inline?.list) return insertLast(source, inline.list, () => property, STYLE);
  const dotted = pairs.findLast(
    ({ path: each, base }) => each.length > path.length && startsWith(each, path) && base.length < path.length,
  );
  if (dotted !== undefined) {
    const key = `${writtenKey(path.slice(dotted.base.length))}.${property}`;
    if (dotted.parent?.list) return insertLast(source, dotted.parent.list, () => key, STYLE);
    const end = lineEnd(text, dotted.end);
    return insertion(end, `${eol}${indentation(text, dotted.start)}${key}`);
  }
  const below = blocks.find((block) => block.path.length > path.length && startsWith(block.path, path));
  if (below === undefined) throw new ProjectFault(`found no place to insert in [${writtenKey(path)}]`);
  return addFirstTable(text, below, [...path, CONSUMERS], service);
}

/**
 * Above the first table below a place that has no header: without one of its own, `--detach` leaves
 * none behind.
 */
function addFirstTable(text: string, below: Block, path: string[], service: string): Edit[] {
  const eol = lineEnding(text);
  const at = aboveHeader(text, below);
  const isApart = at === 0 || isBlank(text.slice(lineStart(text, at - 1), at));
  const indent = indentation(text, below.header.start);
  const lines = [`[[${writtenKey(path)}]]`, `service = ${JSON.stringify(service)}`];
  return insertion(at, `${lines.map((line) => `${indent}${line}${eol}`).join("")}${isApart ? eol : ""}`);
}

/**
 * For a file without a key at the top level: before the first header, or it would be in that table.
 */
function addAtTop({ source: { text }, blocks }: Tree, property: string): Edit[] {
  const eol = lineEnding(text);
  const first = blocks[1];
  if (first !== undefined) return insertion(aboveHeader(text, first), `${property}${eol}${eol}`);
  const isOpen = text !== "" && !text.endsWith("\n");
  return insertion(text.length, isOpen ? `${eol}${property}` : `${property}${eol}`);
}

function remove(text: string, spot: Spot, index: number): string {
  const tree = readTree(text);
  const { source, blocks, pairs } = tree;
  const own = pathOf(spot);
  const path = [...own, CONSUMERS];
  const tables = blocks.filter((block) => block.kind === "array" && isPath(block.path, path));
  const table = tables[index];
  if (table !== undefined) {
    const edits =
      keepsSpot(tree, own) || tables.length > 1
        ? removeTable(source.comments, text, table)
        : emptyTable(text, table, `[${writtenKey(own)}]`);
    return applyEdits(text, edits);
  }
  const pair = pairs.find((each) => isPath(each.path, path));
  if (!pair?.list) throw new ProjectFault(`there is no ${CONSUMERS}`);
  if (pair.list.items.length > 1 || hasOtherComments(source, pair.list) || !keepsSpot(tree, own)) {
    return applyEdits(text, removeItem(source, pair.list, index));
  }
  if (pair.parent?.list) {
    const at = pair.parent.list.items.findIndex(({ start }) => start === pair.start);
    return applyEdits(text, removeItem(source, pair.parent.list, at));
  }
  return applyEdits(text, [cutHere(text, pair)]);
}

/** Whether a spot still exists without its consumers: they may be all that it has. */
function keepsSpot({ blocks, pairs }: Tree, path: readonly string[]): boolean {
  const isOther = (other: readonly string[]) =>
    startsWith(other, path) && !(other[path.length] === CONSUMERS && other.length > path.length);
  return path.length === 0 || blocks.some((block) => isOther(block.path)) || pairs.some((pair) => isOther(pair.path));
}

/** Replaces the only entry of a spot by the spot's header. */
function emptyTable(text: string, table: Block, header: string): Edit[] {
  return [{ ...table.header, text: header }, ...table.pairs.map((pair) => cutHere(text, pair))];
}

/** Header and pairs of an entry; comments on their lines and between them stay. */
function removeTable(comments: readonly Range[], text: string, table: Block): Edit[] {
  const end = blockEnd(text, table);
  const parts: Range[] = [table.header, ...table.pairs];
  const isPlain = !comments.some(
    (comment) =>
      lineStart(text, table.header.start) <= comment.start &&
      comment.end <= end &&
      !table.pairs.some((pair) => pair.start <= comment.start && comment.end <= pair.end),
  );
  return isPlain ? [cutLines(text, { start: table.header.start, end })] : parts.map((part) => cutHere(text, part));
}

function commentTexts(text: string): string[] {
  const { source, pairs } = readTree(text);
  const entries = pairs
    .filter(({ path }) => isConsumers(path))
    .flatMap((pair: Pair) => (pair.value.type === "InlineArray" ? (pair.list?.items ?? []) : []));
  return source.comments
    .filter(({ start, end }) => !entries.some((entry) => entry.start <= start && end <= entry.end))
    .map(({ start, end }) => text.slice(start, end).trimEnd());
}

/** Where the line of a block's last pair ends; of a block without one, that of its header. */
function blockEnd(text: string, { header, pairs }: Block): number {
  return lineEnd(text, (pairs.at(-1) ?? header).end);
}

/** The beginning of the comments that stand directly above a header. */
function aboveHeader(text: string, { header }: Block): number {
  let at = lineStart(text, header.start);
  while (at > 0) {
    const above = lineStart(text, at - 1);
    if (!text.slice(above, at).trimStart().startsWith("#")) break;
    at = above;
  }
  return at;
}

function insertion(at: number, text: string): Edit[] {
  return [{ start: at, end: at, text }];
}

/** Removes a range: with its lines if nothing else is on them, else up to the comment after it. */
function cutHere(text: string, { start, end }: Range): Edit {
  return endsLine(text, end) ? cutLines(text, { start, end }) : { start, end: skipSpaces(text, end), text: "" };
}

/**
 * Removes whole lines. Of two empty lines that would come together one goes. The line ending at the
 * end of the text stays as it was.
 */
function cutLines(text: string, range: Range): Edit {
  let start = lineStart(text, range.start);
  let end = nextLine(text, range.end);
  const above = start === 0 ? 0 : lineStart(text, start - 1);
  const isOpenAbove = isBlank(text.slice(above, start));
  const isOpenBelow = isBlank(text.slice(end, nextLine(text, end)));
  if (isOpenAbove && isOpenBelow) {
    if (start > 0) start = above;
    else end = nextLine(text, end);
  }
  if (end === text.length && !text.endsWith("\n") && start > 0) start -= lineEnding(text).length;
  return { start, end, text: "" };
}
