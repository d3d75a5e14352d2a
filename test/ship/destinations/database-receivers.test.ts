/** The traps of Loki, OTLP, ClickHouse and Axiom. What holds of all: receivers.test.ts. */
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { OpenDestination, WriteOutcome } from "../../../src/ship/destinations/destination.ts";
import { openDestination } from "../../../src/ship/destinations/kinds.ts";
import { maskDestination, parseDestination } from "../../../src/ship/destinations/parse.ts";
import { PRODUCTION, refusal } from "./context.ts";
import { fixed } from "./objects.ts";
import { asked, POISON, RECEIVERS, type ReceiverFixture, type ReceiverService, TABLE } from "./receivers.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Fetch = ReceiverService["fetch"];
type Fields = Record<string, unknown>;

const fixture = (name: string): ReceiverFixture => RECEIVERS[name] as ReceiverFixture;
const confOf = (name: string): string => fixture(name).conf;

function record(mark: string, fields: Fields = {}): Fields {
  const at = { EventTimestampMs: NOW - 1_000, EventType: "fetch", Outcome: "ok", ScriptName: "shop" };
  return { ...at, Logs: [{ Level: "info", Message: [mark], TimestampMs: NOW - 1_000 }], ...fields };
}

const records = (count: number): Fields[] => Array.from({ length: count }, (_, i) => record(`mark-${i}`));

function open(
  conf: string,
  fetch: Fetch,
  now = () => NOW,
): { to: OpenDestination; sent: { url: URL; text: string }[] } {
  const parsed = parseDestination(conf, PRODUCTION);
  if (!parsed.ok) throw new Error(parsed.why);
  const sent: { url: URL; text: string }[] = [];
  const noted: Fetch = async (url, init) => {
    const { url: at, text } = await asked(url, init);
    sent.push({ url: at, text });
    return fetch(url, init);
  };
  return { to: openDestination(parsed.value, { now, sleep: async () => {}, fetch: noted }), sent };
}

function write(to: OpenDestination, of: readonly Fields[], doubtful = false): Promise<WriteOutcome> {
  const raw = of.map((fields) => `${JSON.stringify(fields)}\n`).join("");
  const body = new Uint8Array(gzipSync(raw));
  const object = fixed(body, { key: "a_b_0a1b2c3d.log.gz", records: of.length, rawBytes: raw.length });
  return to.write(object, () => body, { doubtful, leaveOut: 0 });
}

/** What a write comes to where every request is answered alike. */
async function answered(name: string, answer: () => Response, count = 3): Promise<WriteOutcome> {
  return write(open(confOf(name), async () => answer()).to, records(count));
}

async function bodyOf(name: string, fields: Fields): Promise<string> {
  const { to, sent } = open(confOf(name), async () => new Response(null, { status: 204 }));
  await write(to, [fields]);
  return sent[0]?.text as string;
}

