import { describe, expect, it } from "vitest";
import { EVENT_MAX_BYTES, EVENTS_MAX_COUNT, TIME_MAX_MS } from "../../../src/base/limits.ts";
import { dayOf } from "../../../src/base/time.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { acceptEvents } from "../../../src/ship/intake/events.ts";
import { DAY_MS, NOON, recordOf, TAKEN, traceRecord } from "../../formats/record/samples.ts";
import { foundIn, parsedFrom } from "./found.ts";

const context = { takenInMs: TAKEN, defaultScriptName: "unnamed", lenient: false };

const at = (pointer: string, value: unknown) => ({ pointer, value });

describe("the events of a body", () => {
  const abc = (...values: unknown[]) => values.map((a, i) => at(`/${i}`, { a }));
  const bodies: [what: string, ndjson: boolean, text: string, events: { pointer: string; value: unknown }[]][] = [
    ["one event", false, '{"event":null}', [at("", { event: null })]],
    ["an array", false, '[{"a":1},{"a":2}]', [at("/0", { a: 1 }), at("/1", { a: 2 })]],
    ["an empty array", false, "[]", []],
    ["lines", true, '{"a":1}\n{"a":2}\n', [at("/0", { a: 1 }), at("/1", { a: 2 })]],
    [
      "blank lines, which count for nothing",
      true,
      '\n\n{"a":1}\n \t\r\n{"a":2}\n\n',
      [at("/0", { a: 1 }), at("/1", { a: 2 })],
    ],
    ["a line that is an array, which is no event", true, '[{"a":1}]', [at("/0", [{ a: 1 }])]],
    ["objects one after the other", false, '{"a":1}{"a":2}\r\n {"a":3}\n', abc(1, 2, 3)],
    ["lines that are not called so", false, '{"a":1}\n\n{"a":2}\n', abc(1, 2)],
    ["indented objects", false, '{\n  "a": 1\n}\n{\n  "a": [\n    {}\n  ]\n}\n', abc(1, [{}])],
    ["indented objects that are called lines", true, '\n{\n  "a": 1\n}\n{\n  "a": [\n    {}\n  ]\n}\n', abc(1, [{}])],
    ["an indented array that is called lines", true, '[\n  {"a":1},\n  {\n"a":2}\n]\n', abc(1, 2)],
    ["lines, of which one has two and one a part", true, '{"a":1}\n{"a":2} {"a":3}\n{"a":\n4}', abc(1, 2, 3, 4)],
    ["only blank lines", true, "\n\r\n  \n", []],
    ["a line separator of Unicode inside a text", true, '{"a":"x\u2028y"}', [at("/0", { a: "x\u2028y" })]],
  ];

  it.each(bodies)("are found in %s", (_what, ndjson, text, events) => {
    expect(parsedFrom(text, ndjson)).toEqual({ ok: true, events });
  });
});

describe("a body in which events cannot be told apart", () => {
  it.each([
    ["an object and something else", '{"a":1} 5'],
    ["something else and an object", '5 {"a":1}'],
    ["an array and an object", '[{"a":1}]{"a":2}'],
    ["an object and an array", '{"a":1}[{"a":2}]'],
    ["a comma between objects", '{"a":1},{"a":2}'],
    ["a byte order mark between objects", '{"a":1}\ufeff{"a":2}'],
    ["an object that breaks off", '{"a":1}{"a":2'],
  ])("is no JSON: %s", (_what, text) => {
    expect(parsedFrom(text, false)).toEqual({ ok: false, kind: "not_json" });
  });

  const NO_LINE = { fault: "this line is not JSON" };

  it.each([
    ["one is not JSON", '{"a":1}\nx\n{"a":2}', [at("/0", { a: 1 }), { pointer: "/1", ...NO_LINE }, at("/2", { a: 2 })]],
    ["one is a brace", '{\n{"a":2}', [{ pointer: "/0", ...NO_LINE }, at("/1", { a: 2 })]],
    [
      "none is JSON",
      "x\n{",
      [
        { pointer: "/0", ...NO_LINE },
        { pointer: "/1", ...NO_LINE },
      ],
    ],
  ])("is judged line by line, if it is called lines and not indented: %s", (_what, text, events) => {
    expect(parsedFrom(text, true)).toEqual({ ok: true, events });
  });

  it.each([
    ["breaks off", '{\n  "a": 1\n}\n{\n  "a": 2,\n'],
    ["has a fault", '{\n  "a": nil\n}\n'],
    ["has a fault after a line that is an event", '{"a":1}\n{\n  "a": nil\n}\n'],
  ])("is refused once if it is indented and %s", (_what, text) => {
    expect(parsedFrom(text, true)).toEqual({ ok: false, kind: "not_json" });
  });
});

