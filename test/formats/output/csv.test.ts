import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordRenderer } from "../../../src/formats/output/render.ts";
import { FIELD_NAMES, type TraceRecord } from "../../../src/formats/record/fields.ts";
import { withDefaults } from "../../../src/ship/job/output-rules.ts";
import { anyRecord, traceRecord } from "../record/samples.ts";
import { objectText } from "./object.ts";
import { readCsv } from "./read-csv.ts";

/** What the value of a column stood for. */
function meant(value: string, like: unknown): unknown {
  return JSON.parse(typeof like === "string" ? `"${value}"` : value);
}

const hostile = fc.string({
  unit: fc.constantFrom('"', '""', "\\", ",", "\t", "\n", "\r", "=", "'", "é", "😀", "\u2028", "x"),
});

const hostileRecord: fc.Arbitrary<TraceRecord> = fc
  .tuple(anyRecord, hostile, hostile, hostile, fc.array(hostile, { maxLength: 3 }), hostile)
  .map(([record, Outcome, ScriptName, Entrypoint, ScriptTags, logged]) => ({
    ...record,
    Outcome,
    ScriptName,
    Entrypoint,
    ScriptTags,
    Event: { [logged]: { [ScriptName]: [Outcome, 1.5, null, true] } },
    Logs: [{ Level: "log", Message: [logged], TimestampMs: 1 }],
  }));

describe("CSV", () => {
  it.each([",", "\t", ";"])("reads back as what it was, every row on one line, with the delimiter %j", (delimiter) => {
    const names = fc.shuffledSubarray([...FIELD_NAMES], { minLength: 1 });
    fc.assert(
      fc.property(fc.array(hostileRecord, { minLength: 1, maxLength: 4 }), names, (records, field_names) => {
        const output = withDefaults({ output_type: "csv", field_names, field_delimiter: delimiter });
        const text = objectText(output, [records]);
        expect(text.split("\n").length).toBe(records.length + 1);
        const read = readCsv(text, delimiter).map((row) =>
          row.map((value, i) => meant(value, records[0]?.[field_names[i] ?? "Outcome"])),
        );
        expect(read).toEqual(records.map((record) => field_names.map((name) => record[name])));
      }),
      { numRuns: 300 },
    );
  });

  it("has all fields in canonical order when none are chosen", () => {
    const [row] = readCsv(objectText(withDefaults({ output_type: "csv" }), [[traceRecord()]]), ",");
    expect(row?.map((value, i) => meant(value, traceRecord()[FIELD_NAMES[i] ?? "Outcome"]))).toEqual(
      Object.values(traceRecord()),
    );
  });
});

describe("formulas in CSV", () => {
  const cells = (texts: readonly string[], options: object = {}): string[] => {
    const output = withDefaults({ output_type: "csv", field_names: ["ScriptName", "WallTimeMs", "Event"], ...options });
    const records = texts.map((ScriptName) => traceRecord({ ScriptName, WallTimeMs: -5, Event: { "=": "=1" } }));
    return readCsv(objectText(output, [records]), ",").map(([value = ""]) => meant(value, "") as string);
  };
  const formulas = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\uff1d1",
    "\uff0b1",
    "\uff0d1",
    "\uff201",
    "=",
  ];
  const others = ["", "'=1", " =1", "a=1", "1-1", '"=1', "\\=1", "é", "😀", "{", "1"];

  it("are written as they are, if nothing else is asked for", () => {
    expect(cells([...formulas, ...others])).toEqual([...formulas, ...others]);
    expect(cells(formulas, { escape_formulas: false })).toEqual(formulas);
  });

  it("have a ' before them where that is asked for, and nothing else has", () => {
    expect(cells([...formulas, ...others], { escape_formulas: true })).toEqual([
      ...formulas.map((text) => `'${text}`),
      ...others,
    ]);
  });

  it("have it whichever way they are escaped, and numbers and objects stay", () => {
    const output = withDefaults({ output_type: "csv", escape_formulas: true, record_suffix: "", field_delimiter: ";" });
    const render = recordRenderer({ ...output, fieldNames: ["ScriptName", "WallTimeMs", "Event"] });
    const row = (json: string): string =>
      render({ text: (name) => ({ ScriptName: json, WallTimeMs: "-5", Event: '{"=":"=1"}' })[name] });
    for (const json of ['"=x"', '"\\u003dx"', '"\\u003Dx"', '"\\tx"', '"\\u0009x"', '"\\rx"', '"\\u000Dx"'])
      expect(row(json)).toBe(`"'${json.slice(1)};-5;"{""="":""=1""}"`);
    expect(row('"\\\\=x"')).toBe('"\\\\=x";-5;"{""="":""=1""}"');
  });

  it("have it in a template, too", () => {
    const output = withDefaults({ output_type: "csv", escape_formulas: true, record_template: "{{ .ScriptName }}|" });
    expect(objectText(output, [[traceRecord({ ScriptName: "=1" })]])).toBe('"\'=1"|\n');
  });
});
