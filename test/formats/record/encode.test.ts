import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonText, recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_NAMES } from "../../../src/formats/record/fields.ts";
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
        // As JSON, which escapes lone surrogates: a report cannot carry them.
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
    // As JSON, which escapes lone surrogates: a report cannot carry them.
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

describe("the JSON text of a value", () => {
  it("is JSON's own, of whatever is well-formed", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const lone = JSON.stringify(value).match(/\\ud[89a-f]/) !== null;
        expect(jsonText(value) === JSON.stringify(value)).toBe(!lone);
        expect(jsonText(value).isWellFormed()).toBe(true);
      }),
    );
  });

  const values: [what: string, value: unknown, text: string][] = [
    ["nothing", undefined, "null"],
    ["null", null, "null"],
    ["a number", 1.5, "1.5"],
    ["what is no number", Number.NaN, "null"],
    ["half of a pair", "a\ud83d", '"a\ufffd"'],
    ["halves in the wrong order", ["\ude00\ud83d"], '["\ufffd\ufffd"]'],
    ["a name with half of a pair", { "\ud800": 1 }, '{"\ufffd":1}'],
    ["a text that only looks like one", "\\ud800", '"\\\\ud800"'],
    ["a pair", "\u{1f600}", '"\u{1f600}"'],
  ];

  it.each(values)("of %s", (_what, value, text) => {
    expect(jsonText(value)).toBe(text);
  });
});
