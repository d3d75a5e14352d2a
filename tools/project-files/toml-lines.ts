/** Removes lines from a text. */
import { type Edit, endsLine, isBlank, lineEnding, lineStart, nextLine, type Range, skipSpaces } from "./text.ts";

/** Removes a range: with its lines if nothing else is on them, else up to the comment after it. */
export function cutHere(text: string, { start, end }: Range): Edit {
  return endsLine(text, end) ? cutLines(text, { start, end }) : { start, end: skipSpaces(text, end), text: "" };
}

/**
 * Removes whole lines. Of two empty lines that would come together one goes. The line ending at the
 * end of the text stays as it was.
 */
export function cutLines(text: string, range: Range): Edit {
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
