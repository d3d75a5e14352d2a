/** How each kind of trace item is recognised, and its record's `Event`. */
import { describe, expect, it } from "vitest";
import { EVENT_MAX_DEPTH } from "../../../src/base/limits.ts";
import { isDeeperThan } from "../../../src/formats/record/record.ts";
import { map, mapLenient, recordOf, traceRecord } from "./samples.ts";

describe("what an event was about", () => {
  // Each kind with what it may have and lack: record.property.test.ts.
  const cases: [what: string, event: unknown, type: string, described: object][] = [
    [
      "an alarm, its time as a Date",
      { scheduledTime: new Date(1_795_162_342_985) },
      "alarm",
      { ScheduledTimeMs: 1_795_162_342_985 },
    ],
    [
      "a batch, where every other kind has null",
      { request: null, response: null, cron: null, scheduledTime: null, queue: "jobs", batchSize: 1, mailFrom: null },
      "queue",
      { Queue: "jobs", BatchSize: 1 },
    ],
    ["nothing but null", { request: null, cron: null, consumedEvents: null }, "unknown", {}],
    ["an array", [{ cron: "* * * * *" }], "unknown", {}],
    ["an object that hibernates", { reason: "inactive" }, "onHibernate", { Reason: "inactive" }],
    ["one that does not say why", { reason: "" }, "onHibernate", { Reason: "" }],
    // As the runtime has it: an object of this class without any property.
    ["a connection", Object.create({ [Symbol.toStringTag]: "ConnectEventInfo" }), "connect", {}],
    ["another event without any property", Object.create({ [Symbol.toStringTag]: "CustomEventInfo" }), "unknown", {}],
    ["what names itself so in JSON", { constructor: { name: "ConnectEventInfo" } }, "unknown", {}],
    ["something nobody has seen yet", { connect: { host: "x" } }, "unknown", {}],
  ];

  it.each(cases)("recognises %s", (_what, event, type, described) => {
    expect(recordOf({ event, eventTimestamp: 1 })).toMatchObject({ EventType: type });
    expect(recordOf({ event, eventTimestamp: 1 }).Event).toEqual(described);
  });

  it("knows an item by its event alone, null or missing", () => {
    expect(recordOf({ event: null }).EventType).toBe("unknown");
    expect(recordOf({ outcome: "ok" }).EventType).toBe("unknown");
  });

  const orders: [what: string, event: object, type: string][] = [
    ["a request before all else", { request: {}, cron: "", scheduledTime: 1, queue: "q", rpcMethod: "" }, "fetch"],
    ["a cron before an alarm", { cron: "", scheduledTime: 1 }, "scheduled"],
    ["an alarm before a queue", { scheduledTime: 1, queue: "q" }, "alarm"],
    ["a queue before a mail", { queue: "q", mailFrom: "" }, "queue"],
    ["a mail before an RPC call", { mailFrom: "", rpcMethod: "email" }, "email"],
    ["an RPC call before a socket", { rpcMethod: "", getWebSocketEvent: {} }, "worker_rpc"],
    ["a tail before a hibernation", { consumedEvents: [], reason: "inactive" }, "tail"],
    ["a socket before a tail", { getWebSocketEvent: {}, consumedEvents: [] }, "hibernatable_web_socket"],
  ];

  it.each(orders)("recognises %s", (_what, event, type) => {
    expect(recordOf({ event }).EventType).toBe(type);
  });
});

