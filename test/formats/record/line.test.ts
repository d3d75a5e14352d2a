import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Length } from "../../../src/base/bytes.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import vectors from "../../support/tail-vectors.ts";
import { anyRecord, recordOf, traceRecord, treacherous } from "./samples.ts";

/** @throws if the line is not canonical. */
function read(line: string): RecordLine {
  const record = RecordLine.read(line);
  if (record === null) throw new Error(`no record: ${line.slice(0, 200)}`);
  return record;
}

describe("a record read from its line", () => {
  it("is what a parser makes of the line, field by field, in value and in text", () => {
    fc.assert(
      fc.property(fc.oneof(anyRecord, treacherous), (record) => {
        const line = recordLine(record);
        const parsed = JSON.parse(line);
        const view = read(line);
        expect(view.line).toBe(line);
        for (const name of FIELD_NAMES) {
          expect(view[name], name).toEqual(parsed[name]);
          expect(view.text(name), name).toBe(JSON.stringify(parsed[name]));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("is so for everything that was ever captured", () => {
    for (const { item } of vectors) {
      const line = recordLine(recordOf(item));
      const view = read(line);
      expect(Object.fromEntries(FIELD_NAMES.map((name) => [name, view[name]]))).toEqual(JSON.parse(line));
    }
  });

  it("has no text under any other name", () => {
    for (const name of ["", "outcome", "__proto__", "constructor", "Event.Request"])
      expect(read(recordLine(traceRecord())).text(name)).toBeUndefined();
  });

  it("knows without parsing it that the text of its exceptions and logs is no longer than it says", () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const { exceptionsAndLogsLength } = read(recordLine(record));
        const texts = [
          ...record.Exceptions.flatMap(({ name, message }) => [name, message]),
          ...record.Logs.flatMap(({ Message }) => Message),
        ];
        expect(exceptionsAndLogsLength).toBeGreaterThanOrEqual(texts.join("").length);
        expect(exceptionsAndLogsLength).toBeLessThanOrEqual(utf8Length(recordLine(record)));
      }),
    );
  });

  it("gives neighbours as they stand in the line", () => {
    fc.assert(
      fc.property(treacherous, fc.nat(12), fc.nat(12), (record, a, b) => {
        const view = read(recordLine(record));
        const names = FIELD_NAMES.slice(Math.min(a, b), Math.max(a, b) + 1);
        const expected = names.map((name) => `${JSON.stringify(name)}:${view.text(name)}`).join(",");
        expect(view.run(Math.min(a, b), Math.max(a, b))).toBe(expected);
      }),
    );
  });

  it("parses a field once", () => {
    const view = read(recordLine(traceRecord({ Event: { Cron: "* * * * *" } })));
    expect(view.Event).toBe(view.Event);
  });

  const whole = recordLine(traceRecord({ Outcome: "ok", Event: { a: { EventTimestampMs: 1 } } }));

  it.each<[string, string]>([
    ["nothing", ""],
    ["no object", "null"],
    ["an object of other fields", '{"a":1}'],
    ["no outcome", whole.replace('"Outcome":"ok",', "")],
    ["no entrypoint, before the event,", whole.replace('"Entrypoint":"",', "")],
    ["no name of a function", whole.replace('"ScriptName":"shop",', "")],
    ["something before", ` ${whole}`],
    ["something behind", `${whole} `],
    ["no end", whole.slice(0, -1)],
    ["a time that is no number", whole.replace(/,"EventTimestampMs":\d+/, ',"EventTimestampMs":"x"')],
    ["a time that is nothing", whole.replace(/,"EventTimestampMs":\d+/, ',"EventTimestampMs":')],
    ["a time beyond all integers", whole.replace(/,"EventTimestampMs":\d+/, ',"EventTimestampMs":1e300')],
  ])("is none where there is %s", (_, line) => {
    expect(RecordLine.read(line)).toBeNull();
  });

  it.each<[string, string]>([
    ["a field too few", whole.replace('"ScriptName":"shop",', "")],
    ["a field too few before the event", whole.replace('"Entrypoint":"",', "")],
    [
      "two fields in the wrong order",
      whole.replace('"ScriptName":"shop","ScriptTags":[]', '"ScriptTags":[],"ScriptName":"shop"'),
    ],
    [
      "two before the event in the wrong order",
      whole.replace('"DispatchNamespace":"","Entrypoint":""', '"Entrypoint":"","DispatchNamespace":""'),
    ],
    ["a value that is no JSON", whole.replace('"shop"', "shop")],
    ["a value that is nothing", whole.replace('"shop"', "")],
  ])("is seen not to be canonical, when all of it is looked at, where there is %s", (_, line) => {
    expect(read(whole).isCanonical()).toBe(true);
    expect(RecordLine.read(line)?.isCanonical() ?? false).toBe(false);
  });

  it.each([
    ["1", 1],
    ["0", 0],
    ["1795176000000", 1_795_176_000_000],
    ["-5", -5],
    ["1.5", 1.5],
    ["1e3", 1_000],
    ['"x"', Number.NaN],
    ["", Number.NaN],
  ])("has %s as a number, and as the text that it is", (json, number) => {
    const record = read(whole.replace(/"WallTimeMs":\d+/, `"WallTimeMs":${json}`));
    expect(record.number("WallTimeMs")).toBe(number);
    expect(record.isText("WallTimeMs", json)).toBe(true);
    for (const other of [`${json}0`, json.slice(1), ` ${json.slice(1)}`])
      expect(record.isText("WallTimeMs", other)).toBe(other === json);
  });

  it("is found or not, whatever the line, and is canonical or not", () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.nat({ max: 40 }), (insert, where, drop) => {
        const at = where % whole.length;
        const line = whole.slice(0, at) + insert + whole.slice(at + drop);
        const record = RecordLine.read(line);
        // Whatever passes as canonical is valid JSON.
        if (record?.isCanonical()) expect(() => JSON.parse(line)).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });
});
