/** What is taken as a canonical record is what intake would make of it, to the byte. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8, parsedJson } from "../../../src/base/bytes.ts";
import { canonicalRecord } from "../../../src/formats/json/canonical.ts";
import { JsonScanner, literal } from "../../../src/formats/json/scanner.ts";
import { jsonText, recordLine } from "../../../src/formats/record/encode.ts";
import { extrasOf } from "../../../src/formats/record/extras.ts";
import { EXTRA_FIELDS, FIELD_NAMES, isTakenField, type TraceRecord } from "../../../src/formats/record/fields.ts";
import { type Findings, toRecord } from "../../../src/formats/record/record.ts";
import { NOON } from "../record/samples.ts";

/** More of them by hand: this number is that of one CI run. */
const LINES = 10_000;

const CONTEXT = {
  takenInMs: NOON,
  defaultScriptName: "unnamed",
  lenient: false,
  extraFields: EXTRA_FIELDS.filter(isTakenField),
};

/** What the scan says of a line that lies somewhere within other bytes. */
function taken(line: string): { timeMs: number; scriptName: string } | null {
  const bytes = encodeUtf8(`"]}${line}]}"`);
  const scanner = new JsonScanner(bytes, 3, bytes.length - 3, { key: literal('"Event"'), levels: 1_000 });
  const record = canonicalRecord(scanner, bytes);
  return record !== null && scanner.at === bytes.length - 3 ? record : null;
}

/** What parsing makes of it; null: nothing, another line, or there is something to say. */
function made(line: string): { timeMs: number; scriptName: string } | null {
  const value = parsedJson(line);
  const findings: Findings & { oddTimes: string[] } = { faults: [], unknownKeys: new Set(), oddTimes: [] };
  const record = value === undefined ? null : toRecord(value, CONTEXT, "", findings);
  if (record === null || findings.oddTimes.length + findings.unknownKeys.size > 0) return null;
  if (extrasOf(value, CONTEXT, "", findings) !== "" || recordLine(record) !== line) return null;
  return { timeMs: record.EventTimestampMs, scriptName: record.ScriptName };
}

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }).map((each) => each.toWellFormed()),
  fc.string({ unit: fc.constantFrom(...'ab \\"\n\t\u0000\u0008\u000b\u001b\u001f\u007fé€😀\u2028/'), maxLength: 40 }),
);
const duration = fc.oneof(fc.nat({ max: 10_000 }), fc.constantFrom(999_999_999_999_999, 1_000_000_000_000_000));
const time = fc.oneof(
  { weight: 9, arbitrary: fc.nat({ max: 86_400_000 }).map((ms) => NOON + ms) },
  fc.constantFrom(0, 1_795_176_000, 946_684_799_999, 946_684_800_000, 7_258_118_399_999, 7_258_118_400_000),
);
const key = fc.oneof(text, fc.constantFrom("a", "b", "Request", "ScheduledTimeMs", "__proto__", "7", "toString"));
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true }), fc.constantFrom(-0, 1e21, 0.1, 1e-7, 2 ** 53 + 2));
const inside = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    text,
    number,
    time,
    fc.constantFrom(null, true, false),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((all) => Object.fromEntries(all)),
  ),
})).value;
const record: fc.Arbitrary<TraceRecord> = fc.record({
  CPUTimeMs: duration,
  DispatchNamespace: text,
  Entrypoint: text,
  Event: fc.array(fc.tuple(key, inside), { maxLength: 4 }).map((all) => Object.fromEntries(all)),
  EventTimestampMs: time,
  EventType: text,
  Exceptions: fc.array(fc.record({ name: text, message: text, TimestampMs: time }), { maxLength: 2 }),
  Logs: fc.array(fc.record({ Level: text, Message: fc.array(text, { maxLength: 2 }), TimestampMs: time }), {
    maxLength: 2,
  }),
  Outcome: text,
  ScriptName: text,
  ScriptTags: fc.array(text, { maxLength: 2 }),
  ScriptVersion: fc.record({ ID: text, Message: text, Tag: text }),
  WallTimeMs: duration,
});
/** Line feeds apart, which end a line. */
const line = record.map((each) => jsonText(each));

/** Little pieces that change what a line says, or only how. */
const piece = fc.oneof(
  fc.constantFrom(...'{}[],:"\\ \t019.-+eEu/'.split("")),
  fc.constantFrom(
    "\\/",
    "\\u0041",
    "\\u000a",
    "\\u000A",
    "\\u001b",
    "\\u001B",
    "\\ud800",
    '"a":1,',
    ',"a":1',
    "1.0",
    "1e3",
  ),
  fc.constantFrom('"Source":"x",', "null", "\u0000", "\ufeff", "é", "\\n", '"ScheduledTimeMs":1795176000,'),
  fc.constantFrom(...FIELD_NAMES.map((name) => `"${name}":`)),
);
const change = fc.record({ at: fc.nat(), cut: fc.nat({ max: 3 }), piece, isAtToken: fc.boolean() });

