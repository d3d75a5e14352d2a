import { bytesOf, type ChunkSizes } from "./chunk.ts";
import { columnOf } from "./columns.ts";

/**
 * What a group is, in front of its bytes: enough to write the end of a file and to read the group,
 * without anything that comes later. No reader of Parquet sees it: a file says where the chunks of
 * its columns begin, and what stands between them is passed over.
 *
 * | bytes | |
 * | --- | --- |
 * | 4 | {@link GROUP_MAGIC} |
 * | 4 + 4 | length of the table, and of what follows it |
 * | 24 | records; bytes and CRC-32 of their lines; of odd lines, the bytes packed and not; columns |
 * | 48 a column | id, {@link ChunkSizes}, bytes of its Bloom filter, lengths of its range |
 * | | least and greatest value of each column that has a range |
 *
 * Then the chunks of the columns, their Bloom filters, and odd lines. Numbers have 32 bits, little
 * endian. Groups are stored: another form is another magic.
 */
export interface Table {
  records: number;
  rawBytes: number;
  crc: number;
  odd: { packed: number; raw: number };
  columns: TableColumn[];
}

export interface TableColumn extends ChunkSizes {
  id: number;
  bloomBytes: number;
  range?: { min: Uint8Array; max: Uint8Array };
}

/** No Parquet structure begins so, nor any line. */
export const GROUP_MAGIC: Uint8Array = Uint8Array.of(0x4c, 0x53, 0x47, 0x31);

/** Magic and two lengths. */
export const GROUP_HEAD_BYTES = 12;

const FIXED = 6;
const PER_COLUMN = 12;

/** No group has a longer table: a range is at most 128 bytes. */
export const TABLE_MAX_BYTES = 65_536;

/** Magic, lengths and table. */
export function writeTable(table: Table): Uint8Array<ArrayBuffer> {
  const { records, rawBytes, crc, odd, columns } = table;
  const ranges = columns.flatMap(({ range }) => (range === undefined ? [] : [range.min, range.max]));
  const numbers = [records, rawBytes, crc >>> 0, odd.packed, odd.raw, columns.length];
  for (const { id, entries, values, dictionary, data, bloomBytes, range } of columns) {
    numbers.push(id, entries, values, dictionary.head, dictionary.packed, dictionary.raw, data.head, data.packed);
    numbers.push(data.raw, bloomBytes, range?.min.length ?? 0, range?.max.length ?? 0);
  }
  const tableBytes = numbers.length * 4 + ranges.reduce((sum, { length }) => sum + length, 0);
  const bytes = new Uint8Array(GROUP_HEAD_BYTES + tableBytes);
  bytes.set(GROUP_MAGIC);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, tableBytes, true);
  view.setUint32(8, payloadBytes(table), true);
  let at = GROUP_HEAD_BYTES;
  for (const number of numbers) {
    view.setUint32(at, number, true);
    at += 4;
  }
  for (const range of ranges) {
    bytes.set(range, at);
    at += range.length;
  }
  return bytes;
}

/** What follows the table, in bytes. */
export function payloadBytes({ columns, odd }: Table): number {
  return columns.reduce((sum, column) => sum + bytesOf(column) + column.bloomBytes, odd.packed);
}

/** @throws Error for the beginning of no group. */
export function readHead(head: Uint8Array): { tableBytes: number; payloadBytes: number } {
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const isGroup = GROUP_MAGIC.every((byte, i) => head[i] === byte);
  const tableBytes = view.getUint32(4, true);
  if (!isGroup || tableBytes < FIXED * 4 || tableBytes > TABLE_MAX_BYTES) throw new Error("no row group begins here");
  return { tableBytes, payloadBytes: view.getUint32(8, true) };
}

/** @param bytes the table alone. @throws Error for what is none, or has unknown columns. */
export function readTable(bytes: Uint8Array): Table {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const number = (place: number): number => view.getUint32(place * 4, true);
  const count = number(FIXED - 1);
  let range = (FIXED + count * PER_COLUMN) * 4;
  const next = (length: number): Uint8Array => {
    if (range + length > bytes.length) throw new Error("a table is too short");
    range += length;
    return bytes.slice(range - length, range);
  };
  const columns: TableColumn[] = [];
  for (let i = 0; i < count; i++) {
    const at = FIXED + i * PER_COLUMN;
    const [min, max] = [number(at + 10), number(at + 11)];
    columns.push({
      id: number(at),
      entries: number(at + 1),
      values: number(at + 2),
      dictionary: { head: number(at + 3), packed: number(at + 4), raw: number(at + 5) },
      data: { head: number(at + 6), packed: number(at + 7), raw: number(at + 8) },
      bloomBytes: number(at + 9),
      ...((min > 0 || max > 0) && { range: { min: next(min), max: next(max) } }),
    });
  }
  if (range !== bytes.length) throw new Error("a table is too long");
  if (columns.some(({ id }) => columnOf(id) === undefined)) throw new Error("a column that this version does not know");
  const odd = { packed: number(3), raw: number(4) };
  return { records: number(0), rawBytes: number(1), crc: number(2), odd, columns };
}
