import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import { map, mapLenient, recordOf, TAKEN } from "./samples.ts";

/*
 * Pairs of input and expected output of a trace item's fields. No pair is computed by the code
 * under test.
 */

type Pair = [given: unknown, expected: unknown];
const pair = (given: unknown, expected: unknown): Pair => [given, expected];

/** A missing value: absent (undefined is not written in JSON) or null. */
const absent = (expected: unknown): fc.Arbitrary<Pair> =>
  fc.constantFrom(undefined, null).map((given) => pair(given, expected));

const anyText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "binary", maxLength: 1 }),
    fc.constantFrom("\ud83d", "\ude00", "\u0000", "\u2028", '"'),
  ),
  maxLength: 8,
});
const textPair = fc.oneof(
  absent(""),
  anyText.map((given) => pair(given, given.toWellFormed())),
);

/** Halves are rounded up, like Math.round. */
const rounded = (value: number): number => Math.floor(value) + (value - Math.floor(value) >= 0.5 ? 1 : 0);
const amountPair = fc.oneof(
  absent(0),
  fc.maxSafeNat().map((given) => pair(given, given)),
  fc.double({ min: 0, max: 1e9, noNaN: true }).map((given) => pair(given, rounded(given))),
  fc.constant(pair(-0, 0)),
);
const timePair = fc.oneof(
  absent(TAKEN),
  fc.integer({ min: 0, max: 253_402_300_799_999 }).map((given) => pair(given, given)),
  fc.double({ min: 0, max: 253_402_300_799_998, noNaN: true }).map((given) => pair(given, rounded(given))),
  fc.constantFrom(pair(-0, 0), pair(253_402_300_799_999, 253_402_300_799_999)),
);

const tagsPair = fc.oneof(
  absent([]),
  fc.array(textPair, { maxLength: 3 }).map((all) =>
    pair(
      all.map(([given]) => given ?? null),
      all.map(([, to]) => to),
    ),
  ),
);

const argumentPair = fc.oneof(
  anyText.map((given) => pair(given, given.toWellFormed())),
  fc.constantFrom(pair(null, "null"), pair(-0, "0"), pair(1e21, "1e+21"), pair([[], {}], "[[],{}]")),
  fc
    .jsonValue({ maxDepth: 3 })
    .filter((value) => typeof value !== "string")
    .map((value) =>
      pair(
        value,
        JSON.stringify(value).isWellFormed() && !/\\ud/.test(JSON.stringify(value)) ? JSON.stringify(value) : "?",
      ),
    ),
);
/** A logged value that is not a list becomes a list of one. */
const messagePair = fc.oneof(
  absent([]),
  fc.array(argumentPair, { maxLength: 3 }).map((all) =>
    pair(
      all.map(([given]) => given),
      all.map(([, to]) => to),
    ),
  ),
  anyText.map((given) => pair(given, [given.toWellFormed()])),
  fc.nat().map((given) => pair(given, [`${given}`])),
);

const logPair = fc
  .tuple(textPair, messagePair, timePair)
  .map(([level, message, time]) =>
    pair(
      { level: level[0], message: message[0], timestamp: time[0] },
      { Level: level[1], Message: message[1], TimestampMs: time[1] },
    ),
  );
const exceptionPair = fc
  .tuple(textPair, textPair, timePair, fc.boolean())
  .map(([name, message, time, capital]) =>
    pair(
      capital
        ? { Name: name[0] ?? null, Message: message[0] ?? null, name: "not this", timestamp: time[0] }
        : { name: name[0], message: message[0], timestamp: time[0] },
      { name: name[1], message: message[1], TimestampMs: time[1] },
    ),
  );
const listOf = (entry: fc.Arbitrary<Pair>): fc.Arbitrary<Pair> =>
  fc.oneof(
    absent([]),
    fc.array(entry, { maxLength: 3 }).map((all) =>
      pair(
        all.map(([given]) => given),
        all.map(([, to]) => to),
      ),
    ),
  );

const versionPair = fc.oneof(
  absent({ ID: "", Message: "", Tag: "" }),
  fc
    .tuple(textPair, textPair, textPair)
    .map(([id, message, tag]) =>
      pair(
        { id: id[0], message: message[0], tag: tag[0], metadata: {} },
        { ID: id[1], Message: message[1], Tag: tag[1] },
      ),
    ),
);

/** An event's input with its type and `Event`, with unrelated keys added or null. */
const there = anyText.map((given) => pair(given, given.toWellFormed()));
const isoTime = fc.integer({ min: 0, max: 253_402_300_799_999 }).map((ms) => pair(new Date(ms).toISOString(), ms));
const numberTime = fc.integer({ min: 0, max: 253_402_300_799_999 }).map((ms) => pair(ms, ms));

