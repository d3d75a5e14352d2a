import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TIME_MAX_MS } from "../../../src/base/limits.ts";
import { readStrictly } from "../../../src/formats/queue/load-records.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_DESCRIPTIONS, FIELD_NAMES, type TraceRecord } from "../../../src/formats/record/fields.ts";
import { otherUnitOf, toRecord } from "../../../src/formats/record/record.ts";
import { map, mapLenient, recordOf, TAKEN } from "./samples.ts";

const EMPTY_VERSION = { ID: "", Message: "", Tag: "" };

describe("what a trace item does not say", () => {
  it("is empty, never null and never missing", () => {
    expect(recordOf({ event: null })).toEqual({
      CPUTimeMs: 0,
      DispatchNamespace: "",
      Entrypoint: "",
      Event: {},
      EventTimestampMs: TAKEN,
      EventType: "unknown",
      Exceptions: [],
      Logs: [],
      Outcome: "",
      ScriptName: "unnamed",
      ScriptTags: [],
      ScriptVersion: EMPTY_VERSION,
      WallTimeMs: 0,
    });
  });

  it("has the script name that is configured for it", () => {
    for (const scriptName of [null, ""])
      expect(recordOf({ event: null, scriptName }, { defaultScriptName: "local-lab" }).ScriptName).toBe("local-lab");
  });
});

describe("what a trace item says", () => {
  const args: [what: string, argument: unknown, text: string][] = [
    ["a Date of the same process", new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ["what JSON does not have", undefined, "undefined"],
    ["a BigInt, which JSON does not have", 12345678901234567890n, "12345678901234567890"],
    ["a BigInt inside an object, by the object's type", { n: 1n }, "[object Object]"],
    ["no number", Number.NaN, "null"],
    ["a lone surrogate inside an object, mended", { a: "\ud800" }, '{"a":"\ufffd"}'],
  ];

  it.each(args)("keeps %s of a log's arguments", (_what, argument, text) => {
    const { Logs } = recordOf({ event: null, logs: [{ level: "log", message: [argument], timestamp: 5 }] });
    expect(Logs).toEqual([{ Level: "log", Message: [text], TimestampMs: 5 }]);
  });

  it("says of a cyclic argument what it is, and goes on", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const { record } = mapLenient({ event: null, logs: [{ level: "log", message: [cyclic, "after"], timestamp: 5 }] });
    expect(record?.Logs[0]?.Message).toEqual(["[object Object]", "after"]);
  });
});

describe("records as input", () => {
  it("takes Event as it is, whatever is in it", () => {
    const Event = { Request: { Headers: { a: [1, null, { b: 2.5 }] } }, Own: true };
    expect(recordOf({ Event }).Event).toEqual(Event);
  });

  it("may have exceptions that say nothing, or whose message is no text", () => {
    expect(recordOf({ Exceptions: [{}, { name: "Error", message: { a: 1 } }] }).Exceptions).toEqual([
      { name: "", message: "", TimestampMs: TAKEN },
      { name: "Error", message: '{"a":1}', TimestampMs: TAKEN },
    ]);
  });

  it("drops the stack of an exception, of items and records alike, which docs and fields say", () => {
    const stack = "Error: x\n    at fetch (index.js:1:1)";
    const dropped = [{ name: "Error", message: "x", TimestampMs: TAKEN }];
    for (const exceptions of [
      [{ name: "Error", message: "x", stack }],
      [{ Name: "Error", Message: "x", Stack: stack }],
    ]) {
      expect(recordOf({ event: null, exceptions }).Exceptions).toEqual(dropped);
      expect(recordOf({ Exceptions: exceptions }).Exceptions).toEqual(dropped);
    }
    expect(FIELD_DESCRIPTIONS.Exceptions).toContain("a stack is not shipped");
  });

  it("is recognised by any one of its keys, an item's keys being unknown to it then", () => {
    const { record, unknownKeys } = map({ Outcome: "ok", outcome: "exception", foo: 1 });
    expect(record?.Outcome).toBe("ok");
    expect(unknownKeys).toEqual(["outcome", "foo"]);
  });

  it("drops unknown keys and names them, for items and records alike", () => {
    expect(map({ event: null, cpuTimeMs: 1, region: "x" }).unknownKeys).toEqual(["cpuTimeMs", "region"]);
    expect(map({ EventTimestampMs: 1, Region: "x" }).unknownKeys).toEqual(["Region"]);
  });
});

