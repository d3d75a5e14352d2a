import { latin1 } from "../../base/bytes.ts";

const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
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

/** What may follow a backslash, apart from `u`. */
const ESCAPED: ReadonlySet<number> = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)));

const LITERALS: ReadonlyMap<number, readonly number[]> = new Map(
  ["true", "false", "null"].map((word) => [word.charCodeAt(0), [...word].map((char) => char.charCodeAt(0))]),
);

/** After the last byte. */
const END = -1;

/**
 * Reads JSON (RFC 8259) byte by byte, and makes nothing of it: `JSON.parse` of a small text can
 * take fifty times its size, so size, depth and number of values are looked at first. It takes what
 * `JSON.parse` takes, and nothing else. Linear in time; in memory one bit for each open level.
 */
export class JsonScanner {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #bounded: { key: Uint8Array; levels: number };
  #at: number;
  #blank = 0;
  #depth = 0;
  /** A bit for each open level: whether it is an object. */
  #isObject = new Uint8Array(16);
  #isBounded = false;
  /** Of the last value: its size without white space between tokens, in bytes. */
  compact = 0;
  /** Of the last value: it has more levels of objects and arrays than it may have. */
  isDeep = false;
  /** Of the last value: `JSON.parse` changes no number, and no key or its place. */
  isKept = true;
  #hasEscape = false;

  /**
   * @param bytes valid UTF-8.
   * @param from the first byte. @param to after the last.
   * @param bounded `levels` that a value may have where they are below `key`, as it stands there
   *   with its quotes.
   */
  constructor(bytes: Uint8Array, from: number, to: number, bounded: { key: Uint8Array; levels: number }) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = to;
    this.#bounded = bounded;
  }

  /** Where the next token is looked for. */
  get at(): number {
    return this.#at;
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

  /** Passes over one value, and white space before it. @returns whether there is one. */
  value(): boolean {
    this.isDeep = false;
    this.isKept = true;
    this.#isBounded = false;
    this.#depth = 0;
    this.#next();
    const from = this.#at;
    this.#blank = 0;
    while (this.#opened()) {
      // Until the next value is to come, or this one has ended.
      for (;;) {
        if (this.#depth === 0) {
          this.compact = this.#at - from - this.#blank;
          return true;
        }
        const char = this.#next();
        this.#at += 1;
        const isObject = this.#isInObject();
        if (char === COMMA) {
          if (isObject && !this.#key()) return false;
          break;
        }
        if (char !== (isObject ? CLOSE_OBJECT : CLOSE_LIST)) return false;
        this.#depth -= 1;
      }
    }
    return false;
  }

  /**
   * Passes over a value that has no parts, or over the beginning of one up to its first part that
   * has none.
   */
  #opened(): boolean {
    for (;;) {
      const char = this.#next();
      if (char === OPEN_OBJECT) {
        this.#open(true);
        if (this.#next() !== CLOSE_OBJECT) {
          if (!this.#key()) return false;
          continue;
        }
      } else if (char === OPEN_LIST) {
        this.#open(false);
        if (this.#next() !== CLOSE_LIST) continue;
      } else return this.#plain(char);
      this.#at += 1;
      this.#depth -= 1;
      return true;
    }
  }

  #open(isObject: boolean): void {
    this.#at += 1;
    const byte = this.#depth >> 3;
    const bit = 1 << (this.#depth & 7);
    if (byte === this.#isObject.length) {
      const wider = new Uint8Array(2 * byte);
      wider.set(this.#isObject);
      this.#isObject = wider;
    }
    const bits = this.#isObject[byte] as number;
    this.#isObject[byte] = isObject ? bits | bit : bits & ~bit;
    this.#depth += 1;
    if (this.#isBounded && this.#depth > this.#bounded.levels) this.isDeep = true;
  }

  #isInObject(): boolean {
    const last = this.#depth - 1;
    return ((this.#isObject[last >> 3] as number) & (1 << (last & 7))) !== 0;
  }

  /** Passes over a key and the colon behind it. */
  #key(): boolean {
    if (this.#next() !== QUOTE) return false;
    const from = this.#at;
    this.#hasEscape = false;
    if (!this.#string()) return false;
    // An integer moves to the front; V8 may take one key with an escape for another.
    if (this.#hasEscape || isDigit(this.#bytes[from + 1] as number)) this.isKept = false;
    if (this.#depth === 1) this.#isBounded = this.#isBoundedKey(from);
    if (this.#next() !== COLON) return false;
    this.#at += 1;
    return true;
  }

  /** Without a view of it: one for each key takes longer than the rest of the key. */
  #isBoundedKey(from: number): boolean {
    const { key } = this.#bounded;
    if (this.#at - from !== key.length) return false;
    for (let i = 0; i < key.length; i++) if (this.#bytes[from + i] !== key[i]) return false;
    return true;
  }

  #plain(char: number): boolean {
    if (char === QUOTE) return this.#string();
    const literal = LITERALS.get(char);
    if (literal === undefined) return this.#number();
    for (const expected of literal) {
      if (this.#peek() !== expected) return false;
      this.#at += 1;
    }
    return true;
  }

  #string(): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    for (let at = this.#at + 1; at < end; at++) {
      const char = bytes[at] as number;
      if (char === QUOTE) {
        this.#at = at + 1;
        return true;
      }
      if (char < SPACE) return false;
      if (char !== BACKSLASH) continue;
      this.#hasEscape = true;
      at += 1;
      const escaped = at < end ? (bytes[at] as number) : END;
      if (escaped === LOWER_U) {
        for (let digits = 0; digits < 4; digits++) {
          at += 1;
          if (at >= end || !isHex(bytes[at] as number)) return false;
        }
      } else if (!ESCAPED.has(escaped)) return false;
    }
    return false;
  }

  #number(): boolean {
    const from = this.#at;
    if (!this.#numeral()) return false;
    // Of most, no text is made: they are short, and have no sign, exponent or zeros to lose.
    const [bytes, end] = [this.#bytes, this.#at];
    let isShort = end - from <= 15;
    for (let at = from; isShort && at < end; at++)
      isShort =
        isDigit(bytes[at] as number) || (bytes[at] === POINT && bytes[from] !== ZERO && bytes[end - 1] !== ZERO);
    if (isShort || !this.isKept) return true;
    const written = latin1(bytes.subarray(from, end));
    this.isKept = String(Number(written)) === written;
    return true;
  }

  #numeral(): boolean {
    if (this.#peek() === MINUS) this.#at += 1;
    if (this.#peek() === ZERO) this.#at += 1;
    else if (!this.#digits()) return false;
    if (this.#peek() === POINT) {
      this.#at += 1;
      if (!this.#digits()) return false;
    }
    if (this.#peek() === LOWER_E || this.#peek() === UPPER_E) {
      this.#at += 1;
      if (this.#peek() === PLUS || this.#peek() === MINUS) this.#at += 1;
      return this.#digits();
    }
    return true;
  }

  #digits(): boolean {
    const from = this.#at;
    while (isDigit(this.#peek())) this.#at += 1;
    return this.#at > from;
  }

  #peek(): number {
    return this.#at < this.#end ? (this.#bytes[this.#at] as number) : END;
  }

  /** The next character that is not white space. */
  #next(): number {
    const from = this.#at;
    let char = this.#peek();
    while (char === SPACE || char === NEWLINE || char === RETURN || char === TAB) {
      this.#at += 1;
      char = this.#peek();
    }
    this.#blank += this.#at - from;
    return char;
  }
}

function isDigit(char: number): boolean {
  return char >= ZERO && char <= NINE;
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
