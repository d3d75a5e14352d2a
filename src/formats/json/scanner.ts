import { encodeUtf8, latin1 } from "../../base/bytes.ts";
import { EVENT_MAX_DEPTH } from "../../base/limits.ts";

const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const SLASH = 0x2f;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const UPPER_E = 0x45;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const LOWER_E = 0x65;
const LOWER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** What stands in a string as it is: not the end of it, no escape, no control character. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, char) =>
  char < SPACE || char === QUOTE || char === BACKSLASH ? 0 : 1,
);

/** What may follow a backslash, apart from `u`: 1 where `JSON.stringify` writes it, else 2. */
const ESCAPED = Uint8Array.from({ length: 256 }, (_, char) => {
  if (char === SLASH) return 2;
  return '"\\bfnrt'.includes(String.fromCharCode(char)) ? 1 : 0;
});

/** So many keys of one object are compared with each other. */
const KEYS_MAX = 64;

/** A text to compare with: its bytes, and four of them at a time. */
export interface Literal {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly last: number;
}

export function literal(text: string): Literal {
  const bytes = encodeUtf8(text);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const words = Int32Array.from({ length: bytes.length >> 2 }, (_, i) => view.getInt32(4 * i, true));
  return { bytes, words, last: bytes.length < 4 ? 0 : view.getInt32(bytes.length - 4, true) };
}

const LITERALS: ReadonlyMap<number, Literal> = new Map(
  ["true", "false", "null"].map((word) => [word.charCodeAt(0), literal(word)]),
);

/** After the last byte. */
const END = -1;
/** What comes is none of the kind. */
const NONE = -1;

/**
 * Reads JSON (RFC 8259) byte by byte, and makes nothing of it: `JSON.parse` of a small text can
 * take fifty times its size, so size, depth and number of values are looked at first. It takes what
 * `JSON.parse` takes, and nothing else. Linear in time; in memory one bit for each open level.
 */
export class JsonScanner {
  readonly #bytes: Uint8Array;
  readonly #words: DataView;
  readonly #bounded: { key: Literal; levels: number };
  #end: number;
  #at: number;
  /** A bit for each open level: whether it is an object. */
  #isObject = new Uint8Array(16);
  readonly #keys: Keys;
  #blank = 0;
  #isBounded = false;
  /** Of the last value: its size without white space between tokens, in bytes. */
  compact = 0;
  /** Of the last value: it has more levels of objects and arrays than it may have. */
  isDeep = false;
  /** Of the last value: `JSON.parse` changes no number, and no key or its place. */
  isKept = true;
  /** Of the strings since: one has an escape; one that `JSON.stringify` does not write. */
  #hasEscape = false;
  #isOdd = false;

  /**
   * @param bytes valid UTF-8.
   * @param from the first byte. @param to after the last.
   * @param bounded `levels` that a value may have where they are below `key`, as it stands there
   *   with its quotes.
   */
  constructor(bytes: Uint8Array, from: number, to: number, bounded: { key: Literal; levels: number }) {
    this.#bytes = bytes;
    this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#keys = new Keys(bytes, this.#words);
    this.#at = from;
    this.#end = to;
    this.#bounded = bounded;
  }

  /** Where the next token is looked for. */
  get at(): number {
    return this.#at;
  }

  /** Goes on elsewhere in the same bytes. @param to after the last byte. */
  moveTo(from: number, to = this.#end): void {
    this.#at = from;
    this.#end = to;
  }

  /** Passes over white space. @returns whether nothing else is left. */
  isAtEnd(): boolean {
    return this.#next() === END;
  }