describe("times", () => {
  const good: [what: string, sent: unknown, kept: number][] = [
    ["the first", 0, 0],
    ["the last", TIME_MAX_MS, TIME_MAX_MS],
    ["one with a fraction, rounded down", 5.4, 5],
    ["one with a fraction, rounded up", 5.5, 6],
    ["one that rounds to the last", TIME_MAX_MS + 0.25, TIME_MAX_MS],
    ["a missing one as that of the intake", undefined, TAKEN],
    ["null as that of the intake", null, TAKEN],
  ];

  it.each(good)("are kept: %s", (_what, sent, kept) => {
    expect(recordOf({ EventTimestampMs: sent }).EventTimestampMs).toBe(kept);
    expect(recordOf({ event: null, eventTimestamp: sent }).EventTimestampMs).toBe(kept);
  });

  const bad: [what: string, sent: unknown][] = [
    ["a negative one", -1],
    ["one after the year 9999", TIME_MAX_MS + 1],
    ["one in microseconds", 1_795_000_000_123_000],
    ["one in nanoseconds", 1_795_000_000_123_000_000],
    ["infinity", Number.POSITIVE_INFINITY],
    ["no number", Number.NaN],
    ["a text", "2026-11-20T12:00:00Z"],
    ["digits in a text", "1795000000123"],
    ["a boolean", true],
    ["an object", {}],
  ];

  it.each(bad)("are refused by HTTP, and become that of the intake in tail(): %s", (what, sent) => {
    const places: [input: object, pointer: string][] = [
      [{ EventTimestampMs: sent }, "/3/EventTimestampMs"],
      [{ event: null, eventTimestamp: sent }, "/3/eventTimestamp"],
      [{ Logs: [{}, { TimestampMs: sent }] }, "/3/Logs/1/TimestampMs"],
      [{ logs: [{}, { timestamp: sent }] }, "/3/logs/1/timestamp"],
      [{ Exceptions: [{ TimestampMs: sent }] }, "/3/Exceptions/0/TimestampMs"],
      [{ exceptions: [{ timestamp: sent }] }, "/3/exceptions/0/timestamp"],
    ];
    const [, unit] = /^one in (micro|nano)seconds/.exec(what) ?? [];
    const named = unit === undefined ? "" : `; this one can only be in ${unit}seconds`;
    const message = `must be a time in milliseconds since the epoch, from 0 to 253402300799999${named}`;
    for (const [input, pointer] of places)
      expect(map(input, {}, "/3")).toEqual({ record: null, faults: [{ pointer, message }], unknownKeys: [] });
    const timesOf = (record: TraceRecord | null) =>
      record && [
        record.EventTimestampMs,
        record.Logs[1]?.TimestampMs ?? TAKEN,
        record.Exceptions[0]?.TimestampMs ?? TAKEN,
      ];
    for (const [input] of places) expect(timesOf(mapLenient(input).record)).toEqual([TAKEN, TAKEN, TAKEN]);
  });

  const oddIn = (input: object): string[] => {
    const findings = { faults: [], unknownKeys: new Set<string>(), oddTimes: [] as string[] };
    const record = toRecord(input, { takenInMs: TAKEN, defaultScriptName: "x", lenient: false }, "/3", findings);
    expect([record === null, findings.faults]).toEqual([false, []]);
    return findings.oddTimes.map((sentence) =>
      sentence.replace(", not in milliseconds; it is kept as it was sent", ""),
    );
  };

  it("that can only be in another unit are named, at any place, and kept as they are", () => {
    const seconds = Math.floor(TAKEN / 1_000);
    const places: [input: (time: number) => object, pointer: string][] = [
      [(EventTimestampMs) => ({ EventTimestampMs }), "/3/EventTimestampMs"],
      [(eventTimestamp) => ({ event: null, eventTimestamp }), "/3/eventTimestamp"],
      [(TimestampMs) => ({ Logs: [{}, { TimestampMs }] }), "/3/Logs/1/TimestampMs"],
      [(timestamp) => ({ logs: [{}, { timestamp }] }), "/3/logs/1/timestamp"],
      [(TimestampMs) => ({ Exceptions: [{ TimestampMs }] }), "/3/Exceptions/0/TimestampMs"],
      [(timestamp) => ({ exceptions: [{ timestamp }] }), "/3/exceptions/0/timestamp"],
      [(ScheduledTimeMs) => ({ Event: { ScheduledTimeMs } }), "/3/Event/ScheduledTimeMs"],
      [(scheduledTime) => ({ event: { cron: "* * * * *", scheduledTime } }), "/3/event/scheduledTime"],
      [(scheduledTime) => ({ event: { scheduledTime } }), "/3/event/scheduledTime"],
    ];
    for (const [input, pointer] of places) {
      expect(oddIn(input(seconds))).toEqual([`${pointer} can only be in seconds`]);
      expect(oddIn(input(seconds + 0.25))).toEqual([`${pointer} can only be in seconds`]);
      for (const time of [TAKEN, 0, 5, Date.UTC(1970, 0, 2), Date.UTC(2000), Date.UTC(2199)])
        expect(oddIn(input(time))).toEqual([]);
      expect(JSON.stringify(recordOf(input(seconds)))).toContain(`${seconds}`);
    }
    // Of an `Event` nothing is checked.
    for (const [unit, n] of [
      ["microseconds", 1e6],
      ["nanoseconds", 1e9],
    ] as const)
      expect(oddIn({ Event: { ScheduledTimeMs: seconds * n } })).toEqual([
        `/3/Event/ScheduledTimeMs can only be in ${unit}`,
      ]);
    expect(oddIn({ Event: { ScheduledTimeMs: `${seconds}` } })).toEqual([]);
  });

  it("are of one unit at most, and milliseconds of these two centuries are of none", () => {
    fc.assert(
      fc.property(fc.integer({ min: Date.UTC(2000), max: Date.UTC(2200) - 1 }), (ms) => {
        expect(otherUnitOf(ms)).toBeNull();
        expect([ms / 1e3, ms * 1e3, ms * 1e6].map(otherUnitOf)).toEqual(["seconds", "microseconds", "nanoseconds"]);
      }),
    );
  });

  it("are named a hundred at most", () => {
    const Logs = Array.from({ length: 300 }, () => ({ TimestampMs: 1_795_000_000 }));
    expect(oddIn({ Logs })).toHaveLength(100);
  });

  // The bounds of 0…253402300799999 hold for every time.
  const badScheduled: [what: string, event: object][] = [
    ["a negative one of a cron", { cron: "* * * * *", scheduledTime: -5 }],
    ["one after the year 9999 of a cron", { cron: "* * * * *", scheduledTime: TIME_MAX_MS + 1 }],
    ["one after the year 9999 of an alarm", { scheduledTime: 1e300 }],
    ["a text that is no date of an alarm", { scheduledTime: "soon" }],
  ];

  it.each(badScheduled)("for which something was scheduled are checked as well: %s", (_what, event) => {
    expect(map({ event }, {}, "/3").faults.map(({ pointer }) => pointer)).toEqual(["/3/event/scheduledTime"]);
    expect(mapLenient({ event }).record?.Event.ScheduledTimeMs).toBe(TAKEN);
  });
});

