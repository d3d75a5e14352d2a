import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordEncoder, recordLine } from "../../src/record/encode.ts";
import { FIELD_NAMES, type FieldName } from "../../src/record/fields.ts";
import { anyRecord, recordOf, traceRecord } from "./samples.ts";

describe("a record as a line", () => {
  it("is one line of JSON with every field in canonical order", () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const line = recordLine(record);
        expect(line).not.toContain("\n");
        expect(JSON.parse(line)).toEqual(record);
        expect(Object.keys(JSON.parse(line))).toEqual(FIELD_NAMES);
      }),
    );
  });

  it("survives UTF-8 whatever was logged: lone surrogates become U+FFFD, pairs stay", () => {
    const texts = fc.string({
      unit: fc.oneof(fc.constantFrom("\ud83d", "\ude00", "\\ud800", "\\", '"', "x"), fc.string()),
      maxLength: 12,
    });
    fc.assert(
      fc.property(texts, (text) => {
        const line = recordLine(traceRecord({ Logs: [{ Level: "log", Message: [text], TimestampMs: 1 }] }));
        expect(line.isWellFormed()).toBe(true);
        const again = JSON.parse(new TextDecoder().decode(new TextEncoder().encode(line)));
        // As JSON, which escapes a lone surrogate: a report could not carry one.
        expect(JSON.stringify(again.Logs[0].Message[0])).toBe(JSON.stringify(text.toWellFormed()));
      }),
    );
  });

  it("mends lone surrogates wherever they are, names of properties included", () => {
    const input = {
      Event: { "a\udc00": ["\ud800", { b: "\udfff" }] },
      ScriptTags: ["\ud800\ud800"],
      Outcome: "\ud83d\ude00",
      Exceptions: [{ Name: "\ud800", Message: "x\udc00y" }],
    };
    const { Event, ScriptTags, Outcome, Exceptions } = JSON.parse(recordLine(recordOf(input)));
    // As JSON, which escapes a lone surrogate: a report could not carry one.
    expect(JSON.stringify([Event, ScriptTags, Outcome, Exceptions[0].name, Exceptions[0].message])).toBe(
      JSON.stringify([{ "a\ufffd": ["\ufffd", { b: "\ufffd" }] }, ["\ufffd\ufffd"], "\u{1f600}", "\ufffd", "x\ufffdy"]),
    );
  });

  it("leaves a text that only looks like an escaped surrogate alone", () => {
    expect(JSON.parse(recordLine(traceRecord({ Outcome: "\\ud800" }))).Outcome).toBe("\\ud800");
  });

  it("keeps an own property called __proto__ as what it is: data", () => {
    const record = recordOf(JSON.parse('{"Event":{"__proto__":{"a":"\\ud800"}}}'));
    expect(recordLine(record)).toContain('"Event":{"__proto__":{"a":"\ufffd"}}');
  });
});

describe("the encoder of a job", () => {
  it("writes all fields in canonical order when none are chosen", () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        expect(recordEncoder(null)(record)).toBe(`${recordLine(record)}\n`);
      }),
    );
  });

  it("writes the chosen fields, in the order in which they were chosen", () => {
    const names = fc.shuffledSubarray([...FIELD_NAMES], { minLength: 1 });
    fc.assert(
      fc.property(anyRecord, names, (record, chosen) => {
        const line = recordEncoder(chosen)(record);
        expect(line.endsWith("}\n")).toBe(true);
        expect(line.indexOf("\n")).toBe(line.length - 1);
        const shipped = JSON.parse(line) as Record<string, unknown>;
        expect(Object.keys(shipped)).toEqual(chosen);
        for (const name of chosen) expect(shipped[name]).toEqual(record[name]);
      }),
    );
  });

  const exact: [fields: FieldName[] | null, line: string][] = [
    [["Outcome"], '{"Outcome":"ok"}\n'],
    [["EventTimestampMs", "CPUTimeMs"], '{"EventTimestampMs":1795176000000,"CPUTimeMs":0}\n'],
    [["ScriptVersion", "Event", "Logs"], '{"ScriptVersion":{"ID":"","Message":"","Tag":""},"Event":{},"Logs":[]}\n'],
    [
      null,
      '{"CPUTimeMs":0,"DispatchNamespace":"","Entrypoint":"","Event":{},"EventTimestampMs":1795176000000,"EventType":"fetch","Exceptions":[],' +
        '"Logs":[],"Outcome":"ok","ScriptName":"shop","ScriptTags":[],"ScriptVersion":{"ID":"","Message":"","Tag":""},"WallTimeMs":0}\n',
    ],
  ];

  it.each(exact)("writes exactly this for %j", (fields, line) => {
    expect(recordEncoder(fields)(traceRecord())).toBe(line);
  });
});
