import { concat, fromHex, toHex } from "../../base/bytes.ts";

/**
 * Which record each line of an object is: its part, and its place in it. That is the same in
 * whatever job ships it, in whatever form. Runs of one fragment, one after the other; those of an
 * object are those of its fragments, joined. All integers are big-endian.
 *
 * | bytes | what |
 * | --- | --- |
 * | 0 | version, 1 |
 * | 1–4 | what is written of each record, a bit each |
 * | 5–8 | length of the entries that follow |
 *
 * An entry is of lines that follow each other in the object and in the part: the part's id, 16
 * bytes; the place of the first, as a varint; how many places they span, times 2, as a varint, plus
 * 1 if some are left out: then, a bit for each place.
 */
const VERSION = 1;
export const IDENTITY_HEAD_BYTES = 9;
const ID_BYTES = 16;

/** Beyond so many places that are left out, a new entry is shorter. */
const GAP_MAX = 160;

/** A place in a part is below this, and so is the number of lines of an object. */
const PLACES_MAX = 2 ** 31;

/** A part's id as 32 hex digits, then the place as 8: in the order of places. */
export type RecordId = string;

export function recordId(part: string, place: number): RecordId {
  return part + place.toString(16).padStart(8, "0");
}

/** Writes down which records become lines, in their order. */
export class IdentityWriter {
  readonly #fields: number;
  readonly #done: Uint8Array[] = [];
  #part = "";
  #places: number[] = [];

  /** @param fields as of {@link Identities}. */
  constructor(fields: number) {
    this.#fields = fields;
  }

  add(part: string, place: number): void {
    const last = this.#places.at(-1) ?? Number.NEGATIVE_INFINITY;
    if (part !== this.#part || place <= last || place - last > GAP_MAX) {
      this.#close();
      this.#part = part;
    }
    this.#places.push(place);
  }

