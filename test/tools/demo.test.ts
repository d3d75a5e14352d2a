import { gzipSync } from "node:zlib";
import { describe, it } from "vitest";
import { type Expected, faultsOf, postedEvents, sampleRequests } from "../../demo/events.ts";
import { objectLines, recordsOf, type TraceRecord } from "../../demo/show.ts";

function record(id: string, more: Partial<TraceRecord> = {}): TraceRecord {
  return {
    Event: { Request: { Method: "GET", URL: `http://localhost:8788/orders/1?event=${id}` } },
    EventTimestampMs: Date.UTC(2026, 10, 20, 9, 30, 0, 7),
    EventType: "fetch",
    Exceptions: [],
    Logs: [{ Level: "log", Message: ["hello"] }],
    Outcome: "ok",
    ScriptName: "shop",
    ...more,
  };
}

const EXPECTED: Expected[] = [
  { id: "a", outcome: "ok", scriptName: "shop", logs: 1 },
  { id: "b", outcome: "ok", scriptName: "shop", logs: 1 },
];

describe("what the demo finds wrong", () => {
  it("is nothing when every event is there once", ({ expect }) => {
    expect(faultsOf(EXPECTED, [record("b"), record("a")])).toEqual([]);
  });

  it("names what is missing, doubled, changed, or was sent by nobody", ({ expect }) => {
    expect(faultsOf(EXPECTED, [record("a"), record("a")])).toEqual(["a arrived 2 times", "b did not arrive"]);
    expect(faultsOf(EXPECTED, [record("a"), record("b", { Outcome: "canceled", Logs: [] })])).toEqual([
      "b: its outcome is canceled, should be ok",
      "b: its number of log lines is 0, should be 1",
    ]);
    const strangers = [record("c"), record("", { Event: {}, EventType: "queue" })];
    expect(faultsOf([], strangers)).toEqual([
      "1 of c arrived, and nobody sent them",
      "1 of no id arrived, and nobody sent them",
    ]);
  });

  it("tells every event of the demo from every other", ({ expect }) => {
    const ids = [...sampleRequests(), ...postedEvents(0)].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("what the demo shows", () => {
  const object = (records: readonly unknown[]) => ({
    key: "demo/20261120/x.log.gz",
    bytes: gzipSync(records.map((entry) => `${JSON.stringify(entry)}\n`).join("")),
  });

  it("is the key, and of each record time, outcome, URL, function, logs and exceptions", ({ expect }) => {
    const logs = ["one", "two", "three", "four"].map((text) => ({ Level: "info", Message: [text, "{}"] }));
    const shown = object([
      record("a", { Logs: logs, Exceptions: [{ name: "TypeError", message: "no" }], Outcome: "exception" }),
    ]);
    expect(objectLines(shown, recordsOf(shown))).toEqual([
      "demo/20261120/x.log.gz",
      `  1 record, ${shown.bytes.length} bytes of gzip`,
      "  09:30:00.007  exception  GET http://localhost:8788/orders/1?event=a  (shop)",
      "                  info   one {}",
      "                  info   two {}",
      "                         … and 2 more log lines",
      "                  thrown TypeError: no",
    ]);
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