interface Kind {
  given: unknown;
  type: string;
  event: unknown;
}
const kind: fc.Arbitrary<Kind> = fc.oneof(
  fc
    .record({
      url: textPair,
      method: textPair,
      ray: fc.oneof(
        absent(""),
        fc.constantFrom(pair("9c0ffee-AMS", "9c0ffee"), pair("9c0ffee", "9c0ffee"), pair("-", ""), pair("a-b-c", "a")),
      ),
      status: amountPair,
      answered: fc.boolean(),
    })
    .map(({ url, method, ray, status, answered }) => ({
      given: {
        request: { url: url[0], method: method[0], headers: { "cf-ray": ray[0], cookie: "secret" }, cf: {} },
        response: answered ? { status: status[0] } : null,
      },
      type: "fetch",
      event: {
        RayID: ray[1],
        Request: { URL: url[1], Method: method[1] },
        Response: answered ? { Status: status[1] } : {},
      },
    })),
  fc.tuple(there, fc.oneof(timePair, isoTime)).map(([cron, time]) => ({
    given: { cron: cron[0], scheduledTime: time[0] },
    type: "scheduled",
    event: { Cron: cron[1], ScheduledTimeMs: time[1] },
  })),
  fc.oneof(numberTime, isoTime).map((time) => ({
    given: { scheduledTime: time[0], cron: null },
    type: "alarm",
    event: { ScheduledTimeMs: time[1] },
  })),
  fc.tuple(there, amountPair).map(([queue, size]) => ({
    given: { queue: queue[0], batchSize: size[0] },
    type: "queue",
    event: { Queue: queue[1], BatchSize: size[1] },
  })),
  fc.tuple(there, textPair, amountPair).map(([from, to, size]) => ({
    given: { mailFrom: from[0], rcptTo: to[0], rawSize: size[0] },
    type: "email",
    event: { MailFrom: from[1], RcptTo: to[1], RawSize: size[1] },
  })),
  there.map((method) => ({
    given: { rpcMethod: method[0], response: null },
    type: "worker_rpc",
    event: { RPCMethod: method[1] },
  })),
  fc.tuple(textPair, fc.option(fc.nat()), fc.option(fc.boolean())).map(([type, code, clean]) => ({
    given: { getWebSocketEvent: { webSocketEventType: type[0], code, wasClean: clean } },
    type: "hibernatable_web_socket",
    event: {
      WebSocketEventType: type[1],
      ...(code !== null && { Code: code }),
      ...(clean !== null && { WasClean: clean }),
    },
  })),
  fc.array(textPair, { maxLength: 3 }).map((names) => ({
    given: { consumedEvents: names.map(([scriptName]) => ({ scriptName })) },
    type: "tail",
    event: { ConsumedEvents: names.map(([, ScriptName]) => ({ ScriptName })) },
  })),
  fc
    .constantFrom<unknown>(null, {}, { __proto__: null }, { constructor: 1 }, { cron: null, queue: null }, [], 5, "x")
    .map((given) => ({ given, type: "unknown", event: {} })),
);

const item = fc
  .record({
    cpuTime: amountPair,
    dispatchNamespace: textPair,
    entrypoint: textPair,
    kind,
    eventTimestamp: timePair,
    exceptions: listOf(exceptionPair),
    logs: listOf(logPair),
    outcome: textPair,
    scriptName: textPair,
    scriptTags: tagsPair,
    scriptVersion: versionPair,
    wallTime: amountPair,
  })
  .map(({ kind, ...pairs }) => {
    const given: { [key: string]: unknown } = { event: kind.given };
    for (const [key, [value]] of Object.entries(pairs)) if (value !== undefined) given[key] = value;
    return {
      given,
      expected: {
        CPUTimeMs: pairs.cpuTime[1],
        DispatchNamespace: pairs.dispatchNamespace[1],
        Entrypoint: pairs.entrypoint[1],
        Event: kind.event,
        EventTimestampMs: pairs.eventTimestamp[1],
        EventType: kind.type,
        Exceptions: pairs.exceptions[1],
        Logs: pairs.logs[1],
        Outcome: pairs.outcome[1],
        ScriptName: pairs.scriptName[1] || "unnamed",
        ScriptTags: pairs.scriptTags[1],
        ScriptVersion: pairs.scriptVersion[1],
        WallTimeMs: pairs.wallTime[1],
      },
    };
  });

/** Logged values with lone surrogates become other texts; another test covers which. */
const isExact = ({ expected }: { expected: unknown }): boolean => !JSON.stringify(expected).includes('"?"');

/** The value at a JSON pointer. @throws if there is none. */
function at(document: unknown, pointer: string): unknown {
  let value = document;
  for (const step of pointer.split("/").slice(1)) {
    const object = value as { [key: string]: unknown };
    if (typeof value !== "object" || value === null || !Object.hasOwn(object, step)) throw new Error(`no ${pointer}`);
    value = object[step];
  }
  return value;
}

