import { concat, encodeUtf8 } from "../../../base/bytes.ts";
import { bytesOf, ENCODING } from "./chunk.ts";
import type { Column, ColumnKind } from "./columns.ts";
import { GROUP_HEAD_BYTES, type Table } from "./table.ts";
import { ThriftWriter } from "./thrift.ts";

/** How a file begins and ends. */
export const PARQUET_MAGIC: Uint8Array<ArrayBuffer> = encodeUtf8("PAR1");

/** Behind the footer: its length, and the magic. */
export const FOOTER_END_BYTES = 8;

/** https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift */
const TYPE = { bool: 0, int64: 2, bytes: 6 } as const;
const CONVERTED = { utf8: 0, list: 3, timeMs: 9, json: 19 } as const;
const LOGICAL = { string: 1, list: 3, time: 8, json: 12 } as const;
const REPETITION = { required: 0, repeated: 2 } as const;
const GZIP = 2;
const MILLIS = 1;

/** A group, and where it begins in the file. */
export interface Placed {
  at: number;
  tableBytes: number;
  table: Table;
}

/**
 * How a file ends: what its columns are, and where those of each group begin.
 * @param note kept with the file, and that no reader looks at; "": none.
 */
export function footer(columns: readonly Column[], groups: readonly Placed[], note = ""): Uint8Array<ArrayBuffer> {
  const to = new ThriftWriter();
  to.i32(1, 1);
  writeSchema(to, columns);
  to.i64(
    3,
    groups.reduce((sum, { table }) => sum + table.records, 0),
  );
  to.structs(4, groups, (group) => writeGroup(to, columns, group));
  if (note !== "")
    to.structs(5, [note], (value) => {
      to.binary(1, "logship.note");
      to.binary(2, value);
    });
  to.binary(6, "logship");
  // Least and greatest values are by the order of each type: without this, readers leave them out.
  to.structs(7, columns, () => to.struct(1, () => {}));
  const bytes = to.finish();
  const length = new Uint8Array(Uint32Array.of(bytes.length).buffer);
  return concat([bytes, length, PARQUET_MAGIC]);
}

function writeSchema(to: ThriftWriter, columns: readonly Column[]): void {
  const root: (() => void)[] = [
    () => {
      to.binary(4, "record");
      to.i32(5, columns.length);
    },
  ];
  to.structs(2, [...root, ...columns.flatMap((column) => elementsOf(to, column))], (write) => write());
}

/** A list has three: itself, that there are several, and one of them. */
function elementsOf(to: ThriftWriter, { name, kind }: Column): (() => void)[] {
  if (kind !== "strings") return [() => writeLeaf(to, name, kind)];
  return [
    () => {
      to.i32(3, REPETITION.required);
      to.binary(4, name);
      to.i32(5, 1);
      to.i32(6, CONVERTED.list);
      to.empty(10, LOGICAL.list);
    },
    () => {
      to.i32(3, REPETITION.repeated);
      to.binary(4, "list");
      to.i32(5, 1);
    },
    () => writeLeaf(to, "element", "string"),
  ];
}

/** With the older names of types beside the newer: some readers know only those. */
function writeLeaf(to: ThriftWriter, name: string, kind: ColumnKind): void {
  to.i32(1, storedAs(kind));
  to.i32(3, REPETITION.required);
  to.binary(4, name);
  if (kind === "time") {
    to.i32(6, CONVERTED.timeMs);
    to.struct(10, () =>
      to.struct(LOGICAL.time, () => {
        to.bool(1, true);
        to.empty(2, MILLIS);
      }),
    );
  } else if (kind === "json") {
    to.i32(6, CONVERTED.json);
    to.empty(10, LOGICAL.json);
  } else if (storedAs(kind) === TYPE.bytes) {
    to.i32(6, CONVERTED.utf8);
    to.empty(10, LOGICAL.string);
  }
}

function storedAs(kind: ColumnKind): (typeof TYPE)[keyof typeof TYPE] {
  if (kind === "bool") return TYPE.bool;
  return kind === "int" || kind === "time" ? TYPE.int64 : TYPE.bytes;
}

function writeGroup(to: ThriftWriter, columns: readonly Column[], { at, tableBytes, table }: Placed): void {
  let next = at + GROUP_HEAD_BYTES + tableBytes;
  const chunksBytes = table.columns.reduce((sum, each) => sum + bytesOf(each), 0);
  let nextBloom = next + chunksBytes;
  const rawBytes = ({ dictionary, data }: Table["columns"][number]): number =>
    dictionary.head + dictionary.raw + data.head + data.raw;
  to.structs(1, table.columns, (chunk) => {
    const column = columns[table.columns.indexOf(chunk)] as Column;
    const [from, bloomAt] = [next, nextBloom];
    next += bytesOf(chunk);
    nextBloom += chunk.bloomBytes;
    const { entries, dictionary } = chunk;
    to.i64(2, 0);
    to.struct(3, () => {
      to.i32(1, storedAs(column.kind));
      to.i32s(2, entries === 0 ? [ENCODING.plain, ENCODING.rle] : [ENCODING.plain, ENCODING.rle, ENCODING.dictionary]);
      to.binaries(3, column.kind === "strings" ? [column.name, "list", "element"] : [column.name]);
      to.i32(4, GZIP);
      to.i64(5, chunk.values);
      to.i64(6, rawBytes(chunk));
      to.i64(7, bytesOf(chunk));
      to.i64(9, from + dictionary.head + dictionary.packed);
      if (entries > 0) to.i64(11, from);
      if (chunk.range !== undefined) writeRange(to, chunk.range);
      if (chunk.bloomBytes > 0) {
        to.i64(14, bloomAt);
        to.i32(15, chunk.bloomBytes);
      }
    });
  });
  to.i64(
    2,
    table.columns.reduce((sum, each) => sum + rawBytes(each), 0),
  );
  to.i64(3, table.records);
  to.i64(6, chunksBytes);
}

function writeRange(to: ThriftWriter, { min, max }: { min: Uint8Array; max: Uint8Array }): void {
  to.struct(12, () => {
    to.i64(3, 0);
    to.binary(5, max);
    to.binary(6, min);
  });
}
