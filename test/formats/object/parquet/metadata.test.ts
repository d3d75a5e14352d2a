/** What readers of Parquet learn of an object before they read it. */
import { hashParquetValue, readBloomFilter, sbbfContains } from "hyparquet/src/bloom.js";
import { describe, expect, it } from "vitest";
import { concat, encodeUtf8, fromBase64 } from "../../../../src/base/bytes.ts";
import { encoderOf } from "../../../../src/formats/object/encoders.ts";
import type { OutputFormat } from "../../../../src/formats/output/format.ts";
import { recordLine } from "../../../../src/formats/record/encode.ts";
import { EXTRA_FIELDS, ROW_FIELDS, type TraceRecord } from "../../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../../src/formats/record/line.ts";
import { fileOf, linesIn, metadataOf, PARQUET } from "../../../support/parquet-files.ts";
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

/** Statistics as they are stored. */
const BYTES = { stringFromBytes: (bytes: Uint8Array) => bytes };

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

  it("has bounds of long values, and no statistics of columns without an order", () => {
    const { min_value, max_value, is_min_value_exact, is_max_value_exact } =
      columnsIn(1).get("ScriptName")?.statistics ?? {};
    expect([min_value, max_value]).toEqual(["s".repeat(64), `${"s".repeat(63)}t`]);
    expect([is_min_value_exact, is_max_value_exact]).toEqual([false, false]);
    expect(columnsIn(0).get("Logs")?.statistics).toBeUndefined();
  });

  it("has a name as it is that begins with a byte order mark", () => {
    const metadata = metadataOf(fileOf([["\ufeffb", "a"].map((ScriptName) => lineOf({ ScriptName }))]), BYTES);
    const { max_value } = columnsIn(0, metadata).get("ScriptName")?.statistics ?? {};
    expect(max_value).toEqual(encodeUtf8("\ufeffb"));
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
      ["LogErrors", "BYTE_ARRAY", "UTF8", "STRING"],
      ["Preview", "BYTE_ARRAY", "JSON", "JSON"],
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
    const few = metadataOf(fileOf([[record("a", 1), record("b", 1)]], encoder));
    const lengths = [metadata, few].map((each) => columnsIn(0, each).get("RayID")?.bloom_filter_length);
    expect(lengths[0]).toBeGreaterThan(0);
    expect(lengths[0]).toBe(lengths[1]);
  });
});

/** Groups are stored: later code reads this one too. */
const STORED = [
  "TFNHMuMAAACtAAAAhwAAAJ/X7RY/AAAAKwAAABUEGTxIBnJlY29yZBUEABUMJQAYClNjcmlwdE5hbWVsHAAAABUEJQAYCUNQVVRp",
  "bWVNcwAWCBkcGSwmCBwVDBkVABkYClNjcmlwdE5hbWUVBBYIFlQWciYIPDYAKALDvBgBYQAZHBUGFQAVAgAAACZ6HBUEGRUAGRgJ",
  "Q1BVVGltZU1zFQQWCBZqFmomejw2ACgI6AMAAAAAAAAYCAAAAAAAAAAAABkcFQYVABUCAAAAFr4BFgg23AEAKAdsb2dzaGlwGSwc",
  "AAAcAAAAywAAAFBBUjEVBhUqFUhcFQgVABUIFQAVABUAAAAfiwgAAAAAAAADY2RgYEhkYmBgOLyHEcQEEUkAmocgbRUAAAAVBhVA",
  "FUBcFQgVABUIFQAVABUAAAAfiwgAAAAAAAADY2CAAEYozQSlXzBDaACgMVJ+IAAAAB+LCAAAAAAAAANjZmBgUGZgYKhWCk4uyiwo",
  "8UvMTVWyUkpS0lFyDggNycxN9S1WsjJMNa7lAgBgtnGYKwAAAA==",
].join("");

it("a group that an earlier build stored is read, with a line that does not follow from its columns", async () => {
  const group = fromBase64(STORED);
  const encoder = encoderOf({ ...PARQUET, fieldNames: ["ScriptName", "CPUTimeMs"] });
  const assembly = encoder.assemble();
  assembly.add(group, { rawBytes: 0, crc: 0 });
  const file = concat([assembly.head.bytes, group, assembly.end().bytes]);
  expect(await linesIn(file)).toBe(
    ["a", "ü", "a"].map((name, n) => `{"ScriptName":"${name}","CPUTimeMs":${n}}\n`).join("") +
      '{"ScriptName":"b","CPUTimeMs":1e3}\n',
  );
});

it("the filter of ray ids has each that there is, the empty one too, and seldom another", () => {
  const ids = ["", ...Array.from({ length: 999 }, (_, n) => n.toString(16).padStart(16, "0"))];
  const file = fileOf([ids.map((RayID) => lineOf({ Event: RayID === "" ? {} : { RayID } }))]);
  const { bloom_filter_offset, bloom_filter_length } = columnsIn(0, metadataOf(file)).get("RayID") ?? {};
  const view = new DataView(file.buffer, Number(bloom_filter_offset), bloom_filter_length);
  const { blocks } = readBloomFilter({ view, offset: 0 }) as { blocks: Uint32Array };
  const mayHold = (id: string): boolean =>
    sbbfContains(blocks, hashParquetValue(id, { name: "RayID", type: "BYTE_ARRAY" }) as bigint);
  expect(ids.every(mayHold)).toBe(true);
  expect(ids.filter((id) => mayHold(`f${id}`)).length).toBeLessThan(20);
});
