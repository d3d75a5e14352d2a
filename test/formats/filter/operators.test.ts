import { describe, expect, it } from "vitest";
import type { FieldName } from "../../../src/formats/record/fields.ts";
import operatorTable from "../../fixtures/filters/operator-table.json";
import { condition, faultsOf, keeps, keepsEvent } from "./support.ts";

type Type = "string" | "int" | "bool" | "array" | "object";
const TYPES: readonly Type[] = ["string", "int", "bool", "array", "object"];

/** Per test and type: an operand, a value that matches, and one that does not. */
const APPLIED: { readonly [test: string]: readonly [operand: unknown, type: Type, hit: unknown, miss: unknown][] } = {
  eq: [
    ["30", "string", "30", "31"],
    ["30", "int", 30, 31],
    [30, "string", "30", "30.0"],
    ["ok", "string", "ok", "OK"],
    [0, "int", -0, 1],
    [true, "bool", true, false],
    ["true", "bool", true, false],
    [true, "string", "true", "false"],
  ],
  lt: [
    [30, "int", 29, 30],
    ["-1.5e1", "int", -16, -15],
  ],
  leq: [
    [30, "int", 30, 31],
    ["3e1", "int", 30, 31],
  ],
  gt: [
    [30, "int", 31, 30],
    ["-0", "int", 1, 0],
  ],
  geq: [[30, "int", 30, 29]],
  startsWith: [
    ["/foo", "string", "/foo/bar", "/bar/foo"],
    ["a", "string", "a", "A"],
  ],
  endsWith: [
    ["/foo", "string", "/bar/foo", "/foo/bar"],
    ["a", "string", "a", "A"],
  ],
  contains: [
    ["tat", "string", "/static", "/stotic"],
    ["", "string", "", undefined],
    ["a", "array", ["b", "a"], ["ab", "A"]],
    ["", "array", [""], []],
    ["30", "array", [30], [31, [30], { 30: 30 }, null]],
  ],
  in: [
    [["a", "b"], "string", "b", "c"],
    [[200, 201], "int", 201, 202],
    [["200", 201], "int", 200, 202],
    [[200], "string", "200", "201"],
  ],
};

/** Operands that a comparison with type conversion would match in the samples below. */
const TEMPTING: { readonly [test: string]: unknown } = {
  eq: "30",
  lt: "40",
  leq: 40,
  gt: 20,
  geq: "20",
  startsWith: "3",
  endsWith: "0",
  contains: "30",
  in: ["30", 30, "true"],
};
const SAMPLES: { readonly [type in Type]: readonly unknown[] } = {
  string: ["30"],
  int: [30],
  bool: [true],
  array: [["30"], [30], []],
  object: [{ 30: "30" }, {}],
};

const OPERATORS = operatorTable.operators.map((row) => {
  const negated = row.op.startsWith("!");
  return { ...row, negated, test: negated ? row.op.slice(1) : row.op };
});

const rows = OPERATORS.flatMap((operator) => TYPES.map((type) => ({ ...operator, type, applies: operator[type] })));

