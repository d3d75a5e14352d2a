import { gzipSync } from "node:zlib";
import { describe, it } from "vitest";
import { objectLines, recordsOf, type TraceRecord } from "../../tools/client/show.ts";
import { faultsOf, postedEvents, sampleSchedules, sampleVisits } from "../../tools/demo/events.ts";

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

describe("what the demo finds wrong", () => {
  it("is nothing when every record is there once", ({ expect }) => {
    const cron = record("", { Event: { Cron: "0 3 * * *" }, EventType: "scheduled" });
    const wanted = ["fetch a", "queue a", "fetch b", "scheduled 0 3 * * *"];
    expect(faultsOf(wanted, [record("b"), batch("a"), record("a"), cron])).toEqual([]);
  });

  it("names what is missing, doubled, of another kind, or was not sent", ({ expect }) => {
    expect(faultsOf(["fetch a", "fetch b", "queue a"], [record("a"), record("a")])).toEqual([
      "fetch a arrived 2 times",
      "fetch b did not arrive",
      "queue a did not arrive",
    ]);
    expect(faultsOf(["queue a"], [batch("a", { EventType: "alarm" }), batch("", { Logs: [] })])).toEqual([
      "queue a did not arrive",
      "1 of alarm a arrived, but were not sent",
      "1 of queue (no id) arrived, but were not sent",
    ]);
  });

  it("can tell apart all that it sends", ({ expect }) => {
    const triggers = [...sampleVisits(SAMPLE), ...sampleSchedules(SAMPLE), ...postedEvents(0)];
    const names = triggers.flatMap(({ ships }) => ships);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("what the demo shows", () => {
  const object = (records: readonly unknown[]) => ({
    key: "demo/20261120/x.log.gz",
    bytes: gzipSync(records.map((entry) => `${JSON.stringify(entry)}\n`).join("")),
  });

  it("is the key, and of each record time, outcome, event, function, and the first exception or log", ({ expect }) => {
    const Logs = ["one", "two", "three"].map((text) => ({ Level: "info", Message: [text, "{}"] }));
    const shown = object([
      record("a", { Logs }),
      record("a", { Logs, Exceptions: [{ name: "TypeError", message: "no" }], Outcome: "exception" }),
    ]);
    expect(objectLines(shown, recordsOf(shown))).toEqual([
      "demo/20261120/x.log.gz",
      `  2 records, ${shown.bytes.length} bytes of gzip`,
      "  2026-11-20 09:30:00.007  200            shop  GET /orders/1?event=a  localhost:8788",
      "                           info: one {} +2",
      "  2026-11-20 09:30:00.007  200 exception  shop  GET /orders/1?event=a  localhost:8788",
      "                           TypeError: no +3",
    ]);
  });

  it("lets no log text steer the terminal", ({ expect }) => {
    const nasty = object([
      record("a", { Logs: [{ Level: "log", Message: ["\u001b[2J\r\nfake line\u202e\u009b1m"] }] }),
    ]);
    const text = objectLines(nasty, recordsOf(nasty)).join("");
    expect(text).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(text).toContain("fake line");
  });
});
