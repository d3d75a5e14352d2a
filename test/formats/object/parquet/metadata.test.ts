/** What readers of Parquet learn of an object before they read it. */
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../../src/base/bytes.ts";
import { encoderOf } from "../../../../src/formats/object/encoders.ts";
import { bloomFilter, xxHash64 } from "../../../../src/formats/object/parquet/bloom.ts";
import { GROUP_HEAD_BYTES, readHead, readTable } from "../../../../src/formats/object/parquet/table.ts";
import type { OutputFormat } from "../../../../src/formats/output/format.ts";
import { recordLine } from "../../../../src/formats/record/encode.ts";
import { EXTRA_FIELDS, ROW_FIELDS, type TraceRecord } from "../../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../../src/formats/record/line.ts";
import { fileOf, metadataOf, PARQUET } from "../../../support/parquet-files.ts";
import { NOON, traceRecord } from "../../record/samples.ts";

const lineOf = (fields: Partial<TraceRecord>): string => `${recordLine(traceRecord(fields))}\n`;

const GROUPS = [
  [
    lineOf({ EventTimestampMs: NOON + 5, ScriptName: "b", WallTimeMs: 0 }),
    lineOf({ EventTimestampMs: NOON, ScriptName: "ü", WallTimeMs: 2 ** 40 }),
    lineOf({ EventTimestampMs: NOON + 9, ScriptName: "a", Event: { RayID: "8f14e45fceea167a" } }),
  ],
  [lineOf({ EventTimestampMs: NOON + 60_000, ScriptName: "s".repeat(65) })],
];

const METADATA = metadataOf(fileOf(GROUPS));

/** Of the columns of a group, by name. */
const columnsIn = (group: number, metadata = METADATA) =>
  new Map(metadata.row_groups[group]?.columns.map(({ meta_data }) => [meta_data?.path_in_schema.join("."), meta_data]));

const typesOf = ({ schema }: typeof METADATA) =>
  schema.map(({ name, type, converted_type, logical_type }) => [name, type, converted_type, logical_type?.type]);

