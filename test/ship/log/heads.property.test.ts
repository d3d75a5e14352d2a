/** What of records is counted as an error, and under which problem. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import type { ErrorCount } from "../../../src/ship/log/function-health.ts";
import { HealthTally } from "../../../src/ship/log/heads.ts";
import { NOON, traceRecord } from "../../formats/record/samples.ts";

interface Extras {
  ExceptionStacks?: string[];
  LogErrors?: object[];
}

const line = (fields: Partial<TraceRecord>, extras: Extras = {}): RecordLine => {
  const extra = Object.keys(extras).length === 0 ? "" : JSON.stringify(extras);
  const read = RecordLine.read(recordLine(traceRecord(fields)), "tail", extra);
  if (read === null) throw new Error("no record");
  return read;
};

const errorsOf = (...records: RecordLine[]): readonly ErrorCount[] => {
  const tally = new HealthTally('"shop"');
  for (const record of records) tally.add(record);
  return tally.sum().errors;
};

const threw = (message: string, fields: Partial<TraceRecord> = {}): Partial<TraceRecord> => ({
  ...{ Outcome: "exception", Exceptions: [{ name: "TypeError", message, TimestampMs: NOON }] },
  ...fields,
});
const answered = (status: number): Partial<TraceRecord> => ({
  Event: { RayID: "8f", Request: {}, Response: { Status: status } },
});
const logged = [
  { Log: 0, Argument: 1, name: "RangeError", message: "page 7 is gone", stack: "    at load (w.js:1:2)" },
  { Log: 1, Argument: 0, name: "Error", message: "and so on", stack: "" },
];

describe("a record with an error", () => {
  it.each<[string, RecordLine, Partial<ErrorCount>]>([
    ["its first exception", line(threw("no order 7")), { name: "TypeError", message: "no order #", frame: "" }],
    [
      "with its stack",
      line(threw("no order 7", answered(500)), { ExceptionStacks: ["    at loadOrder (w.js:1:2)"], LogErrors: logged }),
      { name: "TypeError", message: "no order #", frame: "loadOrder" },
    ],
    ["an exception beside an outcome that is well", line(threw("late", { Outcome: "ok" })), { message: "late" }],
    [
      "else its first logged error",
      line({ ...answered(503), Outcome: "exceededCpu" }, { LogErrors: logged }),
      { name: "RangeError", message: "page # is gone", frame: "load" },
    ],
    ["also if all went well", line({}, { LogErrors: logged }), { name: "RangeError" }],
    ["else how it ended", line({ ...answered(503), Outcome: "exceededCpu" }), { name: "exceededCpu", message: "" }],
    ["else the status", line(answered(503)), { name: "HTTP 503", message: "", firstRay: "8f" }],
  ])("is of the problem of %s", (_what, record, expected) => {
    expect(errorsOf(record)).toMatchObject([{ ...expected, count: 1, id: expect.stringMatching(/^[0-9a-f]{16}$/) }]);
  });

  it("is none of one that went well, or whose client went away", () => {
    const well = [line({}), line(answered(404)), line({ Outcome: "canceled" }), line({}, { ExceptionStacks: [""] })];
    expect(errorsOf(...well)).toEqual([]);
  });

  it("is the same problem, thrown or logged; its first and latest records are known", () => {
    const [first, ...others] = [
      line(threw("page 1 is gone", { EventTimestampMs: 500, Exceptions: [], Outcome: "ok" }), { LogErrors: logged }),
      line(
        threw("", {
          EventTimestampMs: 900,
          Exceptions: [{ name: "RangeError", message: "page 2 is gone", TimestampMs: 1 }],
        }),
        {
          ExceptionStacks: ["    at load (w.js:30:4)"],
        },
      ),
      line({ EventTimestampMs: 700 }, { LogErrors: logged }),
    ];
    expect(errorsOf(first as RecordLine, ...others)).toMatchObject([{ count: 3, firstMs: 500, lastMs: 900 }]);
  });

  it("of a sender that tells seconds is in the order of time, and found by the time that it has", () => {
    const [old, later] = [NOON / 1_000, NOON + 5_000];
    const records = [later, old, old + 2].map((EventTimestampMs) => line(threw("late", { EventTimestampMs })));
    expect(errorsOf(...records)).toMatchObject([{ count: 3, firstMs: old, lastMs: later }]);
    const tally = new HealthTally('"shop"');
    for (const record of records) tally.add(record);
    expect(tally.sum().firstFailureMs).toBe(NOON);
  });

  it("is counted, however many problems there are", () => {
    const cause = fc.record({ n: fc.nat({ max: 200 }), kind: fc.constantFrom("threw", "logged", "status", "well") });
    const letters = (n: number): string => [...`${n}`].map((digit) => "bdfgklmnpr"[Number(digit)]).join("a");
    fc.assert(
      fc.property(fc.array(cause, { maxLength: 400 }), (all) => {
        const records = all.map(({ n, kind }) => {
          if (kind === "threw") return line(threw(`cause ${letters(n)}`));
          if (kind === "logged") return line({}, { LogErrors: [{ ...logged[0], message: `cause ${letters(n)}` }] });
          return line(answered(kind === "well" ? 200 : 500 + (n % 100)));
        });
        const errors = errorsOf(...records);
        expect(errors.reduce((sum, { count }) => sum + count, 0)).toBe(
          all.filter(({ kind }) => kind !== "well").length,
        );
        expect(errors.length).toBeLessThanOrEqual(65);
        expect(new Set(errors.map(({ id }) => id)).size).toBe(errors.length);
      }),
      { numRuns: 50 },
    );
  });
});
