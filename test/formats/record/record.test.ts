import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TIME_MAX_MS } from "../../../src/base/limits.ts";
import { readStrictly } from "../../../src/formats/queue/load-records.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_DESCRIPTIONS, FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import records from "../../fixtures/records.json";
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

  const silent = {
    scriptTags: null,
    scriptVersion: null,
    dispatchNamespace: null,
    logs: null,
    cpuTime: null,
    scriptName: null,
  };

  it("is the same when it is null", () => {
    expect(recordOf({ event: null, ...silent, eventTimestamp: null, exceptions: null, outcome: null })).toEqual(
      recordOf({ event: null }),
    );
  });

  it("has the script name that is configured for it", () => {
    expect(recordOf({ event: null, scriptName: null }, { defaultScriptName: "local-lab" }).ScriptName).toBe(
      "local-lab",
    );
    expect(recordOf({ event: null, scriptName: "" }, { defaultScriptName: "local-lab" }).ScriptName).toBe("local-lab");
    expect(recordOf({ event: null, scriptName: "shop" }, { defaultScriptName: "local-lab" }).ScriptName).toBe("shop");
  });
});

describe("what a trace item says", () => {
  it("is in the record, outcome and all", () => {
    const item = {
      event: null,
      cpuTime: 3,
      wallTime: 7,
      dispatchNamespace: "customers",
      entrypoint: "Named",
      outcome: "responseStreamDisconnected",
      scriptName: "shop",
      scriptTags: ["a", "b"],
      scriptVersion: { id: "1e7519b3", message: "first", tag: "v1" },
      eventTimestamp: 1_700_000_000_000,
    };
    expect(recordOf(item)).toEqual({
      CPUTimeMs: 3,
      DispatchNamespace: "customers",
      Entrypoint: "Named",
      Event: {},
      EventTimestampMs: 1_700_000_000_000,
      EventType: "unknown",
      Exceptions: [],
      Logs: [],
      Outcome: "responseStreamDisconnected",
      ScriptName: "shop",
      ScriptTags: ["a", "b"],
      ScriptVersion: { ID: "1e7519b3", Message: "first", Tag: "v1" },
      WallTimeMs: 7,
    });
  });

  const args: [what: string, argument: unknown, text: string][] = [
    ["a text as it is", 'say "hi"\n', 'say "hi"\n'],
    ["an empty text as it is", "", ""],
    ["a number", 42, "42"],
    ["a fraction", 7.1, "7.1"],
    ["true", true, "true"],
    ["null", null, "null"],
    ["an object", { a: 1, b: ["x"] }, '{"a":1,"b":["x"]}'],
    ["an array", ["x", 2], '["x",2]'],
    ["an empty array", [], "[]"],
    ["a Date of the same process", new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ["what JSON does not have", undefined, "undefined"],
    ["a BigInt, which JSON does not have", 12345678901234567890n, "12345678901234567890"],
    ["a BigInt inside an object, by the object's type", { n: 1n }, "[object Object]"],
    ["no number", Number.NaN, "null"],
    ["minus zero", -0, "0"],
    ["a lone surrogate inside an object, mended", { a: "\ud800" }, '{"a":"\ufffd"}'],
  ];

  it.each(args)("keeps %s of a log's arguments", (_what, argument, text) => {
    const { Logs } = recordOf({ event: null, logs: [{ level: "log", message: [argument], timestamp: 5 }] });
    expect(Logs).toEqual([{ Level: "log", Message: [text], TimestampMs: 5 }]);
  });

  it("keeps a log's arguments in the order of the call", () => {
    const { Logs } = recordOf({
      event: null,
      logs: [{ level: "warn", message: ["a", 1, { b: 2 }, "c"], timestamp: 5 }],
    });
    expect(Logs[0]?.Message).toEqual(["a", "1", '{"b":2}', "c"]);
  });

  it("takes a message that is no array for its only argument, and a missing one for none", () => {
    const { Logs } = recordOf({
      logs: [{ level: "log", message: "bare" }, { level: "log" }, { level: "log", message: 3 }],
    });
    expect(Logs.map(({ Message }) => Message)).toEqual([["bare"], [], ["3"]]);
  });

  it("says of a cyclic argument what it is, and goes on", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const { record } = mapLenient({ event: null, logs: [{ level: "log", message: [cyclic, "after"], timestamp: 5 }] });
    expect(record?.Logs[0]?.Message).toEqual(["[object Object]", "after"]);
  });

  it("gives a log and an exception without a time that of the intake", () => {
    const record = recordOf({ logs: [{ level: "log", message: [] }], exceptions: [{ name: "Error", message: "m" }] });
    expect([record.Logs[0]?.TimestampMs, record.Exceptions[0]?.TimestampMs]).toEqual([TAKEN, TAKEN]);
  });

  it("drops the stack of an exception, and keeps name, message and time", () => {
    const exceptions = [{ name: "TypeError", message: "boom", timestamp: 9, stack: "    at x" }];
    expect(recordOf({ exceptions }).Exceptions).toEqual([{ name: "TypeError", message: "boom", TimestampMs: 9 }]);
  });
});

