/** Records as rows, whatever they hold. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RecordRow, Records, recordOfLine } from "../../../src/web/dashboard/parts/record.tsx";
import { summaryOf, wholeOf } from "../../../src/web/dashboard/parts/record-summary.ts";
import { IMAGE, OBEYED, SCRIPT, STEERING } from "./hostile.ts";
import { textOf } from "./support.ts";

const HOSTILE = `${SCRIPT}${IMAGE}${STEERING}`;

const shown = async (record: unknown): Promise<string> => `${await RecordRow({ record })?.toString()}`;

describe("the row of a record", () => {
  it.each<[string, object, string]>([
    [
      "fetch",
      { EventType: "fetch", Event: { Request: { Method: "GET", URL: "https://a/b" }, Response: { Status: 503 } } },
      "GET https://a/b 503",
    ],
    [
      "fetch without a response",
      { EventType: "fetch", Event: { Request: { Method: "GET", URL: "https://a/" }, Response: {} } },
      "GET https://a/",
    ],
    ["scheduled", { EventType: "scheduled", Event: { Cron: "*/5 * * * *" } }, "cron */5 * * * *"],
    ["alarm", { EventType: "alarm", Event: { ScheduledTimeMs: 1 } }, "alarm"],
    ["queue", { EventType: "queue", Event: { Queue: "orders", BatchSize: 3 } }, "queue orders (3)"],
    ["email", { EventType: "email", Event: { MailFrom: "a@b.c" } }, "email from a@b.c"],
    ["worker_rpc", { EventType: "worker_rpc", Event: { RPCMethod: "ship" } }, "rpc ship"],
    [
      "hibernatable_web_socket",
      { EventType: "hibernatable_web_socket", Event: { WebSocketEventType: "close" } },
      "websocket close",
    ],
    ["tail", { EventType: "tail", Event: {} }, "tail"],
    ["unknown", { EventType: "unknown", Event: {} }, "unknown"],
  ])("of %s says what called it", (_name, record, event) => {
    expect(summaryOf(record).event).toBe(event);
  });

  it("has the first exception, or else the first log, and counts the rest", () => {
    const logs = [
      { Level: "warn", Message: ["slow", "3 s"] },
      { Level: "log", Message: ["x"] },
    ];
    expect(
      summaryOf({ Outcome: "exception", Exceptions: [{ name: "TypeError", message: "no" }], Logs: logs }),
    ).toMatchObject({
      kind: "bad",
      line: "TypeError: no",
      lineKind: "bad",
      more: 2,
    });
    expect(summaryOf({ Outcome: "ok", Logs: logs })).toMatchObject({
      kind: "ok",
      line: "warn: slow 3 s",
      lineKind: "warn",
      more: 1,
    });
    const row = { RowType: "log", Level: "warn", Message: "a b", Fields: {}, ExceptionName: "" };
    expect(summaryOf(row)).toMatchObject({ line: "warn: a b", lineKind: "warn", more: 0 });
    expect(summaryOf({ ...row, Message: "", Fields: { a: 1 } }).line).toBe('warn: {"a":1}');
    expect(summaryOf({ ...row, Message: "" }).line).toBe("warn:");
    const thrown = { ...row, RowType: "exception", ExceptionName: "E", Level: "error" };
    expect(summaryOf(thrown)).toMatchObject({ line: "E: a b", lineKind: "bad", more: 0 });
    expect(summaryOf({ Outcome: "canceled" })).toMatchObject({ kind: "warn", line: "", more: 0 });
  });

  it("opens to the stacks of what was thrown and of errors that were logged, which do nothing", async () => {
    const html = await shown({
      Exceptions: [{ name: "PaymentError", message: HOSTILE }],
      ExceptionStacks: [`    at charge (index.js:6:9)\n    at ${HOSTILE}`],
      LogErrors: [{ Log: 0, Argument: 1, name: "Error", message: "timeout", stack: `    at ${HOSTILE}` }],
    });
    const thrown = html.match(/<ul class="thrown">.*?<\/ul>/gs) ?? [];
    expect(thrown.map((each) => each.match(/<pre>/g)?.length)).toEqual([1, 1]);
    // Its lines stay lines.
    expect(thrown[0]).toContain("at charge (index.js:6:9)\n    at &lt;script&gt;");
    expect(textOf(thrown[1] ?? "")).toContain("logged Error: timeout");
    expect(html).not.toMatch(OBEYED);
    expect(await shown({ Exceptions: [], LogErrors: [] })).not.toContain("thrown");
  });

  it("is there for anything at all, and never markup", async () => {
    const fields = [
      "EventTimestampMs",
      "Outcome",
      "ScriptName",
      "EventType",
      "Event",
      "Exceptions",
      "Logs",
      "__proto__",
    ];
    const odd = fc.oneof(fc.anything(), fc.dictionary(fc.constantFrom(...fields), fc.jsonValue()));
    const property = fc.asyncProperty(odd, async (record) => {
      const html = await shown(typeof record === "bigint" || typeof record === "symbol" ? String(record) : record);
      expect(html).toMatch(/^<details class="record"><summary>[\s\S]*<\/details>$/);
    });
    await fc.assert(property, { numRuns: 200 });
    const html = await shown({
      Outcome: "<script>alert(1)</script>",
      ScriptName: '"><img src=x>',
      Logs: [{ Message: ["\u001b[31m\u202e"] }],
    });
    for (const raw of ["<script", "<img", "\u001b", "\u202e"]) expect(html).not.toContain(raw);
    expect(html).toContain("␛[31m&lt;U+202E&gt;");
  });

  it("shows all of it, however deep or long, within bounds", async () => {
    expect(wholeOf({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}');
    let nested: unknown = 0;
    for (let i = 0; i < 1_000; i++) nested = [nested];
    expect(wholeOf(nested)).toBe(JSON.stringify(nested));
    expect(wholeOf(Array(60_000).fill(0))).toHaveLength(120_001);
    let deep: unknown = 0;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(wholeOf(deep)).toContain("nested too deeply");
    const long = await shown({ Outcome: "x".repeat(100_000) });
    expect(long.length).toBeLessThan(30_000);
    expect(textOf(long)).toContain("more characters");
  });

  it("of a line that is no JSON shows the line", async () => {
    expect(recordOfLine('{"a":1}')).toEqual({ a: 1 });
    for (const line of ['"shop","ok"', "12", "null", "{", ""]) expect(recordOfLine(line)).toBe(line);
    expect(textOf(await shown('"shop","ok"'))).toContain('"shop","ok"');
    const list = `${await Records({ label: "Records", records: [{ record: "a,b", number: 3, truncated: true }] })?.toString()}`;
    expect(textOf(list)).toContain("(truncated)");
  });
});
