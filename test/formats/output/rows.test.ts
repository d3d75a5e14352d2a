/** A row for each log line and exception: what it holds, and how it is written. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Length } from "../../../src/base/bytes.ts";
import { EVENT_MAX_DEPTH, FIELDS_MAX_UNITS, ROWS_MAX_BYTES } from "../../../src/base/limits.ts";
import { encoderOf } from "../../../src/formats/object/encoders.ts";
import { NDJSON, type OutputFormat } from "../../../src/formats/output/format.ts";
import { rowsRenderer } from "../../../src/formats/output/rows.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import {
  INVOCATION_FIELDS,
  ROW_FIELD_NAMES,
  ROW_FIELDS,
  type TraceRecord,
} from "../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import { hasRows, rowsOf } from "../../../src/formats/record/rows.ts";
import { LOG_MARKER } from "../../../src/formats/record/truncate.ts";
import { anyRecord, NOON, noise, traceRecord } from "../record/samples.ts";

const ROWS: OutputFormat = { ...NDJSON, rows: "log" };

function lineOf(record: Partial<TraceRecord>, extra = ""): RecordLine {
  const line = RecordLine.read(recordLine(traceRecord(record)), "rpc", extra);
  if (line === null) throw new Error("no record");
  return line;
}

const log = (...Message: string[]) => ({ Level: "warn", Message, TimestampMs: NOON + 1 });
const thrown = (name: string, message: string) => ({ name, message, TimestampMs: NOON + 2 });

const shown = (record: RecordLine, format = ROWS): Record<string, unknown>[] =>
  rowsRenderer(format)(record)
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Of a log with one argument. */
const one = (message: string): Record<string, unknown> => shown(lineOf({ Logs: [log(message)] }))[0] ?? {};

describe("the rows of an invocation", () => {
  it("are its logs, then its exceptions, each with what the invocation has, in a fixed order", () => {
    const record = traceRecord({ Outcome: "exception", Event: { RayID: "r" }, ScriptTags: ["a"] });
    const rows = shown(lineOf({ ...record, Logs: [log("one", "2"), log()], Exceptions: [thrown("TypeError", "no")] }));
    const { Logs: _logs, Exceptions: _exceptions, ...invocation } = record;
    const none = { ExceptionName: "", Fields: {} };
    expect(rows).toEqual([
      { ...invocation, ...none, RowType: "log", Level: "warn", Message: "one 2", TimestampMs: NOON + 1 },
      { ...invocation, ...none, RowType: "log", Level: "warn", Message: "", TimestampMs: NOON + 1 },
      {
        ...{ ...invocation, ...none, RowType: "exception", Level: "error", Message: "no", TimestampMs: NOON + 2 },
        ExceptionName: "TypeError",
      },
    ]);
    for (const row of rows) expect(Object.keys(row)).toEqual([...ROW_FIELD_NAMES]);
    expect(ROW_FIELD_NAMES).toEqual([...INVOCATION_FIELDS, ...ROW_FIELDS]);
  });

  it("are none of one without logs and exceptions", () => {
    expect([hasRows(lineOf({})), shown(lineOf({}))]).toEqual([false, []]);
    for (const fields of [{ Logs: [log()] }, { Exceptions: [thrown("", "")] }])
      expect(hasRows(lineOf(fields))).toBe(true);
  });

  it("are as many and as long as the invocation has them, whatever it is", () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const line = lineOf(record);
        const rows = shown(line);
        expect(rows.length).toBe(record.Logs.length + record.Exceptions.length);
        expect(hasRows(line)).toBe(rows.length > 0);
        const texts = record.Logs.map(({ Message }) => Message.join(" "));
        rows.slice(0, texts.length).forEach((row, i) => {
          if (Object.keys(row.Fields as object).length === 0) expect(row.Message).toBe(texts[i]?.toWellFormed());
          else expect(row.Fields).toEqual(JSON.parse(texts[i] ?? ""));
        });
        const written = encoderOf(ROWS).text(line);
        expect(written.length).toBeLessThanOrEqual(encoderOf(ROWS).unitsAtMost(line));
      }),
      { numRuns: 200 },
    );
  });

  it("have of the stacks their own", () => {
    const extra = '{"ExceptionStacks":["at a",""],"Truncated":true}';
    const record = lineOf({ Logs: [log("x")], Exceptions: [thrown("A", ""), thrown("B", ""), thrown("C", "")] }, extra);
    const rows = shown(record, { ...ROWS, fieldNames: ["ExceptionName", "ExceptionStacks", "Truncated", "Source"] });
    const rest = { Truncated: true, Source: "rpc" };
    expect(rows).toEqual([
      { ExceptionName: "", ExceptionStacks: [], ...rest },
      { ExceptionName: "A", ExceptionStacks: ["at a"], ...rest },
      { ExceptionName: "B", ExceptionStacks: [], ...rest },
      { ExceptionName: "C", ExceptionStacks: [], ...rest },
    ]);
  });
});