describe("records as input", () => {
  it("comes out as it went in when it is whole", () => {
    const whole = records[0]?.input;
    const again = recordOf(whole);
    expect(recordOf(again)).toEqual(again);
    expect(again).toMatchObject(whole as object);
  });

  it("takes Event as it is, whatever is in it", () => {
    const Event = { Request: { Headers: { a: [1, null, { b: 2.5 }] } }, Own: true };
    expect(recordOf({ Event }).Event).toEqual(Event);
  });

  const names: [what: string, exception: object, expected: object][] = [
    [
      "Name and Message",
      { Name: "Error", Message: "boom", TimestampMs: 3 },
      { name: "Error", message: "boom", TimestampMs: 3 },
    ],
    [
      "name and message",
      { name: "Error", message: "boom", TimestampMs: 3 },
      { name: "Error", message: "boom", TimestampMs: 3 },
    ],
    ["neither", { TimestampMs: 3 }, { name: "", message: "", TimestampMs: 3 }],
    [
      "a message that is no text",
      { name: "Error", message: { a: 1 } },
      { name: "Error", message: '{"a":1}', TimestampMs: TAKEN },
    ],
  ];

  it.each(names)("accepts exceptions with %s, and ships lower case", (_what, exception, expected) => {
    expect(recordOf({ Exceptions: [exception] }).Exceptions).toEqual([expected]);
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
    ["one in microseconds", 1_795_000_000_123_000_000],
    ["infinity", Number.POSITIVE_INFINITY],
    ["no number", Number.NaN],
    ["a text", "2026-11-20T12:00:00Z"],
    ["digits in a text", "1795000000123"],
    ["a boolean", true],
    ["an object", {}],
  ];

  it.each(bad)("are refused by HTTP, and become that of the intake in tail(): %s", (_what, sent) => {
    const places: [input: object, pointer: string][] = [
      [{ EventTimestampMs: sent }, "/3/EventTimestampMs"],
      [{ event: null, eventTimestamp: sent }, "/3/eventTimestamp"],
      [{ Logs: [{}, { TimestampMs: sent }] }, "/3/Logs/1/TimestampMs"],
      [{ logs: [{}, { timestamp: sent }] }, "/3/logs/1/timestamp"],
      [{ Exceptions: [{ TimestampMs: sent }] }, "/3/Exceptions/0/TimestampMs"],
      [{ exceptions: [{ timestamp: sent }] }, "/3/exceptions/0/timestamp"],
    ];
    const message = "must be a time in milliseconds since the epoch, from 0 to 253402300799999";
    for (const [input, pointer] of places)
      expect(map(input, {}, "/3")).toEqual({ record: null, faults: [{ pointer, message }], unknownKeys: [] });
    const lenient = places.map(([input]) => mapLenient(input).record);
    expect(lenient[0]?.EventTimestampMs).toBe(TAKEN);
    expect(lenient[1]?.EventTimestampMs).toBe(TAKEN);
    expect(lenient[2]?.Logs[1]?.TimestampMs).toBe(TAKEN);
    expect(lenient[3]?.Logs[1]?.TimestampMs).toBe(TAKEN);
    expect(lenient[4]?.Exceptions[0]?.TimestampMs).toBe(TAKEN);
    expect(lenient[5]?.Exceptions[0]?.TimestampMs).toBe(TAKEN);
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
  it("are rounded", () => {
    expect(recordOf({ cpuTime: 7.1, wallTime: 7.5, event: null })).toMatchObject({ CPUTimeMs: 7, WallTimeMs: 8 });
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
    ["the list of logs", { logs: {} }, [["/logs", "must be an array"]]],
    ["the list of a record's exceptions", { Exceptions: "none" }, [["/Exceptions", "must be an array"]]],
    ["a log", { logs: [5] }, [["/logs/0", "must be an object"]]],
    ["a log's level", { Logs: [{ Level: 1 }] }, [["/Logs/0/Level", "must be a string"]]],
    ["an exception's name", { Exceptions: [{}, { Name: 5 }] }, [["/Exceptions/1/Name", "must be a string"]]],
    ["an item's exception's name", { exceptions: [{ name: [] }] }, [["/exceptions/0/name", "must be a string"]]],
    ["a tag", { scriptTags: ["a", 2] }, [["/scriptTags/1", "must be a string"]]],
    ["a record's tags", { ScriptTags: "a" }, [["/ScriptTags", "must be an array"]]],
    ["a record's version", { ScriptVersion: "v1" }, [["/ScriptVersion", "must be an object"]]],
    ["a record's version's tag", { ScriptVersion: { Tag: 1 } }, [["/ScriptVersion/Tag", "must be a string"]]],
    ["an item's version's id", { scriptVersion: { id: 1 } }, [["/scriptVersion/id", "must be a string"]]],
    ["an item's version", { scriptVersion: "v1" }, [["/scriptVersion", "must be an object"]]],
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

  const KEYS = [
    ...FIELD_NAMES,
    "event",
    "logs",
    "exceptions",
    "eventTimestamp",
    "cpuTime",
    "scriptName",
    "scriptTags",
    "scriptVersion",
    "outcome",
  ];
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(
      null,
      -1,
      1e300,
      "x",
      {},
      [],
      [null],
      [{}],
      [{ Message: null }],
      [{ message: {} }],
      { request: {} },
      { cron: 1 },
      { queue: null },
    ),
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