function changed(
  whole: string,
  { at, cut, piece: put, isAtToken }: { at: number; cut: number; piece: string; isAtToken: boolean },
): string {
  const tokens = [...whole.matchAll(/[{[,:]/g)].map(({ index }) => index + 1);
  const from = isAtToken ? (tokens[at % tokens.length] ?? 0) : at % (whole.length + 1);
  return whole.slice(0, from) + put + whole.slice(from + cut);
}

describe("a line that may be a canonical record", () => {
  it("is taken only if parsing it makes the same line, with nothing to say of it", () => {
    const seen = { taken: 0, canonical: 0, other: 0 };
    fc.assert(
      fc.property(line, fc.array(change, { maxLength: 2 }), (whole, changes) => {
        const sent = changes.reduce(changed, whole).toWellFormed();
        const record = taken(sent);
        const parsed = made(sent);
        seen[record !== null ? "taken" : parsed !== null ? "canonical" : "other"] += 1;
        if (record !== null) expect([sent, record]).toEqual([sent, parsed]);
      }),
      { numRuns: LINES },
    );
    // Each of these comes up, or the test says little.
    expect(Math.min(seen.taken, seen.other)).toBeGreaterThan(LINES / 20);
  });

  const plain = jsonText({
    ...{ CPUTimeMs: 3, DispatchNamespace: "", Entrypoint: "default" },
    Event: { RayID: "8f14", Request: { URL: "https://a.example/?q=é", Method: "GET" }, Response: { Status: 200 } },
    ...{ EventTimestampMs: NOON, EventType: "fetch" },
    Exceptions: [{ name: "Error", message: "a\n\tb\u001b[0m", TimestampMs: NOON }],
    Logs: [{ Level: "log", Message: ["x", '{"a":1}'], TimestampMs: NOON }],
    ...{ Outcome: "ok", ScriptName: "shop", ScriptTags: ["a"], ScriptVersion: { ID: "1", Message: "", Tag: "" } },
    WallTimeMs: 12,
  });

  it("is taken as it comes from intake", () => {
    expect(taken(plain)).toEqual({ timeMs: NOON, scriptName: "shop" });
    expect(taken(plain.replace('"ScriptName":"shop"', '"ScriptName":"sh\\"op é"'))?.scriptName).toBe('sh"op é');
  });

  const others: [what: string, from: string, to: string][] = [
    ["a space", '"fetch"', ' "fetch"'],
    ["a space after it", "12}", "12} "],
    ["an escape that is not needed", "shop", "sh\\u006fp"],
    ["an escaped slash", "https://", "https:\\/\\/"],
    ["a number in another form", "200", "2e2"],
    ["a key that moves", '"RayID"', '"7"'],
    ["a key twice", '"Method":"GET"', '"Method":"GET","Method":"PUT"'],
    ["half of a surrogate pair", "8f14", "\\ud83d"],
    ["no name", '"ScriptName":"shop"', '"ScriptName":""'],
    ["a time in seconds", `"EventTimestampMs":${NOON}`, `"EventTimestampMs":${NOON / 1_000}`],
    ["a time of an event in seconds", '"RayID":"8f14"', `"ScheduledTimeMs":${NOON / 1_000}`],
    ["another field", '"WallTimeMs"', '"Source":"x","WallTimeMs"'],
    ["a field less", '"EventType":"fetch",', ""],
    ["a field that is null", '"Entrypoint":"default"', '"Entrypoint":null'],
    ["a duration that is rounded", '"CPUTimeMs":3', '"CPUTimeMs":3.5'],
    ["a duration below zero", '"CPUTimeMs":3', '"CPUTimeMs":-3'],
    ["an event that is nested too deeply", '"GET"', "[".repeat(99) + "]".repeat(99)],
  ];
  it.each(others)("is left to the parser with %s", (_what, from, to) => {
    const sent = plain.replace(from, to);
    expect(sent).not.toBe(plain);
    expect(taken(sent)).toBeNull();
  });

  it("is taken with as many keys of an object as are compared with each other", () => {
    const keys = (count: number) => Array.from({ length: count }, (_, i) => `"k${i}":${i}`).join();
    const sent = (count: number) => plain.replace('"Status":200', keys(count));
    expect(taken(sent(64))).not.toBeNull();
    expect(taken(sent(65))).toBeNull();
    expect(made(sent(65))).not.toBeNull();
  });

  it("is taken with an event that is nested as deeply as it may be", () => {
    expect(taken(plain.replace('"GET"', "[".repeat(98) + "]".repeat(98)))).not.toBeNull();
  });
});
