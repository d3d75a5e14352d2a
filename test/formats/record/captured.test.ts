/**
 * Items and records captured from the runtime, the vendor's service and its readers, each with its
 * record here.
 */
import { describe, expect, it } from "vitest";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import columns from "../../fixtures/columns.json";
import records from "../../fixtures/records.json";
import vectors from "../../support/tail-vectors.ts";
import { map, mapLenient, recordOf } from "./samples.ts";

/** The file of 64 items. */
const CAPTURED = "captured-workerd-1.20260730.1 line ";

function itemOf(name: string) {
  const vector = vectors.find((candidate) => candidate.name === name);
  if (vector === undefined) throw new Error(`no vector ${name}`);
  return vector.item;
}

describe("the fields of a record", () => {
  it("are the columns of the vendor's own table, in its order", () => {
    expect(FIELD_NAMES).toEqual(columns.projection.filter((name) => name !== "__ingest_ts"));
  });
});

describe("trace items as the runtime gives them", () => {
  it.each(vectors)("$name becomes the record it should", ({ item, record }) => {
    const mapped = map(item);
    expect(mapped.faults).toEqual([]);
    expect(mapped.record).toEqual(record);
    expect(Object.keys(mapped.record ?? {})).toEqual(FIELD_NAMES);
  });

  it.each(vectors)("$name becomes the same record in tail(), where nothing is refused", ({ item, record }) => {
    expect(mapLenient(item).record).toEqual(record);
  });

  it("takes only a handful of them for something with unknown keys", () => {
    const named = new Set(vectors.flatMap(({ item }) => map(item).unknownKeys));
    // Added when two captured items were shortened.
    expect([...named]).toEqual(["_trimmed"]);
  });
});

