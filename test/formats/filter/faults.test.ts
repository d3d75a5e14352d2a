import { describe, expect, it } from "vitest";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import { condition, faultsOf, nested, SOUND } from "./support.ts";

const ALL_OPERATORS =
  "eq, !eq, lt, leq, gt, geq, startsWith, endsWith, !startsWith, !endsWith, contains, !contains, in, !in";
const ON_STRING = "eq, !eq, startsWith, endsWith, !startsWith, !endsWith, contains, !contains, in, !in";

/** A condition with one fault; undefined keys are left out. */
const where = (key: unknown, operator: unknown, value: unknown): string =>
  JSON.stringify({ where: { key, operator, value } });

/** What is said of a value that an operator cannot be applied to. @param shown as JSON. */
const undecoded = (shown: string, kinds: string, at = "where.value"): string =>
  `${at}: failed to decode value ${JSON.stringify(shown)}, supported kinds: ${kinds}`;
const unknownField = (name: string, meant?: string): string =>
  `where.key: unknown field "${name}"${meant === undefined ? "" : `, did you mean "${meant}"?`}`;

describe("no filter", () => {
  it("is the empty text, and nothing else", () => {
    expect(parseFilter("")).toEqual({ ok: true, filter: null });
    for (const text of [" ", "null", "{}", '""', '{"where":null}', '{"where":{}}']) {
      expect([text, parseFilter(text).ok]).toEqual([text, false]);
    }
  });
});

describe("every fault", () => {
  it("begins as the vendor's clients know it", () => {
    expect(parseFilter('{"where":{"key":"Outcome","operator":"eq"}}')).toEqual({
      ok: false,
      faults: ["bad predicate: where: value is missing"],
    });
  });
});

