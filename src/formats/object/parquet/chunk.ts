import { gunzipSync, gzipSync } from "node:zlib";
import { concat, isEqual, latin1 } from "../../../base/bytes.ts";
import { bitsOf, readRuns, writeRuns } from "./runs.ts";
import { ThriftWriter } from "./thrift.ts";

/** https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift */
export const ENCODING = { plain: 0, rle: 3, dictionary: 8 } as const;
const PAGE = { data: 0, dictionary: 2 } as const;

/**
 * Level of gzip for pages. Level 6 takes a third more CPU for 2 % fewer bytes; with this one, an
 * object is as large as one of NDJSON at level 6.
 */
const LEVEL = 5;

/** A page as it is stored: a header of Parquet's, and what is compressed. In bytes. */
export interface PageSizes {
  head: number;
  packed: number;
  raw: number;
}

/** All values of one column in a group: a page of distinct values, where that pays; and a page. */
export interface ChunkSizes {
  /** Entries in the list of distinct values; 0: there is no such page. */
  entries: number;
  dictionary: PageSizes;
  data: PageSizes;
  /** Entries in the page: as many as records, or more where a record has a list. */
  values: number;
}

export interface Chunk extends ChunkSizes {
  parts: Uint8Array[];
  /** The least and the greatest value, as Parquet has them in statistics; absent: unknown. */
  range?: { min: Uint8Array; max: Uint8Array };
}

export const NO_PAGE: PageSizes = { head: 0, packed: 0, raw: 0 };

export function bytesOf({ dictionary, data }: ChunkSizes): number {
  return dictionary.head + dictionary.packed + data.head + data.packed;
}

/**
 * Values of a column that are pieces of one buffer, or have one of their own. Nothing is made of
 * most of them: they are compared, and copied.
 */
export interface Pieces {
  source: Uint8Array;
  starts: Int32Array;
  ends: Int32Array;
  /** By place, instead. */
  own: Map<number, Uint8Array>;
}

export function pieceOf({ source, starts, ends, own }: Pieces, i: number): Uint8Array {
  return own.get(i) ?? source.subarray(starts[i], ends[i]);
}

/** Of each value, what is written instead; it follows from the value alone. */
export type Convert = (value: Uint8Array, places: () => Iterable<number>) => Uint8Array;

/** Longest text in statistics, in bytes: they stand in the end of the file, of every group. */
const RANGE_MAX_BYTES = 64;

/**
 * @param convert absent: values are written as they are. @param isOrdered the least and the
 *   greatest value are wanted. @param levels of lists, before the values in the page.
 */
export function textChunk(
  values: Pieces,
  { convert, isOrdered = false, levels }: { convert?: Convert; isOrdered?: boolean; levels?: Levels } = {},
): Chunk {
  const before = levels === undefined ? [] : [levels.bytes];
  const count = levels?.count ?? values.starts.length;
  const distinct = distinctIn(values);
  if (distinct === null) {
    if (convert !== undefined) convertAll(values, convert);
    return { ...page(before, plain(values), count, ENCODING.plain), entries: 0, dictionary: NO_PAGE };
  }
  const { firsts, places } = distinct;
  const entries = firsts.map((first, entry) => {
    const value = pieceOf(values, first);
    return convert?.(value, () => placesOf(places, entry)) ?? value;
  });
  const bits = bitsOf(entries.length);
  const none = new Int32Array(entries.length);
  const own = new Map(entries.entries());
  const list = plain({ source: values.source, starts: none, ends: none, own });
  const { parts: first, data: dictionary } = page([], list, entries.length, null);
  const packed = page([...before, Uint8Array.of(bits)], writeRuns(places, bits), count, ENCODING.dictionary);
  const range = isOrdered ? rangeOf(entries) : undefined;
  return {
    ...packed,
    ...{ parts: [...first, ...packed.parts], entries: entries.length, dictionary },
    ...(range !== undefined && { range }),
  };
}

/**
 * In place. What stays a piece of the buffer is kept as one: a group of rows may have 250,000, and
 * a view of each would take 50 MB.
 */
