import { crc32, gunzipSync, gzipSync } from "node:zlib";
import { concat, decodeUtf8, encodeUtf8, isEqual, utf8Length } from "../../../base/bytes.ts";
import { RECORD_MAX_BYTES } from "../../../base/limits.ts";
import { bloomFilter } from "./bloom.ts";
import { bytesOf, type Chunk, type Convert, listLevels, type Pieces, pieceOf, readTexts, textChunk } from "./chunk.ts";
import { type Column, columnOf } from "./columns.ts";
import { boolChunk, intChunk, readBools, readInts } from "./numbers.ts";
import { type Slices, sliceLines } from "./slices.ts";
import { payloadBytes, type Table, type TableColumn, writeTable } from "./table.ts";
import { flag, listed, quoted, rayIn, rayOf, readBool, readInt, readString, readStrings } from "./values.ts";

/**
 * A row group out of lines of JSON, and these lines out of it again, to the byte. A record whose
 * line does not follow from its columns (`1e3`, a lone surrogate: nothing that intake writes) is
 * odd: its line is kept beside them.
 */

/** No group takes more, packed or not, in bytes: one record may be as long as a record may be. */
export const GROUP_MAX_BYTES = 3 * RECORD_MAX_BYTES;

/**
 * @param lines of records that have the fields of these columns, in this order, each with a line
 *   feed. @param areRows of one invocation, several stand together.
 * @returns the group, in a buffer of its own.
 */
export function encodeGroup(lines: Uint8Array, columns: readonly Column[], areRows = false): Uint8Array<ArrayBuffer> {
  const fields = columns.filter(({ kind }) => kind !== "ray");
  const slices = sliceLines(
    lines,
    fields.map(({ name }) => name),
  );
  const odd = new Set<number>(slices.unread);
  const chunks = columns.map((column) => {
    const field = fields.findIndex(({ name }) => name === (column.kind === "ray" ? "Event" : column.name));
    const json = piecesOf(field, column, { lines, slices });
    return { id: column.id, ...chunkOf(column, json, { odd, areRows }) };
  });
  const oddLines = packOdd(lines, slices, odd);
  const table: Table = {
    records: slices.records,
    rawBytes: lines.length,
    crc: crc32(lines),
    odd: { packed: oddLines.packed.length, raw: oddLines.raw },
    columns: chunks.map(({ parts: _, bloom, ...sizes }) => ({ ...sizes, bloomBytes: bloom.length })),
  };
  const parts = chunks.flatMap((chunk) => chunk.parts);
  const blooms = chunks.map(({ bloom }) => bloom);
  return concat([writeTable(table), ...parts, ...blooms, oddLines.packed]);
}

/** The JSON of one field in each record. */
function piecesOf(
  field: number,
  { fallback }: Column,
  { lines, slices }: { lines: Uint8Array; slices: Slices },
): Pieces {
  const [starts, ends] = [slices.starts[field], slices.ends[field]] as [Int32Array, Int32Array];
  const own = new Map(slices.unread.map((record) => [record, encodeUtf8(fallback)]));
  return { source: lines, starts, ends, own };
}

const NO_BLOOM = new Uint8Array();

function chunkOf(
  { kind }: Column,
  json: Pieces,
  { odd, areRows }: { odd: Set<number>; areRows: boolean },
): Chunk & { bloom: Uint8Array } {
  switch (kind) {
    case "int":
    case "time":
      return { ...intsOf(json, odd), bloom: NO_BLOOM };
    case "bool":
      return { ...boolsOf(json, odd), bloom: NO_BLOOM };
    case "json":
    case "entries":
      return { ...textChunk(json), bloom: NO_BLOOM };
    case "string":
      return { ...stringsOf(json, odd), bloom: NO_BLOOM };
    case "strings":
      return { ...listsOf(json, odd), bloom: NO_BLOOM };
    case "ray":
      return raysOf(json, areRows);
  }
}

function intsOf(json: Pieces, odd: Set<number>): Chunk {
  const values = new Float64Array(json.starts.length);
  for (let record = 0; record < values.length; record++) {
    const digits = digitsAt(json, record);
    if (digits !== null) {
      values[record] = digits;
      continue;
    }
    const { value, isExact } = readInt(decodeUtf8(pieceOf(json, record)));
    values[record] = value;
    if (!isExact) odd.add(record);
  }
  return intChunk(values);
}