  /** In a buffer of its own. */
  finish(): Uint8Array<ArrayBuffer> {
    this.#close();
    const head = new DataView(new ArrayBuffer(IDENTITY_HEAD_BYTES));
    head.setUint8(0, VERSION);
    head.setUint32(1, this.#fields);
    head.setUint32(
      5,
      this.#done.reduce((sum, { length }) => sum + length, 0),
    );
    return concat([new Uint8Array(head.buffer), ...this.#done]);
  }

  #close(): void {
    const [first, last] = [this.#places[0], this.#places.at(-1)];
    if (first === undefined || last === undefined) return;
    const span = last - first + 1;
    const isWhole = span === this.#places.length;
    const bits = new Uint8Array(isWhole ? 0 : Math.ceil(span / 8));
    if (!isWhole) for (const place of this.#places) setBit(bits, place - first);
    this.#done.push(fromHex(this.#part), varint(first), varint(2 * span + (isWhole ? 0 : 1)), bits);
    this.#places = [];
  }
}

/** What is written of each record, as its first bytes say; null: they are none. */
export function fieldsIn(bytes: Uint8Array): number | null {
  if (bytes.length < IDENTITY_HEAD_BYTES || bytes[0] !== VERSION) return null;
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
}

/** Lines that follow each other. */
interface Run {
  first: number;
  span: number;
  /** Where their bits are; null: none is left out. */
  bitsAt: number | null;
}

/** The identities of an object's lines, looked up where they lie. */
export class Identities {
  /** What is written of each record, a bit each: what it ships, another one may lack. */
  readonly fields: number;
  readonly records: number;
  readonly #bytes: Uint8Array;
  /** Of each entry: where it is, and the number of lines before it. */
  readonly #at: Uint32Array;
  readonly #before: Uint32Array;
  /** Entries by the first four bytes of their parts: these, then the number of the entry. */
  readonly #byPart: Float64Array;

  private constructor(bytes: Uint8Array, fields: number, at: number[], before: number[], records: number) {
    this.#bytes = bytes;
    this.fields = fields;
    this.records = records;
    this.#at = Uint32Array.from(at);
    this.#before = Uint32Array.from(before);
    this.#byPart = Float64Array.from(at, (from, i) => this.#prefix(from) * ENTRIES_MAX + i).sort();
  }

  /**
   * @param records that the object has; null: it gets more.
   * @param most of one that gets more, only so many are looked at.
   * @returns null: they are not of so many lines, of another version, or no identities at all.
   */
  static read(bytes: Uint8Array, records: number | null, most = PLACES_MAX): Identities | null {
    const at: number[] = [];
    const before: number[] = [];
    let [lines, fields] = [0, -1];
    for (let from = 0; from < bytes.length; ) {
      const own = fieldsIn(bytes.subarray(from));
      if (own === null) return null;
      // What all of them have.
      fields &= own;
      const end = from + IDENTITY_HEAD_BYTES + new DataView(bytes.buffer, bytes.byteOffset + from).getUint32(5);
      if (end > bytes.length) return null;
      for (from += IDENTITY_HEAD_BYTES; from < end; ) {
        const entry = entryAt(bytes.subarray(0, end), from);
        if (entry === null || at.length >= ENTRIES_MAX) return null;
        const isBeyond = lines + entry.lines > (records ?? most);
        if (isBeyond) return records === null && lines > 0 ? new Identities(bytes, fields, at, before, lines) : null;
        at.push(from);
        before.push(lines);
        lines += entry.lines;
        from = entry.end;
      }
    }
    return lines > 0 && lines === (records ?? lines) ? new Identities(bytes, fields, at, before, lines) : null;
  }

  /** How much memory they take, in bytes. */
  get size(): number {
    return this.#bytes.length + 16 * this.#at.length;
  }

  /** Which record a line is. @param line from 1. @throws if there is no such line. */
  at(line: number): RecordId {
    if (line < 1 || line > this.records) throw new Error("there is no such line");
    let [low, high] = [0, this.#before.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#before[middle] as number) < line) low = middle;
      else high = middle - 1;
    }
    const { first, bitsAt } = this.#run(low);
    let left = line - 1 - (this.#before[low] as number);
    let place = 0;
    if (bitsAt === null) place = left;
    else for (; left > 0 || !this.#bit(bitsAt, place); place++) if (this.#bit(bitsAt, place)) left -= 1;
    const from = this.#at[low] as number;
    return recordId(toHex(this.#bytes.subarray(from, from + ID_BYTES)), first + place);
  }

  holds(record: RecordId): boolean {
    const place = Number.parseInt(record.slice(2 * ID_BYTES), 16);
    return this.#runsOf(fromHex(record.slice(0, 2 * ID_BYTES))).some((run) => this.#has(run, place));
  }

  /** Whether each of these records is in one of the others. */
  isIn(others: readonly Identities[]): boolean {
    for (let i = 0; i < this.#at.length; i++) {
      const from = this.#at[i] as number;
      const part = this.#bytes.subarray(from, from + ID_BYTES);
      const runs = others.map((other) => ({ other, runs: other.#runsOf(part) }));
      const own = this.#run(i);
      for (let place = own.first; place < own.first + own.span; place++) {
        if (!this.#has(own, place)) continue;
        if (!runs.some(({ other, runs }) => runs.some((run) => other.#has(run, place)))) return false;
      }
    }
    return true;
  }

  #runsOf(part: Uint8Array): Run[] {
    const prefix = prefixAt(part, 0);
    let [low, high] = [0, this.#byPart.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#byPart[middle] as number) < prefix * ENTRIES_MAX) low = middle + 1;
      else high = middle;
    }
    const runs: Run[] = [];
    for (let i = low; i < this.#byPart.length; i++) {
      const number = (this.#byPart[i] as number) - prefix * ENTRIES_MAX;
      if (number >= ENTRIES_MAX) break;
      const from = this.#at[number] as number;
      if (part.every((byte, n) => this.#bytes[from + n] === byte)) runs.push(this.#run(number));
    }
    return runs;
  }

  #run(number: number): Run {
    return entryAt(this.#bytes, this.#at[number] as number) as Entry;
  }

  #has({ first, span, bitsAt }: Run, place: number): boolean {
    if (place < first || place >= first + span) return false;
    return bitsAt === null || this.#bit(bitsAt, place - first);
  }

  #bit(bitsAt: number, bit: number): boolean {
    return (((this.#bytes[bitsAt + (bit >>> 3)] as number) >>> (bit & 7)) & 1) === 1;
  }

  #prefix(from: number): number {
    return prefixAt(this.#bytes, from);
  }
}

/** Of an object, at most: their number and four bytes of a part are one exact number. */
const ENTRIES_MAX = 2 ** 20;

interface Entry extends Run {
  lines: number;
  end: number;
}

/** null: there is none. */
function entryAt(bytes: Uint8Array, from: number): Entry | null {
  const first = varintAt(bytes, from + ID_BYTES);
  const spanned = first && varintAt(bytes, first.end);
  if (first === null || spanned === null) return null;
  const span = Math.floor(spanned.value / 2);
  const isWhole = spanned.value % 2 === 0;
  const end = spanned.end + (isWhole ? 0 : Math.ceil(span / 8));
  if (span < 1 || first.value + span > PLACES_MAX || end > bytes.length) return null;
  if (isWhole) return { first: first.value, span, bitsAt: null, lines: span, end };
  let lines = 0;
  for (let at = spanned.end; at < end; at++) for (let bits = bytes[at] as number; bits > 0; bits &= bits - 1) lines++;
  // Bits beyond the span would be lines without a place.
  if (lines < 1 || (bytes[end - 1] as number) >>> (((span - 1) & 7) + 1) > 0) return null;
  return { first: first.value, span, bitsAt: spanned.end, lines, end };
}

function prefixAt(bytes: Uint8Array, from: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset + from).getUint32(0);
}

function setBit(bits: Uint8Array, bit: number): void {
  bits[bit >>> 3] = (bits[bit >>> 3] as number) | (1 << (bit & 7));
}

/** Seven bits a byte, the lowest first; all but the last have the eighth. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    bytes.push((left % 128) + (left >= 128 ? 128 : 0));
    if (left < 128) return Uint8Array.from(bytes);
  }
}

/** null: it is not there, or too large. */
function varintAt(bytes: Uint8Array, from: number): { value: number; end: number } | null {
  let value = 0;
  for (let i = 0; i < 5; i++) {
    const byte = bytes[from + i];
    if (byte === undefined) return null;
    value += (byte & 127) * 128 ** i;
    if (byte < 128) return value < 2 * PLACES_MAX + 2 ? { value, end: from + i + 1 } : null;
  }
  return null;
}
