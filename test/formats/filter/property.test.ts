import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import operatorTable from "../../fixtures/filters/operator-table.json";
import { traceRecord } from "../record/samples.ts";
import { compiled, type Node } from "./support.ts";

/*
 * A slow reference implementation that shares nothing with the code under test: it interprets the
 * filter's JSON record by record, and takes the types of operators from the vendor's table.
 */

const missing = Symbol("missing");

function slowMatch(node: Node, record: TraceRecord): boolean {
  if ("and" in node) return node.and.every((inner) => slowMatch(inner, record));
  if ("or" in node) return !node.or.every((inner) => !slowMatch(inner, record));
  const opposite = node.operator.startsWith("!");
  const operator = node.operator.slice(opposite ? 1 : 0);
  const found = slowFind(node.key, record);
  if (node.key === "Logs" || node.key === "Exceptions") {
    const messages = record.Logs.flatMap((log) => log.Message);
    const thrown = record.Exceptions.flatMap(({ name, message }) => [name, message]);
    const texts = node.key === "Logs" ? messages : thrown;
    return opposite !== texts.some((text) => slowIncludes(text, `${node.value}`));
  }
  const row = operatorTable.operators.find(({ op }) => op === operator);
  const type = slowType(found);
  if (row === undefined || type === null || !row[type]) return opposite;
  return opposite !== slowHolds(operator, found, node.value);
}

function slowFind(key: string, record: TraceRecord): unknown {
  let at: unknown = record;
  for (const name of key.split(".")) {
    if (slowType(at) !== "object") return missing;
    const own = Object.entries(at as object).find(([ownName]) => ownName === name);
    if (own === undefined) return missing;
    at = own[1];
  }
  return at;
}

function slowType(value: unknown): "string" | "int" | "bool" | "array" | "object" | null {
  if (value === missing || value === null) return null;
  if (Array.isArray(value)) return "array";
  const types = { string: "string", number: "int", boolean: "bool", object: "object" } as const;
  return types[typeof value as keyof typeof types];
}

function slowIncludes(text: string, wanted: string): boolean {
  return Array.from({ length: text.length + 1 }, (_, i) => text.slice(i, i + wanted.length)).includes(wanted);
}

/** The text that a scalar is compared as; other values equal nothing. */
function slowText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? JSON.stringify(value) : undefined;
}

function slowHolds(operator: string, found: unknown, value: unknown): boolean {
  const text = slowText(found) ?? "";
  const wanted = slowText(value) ?? "";
  switch (operator) {
    case "eq":
      return text === wanted;
    case "in":
      return (value as unknown[]).map(slowText).includes(text);
    case "startsWith":
      return text.slice(0, wanted.length) === wanted;
    case "endsWith":
      return wanted === "" || text.slice(-wanted.length) === wanted;
    case "contains":
      if (Array.isArray(found)) return found.map(slowText).includes(wanted);
      return slowIncludes(text, wanted);
  }
  const order = Math.sign(Number(found) - Number(value));
  return { lt: [-1], leq: [-1, 0], gt: [1], geq: [0, 1] }[operator]?.includes(order) ?? false;
}

// Few texts and names, so that matches are frequent.
const text = fc.constantFrom("", "a", "ab", "b", "30", "29", "30.0", "true", "false", "null", "-1", "0.5", "A");
const number = fc.constantFrom(0, -1, 29, 30, 31, 0.5, 1e21);
const name = fc.constantFrom("a", "b", "0", "length", "__proto__", "constructor", "toString", "a.b");
const { value: below } = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
  value: fc.oneof(
    { weight: 4, arbitrary: fc.oneof(text, number, fc.boolean(), fc.constant(null)) },
    { weight: 1, arbitrary: fc.array(tie("value"), { maxLength: 3 }) },
    { weight: 2, arbitrary: tie("object") },
  ),
  object: fc.array(fc.tuple(name, tie("value")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
}));
const event = fc.array(fc.tuple(name, below), { maxLength: 6 }).map((entries) => Object.fromEntries(entries));

const count = fc.constantFrom(0, 29, 30, 31);
const record: fc.Arbitrary<TraceRecord> = fc
  .record({
    CPUTimeMs: count,
    Event: event,
    Exceptions: fc.array(fc.record({ name: text, message: text, TimestampMs: count }), { maxLength: 2 }),
    Logs: fc.array(fc.record({ Level: text, Message: fc.array(text, { maxLength: 2 }), TimestampMs: count }), {
      maxLength: 2,
    }),
    Outcome: text,
    ScriptTags: fc.array(text, { maxLength: 2 }),
    ScriptVersion: fc.record({ ID: text, Message: text, Tag: text }),
  })
  .map(traceRecord);

