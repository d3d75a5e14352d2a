import fc from "fast-check";
import { record as searched, texts, words } from "../../operate/search/records.ts";

/** Small alphabets, as of the records of a search. */
const LEVELS = ["log", "warn", "error"];
const URLS = [
  "https://api.shop.example/checkout/cart?x=1",
  "https://shop.example:8787/checkout",
  "https://shop.example",
  "http://user.example/a-b/8f14e45f-ceea-167a-9e8b-0123456789ab#top",
];
const PLANS = ["gold", "cus_8H2", "4711", "a/b", "9", "true"];

const scalar = fc.oneof(
  words,
  fc.constantFrom(...PLANS),
  fc.constantFrom(0, 9, 4711, -1.5, 1e-7, 1e21),
  fc.boolean(),
  fc.constant(null),
);
const logged = fc.record(
  {
    customer: fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })),
    order: fc.record({ customer: scalar, items: fc.array(fc.record({ sku: scalar }), { maxLength: 2 }) }),
    "order.customer": scalar,
    Straße: scalar,
  },
  { requiredKeys: [] },
);

/** Records as they are shipped, with what queries ask for. */
export const records = fc
  .tuple(
    searched(fc.constantFrom(100, 150)),
    fc.record({
      WallTimeMs: fc.constantFrom(0, 9, 999, 1_000, 90_000),
      CPUTimeMs: fc.constantFrom(0, 9, 50),
      ScriptVersion: fc.record({
        ID: fc.constantFrom("", "8f14e45f-ceea-167a-9e8b-0123456789ab"),
        Message: fc.oneof(fc.constant(""), texts),
        Tag: fc.constantFrom("", "v42", "v4"),
      }),
      Exceptions: fc.array(fc.record({ name: fc.constantFrom("TypeError", "Error"), message: texts }), {
        maxLength: 1,
      }),
      Fields: fc.oneof(fc.constant(undefined), logged),
      Level: fc.constantFrom(undefined, ...LEVELS),
    }),
    fc.constantFrom(...URLS),
    fc.array(
      fc.record({
        Level: fc.constantFrom(...LEVELS),
        Message: fc.array(
          fc.oneof(
            texts,
            logged.map((each) => JSON.stringify(each)),
          ),
          { maxLength: 2 },
        ),
      }),
      { maxLength: 2 },
    ),
  )
  .map(([base, more, url, logs]) => ({
    ...base,
    ...more,
    Event: { ...base.Event, Request: { ...base.Event.Request, URL: url } },
    Logs: logs,
  }));

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, "\\$&")}"`;

/** A text, or a part of one, that records may have. */
const held = fc
  .tuple(
    fc.oneof(texts, words, scalar.map(String), fc.constantFrom(...URLS, ...LEVELS, "TypeError", "v42", "exception")),
    fc.nat(),
    fc.nat(),
    fc.boolean(),
  )
  .map(([text, a, b, isWhole]) => {
    const from = a % Math.max(1, text.length);
    return isWhole ? text : text.slice(from, from + 1 + (b % 12)).toWellFormed();
  });
const pattern = fc
  .tuple(fc.constantFrom("", "", "*"), held, fc.constantFrom("", "", "*"))
  .map(([opens, text, goesOn]) => `${opens}${quoted(text)}${goesOn}`);
const names = fc.constantFrom(
  ...["customer", "order.customer", "order.items.sku", "Straße", "Fields.customer", "method", "worker", "version"],
  ...[
    "outcome",
    "ray",
    "level",
    "Outcome",
    "ScriptTags",
    "Logs",
    "Exceptions",
    "Exceptions.name",
    "Event",
    "Logs.Level",
  ],
  ...["Event.Request.URL", "ScriptVersion", "Event.Response.Status", "Fields"],
);
const compared = fc.tuple(
  fc.constantFrom("customer", "order.customer", "Event.Response.Status", "WallTimeMs", "status"),
  fc.constantFrom(">", ">=", "<", "<="),
  fc.constantFrom("0", "9", "200", "404.5", "-1.5", "4711"),
);
const term = fc.oneof(
  { weight: 2, arbitrary: held.map(quoted) },
  {
    weight: 2,
    arbitrary: held.map((text) => text.replaceAll(/[\s"()]/g, "")).filter((text) => /^[a-z\d]/i.test(text)),
  },
  { weight: 5, arbitrary: fc.tuple(names, fc.oneof(pattern, fc.constant("*"))).map((parts) => parts.join(":")) },
  compared.map(([name, operator, value]) => `${name}:${operator}${value}`),
  fc.constantFrom(
    ...["status:5xx", "status:404", "level:warning", "level:err*", "level:*", "took:>=1s", "took:<1.5m", "cpu:50ms"],
    ...["path:/checkout/*", "path:/", "path:/checkout", 'path:"/checkout/cart?x=1"', "path:*-b/8f14e45f*"],
    ...[
      "host:shop.example",
      "host:shop.example:8787",
      "host:*.shop.example",
      "path:*",
      "version:v4",
      "customer:(9 OR x)",
    ],
  ),
);

/** Queries that can be read, of up to three levels. */
export const queries = fc.letrec<{ query: string; term: string }>((tie) => ({
  query: fc
    .array(fc.tuple(fc.constantFrom("", "-"), tie("term"), fc.constantFrom(" ", " ", " OR ")), {
      minLength: 1,
      maxLength: 3,
    })
    .map((parts) => parts.map(([not, one, joint], i) => `${not}${one}${i < parts.length - 1 ? joint : ""}`).join("")),
  term: fc.oneof(
    { maxDepth: 2 },
    term,
    tie("query").map((query) => `(${query})`),
  ),
})).query;

type Leaf = readonly [path: string, value: string | number | boolean];

/** The values of a record, and of the objects that it logged, with where they are. */
function leavesOf(value: unknown, path: string): Leaf[] {
  if (Array.isArray(value)) return value.flatMap((each) => leavesOf(each, path));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([name, each]) => leavesOf(each, path === "" ? name : `${path}.${name}`));
  if (typeof value === "string" && path === "Logs.Message" && value.startsWith("{"))
    return leavesOf(JSON.parse(value), "");
  return value === null || value === undefined ? [] : [[path, value as Leaf[1]]];
}

/** Which value of a record a query asks for, which part of it, and how. */
export const picks = fc.array(
  fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.constantFrom("phrase", "whole", "begins", "ends", "within")),
  { maxLength: 2 },
);

/** A query for values that this record has. */
export function ownQuery(record: object, asked: readonly (readonly [number, number, number, string])[]): string {
  const leaves = leavesOf(record, "");
  const terms = asked.map(([which, a, b, how]) => {
    const [path, value] = leaves[which % leaves.length] as Leaf;
    const text = String(value).toWellFormed();
    const from = how === "whole" || how === "begins" ? 0 : a % (text.length + 1);
    const to = how === "whole" || how === "ends" ? text.length : from + (b % (text.length + 1 - from));
    const part = quoted(text.slice(from, to).toWellFormed());
    if (how === "phrase") return part;
    return `${quoted(path)}:${from > 0 || how === "within" ? "*" : ""}${part}${to < text.length || how === "within" ? "*" : ""}`;
  });
  return terms.join(" ");
}
