/**
 * Bytes, text and JSON. The only file that uses `Buffer`, which the runtime's declarations leave
 * partly untyped.
 */
import { Buffer, isUtf8 } from "node:buffer";

/** Joins byte arrays in a new buffer. */
export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Frees the memory of bytes at once: large buffers pile up before the collector comes. They must
 * not be read afterwards. A view of a part of a buffer frees nothing.
 */
export function free(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && bytes.length > buffer.byteLength / 2) buffer.transfer(0);
}

/** Up to so many bytes, a loop is faster than a view of them. */
const SHORT_BYTES = 64;

/** Copies some bytes. @returns where they end. */
export function copyBytes(bytes: Uint8Array, from: number, to: number, into: Uint8Array, at: number): number {
  if (to - from > SHORT_BYTES) into.set(bytes.subarray(from, to), at);
  else for (let i = 0; i < to - from; i++) into[at + i] = bytes[from + i] as number;
  return at + to - from;
}

const NEWLINE = 0x0a;

/** Bytes as words, for {@link newlineIn}. */
export function wordsOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

/**
 * Where the next newline is, or the end. Eight bytes at a time: a byte of `x ^ newlines` is 0 where
 * that of `x` is one, and a byte minus 1 borrows from its highest bit where it is 0. `indexOf` of
 * bytes looks at one at a time.
 */
export function newlineIn(bytes: Uint8Array, words: DataView, from: number): number {
  let at = from;
  for (; at + 8 <= bytes.length; at += 8) {
    const a = words.getInt32(at) ^ 0x0a0a0a0a;
    const b = words.getInt32(at + 4) ^ 0x0a0a0a0a;
    if (((((a - 0x01010101) & ~a) | ((b - 0x01010101) & ~b)) & 0x80808080) !== 0) break;
  }
  while (at < bytes.length && bytes[at] !== NEWLINE) at++;
  return at;
}

/** Where each newline is; null: they are not so many. */
export function newlinesIn(bytes: Uint8Array, count: number): Int32Array | null {
  const words = wordsOf(bytes);
  // It may be said that there are more than fit. What is beyond them is not kept.
  const ends = new Int32Array(Math.min(count, bytes.length));
  let found = 0;
  for (let at = newlineIn(bytes, words, 0); at < bytes.length; at = newlineIn(bytes, words, at + 1)) ends[found++] = at;
  return found === count ? ends : null;
}

/** Bytes that come in pieces, in one buffer that grows: pieces are not held beside the whole. */
export class GrowingBytes {
  readonly #maxBytes: number;
  #buffer: ArrayBuffer;
  /** A view of all of it: making one takes longer than encoding a line. */
  #whole: Buffer;
  #length = 0;

  /**
   * @param maxBytes it grows to this by doubling; beyond, by what is needed.
   * @param expectedBytes its size at first.
   */
  constructor(maxBytes: number, expectedBytes: number) {
    this.#maxBytes = maxBytes;
    this.#buffer = new ArrayBuffer(Math.min(expectedBytes, maxBytes));
    this.#whole = Buffer.from(this.#buffer);
  }

  get length(): number {
    return this.#length;
  }

  /** Adds so many bytes, which the caller fills in before anything else is added. */
  reserve(bytes: number): Uint8Array<ArrayBuffer> {
    const from = this.#grow(bytes);
    return new Uint8Array(this.#buffer, from, bytes);
  }

  /** Adds a line and its newline. @param bytes of both, as {@link utf8Length} has it. */
  addLine(line: string | Uint8Array, bytes: number): void {
    const from = this.#grow(bytes);
    if (typeof line !== "string") this.#whole.set(line, from);
    else (this.#whole as unknown as { write(text: string, at: number): number }).write(line, from);
    this.#whole[from + bytes - 1] = NEWLINE;
  }

  /** @returns where the added bytes begin. */
  #grow(bytes: number): number {
    const from = this.#length;
    this.#length += bytes;
    const has = this.#buffer.byteLength;
    if (this.#length > has)
      this.#hold(this.#buffer.transfer(Math.max(this.#length, Math.min(2 * has, this.#maxBytes))));
    return from;
  }

  #hold(buffer: ArrayBuffer): void {
    this.#buffer = buffer;
    this.#whole = Buffer.from(buffer);
  }

  /** A view of some of them, until more are added. */
  view(from: number, to: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer, from, to - from);
  }

  /** Begins again, in the same buffer. */
  clear(): void {
    this.#length = 0;
  }

  /** All of them, in a buffer of their own. Nothing is left. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#buffer.transfer(this.#length));
    this.#hold(new ArrayBuffer(0));
    this.#length = 0;
    return bytes;
  }
}

/** The same bytes, with the methods of Node. */
function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** Lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  return bufferOf(bytes).toString("hex");
}

export function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(hex, "hex") as Uint8Array);
}

export function toBase64Url(bytes: Uint8Array): string {
  return bufferOf(bytes).toString("base64url");
}

/** With padding. */
export function toBase64(bytes: Uint8Array): string {
  return bufferOf(bytes).toString("base64");
}

/** Reads base64 in either alphabet; other characters are skipped. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, "base64") as Uint8Array);
}

const encoder = new TextEncoder();

/** A text in UTF-8, in a new buffer. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text) as Uint8Array<ArrayBuffer>;
}

const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** A text of UTF-8; what is none becomes U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The same, with a byte order mark as part of the text. @throws for what is no UTF-8. */
export function decodeStrict(bytes: Uint8Array): string {
  return strict.decode(bytes);
}

/** The texts of parts of valid UTF-8, from a place up to another one. */
export function textsOf(bytes: Uint8Array): (from: number, to: number) => string {
  const buffer = bufferOf(bytes);
  return (from, to) => buffer.toString("utf8", from, to);
}

/** The value of a JSON text; undefined: it is none. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type Json = { readonly [key: string]: unknown };

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Bytes as a text of as many characters, each a byte. */
export function latin1(bytes: Uint8Array): string {
  return bufferOf(bytes).toString("latin1");
}

/** Length of a text in UTF-8, in bytes. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text);
}

/** Whether bytes are valid UTF-8. Makes no text of them. */
export function isValidUtf8(bytes: Uint8Array): boolean {
  return isUtf8(bytes);
}

export function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Whether `wanted` is among the records in `bytes`, all of its size. */
export function includesAligned(bytes: Uint8Array, wanted: Uint8Array): boolean {
  const whole = bufferOf(bytes);
  for (let at = whole.indexOf(wanted); at !== -1; at = whole.indexOf(wanted, at + 1))
    if (at % wanted.length === 0) return true;
  return false;
}

/** At most so many UTF-16 units, and no half of a surrogate pair at the end. */
export function cut(text: string, units: number): string {
  if (text.length <= units) return text;
  const head = text.slice(0, units);
  return head.isWellFormed() ? head : head.toWellFormed().replace(/\ufffd$/, "");
}

/** As one word of a POSIX shell, without expansion. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