const faulty: [what: string, text: string, faults: string[]][] = [
  // Not JSON.
  ["white space", "  ", ["not valid JSON: ends too early, at position 2"]],
  ["no JSON", "Outcome eq ok", ['not valid JSON at position 0, near "Outcome eq ok"']],
  ["text cut off", '{"where":{"key":', ["not valid JSON: ends too early, at position 16"]],
  ["text after the end", '{"where":{}} {"where":{}}', ['not valid JSON at position 13, near "{\\"where\\":{}}"']],
  [
    "no JSON, of which only a short piece is shown",
    `{"where":@${"secret ".repeat(100)}}`,
    ['not valid JSON at position 9, near "@secret secret secre"'],
  ],
  ["a line break in a string", '{"where":"a\nb"}', ['not valid JSON at position 9, near "\\"a\\nb\\"}"']],

  // Wrong shape.
  ["null", "null", ['a filter is an object, {"where": …}, not null']],
  ["an array", "[1]", ['a filter is an object, {"where": …}, not an array']],
  ["a number", "1", ['a filter is an object, {"where": …}, not a number']],
  ["a filter that was encoded twice", '"{}"', ['a filter is an object, {"where": …}, not a string']],
  ["an empty object", "{}", ["where is missing"]],
  ["where that is null", '{"where":null}', ["where is missing"]],
  ["Where", '{"Where":{}}', ["where is missing", 'unknown key "Where", did you mean "where"?']],
  [
    "a condition without where",
    JSON.stringify(SOUND),
    ['where is missing: "key" belongs inside it, as in {"where":{"key":…}}'],
  ],
  [
    "or without where",
    JSON.stringify({ or: [SOUND], limit: 1 }),
    ['where is missing: "or" belongs inside it, as in {"where":{"or":…}}', 'unknown key "limit"'],
  ],
  ["a key beside where", JSON.stringify({ where: SOUND, limit: 5 }), ['unknown key "limit"']],
  ["a group beside where", JSON.stringify({ where: SOUND, and: [] }), ['unknown key "and"']],

  // Nodes.
  ["a node that is a string", '{"where":"Outcome"}', ["where: must be an object, not a string"]],
  ["a node that is an array", '{"where":[]}', ["where: must be an object, not an array"]],
  ["a node that is a bool", '{"where":{"or":[true]}}', ["where.or[0]: must be an object, not a bool"]],
  ["a node that is null", '{"where":{"or":[null]}}', ["where.or[0]: must be an object, not null"]],
  ["an empty node", '{"where":{}}', ["where: key is missing", "where: operator is missing", "where: value is missing"]],
  ["an empty and", '{"where":{"and":[]}}', ["where.and: must not be empty"]],
  ["an empty or", '{"where":{"and":[{"or":[]}]}}', ["where.and[0].or: must not be empty"]],
  ["and that is an object", '{"where":{"and":{}}}', ["where.and: must be an array, not an object"]],
  ["or that is a string", '{"where":{"or":"x"}}', ["where.or: must be an array, not a string"]],
  [
    "and beside or",
    JSON.stringify({ where: { and: [SOUND], or: [SOUND] } }),
    ["where: and can't be set with or, key, operator or value"],
  ],
  [
    "or beside a value",
    JSON.stringify({ where: { or: [SOUND], value: "x" } }),
    ["where: or can't be set with and, key, operator or value"],
  ],
  [
    "and beside or, both with faults of their own",
    JSON.stringify({ where: { and: [1], or: [[]] } }),
    [
      "where: and can't be set with or, key, operator or value",
      "where.and[0]: must be an object, not a number",
      "where.or[0]: must be an object, not an array",
    ],
  ],
  [
    "an unknown key, far inside",
    JSON.stringify({ where: { and: [SOUND, { or: [{ ...SOUND, not: true }] }] } }),
    ['where.and[1].or[0]: unknown key "not"'],
  ],
  [
    "a key of other letters",
    JSON.stringify({ where: { Key: "Outcome", operator: "eq", value: "ok" } }),
    ['where: unknown key "Key", did you mean "key"?', "where: key is missing"],
  ],
  ["AND", JSON.stringify({ where: { ...SOUND, AND: [] } }), ['where: unknown key "AND", did you mean "and"?']],
  [
    "a key named like something of every object",
    `{"where":{"__proto__":{"key":"Outcome"},"operator":"eq","value":"ok"}}`,
    ['where: unknown key "__proto__"', "where: key is missing"],
  ],

  // Keys.
  ["no key", where(undefined, "eq", "ok"), ["where: key is missing"]],
  ["an empty key", where("", "eq", "ok"), ["where: key is missing"]],
  ["a key that is null", where(null, "eq", "ok"), ["where: key is missing"]],
  ["a key that is a number", where(1, "eq", "ok"), ["where.key: must be a string, not a number"]],
  ["an unknown field", where("ColoCode", "eq", "x"), [unknownField("ColoCode")]],
  ["a field of every object", where("constructor", "eq", "x"), [unknownField("constructor")]],
  ["a field of other letters", where("outcome", "eq", "x"), [unknownField("outcome", "Outcome")]],
  ["a field in another style", where("cpu_time_ms", "lt", 1), [unknownField("cpu_time_ms", "CPUTimeMs")]],
  [
    "a path of other letters",
    where("event.Request.URL", "eq", "x"),
    [unknownField("event.Request.URL", "Event.Request.URL")],
  ],
  [
    "a version's field of other letters",
    where("ScriptVersion.id", "eq", "x"),
    [unknownField("ScriptVersion.id", "ScriptVersion.ID")],
  ],
  [
    "a version and its field of other letters",
    where("scriptVersion.tag", "eq", "x"),
    [unknownField("scriptVersion.tag", "ScriptVersion.Tag")],
  ],
  ["a version's unknown field", where("ScriptVersion.Author", "eq", "x"), [unknownField("ScriptVersion.Author")]],
  [
    "an unknown field of which only a piece is shown",
    where("x".repeat(5_000), "eq", "x"),
    [`where.key: unknown field "${"x".repeat(60)}…"`],
  ],
  [
    "Event as a whole",
    where("Event", "eq", "x"),
    ["where.key: Event is an object: name what lies below it, as in Event.Request.Method"],
  ],
  [
    "ScriptVersion as a whole",
    where("ScriptVersion", "eq", "x"),
    ["where.key: ScriptVersion is an object: name one of ScriptVersion.ID, ScriptVersion.Message, ScriptVersion.Tag"],
  ],
  ["a path that ends in a dot", where("Event.", "eq", "x"), ['where.key: field "Event." has an empty name in it']],
  ["a path with two dots", where("Event..X", "eq", "x"), ['where.key: field "Event..X" has an empty name in it']],
  ["a path below a string", where("Outcome.length", "eq", 2), ["where.key: nothing lies below Outcome (string)"]],
  ["a path below an int", where("WallTimeMs.x", "eq", 2), ["where.key: nothing lies below WallTimeMs (int)"]],
  ["a path into an array", where("Logs.0.Message", "contains", "x"), ["where.key: nothing lies below Logs (array)"]],
  [
    "a path below a version's string",
    where("ScriptVersion.ID.x", "eq", "x"),
    ["where.key: nothing lies below ScriptVersion.ID (string)"],
  ],

  // Operators.
  ["no operator", where("Outcome", undefined, "ok"), ["where: operator is missing"]],
  ["an operator that is a list", where("Outcome", ["eq"], "ok"), ["where.operator: must be a string, not an array"]],
  ["EQ", where("Outcome", "EQ", "ok"), ['where.operator: unknown operator "EQ", did you mean "eq"?']],
  [
    "starts_with",
    where("Outcome", "!starts_with", "ok"),
    ['where.operator: unknown operator "!starts_with", did you mean "!startsWith"?'],
  ],
  [
    "an unknown operator",
    where("Outcome", "matches", "ok"),
    [`where.operator: unknown operator "matches"; operators are ${ALL_OPERATORS}`],
  ],
  [
    "the opposite of what has none",
    where("CPUTimeMs", "!lt", 1),
    [`where.operator: unknown operator "!lt"; operators are ${ALL_OPERATORS}`],
  ],
  [
    "an order of strings",
    where("ScriptName", "lt", "a"),
    [`where.operator: lt does not apply to ScriptName (string); ${ON_STRING} do`],
  ],
  [
    "an order of a version's strings",
    where("ScriptVersion.Tag", "geq", 1),
    [`where.operator: geq does not apply to ScriptVersion.Tag (string); ${ON_STRING} do`],
  ],

  // Values.
  ["no value", where("Outcome", "eq", undefined), ["where: value is missing"]],
  ["a value that is null", where("Outcome", "eq", null), ["where: value is missing"]],
  ["in with a string", where("CPUTimeMs", "in", "200,201"), [undecoded('"200,201"', "[]int")]],
  ["in with a string, on strings", where("Outcome", "in", "ok"), [undecoded('"ok"', "[]string, []number")]],
  ["!in with nothing", where("Outcome", "!in", []), ["where.value: must not be empty"]],
  [
    "in with what is no list of scalars",
    where("Outcome", "in", ["ok", ["x"], {}, null, true]),
    [
      undecoded("[…]", "string, number", "where.value[1]"),
      undecoded("{…}", "string, number", "where.value[2]"),
      undecoded("null", "string, number", "where.value[3]"),
      undecoded("true", "string, number", "where.value[4]"),
    ],
  ],
  [
    "in with what no int is like",
    where("WallTimeMs", "in", [1, "2", "x", 1.5, "1.0", "01", "", " 1", "+1", "0x1", "1e3", false]),
    ["x", 1.5, "1.0", "01", "", " 1", "+1", "0x1", "1e3", false].map((value, i) =>
      undecoded(JSON.stringify(value), "int", `where.value[${i + 2}]`),
    ),
  ],
  ["eq with what no int is like", where("CPUTimeMs", "!eq", "fast"), [undecoded('"fast"', "int")]],
  [
    "eq with what no int can be, however it is written",
    '{"where":{"and":[{"key":"CPUTimeMs","operator":"eq","value":9007199254740993},{"key":"CPUTimeMs","operator":"eq","value":"9007199254740992"},{"key":"CPUTimeMs","operator":"eq","value":"Infinity"}]}}',
    [
      undecoded("9007199254740992", "int", "where.and[0].value"),
      undecoded('"9007199254740992"', "int", "where.and[1].value"),
      undecoded('"Infinity"', "int", "where.and[2].value"),
    ],
  ],
  ["eq with a bool, on an int", where("CPUTimeMs", "eq", true), [undecoded("true", "int")]],
  ["eq with a list", where("Outcome", "eq", ["ok"]), [undecoded("[…]", "string, number, bool")]],
  ["eq with an object, below Event", where("Event.X", "eq", { a: 1 }), [undecoded("{…}", "string, number, bool")]],
  [
    "eq with a number that JSON's readers do not keep",
    '{"where":{"key":"Outcome","operator":"eq","value":9007199254740993}}',
    ["where.value: a number beyond 2^53 is not exact: write it as a string"],
  ],
  [
    "eq with a number beyond all",
    '{"where":{"key":"Event.X","operator":"eq","value":-1e999}}',
    ["where.value: a number beyond 2^53 is not exact: write it as a string"],
  ],
  ["startsWith with a number", where("Outcome", "startsWith", 5), [undecoded("5", "string")]],
  ["contains with a list", where("ScriptTags", "contains", ["a"]), [undecoded("[…]", "string")]],
  ["contains with a bool", where("Logs", "!contains", false), [undecoded("false", "string")]],
  [
    "a value of which only a piece is shown",
    where("CPUTimeMs", "lt", "é".repeat(1_000)),
    [`where.value: failed to decode value "\\"${"é".repeat(59)}…", supported kinds: number`],
  ],
  [
    "an unknown field and a value of the wrong kind",
    where("EdgeResponseStatus", "in", "200,201"),
    [
      unknownField("EdgeResponseStatus"),
      'where.value: failed to decode value "\\"200,201\\"", supported kinds: []string, []number',
    ],
  ],
];