describe("durations", () => {
  it("of a record are rounded", () => {
    expect(recordOf({ CPUTimeMs: 7.1, WallTimeMs: 7.5 })).toMatchObject({ CPUTimeMs: 7, WallTimeMs: 8 });
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "7", true, []])(
    "are refused by HTTP, and 0 in tail(), when they are %s",
    (sent) => {
      const faults = map({ cpuTime: sent, wallTime: sent }, {}, "/0").faults;
      expect(faults.map(({ pointer }) => pointer)).toEqual(["/0/cpuTime", "/0/wallTime"]);
      expect(faults[0]?.message).toBe("must be a number of milliseconds, 0 or more");
      expect(map({ CPUTimeMs: sent }, {}, "/0").faults.map(({ pointer }) => pointer)).toEqual(["/0/CPUTimeMs"]);
      expect(mapLenient({ cpuTime: sent, wallTime: sent }).record).toMatchObject({ CPUTimeMs: 0, WallTimeMs: 0 });
    },
  );
});

describe("bad events", () => {
  it.each([null, 5, "text", true, [[]], [{ event: null }]])("that are no objects are refused: %j", (input) => {
    const expected = {
      record: null,
      faults: [{ pointer: "/7", message: "an event is a JSON object" }],
      unknownKeys: [],
    };
    expect(map(input, {}, "/7")).toEqual(expected);
    expect(map(input, { lenient: true }, "/7").record).toBeNull();
  });

  it.each([{}, { foo: 1 }, { Foo: 1 }, { EVENT: {} }])("that are neither item nor record are refused: %j", (input) => {
    const message = "neither a trace item nor a record: none of its keys is known";
    expect(map(input, {}, "/7")).toEqual({ record: null, faults: [{ pointer: "/7", message }], unknownKeys: [] });
  });

  const faults: [what: string, input: object, faults: [pointer: string, message: string][]][] = [
    ["a text", { outcome: 5 }, [["/outcome", "must be a string"]]],
    ["a text of a record", { ScriptName: {} }, [["/ScriptName", "must be a string"]]],
    ["the list of a record's exceptions", { Exceptions: "none" }, [["/Exceptions", "must be an array"]]],
    ["a log's level", { Logs: [{ Level: 1 }] }, [["/Logs/0/Level", "must be a string"]]],
    ["an exception's name", { Exceptions: [{}, { Name: 5 }] }, [["/Exceptions/1/Name", "must be a string"]]],
    ["a record's tags", { ScriptTags: "a" }, [["/ScriptTags", "must be an array"]]],
    ["a record's version", { ScriptVersion: "v1" }, [["/ScriptVersion", "must be an object"]]],
    ["a record's version's tag", { ScriptVersion: { Tag: 1 } }, [["/ScriptVersion/Tag", "must be a string"]]],
    ["a record's Event", { Event: [] }, [["/Event", "must be an object"]]],
    [
      "everything at once",
      { CPUTimeMs: -1, Outcome: 1, Logs: [{ TimestampMs: "x" }], EventTimestampMs: -1 },
      [
        ["/CPUTimeMs", "must be a number of milliseconds, 0 or more"],
        ["/EventTimestampMs", "must be a time in milliseconds since the epoch, from 0 to 253402300799999"],
        ["/Logs/0/TimestampMs", "must be a time in milliseconds since the epoch, from 0 to 253402300799999"],
        ["/Outcome", "must be a string"],
      ],
    ],
  ];

  it.each(faults)(
    "name their fault and where it is, and are taken all the same in tail(): %s",
    (_what, input, expected) => {
      const mapped = map(input, {}, "/12");
      expect(mapped.record).toBeNull();
      expect(mapped.faults).toEqual(expected.map(([pointer, message]) => ({ pointer: `/12${pointer}`, message })));
      const lenient = mapLenient(input);
      expect(lenient.faults).toEqual([]);
      expect(Object.keys(lenient.record ?? {})).toEqual(FIELD_NAMES);
    },
  );

  it("leave nothing null or missing behind in tail(), however odd they are", () => {
    const odd = {
      event: 5,
      logs: [null, 5],
      exceptions: [null, "x"],
      scriptTags: [null, 5],
      scriptVersion: [],
      outcome: { a: 1 },
      scriptName: 7,
    };
    expect(mapLenient(odd).record).toEqual({
      CPUTimeMs: 0,
      DispatchNamespace: "",
      Entrypoint: "",
      Event: {},
      EventTimestampMs: TAKEN,
      EventType: "unknown",
      Exceptions: [
        { name: "", message: "", TimestampMs: TAKEN },
        { name: "", message: "", TimestampMs: TAKEN },
      ],
      Logs: [
        { Level: "", Message: [], TimestampMs: TAKEN },
        { Level: "", Message: [], TimestampMs: TAKEN },
      ],
      Outcome: '{"a":1}',
      ScriptName: "7",
      ScriptTags: ["", "5"],
      ScriptVersion: EMPTY_VERSION,
      WallTimeMs: 0,
    });
  });

  const ITEM_KEYS = ["event", "logs", "exceptions", "eventTimestamp", "cpuTime", "scriptName", "scriptTags"];
  const KEYS = [...FIELD_NAMES, ...ITEM_KEYS, "scriptVersion", "outcome"];
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(null, -1, 1e300, "x", {}, [], [null], [{}], [{ Message: null }], [{ message: {} }]),
    fc.constantFrom({ request: {} }, { cron: 1 }, { queue: null }),
  );

  it("are a record or a fault, never both, never neither, and never a throw, whatever is in them", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...KEYS), odd, { minKeys: 1 }), (input) => {
        const strict = map(input, {}, "/0");
        expect(strict.record === null).toBe(strict.faults.length > 0);
        for (const { pointer } of strict.faults) expect(pointer).toMatch(/^\/0\//);
        const lenient = mapLenient(input);
        expect(lenient.faults).toEqual([]);
        if (strict.record !== null) expect(lenient.record).toEqual(strict.record);
        const { record } = lenient;
        expect(Object.keys(record ?? {})).toEqual(FIELD_NAMES);
        // A sealed message is believed to hold no other lines.
        if (record !== null) expect(readStrictly(recordLine(record))).not.toBeNull();
        for (const value of Object.values(record ?? {})) expect(value === null || value === undefined).toBe(false);
        const times = [
          record?.EventTimestampMs,
          ...[...(record?.Logs ?? []), ...(record?.Exceptions ?? [])].map(({ TimestampMs }) => TimestampMs),
        ];
        for (const time of times)
          expect(Number.isInteger(time) && Number(time) >= 0 && Number(time) <= TIME_MAX_MS).toBe(true);
        for (const text of record?.Logs.flatMap(({ Message }) => Message) ?? []) expect(typeof text).toBe("string");
      }),
      { numRuns: 1_000 },
    );
  });
});
