import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileFilter } from "../../../src/formats/filter/compile.ts";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_NAMES, type TraceRecord } from "../../../src/formats/record/fields.ts";
import operatorTable from "../../fixtures/filters/operator-table.json";
import { recordOf, traceRecord } from "../record/samples.ts";
import { compiled, condition, faultsOf, keeps, SOUND } from "./support.ts";

/** Longest text of a job's filter. */
const FILTER_BYTES = 8_192;

/**
 * Parses a text and, if it is a filter, applies it to a record. @throws if a refusal is unfit for
 * an answer.
 */
function tryOut(text: string, record: unknown = traceRecord()): void {
  const parsed = parseFilter(text);
  if (parsed.ok) {
    if (parsed.filter !== null) expect(typeof compileFilter(parsed.filter)(record as TraceRecord)).toBe("boolean");
    return;
  }
  expect(parsed.faults.length).toBeGreaterThan(0);
  expect(parsed.faults.length).toBeLessThanOrEqual(100);
  for (const fault of parsed.faults) {
    expect(fault).toMatch(/^bad predicate: [^\n]+$/);
    expect(fault.length).toBeLessThan(600);
    expect(fault.isWellFormed()).toBe(true);
  }
}

describe("a text from somebody hostile", () => {
  it("is a filter or a list of faults, and never a throw, whatever is in it", () => {
    const anything = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: fc.constantFrom(...'{}[]:,"\\ud8001e9-.', "where", "and", "or", "key") }),
      fc.json(),
      fc.json().map((json) => `{"where":${json}}`),
      // Lone surrogates, which JSON may contain.
      fc
        .string({ unit: fc.constantFrom("\\ud83d", "\\ude00", "x") })
        .map((key) => `{"where":{"key":"Event.${key}","${key}":1}}`),
    );
    fc.assert(
      fc.property(anything, (text) => tryOut(text)),
      { numRuns: 3_000 },
    );
  });

  const repeated = (piece: string): string => piece.repeat(FILTER_BYTES / piece.length);
  const deep: [what: string, text: string][] = [
    ["and, never closed", repeated('{"and":[')],
    ["or below where, never closed", `{"where":${repeated('{"or":[')}`],
    ["arrays", `{"where":${"[".repeat(4_000)}${"]".repeat(4_000)}}`],
    [
      "a value of arrays",
      `{"where":{"key":"Outcome","operator":"in","value":${"[".repeat(4_000)}${"]".repeat(4_000)}}}`,
    ],
    [
      "a value of objects",
      `{"where":{"key":"Outcome","operator":"eq","value":${'{"a":'.repeat(1_300)}1${"}".repeat(1_301)}}`,
    ],
    [
      "a hundred thousand levels, had nobody counted the bytes",
      `{"where":${'{"and":['.repeat(100_000)}${"]}".repeat(100_000)}}`,
    ],
    ["a hundred thousand levels of values", `{"where":{"value":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`],
  ];

  it.each(deep)("is refused however deep it goes: %s", (_what, text) => {
    tryOut(text);
    expect(faultsOf(text)).not.toEqual([]);
  });

  it("is refused however wide it goes", () => {
    for (const piece of ["{}", "[]", "0", '""', '{"or":[]}']) {
      const text = `{"where":{"and":[${`${piece},`.repeat(2_000)}${piece}]}}`;
      tryOut(text);
      expect(faultsOf(text).length).toBe(100);
    }
  });

  it("may have a path of thousands of names, of which no more are followed than are there", () => {
    const key = `Event${".a".repeat(4_000)}`;
    expect(keeps(condition(key, "eq", "x"), { Event: { a: { a: { a: "x" } } } })).toBe(false);
    expect(keeps(condition(key, "!eq", "x"), { Event: { a: { a: { a: "x" } } } })).toBe(true);
  });

  it("may have values of any length", () => {
    const long = "é".repeat(4_000);
    expect(keeps(condition("ScriptName", "contains", long), { ScriptName: `x${long}y` })).toBe(true);
    expect(keeps(condition("ScriptName", "contains", long), { ScriptName: long.slice(1) })).toBe(false);
    expect(keeps(condition("CPUTimeMs", "lt", `0.${"0".repeat(4_000)}1`), { CPUTimeMs: 0 })).toBe(false);
    expect(keeps(condition("CPUTimeMs", "lt", "9".repeat(300)), { CPUTimeMs: Number.MAX_SAFE_INTEGER })).toBe(true);
    expect(keeps(condition("WallTimeMs", "eq", Number.MAX_SAFE_INTEGER), { WallTimeMs: Number.MAX_SAFE_INTEGER })).toBe(
      true,
    );
  });
});

