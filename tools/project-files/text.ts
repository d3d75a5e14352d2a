/**
 * Positions in a text, and changes to it. Offsets count UTF-16 code units; the end is exclusive.
 */

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Replaces the range from `start` to `end` by `text`. */
export interface Edit extends Range {
  readonly text: string;
}

/** @throws RangeError if two edits overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = "";
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    if (edit.start < at) throw new RangeError(`two edits overlap at offset ${edit.start}`);
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at);
}

/** The line ending of most lines; of a text of one line, `\n`. */
export function lineEnding(text: string): "\n" | "\r\n" {
  const all = text.split("\n").length - 1;
  const windows = text.split("\r\n").length - 1;
  return windows * 2 > all ? "\r\n" : "\n";
}

/** Where the line begins that the offset is in. */
export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

/** Where the line's text ends, before its line ending. */
export function lineEnd(text: string, offset: number): number {
  const end = text.indexOf("\n", offset);
  if (end === -1) return text.length;
  return end > offset && text[end - 1] === "\r" ? end - 1 : end;
}

/** Where the next line begins; the text's end if there is none. */
export function nextLine(text: string, offset: number): number {
  const end = text.indexOf("\n", offset);
  return end === -1 ? text.length : end + 1;
}

/** The white space at the beginning of the line, up to the offset. */
export function indentation(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? "";
}

/** Whether nothing but white space stands before the offset in its line. */
export function startsLine(text: string, offset: number): boolean {
  return isBlank(text.slice(lineStart(text, offset), offset));
}

/** Whether nothing but white space stands after the offset in its line. */
export function endsLine(text: string, offset: number): boolean {
  return isBlank(text.slice(offset, lineEnd(text, offset)));
}

export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** Spaces and tabs from the offset on: where they end. */
export function skipSpaces(text: string, offset: number): number {
  let at = offset;
  while (text[at] === " " || text[at] === "\t") at += 1;
  return at;
}

/** Spaces and tabs before the offset: where they begin. */
export function skipSpacesBack(text: string, offset: number): number {
  let at = offset;
  while (text[at - 1] === " " || text[at - 1] === "\t") at -= 1;
  return at;
}

/** Line and column of an offset, both from 1. */
export function position(text: string, offset: number): { line: number; column: number } {
  const start = lineStart(text, offset);
  return { line: text.slice(0, start).split("\n").length, column: offset - start + 1 };
}

/**
 * Names and texts of a project file are untrusted: no character may steer the terminal or break the
 * line.
 * @param most characters of it that are shown.
 */
export function plain(text: string, most = 200): string {
  const escaped = (character: string) => `\\u{${character.codePointAt(0)?.toString(16)}}`;
  return text.slice(0, most).replace(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Cs}/gu, escaped);
}