describe("the footer", () => {
  it("has every group, with the least and the greatest time and name", () => {
    expect(METADATA.row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([3, 1]);
    const { min_value, max_value, null_count } = columnsIn(0).get("EventTimestampMs")?.statistics ?? {};
    expect([min_value, max_value, null_count]).toEqual([new Date(NOON), new Date(NOON + 9), 0n]);
    expect(columnsIn(0).get("ScriptName")?.statistics).toMatchObject({ min_value: "a", max_value: "ü" });
    expect(columnsIn(0).get("WallTimeMs")?.statistics).toMatchObject({ max_value: 2n ** 40n });
    expect(columnsIn(1).get("EventTimestampMs")?.statistics?.min_value).toEqual(new Date(NOON + 60_000));
  });

  it("has no statistics of long values, and of columns without an order", () => {
    expect(columnsIn(1).get("ScriptName")?.statistics).toBeUndefined();
    expect(columnsIn(0).get("Logs")?.statistics).toBeUndefined();
  });

  it("says what each column is, as readers that know only the older or the newer names find it", () => {
    expect(typesOf(METADATA).map(([name, _type, ...declared]) => [name, ...declared])).toEqual([
      ["record", undefined, undefined],
      ["CPUTimeMs", undefined, undefined],
      ["DispatchNamespace", "UTF8", "STRING"],
      ["Entrypoint", "UTF8", "STRING"],
      ["Event", "JSON", "JSON"],
      ["RayID", "UTF8", "STRING"],
      ["EventTimestampMs", "TIMESTAMP_MILLIS", "TIMESTAMP"],
      ["EventType", "UTF8", "STRING"],
      ["Exceptions", "UTF8", "STRING"],
      ["Logs", "UTF8", "STRING"],
      ["Outcome", "UTF8", "STRING"],
      ["ScriptName", "UTF8", "STRING"],
      ["ScriptTags", "LIST", "LIST"],
      ["list", undefined, undefined],
      ["element", "UTF8", "STRING"],
      ["ScriptVersion", "JSON", "JSON"],
      ["WallTimeMs", undefined, undefined],
    ]);
  });
});

describe("an object of rows, with extra fields", () => {
  const output: OutputFormat = { ...PARQUET, rows: "log", fieldNames: [...ROW_FIELDS, ...EXTRA_FIELDS, "Event"] };
  const encoder = encoderOf(output);
  const record = (id: string, logs: number, extra = ""): string => {
    const Logs = Array.from({ length: logs }, (_, n) => ({ Level: "log", Message: [`${n}`], TimestampMs: NOON + n }));
    const line = recordLine(traceRecord({ Logs, Event: { RayID: id } }));
    return encoder.text(RecordLine.read(line, "rpc", extra) as RecordLine);
  };
  const metadata = metadataOf(fileOf([[record("a", 50), record("b", 50, '{"Truncated":true}')]], encoder));

  it("says what each column is", () => {
    expect(typesOf(metadata)).toEqual([
      ["record", undefined, undefined, undefined],
      ["Level", "BYTE_ARRAY", "UTF8", "STRING"],
      ["Message", "BYTE_ARRAY", "UTF8", "STRING"],
      ["TimestampMs", "INT64", "TIMESTAMP_MILLIS", "TIMESTAMP"],
      ["RowType", "BYTE_ARRAY", "UTF8", "STRING"],
      ["ExceptionName", "BYTE_ARRAY", "UTF8", "STRING"],
      ["Fields", "BYTE_ARRAY", "UTF8", "STRING"],
      ["Source", "BYTE_ARRAY", "UTF8", "STRING"],
      ["RequestHeaders", "BYTE_ARRAY", "JSON", "JSON"],
      ["RequestCF", "BYTE_ARRAY", "JSON", "JSON"],
      ["ExceptionStacks", undefined, "LIST", "LIST"],
      ["list", undefined, undefined, undefined],
      ["element", "BYTE_ARRAY", "UTF8", "STRING"],
      ["DurableObjectID", "BYTE_ARRAY", "UTF8", "STRING"],
      ["ExecutionModel", "BYTE_ARRAY", "UTF8", "STRING"],
      ["Truncated", "BOOLEAN", undefined, undefined],
      ["Event", "BYTE_ARRAY", "JSON", "JSON"],
      ["RayID", "BYTE_ARRAY", "UTF8", "STRING"],
    ]);
  });

  it("counts rows, with their least and greatest times and flags", () => {
    expect([metadata.num_rows, metadata.row_groups[0]?.num_rows]).toEqual([100n, 100n]);
    const statistics = (name: string) => {
      const { min_value, max_value } = columnsIn(0, metadata).get(name)?.statistics ?? {};
      return [min_value, max_value];
    };
    expect(statistics("TimestampMs")).toEqual([new Date(NOON), new Date(NOON + 49)]);
    expect(statistics("Truncated")).toEqual([false, true]);
    expect(statistics("Level")).toEqual(["log", "log"]);
    expect(statistics("Fields")).toEqual([undefined, undefined]);
  });

  it("has a filter of ray ids that grows with invocations, not with rows", () => {
    const ids = ["a", "b"].map(encodeUtf8);
    expect(columnsIn(0, metadata).get("RayID")?.bloom_filter_length).toBe(bloomFilter(ids).length);
  });
});

/** All of a group but what depends on the compressor. */
function digestOf(group: Uint8Array): string {
  const payload = GROUP_HEAD_BYTES + readHead(group).tableBytes;
  const table = readTable(group.subarray(GROUP_HEAD_BYTES, payload));
  const hash = createHash("sha256").update(JSON.stringify([table.records, table.rawBytes, table.crc, table.odd.raw]));
  const unpacked = (from: number, bytes: number) => new Uint8Array(gunzipSync(group.subarray(from, from + bytes)));
  let at = payload;
  for (const column of table.columns) {
    const { id, entries, values, dictionary, data, bloomBytes, range } = column;
    const sizes = [id, entries, values, dictionary.raw, data.raw, bloomBytes, range?.min.join(), range?.max.join()];
    hash.update(JSON.stringify(sizes));
    for (const { head, packed } of [dictionary, data]) {
      if (packed > 0) hash.update(unpacked(at + head, packed));
      at += head + packed;
    }
  }
  const odd = group.length - table.odd.packed;
  hash.update(group.subarray(at, odd)).update(unpacked(odd, table.odd.packed));
  return hash.digest("hex");
}

it("a group of records is what it was before there were rows and extra fields, to the byte", () => {
  const lines = Array.from({ length: 300 }, (_, n) =>
    lineOf({
      CPUTimeMs: n,
      Entrypoint: `ü${n}`,
      EventTimestampMs: NOON + n,
      // Neighbours share an id, as two invocations of one request do.
      Event: n % 3 === 0 ? {} : { RayID: `${n >> 2}` },
      Logs: n % 2 === 0 ? [] : [{ Level: "log", Message: [`"${n % 5}"`], TimestampMs: NOON }],
      ScriptName: `s${n % 7}`,
      ScriptTags: Array.from({ length: n % 3 }, (_, i) => `t${i}`),
    }),
  );
  const odd = lineOf({}).replace('"CPUTimeMs":0', '"CPUTimeMs":1e3');
  const group = encoderOf(PARQUET).finish(encodeUtf8([...lines, odd].join("")));
  expect(digestOf(group)).toBe("cb25cc5199853b2dfaf1abdecdf52aaf5b98da638c2c14970c474c01691b2102");
});

describe("the filter of ray ids", () => {
  it("is of those that there are, and hashed as published", () => {
    const hash = (text: string): string =>
      xxHash64(encodeUtf8(text))
        .map((half) => half.toString(16).padStart(8, "0"))
        .join("");
    // https://github.com/Cyan4973/xxHash: values of `xxhsum -H64`.
    expect(hash("")).toBe("ef46db3751d8e999");
    expect(hash("a")).toBe("d24ec4f1a98c6e5b");
    expect(hash("abc")).toBe("44bc2cf5ad770999");
    expect(hash("Nobody inspects the spammish repetition")).toBe("fbcea83c8a378bf1");
    expect(columnsIn(0).get("RayID")?.bloom_filter_length).toBe(bloomFilter([encodeUtf8("8f14e45fceea167a")]).length);
    expect(columnsIn(1).get("RayID")?.bloom_filter_offset).toBeUndefined();
  });

  it("has eight bits of a value, and seldom those of another", () => {
    const ids = Array.from({ length: 2_000 }, (_, n) => encodeUtf8(xxHash64(encodeUtf8(`${n}`)).join("")));
    const filter = bloomFilter(ids.slice(0, 1_000));
    const words = new Uint32Array(filter.slice(-2_048).buffer);
    const mayHold = (id: Uint8Array): boolean => {
      const single = new Uint32Array(bloomFilter([id]).slice(-32).buffer);
      const block = Math.floor((xxHash64(id)[0] * 64) / 2 ** 32) * 8;
      return single.every((bits, i) => ((words[block + i] as number) & bits) !== 0);
    };
    expect(ids.slice(0, 1_000).every(mayHold)).toBe(true);
    expect(ids.slice(1_000).filter(mayHold).length).toBeLessThan(20);
  });
});
