import { crc32, gzipSync } from "node:zlib";
import { ByteWriter, type ColumnSource, ParquetWriter } from "hyparquet-writer";
import { concat, decodeUtf8, encodeUtf8 } from "../../../base/bytes.ts";
import type { Column } from "./columns.ts";
import { CREATED_BY, FOOTER_END_BYTES, PARQUET_MAGIC, RANGE_MAX_BYTES } from "./footer.ts";
import { writtenSchema } from "./schema.ts";
import { type Slices, sliceLines } from "./slices.ts";
import { writeTable } from "./table.ts";
import { rayOf, readFlag, readInt, readString, readStrings, type Value } from "./values.ts";

/**
 * Level of gzip for pages. Level 6 takes a third more CPU for 2 % fewer bytes; with this one, an
 * object is as large as one of NDJSON at level 6.
 */
const LEVEL = 5;

/** One value in so many that are not there seems to be, by the filter of ray ids. */
const RAYS_TO_ONE_WRONG = 400;

/**
 * A row group out of lines of JSON: what a Parquet file of these records alone has between its
 * beginning and its end; the end stands in the table before it. A record whose line does not follow
 * from its columns (`1e3`, a lone surrogate: nothing that intake writes) is odd: its line is kept
 * beside them.
 * @param lines of records that have the fields of these columns, in this order, each with a line
 *   feed.
 * @returns the group, in a buffer of its own.
 */
export function encodeGroup(lines: Uint8Array, columns: readonly Column[]): Uint8Array<ArrayBuffer> {
  const fields = columns.filter(({ kind }) => kind !== "ray").map(({ name }) => name);
  const slices = sliceLines(decodeUtf8(lines), fields);
  const odd = new Set(slices.unread);
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: writtenSchema(columns),
    codec: "GZIP",
    compressors: { GZIP: (raw) => gzipSync(raw, { level: LEVEL }) },
    statisticsTruncateLength: RANGE_MAX_BYTES,
    createdBy: CREATED_BY,
  });
  const columnData = columns.map((column) => {
    const json = slices.values[fields.indexOf(column.kind === "ray" ? "Event" : column.name)] as string[];
    return { name: column.name, ...sourceOf(column, json, odd) };
  });
  // Each column has one page.
  file.write({ columnData, rowGroupSize: slices.lines.length, pageSize: 0 });
  file.finish();
  const bytes = writer.getBytes();
  const endBytes = new DataView(bytes.buffer, bytes.length - FOOTER_END_BYTES).getUint32(0, true) + FOOTER_END_BYTES;
  const payload = bytes.subarray(PARQUET_MAGIC.length, -endBytes);
  const oddLines = packOdd(slices, odd);
  const table = {
    rawBytes: lines.length,
    crc: crc32(lines),
    odd: { packed: oddLines.packed.length, raw: oddLines.raw },
  };
  const head = writeTable(table, bytes.subarray(-endBytes), payload.length + oddLines.packed.length);
  return concat([head, payload, oddLines.packed]);
}

const PLAIN = { encoding: "PLAIN" } as const;
const UNORDERED = { statistics: false } as const;

/** The values of a column. @param odd gets the records whose JSON does not follow from them. */
function sourceOf({ kind, fallback }: Column, json: string[], odd: Set<number>): Omit<ColumnSource, "name"> {
  const read = <T>(readOne: (json: string) => Value<T>): T[] =>
    json.map((each, record) => {
      const { value, isExact } = readOne(each || fallback);
      if (!isExact) odd.add(record);
      return value;
    });
  switch (kind) {
    case "int":
    case "time":
      return { data: read(readInt).map(BigInt), ...PLAIN };
    case "bool":
      return { data: read(readFlag), ...PLAIN };
    case "string":
      return { data: read(readString) };
    case "json":
    case "entries":
      return { data: json.map((each) => each || fallback), ...UNORDERED };
    case "strings":
      return { data: read(readStrings), ...UNORDERED };
    case "ray":
      return { data: json.map(rayOf), ...UNORDERED, bloomFilter: { fpp: 1 / RAYS_TO_ONE_WRONG } };
  }
}

/** Each behind the number of its record, and its length. */
function packOdd({ lines }: Slices, odd: ReadonlySet<number>): { packed: Uint8Array; raw: number } {
  if (odd.size === 0) return { packed: new Uint8Array(), raw: 0 };
  const parts = [...odd].flatMap((record) => {
    const line = encodeUtf8(lines[record] as string);
    return [new Uint8Array(Uint32Array.of(record, line.length).buffer), line];
  });
  const raw = concat(parts);
  return { packed: gzipSync(raw), raw: raw.length };
}
