/** Lines become columns, and are lines again. */
import * as fc from "fast-check";
import type { ColumnMetaData, RowGroup } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import { describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../../../src/base/bytes.ts";
import { encoderOf } from "../../../../src/formats/object/encoders.ts";
import { readRuns } from "../../../../src/formats/object/parquet/pages.ts";
import { decodeGroup } from "../../../../src/formats/object/parquet/read-group.ts";
import { GROUP_HEAD_BYTES, readHead, readTable } from "../../../../src/formats/object/parquet/table.ts";
import { NDJSON } from "../../../../src/formats/output/format.ts";
import { recordLine } from "../../../../src/formats/record/encode.ts";
import {
  type AnyField,
  EXTRA_FIELDS,
  FIELD_NAMES,
  type OutputField,
  ROW_FIELD_NAMES,
  type TraceRecord,
} from "../../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../../src/formats/record/line.ts";
import { fileOf, linesIn, metadataOf, PARQUET, recordsIn, rowsIn } from "../../../support/parquet-files.ts";
import { anyExtra, anyRecord, NOON, traceRecord } from "../../record/samples.ts";

const lineOf = (record: TraceRecord): string => `${recordLine(record)}\n`;
const groups = fc.array(fc.array(anyRecord, { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 3 });

/** Values that only a sender of its own makes, in the place of a field's own. */
const ODD: readonly (readonly [name: keyof TraceRecord, json: string])[] = [
  ["CPUTimeMs", "1e3"],
  ["CPUTimeMs", "1.5"],
  ["CPUTimeMs", "-0"],
  ["CPUTimeMs", "-7"],
  ["WallTimeMs", "9007199254740993"],
  ["WallTimeMs", "1e400"],
  ["EventTimestampMs", "17951760000e2"],
  ["ScriptName", '"\\u0041"'],
  ["ScriptName", '"\\ud800"'],
  ["ScriptName", '"\\/"'],
  ["Outcome", '"\\u0000\\n\\"\\\\"'],
  ["ScriptTags", '["\\ud800"]'],
  ["ScriptTags", '["a" , "b"]'],
  ["ScriptTags", '["\\"]","[\\"",""]'],
  ["Logs", '[{"Level":"a","Message":[],"Event":{"x":1},"Logs":[]}]'],
  ["Exceptions", '[{"name":"]}","message":"\\\\\\"","Outcome":"\\""}]'],
  ["Event", '{"RayID":"a\\u0062","x":"\\",\\"EventTimestampMs\\":"}'],
  ["Event", '{"EventType":"x","Exceptions":[],"Logs":[]}'],
  ["Event", `{"RayID":"${"r".repeat(300)}"}`],
  ["Event", '{"RayID":7}'],
  ["ScriptVersion", '{"ID":"}","Message":"{","Tag":"\\u2028"}'],
];

const oddLine = (name: keyof TraceRecord, json: string): string => {
  const fields = Object.entries(traceRecord()).map(([key, value]) => [
    key,
    key === name ? json : JSON.stringify(value),
  ]);
  return `{${fields.map(([key, value]) => `"${key}":${value}`).join()}}\n`;
};

describe("lines", () => {
  it("come back to the byte, and as the values that another reader finds", async () => {
    const property = fc.asyncProperty(groups, fc.integer({ min: 1, max: 300 }), async (records, step) => {
      const file = fileOf(records.map((group) => group.map(lineOf)));
      expect(await linesIn(file, step)).toBe(records.flat().map(lineOf).join(""));
      const rows = await rowsIn(file);
      expect(await recordsIn(file)).toEqual(records.flat().map((record) => JSON.parse(recordLine(record))));
      expect(rows.map(({ RayID }) => RayID)).toEqual(records.flat().map(({ Event }) => Event.RayID ?? ""));
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it("of some fields alone, in any order, are what a job of NDJSON ships", async () => {
    const names = fc.shuffledSubarray<AnyField>([...FIELD_NAMES, "Source"], { minLength: 1 });
    const property = fc.asyncProperty(
      names,
      groups,
      fc.string({ maxLength: 9 }),
      async (fieldNames, records, source) => {
        const [columns, text] = [PARQUET, NDJSON].map((output) => encoderOf({ ...output, fieldNames })) as [
          ReturnType<typeof encoderOf>,
          ReturnType<typeof encoderOf>,
        ];
        const lines = records.map((group) =>
          group.map((record) => text.text(RecordLine.read(recordLine(record), source.toWellFormed()) as RecordLine)),
        );
        expect(await linesIn(fileOf(lines, columns))).toBe(lines.flat().join(""));
      },
    );
    await fc.assert(property, { numRuns: 40 });
  });

  it("read for some fields have those, and odd ones are whole", async () => {
    const names = fc.subarray<string>([...FIELD_NAMES, "Source"]);
    const property = fc.asyncProperty(names, groups, fc.constantFrom(...ODD), async (wanted, records, odd) => {
      const fields = new Set(wanted);
      const file = fileOf([...records.map((group) => group.map(lineOf)), [oddLine(...odd)]]);
      const lines = (await linesIn(file, 100, fields)).trimEnd().split("\n");
      const part = (json: string) =>
        Object.fromEntries(Object.entries(JSON.parse(json) as object).filter(([name]) => fields.has(name)));
      expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toEqual(
        records.flat().map((each) => part(lineOf(each))),
      );
      expect(part(String(lines.at(-1)))).toEqual(part(oddLine(...odd)));
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it("read for some fields are refused where one of their columns is damaged", async () => {
    const file = fileOf([
      Array.from({ length: 50 }, (_, n) => lineOf(traceRecord({ ScriptName: `s${n}`, WallTimeMs: n }))),
    ]);
    const [group] = metadataOf(file).row_groups;
    const found = group?.columns
      .map(({ meta_data }) => meta_data)
      .find((meta) => meta?.path_in_schema[0] === "WallTimeMs");
    const end = Number(found?.data_page_offset) + Number(found?.total_compressed_size);
    // In the checksum of its page.
    file[end - 6] = (file[end - 6] as number) ^ 1;
    await expect(linesIn(file, 100, new Set(["WallTimeMs"]))).rejects.toThrow();
    expect(await linesIn(file, 100, new Set(["ScriptName"]))).toContain('{"ScriptName":"s49"}');
  });

  it.each(ODD)("with %s of %s come back to the byte, among others", async (name, json) => {
    const lines = [lineOf(traceRecord()), oddLine(name, json), lineOf(traceRecord({ ScriptName: "B" }))];
    const file = fileOf([lines, [oddLine(name, json), oddLine(name, json)]]);
    expect(await linesIn(file, 11)).toBe([...lines, oddLine(name, json), oddLine(name, json)].join(""));
    const rows = await rowsIn(file);
    expect(rows.map(({ ScriptName }) => ScriptName)[2]).toBe("B");
    expect(rows).toHaveLength(5);
  });

  it("of many values, listed or not, come back to the byte", async () => {
    const lines = Array.from({ length: 3_000 }, (_, n) =>
      lineOf(
        traceRecord({
          ScriptName: `s${n % 300}`,
          Outcome: n % 7 === 0 ? `"o${n % 90}\n` : "ok",
          Entrypoint: `ü${n}`,
          ScriptTags: Array.from({ length: n % 4 }, (_, i) => `t${(n + i) % 20}`),
          Event: { RayID: n.toString(16).padStart(16, "0") },
        }),
      ),
    );
    const file = fileOf([lines]);
    expect(await linesIn(file)).toBe(lines.join(""));
    const rows = await rowsIn(file);
    expect(rows.map(({ ScriptTags }) => ScriptTags)).toEqual(lines.map((line) => JSON.parse(line).ScriptTags));
    expect(rows.map(({ ScriptName, Entrypoint }) => [ScriptName, Entrypoint])).toEqual(
      lines.map((line) => [JSON.parse(line).ScriptName, JSON.parse(line).Entrypoint]),
    );
  });
});

/** Log lines of one argument: texts, and what becomes `Fields`. */
const anyLogs = fc.array(
  fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }),
    fc
      .dictionary(fc.string({ unit: "binary", minLength: 1 }), fc.jsonValue({ maxDepth: 2 }))
      .map((o) => JSON.stringify(o)),
    fc.constantFrom('{"a":1,"a":2}', ' {"k":\t"\\"}"}', '{"n":12345678901234567890.50}', '{"a":{"b":[{"c":"]}"}]}}\n'),
  ),
  { maxLength: 4 },
);

/** A record with its extra fields; often several logs. */
const anyEntry = fc
  .record({ record: anyRecord, messages: anyLogs, extra: anyExtra })
  .map(({ record, messages, extra }) => {
    const logs = messages.map((message) => ({ Level: "log", Message: [message], TimestampMs: NOON }));
    return { line: recordLine({ ...record, Logs: [...record.Logs, ...logs] }), extra };
  });
const entries = fc.array(fc.array(anyEntry, { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 3 });

describe.each<[what: string, names: readonly OutputField[], rows: { rows?: "log" }]>([
  ["records", [...FIELD_NAMES, ...EXTRA_FIELDS], {}],
  ["rows", [...ROW_FIELD_NAMES, ...EXTRA_FIELDS], { rows: "log" }],
])("%s with extra fields", (_what, names, rows) => {
  const chosen = fc.oneof(
    fc.constant<OutputField[]>([...names]),
    fc.shuffledSubarray<OutputField>([...names], { minLength: 1 }),
  );

  it("have the values that those of NDJSON have, and come back to the byte", async () => {
    const property = fc.asyncProperty(
      chosen,
      entries,
      fc.integer({ min: 1, max: 300 }),
      async (fieldNames, all, step) => {
        const text = encoderOf({ ...NDJSON, ...rows, fieldNames });
        const columns = encoderOf({ ...PARQUET, ...rows, fieldNames });
        const lines = all.map((group) =>
          group.map(({ line, extra }) => {
            const record = RecordLine.read(line, "http:ü", extra) as RecordLine;
            const written = text.text(record);
            expect(columns.text(record)).toBe(written);
            expect(written.length).toBeLessThanOrEqual(columns.unitsAtMost(record));
            return written;
          }),
        );
        const file = fileOf(
          lines.filter((group) => group.join("") !== ""),
          columns,
        );
        expect(await linesIn(file, step)).toBe(lines.flat().join(""));
        const owed = lines
          .flat()
          .join("")
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line) as Record<string, unknown>);
        expect(await recordsIn(file)).toEqual(owed);
        if (!fieldNames.includes("Event")) return;
        const rays = owed.map(({ Event }) => (Event as { RayID?: string }).RayID ?? "");
        expect((await rowsIn(file)).map(({ RayID }) => RayID)).toEqual(rays);
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  it("are never longer than is said before they are written, however long their extra fields are", () => {
    const Logs = Array.from({ length: 5 }, () => ({ Level: "log", Message: ["x"], TimestampMs: NOON }));
    const line = recordLine(traceRecord({ Logs }));
    const extra = JSON.stringify({ RequestHeaders: { host: "h".repeat(5_000) } });
    const record = RecordLine.read(line, "", extra) as RecordLine;
    const encoder = encoderOf({ ...PARQUET, ...rows, fieldNames: ["RequestHeaders"] });
    expect(encoder.text(record).length).toBeLessThanOrEqual(encoder.unitsAtMost(record));
    expect(encoder.text(record).length).toBeGreaterThan(5_000);
  });

  it("have no fields by default but those of a job of NDJSON", async () => {
    const record = traceRecord({ Logs: [{ Level: "log", Message: ["x"], TimestampMs: NOON }] });
    const line = RecordLine.read(recordLine(record), "tail", '{"Truncated":true}') as RecordLine;
    const text = encoderOf({ ...PARQUET, ...rows }).text(line);
    expect(text).toBe(encoderOf({ ...NDJSON, ...rows }).text(line));
    const [row = {}] = await rowsIn(fileOf([[text]], encoderOf({ ...PARQUET, ...rows })));
    expect(Object.keys(row).filter((name) => name !== "RayID")).toEqual(Object.keys(JSON.parse(text) as object));
  });
});

it.each<[name: OutputField, json: string]>([
  ["Truncated", "1"],
  ["Truncated", '"true"'],
  ["Truncated", "null"],
  ["ExceptionStacks", '["\\u0041"]'],
  ["ExceptionStacks", '[""]'],
  ["RequestHeaders", '{ "host" : "\\"}" }'],
  ["TimestampMs", "1.5"],
  ["Level", '"\\u0041"'],
  ["Message", '"\\ud800"'],
  ["Fields", '{"a":"\\ud800", "a": [ "}" ]}'],
])("a line with %s of %s comes back to the byte, among others", async (name, json) => {
  const encoder = encoderOf({ ...PARQUET, rows: "log", fieldNames: [name, "RowType"] });
  const lines = Array.from({ length: 19 }, (_, n) => `{"${name}":${json},"RowType":"${n}"}\n`);
  const file = fileOf([lines.slice(0, 1), lines], encoder);
  expect(await linesIn(file, 11)).toBe([lines[0], ...lines].join(""));
  expect((await rowsIn(file)).map(({ RowType }) => RowType)).toEqual(["0", ...lines.map((_, n) => `${n}`)]);
});

it("a line of other fields has empty values, and comes back to the byte", async () => {
  const fieldNames: OutputField[] = ["Truncated", "Level", "TimestampMs", "Fields", "ExceptionStacks", "Event"];
  const lines = ['{"Truncated":true}\n', "[]\n"];
  const file = fileOf([lines], encoderOf({ ...PARQUET, rows: "log", fieldNames }));
  expect(await linesIn(file)).toBe(lines.join(""));
  const empty = { Truncated: false, Level: "", TimestampMs: new Date(0), Fields: "{}", ExceptionStacks: [], Event: {} };
  expect(await rowsIn(file)).toEqual(Array(2).fill({ ...empty, RayID: "" }));
});

it("flags come back, whichever of them are set", async () => {
  const encoder = encoderOf({ ...PARQUET, fieldNames: ["Truncated"] });
  const property = fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 70 }), async (flags) => {
    const lines = flags.map((each) => `{"Truncated":${each}}\n`);
    const file = fileOf([lines], encoder);
    expect(await linesIn(file)).toBe(lines.join(""));
    expect((await rowsIn(file)).map(({ Truncated }) => Truncated)).toEqual(flags);
    const { statistics } = metadataOf(file).row_groups[0]?.columns[0]?.meta_data ?? {};
    expect([statistics?.min_value, statistics?.max_value]).toEqual([!flags.includes(false), flags.includes(true)]);
  });
  await fc.assert(property, { numRuns: 60 });
});

it("no line is ever another one: what is changed in a file is noticed, or changes no line", async () => {
  const lines = Array.from({ length: 40 }, (_, n) => lineOf(traceRecord({ ScriptName: `s${n}`, CPUTimeMs: n })));
  const file = fileOf([lines.slice(0, 20), lines.slice(20)]);
  const property = fc.asyncProperty(
    fc.nat({ max: file.length - 1 }),
    fc.integer({ min: 1, max: 255 }),
    async (at, by) => {
      const other = file.slice();
      other[at] = (other[at] as number) ^ by;
      const found = await linesIn(other).catch(() => null);
      if (found !== null) expect(found).toBe(lines.join(""));
    },
  );
  await fc.assert(property, { numRuns: 400 });
  for (let end = 0; end < file.length; end += 97) await expect(linesIn(file.slice(0, end))).rejects.toThrow();
});

describe("a group that is not ours", () => {
  const whole = encoderOf(PARQUET).finish(encodeUtf8(lineOf(traceRecord()).repeat(20)));
  const payloadAt = GROUP_HEAD_BYTES + readHead(whole).tableBytes;
  const absent = undefined as unknown as bigint;

  it.each<[what: string, change: (group: RowGroup, column: ColumnMetaData) => void, message: RegExp]>([
    ["more records than lines", (group) => Object.assign(group, { num_rows: 2n ** 31n }), /more records/],
    ["no number of records", (group) => Object.assign(group, { num_rows: absent }), /more records/],
    ["more values than records", (_, column) => Object.assign(column, { num_values: 2n ** 31n }), /more values/],
    ["no number of values", (_, column) => Object.assign(column, { num_values: absent }), /more values/],
    ["pages of any size", (_, column) => Object.assign(column, { total_uncompressed_size: 2n ** 40n }), /length/],
    ["pages of no size", (_, column) => Object.assign(column, { total_uncompressed_size: absent }), /length/],
    ["pages that are larger", (_, column) => Object.assign(column, { total_uncompressed_size: 9n }), /length/],
    ["pages behind its end", (_, column) => Object.assign(column, { total_compressed_size: 2n ** 31n }), /length/],
    ["a column twice", (group) => Object.assign(group, { columns: [...group.columns, group.columns[0]] }), /twice/],
  ])("is refused where it has %s", (_what, change, message) => {
    const table = readTable(whole.subarray(GROUP_HEAD_BYTES, payloadAt));
    const group = table.group as RowGroup;
    change(group, group.columns[0]?.meta_data as ColumnMetaData);
    expect(() => [...decodeGroup(table, whole.subarray(payloadAt))]).toThrow(message);
  });

  // A list of lists of lists, each with room for thirty million.
  const lists = Uint8Array.from([0x29, ...Array.from({ length: 30 }, () => [0xf9, 0x80, 0x87, 0xa7, 0x0e]).flat()]);

  it("is refused where its table has more elements than bytes", () => {
    const end = concat([lists, new Uint8Array(Uint32Array.of(lists.length).buffer), encodeUtf8("PAR1")]);
    expect(() => readTable(concat([new Uint8Array(16), end]))).toThrow(/structure/);
  });

  it("is refused where a page has more elements than bytes", () => {
    const payload = whole.slice(payloadAt);
    payload.set(lists);
    const table = readTable(whole.subarray(GROUP_HEAD_BYTES, payloadAt));
    expect(() => [...decodeGroup(table, payload)]).toThrow(/structure/);
  });

  it("is refused where its table is longer than what it says", () => {
    const end = concat([whole.subarray(GROUP_HEAD_BYTES, GROUP_HEAD_BYTES + 16), new Uint8Array(1)]);
    const table = concat([end, whole.subarray(GROUP_HEAD_BYTES + 16, payloadAt)]);
    expect(() => readTable(table)).toThrow(/table/);
  });
});

describe("small numbers", () => {
  it("are read as they were written, in runs of equal ones and others", () => {
    const runs = fc.array(fc.tuple(fc.nat(), fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 }))));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 24 }), runs, (bits, values) => {
        const small = values.flatMap(([value, times]) => Array<number>(times).fill(value % 2 ** bits));
        const writer = new ByteWriter();
        writeRleBitPackedHybrid(writer, small, bits);
        expect([...readRuns(writer.getBytes(), small.length, bits)]).toEqual(small);
      }),
    );
  });

  it.each([
    ["more than there are", [0x80, 0x80, 0x80, 0x80, 0x08, 1]],
    ["packed, and more than there are", [0x81, 0x80, 0x80, 0x80, 0x08, 1]],
    ["none", [0, 1, 0, 1]],
    ["without an end", [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]],
    ["fewer than there are", [4, 1]],
  ])("are not read where a run has %s", (_what, bytes) => {
    expect(() => readRuns(Uint8Array.from(bytes), 9, 1)).toThrow(/run/);
  });
});
