/** What readers of Parquet learn of an object before they read it. */
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/bytes.ts";
import { bloomFilter, xxHash64 } from "../../../src/object/parquet/bloom.ts";
import { recordLine } from "../../../src/record/encode.ts";
import type { TraceRecord } from "../../../src/record/fields.ts";
import { NOON, traceRecord } from "../../record/samples.ts";
import { fileOf, metadataOf } from "../../support/parquet-files.ts";

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
const columnsIn = (group: number) =>
  new Map(METADATA.row_groups[group]?.columns.map(({ meta_data }) => [meta_data?.path_in_schema.join("."), meta_data]));

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
    const types = METADATA.schema.map(({ name, converted_type, logical_type }) => [
      name,
      converted_type,
      logical_type?.type,
    ]);
    expect(types).toEqual([
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