describe("a body of far too many events", () => {
  const many = (line: string) => line.repeat(EVENTS_MAX_COUNT + 1);

  it.each([
    ["lines", many("{}\n"), true],
    ["lines, with blank ones between", many("{}\n\n \r\n"), true],
    ["lines of which the last is not JSON", `${many("{}\n")}bad`, true],
    ["an array", `[${many("{},")}{}]`, false],
    ["objects with nothing between", many("{}"), false],
    ["objects with nothing between that are called lines", many("{}"), true],
    ["indented objects that are called lines", many("{\n}\n"), true],
    ["an array of nothing", `[${many("0,")}0]`, false],
  ])("is counted before anything is made of them: %s", (_what, text, ndjson) => {
    expect(parsedFrom(text, ndjson)).toEqual({ ok: false, kind: "too_many" });
  });

  it("is read as long as there are not", () => {
    expect(parsedFrom("{}\n".repeat(EVENTS_MAX_COUNT), true).ok).toBe(true);
    expect(parsedFrom(`[${Array(EVENTS_MAX_COUNT).fill("{}")}]`, false).ok).toBe(true);
    expect(parsedFrom("{\n}\n".repeat(EVENTS_MAX_COUNT), true).ok).toBe(true);
  });

  it("is not read to its end, though none of its lines is JSON", () => {
    expect(parsedFrom("x\n".repeat(8_000_000), true)).toEqual({ ok: false, kind: "too_many" });
  });
});

