import { gzipSync } from "node:zlib";
import { describe, it } from "vitest";
import { aboutOf, objectLines, recordsOf, type TraceRecord } from "../../tools/client/show.ts";
import { faultsOf } from "../../tools/demo/check.ts";
import { type Expected, postedEvents, sampleSchedules, sampleVisits } from "../../tools/demo/events.ts";

const SAMPLE = "http://localhost:8788";

function record(id: string, more: Partial<TraceRecord> = {}): TraceRecord {
  return {
    Entrypoint: "",
    Event: {
      Request: { Method: "GET", URL: `${SAMPLE}/orders/1?event=${id}` },
      Response: { Status: 200 },
    },
    EventTimestampMs: Date.UTC(2026, 10, 20, 9, 30, 0, 7),
    EventType: "fetch",
    Exceptions: [],
    Logs: [{ Level: "log", Message: ["hello", "{}"] }],
    Outcome: "ok",
    ScriptName: "shop",
    ...more,
  };
}

/** {@link record}, as the demo expects it. */
function expected(id: string, more: Partial<Expected> = {}): Expected {
  return {
    type: "fetch",
    id,
    about: `GET ${SAMPLE}/orders/1?event=${id} → 200`,
    outcome: "ok",
    scriptName: "shop",
    logs: [["log", "hello", "{}"]],
    exceptions: [],
    ...more,
  };
}

/** A batch that follows from a request, whose id is in the log. */
function batch(id: string, more: Partial<TraceRecord> = {}): TraceRecord {
  return record("", {
    Event: { Queue: "parcels", BatchSize: 1 },
    EventType: "queue",
    Logs: [
      { Level: "debug", Message: ["null"] },
      { Level: "log", Message: ["packed", JSON.stringify({ event: id })] },
    ],
    ...more,
  });
}

const BATCH: Partial<Expected> = {
  type: "queue",
  about: "parcels: 1 message",
  logs: [
    ["debug", "null"],
    ["log", "packed", '{"event":"a"}'],
  ],
};

describe("what the demo finds wrong", () => {
  it("is nothing when every record is there once", ({ expect }) => {
    const wanted = [expected("a"), expected("a", BATCH), expected("b")];
    expect(faultsOf(wanted, [record("b"), batch("a"), record("a")])).toEqual([]);
  });

  it("names what is missing, doubled, or was sent by nobody", ({ expect }) => {
    const wanted = [expected("a"), expected("b"), expected("a", BATCH)];
    expect(faultsOf(wanted, [record("a"), record("a")])).toEqual([
      "fetch a arrived 2 times",
      "fetch b did not arrive",
      "queue a did not arrive",
    ]);
    const strangers = [
      record("c"),
      batch("c"),
      batch("", { Logs: [] }),
      record("", { Event: {}, EventType: "unknown" }),
    ];
    expect(faultsOf([], strangers)).toEqual([
      "1 of fetch c arrived, but were not sent",
      "1 of queue c arrived, but were not sent",
      "1 of queue (no id) arrived, but were not sent",
      "1 of unknown (no id) arrived, but were not sent",
    ]);
  });

  it("is a record of another kind than it should be", ({ expect }) => {
    expect(faultsOf([expected("a", BATCH)], [batch("a", { EventType: "alarm" })])).toEqual([
      "queue a did not arrive",
      "1 of alarm a arrived, but were not sent",
    ]);
  });

  it.for<[what: string, more: Partial<TraceRecord>, fault: string]>([
    ["the outcome", { Outcome: "canceled" }, 'its outcome is "canceled", should be "ok"'],
    ["the function", { ScriptName: "x" }, 'its script name is "x", should be "shop"'],
    [
      "a log's level",
      { Logs: [{ Level: "warn", Message: ["hello", "{}"] }] },
      'its log line 1 is ["warn","hello","{}"], should be ["log","hello","{}"]',
    ],
    [
      "a log's argument",
      { Logs: [{ Level: "log", Message: ["hello"] }] },
      'its log line 1 is ["log","hello"], should be ["log","hello","{}"]',
    ],
    ["a missing log", { Logs: [] }, "its number of log lines is 0, should be 1"],
    [
      "an exception",
      { Exceptions: [{ name: "Error", message: "no" }] },
      'what it threw is ["Error: no"], should be []',
    ],
    [
      "the answer",
      { Event: { Request: { Method: "GET", URL: `${SAMPLE}/orders/1?event=a` }, Response: {} } },
      `what it is about is "GET ${SAMPLE}/orders/1?event=a", should be "GET ${SAMPLE}/orders/1?event=a → 200"`,
    ],
  ])("is %s that is not as it was sent", ([, more, fault], { expect }) => {
    expect(faultsOf([expected("a")], [record("a", more)])).toEqual([`fetch a: ${fault}`]);
  });

  it("is a log line that nobody wrote, and says which", ({ expect }) => {
    const more = [...record("a").Logs, { Level: "log", Message: ["again"] }];
    expect(faultsOf([expected("a")], [record("a", { Logs: more })])).toEqual([
      "fetch a: its number of log lines is 2, should be 1",
      'fetch a: its log line 2 is ["log","again"], should be null',
    ]);
  });
});

