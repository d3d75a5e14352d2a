import { encodeUtf8, textsOf } from "../../base/bytes.ts";
import { FIELD_NAMES } from "./fields.ts";

/** What stands before a field's value in a canonical line. */
interface Separator {
  text: Uint8Array;
  /**
   * By the first byte of a window of its length: how far the window moves to the front, at least,
   * to hold the separator (Horspool, 1980).
   */
  shift: Uint8Array;
}

const SEPARATORS: readonly Separator[] = FIELD_NAMES.map((name, field) => {
  const text = encodeUtf8(`${field === 0 ? "{" : ","}"${name}":`);
  const shift = new Uint8Array(256).fill(text.length);
  for (let i = text.length - 1; i > 0; i--) shift[text[i] as number] = i;
  return { text, shift };
});

/** Places of a record: where each separator begins, and the brace at its end. */
const PLACES = SEPARATORS.length + 1;

const LENGTHS = Uint8Array.from(SEPARATORS, ({ text }) => text.length);

/** No canonical line is shorter. */
const LINE_MIN_BYTES = LENGTHS.reduce((sum, length) => sum + length, 0) + "}".length;

/** The one field with foreign JSON, which may contain any of the separators. */
const EVENT = FIELD_NAMES.indexOf("Event");

const BRACE = 0x7d;

/** Canonical lines of records in UTF-8, and where the fields of each are. */
export class RecordLines {
  readonly bytes: Uint8Array;
  /** Of each record that was found, where every separator begins. */
  readonly #starts: Int32Array;
  #found = 0;
  /** The text of some of the bytes. @param from where a character begins. @param to likewise. */
  readonly text: (from: number, to: number) => string;

  /** @param records that it has at most. */
  constructor(bytes: Uint8Array, records: number) {
    this.bytes = bytes;
    // Of foreign lines, each may be a newline alone: only those that are found need a place.
    const found = Math.min(records, Math.floor(bytes.length / LINE_MIN_BYTES));
    this.#starts = new Int32Array(found * PLACES);
    this.text = textsOf(bytes);
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
    const record = this.#found * PLACES;
    if (!isAt(bytes, from, to, (SEPARATORS[0] as Separator).text) || bytes[to - 1] !== BRACE) return -1;
    let end = to - 1;
    starts[record] = from;
    starts[record + SEPARATORS.length] = end;
    for (let field = SEPARATORS.length - 1; field > EVENT; field--) {
      end = lastIn(bytes, SEPARATORS[field] as Separator, from, end);
      if (end === -1) return -1;
      starts[record + field] = end;
    }
    let begin = from;
    for (let field = 1; field <= EVENT; field++) {
      begin = firstIn(bytes, SEPARATORS[field] as Separator, begin + (LENGTHS[field - 1] as number), end);
      if (begin === -1) return -1;
      starts[record + field] = begin;
    }
    this.#found += 1;
    return record;
  }

  /** Where the separator before a field begins. @param record as of {@link find}. */
  start(record: number, field: number): number {
    return this.#starts[record + field] as number;
  }

  /** Where a field's value begins. */
  value(record: number, field: number): number {
    return (this.#starts[record + field] as number) + (LENGTHS[field] as number);
  }
}

function isAt(bytes: Uint8Array, from: number, to: number, wanted: Uint8Array): boolean {
  if (to - from < wanted.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[from + i] !== wanted[i]) return false;
  return true;
}

/** Where a separator is last; -1: nowhere. */
function lastIn(bytes: Uint8Array, { text, shift }: Separator, from: number, to: number): number {
  const first = text[0];
  let at = to - text.length;
  while (at >= from) {
    const byte = bytes[at] as number;
    if (byte === first && isAt(bytes, at, to, text)) return at;
    at -= shift[byte] as number;
  }
  return -1;
}

/** Where it is first. What stands before it is short. */
function firstIn(bytes: Uint8Array, { text }: Separator, from: number, to: number): number {
  for (let at = from; at + text.length <= to; at++) if (bytes[at] === text[0] && isAt(bytes, at, to, text)) return at;
  return -1;
}