// Handwritten from the items.
describe("what happened, as the record tells it", () => {
  const HUNG =
    "Error: The Workers runtime canceled this request because it detected that your Worker's code had hung and would never generate a " +
    "response. Refer to: https://developers.cloudflare.com/workers/observability/errors/";

  /** Per file: the event (request method, URL and status), outcome, number of logs, exceptions. */
  const told: Readonly<Record<string, string>> = {
    "console-PREFIXED-wrangler-dev-multi-config-source": "GET http://localhost:5401/wu-log 200 | ok | 1",
    "console-matrix-and-diagnostics-channel": "GET http://localhost:5430/logs 200 | ok | 13",
    "do-alarm-exception": 'alarm {"ScheduledTimeMs":1795162342985} | exception | 1 | Error: alarm boom',
    "do-alarm-ok": 'alarm {"ScheduledTimeMs":1795162086232} | ok | 1',
    "do-fetch-exception": "GET http://do/throw | exception | 0 | Error: do fetch boom",
    "do-rpc-ok": 'worker_rpc {"RPCMethod":"increment"} | ok | 1',
    // A method that throws: the caller gets the exception, and the trace item does not have it.
    "do-rpc-throw-no-exception": 'worker_rpc {"RPCMethod":"boom"} | ok | 0',
    "do-websocket-close": 'hibernatable_web_socket {"WebSocketEventType":"close","Code":1000,"WasClean":true} | ok | 1',
    "do-websocket-message": 'hibernatable_web_socket {"WebSocketEventType":"message"} | ok | 1',
    "do-websocket-message-throw": 'hibernatable_web_socket {"WebSocketEventType":"message"} | ok | 1 | Error: ws boom',
    // Local development calls an email handler by RPC.
    email: 'worker_rpc {"RPCMethod":"email"} | ok | 1',
    "fetch-body-stream-error": "GET http://localhost:5430/stream-err | exception | 0 | Error: stream boom",
    "fetch-client-aborted": "GET http://localhost:5430/stream-slow | ok | 1",
    "fetch-named-entrypoint": "GET http://named/ 200 | ok | 1",
    "fetch-ok-with-logs": "GET http://localhost:5313/raw/ok 200 | ok | 2",
    "fetch-server-route-error-500": "POST http://localhost:5313/api/thing 500 | ok | 1",
    "fetch-ssr-loader-error-500": "GET http://localhost:5313/boom 500 | ok | 1",
    "fetch-ssr-page": "GET http://localhost:5313/ 200 | ok | 1",
    "fetch-ssr-render-error-200": "GET http://localhost:5313/render-boom 200 | ok | 1",
    "fetch-throw-non-error": "GET http://localhost:5430/throw-obj | exception | 0 | Error: [object Object]",
    "fetch-uncaught-SWALLOWED-vite-dev": "GET http://localhost:5201/raw/throw 500 | ok | 1",
    "fetch-uncaught-SWALLOWED-wrangler-dev-source-mode": "GET http://localhost:5401/sync-throw 500 | ok | 0",
    "fetch-uncaught-exception": "GET http://localhost:5313/raw/throw | exception | 1 | TypeError: raw uncaught boom",
    "fetch-uncaught-remote-rpc-error": "GET http://localhost:5313/raw/rpc-boom | exception | 0 | RangeError: rpc boom",
    "fetch-url-and-header-redaction":
      "GET http://localhost:5430/abc/REDACTED/x?token=REDACTED.abcdefghijk 200 | ok | 0",
    "fetch-waituntil-rejection": "GET http://localhost:5313/raw/waituntil 200 | ok | 0 | RangeError: waituntil boom",
    "queue-exception": 'queue {"Queue":"jobs","BatchSize":1} | exception | 1 | Error: queue boom',
    "queue-ok": 'queue {"Queue":"jobs","BatchSize":1} | ok | 1',
    "rpc-ok": 'worker_rpc {"RPCMethod":"quote"} | ok | 1',
    "rpc-throw-cross-process-reported-hung": `worker_rpc {"RPCMethod":"boom"} | exception | 1 | ${HUNG}`,
    "rpc-throw-same-process-no-exception": 'worker_rpc {"RPCMethod":"boom"} | ok | 1',
    "scheduled-exception":
      'scheduled {"Cron":"1 1 1 1 *","ScheduledTimeMs":1795162108058} | exception | 1 | Error: scheduled boom',
    "scheduled-ok": 'scheduled {"Cron":"* * * * *","ScheduledTimeMs":1795162107246} | ok | 1',
    "truncated-logs": "GET http://localhost:5430/big?n=400&s=1000 200 | ok | 10",
    "vite-dev-noise-export-types-fetch":
      "GET http://localhost/__vite_plugin_cloudflare_get_export_types__ 200 | ok | 0",
    "vite-dev-noise-runner-object": 'worker_rpc {"RPCMethod":"executeCallback"} | ok | 0',
    "workflow-run-failed-reported-hung": `worker_rpc {"RPCMethod":"run"} | exception | 2 | ${HUNG}`,
    "workflow-run-ok": 'worker_rpc {"RPCMethod":"run"} | ok | 0',
    "workflow-run-success-but-reported-hung": `worker_rpc {"RPCMethod":"run"} | exception | 3 | ${HUNG}`,
    "docs-sample line 1":
      "GET https://example.com/some/requested/url | exception | 1 | Error: Threw a sample exception",
  };

  it.each(Object.entries(told))("%s", (name, words) => {
    const { EventType, Event, Outcome, Logs, Exceptions } = recordOf(itemOf(name));
    const event = EventType === "fetch" ? fetchWords(Event) : `${EventType} ${JSON.stringify(Event)}`;
    const exceptions = Exceptions.map((thrown) => `${thrown.name}: ${thrown.message}`);
    expect([event, Outcome, Logs.length, ...exceptions].join(" | ")).toBe(words);
  });

  it("is told of every file of which there are vectors", () => {
    const files = vectors.map(({ name }) => name).filter((name) => !name.startsWith(CAPTURED));
    expect(files.sort()).toEqual(Object.keys(told).sort());
  });

  it("is of so many kinds in the file of 64 items", () => {
    const kinds = new Map<string, number>();
    for (let line = 1; line <= 64; line++) {
      const { EventType } = recordOf(itemOf(`${CAPTURED}${line}`));
      kinds.set(EventType, (kinds.get(EventType) ?? 0) + 1);
    }
    expect(Object.fromEntries(kinds)).toEqual({
      fetch: 22,
      tail: 32,
      worker_rpc: 4,
      scheduled: 2,
      hibernatable_web_socket: 2,
      alarm: 1,
      queue: 1,
    });
  });

  function fetchWords(event: unknown): string {
    const { Request, Response } = event as { Request: { URL: string; Method: string }; Response: { Status?: number } };
    const words = [Request.Method, Request.URL, ...(Response.Status === undefined ? [] : [Response.Status])];
    return words.join(" ");
  }
});