describe("a faulty filter", () => {
  it.each(faulty)("is refused in words, each with its place: %s", (_what, text, faults) => {
    expect(faultsOf(text)).toEqual(faults);
  });

  const noNumbers = [
    "",
    " 5",
    "5 ",
    "0x10",
    "1e999",
    "-1e999",
    "+5",
    "05",
    ".5",
    "5.",
    "1_000",
    "Infinity",
    "NaN",
    "५",
  ];

  it.each([...noNumbers, true])("is one that compares with what is no number: %j", (value) => {
    for (const key of ["CPUTimeMs", "Event.X"]) {
      for (const operator of ["lt", "leq", "gt", "geq"]) {
        expect(faultsOf(where(key, operator, value))).toEqual([undecoded(JSON.stringify(value), "number")]);
      }
    }
  });

  it("is told everything at once, in the order of its text", () => {
    const node: unknown = {
      and: [
        condition("Outcome", "is", "ok"),
        { or: [{ key: "Outcom", value: 1 }, SOUND, condition("Logs", "eq", 1)] },
        7,
      ],
      extra: 1,
    };
    expect(faultsOf(JSON.stringify({ where: node }))).toEqual([
      'where: unknown key "extra"',
      `where.and[0].operator: unknown operator "is"; operators are ${ALL_OPERATORS}`,
      'where.and[1].or[0].key: unknown field "Outcom"',
      "where.and[1].or[0]: operator is missing",
      "where.and[1].or[2].operator: eq does not apply to Logs (array); contains, !contains do",
      "where.and[2]: must be an object, not a number",
    ]);
  });

  it("is told no more than a hundred faults", () => {
    const text = JSON.stringify({ where: { and: Array.from({ length: 150 }, () => 1) } });
    expect(faultsOf(text)).toEqual(
      Array.from({ length: 100 }, (_, i) => `where.and[${i}]: must be an object, not a number`),
    );
  });
});

describe("the limits of a filter", () => {
  const many = (count: number): string => JSON.stringify({ where: { or: Array.from({ length: count }, () => SOUND) } });

  it("are 200 operators", () => {
    expect(faultsOf(many(200))).toEqual([]);
    expect(faultsOf(many(201))).toEqual(["where: 201 operators, at most 200"]);
  });

  it("are told first, whatever else is wrong", () => {
    const text = JSON.stringify({ where: { or: Array.from({ length: 300 }, () => condition("Outcome", "is", 1)) } });
    const faults = faultsOf(text);
    expect(faults).toHaveLength(100);
    expect(faults[0]).toBe("where: 300 operators, at most 200");
    expect(faults[99]).toMatch(/^where\.or\[98\]\.operator: /);
  });

  it("are 20 levels of and, or", () => {
    expect(faultsOf(nested(0))).toEqual([]);
    expect(faultsOf(nested(20))).toEqual([]);
    expect(faultsOf(nested(21))).toEqual([
      `where${".and[0]".repeat(20)}: nested too deeply: and, or nest at most 20 levels`,
    ]);
  });
});