  /** Passes over white space, then over this character if it is next. */
  passes(char: "[" | "]" | ","): boolean {
    if (this.#next() !== char.charCodeAt(0)) return false;
    this.#at += 1;
    return true;
  }

  /** Passes over these bytes if they are next. */
  is(text: Literal): boolean {
    if (!this.#isAt(this.#at, text)) return false;
    this.#at += text.bytes.length;
    return true;
  }

  #isAt(from: number, { bytes, words, last }: Literal): boolean {
    const { length } = bytes;
    if (from + length > this.#end) return false;
    if (length < 4) {
      for (let i = 0; i < length; i++) if (this.#bytes[from + i] !== bytes[i]) return false;
      return true;
    }
    const own = this.#words;
    for (let i = 0; i < words.length; i++) if (own.getInt32(from + 4 * i, true) !== words[i]) return false;
    return own.getInt32(from + length - 4, true) === last;
  }

  /** Passes over a string that is written as `JSON.stringify` writes it. */
  string(): boolean {
    this.#isOdd = false;
    const end = this.#stringEnd(this.#at);
    if (end === NONE || this.#isOdd) return false;
    this.#at = end;
    return true;
  }

  /** Passes over a whole number of at most 15 digits. @returns -1: there is none. */
  whole(): number {
    const [bytes, from] = [this.#bytes, this.#at];
    let number = 0;
    let at = from;
    for (; at < this.#end && isDigit(bytes[at] as number); at++) number = 10 * number + (bytes[at] as number) - ZERO;
    const digits = at - from;
    if (digits === 0 || digits > 15 || (bytes[from] === ZERO && digits > 1)) return -1;
    this.#at = at;
    return number;
  }

  /**
   * Passes over an object that `JSON.stringify` writes just so when `JSON.parse` has read it: no
   * white space, no odd escape or number, no key that moves or is repeated, at most
   * {@link EVENT_MAX_DEPTH} levels.
   * @returns its keys, until the next one is passed; null: it may be written otherwise.
   */
  exactObject(): Keys | null {
    const from = this.#at;
    this.#keys.clear();
    this.#isOdd = false;
    const isExact = this.#bytes[from] === OPEN_OBJECT && this.value(this.#keys) && this.compact === this.#at - from;
    return isExact && this.isKept && !this.#isOdd ? this.#keys : null;
  }

  /**
   * Passes over one value, and white space before it. @returns whether there is one.
   * @param keys absent: any. Else no key of an object may be repeated, and there may be
   *   {@link EVENT_MAX_DEPTH} levels at most: of others it says that there is no value.
   */
  value(keys: Keys | null = null): boolean {
    this.isDeep = false;
    this.isKept = true;
    this.#next();
    this.#blank = 0;
    this.#isBounded = false;
    const bytes = this.#bytes;
    const from = this.#at;
    let at = from;
    let depth = 0;
    let isObject = false;
    for (;;) {
      // A value comes.
      at = this.#skip(at);
      const char = at < this.#end ? (bytes[at] as number) : END;
      if (char === OPEN_OBJECT || char === OPEN_LIST) {
        isObject = char === OPEN_OBJECT;
        this.#setObject(depth++, isObject);
        if (this.#isBounded && depth > this.#bounded.levels) this.isDeep = true;
        if (keys !== null && depth > EVENT_MAX_DEPTH) return false;
        if (isObject) keys?.open();
        at = this.#skip(at + 1);
        if (at >= this.#end || bytes[at] !== (isObject ? CLOSE_OBJECT : CLOSE_LIST)) {
          if (isObject) at = this.#keyEnd(at, depth, keys);
          if (at === NONE) return false;
          continue;
        }
      } else {
        at = char === QUOTE ? this.#stringEnd(at) : this.#plainEnd(at, char);
        if (at === NONE) return false;
      }
      // It is followed by the end of what it is in, until something else follows.
      let isMore = false;
      while (depth > 0 && !isMore) {
        at = this.#skip(at);
        if (at >= this.#end) return false;
        const next = bytes[at] as number;
        at += 1;
        if (next === COMMA) isMore = true;
        else if (next !== (isObject ? CLOSE_OBJECT : CLOSE_LIST)) return false;
        else {
          if (isObject) keys?.close();
          depth -= 1;
          isObject = depth > 0 && this.#isObjectAt(depth - 1);
        }
      }
      if (!isMore) break;
      if (isObject) at = this.#keyEnd(this.#skip(at), depth, keys);
      if (at === NONE) return false;
    }
    this.#at = at;
    this.compact = at - from - this.#blank;
    return true;
  }

  /** Where a key and the colon behind it end. */
  #keyEnd(from: number, depth: number, keys: Keys | null): number {
    this.#hasEscape = false;
    const to = this.#stringEnd(from);
    if (to === NONE) return NONE;
    const bytes = this.#bytes;
    // An integer moves to the front; V8 may take one key with an escape for another.
    if (this.#hasEscape || isDigit(bytes[from + 1] as number)) this.isKept = false;
    if (keys !== null && !keys.isNew(from, to)) return NONE;
    const { key } = this.#bounded;
    if (depth === 1) this.#isBounded = to - from === key.bytes.length && this.#isAt(from, key);
    const at = this.#skip(to);
    return at < this.#end && bytes[at] === COLON ? at + 1 : NONE;
  }

  /** Where white space ends. */
  #skip(from: number): number {
    const bytes = this.#bytes;
    if (from >= this.#end || (bytes[from] as number) > SPACE) return from;
    let at = from;
    while (at < this.#end && isBlank(bytes[at] as number)) at++;
    this.#blank += at - from;
    return at;
  }

  #setObject(level: number, isObject: boolean): void {
    const byte = level >> 3;
    const bit = 1 << (level & 7);
    if (byte === this.#isObject.length) {
      const wider = new Uint8Array(2 * byte);
      wider.set(this.#isObject);
      this.#isObject = wider;
    }
    const bits = this.#isObject[byte] as number;
    this.#isObject[byte] = isObject ? bits | bit : bits & ~bit;
  }

  #isObjectAt(level: number): boolean {
    return ((this.#isObject[level >> 3] as number) & (1 << (level & 7))) !== 0;
  }

  /** Where a literal or number ends. @param char its first. */
  #plainEnd(from: number, char: number): number {
    const word = LITERALS.get(char);
    if (word === undefined) return this.#numberEnd(from);
    return this.#isAt(from, word) ? from + word.bytes.length : NONE;
  }

  /** Where a string ends, behind its last quote. */
  #stringEnd(from: number): number {
    const [bytes, words, end] = [this.#bytes, this.#words, this.#end];
    if (from >= end || bytes[from] !== QUOTE) return NONE;
    for (let at = from + 1; ; at++) {
      // Four at a time, up to a quote, a backslash or a control character among them.
      for (; at + 4 <= end && !hasMark(words.getInt32(at, true)); at += 4);
      while (at < end && PLAIN[bytes[at] as number] === 1) at++;
      if (at >= end) return NONE;
      const char = bytes[at] as number;
      if (char === QUOTE) return at + 1;
      if (char !== BACKSLASH) return NONE;
      this.#hasEscape = true;
      at += 1;
      const escaped = at < end ? (bytes[at] as number) : 0;
      if (escaped === LOWER_U) {
        if (at + 4 >= end) return NONE;
        for (let digit = 1; digit <= 4; digit++) if (!isHex(bytes[at + digit] as number)) return NONE;
        if (!isWritten(bytes, at + 1)) this.#isOdd = true;
        at += 4;
      } else if (ESCAPED[escaped] === 0) return NONE;
      else if (ESCAPED[escaped] === 2) this.#isOdd = true;
    }
  }

  #numberEnd(from: number): number {
    const [bytes, limit] = [this.#bytes, this.#end];
    let at = bytes[from] === MINUS ? from + 1 : from;
    const whole = at;
    at = at < limit && bytes[at] === ZERO ? at + 1 : digitsEnd(bytes, at, limit);
    if (at === whole) return NONE;
    if (at < limit && bytes[at] === POINT) {
      const fraction = at + 1;
      at = digitsEnd(bytes, fraction, limit);
      if (at === fraction) return NONE;
    }
    if (at < limit && (bytes[at] === LOWER_E || bytes[at] === UPPER_E)) {
      at += 1;
      if (at < limit && (bytes[at] === PLUS || bytes[at] === MINUS)) at += 1;
      const exponent = at;
      at = digitsEnd(bytes, at, limit);
      if (at === exponent) return NONE;
    }
    if (this.isKept) this.isKept = isKeptNumber(bytes, from, at);
    return at;
  }

  /** The next character that is not white space. */
  #next(): number {
    this.#at = this.#skip(this.#at);
    return this.#at < this.#end ? (this.#bytes[this.#at] as number) : END;
  }
}

/** The keys of open objects, of which those of one object are compared with each other. */
class Keys {
  readonly #bytes: Uint8Array;
  readonly #words: DataView;
  /** Where each begins and ends, with its quotes: pairs. */
  #places = new Int32Array(64);
  #length = 0;
  /** Where those of the innermost object begin, and of those around it. */
  #first = 0;
  readonly #outer: number[] = [];

  constructor(bytes: Uint8Array, words: DataView) {
    this.#bytes = bytes;
    this.#words = words;
  }

  clear(): void {
    this.#length = 0;
    this.#first = 0;
    this.#outer.length = 0;
  }

  /** How many the outermost object has, once it has ended. */
  get count(): number {
    return this.#length / 2;
  }

  /** Where one of these begins. */
  at(index: number): number {
    return this.#places[2 * index] as number;
  }

  open(): void {
    this.#outer.push(this.#first);
    this.#first = this.#length;
  }

  /** Those of the outermost object stay. */
  close(): void {
    if (this.#outer.length > 1) this.#length = this.#first;
    this.#first = this.#outer.pop() ?? 0;
  }

  /** Whether the innermost object had no such key before; of too many, it is not known. */
  isNew(from: number, to: number): boolean {
    const [bytes, words, length, first] = [this.#bytes, this.#words, this.#length, this.#first];
    const size = to - from;
    if (length === this.#places.length) {
      const more = new Int32Array(2 * length);
      more.set(this.#places);
      this.#places = more;
    }
    const places = this.#places;
    places[length] = from;
    places[length + 1] = to;
    this.#length = length + 2;
    for (let i = first; i < length; i += 2) {
      const before = places[i] as number;
      if ((places[i + 1] as number) - before !== size) continue;
      let at = 1;
      // Four at a time: long keys may differ in their last byte alone.
      while (at + 4 <= size && words.getInt32(before + at) === words.getInt32(from + at)) at += 4;
      while (at < size && bytes[before + at] === bytes[from + at]) at++;
      if (at === size) return false;
    }
    return length - first < 2 * KEYS_MAX;
  }
}

function digitsEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && isDigit(bytes[at] as number)) at++;
  return at;
}

function isBlank(char: number): boolean {
  return char === SPACE || char === NEWLINE || char === RETURN || char === TAB;
}

/**
 * Whether one of four bytes may be a quote, a backslash or a control character: a byte of `x ^ c`
 * is 0 where that of `x` is c, and a byte minus 1 borrows from its highest bit where it is 0.
 */
function hasMark(x: number): boolean {
  const quote = x ^ 0x22222222;
  const backslash = x ^ 0x5c5c5c5c;
  const found = ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash) | ((x - 0x20202020) & ~x);
  return (found & 0x80808080) !== 0;
}

/** Whether `JSON.parse` keeps a number as it is written. */
function isKeptNumber(bytes: Uint8Array, from: number, to: number): boolean {
  // Of most, no text is made: they are short, and have no sign, exponent or zeros to lose.
  let isShort = to - from <= 15;
  for (let at = from; isShort && at < to; at++)
    isShort = isDigit(bytes[at] as number) || (bytes[at] === POINT && bytes[from] !== ZERO && bytes[to - 1] !== ZERO);
  if (isShort) return true;
  const written = latin1(bytes.subarray(from, to));
  return String(Number(written)) === written;
}

function isDigit(char: number): boolean {
  return char >= ZERO && char <= NINE;
}

/** Whether `JSON.stringify` writes a character by these digits: one without a letter of its own. */
function isWritten(bytes: Uint8Array, at: number): boolean {
  const [third, last] = [bytes[at + 2] as number, bytes[at + 3] as number];
  if (bytes[at] !== ZERO || bytes[at + 1] !== ZERO || (third !== ZERO && third !== ZERO + 1)) return false;
  // Capitals are not written.
  if (!isDigit(last) && last < 0x61) return false;
  const code = 16 * (third - ZERO) + (isDigit(last) ? last - ZERO : last - 0x57);
  return code < 8 || code === 0x0b || code > 0x0d;
}

function isHex(char: number): boolean {
  const letter = char | 0x20;
  return isDigit(char) || (letter >= 0x61 && letter <= 0x66);
}

/** Length of the white space that begins at `at`, as `String.trim` has it, in bytes of UTF-8. */
function blankAt(bytes: Uint8Array, at: number, to: number): 0 | 1 | 2 | 3 {
  const [first, second, third] = [bytes[at] ?? 0, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0];
  if (at + 1 <= to && (first === SPACE || (first >= TAB && first <= RETURN))) return 1;
  if (first < 0x80) return 0;
  if (at + 2 <= to && first === 0xc2 && second === 0xa0) return 2;
  if (at + 3 > to) return 0;
  const code = (first << 16) | (second << 8) | third;
  const isBlank =
    code === 0xe19a80 ||
    (code >= 0xe28080 && code <= 0xe2808a) ||
    code === 0xe280a8 ||
    code === 0xe280a9 ||
    code === 0xe280af ||
    code === 0xe2819f ||
    code === 0xe38080 ||
    code === 0xefbbbf;
  return isBlank ? 3 : 0;
}

/**
 * What `String.trim` leaves of a text.
 * @param bytes valid UTF-8. @param to after the last byte.
 */
export function trimmed(bytes: Uint8Array, from: number, to: number): { from: number; to: number } {
  let start = from;
  for (let blank = blankAt(bytes, start, to); blank > 0; blank = blankAt(bytes, start, to)) start += blank;
  let end = to;
  for (;;) {
    const blank = ([1, 2, 3] as const).find((size) => end - size >= start && blankAt(bytes, end - size, end) === size);
    if (blank === undefined) return { from: start, to: end };
    end -= blank;
  }
}
