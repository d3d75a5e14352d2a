/**
 * Adds to and removes from a list between brackets or braces, in JSONC and TOML, where only white
 * space, comments and commas stand between the items.
 */
import {
  type Edit,
  endsLine,
  indentation,
  isBlank,
  lineEnding,
  lineStart,
  nextLine,
  type Range,
  skipSpaces,
  skipSpacesBack,
  startsLine,
} from "./text.ts";

export interface List {
  /** The range between the brackets. */
  readonly inner: Range;
  readonly items: readonly Range[];
}

/** A text with the comments in it, in their order. */
export interface Source {
  readonly text: string;
  readonly comments: readonly Range[];
}

/** The style of an item in an empty list. */
export interface ListStyle {
  /** One step of indentation. */
  readonly unit: string;
  /** Whether the first item of an empty list gets a line of its own. */
  readonly ownLine?: boolean;
  /** Stands between the brackets and the first item of an empty list. */
  readonly padding?: string;
  /** No white space after commas. */
  readonly compact?: boolean;
}

/**
 * Adds an item after the last one, in its style: on a line of its own and with a trailing comma if
 * the last one has these.
 * @param write gives the item's text for the indentation of its line.
 */
export function insertLast(source: Source, list: List, write: (indent: string) => string, style: ListStyle): Edit[] {
  const { text } = source;
  const last = list.items.at(-1);
  if (last === undefined) return insertFirst(source, list, write, style);
  const eol = lineEnding(text);
  const { comma, end, inLineComment } = tailOf(source, last, list.inner.end);
  if (startsLine(text, last.start) || inLineComment) {
    const indent = startsLine(text, last.start)
      ? indentation(text, last.start)
      : indentation(text, list.inner.end) + style.unit;
    const added = { start: end, end, text: `${eol}${indent}${write(indent)}${comma === null ? "" : ","}` };
    return comma === null ? [{ start: last.end, end: last.end, text: "," }, added] : [added];
  }
  const gap = style.compact ? "" : " ";
  const item = write(indentation(text, last.start));
  return [{ start: end, end, text: comma === null ? `,${gap}${item}` : `${gap}${item},` }];
}

function insertFirst(source: Source, list: List, write: (indent: string) => string, style: ListStyle): Edit[] {
  const { text } = source;
  const { inner } = list;
  const eol = lineEnding(text);
  const interior = text.slice(inner.start, inner.end);
  const outer = /^[ \t]*/.exec(text.slice(lineStart(text, inner.end)))?.[0] ?? "";
  const comments = commentsIn(source, inner);
  const at = comments.at(-1)?.end ?? inner.start;
  if (interior.includes("\n")) {
    const own = comments.findLast((comment) => startsLine(text, comment.start));
    const indent = own === undefined ? outer + style.unit : indentation(text, own.start);
    return [{ start: at, end: at, text: `${eol}${indent}${write(indent)}` }];
  }
  if (comments.length > 0) return [{ start: at, end: at, text: ` ${write(outer)}` }];
  const added = style.ownLine
    ? `${eol}${outer}${style.unit}${write(outer + style.unit)}${eol}${outer}`
    : `${style.padding ?? ""}${write(outer)}${style.padding ?? ""}`;
  return [{ ...inner, text: added }];
}

/**
 * Removes an item with its comma, and its line if nothing else is on it. Every comment outside of
 * the item stays.
 */
export function removeItem(source: Source, list: List, index: number): Edit[] {
  const { text } = source;
  const item = list.items[index];
  if (item === undefined) throw new RangeError(`the list has no item ${index}`);
  if (list.items.length === 1 && !hasOtherComments(source, list)) return [{ ...list.inner, text: "" }];
  const next = list.items[index + 1];
  const previous = list.items[index - 1];
  const edits: Edit[] = [];
  let { end } = item;
  const after = commaIn(source, item.end, next?.start ?? list.inner.end);
  if (after !== null) {
    if (isBlank(text.slice(end, after))) end = after + 1;
    else edits.push({ start: after, end: after + 1, text: "" });
  } else if (previous !== undefined) {
    // The last item had no comma, so the new last one has none.
    const before = commaIn(source, previous.end, item.start);
    if (before === null) throw new RangeError(`there is no comma before item ${index}`);
    const start = isBlank(text.slice(previous.end, before)) ? previous.end : before;
    edits.push({ start, end: before + 1, text: "" });
  }
  const isFollowed = next !== undefined && isBlank(text.slice(end, next.start));
  return [...edits, { ...widened(text, { start: item.start, end }, isFollowed), text: "" }];
}

/** Whether the list has comments outside of its items; removing the list would remove them. */
export function hasOtherComments(source: Source, list: List): boolean {
  return commentsIn(source, list.inner).some(
    (comment) => !list.items.some((item) => item.start <= comment.start && comment.end <= item.end),
  );
}

/** The white space that is removed along with an item. */
function widened(text: string, { start, end }: Range, isFollowed: boolean): Range {
  if (startsLine(text, start)) {
    if (endsLine(text, end)) return { start: lineStart(text, start), end: nextLine(text, end) };
    return { start, end: skipSpaces(text, end) };
  }
  if (isFollowed && !endsLine(text, end)) return { start, end: skipSpaces(text, end) };
  return { start: skipSpacesBack(text, start), end };
}

function commentsIn({ comments }: Source, { start, end }: Range): Range[] {
  return comments.filter((comment) => start <= comment.start && comment.end <= end);
}

function commaIn({ text, comments }: Source, from: number, to: number): number | null {
  const ends = new Map(comments.map((comment) => [comment.start, comment.end]));
  for (let at = from; at < to; at = ends.get(at) ?? at + 1) if (text[at] === ",") return at;
  return null;
}

/** What follows the last item on its line: its comma, and comments on it. */
function tailOf({ text, comments }: Source, item: Range, limit: number) {
  const ends = new Map(comments.map((comment) => [comment.start, comment.end]));
  let comma: number | null = null;
  let { end } = item;
  let inLineComment = false;
  let at = item.end;
  while (at < limit) {
    const commentEnd = ends.get(at);
    if (commentEnd !== undefined) {
      inLineComment = !text.startsWith("/*", at);
      at = commentEnd;
      end = at;
    } else if (text[at] === ",") {
      comma = at;
      at += 1;
      end = at;
    } else if (text[at] === " " || text[at] === "\t") {
      at += 1;
    } else {
      break;
    }
  }
  // A comma on a later line still belongs to the item.
  comma ??= commaIn({ text, comments }, item.end, limit);
  if (comma !== null && comma >= end) end = comma + 1;
  return { comma, end, inLineComment: inLineComment && (comma === null || comma < end - 1) };
}
