import { encodeUtf8 } from "../../../base/bytes.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
const LINE_FEED = 0x0a;

/** Where in some lines the values of each record stand. */
export interface Slices {
  records: number;
  /** By field, then record: the first byte of its JSON, and the one after it. */
  starts: readonly Int32Array[];
  ends: readonly Int32Array[];
  /** Where each line begins; one more than records: where the last one ends. */
  lines: Int32Array;
  /** Records whose line is none of these fields: all of their values are empty. */
  unread: readonly number[];
}

/**
 * Finds the values of records in lines of JSON, each of which has these fields and no others, in
 * this order, as `JSON.stringify` writes them. Nothing is parsed: each byte is looked at once.
 * @param lines each ends with a line feed.
 */
export function sliceLines(lines: Uint8Array, fields: readonly string[]): Slices {
  const records = countLines(lines);
  const starts = fields.map(() => new Int32Array(records));
  const ends = fields.map(() => new Int32Array(records));
  const begins = new Int32Array(records + 1);
  const unread: number[] = [];
  const keys = fields.map((name, i) => encodeUtf8(`${i === 0 ? "{" : ","}${JSON.stringify(name)}:`));
  for (let record = 0, from = 0; record < records; record++) {
    const end = lines.indexOf(LINE_FEED, from);
    begins[record] = from;
    let at = from;
    for (let field = 0; field < keys.length && at !== -1; field++) {
      const key = keys[field] as Uint8Array;
      if (!startsWith(lines, key, at)) {
        at = -1;
        break;
      }
      const value = at + key.length;
      at = endOfValue(lines, value, end);
      (starts[field] as Int32Array)[record] = value;
      (ends[field] as Int32Array)[record] = at;
    }
    if (at === -1 || lines[at] !== BRACE_END || at + 1 !== end) {
      unread.push(record);
      for (const each of [...starts, ...ends]) each[record] = from;
    }
    from = end + 1;
    begins[record + 1] = from;
  }
  return { records, starts, ends, lines: begins, unread };
}

function countLines(lines: Uint8Array): number {
  let count = 0;
  for (let at = lines.indexOf(LINE_FEED); at !== -1; at = lines.indexOf(LINE_FEED, at + 1)) count += 1;
  return count;
}

function startsWith(bytes: Uint8Array, wanted: Uint8Array, at: number): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

/** Where a JSON value ends. @returns the place behind it; -1: it does not end before `end`. */
function endOfValue(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  const first = bytes[at];
  if (first === QUOTE) return endOfString(bytes, at, end);
  if (first !== BRACE && first !== BRACKET) {
    while (at < end && bytes[at] !== COMMA && bytes[at] !== BRACE_END) at += 1;
    return at > from && at < end ? at : -1;
  }
  let depth = 0;
  do {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at, end);
      if (at === -1) return -1;
      continue;
    }
    if (byte === BRACE || byte === BRACKET) depth += 1;
    else if (byte === BRACE_END || byte === BRACKET_END) depth -= 1;
    at += 1;
  } while (depth > 0 && at < end);
  return depth === 0 ? at : -1;
}

function endOfString(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from + 1; at < end; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at += 1;
  }
  return -1;
}