describe("what was logged", () => {
  const calls: [name: string, messages: string[][]][] = [
    [
      "console-matrix-and-diagnostics-channel",
      [
        ...[["plain"], ["dbg"], ["inf"], ["wrn"], ["err"]],
        ['{"level":"info","msg":"structured","n":1,"nested":{"a":[1,2]}}'],
        // Arguments are kept apart, not formatted.
        ["fmt %s %d", "x", "3"],
        ["Error: logged err"],
        ["with err", "TypeError: te"],
        // For values that JSON lacks, the runtime has a text or null.
        [
          ...["null", "null", "1", "{}", "null", "0", "1970-01-01T00:00:00.000Z"],
          ...["[object Map]", "[object Set]", "0,0,0", "() => 1"],
        ],
        ["{}"],
        ['{"a":1}'],
        [],
      ],
    ],
    [
      `${CAPTURED}3`,
      [
        ["foo", "bar"],
        ["d", "1", "1.5", "0", "null", "null", "true", "null", "null", "10"],
        ['{"a":1,"b":[1,2,{"c":null}]}'],
        ['[1,"two"]'],
        ["RangeError: logged error", "tail"],
        [],
        ["{}", "()=>1", "[object Map]", "1970-01-01T00:00:00.000Z", "1,2,3"],
        ["%s is %d", "x", "5"],
        ['\u0000\u{1f600} "quoted" \\ back \n newline \u2028'],
      ],
    ],
    ["docs-sample line 1", [["string passed to console.log()", "99", '{"woo":"haa"}']]],
    [
      "workflow-run-success-but-reported-hung",
      [
        ["WF reserve", "519f8969-ea04-4bb5-8057-792829720912"],
        ["WF price"],
        ["WF done", '{"reserved":{"ok":true},"price":42}'],
      ],
    ],
  ];

  it.each(calls)("is text, argument by argument: %s", (name, messages) => {
    expect(recordOf(itemOf(name)).Logs.map(({ Message }) => Message)).toEqual(messages);
  });

  it("keeps its level and time, and says nothing of where an Error was made", () => {
    expect(recordOf(itemOf("console-matrix-and-diagnostics-channel")).Logs[8]).toEqual({
      Level: "error",
      Message: ["with err", "TypeError: te"],
      TimestampMs: 1_795_162_334_716,
    });
  });

  it("is kept whole as far as the runtime keeps it: 256 KB, and the warning that it dropped the rest", () => {
    // The captured item with texts of the original length: 239 lines of some thousand characters,
    // then the warning.
    const short = itemOf("truncated-logs");
    const lines = Array.from({ length: 239 }, (_, i) => `L${i}:${"x".repeat(1_000)}`);
    const warning = short.logs.at(-1);
    const logs = [...lines.map((line) => ({ message: [line], level: "log", timestamp: 1_795_162_341_950 })), warning];
    const record = recordOf({ ...short, logs });
    expect(record.Logs).toHaveLength(240);
    expect(record.Logs.slice(0, -1).map(({ Message }) => Message)).toEqual(lines.map((line) => [line]));
    expect(record.Logs.at(-1)?.Level).toBe("warn");
    expect(record.Logs.at(-1)?.Message[0]).toMatch(/^Log size limit exceeded: More than 256KB of data/);
    const line = recordLine(record);
    expect(line.length).toBeGreaterThan(250_000);
    expect(JSON.parse(line)).toEqual(record);
  });
});

describe("records as they were really shipped, and odd ones", () => {
  it.each(records)("$name keeps every value and gains what is missing", ({ input, record }) => {
    const mapped = map(input);
    expect(mapped).toEqual({ record, faults: [], unknownKeys: [] });
    expect(Object.keys(mapped.record ?? {})).toEqual(FIELD_NAMES);
    expect(mapLenient(input).record).toEqual(record);
  });

  it.each(records)("$name comes out as it went in, once it is whole", ({ record }) => {
    expect(recordOf(record)).toEqual(record);
  });
});
