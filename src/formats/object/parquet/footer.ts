import type { ColumnMetaData, RowGroup } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { encodeUtf8, isEqual } from "../../../base/bytes.ts";
import type { Column } from "./columns.ts";
import { declaredSchema } from "./schema.ts";

/** How a file begins and ends. */
export const PARQUET_MAGIC: Uint8Array<ArrayBuffer> = encodeUtf8("PAR1");

/** Behind the footer: its length, and the magic. */
export const FOOTER_END_BYTES = 8;

/** Longest text in statistics, in bytes: they stand in the end of the file, of every group. */
export const RANGE_MAX_BYTES = 64;

/** @param last of a file. @param bytes behind its groups. @throws Error */
export function requireEnd(last: Uint8Array, bytes: number): void {
  const view = new DataView(last.buffer, last.byteOffset, last.length);
  if (!isEqual(last.subarray(4), PARQUET_MAGIC) || view.getUint32(0, true) !== bytes - FOOTER_END_BYTES)
    throw new Error("a file without its end");
}

export const CREATED_BY = "logship";

/** A group with its offsets in a file of its own, and where in this one that file would begin. */
export interface Placed {
  at: number;
  group: RowGroup;
}

/**
 * How a file ends: what its columns are, and where those of each group begin.
 * @param note kept with the file, and that no reader looks at; "": none.
 */
export function footer(columns: readonly Column[], groups: readonly Placed[], note = ""): Uint8Array<ArrayBuffer> {
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: declaredSchema(columns),
    statisticsTruncateLength: RANGE_MAX_BYTES,
    createdBy: CREATED_BY,
    ...(note !== "" && { kvMetadata: [{ key: "logship.note", value: note }] }),
  });
  file.row_groups = groups.map(moved);
  file.num_rows = groups.reduce((sum, { group }) => sum + group.num_rows, 0n);
  file.finish();
  return new Uint8Array(writer.getBytes().subarray(PARQUET_MAGIC.length));
}

function moved({ at, group }: Placed): RowGroup {
  const by = BigInt(at);
  const columns = group.columns.map(({ file_offset, meta_data, ...column }) => ({
    ...column,
    file_offset: file_offset + by,
    ...(meta_data && { meta_data: movedData(meta_data, by) }),
  }));
  return { ...group, columns };
}

function movedData(data: ColumnMetaData, by: bigint): ColumnMetaData {
  const { data_page_offset, dictionary_page_offset, bloom_filter_offset } = data;
  return {
    ...data,
    data_page_offset: data_page_offset + by,
    ...(dictionary_page_offset !== undefined && { dictionary_page_offset: dictionary_page_offset + by }),
    ...(bloom_filter_offset !== undefined && { bloom_filter_offset: bloom_filter_offset + by }),
  };
}