describe("an event of a known kind that is odd inside", () => {
  const TEXT = "must be a string";
  const AMOUNT = "must be a number, 0 or more";
  const OBJECT = "must be an object";
  const fetched = (fields: object) => ({ RayID: "", Request: { URL: "", Method: "" }, Response: {}, ...fields });
  const socket = (type: string, more: object = {}) => ({ WebSocketEventType: type, ...more });
  const odd: [event: object, pointer: string, message: string, lenient: object][] = [
    [{ request: 5 }, "/request", OBJECT, fetched({})],
    [{ request: { url: 5 } }, "/request/url", TEXT, fetched({ Request: { URL: "5", Method: "" } })],
    [{ request: { method: [1] } }, "/request/method", TEXT, fetched({ Request: { URL: "", Method: "[1]" } })],
    [{ request: { headers: { "cf-ray": 7 } } }, "/request/headers/cf-ray", TEXT, fetched({ RayID: "7" })],
    [{ request: {}, response: 200 }, "/response", OBJECT, fetched({ Response: { Status: 0 } })],
    [{ request: {}, response: { status: "200" } }, "/response/status", AMOUNT, fetched({ Response: { Status: 0 } })],
    [{ cron: 5, scheduledTime: 1 }, "/cron", TEXT, { Cron: "5", ScheduledTimeMs: 1 }],
    [{ queue: {} }, "/queue", TEXT, { Queue: "{}", BatchSize: 0 }],
    [{ queue: "q", batchSize: -1 }, "/batchSize", AMOUNT, { Queue: "q", BatchSize: 0 }],
    [{ mailFrom: 1 }, "/mailFrom", TEXT, { MailFrom: "1", RcptTo: "", RawSize: 0 }],
    [{ mailFrom: "a", rcptTo: true }, "/rcptTo", TEXT, { MailFrom: "a", RcptTo: "true", RawSize: 0 }],
    [{ mailFrom: "a", rawSize: Number.NaN }, "/rawSize", AMOUNT, { MailFrom: "a", RcptTo: "", RawSize: 0 }],
    [{ rpcMethod: 1 }, "/rpcMethod", TEXT, { RPCMethod: "1" }],
    [{ getWebSocketEvent: [] }, "/getWebSocketEvent", OBJECT, socket("")],
    [{ getWebSocketEvent: { webSocketEventType: 1 } }, "/getWebSocketEvent/webSocketEventType", TEXT, socket("1")],
    [
      { getWebSocketEvent: { webSocketEventType: "close", code: "1000" } },
      "/getWebSocketEvent/code",
      AMOUNT,
      socket("close", { Code: 0 }),
    ],
    [
      { getWebSocketEvent: { webSocketEventType: "close", wasClean: "yes" } },
      "/getWebSocketEvent/wasClean",
      "must be a boolean",
      socket("close", { WasClean: false }),
    ],
    [{ reason: 7 }, "/reason", TEXT, { Reason: "7" }],
    [{ consumedEvents: "shop" }, "/consumedEvents", "must be an array", { ConsumedEvents: [] }],
    [{ consumedEvents: ["shop"] }, "/consumedEvents/0", OBJECT, { ConsumedEvents: [{ ScriptName: "" }] }],
    [
      { consumedEvents: [{ scriptName: "a" }, { scriptName: 2 }] },
      "/consumedEvents/1/scriptName",
      TEXT,
      { ConsumedEvents: [{ ScriptName: "a" }, { ScriptName: "2" }] },
    ],
  ];

  it.each(odd)("is refused by HTTP, at its place, and taken in tail(): %j", (event, pointer, message, lenient) => {
    expect(map({ event }, {}, "/4").faults).toEqual([{ pointer: `/4/event${pointer}`, message }]);
    const taken = mapLenient({ event });
    expect(taken.faults).toEqual([]);
    expect(taken.record?.Event).toEqual(lenient);
  });

  it("may have any headers: only the ray is read", () => {
    for (const headers of [null, [], "x", 5, { host: 5, authorization: {} }]) {
      expect(recordOf({ event: { request: { headers } } }).Event.RayID).toBe("");
    }
  });
});

describe("an event that is nested", () => {
  /** An event of so many levels, itself the first. */
  const nested = (levels: number): object => {
    let inner: object = {};
    for (let level = 2; level < levels; level++) inner = level % 2 === 0 ? { inner } : [inner];
    return { inner };
  };

  it("is taken with as many levels as are allowed, and refused with one more", () => {
    expect(map(traceRecord({ Event: { inner: nested(EVENT_MAX_DEPTH - 1) } })).faults).toEqual([]);
    expect(map(traceRecord({ Event: { inner: nested(EVENT_MAX_DEPTH) } })).faults).toEqual([
      { pointer: "/Event", message: `nested too deeply: at most ${EVENT_MAX_DEPTH} levels` },
    ]);
  });

  it("is counted level by level, iteratively: neither width nor depth matters to the other", () => {
    expect(isDeeperThan(Object.fromEntries(Array.from({ length: 200 }, (_, i) => [i, {}])), 2)).toBe(false);
    expect(isDeeperThan([{}, [[]], null], 2)).toBe(true);
    expect(isDeeperThan(nested(100_000), EVENT_MAX_DEPTH)).toBe(true);
    expect(isDeeperThan({}, 1)).toBe(false);
  });
});
