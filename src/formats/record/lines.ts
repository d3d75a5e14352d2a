import { decodeUtf8, encodeUtf8, isAscii, latin1 } from "../../base/bytes.ts";
import { FIELD_NAMES } from "./fields.ts";

/** The text before each field's value in a canonical line, and after the last one. */
const SEPARATORS: readonly Uint8Array[] = [
  ...FIELD_NAMES.map((name, i) => encodeUtf8(`${i === 0 ? "{" : ","}"${name}":`)),
  encodeUtf8("}"),
];

/** The one field with foreign JSON, which may contain any of the separators. */
const EVENT = FIELD_NAMES.indexOf("Event");

const QUOTE = 0x22;
const COLON = 0x3a;
const BRACE = 0x7d;

const NOT_ASCII = /[\x80-\xff]/;

/** Canonical lines of records in UTF-8, and where the fields of each are. */
export class RecordLines {
  readonly bytes: Uint8Array;
  /** Of each record that was found, where every separator begins. */
  readonly #starts: Int32Array;
  #found = 0;
  readonly #isAscii: boolean;
  /** All of it, a byte a character. */
  #text: string | null = null;

  /** @param records that it has at most. */
  constructor(bytes: Uint8Array, records: number, ascii = isAscii(bytes)) {
    this.bytes = bytes;
    this.#starts = new Int32Array(records * SEPARATORS.length);
    this.#isAscii = ascii;
  }

  /**
   * Finds the fields of a line. A separator contains an unescaped `"` after a comma, so it can only
   * occur between two fields or inside `Event`: fields up to `Event` are searched from the front,
   * the others from the back.
   * @returns the record's number here; -1: it lacks a field, or they are in another order.
   */
  find(from: number, to: number): number {
    const { bytes } = this;
    const starts = this.#starts;
    const record = this.#found * SEPARATORS.length;
    const last = SEPARATORS.length - 1;
    if (!isAt(bytes, from, to, SEPARATORS[0] as Uint8Array) || bytes[to - 1] !== BRACE) return -1;
    let end = to - 1;
    starts[record] = from;
    starts[record + last] = end;
    for (let field = last - 1; field > EVENT; field--) {
      end = lastIn(bytes, SEPARATORS[field] as Uint8Array, from, end);
      if (end === -1) return -1;
      starts[record + field] = end;
    }
    let begin = from;
    for (let field = 1; field <= EVENT; field++) {
      begin = firstIn(
        bytes,
        SEPARATORS[field] as Uint8Array,
        begin + (SEPARATORS[field - 1] as Uint8Array).length,
        end,
      );
      if (begin === -1) return -1;
      starts[record + field] = begin;
    }
    if (begin + (SEPARATORS[EVENT] as Uint8Array).length > end) return -1;
    this.#found += 1;
    return record;
  }

  /** Where the separator before a field begins. @param record as of {@link find}. */
  start(record: number, field: number): number {
    return this.#starts[record + field] as number;
  }

  /** Where a field's value begins. */
  value(record: number, field: number): number {
    return (this.#starts[record + field] as number) + (SEPARATORS[field] as Uint8Array).length;
  }

  /** @param from where a character begins. @param to likewise. */
  text(from: number, to: number): string {
    this.#text ??= latin1(this.bytes);
    const text = this.#text.slice(from, to);
    return this.#isAscii || !NOT_ASCII.test(text) ? text : decodeUtf8(this.bytes.subarray(from, to));
  }
}

function isAt(bytes: Uint8Array, from: number, to: number, wanted: Uint8Array): boolean {
  if (to - from < wanted.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[from + i] !== wanted[i]) return false;
  return true;
}

/** Where a separator is last; -1: nowhere. It ends with `":`, which few other bytes do. */
function lastIn(bytes: Uint8Array, separator: Uint8Array, from: number, to: number): number {
  const length = separator.length;
  for (let at = to - 1; at >= from + length - 1; at--)
    if (bytes[at] === COLON && bytes[at - 1] === QUOTE && isAt(bytes, at + 1 - length, to, separator))
      return at + 1 - length;
  return -1;
}

function firstIn(bytes: Uint8Array, separator: Uint8Array, from: number, to: number): number {
  const length = separator.length;
  for (let at = from + length - 1; at < to; at++)
    if (bytes[at] === COLON && bytes[at - 1] === QUOTE && isAt(bytes, at + 1 - length, to, separator))
      return at + 1 - length;
  return -1;
}
