/** Records as rows, whatever they hold. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordPath } from "../../../src/operate/alerts/link.ts";
import { RecordRow, Records, recordOfLine } from "../../../src/web/dashboard/parts/record.tsx";
import { RecordDetails } from "../../../src/web/dashboard/parts/record-details.tsx";
import { inItsTime } from "../../../src/web/dashboard/parts/record-links.ts";
import { summaryOf, wholeOf } from "../../../src/web/dashboard/parts/record-summary.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { IMAGE, OBEYED, SCRIPT, STEERING } from "./hostile.ts";
import { textOf } from "./support.ts";

const HOSTILE = `${SCRIPT}${IMAGE}${STEERING}`;

const shown = async (record: unknown): Promise<string> => `${await RecordRow({ id: "r", record })?.toString()}`;

describe("the row of a record", () => {
  it.each<[string, object, string]>([
    [
      "fetch",
      { EventType: "fetch", Event: { Request: { Method: "GET", URL: "https://a/b" }, Response: { Status: 503 } } },
      "GET /b",
    ],
    [
      "fetch without a response",
      { EventType: "fetch", Event: { Request: { Method: "GET", URL: "https://a/" }, Response: {} } },
      "GET /",
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

  it("has the status first, then method and path, and the host last", async () => {
    const Event = { Request: { Method: "POST", URL: "https://u@shop.example:8/checkout?step=<pay>" }, Response: {} };
    const of = (fields: object) => summaryOf({ Event, ...fields });
    expect(of({ Outcome: "ok" })).toMatchObject({ state: "ok", kind: "ok", host: "u@shop.example:8" });
    for (const [status, outcome, state, kind] of [
      [200, "ok", "200", "ok"],
      [404, "ok", "404", "warn"],
      [503, "ok", "503", "bad"],
      [200, "canceled", "200 canceled", "warn"],
      [500, "exception", "500 exception", "bad"],
    ] as const)
      expect(of({ Outcome: outcome, Event: { ...Event, Response: { Status: status } } })).toMatchObject({
        state,
        kind,
      });
    const record = { EventTimestampMs: 0, Event, Outcome: "ok", ScriptName: "shop", WallTimeMs: 1_250 };
    const [row = ""] = /<summary>.*?<\/summary>/s.exec(await shown(record)) ?? [];
    expect(textOf(row).trim()).toBe("01-01 00:00:00.000 ● ok POST /checkout?step=<pay> u@shop.example:8 1.25 s shop");
    expect(summaryOf({ Event: { Request: { Method: "GET", URL: "/a" } } })).toMatchObject({
      event: "GET /a",
      host: "",
    });
  });

  it("has the first exception, or else the first of the worst logs, and counts the rest", async () => {
    const late = [
      { Level: "log", Message: ["begun"] },
      { Level: "warn", Message: ["w"] },
      { Level: "error", Message: ["no"] },
    ];
    expect(summaryOf({ Outcome: "ok", Logs: late })).toMatchObject({ kind: "ok", line: "error: no", lineKind: "bad" });
    expect(await shown({ Outcome: "ok", Logs: late })).toContain('class="record-row record-bad"');
    expect(await shown({ Outcome: "ok", Logs: late.slice(0, 2) })).toContain('class="record-row record-warn"');
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

  it("opens to what it is about, in words a person reads: no raw milliseconds", async () => {
    const html = await shown({
      ...{ EventTimestampMs: 4_099_809_600_123, WallTimeMs: 1_250, CPUTimeMs: 7, ScriptName: "shop", Outcome: "ok" },
      ScriptVersion: { ID: "v1-id", Tag: "v42", Message: "" },
      Event: { RayID: "8f14", Request: { Method: "GET", URL: "https://a/b" }, Response: {}, ScheduledTimeMs: 1_000 },
      RequestCF: { colo: "FRA", asn: 7 },
      Exceptions: [{ name: "E", message: "m", TimestampMs: 4_099_809_600_135 }],
      Logs: [{ Level: "log", Message: ["a"], TimestampMs: 4_099_809_601_623 }],
    });
    const [facts = ""] = /<dl class="facts">.*?<\/dl>/s.exec(html) ?? [];
    expect(textOf(facts)).toMatch(
      /Time 2099-12-01 12:00:00\.123 UTC .*Duration 1\.25 s .*CPU 7 ms .*Worker shop .*Version v42 .*Colo FRA .*Ray 8f14/,
    );
    for (const words of ["+12 ms", "+1.5 s", "1970-01-01 00:00:01.000 UTC"]) expect(textOf(html)).toContain(words);
    const [, body = ""] = html.split("</summary>");
    expect(textOf(body.slice(0, body.indexOf("<code id=")))).not.toMatch(/(?<![\w.])\d{9,}/);
    // What else there is stands in groups.
    expect([...html.matchAll(/<caption>(\w+)/g)].map(([, group]) => group)).toEqual([
      ...["Request", "Cloudflare", "Record"],
    ]);
  });

  it("leads from each value to records with it and without, and to itself", async () => {
    const record = { EventTimestampMs: NOON, ScriptName: 'a"<b>', Outcome: "ok", Event: { RayID: "8f" } };
    const all = { ...record, Logs: [{ Level: "log", Message: ['{"customer":{"id":4711}}'] }] };
    const html = `${RecordDetails({ id: "r", record: all, links: inItsTime(all) })}`;
    const hrefs = [...html.matchAll(/href="([^"]*)"/g)].map(
      ([, href = ""]) => new URL(href.replaceAll("&amp;", "&").replaceAll("&quot;", '"'), "https://x.example"),
    );
    expect(hrefs.every(({ pathname }) => pathname === "/search")).toBe(true);
    const filters = hrefs.map(({ searchParams }) => searchParams.get("filter"));
    expect(filters).toContain('{"where":{"key":"ScriptName","operator":"!eq","value":"a\\"<b>"}}');
    const queries = hrefs.map(({ searchParams }) => searchParams.get("q"));
    for (const query of ["Fields.customer.id:4711", "-Fields.customer.id:4711"]) expect(queries).toContain(query);
    const [link] = [...html.matchAll(/<a id="r-link" class="record-link" href="([^"]*)"/g)].map(([, href]) => href);
    expect(link?.replaceAll("&amp;", "&")).toBe(recordPath({ script: 'a"<b>', atMs: NOON, rayId: "8f" }));
  });

  it("shows logged objects as trees that fold, within bounds", async () => {
    const of = (value: unknown) => shown({ Logs: [{ Level: "log", Message: [JSON.stringify(value)] }] });
    const small = await of({ order: { lines: [{ sku: SCRIPT }], total: 2 } });
    expect(textOf(small)).toMatch(/order: .*lines: .*sku: .*<script>alert\(1\)<\/script> .*total: .*2/);
    expect(small).not.toMatch(OBEYED);
    const wide = await of(Array(5_000).fill({ a: 1 }));
    expect(wide.match(/<li>/g)?.length).toBeLessThan(210);
    expect(textOf(wide)).toMatch(/… and 4,9\d\d more in the JSON/);
    // Too long to be parsed, or no JSON.
    for (const text of ["[1", `["${"x".repeat(70_000)}"]`])
      expect(await shown({ Logs: [{ Level: "log", Message: [text] }] })).not.toContain('class="tree"');
  });

  it("gives copies without a script: all of it as JSON, and a command that has no secret", async () => {
    const record = {
      Event: { Request: { Method: "POST", URL: `https://a.example/?token=REDACTED&q='${HOSTILE}` } },
      RequestHeaders: { authorization: "REDACTED", cookie: "c=1" },
    };
    const html = await shown(record);
    const [json = "", curl = ""] = ["r-json", "r-curl"].map((id) => {
      const [, text = ""] =
        new RegExp(`<details><summary>\\w+</summary><pre><code id="${id}">(.*?)</code>`, "s").exec(html) ?? [];
      return textOf(text);
    });
    expect(JSON.parse(json)).toEqual(record);
    expect(curl).toMatch(/^curl --globoff -X POST 'https:\/\/a\.example\/\?token=REDACTED&q=%27[!-~]*'$/);
    expect(curl).not.toMatch(/-H|authorization|cookie/);
    expect(html.match(/<button [^>]*data-copy="r-\w+"[^>]*hidden/g)).toHaveLength(2);
    expect(html).not.toMatch(OBEYED);
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
      expect(html).toMatch(/^<details class="record" name="record"><summary>[\s\S]*<\/details>$/);
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
    expect(await shown({ Event: { a: deep }, Logs: [{ Message: [deep] }] })).toContain("nested too deeply");
    const long = await shown({ Outcome: "x".repeat(1_000_000) });
    expect(long.length).toBeLessThan(220_000);
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