describe("loki", () => {
  const conf = confOf("loki");

  it.each([260, 200, 202])("calls HTTP %i no success that says that ingestion is blocked", async (status) => {
    const outcome = await answered("loki", () => new Response("ingestion blocked for user 'x'", { status }));
    expect(outcome).toMatchObject({
      kind: "failed",
      mayBeThere: true,
      error: { kind: "misconfigured", words: `HTTP ${status} blocked_ingestion` },
    });
  });

  it("takes 200 with nothing for a success, as of another server with its API, and nothing else", async () => {
    expect(await answered("loki", () => new Response(""))).toMatchObject({ kind: "delivered" });
    expect(await open(conf, async () => new Response("")).to.probe()).toBeNull();
    for (const text of ["ok", "{}", '{"status":"error"}'])
      expect(await answered("loki", () => new Response(text))).toMatchObject({ kind: "failed", mayBeThere: true });
  });

  it("has what it refused while it took some of it sent as halves, without a doubt: repeats are merged", async () => {
    const held = fixture("loki").service();
    const { to } = open(conf, held.fetch);
    const of = records(20);
    of[7] = record(`mark-7-${POISON}`);
    expect(await write(to, of)).toMatchObject({
      ...{ kind: "divide", records: 10, why: "HTTP 400 too_far_behind", mayBeThere: false },
    });
    expect(held.taken()).toHaveLength(19);
    const alone = await write(to, of.slice(7, 8));
    expect(alone).toMatchObject({ kind: "failed", error: { kind: "refused", words: "HTTP 400 too_far_behind" } });
  });

  it.each([
    ["ingestion rate limit exceeded for user x", false],
    ["Per stream rate limit exceeded (limit: 3MB/sec)", true],
    ["", true],
  ])("tries again after HTTP 429 %o; some of it may be there: %s", async (text, mayBeThere) => {
    const outcome = await answered(
      "loki",
      () => new Response(text, { status: 429, headers: { "retry-after": "3600" } }),
    );
    expect(outcome).toMatchObject({ kind: "failed", mayBeThere, error: { kind: "busy", retryAfterS: 3_600 } });
  });

  it.each([
    ["", 169 * HOUR, "older than the 168 hours that Loki takes"],
    ["", 167 * HOUR, null],
    ["&max-age-hours=24", 25 * HOUR, "older than the 24 hours that Loki takes"],
    ["&max-age-hours=0", 24_000 * HOUR, null],
    ["", -11 * MINUTE, "further ahead than the 10 minutes that Loki takes"],
    ["", -9 * MINUTE, null],
  ])("sets aside, before it is sent, what is out of its time: %o, %i ms ago", async (more, agoMs, words) => {
    const { to, sent } = open(conf + more, async () => new Response(null, { status: 204 }));
    const outcome = await write(to, [record("mark-0"), record("mark-1", { EventTimestampMs: NOW - agoMs })]);
    if (words === null) expect(outcome.kind).toBe("delivered");
    else
      expect([outcome, sent]).toEqual([expect.objectContaining({ refused: [{ record: 1, words }], again: [0] }), []]);
  });

  it("has few labels, and none that an event makes up", async () => {
    const streams = async (fields: Fields) => JSON.parse(await bodyOf("loki", record("mark-0", fields))).streams;
    const given = { env: "prod", team: "a" };
    expect(await streams({ Outcome: "exception" })).toEqual([
      {
        stream: { ...given, service_name: "shop", outcome: "exception" },
        values: [[`${NOW - 1_000}000000`, expect.stringMatching(/^\{"logship_id":"a_b_0a1b2c3d-0","Event/)]],
      },
    ]);
    expect(await streams({ Outcome: "made up", ScriptName: "" })).toMatchObject([
      { stream: { ...given, service_name: "unknown_service", outcome: "other" } },
    ]);
  });

  it.each([
    ["loki://loki.example/api/prom/push", "/loki/api/v1/push"],
    ["loki://loki.example/?labels=a", "<name>=<value>"],
    ["loki://loki.example/?labels=__a=b", "<name>=<value>"],
    ["loki://loki.example/?labels=a%2Db=c", "<name>=<value>"],
    ["loki://loki.example/?labels=a=", "printable"],
    ["loki://loki.example/?labels=a=b,a=c", "twice"],
    ["loki://loki.example/?labels=service_name=x", "from each record"],
    [`loki://loki.example/?labels=${Array.from({ length: 14 }, (_, i) => `l${i}=x`).join()}`, "at most 13"],
    ["loki://loki.example/?max-age-hours=-1", "max-age-hours"],
    ["loki://loki.example/?tenant=SECRET", "unknown parameter"],
  ])("refuses %s", (string, why) => expect(refusal(string)).toContain(why));

  it("has a default path", async () => {
    const { to, sent } = open("loki://loki.example?header_X-Scope-OrgID=tenant-1", fixture("loki").service().fetch);
    expect([await to.probe(), sent[0]?.url.href]).toEqual([null, "https://loki.example/loki/api/v1/push"]);
  });
});

describe("elastic", () => {
  it("reads what became of each of 10,000 records, however long the answer is", async () => {
    const refused = { status: 400, failure_store: "not_enabled", error: { type: "strict_dynamic_mapping_exception" } };
    const items = Array.from({ length: 10_000 }, (_, n) => ({ create: n === 0 ? { status: 201 } : refused }));
    const outcome = await answered("elastic", () => Response.json({ errors: true, items }), 10_000);
    if (outcome.kind !== "partly") throw new Error(outcome.kind);
    expect([outcome.refused.length, outcome.again]).toEqual([9_999, []]);
  });
});

const attributes = (of: { key: string; value: unknown }[]): { [name: string]: unknown } =>
  Object.fromEntries(of.map(({ key, value }) => [key, value]));
const text = (stringValue: string) => ({ stringValue });

describe("otlp", () => {
  it("sets a record aside, with the limit named, that fits no body beside what its script has in common", async () => {
    const long = record("mark-long", { ScriptName: "s".repeat(16_000), Message: "x".repeat(9_965_000) });
    const { to, sent } = open(confOf("otlp"), async () => new Response(null, { status: 200 }));
    expect(await write(to, [long])).toMatchObject({
      kind: "partly",
      isSent: false,
      refused: [{ record: 0, words: expect.stringMatching(/^a record of 100\d{5} bytes; .* takes 10000000$/) }],
    });
    expect(sent).toEqual([]);
  });

  it.each([
    ["otlp://c.example", "/v1/logs"],
    ["otlp://c.example:4318/", "/v1/logs"],
    ["otlp://c.example/v1/logs", "/v1/logs"],
    ["otlp://c.example/otlp/", "/otlp/v1/logs"],
    ["otlp://c.example/a/b/v1/logs", "/a/b/v1/logs"],
  ])("sends %s to %s", async (conf, path) => {
    const { to, sent } = open(conf, async () => Response.json({}));
    expect([await to.probe(), sent[0]?.url.pathname, sent[0]?.text]).toEqual([null, path, '{"resourceLogs":[]}']);
  });

  it("says in the words of the conventions what a record is, and keeps the whole", async () => {
    const fields = record("mark-0", {
      ...{ CPUTimeMs: 3, WallTimeMs: 12.5, Outcome: "exception", ScriptTags: ["a", "b"], Entrypoint: "" },
      Event: {
        RayID: "8f0c",
        Request: { Method: "brew", URL: "https://shop.example/a?b=c" },
        Response: { Status: 500 },
      },
      Exceptions: [{ name: "TypeError", message: "no", TimestampMs: NOW }],
      ScriptVersion: { ID: "v-1", Message: "", Tag: "" },
    });
    const { resourceLogs } = JSON.parse(await bodyOf("otlp", fields));
    expect(attributes(resourceLogs[0].resource.attributes)).toEqual({
      "service.name": text("shop"),
      "service.version": text("v-1"),
      "cloud.provider": text("cloudflare"),
      "cloud.platform": text("cloudflare.workers"),
      "faas.name": text("shop"),
      "faas.version": text("v-1"),
    });
    const { attributes: list, ...head } = resourceLogs[0].scopeLogs[0].logRecords[0];
    expect(head).toEqual({
      timeUnixNano: `${NOW - 1_000}000000`,
      observedTimeUnixNano: `${NOW - 1_000}000000`,
      severityNumber: 17,
      severityText: "ERROR",
      body: text("fetch brew https://shop.example/a?b=c 500 exception\nTypeError: no\nmark-0"),
    });
    expect(attributes(list)).toEqual({
      "faas.trigger": text("http"),
      "http.request.method": text("_OTHER"),
      "http.request.method_original": text("brew"),
      "url.full": text("https://shop.example/a?b=c"),
      "http.response.status_code": { intValue: "500" },
      "exception.type": text("TypeError"),
      "exception.message": text("no"),
      "cloudflare.ray_id": text("8f0c"),
      "cloudflare.outcome": text("exception"),
      "cloudflare.handler_type": text("fetch"),
      "cloudflare.script_tags": { arrayValue: { values: [text("a"), text("b")] } },
      "cloudflare.cpu_time": { intValue: "3" },
      "cloudflare.wall_time": { doubleValue: 12.5 },
      "logship.record.id": text("a_b_0a1b2c3d-0"),
      "logship.record": text(JSON.stringify(fields)),
    });
  });

  it("has the stack of what was thrown, and else the first error that was logged", async () => {
    const logged = { Log: 0, Argument: 1, name: "RangeError", message: "inner", stack: "    at logged.js:1" };
    const thrown = { name: "TypeError", message: "no", TimestampMs: NOW };
    const errorIn = async (fields: Fields) => {
      const { resourceLogs } = JSON.parse(await bodyOf("otlp", record("mark-0", fields)));
      const all = attributes(resourceLogs[0].scopeLogs[0].logRecords[0].attributes);
      return ["type", "message", "stacktrace"].map((name) => all[`exception.${name}`]);
    };
    expect(await errorIn({ LogErrors: [logged] })).toEqual([
      text("RangeError"),
      text("inner"),
      text("    at logged.js:1"),
    ]);
    const ExceptionStacks = ["    at shop.js:1"];
    expect(await errorIn({ Exceptions: [thrown], ExceptionStacks, LogErrors: [logged] })).toEqual([
      text("TypeError"),
      text("no"),
      text("    at shop.js:1"),
    ]);
    expect(await errorIn({ Exceptions: [thrown], LogErrors: [logged] })).toEqual([
      text("TypeError"),
      text("no"),
      undefined,
    ]);
  });

  it.each([
    ["error", 17],
    ["warn", 13],
    ["debug", 9],
  ])("has severity %s as %i", async (Level, severity) => {
    expect(await bodyOf("otlp", record("mark-0", { Logs: [{ Level, Message: [] }] }))).toContain(
      `"severityNumber":${severity},`,
    );
  });

  it.each([
    ["scheduled", "timer"],
    ["queue", "pubsub"],
    ["alarm", "timer"],
    ["email", "other"],
    ["__proto__", "other"],
    ["fetch", "http"],
  ])("knows what triggers %s: %s", async (EventType, trigger) => {
    expect(await bodyOf("otlp", record("mark-0", { EventType }))).toContain(
      `{"key":"faas.trigger","value":{"stringValue":"${trigger}"}}`,
    );
  });

  it.each([
    [0, "0"],
    [253_402_300_799_999, "0"],
    [1.5, "1000000"],
  ])("writes the time %d as %s", async (EventTimestampMs, time) =>
    expect(await bodyOf("otlp", record("mark-0", { EventTimestampMs }))).toContain(`"timeUnixNano":"${time}"`),
  );

  it.each([2, "2"])("sends nothing again that was rejected in part: %o", async (rejectedLogRecords) => {
    const answer = { partialSuccess: { rejectedLogRecords } };
    const outcome = await answered("otlp", () => Response.json(answer));
    const unnamed = { records: 2, words: "HTTP 200, but records were rejected" };
    const said = JSON.stringify({ partialSuccess: { rejectedLogRecords } });
    expect(outcome).toEqual({ kind: "partly", isSent: true, again: [], error: null, refused: [], unnamed, said });
  });

  it.each(["", "{}", '{"partialSuccess":null}', '{"partialSuccess":{"errorMessage":"a warning"}}'])(
    "takes %o for a success",
    async (text) => expect(await answered("otlp", () => new Response(text))).toMatchObject({ kind: "delivered" }),
  );

  it.each(["<html>", "[]", "OK", '{"partialSuccess":{"rejectedLogRecords":"many"}}'])(
    "does not take %o for one",
    async (text) =>
      expect(await answered("otlp", () => new Response(text))).toMatchObject({
        kind: "failed",
        mayBeThere: true,
        error: { kind: "busy", cause: "not_kept" },
      }),
  );
});

describe("clickhouse", () => {
  const [, windowed, ...defaults] = TABLE;
  const plain = "MergeTree ORDER BY timestamp SETTINGS index_granularity = 8192";
  const UNREADABLE = /^the deduplication window of the table cannot be read/;
  it.each<[string, readonly unknown[], RegExp]>([
    ["of a table with a window", TABLE, /^the table deduplicates within its last 10000 inserts \(non_/],
    ["of one without", ["MergeTree", plain, ...defaults], /^the table does not deduplicate, as its non_.* is 0: /],
    ["of one whose server has a window", ["MergeTree", plain, "100", "0"], / last 100 inserts \(non_/],
    ["of a replicated one", ["ReplicatedMergeTree", plain, "0", "1000"], / last 1000 inserts \(replicated_/],
    [
      "of a shared one",
      ["SharedReplacingMergeTree", windowed, "7", "0"],
      /^the table does not deduplicate, as its replicated_/,
    ],
    ["of another engine", ["Distributed", windowed, ...defaults], UNREADABLE],
    ["of what is no window", ["MergeTree", plain, null, "<b>"], UNREADABLE],
    ["of no table", [], UNREADABLE],
  ])("says %s whether a repeat is told", async (_what, row, said) => {
    const { to, sent } = open(confOf("clickhouse"), async () => new Response(`${JSON.stringify(row)}\n`));
    expect(await to.remark?.()).toMatch(said);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.text).toBe("\n");
    expect([...(sent[0]?.url.searchParams.keys() ?? [])]).toEqual(["query", "wait_end_of_query"]);
    expect(sent[0]?.url.searchParams.get("query")).toMatch(/^SELECT .* WHERE database = 'logs' AND name = 'traces' /);
  });

  it.each<[string, Fetch]>([
    ["refused", async () => raise(497, 403, "ACCESS_DENIED")()],
    ["answered with an exception", async () => raise(241, 200, "MEMORY_LIMIT_EXCEEDED")()],
    ["answered with a page", async () => new Response("<html>")],
    ["lost", () => Promise.reject(new TypeError("connection reset"))],
  ])("calls it unknown where that is %s", async (_what, fetch) => {
    expect(await open(confOf("clickhouse"), fetch).to.remark?.()).toMatch(UNREADABLE);
  });

  const raise = (code: number, status: number, name: string) => () =>
    new Response(`Code: ${code}. DB::Exception: secret text. (${name})`, {
      status,
      headers: status === 200 ? {} : { "x-clickhouse-exception-code": `${code}` },
    });

  it.each([
    [252, 500, "TOO_MANY_PARTS", "busy", true],
    [241, 200, "MEMORY_LIMIT_EXCEEDED", "busy", true],
    [60, 404, "UNKNOWN_TABLE", "misconfigured", false],
    [60, 200, "UNKNOWN_TABLE", "misconfigured", false],
    [164, 500, "READONLY", "misconfigured", false],
    [516, 403, "AUTHENTICATION_FAILED", "misconfigured", false],
    [9999, 500, "Code9999", "busy", true],
    [9999, 403, "Code9999", "misconfigured", false],
  ])("calls exception %i with HTTP %i %s: %s", async (code, status, name, kind, mayBeThere) => {
    const outcome = await answered("clickhouse", raise(code, status, name));
    expect(outcome).toMatchObject({ kind: "failed", mayBeThere, error: { kind, words: `HTTP ${status} ${name}` } });
  });

  it("takes nothing but an empty answer for a success", async () => {
    const outcome = await answered("clickhouse", () => new Response("<html>"));
    expect(outcome).toMatchObject({ kind: "failed", mayBeThere: true, error: { kind: "busy", cause: "not_kept" } });
    expect(await answered("clickhouse", () => new Response("\n"))).toMatchObject({ kind: "delivered" });
  });

  it("gives an insert the id of its object, and each row one", async () => {
    const { to, sent } = open(confOf("clickhouse"), fixture("clickhouse").service().fetch);
    await write(to, records(2));
    expect(Object.fromEntries(sent[0]?.url.searchParams ?? [])).toEqual({
      query: "INSERT INTO `logs`.`traces` FORMAT JSONEachRow",
      insert_deduplication_token: "a_b_0a1b2c3d",
      async_insert: "0",
      wait_end_of_query: "1",
      input_format_skip_unknown_fields: "1",
      date_time_input_format: "best_effort",
    });
    const rows = sent[0]?.text
      .trimEnd()
      .split("\n")
      .map((row) => JSON.parse(row));
    expect(rows).toMatchObject([
      { logship_id: "a_b_0a1b2c3d-0", timestamp: "2026-11-20T11:59:59.000Z", ScriptName: "shop" },
      { logship_id: "a_b_0a1b2c3d-1" },
    ]);
  });

  it.each([
    ["clickhouse://ch.example/?database=logs", "table is missing"],
    ["clickhouse://ch.example/?table=a%60%3B%20DROP%20TABLE%20b", "letters"],
    ["clickhouse://ch.example/?table=a&database=b%22", "letters"],
    ["clickhouse://ch.example/?table=a&query=DROP", "unknown parameter"],
  ])("refuses %s", (conf, why) => expect(refusal(conf)).toContain(why));

  it("shows neither user nor key, and takes the table of the user's database", async () => {
    const conf = "clickhouse://ch.example:8443/?table=a.b&header_X-ClickHouse-User=me&header_X-ClickHouse-Key=SECRET";
    expect(maskDestination(conf)).not.toMatch(/SECRET|=me/);
    const { to, sent } = open(conf, async () => new Response(""));
    expect([await to.probe(), sent[0]?.text]).toEqual([null, "\n"]);
    expect(sent[0]?.url.searchParams.get("query")).toBe("INSERT INTO `a.b` FORMAT JSONEachRow");
  });
});

describe("axiom", () => {
  const said = (body: Fields) => () => Response.json(body);

  it("does not name what failed, and sends nothing again", async () => {
    const unnamed = { records: 1, words: "HTTP 200, but events failed" };
    const body = { ingested: 2, failed: 1, failures };
    expect(await answered("axiom", said(body))).toMatchObject({ kind: "partly", again: [], refused: [], unnamed });
  });

  it("halves what failed as a whole, and asks before whether anything passes", async () => {
    let isClosed = false;
    const { to } = open(confOf("axiom"), async (url, init) => {
      const count = (await asked(url, init)).text.trimEnd().split("\n").length;
      return Response.json(count > 1 || isClosed ? { ingested: 0, failed: count } : { ingested: 1, failed: 0 });
    });
    expect(await write(to, records(4))).toMatchObject({
      kind: "divide",
      records: 2,
      why: "HTTP 200, but events failed",
    });
    isClosed = true;
    expect(await write(to, records(4))).toMatchObject({ kind: "failed", error: { kind: "misconfigured" } });
  });

  const failures = [{ timestamp: "2026-11-20T12:00:00Z", error: "too many fields" }];
  it.each([
    ...[{ failed: 0 }, { ingested: 3 }, { ingested: "3", failed: 0 }, { ingested: 3, failed: "0" }, []],
    // Counts that contradict each other, what was sent, or the list of failures.
    ...[
      { ingested: 0, failed: 0 },
      { ingested: 2, failed: 0 },
      { ingested: 4, failed: 0 },
      { ingested: 4, failed: -1 },
    ],
    ...[
      { ingested: 3, failed: 1 },
      { ingested: 2.5, failed: 0.5 },
      { ingested: 3, failed: 0, failures },
    ],
  ])("takes %o for no success", async (body) =>
    expect(await answered("axiom", said(body as Fields))).toMatchObject({
      kind: "failed",
      mayBeThere: true,
      error: { kind: "busy", cause: "not_kept" },
    }),
  );

  it.each([
    ["x-ratelimit-reset", `${NOW / 1_000 + 90}`, 90],
    ["x-ingestlimit-reset", `${NOW / 1_000 + 86_400}`, 3_600],
    ["x-ratelimit-reset", `${NOW / 1_000 - 5}`, null],
    ["x-ratelimit-reset", "soon", null],
    ["retry-after", "7", 7],
  ])("waits for the end of a limit: %s: %s", async (name, value, retryAfterS) => {
    const outcome = await answered("axiom", () => new Response(null, { status: 429, headers: { [name]: value } }));
    expect(outcome).toMatchObject({ kind: "failed", error: { kind: "busy", retryAfterS } });
  });

  it("knows the older path, and no other", async () => {
    const answer = said({ ingested: 1, failed: 0 });
    const { to, sent } = open("axiom://api.axiom.co/v1/datasets/traces/ingest", async () => answer());
    expect([await to.probe(), sent[0]?.url.href]).toEqual([null, "https://api.axiom.co/v1/datasets/traces/ingest"]);
    expect(refusal("axiom://api.axiom.co/v2/ingest/traces")).toContain("/v1/ingest/<dataset>");
  });
});
