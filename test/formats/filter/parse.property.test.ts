import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import { FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import operatorTable from "../../fixtures/filters/operator-table.json";

/*
 * What a valid filter is, from docs/jobs.md and the vendor's table alone: a slow judge that says
 * only yes or no.
 */

type Json = { readonly [key: string]: unknown };

const isThere = (value: unknown): boolean => value !== undefined && value !== null;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const onlyHas = (object: Json, known: readonly string[]): boolean =>
  Object.keys(object).every((key) => known.includes(key));

function isFilter(json: unknown): boolean {
  const count = { operators: 0 };
  return isObject(json) && onlyHas(json, ["where"]) && isNode(json.where, 0, count) && count.operators <= 200;
}

function isNode(json: unknown, depth: number, count: { operators: number }): boolean {
  if (!isObject(json) || !onlyHas(json, ["and", "or", "key", "operator", "value"])) return false;
  const present = Object.keys(json).filter((key) => isThere(json[key]));
  const [first = ""] = present;
  if (present.length === 1 && ["and", "or"].includes(first)) {
    const inner = json[first];
    if (!Array.isArray(inner) || inner.length === 0 || depth >= 20) return false;
    return inner.every((node) => isNode(node, depth + 1, count));
  }
  count.operators += 1;
  return present.length === 3 && isCondition(json);
}

/** The type of a key, as in the vendor's table; null: unknown. */
function typeOf(key: string): "string" | "int" | "array" | "any" | null {
  const types: { readonly [name: string]: "string" | "int" | "array" } = {
    "ScriptVersion.ID": "string",
    "ScriptVersion.Message": "string",
    "ScriptVersion.Tag": "string",
    Exceptions: "array",
    Logs: "array",
    ScriptTags: "array",
  };
  if (/^Event(?:\.[^.]+)+$/su.test(key)) return "any";
  if (Object.hasOwn(types, key)) return types[key] ?? null;
  if (key.endsWith("Ms") && (FIELD_NAMES as readonly string[]).includes(key)) return "int";
  const objects = ["Event", "ScriptVersion"];
  return (FIELD_NAMES as readonly string[]).includes(key) && !objects.includes(key) ? "string" : null;
}

function isCondition({ key, operator, value }: Json): boolean {
  const row = operatorTable.operators.find(({ op }) => op === operator);
  if (row === undefined || typeof key !== "string") return false;
  const type = typeOf(key);
  if (type === null || (type !== "any" && !row[type])) return false;
  switch (row.op.replace("!", "")) {
    case "eq":
      return isScalar(value, type) || (typeof value === "boolean" && type !== "int");
    case "in":
      return Array.isArray(value) && value.length > 0 && value.every((element) => isScalar(element, type));
    case "contains":
    case "startsWith":
    case "endsWith":
      return typeof value === "string";
    default:
      return isNumeric(value);
  }
}

function isScalar(value: unknown, type: string): boolean {
  if (type === "int") return isInteger(value);
  return typeof value === "string" || (typeof value === "number" && Math.abs(value) <= 2 ** 53 - 1);
}

/** As JSON writes an exact integer. */
function isInteger(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value);
  return typeof value === "string" && /^(?:0|-?[1-9][0-9]{0,15})$/.test(value) && Number.isSafeInteger(Number(value));
}

/** A number, or a string with one as JSON writes it. */
function isNumeric(value: unknown): boolean {
  if (typeof value !== "string") return typeof value === "number" && Number.isFinite(value);
  if (value.trim() !== value) return false;
  try {
    return Number.isFinite(JSON.parse(value)) && typeof JSON.parse(value) === "number";
  } catch {
    return false;
  }
}

const scalar = fc.oneof(
  fc.constantFrom<unknown>("ok", "", "30", "-1", "030", " 5", "0x10", "1e3", "1e999", "9007199254740993", "-0", "5."),
  fc.constantFrom<unknown>(0, -0, 30, 0.5, 1e21, 2 ** 53, -(2 ** 53) + 1, true, false, null, "\ud800"),
  fc.integer(),
);
const operand = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 3, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);
const key = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom<unknown>("Outcome", "CPUTimeMs", "ScriptTags", "Logs", "Event.a", "Event.a.b"),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      ...[
        "Event",
        "Event.",
        "Event..a",
        "Event.a.",
        "Event.a..b",
        ".",
        "",
        "ScriptVersion",
        "ScriptVersion.ID",
        "ScriptVersion.ID.x",
      ],
      ...["ScriptVersion.constructor", "outcome", "Outcome.length", "__proto__", "constructor", "Event.__proto__", 5],
    ),
  },
);
const operator = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom<unknown>(...operatorTable.operators.map(({ op }) => op)) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>("EQ", "!!eq", "constructor", "", null, 1) },
);
const condition = fc.record({ key, operator, value: operand });
/** A condition with a key too many or too few. */
const odd = fc
  .tuple(condition, fc.constantFrom("key", "operator", "value", "and", "or", "where", "__proto__"), scalar)
  .map(([node, name, value]) => ({ ...node, [name]: value }));