describe("every operator on a value of every type, below Event", () => {
  it.each(rows.filter(({ applies }) => applies))("$op applies to $type", ({ op, test, negated, type }) => {
    const cases = (APPLIED[test] ?? []).filter(([, of]) => of === type);
    expect(cases).not.toEqual([]);
    for (const [operand, , hit, miss] of cases) {
      expect([op, operand, hit, keepsEvent(op, operand, { X: hit })]).toEqual([op, operand, hit, !negated]);
      expect([op, operand, miss, keepsEvent(op, operand, { X: miss })]).toEqual([op, operand, miss, negated]);
    }
  });

  it.each(rows.filter(({ applies }) => !applies))(
    "$op does not apply to $type, which is then as good as missing",
    ({ op, test, negated, type }) => {
      for (const sample of SAMPLES[type]) expect(keepsEvent(op, TEMPTING[test], { X: sample })).toBe(negated);
    },
  );

  const absent: [what: string, event: unknown, path: string][] = [
    ["the event is empty", {}, "X"],
    ["the value is not there", { Y: "30" }, "X"],
    ["the value is null", { X: null }, "X"],
    ["nothing is there on the way", {}, "X.Y.Z"],
    ["null is on the way", { X: null }, "X.Y"],
    ["a string is on the way", { X: "30" }, "X.length"],
    ["a number is on the way", { X: 30 }, "X.toFixed"],
    ["an array is on the way, which has no names", { X: ["30"] }, "X.0"],
    ["an array is on the way, whose length is no value", { X: ["30"] }, "X.length"],
    ["an array of objects is on the way", { X: [{ Y: "30" }] }, "X.0.Y"],
    ["the name is of other letters", { x: "30" }, "X"],
    ["the value lies under another name that has a dot in it", { "X.Y": "30" }, "X.Y"],
    ["the object inherits it", {}, "constructor"],
    ["the object inherits it, and what lies below", {}, "constructor.name"],
    ["the object inherits a setter of that name", {}, "__proto__"],
    ["the object inherits a value of that name", Object.create({ X: "30" }), "X"],
    ["an object below inherits it", { X: {} }, "X.toString"],
  ];

  it.each(absent)("without ! is false, with ! true, where %s", (_what, event, path) => {
    for (const { op, test, negated } of OPERATORS) {
      expect([op, keepsEvent(op, TEMPTING[test], event, path)]).toEqual([op, negated]);
    }
  });

  it("finds what is there under any name, if it is the object's own", () => {
    for (const name of ["__proto__", "constructor", "toString", "length", "0", "hasOwnProperty", "é", " "]) {
      const event = JSON.parse(`{${JSON.stringify(name)}:{"X":"30"}}`);
      expect([name, keepsEvent("eq", 30, event, `${name}.X`)]).toEqual([name, true]);
    }
  });

  it("compares numbers that are no integers, which only events have, by what they are", () => {
    expect(keepsEvent("gt", "0.5", { X: 0.75 })).toBe(true);
    expect(keepsEvent("gt", "0.5", { X: 0.25 })).toBe(false);
    expect(keepsEvent("eq", "0.5", { X: 0.5 })).toBe(true);
    expect(keepsEvent("eq", 0.5, { X: "0.5" })).toBe(true);
    expect(keepsEvent("eq", "0.50", { X: 0.5 })).toBe(false);
    expect(keepsEvent("in", [0.5, "1e+21"], { X: 1e21 })).toBe(true);
  });
});

const FIELDS: { readonly [type in Exclude<Type, "bool" | "object">]: readonly FieldName[] } = {
  int: ["CPUTimeMs", "EventTimestampMs", "WallTimeMs"],
  string: ["DispatchNamespace", "Entrypoint", "EventType", "Outcome", "ScriptName"],
  array: ["ScriptTags"],
};
const fields = Object.entries(FIELDS).flatMap(([type, names]) =>
  names.map((name) => ({ name, type: type as keyof typeof FIELDS })),
);

describe.each(fields)("every operator on $name, of type $type", ({ name, type }) => {
  it.each(OPERATORS.filter((operator) => operator[type]))("$op", ({ op, test, negated }) => {
    const ofType = (value: unknown) =>
      Array.isArray(value) ? value.every((element) => typeof element === "string") : value !== undefined;
    const cases = (APPLIED[test] ?? []).filter(([, of, hit]) => of === type && ofType(hit));
    expect(cases).not.toEqual([]);
    for (const [operand, , hit, miss] of cases) {
      expect([operand, hit, keeps(condition(name, op, operand), { [name]: hit })]).toEqual([operand, hit, !negated]);
      if (!ofType(miss)) continue;
      expect([operand, miss, keeps(condition(name, op, operand), { [name]: miss })]).toEqual([operand, miss, negated]);
    }
  });

  it.each(OPERATORS.filter((operator) => !operator[type]))("refuses $op", ({ op, test }) => {
    const others = OPERATORS.filter((operator) => operator[type]).map((operator) => operator.op);
    const [fault = "", ...more] = faultsOf(JSON.stringify({ where: condition(name, op, TEMPTING[test]) }));
    expect(more).toEqual([]);
    const [what, list = ""] = fault.split("; ");
    expect(what).toBe(`where.operator: ${op} does not apply to ${name} (${type})`);
    expect(list.replace(/ do$/, "").split(", ").sort()).toEqual(others.sort());
  });
});

describe("contains", () => {
  it.each(["Logs", "Exceptions", "ScriptTags"])("finds nothing in empty %s, not even nothing", (key) => {
    expect(keeps(condition(key, "contains", ""), {})).toBe(false);
    expect(keeps(condition(key, "!contains", ""), {})).toBe(true);
  });

  it.each(OPERATORS.map(({ op }) => op).filter((op) => !/contains/.test(op)))(
    "and its opposite are all that Logs and Exceptions know: %s is refused",
    (op) => {
      for (const key of ["Logs", "Exceptions"]) {
        expect(faultsOf(JSON.stringify({ where: condition(key, op, "x") }))).toEqual([
          `where.operator: ${op} does not apply to ${key} (array); contains, !contains do`,
        ]);
      }
    },
  );
});