describe("a trace item", () => {
  it("becomes the record that the contract says, whatever kind it is and whatever it lacks", () => {
    const types = new Set<string>();
    fc.assert(
      fc.property(item.filter(isExact), ({ given, expected }) => {
        const line = recordLine(recordOf(given));
        expect(JSON.parse(line)).toEqual(expected);
        expect(Object.keys(JSON.parse(line))).toEqual(FIELD_NAMES);
        expect(line.isWellFormed()).toBe(true);
        types.add(expected.EventType as string);
      }),
      { numRuns: 2_000 },
    );
    expect(types.size).toBe(9);
  });

  it("that became a record is taken as one, and changes no more", () => {
    fc.assert(
      fc.property(item, ({ given }) => {
        const line = recordLine(recordOf(given));
        const again = map(JSON.parse(line));
        expect(again.unknownKeys).toEqual([]);
        expect(recordLine(again.record ?? recordOf(null))).toBe(line);
      }),
      { numRuns: 500 },
    );
  });

  it("is the same where nothing is refused, and is not changed by being read", () => {
    fc.assert(
      fc.property(item, ({ given }) => {
        const before = JSON.stringify(given);
        expect(mapLenient(given).record).toEqual(recordOf(given));
        expect(JSON.stringify(given)).toBe(before);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a trace item with something wrong in it", () => {
  const wrong = {
    text: fc.constantFrom<unknown>(5, true, {}, ["x"]),
    number: fc.constantFrom<unknown>("1", -1, -0.5, 1e300, true, {}, [1]),
    list: fc.constantFrom<unknown>("x", {}, 1, false),
    object: fc.constantFrom<unknown>("x", [], 1, true),
  };
  const places: [pointer: string, what: keyof typeof wrong][] = [
    ["/cpuTime", "number"],
    ["/wallTime", "number"],
    ["/eventTimestamp", "number"],
    ["/dispatchNamespace", "text"],
    ["/entrypoint", "text"],
    ["/outcome", "text"],
    ["/scriptName", "text"],
    ["/scriptTags", "list"],
    ["/scriptVersion", "object"],
    ["/scriptVersion/id", "text"],
    ["/exceptions", "list"],
    ["/exceptions/0", "object"],
    ["/exceptions/0/name", "text"],
    ["/exceptions/0/timestamp", "number"],
    ["/logs", "list"],
    ["/logs/1", "object"],
    ["/logs/1/level", "text"],
    ["/logs/1/timestamp", "number"],
    ["/scriptTags/0", "text"],
    ["/event/request", "object"],
    ["/event/request/url", "text"],
    ["/event/request/method", "text"],
    ["/event/request/headers/cf-ray", "text"],
    ["/event/response", "object"],
    ["/event/response/status", "number"],
  ];
  const sound = () => ({
    cpuTime: 1,
    wallTime: 1,
    eventTimestamp: 1,
    dispatchNamespace: "",
    entrypoint: "",
    outcome: "ok",
    scriptName: "shop",
    scriptTags: ["a"],
    scriptVersion: { id: "" },
    exceptions: [{ name: "E", message: "", timestamp: 1 }],
    logs: [{}, { level: "log", message: [], timestamp: 1 }],
    event: { request: { url: "", method: "", headers: { "cf-ray": "" } }, response: { status: 200 } },
  });
  const broken = fc.uniqueArray(fc.nat({ max: places.length - 1 }), { minLength: 1, maxLength: 3 }).chain((picked) => {
    // Not one inside another, which would disappear.
    const apart = picked
      .map((i) => places[i] as (typeof places)[number])
      .filter(([pointer], _, all) => !all.some(([other]) => pointer.startsWith(`${other}/`)));
    return fc.tuple(...apart.map(([pointer, what]) => wrong[what].map((value) => ({ pointer, value }))));
  });

  it("is refused with one fault for each, whose pointer leads to it; or, where nothing may be refused, is a record", () => {
    fc.assert(
      fc.property(broken, (faults) => {
        const given = sound();
        expect(map(given).faults).toEqual([]);
        for (const { pointer, value } of faults) {
          const steps = pointer.split("/");
          const last = steps.pop() ?? "";
          (at(given, steps.join("/")) as { [key: string]: unknown })[last] = value;
        }
        const refused = map(given, {}, "/7");
        expect(refused.record).toBeNull();
        expect(refused.faults.map((fault) => fault.pointer).sort()).toEqual(
          faults.map(({ pointer }) => `/7${pointer}`).sort(),
        );
        for (const { pointer, value } of faults) expect(at(given, pointer)).toBe(value);
        const lenient = mapLenient(given).record;
        expect(Object.keys(lenient ?? {})).toEqual(FIELD_NAMES);
        expect(() => recordLine(lenient ?? recordOf(null))).not.toThrow();
      }),
      { numRuns: 1_000 },
    );
  });
});