/** A number of digits alone, without zeros before it, as most are; null: it is another. */
function digitsAt({ source, starts, ends, own }: Pieces, record: number): number | null {
  const [from, to] = [starts[record] as number, ends[record] as number];
  if (own.size > 0 || to - from > 15 || to === from || (source[from] === ZERO && to - from > 1)) return null;
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = (source[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return null;
    value = 10 * value + digit;
  }
  return value;
}

const ZERO = 0x30;

function boolsOf(json: Pieces, odd: Set<number>): Chunk {
  const values = Array.from(json.starts, (_, record) => {
    const { value, isExact } = readBool(pieceOf(json, record));
    if (!isExact) odd.add(record);
    return value;
  });
  return boolChunk(values);
}

function stringsOf(json: Pieces, odd: Set<number>): Chunk {
  const convert: Convert = (value, places) => {
    const { bytes, isExact } = readString(value);
    if (!isExact) for (const record of places()) odd.add(record);
    return bytes;
  };
  return textChunk(json, { convert, isOrdered: true });
}

/**
 * Lists may hold a million texts of no character: all stand in one buffer, and no object is made of
 * any.
 */
function listsOf(json: Pieces, odd: Set<number>): Chunk {
  const records = json.starts.length;
  const jsonBytes = json.ends.reduce((sum, end, record) => sum + end - (json.starts[record] as number), 0);
  const most = records + Math.ceil(jsonBytes / LISTED_MIN_BYTES);
  /** 1: another value of the same record. */
  const repeated = new Uint8Array(most);
  /** 0: the list is empty. */
  const defined = new Uint8Array(most);
  const lengths = new Int32Array(most);
  const parts: Uint8Array[] = [];
  let count = 0;
  let values = 0;
  for (let record = 0; record < records; record++) {
    const list = readStrings(pieceOf(json, record));
    if (!list.isExact) odd.add(record);
    if (list.values.length === 0) count += 1;
    for (const [i, text] of list.values.entries()) {
      repeated[count] = i === 0 ? 0 : 1;
      defined[count] = 1;
      count += 1;
      lengths[values] = utf8Length(text);
      values += 1;
    }
    parts.push(encodeUtf8(list.values.join("")));
  }
  const [starts, ends] = [new Int32Array(values), new Int32Array(values)];
  for (let i = 0, at = 0; i < values; i++) {
    starts[i] = at;
    at += lengths[i] as number;
    ends[i] = at;
  }
  const levels = listLevels(repeated.subarray(0, count), defined.subarray(0, count));
  return textChunk({ source: concat(parts), starts, ends, own: new Map() }, { levels });
}

/** @param areRows the same id in neighbours is one id: the filter grows with invocations alone. */
function raysOf(json: Pieces, areRows: boolean): Chunk & { bloom: Uint8Array } {
  const { source } = json;
  const [starts, ends] = [json.starts.slice(), json.ends.slice()];
  const own = new Map<number, Uint8Array>();
  const ids: Uint8Array[] = [];
  for (let record = 0; record < starts.length; record++) {
    const place = rayIn(source, starts[record] as number, ends[record] as number);
    if (place !== null) [starts[record], ends[record]] = place;
    else {
      const found = rayOf(pieceOf(json, record));
      if (found.length > 0) own.set(record, found);
      else ends[record] = starts[record] as number;
    }
    const id = pieceOf({ source, starts, ends, own }, record);
    if (id.length > 0 && !(areRows && isEqual(id, ids.at(-1) ?? NO_BLOOM))) ids.push(id);
  }
  return { ...textChunk({ source, starts, ends, own }), bloom: bloomFilter(ids) };
}

const PLACE_BYTES = 8;

/** Each behind the number of its record, and its length. */
function packOdd(lines: Uint8Array, slices: Slices, odd: Set<number>): { packed: Uint8Array; raw: number } {
  if (odd.size === 0) return { packed: new Uint8Array(), raw: 0 };
  const parts = [...odd].flatMap((record) => {
    const line = lines.subarray(slices.lines[record], slices.lines[record + 1]);
    return [new Uint8Array(Uint32Array.of(record, line.length).buffer), line];
  });
  const raw = concat(parts);
  return { packed: gzipSync(raw), raw: raw.length };
}

function unpackOdd(bytes: Uint8Array, { raw }: Table["odd"]): ReadonlyMap<number, Uint8Array> {
  const lines = new Map<number, Uint8Array>();
  if (bytes.length === 0) return lines;
  const list = gunzipSync(bytes, { maxOutputLength: 2 * raw + 65_536 });
  const view = new DataView(list.buffer, list.byteOffset, list.length);
  for (let at = 0; at < list.length; ) {
    const [record, length] = [view.getUint32(at, true), view.getUint32(at + 4, true)];
    lines.set(record, list.subarray(at + PLACE_BYTES, at + PLACE_BYTES + length));
    at += PLACE_BYTES + length;
  }
  return lines;
}

/** Size of the pieces that lines are given back in, in bytes; a longer line is one by itself. */
const PIECE_BYTES = 65_536;

/**
 * The lines that a group was made of, in pieces of whole lines.
 * @param payload what follows the table.
 * @throws Error if it is not what was written, at the latest after the last piece.
 */
export function* decodeGroup(table: Table, payload: Uint8Array): Generator<Uint8Array> {
  requireBounds(table, payload.length);
  const { records, rawBytes, columns, odd } = table;
  let at = 0;
  const fields: { key: Uint8Array; next: (record: number) => Uint8Array }[] = [];
  for (const column of columns) {
    const known = columnOf(column.id) as Column;
    const chunk = payload.subarray(at, at + bytesOf(column));
    at += chunk.length;
    if (known.kind === "ray") continue;
    const key = encodeUtf8(`${fields.length === 0 ? "{" : ","}${JSON.stringify(known.name)}:`);
    fields.push({ key, next: jsonOf(known, column, chunk) });
  }
  const oddLines = unpackOdd(payload.subarray(payload.length - odd.packed), odd);
  const lines = new Lines(rawBytes);
  for (let record = 0; record < records; record++) {
    const whole = oddLines.get(record);
    // Values are read one after the other, those of odd records as well.
    const values = fields.map(({ next }) => next(record));
    if (whole !== undefined) lines.add(whole);
    else {
      for (const [i, value] of values.entries()) {
        lines.add((fields[i] as (typeof fields)[number]).key);
        lines.add(value);
      }
      lines.add(LINE_END);
    }
    if (lines.heldBytes >= PIECE_BYTES) yield lines.take();
  }
  yield lines.take();
  lines.end(table.crc);
}

const LINE_END = encodeUtf8("}\n");

/** The shortest text in a list, with its comma. */
const LISTED_MIN_BYTES = '"",'.length;

/**
 * What stands in a store may be anyone's: no number of a table makes a reader take more memory, or
 * time, than a group of ours does.
 * @throws Error
 */
function requireBounds(table: Table, payload: number): void {
  const { records, rawBytes, columns, odd } = table;
  const unpacked = columns.reduce((sum, { dictionary, data }) => sum + dictionary.raw + data.raw, odd.raw);
  if (payloadBytes(table) !== payload || Math.max(unpacked, rawBytes) > GROUP_MAX_BYTES)
    throw new Error("a group of another length");
  const inLine = columns.map(({ id }) => columnOf(id)).filter((column) => column?.kind !== "ray");
  const shortest = inLine.reduce((sum, column) => sum + (column?.name.length ?? 0), LINE_END.length);
  if (records * (odd.raw > 0 ? LINE_END.length : shortest) > rawBytes) throw new Error("more records than lines");
  for (const { id, values, entries, dictionary } of columns) {
    const most = columnOf(id)?.kind === "strings" ? records + rawBytes / LISTED_MIN_BYTES : records;
    if (values < records || values > most || entries * 4 > dictionary.raw) throw new Error("more values than records");
  }
}

/** The JSON of a column in each record. They are asked for in order. */
function jsonOf({ kind }: Column, sizes: TableColumn, chunk: Uint8Array): (record: number) => Uint8Array {
  if (kind === "int" || kind === "time") {
    const value = readInts(chunk, sizes);
    return (record) => encodeUtf8(String(value(record)));
  }
  if (kind === "bool") {
    const value = readBools(chunk, sizes);
    return (record) => flag(value(record));
  }
  const { levels, value, place } = readTexts(chunk, sizes, kind === "strings");
  if (kind === "json" || kind === "entries") return value;
  if (levels === null) {
    const known: Uint8Array[] = [];
    return (record) => {
      if (sizes.entries === 0) return quoted(value(record));
      known[place(record)] ??= quoted(value(record));
      return known[place(record)] as Uint8Array;
    };
  }
  const [repeated, defined] = levels;
  let at = 0;
  let used = 0;
  return () => {
    const list: string[] = [];
    do {
      if (defined[at] === 1) list.push(decodeUtf8(value(used++)));
      at += 1;
    } while (repeated[at] === 1);
    return listed(list);
  };
}

/** Lines in the making, which are to be so many bytes. */
class Lines {
  #left: number;
  #crc = 0;
  #held: Uint8Array[] = [];
  heldBytes = 0;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  add(part: Uint8Array): void {
    this.#held.push(part);
    this.heldBytes += part.length;
    this.#left -= part.length;
    if (this.#left < 0) throw new Error("lines of another length");
  }

  take(): Uint8Array {
    const piece = concat(this.#held);
    this.#crc = crc32(piece, this.#crc);
    this.#held = [];
    this.heldBytes = 0;
    return piece;
  }

  /** @throws Error if they are not the lines of this CRC-32. */
  end(crc: number): void {
    if (this.#left !== 0 || this.#crc !== crc) throw new Error("the lines are not those that were written");
  }
}