describe("of a key that stands twice", () => {
  it("the last one counts, as everywhere in JSON", () => {
    const text = '{"where":{"key":"Outcome","operator":"eq","value":"a","value":"b"}}';
    expect(compiled(text)(traceRecord({ Outcome: "b" }))).toBe(true);
    expect(compiled(text)(traceRecord({ Outcome: "a" }))).toBe(false);
    expect(compiled(`{"where":{},"where":${JSON.stringify(SOUND)}}`)(traceRecord({ Outcome: "ok" }))).toBe(true);
  });
});

describe("lone surrogates", () => {
  it("in a filter are what they become in a record: U+FFFD", () => {
    const record = JSON.parse(recordLine(recordOf({ Outcome: "a\ud800", Event: { "\udc00": ["\ud83d"] } })));
    for (const [key, operator, value] of [
      ["Outcome", "eq", "a\ud800"],
      ["Outcome", "eq", "a\ufffd"],
      ["Outcome", "in", ["a\udfff"]],
      ["Outcome", "endsWith", "\ud800"],
      ["Event.\udc00", "contains", "\ud83d"],
      ["Event.\ud800", "contains", "\ufffd"],
    ] as const) {
      expect([operator, compiled(JSON.stringify({ where: { key, operator, value } }))(record)]).toEqual([
        operator,
        true,
      ]);
    }
  });

  it("do not find half of a pair", () => {
    expect(keeps(condition("Outcome", "contains", "\ud83d"), { Outcome: "\u{1f600}" })).toBe(false);
    expect(keeps(condition("Outcome", "startsWith", "\ud83d"), { Outcome: "\u{1f600}" })).toBe(false);
    expect(keeps(condition("Outcome", "contains", "\u{1f600}"), { Outcome: "a\u{1f600}b" })).toBe(true);
  });
});

describe("a record from somebody hostile", () => {
  const keys = ["Outcome", "CPUTimeMs", "Event.a", "Event.a.b", "ScriptTags", "ScriptVersion.ID", "Logs", "Exceptions"];
  const operators = operatorTable.operators.map(({ op }) => op);
  const value = (operator: string): unknown => (/in$/.test(operator) ? ["1"] : "1");
  const sound = keys.flatMap((key) =>
    operators
      .map((operator) => ({
        key,
        operator,
        text: JSON.stringify({ where: condition(key, operator, value(operator)) }),
      }))
      .filter(({ text }) => faultsOf(text).length === 0)
      .map(({ key, operator, text }) => ({ key, operator, matches: compiled(text) })),
  );

  it("is kept or not, and never a throw, whatever stands in it or is missing from it", () => {
    const odd = fc.dictionary(fc.constantFrom(...FIELD_NAMES), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())));
    fc.assert(
      fc.property(odd, (record) => {
        for (const { matches } of sound) expect(typeof matches(record as unknown as TraceRecord)).toBe("boolean");
      }),
      { numRuns: 1_000 },
    );
  });

  const hollow: [what: string, record: unknown][] = [
    ["has no fields", {}],
    ["has null in each", Object.fromEntries(FIELD_NAMES.map((name) => [name, null]))],
    ["has an empty list in each", Object.fromEntries(FIELD_NAMES.map((name) => [name, []]))],
    ["has a list of nothing in each", Object.fromEntries(FIELD_NAMES.map((name) => [name, [null, 5, {}, []]]))],
    [
      "has logs without texts",
      { Logs: [{ Message: [null, 1] }, { Message: "1" }], Exceptions: [{ name: 1, message: ["1"] }] },
    ],
  ];

  it.each(hollow)("has everything missing that is not of its type: it %s", (_what, record) => {
    for (const { key, operator, matches } of sound) {
      expect([key, operator, matches(record as TraceRecord)]).toEqual([key, operator, operator.startsWith("!")]);
    }
  });

  it("hides nothing of what is sound behind what is not", () => {
    const odd = [null, 5, { Message: "x" }, { Message: [null] }, { name: 5 }];
    const record = {
      Logs: [...odd, { Message: [1, "found"] }],
      Exceptions: [...odd, { name: null, message: "found" }],
    };
    for (const key of ["Logs", "Exceptions"]) {
      const text = JSON.stringify({ where: condition(key, "contains", "found") });
      expect([key, compiled(text)(record as unknown as TraceRecord)]).toEqual([key, true]);
    }
  });
});