const eventPath = fc.array(fc.constantFrom("a", "b", "0", "length", "__proto__", "constructor", "toString"), {
  minLength: 1,
  maxLength: 3,
});
const keysOf = {
  string: fc.constantFrom("Outcome", "ScriptVersion.ID", "ScriptVersion.Message", "ScriptVersion.Tag"),
  int: fc.constant("CPUTimeMs"),
  array: fc.constantFrom("ScriptTags", "Logs", "Exceptions"),
};
const plainNumber = fc.oneof(number, fc.constantFrom("30", "29.5", "-1", "3e1"));
const plainInt = fc.oneof(count, fc.constantFrom("30", "29", "-1"));

/** A valid condition with this operator. */
function conditionWith(operator: string): fc.Arbitrary<Node> {
  const row = operatorTable.operators.find(({ op }) => op === operator);
  const types = (["string", "int", "array"] as const).filter((type) => row?.[type]);
  const plain = operator.replace("!", "");
  const ofFields = types.map((type) => {
    const scalar = type === "int" ? plainInt : fc.oneof(text, fc.constantFrom(30, 29, 0.5));
    return fc.record({
      key: keysOf[type],
      operator: fc.constant(operator),
      value: operand(plain, scalar, fc.boolean(), type),
    });
  });
  const key = eventPath.map((names) => `Event.${names.join(".")}`);
  const scalar = fc.oneof(text, fc.constantFrom(0, -1, 29, 30, 0.5));
  return fc.oneof(
    ...ofFields,
    fc.record({ key, operator: fc.constant(operator), value: operand(plain, scalar, fc.boolean(), "any") }),
  );
}

function operand(
  operator: string,
  scalar: fc.Arbitrary<unknown>,
  bool: fc.Arbitrary<boolean>,
  type: string,
): fc.Arbitrary<unknown> {
  if (operator === "eq")
    return type === "int" ? scalar : fc.oneof({ weight: 4, arbitrary: scalar }, { weight: 1, arbitrary: bool });
  if (operator === "in") return fc.array(scalar, { minLength: 1, maxLength: 4 });
  return ["lt", "leq", "gt", "geq"].includes(operator) ? plainNumber : text;
}

const condition = fc.constantFrom(...operatorTable.operators.map(({ op }) => op)).chain(conditionWith);
const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 5 },
    condition,
    fc.record({ and: fc.array(tie("node"), { minLength: 1, maxLength: 4 }) }),
    fc.record({ or: fc.array(tie("node"), { minLength: 1, maxLength: 4 }) }),
  ),
}));

describe("a compiled filter", () => {
  it("keeps exactly what a slow reading of the same filter keeps, and is undecided between them", () => {
    const answers = { true: 0, false: 0 };
    fc.assert(
      fc.property(node, fc.array(record, { minLength: 1, maxLength: 8 }), (where, records) => {
        const matches = compiled(JSON.stringify({ where }));
        for (const each of records) {
          const kept = matches(each);
          expect(kept).toBe(slowMatch(where, each));
          answers[`${kept}`] += 1;
        }
      }),
      { numRuns: 3_000 },
    );
    // Both answers are common, so that the property means something.
    const all = answers.true + answers.false;
    expect(Math.min(answers.true, answers.false)).toBeGreaterThan(all / 5);
  });

  it.each(operatorTable.operators.map(({ op }) => op))("does so with %s alone, with both answers", (operator) => {
    const answers = { true: 0, false: 0 };
    fc.assert(
      fc.property(conditionWith(operator), record, (where, each) => {
        const kept = compiled(JSON.stringify({ where }))(each);
        expect(kept).toBe(slowMatch(where, each));
        answers[`${kept}`] += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(answers.true, answers.false)).toBeGreaterThan(10);
  });

  it("gives the same answer each time, and for a record that went through the queue", () => {
    fc.assert(
      fc.property(node, record, (where, each) => {
        const matches = compiled(JSON.stringify({ where }));
        const kept = matches(each);
        expect(matches(each)).toBe(kept);
        expect(matches(JSON.parse(recordLine(each)))).toBe(kept);
      }),
    );
  });
});
