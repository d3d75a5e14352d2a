import { crc32, gunzipSync } from "node:zlib";
import type { ColumnMetaData, RowGroup } from "hyparquet";
import { concat, decodeUtf8, encodeUtf8 } from "../../../base/bytes.ts";
import { RECORD_MAX_BYTES } from "../../../base/limits.ts";
import { type Column, columnOf } from "./columns.ts";
import { PARQUET_MAGIC } from "./footer.ts";
import { type ReadChunk, readFlags, readInts, readTexts } from "./pages.ts";
import { namesIn, type Table } from "./table.ts";
import { quoted } from "./values.ts";

/** No group takes more, packed or not, in bytes: one record may be as long as a record may be. */
export const GROUP_MAX_BYTES = 3 * RECORD_MAX_BYTES;

/** Size of the pieces that lines are given back in, in bytes; a longer line is one by itself. */
const PIECE_BYTES = 65_536;

/**
 * The lines that a group was made of, in pieces of whole lines.
 * @param payload what follows the table.
 * @param fields whose columns are read; records have no others, but for odd ones. Their lines are
 *   checked by the checksums of these columns. null: all.
 * @throws Error if it is not what was written, at the latest after the last piece.
 */
export function* decodeGroup(
  table: Table,
  payload: Uint8Array,
  fields: ReadonlySet<string> | null = null,
): Generator<Uint8Array> {
  const { rawBytes, odd, group } = table;
  if (Math.max(payload.length, rawBytes, odd.raw) > GROUP_MAX_BYTES) throw new Error("a row group is too long");
  if (group !== undefined) requireBounds(group, table);
  const columns: { key: Uint8Array; next: (record: number) => Uint8Array }[] = [];
  for (const { meta_data } of group?.columns ?? []) {
    const meta = meta_data as ColumnMetaData;
    const column = columnOf(meta.path_in_schema[0]) as Column;
    if (!isNeeded(column, fields)) continue;
    const key = encodeUtf8(`${columns.length === 0 ? "{" : ","}${JSON.stringify(column.name)}:`);
    columns.push({ key, next: jsonOf(column, { chunk: chunkOf(payload, meta), meta }) });
  }
  const oddLines = unpackOdd(payload.subarray(payload.length - odd.packed), odd);
  const lines = new Lines(rawBytes);
  for (let record = 0; record < Number(group?.num_rows ?? 0); record++) {
    const whole = oddLines.get(record);
    // Values are read one after the other, those of odd records as well.
    const values = columns.map(({ next }) => next(record));
    if (whole !== undefined) lines.add(whole);
    else {
      if (columns.length === 0) lines.add(LINE_BEGIN);
      for (const [i, value] of values.entries()) {
        lines.add((columns[i] as (typeof columns)[number]).key);
        lines.add(value);
      }
      lines.add(LINE_END);
    }
    if (lines.heldBytes >= PIECE_BYTES) yield lines.take();
  }
  yield lines.take();
  if (fields === null) lines.end(table.crc);
}

const LINE_BEGIN = encodeUtf8("{");
const LINE_END = encodeUtf8("}\n");

/** The shortest text in a list, with its comma. */
const LISTED_MIN_BYTES = '"",'.length;

/**
 * What stands in a store may be anyone's: no number of a table makes a reader take more memory, or
 * time, than a group of ours does.
 * @throws Error
 */
function requireBounds(group: RowGroup, { rawBytes, odd }: Table): void {
  const records = Number(group.num_rows);
  const names = namesIn(group);
  if (new Set(names).size < names.length) throw new Error("a column that is there twice");
  const inLine = names.filter((name) => columnOf(name)?.kind !== "ray");
  const shortest = inLine.reduce((sum, name) => sum + (name?.length ?? 0), LINE_END.length);
  // What is absent is no number, and within no bounds.
  if (!(records >= 0 && records * (odd.raw > 0 ? LINE_END.length : shortest) <= rawBytes))
    throw new Error("more records than lines");
  let unpacked = odd.raw;
  for (const { meta_data } of group.columns) {
    const { num_values, total_uncompressed_size, path_in_schema } = meta_data as ColumnMetaData;
    const most = columnOf(path_in_schema[0])?.kind === "strings" ? records + rawBytes / LISTED_MIN_BYTES : records;
    if (!(num_values >= records && num_values <= most)) throw new Error("more values than records");
    unpacked += Math.abs(Number(total_uncompressed_size));
  }
  if (!(unpacked <= GROUP_MAX_BYTES)) throw new Error("a group of another length");
}

function isNeeded({ kind, name }: Column, fields: ReadonlySet<string> | null): boolean {
  return kind !== "ray" && fields?.has(name) !== false;
}

function chunkOf(payload: Uint8Array, meta: ColumnMetaData): Uint8Array {
  return payload.subarray(...placeOf(meta, payload.length));
}

/** Where the chunk of a column is in a payload of so many bytes. */
function placeOf(meta: ColumnMetaData, bytes: number): Place {
  const from = Number(meta.dictionary_page_offset ?? meta.data_page_offset) - PARQUET_MAGIC.length;
  const to = from + Number(meta.total_compressed_size);
  if (!(from >= 0 && from <= to && to <= bytes)) throw new Error("a column of another length");
  return [from, to];
}

/** Of a payload. */
export type Place = readonly [from: number, to: number];

/** All that {@link decodeGroup} reads of a payload of so many bytes, in order. @throws Error */
export function placesOf({ group, odd }: Table, bytes: number, fields: ReadonlySet<string>): Place[] {
  if (odd.packed > bytes) throw new Error("odd lines of another length");
  const metas = (group?.columns ?? []).map(({ meta_data }) => meta_data as ColumnMetaData);
  const needed = metas.filter(({ path_in_schema: [name] }) => isNeeded(columnOf(name) as Column, fields));
  const places = needed.map((meta) => placeOf(meta, bytes)).sort(([a], [b]) => a - b);
  return odd.packed === 0 ? places : [...places, [bytes - odd.packed, bytes]];
}

const TRUE = encodeUtf8("true");
const FALSE = encodeUtf8("false");

/** The JSON of a column in each record. They are asked for in order. */
function jsonOf({ kind }: Column, read: ReadChunk): (record: number) => Uint8Array {
  if (kind === "int" || kind === "time") {
    const value = readInts(read);
    return (record) => encodeUtf8(String(value(record)));
  }
  if (kind === "bool") {
    const value = readFlags(read);
    return (record) => (value(record) ? TRUE : FALSE);
  }
  const { levels, text, place } = readTexts(read);
  if (kind === "json" || kind === "entries") return text;
  if (levels === null) {
    if (place === null) return (record) => quoted(text(record));
    const known: Uint8Array[] = [];
    return (record) => {
      known[place(record)] ??= quoted(text(record));
      return known[place(record)] as Uint8Array;
    };
  }
  const { repeated, defined } = levels;
  let at = 0;
  let used = 0;
  return () => {
    const list: string[] = [];
    do {
      if (defined[at] === 1) list.push(decodeUtf8(text(used++)));
      at += 1;
    } while (repeated[at] === 1);
    return encodeUtf8(JSON.stringify(list));
  };
}

/** Number of a record, and length of its line. */
const PLACE_BYTES = 8;

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
