import { type FileMetaData, parquetMetadata, type RowGroup } from "hyparquet";
import { concat } from "../../../base/bytes.ts";
import { columnOf } from "./columns.ts";
import { FOOTER_END_BYTES } from "./footer.ts";
import { requireLists } from "./thrift.ts";

/**
 * What a group is, in front of its bytes: enough to write the end of a file and to read the group,
 * without anything that comes later. No reader of Parquet sees it: a file says where the chunks of
 * its columns begin, and what stands between them is passed over.
 *
 * | bytes | |
 * | --- | --- |
 * | 4 | {@link GROUP_MAGIC} |
 * | 4 + 4 | length of the table, and of what follows it |
 * | 4 + 4 | bytes and CRC-32 of its lines |
 * | 4 + 4 | bytes of odd lines, packed and not |
 * | | how a Parquet file of this group alone would end |
 *
 * Then the chunks of the columns, their Bloom filters, and odd lines. Numbers have 32 bits, little
 * endian. Groups are stored: another form is another magic.
 */
export interface Table {
  rawBytes: number;
  crc: number;
  odd: { packed: number; raw: number };
  /** Absent: there are no records. Its offsets are those in a file of its own. */
  group: RowGroup | undefined;
}

/** No Parquet structure begins so, nor any line. */
export const GROUP_MAGIC: Uint8Array = Uint8Array.of(0x4c, 0x53, 0x47, 0x32);

/** Magic and two lengths. */
export const GROUP_HEAD_BYTES = 12;

/** Numbers of the table, before the end of a file. */
const FIXED_BYTES = 16;

/** No group has a longer table. */
export const TABLE_MAX_BYTES = 16_384;

/** Magic, lengths and table. @param end how a file of this group ends. */
export function writeTable(
  { rawBytes, crc, odd }: Omit<Table, "group">,
  end: Uint8Array,
  payloadBytes: number,
): Uint8Array<ArrayBuffer> {
  const lengths = Uint32Array.of(FIXED_BYTES + end.length, payloadBytes);
  const fixed = Uint32Array.of(rawBytes, crc, odd.packed, odd.raw);
  return concat([GROUP_MAGIC, new Uint8Array(lengths.buffer), new Uint8Array(fixed.buffer), end]);
}

/** @throws Error for the beginning of no group. */
export function readHead(head: Uint8Array): { tableBytes: number; payloadBytes: number } {
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const isGroup = GROUP_MAGIC.every((byte, i) => head[i] === byte);
  const tableBytes = view.getUint32(4, true);
  if (!isGroup || tableBytes < FIXED_BYTES || tableBytes > TABLE_MAX_BYTES) throw new Error("no row group begins here");
  return { tableBytes, payloadBytes: view.getUint32(8, true) };
}

/** Statistics are passed on as they are. */
const PARSERS = { stringFromBytes: (bytes: Uint8Array) => bytes };

/** @param bytes the table alone. @throws Error for what is none, or has unknown columns. */
export function readTable(bytes: Uint8Array): Table {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const number = (place: number): number => view.getUint32(place * 4, true);
  const end = bytes.subarray(FIXED_BYTES);
  const endBytes = view.getUint32(bytes.length - FOOTER_END_BYTES, true);
  if (endBytes !== end.length - FOOTER_END_BYTES || requireLists(end) !== endBytes)
    throw new Error("a table of another length");
  const { row_groups } = parquetMetadata(end, { parsers: PARSERS }) as FileMetaData;
  if (row_groups.length > 1) throw new Error("a table of several groups");
  const [group] = row_groups;
  if (group !== undefined && namesIn(group).some((name) => columnOf(name) === undefined))
    throw new Error("a column that this version does not know");
  return { rawBytes: number(0), crc: number(1), odd: { packed: number(2), raw: number(3) }, group };
}

/** Of its columns, in order. */
export function namesIn({ columns }: RowGroup): (string | undefined)[] {
  return columns.map(({ meta_data }) => meta_data?.path_in_schema[0]);
}
