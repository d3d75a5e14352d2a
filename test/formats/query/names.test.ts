/** What names stand for, in invocations and in rows. */
import { expect, it, vi } from "vitest";
import { nameOf, SHORT_NAMES } from "../../../src/formats/query/names.ts";
import { traceRecord } from "../record/samples.ts";

const RECORD = {
  ...traceRecord({
    CPUTimeMs: 3,
    WallTimeMs: 40,
    EventType: "fetch",
    Outcome: "exception",
    ScriptName: "shop",
    ScriptTags: ["a", "b"],
    ScriptVersion: { ID: "v1", Message: "", Tag: "blue" },
    Event: {
      RayID: "8f14e45fceea167a",
      Request: { URL: "https://me:pw@API.shop.example:8443/checkout/7?x=/1#y", Method: "POST" },
      Response: { Status: 503 },
      Cron: "",
    },
    Exceptions: [],
    Logs: [
      { Level: "log", Message: ["{", "x"], TimestampMs: 0 },
      { Level: "debug", Message: ["{not json"], TimestampMs: 0 },
      { Level: "warn", Message: ['{"customer":{"id":4711},"none":null}'], TimestampMs: 0 },
      { Level: "odd", Message: ['{"customer":{"id":4712}}'], TimestampMs: 0 },
    ],
  }),
  RequestCF: { colo: "FRA" },
};

it.each([
  ["status", [503]],
  ["method", ["POST"]],
  ["path", ["/checkout/7"]],
  ["host", ["api.shop.example:8443"]],
  ["ray", ["8f14e45fceea167a"]],
  ["worker", ["shop"]],
  ["function", ["shop"]],
  ["version", ["v1", "blue"]],
  ["outcome", ["exception"]],
  ["level", ["warn", "log", "debug", "odd"]],
  ["took", [40]],
  ["cpu", [3]],
  ["type", ["fetch"]],
  ["cron", []],
  ["colo", ["FRA"]],
  ["ScriptTags", ["a", "b"]],
  ["Event.Request.Method", ["POST"]],
  ["Event.toString", []],
  ["ScriptTags.0", []],
  ["ScriptVersion.Tag", ["blue"]],
  ["Fields.customer.id", [4711, 4712]],
  ["Fields.none", []],
  ["RequestHeaders.host", []],
])("%s", (name, values) => {
  expect(nameOf(name)?.valuesOf(RECORD)).toEqual(values);
  // It is read without the other fields as well.
  const part = Object.fromEntries(Object.entries(RECORD).filter(([field]) => nameOf(name)?.fields.includes(field)));
  expect(nameOf(name)?.valuesOf(part)).toEqual(values);
});

it("takes what a row has, and an exception for an error", () => {
  const row = { Level: "info", RowType: "log", Fields: { customer: "a" } };
  expect(nameOf("level")?.valuesOf(row)).toEqual(["info"]);
  expect(nameOf("Fields.customer")?.valuesOf(row)).toEqual(["a"]);
  expect(nameOf("level")?.valuesOf({ Logs: [{ Level: "info" }], Exceptions: [{}] })).toEqual(["error", "info"]);
});

it.each([
  ["https://a.example", "/"],
  ["https://a.example?x", "/"],
  ["/p?q", "/p"],
  ["wss://a.example/x#y", "/x"],
])("the path of %s is %s", (URL, path) => {
  expect(nameOf("path")?.valuesOf({ Event: { Request: { URL } } })).toEqual([path]);
});

it.each([
  "staus",
  "customer",
  "",
  "Status",
  "__proto__",
  "constructor",
  "Event..x",
  "Event.",
  `Event.${"x".repeat(200)}`,
])("does not know %s", (name) => {
  expect(nameOf(name)).toBeNull();
});

it.each([[], {}, { Event: 7, Logs: {}, ScriptVersion: [null] }])("every name finds nothing in %j", (record) => {
  for (const name of Object.keys(SHORT_NAMES)) expect(nameOf(name)?.valuesOf(record)).toEqual([]);
});

it("leads into no object that is too deep to be written again, as a group or in an answer", () => {
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  const valuesOf = (text: string) =>
    nameOf("Fields.a")?.valuesOf({ ...RECORD, Logs: [{ Level: "log", Message: [text], TimestampMs: 0 }] });
  expect(valuesOf(deep(100))).toEqual([JSON.parse(deep(99))]);
  expect(valuesOf(deep(10_000))).toEqual([]);
});

it("parses an object that was logged as a text once, however many names lead into it", () => {
  const parse = vi.spyOn(JSON, "parse");
  const names = Array.from({ length: 50 }, (_, i) => nameOf(`Fields.customer.x${i}`));
  const logs = [`{"customer":{${names.map((_, i) => `"x${i}":${i}`).join()}}}`];
  const record = { ...RECORD, Logs: [{ Level: "log", Message: logs, TimestampMs: 0 }] };
  expect(names.flatMap((name) => name?.valuesOf(record))).toEqual(names.map((_, i) => i));
  expect(parse).toHaveBeenCalledTimes(1);
  parse.mockRestore();
});