function convertAll(values: Pieces, convert: Convert): void {
  const { source, starts, ends, own } = values;
  for (let i = 0; i < starts.length; i++) {
    const value = convert(pieceOf(values, i), () => [i]);
    if (own.has(i) || value.buffer !== source.buffer) own.set(i, value);
    else {
      starts[i] = value.byteOffset - source.byteOffset;
      ends[i] = (starts[i] as number) + value.length;
    }
  }
}

function* placesOf(places: Uint32Array, entry: number): Iterable<number> {
  for (let i = 0; i < places.length; i++) if (places[i] === entry) yield i;
}

/** Where each distinct value is first, and which of them each is; null: too many to list. */
function distinctIn(values: Pieces): { firsts: number[]; places: Uint32Array } | null {
  const count = values.starts.length;
  const most = mostDistinct(count);
  /** By hash: place of a value, and 1; 0: free. */
  const slots = new Uint32Array(2 ** (32 - Math.clz32(2 * most)));
  const mask = slots.length - 1;
  const firsts: number[] = [];
  const places = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    let at = hashOf(values, i) & mask;
    while (slots[at] !== 0 && !isSame(values, i, firsts[(slots[at] as number) - 1] as number)) at = (at + 1) & mask;
    if (slots[at] === 0) {
      if (firsts.length >= mostDistinct(i)) return null;
      firsts.push(i);
      slots[at] = firsts.length;
    }
    places[i] = (slots[at] as number) - 1;
  }
  // An empty list of values is not what every reader takes.
  return count === 0 ? null : { firsts, places };
}

/** With more distinct values, a list of them is hardly shorter than all. */
function mostDistinct(count: number): number {
  return 16 + Math.floor(count / 8);
}

/** FNV-1a. A sender that makes them collide costs a look at each distinct value. */
function hashOf({ source, starts, ends, own }: Pieces, i: number): number {
  const mine = own.size === 0 ? undefined : own.get(i);
  const bytes = mine ?? source;
  const to = mine === undefined ? (ends[i] as number) : mine.length;
  let hash = 0x811c9dc5;
  for (let at = mine === undefined ? (starts[i] as number) : 0; at < to; at++)
    hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}

function isSame(values: Pieces, i: number, j: number): boolean {
  const { source, starts, ends, own } = values;
  if (own.size > 0) return isEqual(pieceOf(values, i), pieceOf(values, j));
  const [from, other] = [starts[i] as number, starts[j] as number];
  const length = (ends[i] as number) - from;
  if ((ends[j] as number) - other !== length) return false;
  for (let at = 0; at < length; at++) if (source[from + at] !== source[other + at]) return false;
  return true;
}

function rangeOf(entries: readonly Uint8Array[]): Chunk["range"] {
  // A character a byte, they are ordered as bytes are.
  let [min = "", max = ""] = [entries[0], entries[0]].map((each) => latin1(each as Uint8Array));
  for (const entry of entries) {
    if (entry.length > RANGE_MAX_BYTES) return undefined;
    const text = latin1(entry);
    if (text < min) min = text;
    if (text > max) max = text;
  }
  const bytes = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0));
  return { min: bytes(min), max: bytes(max) };
}

/** Shorter ones are copied byte by byte: a view of them takes longer. */
const VIEW_MIN_BYTES = 48;

/** Each value behind its length. */
function plain({ source, starts, ends, own }: Pieces): Uint8Array {
  const count = starts.length;
  let bytes = 4 * count;
  for (let i = 0; i < count; i++) bytes += own.get(i)?.length ?? (ends[i] as number) - (starts[i] as number);
  const whole = new Uint8Array(bytes);
  for (let i = 0, at = 0; i < count; i++) {
    const mine = own.size === 0 ? undefined : own.get(i);
    const from = mine === undefined ? (starts[i] as number) : 0;
    const to = mine === undefined ? (ends[i] as number) : mine.length;
    const length = to - from;
    whole[at] = length & 0xff;
    whole[at + 1] = (length >>> 8) & 0xff;
    whole[at + 2] = (length >>> 16) & 0xff;
    whole[at + 3] = length >>> 24;
    at += 4;
    const bytesOfIt = mine ?? source;
    if (length < VIEW_MIN_BYTES) for (let j = 0; j < length; j++) whole[at + j] = bytesOfIt[from + j] as number;
    else whole.set(bytesOfIt.subarray(from, to), at);
    at += length;
  }
  return whole;
}