describe("accepting events", () => {
  it("takes all or nothing, and names every fault", () => {
    const events = [
      at("/0", { event: null }),
      at("/1", {}),
      at("/2", { Outcome: 1, EventTimestampMs: -1 }),
      at("/3", null),
    ];
    const answer = acceptEvents(events, context);
    expect(answer.ok ? [] : answer.faults.map(({ pointer }) => pointer)).toEqual([
      "/1",
      "/2/EventTimestampMs",
      "/2/Outcome",
      "/3",
    ]);
    expect(answer).not.toHaveProperty("lines");
  });

  it("names a hundred faults and looks no further, even within one event", () => {
    const logs = Array.from({ length: 500 }, () => ({ TimestampMs: -1 }));
    for (const events of [Array.from({ length: 500 }, (_, i) => at(`/${i}`, {})), [at("", { Logs: logs })]]) {
      const answer = acceptEvents(events, context);
      expect(answer.ok ? 0 : answer.faults.length).toBe(100);
    }
  });

  const day = (n: number) => at(`/${n}`, { EventTimestampMs: NOON + n * DAY_MS });

  it("refuses 32 days", () => {
    const message = "at most 31 distinct UTC days a request; these events span 32";
    expect(
      acceptEvents(
        Array.from({ length: 32 }, (_, i) => day(i)),
        context,
      ),
    ).toEqual({ ok: false, status: 400, faults: [{ pointer: "", message }] });
  });

  it.each([
    [0, 0],
    [DAY_MS - 1, 0],
    [DAY_MS, 1],
    [TIME_MAX_MS, 2_932_896],
  ])("puts %i ms into UTC day %i", (ms, expected) => {
    expect(dayOf(ms)).toBe(expected);
  });

  /** An event whose record has exactly this many bytes, of characters of this many bytes each. */
  function sized(bytes: number, char: "x" | "€"): unknown {
    const width = char === "x" ? 1 : 3;
    const left = bytes - recordLine(traceRecord({ Outcome: "" })).length;
    return traceRecord({ Outcome: char.repeat(Math.floor(left / width)) + "x".repeat(left % width) });
  }

  it.each(["x", "€"] as const)(
    "takes an event of exactly 1 MiB as a record, and refuses one byte more (%s)",
    (char) => {
      expect(acceptEvents([at("", sized(EVENT_MAX_BYTES, char))], context)).toMatchObject({ ok: true });
      expect(acceptEvents([at("/0", sized(EVENT_MAX_BYTES + 1, char)), at("/1", {})], context)).toEqual({
        ok: false,
        status: 400,
        faults: [
          { pointer: "/0", message: "larger than 1048576 bytes" },
          { pointer: "/1", message: "neither a trace item nor a record: none of its keys is known" },
        ],
      });
    },
  );

  it("takes an event of 1 MiB that is more as a record: arguments that were objects become text", () => {
    const argument = Array.from({ length: 200_000 }, () => "");
    const event = { event: null, logs: [{ level: "log", message: [argument], timestamp: 1 }] };
    const pad = EVENT_MAX_BYTES - JSON.stringify({ ...event, outcome: "" }).length;
    const accept = (bytes: number) => acceptEvents([at("", { ...event, outcome: "x".repeat(bytes) })], context);
    const accepted = accept(pad);
    expect(accepted.ok && (accepted.lines[0]?.length ?? 0) > EVENT_MAX_BYTES).toBe(true);
    expect(accept(pad + 1).ok).toBe(false);
  });

  const repeated = (what: string, bytes: number): string =>
    Array(Math.floor(bytes / (what.length + 1)))
      .fill(what)
      .join();

  it.each<[string, (bytes: number) => string]>([
    ["numbers that are long when they are written out", (bytes) => `{"Event":{"a":[${repeated("1e20", bytes - 30)}]}}`],
    ["numbers as arguments", (bytes) => `{"event":null,"logs":[{"message":[${repeated("1e9", bytes - 60)}]}]}`],
    ["quotes in an argument", (bytes) => `{"event":null,"logs":[{"message":[[${repeated('""', bytes - 60)}]]}]}`],
  ])("takes 1 MiB of %s, however much that is as a record, and no more", (_, event) => {
    for (const ndjson of [true, false]) {
      const taken = foundIn(event(EVENT_MAX_BYTES), ndjson);
      expect(taken.ok && acceptEvents(taken.events, context).ok, `NDJSON: ${ndjson}`).toBe(true);
      const over = foundIn(event(EVENT_MAX_BYTES + 64), ndjson);
      expect(over.ok && acceptEvents(over.events, context)).toMatchObject({
        ok: false,
        status: 400,
        faults: [{ pointer: ndjson ? "/0" : "", message: "larger than 1048576 bytes" }],
      });
    }
  });

  it("takes empty logs up to what they are as records, and says so beyond that", () => {
    const text = (logs: number) => `{"event":null,"logs":[${Array(logs).fill("{}").join()}]}`;
    const accept = (logs: number) => {
      const found = foundIn(text(logs), false);
      return found.ok && acceptEvents(found.events, context);
    };
    expect(accept(150_000)).toMatchObject({ ok: true });
    expect(accept(160_000)).toMatchObject({
      ok: false,
      faults: [{ pointer: "", message: "larger than 8388608 bytes as a record" }],
    });
  });

  it("makes nothing of an event whose logs alone are too many", () => {
    const logs = Array.from({ length: 349_526 }, () => ({}));
    expect(acceptEvents([at("/0", { logs })], context)).toMatchObject({ ok: false, status: 400 });
    expect(
      acceptEvents([at("/0", { logs: logs.slice(0, 200_000), exceptions: logs.slice(0, 149_526) })], context),
    ).toMatchObject({ ok: false });
  });

  it("stops when the records of a request have become too much for one isolate, and says so", () => {
    const event = { event: null, logs: Array.from({ length: 19_000 }, () => ({})) };
    const events = Array.from({ length: 290 }, (_, i) => at(`/${i}`, event));
    expect(acceptEvents(events, context)).toEqual({
      ok: false,
      status: 413,
      faults: [
        { pointer: "", message: "as records, these events are larger than 33554432 characters; send fewer at once" },
      ],
    });
    expect(acceptEvents(events.slice(0, 25), context).ok).toBe(true);
  });

  /** An event with arrays nested so that the object in `Event` has this many levels. */
  const nested = (levels: number, inside: string) =>
    JSON.parse(`{"Event":{"a":${"[".repeat(levels - 1)}${inside}${"]".repeat(levels - 1)}}}`);

  it.each([
    [2, "1"],
    [100, "1"],
    [100, '"\\ud800"'],
  ])("takes an event that is nested %i levels deep, with %s inside", (levels, inside) => {
    const answer = acceptEvents([at("", nested(levels, inside))], context);
    const line = answer.ok ? answer.lines[0] : undefined;
    expect(recordLine(JSON.parse(line ?? "")) === line).toBe(true);
  });

  it.each([
    [101, "1"],
    [100_000, "1"],
    [100_000, '"\\ud800"'],
  ])("refuses one that is nested %i levels deep, with %s inside", (levels, inside) => {
    const answer = acceptEvents([at("/0", nested(levels, inside))], context);
    const faults = [{ pointer: "/0/Event", message: "nested too deeply: at most 100 levels" }];
    expect(answer.ok ? "taken" : answer.faults).toEqual(faults);
  });

  it("refuses one of a list whose record is large where a key that is dropped is too deep to measure it", () => {
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
    const value = { Outcome: "x".repeat(EVENT_MAX_BYTES), deep };
    expect(acceptEvents([at("/0", value)], context)).toEqual({
      ok: false,
      status: 400,
      faults: [{ pointer: "/0", message: "nested too deeply" }],
    });
  });

  it("stamps what has no time with that of the intake, and what has no name with the default", () => {
    const answer = acceptEvents([at("", { event: null })], { ...context, defaultScriptName: "lab" });
    expect(answer).toEqual({
      ok: true,
      lines: [recordLine(recordOf({ eventTimestamp: TAKEN, scriptName: "lab" }))],
      unknownKeys: [],
    });
  });
});
