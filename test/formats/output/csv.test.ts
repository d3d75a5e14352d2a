import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
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
