const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

/** The values in some lines. */
export interface Slices {
  /** With their line feeds. */
  lines: string[];
  /** By field, then record: its JSON. */
  values: string[][];
  /** Records whose line is none of these fields: all of their values are empty. */
  unread: number[];
}

/**
 * Finds the values of records in lines of JSON, each of which has these fields and no others, in
 * this order, as `JSON.stringify` writes them. Nothing is parsed, and nothing is copied.
 * @param text lines, each of which ends with a line feed.
 */
export function sliceLines(text: string, fields: readonly string[]): Slices {
  const lines: string[] = [];
  const values = fields.map((): string[] => []);
  const unread: number[] = [];
  const keys = fields.map((name, i) => `${i === 0 ? "{" : ","}${JSON.stringify(name)}:`);
  for (let from = 0, end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
    let at = from;
    for (let field = 0; field < keys.length && at !== -1; field++) {
      const key = keys[field] as string;
      const start = at + key.length;
      at = text.startsWith(key, at) ? endOfValue(text, start, end) : -1;
      if (at !== -1) values[field]?.push(text.slice(start, at));
    }
    if (at === -1 || text.charCodeAt(at) !== BRACE_END || at + 1 !== end) {
      for (const each of values) each[lines.length] = "";
      unread.push(lines.length);
    }
    lines.push(text.slice(from, end + 1));
    from = end + 1;
  }
  return { lines, values, unread };
}

/** Where a JSON value ends. @returns the place behind it; -1: it does not end before `end`. */
function endOfValue(text: string, from: number, end: number): number {
  let at = from;
  const first = text.charCodeAt(at);
  if (first === QUOTE) return endOfString(text, at, end);
  if (first !== BRACE && first !== BRACKET) {
    while (at < end && text.charCodeAt(at) !== COMMA && text.charCodeAt(at) !== BRACE_END) at += 1;
    return at > from && at < end ? at : -1;
  }
  let depth = 0;
  do {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at, end);
      if (at === -1) return -1;
      continue;
    }
    if (code === BRACE || code === BRACKET) depth += 1;
    else if (code === BRACE_END || code === BRACKET_END) depth -= 1;
    at += 1;
  } while (depth > 0 && at < end);
  return depth === 0 ? at : -1;
}

function endOfString(text: string, from: number, end: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1 && at < end; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 1) return at + 1;
  }
  return -1;
}