describe("rows of logs with errors", () => {
  it("have of these their own", () => {
    const error = (Log: number, name: string) => ({ Log, Argument: 1, name, message: "m", stack: "at a" });
    const extra = JSON.stringify({ LogErrors: [error(1, "A"), error(1, "B"), error(2, "C"), error(9, "D")] });
    const record = lineOf({ Logs: [log("x"), log("y"), log("z")], Exceptions: [thrown("E", "")] }, extra);
    expect(shown(record, { ...ROWS, fieldNames: ["LogErrors"] })).toEqual([
      { LogErrors: [] },
      { LogErrors: [error(1, "A"), error(1, "B")] },
      { LogErrors: [error(2, "C")] },
      { LogErrors: [] },
    ]);
  });
});

describe("a message that is one JSON object", () => {
  it.each([
    ['{"a":1,"b":{"c":[true,null]}}', { a: 1, b: { c: [true, null] } }],
    [' {"a":\t"x"} \n', { a: "x" }],
    ['{\n  "a": 1,\r\n  "b": 2\n}', { a: 1, b: 2 }],
    ['{"a":"\\ud800","b":"😀"}', { a: "\ufffd", b: "😀" }],
    ['{"__proto__":1,"constructor":2}', JSON.parse('{"__proto__":1,"constructor":2}') as object],
  ])("is in Fields, and no text: %j", (text, fields) => {
    expect(one(text)).toMatchObject({ Message: "" });
    expect(one(text).Fields).toEqual(fields);
  });

  it("keeps every digit, and stays in one line", () => {
    const number = "12345678901234567890.12345678901234567890";
    const written = rowsRenderer(ROWS)(lineOf({ Logs: [log(`{"n":${number}}`)] }));
    expect(written).toContain(`"Fields":{"n":${number}}}\n`);
    const escaped = `{\n"n":${number},\r\n"e":"\\ud83d\\ude00 \\\\udef"}`;
    expect(rowsRenderer(ROWS)(lineOf({ Logs: [log(escaped)] }))).toContain(
      `"Fields":${escaped.replaceAll(/[\r\n]/g, "")}}\n`,
    );
    const spread = rowsRenderer(ROWS)(lineOf({ Logs: [log('{\n"a":1}')] }));
    expect(spread.split("\n")).toHaveLength(2);
  });

  it.each([
    ["{}"],
    ["[1]"],
    ['"{}"'],
    ["{a:1}"],
    ['{"a":1}x'],
    ['{"a":1} {"b":2}'],
    [`{"a":1${LOG_MARKER}`],
    [`{"a":"${"x".repeat(FIELDS_MAX_UNITS)}"}`],
    [`${'{"a":'.repeat(EVENT_MAX_DEPTH + 1)}1${"}".repeat(EVENT_MAX_DEPTH + 1)}`],
  ])("is a text where it is anything else: %.40s", (text) => {
    expect(one(text)).toMatchObject({ Message: text, Fields: {} });
  });

  it("is a text where it is one of several arguments", () => {
    expect(shown(lineOf({ Logs: [log("x", '{"a":1}')] }))).toMatchObject([{ Message: 'x {"a":1}', Fields: {} }]);
  });
});

