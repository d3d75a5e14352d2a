import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordLine } from "../../src/record/encode.ts";
import { FIELD_NAMES } from "../../src/record/fields.ts";
import { RecordLine } from "../../src/record/line.ts";
import vectors from "../fixtures/tail-vectors.json";
import { anyRecord, recordOf, traceRecord } from "./samples.ts";

/** @throws if it is none. */
function read(line: string): RecordLine {
  const record = RecordLine.read(line);
  if (record === null) throw new Error(`no record: ${line.slice(0, 200)}`);
  return record;
}

/** Texts that look like what stands between two fields, as far as a text can. */
const trap = fc.constantFrom(
  ',"Outcome":',
  '","Outcome":"x","ScriptName":"',
  '\\",\\"Logs\\":',
  '"Event":{',
  '},"EventTimestampMs":1,"EventType":"',
  "}",
  "\\",
  '\\"',
  "\u2028",
);

/** An `Event` of any shape, with keys that are the record's own. */
const foreign = fc.dictionary(
  fc.oneof(fc.constantFrom(...FIELD_NAMES), trap, fc.string({ maxLength: 5 })),
  fc.oneof(
    trap,
    fc.jsonValue({ maxDepth: 3 }),
    fc.dictionary(fc.constantFrom(...FIELD_NAMES), fc.jsonValue({ maxDepth: 2 })),
  ),
  { maxKeys: 6, noNullPrototype: true },
);

const treacherous = fc.tuple(anyRecord, foreign, trap, trap, trap).map(([record, Event, a, b, c]) => ({
  ...record,
  Event,
  DispatchNamespace: a,
  Entrypoint: b,
  Outcome: a + b,
  ScriptName: c,
  ScriptTags: [a, b, c],
  Logs: [...record.Logs, { Level: a, Message: [b, c, a + c], TimestampMs: 1 }],
  Exceptions: [...record.Exceptions, { name: b, message: c, TimestampMs: 1 }],
}));

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

  it("knows how long the text of its exceptions and logs is without parsing it", () => {
    const record = traceRecord({ Logs: [{ Level: "log", Message: ["äöü\n"], TimestampMs: 5 }] });
    expect(read(recordLine(record)).exceptionsAndLogsLength).toBe(JSON.stringify(record.Logs).length + 2);
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
    ["one field too few", whole.replace('"Outcome":"ok",', "")],
    [
      "two fields in the wrong order",
      whole.replace('"Outcome":"ok","ScriptName":"shop"', '"ScriptName":"shop","Outcome":"ok"'),
    ],
    ["something before", ` ${whole}`],
    ["something behind", `${whole} `],
    ["no end", whole.slice(0, -1)],
    ["a time that is no number", whole.replace(/,"EventTimestampMs":\d+/, ',"EventTimestampMs":"x"')],
    ["a time that is nothing", whole.replace(/,"EventTimestampMs":\d+/, ',"EventTimestampMs":')],
    ["a time beyond all integers", whole.replace(/,"EventTimestampMs":\d+/, ',"EventTimestampMs":1e300')],
  ])("is none where there is %s", (_, line) => {
    expect(RecordLine.read(line)).toBeNull();
  });

  it("is found or not, whatever the line", () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.nat({ max: 40 }), (insert, where, drop) => {
        const at = where % whole.length;
        RecordLine.read(whole.slice(0, at) + insert + whole.slice(at + drop));
      }),
    );
  });
});