const { node } = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    { weight: 12, arbitrary: condition },
    { weight: 1, arbitrary: odd },
    { weight: 3, arbitrary: fc.record({ and: fc.array(tie("node"), { minLength: 1, maxLength: 2 }) }) },
    {
      weight: 3,
      arbitrary: fc.record({ or: fc.array(tie("node"), { minLength: 1, maxLength: 2 }), key: fc.constant(null) }),
    },
    { weight: 1, arbitrary: fc.record({ and: fc.constantFrom<unknown>([], {}, null, [null]) }) },
  ),
}));

/** The place named by a fault, as a path: `where.and[1].value[0]`. */
function placeOf(fault: string): (string | number)[] {
  const [, place = ""] = /^bad predicate: (where(?:\.[a-z]+|\[\d+\])*): /.exec(fault) ?? [];
  return place
    .split(/[.[\]]+/)
    .filter((step) => step !== "")
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

describe("a filter", () => {
  it("is taken exactly where a slow judge takes it, and each fault names a place that is there", () => {
    const answers = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(node, (where) => {
        const text = JSON.stringify({ where });
        const json = JSON.parse(text) as unknown;
        const parsed = parseFilter(text);
        expect(parsed.ok).toBe(isFilter(json));
        answers[parsed.ok ? "taken" : "refused"] += 1;
        if (parsed.ok) return;
        for (const fault of parsed.faults) {
          let at = json;
          for (const step of placeOf(fault)) {
            expect(Object.hasOwn(at as object, step), `${fault} in ${text}`).toBe(true);
            at = (at as { [step: string]: unknown })[step];
          }
        }
      }),
      { numRuns: 3_000 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(100);
  });

  it("means the same however its JSON is written", () => {
    // Other white space, another key order, and needless escapes.
    const rewritten = (value: unknown): string => {
      if (Array.isArray(value)) return `[ ${value.map(rewritten).join("\n,\t")}\r]`;
      if (typeof value === "string")
        return `"${[...value].map((char) => (/^[a-z]$/i.test(char) ? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}` : JSON.stringify(char).slice(1, -1))).join("")}"`;
      if (!isObject(value)) return JSON.stringify(value);
      const pairs = Object.entries(value).map(([name, each]) => `${rewritten(name)} : ${rewritten(each)}`);
      return `{${pairs.reverse().join(" , ")} }`;
    };
    fc.assert(
      fc.property(node, (where) => {
        const text = JSON.stringify({ where });
        const [one, other] = [parseFilter(text), parseFilter(rewritten(JSON.parse(text)))];
        expect(other.ok).toBe(one.ok);
        if (one.ok) expect(other).toEqual(one);
      }),
      { numRuns: 1_000 },
    );
  });

  it("may have two hundred conditions, twenty levels deep, wherever they stand, and no more", () => {
    const answers = { taken: 0, refused: 0 };
    const sound = { key: "Outcome", operator: "eq", value: "ok" };
    const shape = fc.record({
      operators: fc.oneof(fc.integer({ min: 190, max: 210 }), fc.integer({ min: 1, max: 400 })),
      depth: fc.oneof(fc.integer({ min: 18, max: 22 }), fc.integer({ min: 1, max: 40 })),
      kinds: fc.array(fc.constantFrom("and", "or"), { minLength: 1, maxLength: 5 }),
      // Conditions per level, repeated from the outermost.
      shares: fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 4 }),
    });
    fc.assert(
      fc.property(shape, ({ operators, depth, kinds, shares }) => {
        const levels: object[][] = Array.from({ length: depth }, () => []);
        let left = operators - 1;
        for (let level = 0; level < depth; level++) {
          const share = Math.min(left, shares[level % shares.length] ?? 0);
          levels[level]?.push(...Array(share).fill(sound));
          left -= share;
        }
        levels[depth - 1]?.push(...Array(left + 1).fill(sound));
        const where = levels.reduceRight<object[]>(
          (inner, level, i) => [{ [kinds[i % kinds.length] ?? "and"]: level.concat(inner) }],
          [],
        )[0];
        const parsed = parseFilter(JSON.stringify({ where }));
        answers[parsed.ok ? "taken" : "refused"] += 1;
        expect(parsed.ok).toBe(operators <= 200 && depth <= 20);
        if (!parsed.ok) expect(parsed.faults.length).toBeLessThanOrEqual(100);
      }),
      { numRuns: 500 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(50);
  });
});