/** @param encoding null: it lists distinct values. */
export function page(
  before: readonly Uint8Array[],
  body: Uint8Array,
  values: number,
  encoding: number | null,
): { parts: Uint8Array[]; data: PageSizes; values: number } {
  const raw = before.length === 0 ? body : concat([...before, body]);
  const packed = gzipSync(raw, { level: LEVEL });
  const head = new ThriftWriter();
  head.i32(1, encoding === null ? PAGE.dictionary : PAGE.data);
  head.i32(2, raw.length);
  head.i32(3, packed.length);
  head.struct(encoding === null ? 7 : 5, () => {
    head.i32(1, values);
    head.i32(2, encoding ?? ENCODING.plain);
    if (encoding === null) return;
    head.i32(3, ENCODING.rle);
    head.i32(4, ENCODING.rle);
  });
  const header = head.finish();
  return { parts: [header, packed], data: { head: header.length, packed: packed.length, raw: raw.length }, values };
}

/**
 * What a page holds. @param sizes as stored with it. @throws Error for what is no page of these
 * sizes.
 */
export function unpacked(chunk: Uint8Array, at: number, { head, packed, raw }: PageSizes): Uint8Array {
  // The bound is of a buffer that doubles, and would refuse a page of exactly that size.
  const bytes = gunzipSync(chunk.subarray(at + head, at + head + packed), { maxOutputLength: 2 * raw + 65_536 });
  if (bytes.length !== raw) throw new Error("a page of another length");
  return bytes;
}

/**
 * Reads what {@link textChunk} wrote. @returns each value, by its place; the levels of lists, and
 * how many values there are. @throws Error for anything else.
 */
export function readTexts(
  chunk: Uint8Array,
  sizes: ChunkSizes,
  hasLevels: boolean,
): {
  levels: [repeated: Uint32Array, defined: Uint32Array] | null;
  value: (i: number) => Uint8Array;
  place: (i: number) => number;
} {
  const { entries, dictionary, data, values } = sizes;
  const raw = unpacked(chunk, dictionary.head + dictionary.packed, data);
  let at = 0;
  const levels: Uint32Array[] = [];
  for (let i = 0; hasLevels && i < 2; i++) {
    const length = new DataView(raw.buffer, raw.byteOffset, raw.length).getUint32(at, true);
    levels.push(readRuns(raw.subarray(at + 4, at + 4 + length), values, 1));
    at += 4 + length;
  }
  const count = levels[1]?.reduce((sum, defined) => sum + defined, 0) ?? values;
  const list = entries === 0 ? raw.subarray(at) : unpacked(chunk, 0, dictionary);
  const [from, to] = bounds(list, entries === 0 ? count : entries);
  const places = entries === 0 ? null : readRuns(raw.subarray(at + 1), count, raw[at] ?? 0);
  const place = (i: number): number => (places === null ? i : (places[i] as number));
  return {
    levels: hasLevels ? [levels[0] as Uint32Array, levels[1] as Uint32Array] : null,
    value: (i) => list.subarray(from[place(i)], to[place(i)]),
    place,
  };
}

/** Where values behind their lengths begin and end. */
function bounds(list: Uint8Array, count: number): [Uint32Array, Uint32Array] {
  const [from, to] = [new Uint32Array(count), new Uint32Array(count)];
  const view = new DataView(list.buffer, list.byteOffset, list.length);
  let at = 0;
  for (let i = 0; i < count; i++) {
    const length = view.getUint32(at, true);
    from[i] = at + 4;
    at += 4 + length;
    to[i] = at;
  }
  if (at !== list.length) throw new Error("values of another length");
  return [from, to];
}

/** Two levels of lists, as they stand before their values, and how many entries each has. */
export interface Levels {
  bytes: Uint8Array;
  count: number;
}

/** Each behind its length. */
export function listLevels(repeated: Uint8Array, defined: Uint8Array): Levels {
  const parts = [repeated, defined].flatMap((each) => {
    const runs = writeRuns(each, 1);
    return [Uint8Array.of(runs.length & 0xff, (runs.length >>> 8) & 0xff, runs.length >>> 16, 0), runs];
  });
  return { bytes: concat(parts), count: repeated.length };
}