describe("what the demo sends", () => {
  const all = [...sampleVisits(SAMPLE), ...sampleSchedules(SAMPLE)].flatMap(({ ships }) => ships);

  it("can be told apart", ({ expect }) => {
    const names = [...all, ...postedEvents(0)].map(({ type, id }) => `${type} ${id}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it("is an event of every kind that the sample has, one that throws and one that fails after the answer", ({
    expect,
  }) => {
    expect(new Set(all.map(({ type }) => type))).toEqual(
      new Set(["fetch", "worker_rpc", "queue", "alarm", "scheduled"]),
    );
    expect(all.some(({ outcome, exceptions }) => outcome === "exception" && exceptions.length === 1)).toBe(true);
    expect(all.some(({ outcome, exceptions }) => outcome === "ok" && exceptions.length === 1)).toBe(true);
  });
});

describe("what the demo shows", () => {
  const object = (records: readonly unknown[]) => ({
    key: "demo/20261120/x.log.gz",
    bytes: gzipSync(records.map((entry) => `${JSON.stringify(entry)}\n`).join("")),
  });

  it("is the key, and of each record time, kind, outcome, URL, function, logs and exceptions", ({ expect }) => {
    const logs = ["one", "two", "three", "four"].map((text) => ({ Level: "info", Message: [text, "{}"] }));
    const shown = object([
      record("a", { Logs: logs, Exceptions: [{ name: "TypeError", message: "no" }], Outcome: "exception" }),
    ]);
    expect(objectLines(shown, recordsOf(shown))).toEqual([
      "demo/20261120/x.log.gz",
      `  1 record, ${shown.bytes.length} bytes of gzip`,
      `  09:30:00.007  fetch       exception  GET ${SAMPLE}/orders/1?event=a → 200  (shop)`,
      "                  info   one {}",
      "                  info   two {}",
      "                         … and 2 more log lines",
      "                  thrown TypeError: no",
    ]);
  });

  it.for<[type: string, about: string, Event: Record<string, unknown>]>([
    ["fetch", "POST https://a.example/", { Request: { Method: "POST", URL: "https://a.example/" }, Response: {} }],
    ["scheduled", "*/5 * * * *", { Cron: "*/5 * * * *", ScheduledTimeMs: 1 }],
    ["queue", "parcels: 1 message", { Queue: "parcels", BatchSize: 1 }],
    ["queue", "parcels: 10 messages", { Queue: "parcels", BatchSize: 10 }],
    ["alarm", "Cart", { ScheduledTimeMs: 1 }],
    ["worker_rpc", "Cart.add()", { RPCMethod: "add" }],
    ["email", '{"MailFrom":"a@x.example"}', { MailFrom: "a@x.example" }],
    ["fetch", "{}", {}],
  ])("is, of a record of the kind %s, %s", ([EventType, about, Event], { expect }) => {
    expect(aboutOf(record("", { Entrypoint: "Cart", EventType, Event }))).toBe(about);
  });

  it("lets no log text steer the terminal", ({ expect }) => {
    const nasty = object([
      record("a", { Logs: [{ Level: "log", Message: ["\u001b[2J\r\nfake line\u202e\u009b1m"] }] }),
    ]);
    const text = objectLines(nasty, recordsOf(nasty)).join("");
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).toContain("\\u{1b}[2J\\u{d}\\u{a}fake line\\u{202e}\\u{9b}1m");
  });
});
