/** How each kind of trace item is recognised, and its record's `Event`. */
import { describe, expect, it } from "vitest";
import { EVENT_MAX_DEPTH } from "../../../src/base/limits.ts";
import { isDeeperThan } from "../../../src/formats/record/record.ts";
import { map, mapLenient, recordOf, TAKEN, traceRecord } from "./samples.ts";

describe("what an event was about", () => {
  const cases: [what: string, event: unknown, type: string, described: object][] = [
    [
      "a request and its response",
      { request: { url: "https://a.example/x?y", method: "POST", headers: {} }, response: { status: 404 } },
      "fetch",
      { RayID: "", Request: { URL: "https://a.example/x?y", Method: "POST" }, Response: { Status: 404 } },
    ],
    [
      "a request without a response (an exception, an upgrade)",
      { request: { url: "https://a.example/", method: "GET" } },
      "fetch",
      { RayID: "", Request: { URL: "https://a.example/", Method: "GET" }, Response: {} },
    ],
    [
      "a ray id, cut at its dash",
      { request: { url: "", method: "", headers: { "cf-ray": "57d55f210d7b95f3-SJC" } }, response: { status: 200 } },
      "fetch",
      { RayID: "57d55f210d7b95f3", Request: { URL: "", Method: "" }, Response: { Status: 200 } },
    ],
    [
      "a ray id without a dash",
      { request: { url: "", method: "", headers: { "cf-ray": "57d55f210d7b95f3" } } },
      "fetch",
      { RayID: "57d55f210d7b95f3", Request: { URL: "", Method: "" }, Response: {} },
    ],
    [
      "a cron",
      { cron: "*/5 * * * *", scheduledTime: 1_700_000_000_000 },
      "scheduled",
      { Cron: "*/5 * * * *", ScheduledTimeMs: 1_700_000_000_000 },
    ],
    [
      "a cron without an expression",
      { cron: "", scheduledTime: 1_700_000_000_000 },
      "scheduled",
      { Cron: "", ScheduledTimeMs: 1_700_000_000_000 },
    ],
    [
      "an alarm, its time as text",
      { scheduledTime: "2026-11-20T08:12:22.985Z" },
      "alarm",
      { ScheduledTimeMs: 1_795_162_342_985 },
    ],
    [
      "an alarm, its time as a number",
      { scheduledTime: 1_795_162_342_985 },
      "alarm",
      { ScheduledTimeMs: 1_795_162_342_985 },
    ],
    [
      "an alarm, its time as a Date",
      { scheduledTime: new Date(1_795_162_342_985) },
      "alarm",
      { ScheduledTimeMs: 1_795_162_342_985 },
    ],
    ["a queue", { queue: "jobs", batchSize: 3 }, "queue", { Queue: "jobs", BatchSize: 3 }],
    [
      "a mail",
      { mailFrom: "a@x.example", rcptTo: "b@y.example", rawSize: 69 },
      "email",
      { MailFrom: "a@x.example", RcptTo: "b@y.example", RawSize: 69 },
    ],
    [
      "a mail from nobody (a bounce)",
      { mailFrom: "", rcptTo: "b@y.example", rawSize: 69 },
      "email",
      { MailFrom: "", RcptTo: "b@y.example", RawSize: 69 },
    ],
    ["an RPC call", { rpcMethod: "quote" }, "worker_rpc", { RPCMethod: "quote" }],
    ["an RPC call without a name", { rpcMethod: "" }, "worker_rpc", { RPCMethod: "" }],
    [
      "a WebSocket message",
      { getWebSocketEvent: { webSocketEventType: "message" } },
      "hibernatable_web_socket",
      { WebSocketEventType: "message" },
    ],
    [
      "a WebSocket's end",
      { getWebSocketEvent: { webSocketEventType: "close", code: 1000, wasClean: true } },
      "hibernatable_web_socket",
      { WebSocketEventType: "close", Code: 1000, WasClean: true },
    ],
    [
      "a WebSocket's unclean end",
      { getWebSocketEvent: { webSocketEventType: "close", code: 1006, wasClean: false } },
      "hibernatable_web_socket",
      { WebSocketEventType: "close", Code: 1006, WasClean: false },
    ],
    [
      "another tail worker",
      { consumedEvents: [{ scriptName: "shop" }, { scriptName: null }] },
      "tail",
      { ConsumedEvents: [{ ScriptName: "shop" }, { ScriptName: "" }] },
    ],
    ["another tail worker that got nothing", { consumedEvents: [] }, "tail", { ConsumedEvents: [] }],
    ["nothing", null, "unknown", {}],
    ["an alarm, where a cron has null", { cron: null, scheduledTime: 5 }, "alarm", { ScheduledTimeMs: 5 }],
    [
      "a batch, where every other kind has null",
      { request: null, response: null, cron: null, scheduledTime: null, queue: "jobs", batchSize: 1, mailFrom: null },
      "queue",
      { Queue: "jobs", BatchSize: 1 },
    ],
    [
      "a socket's message, where its end has null",
      { getWebSocketEvent: { webSocketEventType: "message", code: null, wasClean: null } },
      "hibernatable_web_socket",
      { WebSocketEventType: "message" },
    ],
    ["nothing but null", { request: null, cron: null, consumedEvents: null }, "unknown", {}],
    ["an array", [{ cron: "* * * * *" }], "unknown", {}],
    ["an empty object", {}, "unknown", {}],
    ["something nobody has seen yet", { connect: { host: "x" } }, "unknown", {}],
    ["fractions", { queue: "jobs", batchSize: 2.6 }, "queue", { Queue: "jobs", BatchSize: 3 }],
  ];

  it.each(cases)("recognises %s", (_what, event, type, described) => {
    const record = recordOf({ event, eventTimestamp: 1 });
    expect(record.EventType).toBe(type);
    expect(record.Event).toEqual(described);
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
    ["a socket before a tail", { getWebSocketEvent: {}, consumedEvents: [] }, "hibernatable_web_socket"],
  ];

  it.each(orders)("recognises %s", (_what, event, type) => {
    expect(recordOf({ event }).EventType).toBe(type);
  });

  it("has empty values for what a kind's event does not say", () => {
    const bare: [event: object, described: object][] = [
      [
        { request: {}, response: {} },
        { RayID: "", Request: { URL: "", Method: "" }, Response: { Status: 0 } },
      ],
      [{ request: { headers: null } }, { RayID: "", Request: { URL: "", Method: "" }, Response: {} }],
      [{ cron: "" }, { Cron: "", ScheduledTimeMs: TAKEN }],
      [{ queue: "" }, { Queue: "", BatchSize: 0 }],
      [{ mailFrom: "" }, { MailFrom: "", RcptTo: "", RawSize: 0 }],
      [{ getWebSocketEvent: {} }, { WebSocketEventType: "" }],
      [{ consumedEvents: [{}] }, { ConsumedEvents: [{ ScriptName: "" }] }],
    ];
    for (const [event, described] of bare) expect(recordOf({ event }).Event).toEqual(described);
  });
});

describe("an event of a known kind that is odd inside", () => {
  const odd: [event: object, pointer: string, message: string, lenient: object][] = [
    [{ request: 5 }, "/request", "must be an object", { RayID: "", Request: { URL: "", Method: "" }, Response: {} }],
    [
      { request: { url: 5, method: "GET" } },
      "/request/url",
      "must be a string",
      { RayID: "", Request: { URL: "5", Method: "GET" }, Response: {} },
    ],
    [
      { request: { method: ["GET"] } },
      "/request/method",
      "must be a string",
      { RayID: "", Request: { URL: "", Method: '["GET"]' }, Response: {} },
    ],
    [
      { request: { headers: { "cf-ray": 7 } } },
      "/request/headers/cf-ray",
      "must be a string",
      { RayID: "7", Request: { URL: "", Method: "" }, Response: {} },
    ],
    [
      { request: {}, response: 200 },
      "/response",
      "must be an object",
      { RayID: "", Request: { URL: "", Method: "" }, Response: { Status: 0 } },
    ],
    [
      { request: {}, response: { status: "200" } },
      "/response/status",
      "must be a number, 0 or more",
      { RayID: "", Request: { URL: "", Method: "" }, Response: { Status: 0 } },
    ],
    [{ cron: 5, scheduledTime: 1 }, "/cron", "must be a string", { Cron: "5", ScheduledTimeMs: 1 }],
    [{ queue: {} }, "/queue", "must be a string", { Queue: "{}", BatchSize: 0 }],
    [{ queue: "q", batchSize: -1 }, "/batchSize", "must be a number, 0 or more", { Queue: "q", BatchSize: 0 }],
    [{ mailFrom: 1 }, "/mailFrom", "must be a string", { MailFrom: "1", RcptTo: "", RawSize: 0 }],
    [{ mailFrom: "a", rcptTo: true }, "/rcptTo", "must be a string", { MailFrom: "a", RcptTo: "true", RawSize: 0 }],
    [
      { mailFrom: "a", rawSize: Number.NaN },
      "/rawSize",
      "must be a number, 0 or more",
      { MailFrom: "a", RcptTo: "", RawSize: 0 },
    ],
    [{ rpcMethod: 1 }, "/rpcMethod", "must be a string", { RPCMethod: "1" }],
    [{ getWebSocketEvent: [] }, "/getWebSocketEvent", "must be an object", { WebSocketEventType: "" }],
    [
      { getWebSocketEvent: { webSocketEventType: 1 } },
      "/getWebSocketEvent/webSocketEventType",
      "must be a string",
      { WebSocketEventType: "1" },
    ],
    [
      { getWebSocketEvent: { webSocketEventType: "close", code: "1000" } },
      "/getWebSocketEvent/code",
      "must be a number, 0 or more",
      { WebSocketEventType: "close", Code: 0 },
    ],
    [
      { getWebSocketEvent: { webSocketEventType: "close", wasClean: "yes" } },
      "/getWebSocketEvent/wasClean",
      "must be a boolean",
      { WebSocketEventType: "close", WasClean: false },
    ],
    [{ consumedEvents: "shop" }, "/consumedEvents", "must be an array", { ConsumedEvents: [] }],
    [{ consumedEvents: ["shop"] }, "/consumedEvents/0", "must be an object", { ConsumedEvents: [{ ScriptName: "" }] }],
    [
      { consumedEvents: [{ scriptName: "a" }, { scriptName: 2 }] },
      "/consumedEvents/1/scriptName",
      "must be a string",
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
    for (const headers of [[], "x", 5, { host: 5, authorization: {} }]) {
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