describe("rows as they are written", () => {
  const record = lineOf({ Logs: [log('a "b"', "c"), log('{"k":"v"}')], Exceptions: [thrown("E", "m")] });

  it("have delimiters between them, as between records", () => {
    const format: OutputFormat = { ...ROWS, fieldNames: ["RowType"], recordSuffix: "}", recordDelimiter: ",\n" };
    expect(rowsRenderer(format)(record)).toBe('{"RowType":"log"},\n{"RowType":"log"},\n{"RowType":"exception"}');
  });

  it("are CSV", () => {
    const fieldNames: OutputFormat["fieldNames"] = ["RowType", "Message", "Fields", "TimestampMs"];
    const csv: OutputFormat = { ...ROWS, type: "csv", fieldNames, recordPrefix: "", recordSuffix: "\n" };
    expect(rowsRenderer(csv)(record)).toBe(
      `"log","a \\u0022b\\u0022 c","{}",${NOON + 1}\n"log","","{""k"":""v""}",${NOON + 1}\n"exception","m","{}",${NOON + 2}\n`,
    );
  });

  it("are what a template makes of each", () => {
    const template: OutputFormat = { ...ROWS, recordTemplate: '"t":{{ .Message }},"l":{{ .Logs }}' };
    expect(rowsRenderer(template)(record)).toBe(
      '{"t":"a \\"b\\" c","l":null}\n{"t":"","l":null}\n{"t":"m","l":null}\n',
    );
  });

  it("are disarmed where the job says so, whatever meets", () => {
    const format: OutputFormat = { ...ROWS, fieldNames: ["Message"], escapeDollarBrace: true };
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what the option is about
    const armed = lineOf({ Logs: [log("$", "{x}"), log("${y}")] });
    expect(rowsRenderer(format)(armed)).toBe('{"Message":"$ {x}"}\n{"Message":"x{y}"}\n');
  });

  it("end with a marker where they would be too large, the first one excepted", () => {
    const many = lineOf({ Event: { a: noise(500) }, Logs: Array.from({ length: 100 }, (_, n) => log(`${n}`)) });
    const max = 20_000;
    const text = rowsRenderer(ROWS, max)(many);
    const rows = text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { Message: string });
    const [last, ...others] = rows.reverse();
    expect(last).toMatchObject({ Message: LOG_MARKER, Level: "", RowType: "log", TimestampMs: NOON + 1, Fields: {} });
    expect(others.reverse().map(({ Message }) => Message)).toEqual(others.map((_, n) => `${n}`));
    expect(utf8Length(text)).toBeLessThan(max + 1_000);
    expect(last).toHaveProperty("Event", { a: noise(500) });
    expect(others.length).toBeGreaterThan(10);
    expect(rowsRenderer(ROWS, 1)(lineOf({ Logs: [log("x")] }))).toContain('"Message":"x"');
  });

  it("stay within what a fragment may be, of the widest event with most logs", () => {
    const wide = lineOf({ Event: { a: noise(300_000) }, Logs: Array.from({ length: 20_000 }, () => log("")) });
    const text = rowsRenderer(ROWS)(wide);
    expect(utf8Length(text)).toBeLessThan(ROWS_MAX_BYTES + 1_000);
    const last = JSON.parse(text.split("\n").at(-2) ?? "") as object;
    expect(last).toMatchObject({ Message: LOG_MARKER, Event: {}, ScriptName: "shop" });
    const atMost = encoderOf(ROWS).unitsAtMost(wide);
    expect([text.length <= atMost, atMost < 3 * ROWS_MAX_BYTES]).toEqual([true, true]);
    expect([...rowsOf(wide)]).toHaveLength(20_000);
  });
});
