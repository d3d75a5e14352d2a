import fc from "fast-check";

/** Small alphabets, so that records and questions meet. */
const WORDS = [
  "alpha",
  "Beta",
  "4711",
  "card declined",
  "K",
  "K",
  "Straße",
  "İstanbul",
  "ΟΔΟΣ",
  "a-b_c",
  'say "hi"',
  "x\ny",
  "/p/q",
  "8f14e45f-ceea-167a-9e8b-0123456789ab",
  "“card”…",
  "決済が拒否",
  "⚠️API障害",
];

export const words = fc.constantFrom(...WORDS);

/** Texts of several words, so that some end inside a word. */
export const texts = fc.array(words, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(" "));

/** A part of a text, which may begin and end inside a word. */
export const parts = fc.tuple(texts, fc.nat(), fc.nat()).map(([text, a, b]) => {
  const units = [...text];
  const from = a % units.length;
  return units.slice(from, from + 1 + (b % 40)).join("");
});

const RAYS = ["8f14e45fceea167a", "8f14e45fceea167b", "0000000000000001"];

export const rays = fc.constantFrom(...RAYS);

const message = fc.oneof(texts, fc.integer(), fc.record({ deep: texts }));

/** A record as an object has it. @param timeMs of its event. */
export const record = (timeMs: fc.Arbitrary<number>) =>
  fc.record({
    EventTimestampMs: timeMs,
    Event: fc.record({
      RayID: rays,
      Request: fc.record({ URL: texts, Method: fc.constantFrom("GET", "POST") }),
      Response: fc.record({ Status: fc.constantFrom(200, 404, 500) }),
    }),
    Logs: fc.array(fc.record({ Message: fc.array(message, { maxLength: 2 }) }), { maxLength: 2 }),
    Outcome: fc.constantFrom("ok", "exception"),
    ScriptName: words,
    ScriptTags: fc.array(words, { maxLength: 2 }),
  });

const condition = fc.oneof(
  fc.record({
    key: fc.constantFrom("ScriptName", "Outcome", "Event.RayID", "Event.Request.URL"),
    operator: fc
      .tuple(fc.constantFrom("", "!"), fc.constantFrom("eq", "contains", "startsWith", "endsWith"))
      .map((parts) => parts.join("")),
    value: fc.oneof(words, texts, parts, rays, fc.constantFrom("ok", "exception")),
  }),
  fc.record({
    key: fc.constantFrom("Logs", "ScriptTags"),
    operator: fc.constantFrom("contains", "!contains"),
    value: fc.oneof(words, parts),
  }),
  fc.record({
    key: fc.constant("Event.Response.Status"),
    operator: fc.constantFrom("eq", "gt", "leq", "!eq"),
    value: fc.constantFrom(200, 404, 500),
  }),
  fc.record({
    key: fc.constantFrom("ScriptName", "Event.Request.URL"),
    operator: fc.constantFrom("in", "!in"),
    value: fc.array(fc.oneof(words, texts), { minLength: 1, maxLength: 3 }),
  }),
);

/** The JSON of a filter, of up to two levels; "": none. */
export const filters = fc.oneof(
  fc.constant(""),
  condition.map((where) => JSON.stringify({ where })),
  fc
    .tuple(fc.constantFrom("and", "or"), fc.array(condition, { minLength: 1, maxLength: 3 }))
    .map(([kind, nodes]) => JSON.stringify({ where: { [kind]: nodes } })),
  fc
    .tuple(fc.array(condition, { minLength: 1, maxLength: 2 }), fc.array(condition, { minLength: 1, maxLength: 2 }))
    .map(([all, any]) => JSON.stringify({ where: { and: [...all, { or: any }] } })),
);

/** Every string in a value, wherever it stands. */
export const stringsOf = (value: unknown): string[] => {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsOf) : [];
};

/** Every number in it. */
export const numbersOf = (value: unknown): number[] => {
  if (typeof value === "number") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(numbersOf) : [];
};
