/** Why intake parses a line: `npm run bench -- --only=declined`. */
import { expect, it } from "vitest";
import { declineOf, declinesOf, linesOf, type Reason } from "../../../tools/bench/declined.ts";

const NOON = 1_795_176_000_000;

const PLAIN = JSON.stringify({
  ...{ CPUTimeMs: 3, DispatchNamespace: "", Entrypoint: "default" },
  Event: { RayID: "8f14", Request: { URL: "https://a.example/", Method: "GET" }, Response: { Status: 200 } },
  ...{ EventTimestampMs: NOON, EventType: "fetch", Exceptions: [] },
  Logs: [{ Level: "log", Message: ["a\tb"], TimestampMs: NOON }],
  ...{ Outcome: "ok", ScriptName: "shop", ScriptTags: [], ScriptVersion: { ID: "1", Message: "", Tag: "" } },
  WallTimeMs: 12,
});

const keys = Array.from({ length: 65 }, (_, i) => `"k${i}":${i}`).join();

it.each<[reason: Reason, from: string, to: string]>([
  ["not JSON", "{", "{{"],
  ["no object", PLAIN, `[${PLAIN}]`],
  ["a trace item", PLAIN, '{"scriptName":"shop"}'],
  ["a value that is refused", '"Entrypoint":"default"', '"Entrypoint":1'],
  ["a field is missing", '"EventType":"fetch",', ""],
  ["a key that is no field", '"WallTimeMs"', '"Source":"x","WallTimeMs"'],
  ["fields in another order", '"CPUTimeMs":3,"DispatchNamespace":""', '"DispatchNamespace":"","CPUTimeMs":3'],
  ["white space between tokens", '"fetch"', ' "fetch"'],
  ["no script name", '"ScriptName":"shop"', '"ScriptName":""'],
  ["a time that is not in milliseconds", `"EventTimestampMs":${NOON}`, `"EventTimestampMs":${NOON / 1_000}`],
  ["a value that becomes another", '"CPUTimeMs":3', '"CPUTimeMs":3.5'],
  ["a value that becomes another", '"Entrypoint":"default"', '"Entrypoint":null'],
  ["an escape in another form", "a\\tb", "a\\u0009b"],
  ["an escape in another form", "https://", "https:\\/\\/"],
  ["a number in another form", "200", "2e2"],
  ["a key that moves or is repeated", '"RayID":"8f14",', '"RayID":"8f14","7":1,'],
  ["a key that moves or is repeated", '"Method":"GET"', '"Method":"PUT","Method":"GET"'],
  ["larger than an event may be", "8f14", "\\t".repeat(600_000)],
  ["a time of other centuries, or more than the scan compares", `"EventTimestampMs":${NOON}`, '"EventTimestampMs":1'],
  ["a time of other centuries, or more than the scan compares", '"Status":200', keys],
])("%s", (reason, from, to) => {
  const sent = PLAIN.replace(from, to);
  expect(sent).not.toBe(PLAIN);
  expect(declineOf(sent)).toBe(reason);
});

it("a canonical record is taken, and of several reasons the first one counts", () => {
  expect(declineOf(PLAIN)).toBeNull();
  expect(declineOf(PLAIN.replace('"CPUTimeMs":3', ' "CPUTimeMs":3.5'))).toBe("white space between tokens");
  const lines = [PLAIN, "{", ...[" ", "\t"].map((space) => PLAIN.replace(":", `:${space}`))];
  expect([...declinesOf(lines)]).toEqual([
    ["white space between tokens", 2],
    ["not JSON", 1],
  ]);
});

it("all records of the mix, and those that become of trace items, are taken as they are", () => {
  const sources = Object.entries(linesOf(300)).map(([source, lines]) => [source, [...declinesOf(lines).keys()]]);
  expect(Object.fromEntries(sources)).toEqual({
    "the mix, as records": [],
    "the mix, as trace items": ["a trace item"],
    "fixtures: records of trace items": [],
    "fixtures: trace items": ["a trace item"],
    "fixtures: records in the wild": ["a field is missing"],
  });
});
