import { gunzipSync } from "node:zlib";
import type { ColumnMetaData } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { requireLists } from "./thrift.ts";

/**
 * Reads the pages that a group has, and no others. What stands in a store may be anyone's: the
 * reader of the library makes as many values as a run claims to have, and runs out of memory.
 */

/** No header of a page is longer. */
const HEADER_MAX_BYTES = 256;

/** A page: levels of lists, and what is behind them, unpacked. */
interface Page {
  header: ReturnType<typeof parquetHeader>;
  levels: [repeated: Uint8Array, defined: Uint8Array];
  raw: Uint8Array;
  next: number;
}

/** @param most bytes that it may have. @throws Error for what is no page, or is larger. */
function pageAt(chunk: Uint8Array, at: number, most: number): Page {
  const window = Math.min(HEADER_MAX_BYTES, chunk.length - at);
  const reader = { view: new DataView(chunk.buffer, chunk.byteOffset + at, window), offset: 0 };
  requireLists(chunk.subarray(at, at + window));
  const header = parquetHeader(reader);
  const { repetition_levels_byte_length: repeated = 0, definition_levels_byte_length: defined = 0 } =
    header.data_page_header_v2 ?? {};
  const from = at + reader.offset;
  const packed = from + repeated + defined;
  const next = from + header.compressed_page_size;
  const rawBytes = header.uncompressed_page_size - repeated - defined;
  if (!(repeated >= 0 && defined >= 0 && rawBytes >= 0 && rawBytes <= most && packed <= next && next <= chunk.length))
    throw new Error("a page of another length");
  // The bound is of a buffer that doubles, and would refuse a page of exactly that size.
  const raw = gunzipSync(chunk.subarray(packed, next), { maxOutputLength: 2 * rawBytes + 65_536 });
  if (raw.length !== rawBytes) throw new Error("a page of another length");
  return {
    header,
    levels: [chunk.subarray(from, from + repeated), chunk.subarray(from + repeated, packed)],
    raw,
    next,
  };
}

/** A column of a group, and how many values it has: of lists, an empty one is a value too. */
export interface ReadChunk {
  chunk: Uint8Array;
  meta: ColumnMetaData;
}

/** The only page of a column without a list of distinct values. */
function plainPage({ chunk, meta }: ReadChunk, bytes: number): DataView {
  const { raw } = pageAt(chunk, 0, Number(meta.total_uncompressed_size));
  if (raw.length !== bytes) throw new Error("a page of another length");
  return new DataView(raw.buffer, raw.byteOffset, raw.length);
}

export function readInts(read: ReadChunk): (i: number) => number {
  const view = plainPage(read, Number(read.meta.num_values) * 8);
  return (i) => view.getInt32(i * 8 + 4, true) * 2 ** 32 + view.getUint32(i * 8, true);
}

/** Flags, eight a byte, the first in the lowest bit. */
export function readFlags(read: ReadChunk): (i: number) => boolean {
  const view = plainPage(read, Math.ceil(Number(read.meta.num_values) / 8));
  return (i) => ((view.getUint8(i >>> 3) >>> (i & 7)) & 1) === 1;
}

/**
 * @returns each text, by its place, and which of the distinct ones it is; the levels of lists.
 */
export function readTexts({ chunk, meta }: ReadChunk): {
  levels: { repeated: Uint32Array; defined: Uint32Array } | null;
  text: (i: number) => Uint8Array;
  place: ((i: number) => number) | null;
} {
  const values = Number(meta.num_values);
  const most = Number(meta.total_uncompressed_size);
  const first = pageAt(chunk, 0, most);
  const entries = first.header.dictionary_page_header?.num_values;
  const { raw, levels: packed } = entries === undefined ? first : pageAt(chunk, first.next, most);
  const [repeated, defined] = packed.map((each) => (each.length === 0 ? null : readRuns(each, values, 1)));
  const levels = repeated && defined ? { repeated, defined } : null;
  const count = levels?.defined.reduce((sum, each) => sum + each, 0) ?? values;
  const [from, to] = bounds(first.raw, entries ?? count);
  if (entries === undefined) return { levels, text: (i) => raw.subarray(from[i], to[i]), place: null };
  const places = readRuns(raw.subarray(1), count, raw[0] ?? 0);
  const place = (i: number): number => places[i] as number;
  return { levels, text: (i) => first.raw.subarray(from[place(i)], to[place(i)]), place };
}

/** Where texts behind their lengths begin and end. */
function bounds(list: Uint8Array, count: number): [Uint32Array, Uint32Array] {
  if (count * 4 > list.length) throw new Error("texts of another length");
  const [from, to] = [new Uint32Array(count), new Uint32Array(count)];
  const view = new DataView(list.buffer, list.byteOffset, list.length);
  let at = 0;
  for (let i = 0; i < count; i++) {
    const length = view.getUint32(at, true);
    from[i] = at + 4;
    at += 4 + length;
    to[i] = at;
  }
  if (at !== list.length) throw new Error("texts of another length");
  return [from, to];
}

/** A number is read out of four bytes, at any bit of the first. */
const MAX_BITS = 24;

/**
 * Small numbers: runs of equal ones, and of numbers packed into bits, the lowest first.
 * https://parquet.apache.org/docs/file-format/data-pages/encodings/
 * @throws Error if there are not so many.
 */
export function readRuns(bytes: Uint8Array, count: number, bits: number): Uint32Array {
  if (bits > MAX_BITS) throw new Error("numbers that are too large");
  const values = new Uint32Array(count);
  let at = 0;
  const next = (): number => {
    const byte = bytes[at++];
    if (byte === undefined) throw new Error("a run breaks off");
    return byte;
  };
  for (let seen = 0; seen < count; ) {
    let head = 0;
    for (let shift = 0, byte = 0x80; byte >= 0x80; shift += 7) {
      byte = next();
      if (shift > 28) throw new Error("a run without a length");
      head |= (byte & 0x7f) << shift;
    }
    const [run, isPacked] = [head >>> 1, (head & 1) === 1];
    if (run === 0 || run > count - seen) throw new Error("a run of another length");
    if (isPacked) {
      const from = at * 8;
      const until = Math.min(count, seen + run * 8);
      at += run * bits;
      if (at > bytes.length) throw new Error("a run breaks off");
      for (let bit = from; seen < until; bit += bits) values[seen++] = bitsAt(bytes, bit) & (2 ** bits - 1);
    } else {
      let value = 0;
      for (let shift = 0; shift < bits; shift += 8) value |= next() << shift;
      values.fill(value, seen, seen + run);
      seen += run;
    }
  }
  return values;
}

/** At least 24 bits. */
function bitsAt(bytes: Uint8Array, bit: number): number {
  const byte = bit >>> 3;
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[byte], bytes[byte + 1], bytes[byte + 2], bytes[byte + 3]];
  return (a | (b << 8) | (c << 16) | (d << 24)) >>> (bit & 7);
}
