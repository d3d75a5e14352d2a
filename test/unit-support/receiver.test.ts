/** The receivers of the scripted endpoint: what they refuse, keep, and show; and their audit. */
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { assertClean, Oracle } from "../support/oracle.ts";
import { rule } from "../support/s3-script.ts";
import { server, withServer } from "./s3-client.ts";

withServer();

let count = 0;
const fresh = (dialect: string): string => `receiver-${dialect}-${++count}`;

function post(
  name: string,
  text: string,
  id = "id-1",
  headers: Record<string, string> = {},
  path = name.includes("elastic") ? "/in/_bulk" : "/in",
): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method: "POST",
    headers: {
      ...{ "x-receiver": name, "content-type": "application/x-ndjson", "content-encoding": "gzip" },
      ...{ "idempotency-key": id, ...headers },
    },
    body: new Uint8Array(gzipSync(text)),
  });
}

const bulk = (...ids: string[]): string =>
  ids.map((id) => `{"create":{"_id":"${id}"}}\n{"@timestamp":"2026-11-20T12:00:00.000Z","id":"${id}"}\n`).join("");

async function statuses(answer: Response): Promise<number[]> {
  const { items } = (await answer.json()) as { items: { create: { status: number } }[] };
  return items.map(({ create }) => create.status);
}

const keptBy = (name: string): string[] =>
  server.puts(name).map(({ key, version }) => new TextDecoder().decode(server.object(name, key, version)));

describe("an address of its own", () => {
  it("keeps what it is sent as often as it is sent, and no test record", async () => {
    const name = fresh("https");
    const sent = [await post(name, '{"a":1}\n'), await post(name, '{"a":1}\n'), await post(name, "{}\n", "test-1")];
    expect(sent.map(({ status }) => status)).toEqual([204, 204, 204]);
    expect(keptBy(name)).toEqual(['{"a":1}\n', '{"a":1}\n']);
    const [first, again] = server.requests(name);
    expect(first).toMatchObject({ key: "/in/id-1", stored: true });
    expect(first?.headers["content-sha256"]).toBe(again?.headers["content-sha256"]);
  });

  it("takes all of a request or nothing", async () => {
    const name = fresh("https");
    server.script(name, [rule({ do: "limit", records: 2 })]);
    const bodies = ['{"a":1}\n{"a":"poison"}\n', "{}\n{}\n{}\n"];
    const answers = await Promise.all(bodies.map((text) => post(name, text)));
    const odd = await post(name, "{}\n", "id", { "content-type": "text/plain" });
    expect([...answers, odd].map(({ status }) => status)).toEqual([400, 413, 415]);
    expect(keptBy(name)).toEqual([]);
  });
});

describe("Elasticsearch", () => {
  it("takes each record by itself, and once", async () => {
    const name = fresh("elastic");
    server.script(name, [rule({ do: "refuse", each: 2, status: 429 }, {}, 1)]);
    expect(await statuses(await post(name, bulk("a", "b", "c")))).toEqual([201, 429, 201]);
    expect(await statuses(await post(name, bulk("a", "b", "poison")))).toEqual([409, 201, 400]);
    expect(keptBy(name)).toEqual(['{"id":"a"}\n{"id":"c"}\n', '{"id":"b"}\n']);
  });

  it("refuses what is no bulk request, and a record at another time than its own", async () => {
    const name = fresh("elastic");
    expect((await post(name, bulk("a").trimEnd())).status).toBe(400);
    const late = '{"create":{"_id":"a"}}\n{"@timestamp":"2026-11-20T12:00:00.000Z","EventTimestampMs":1}\n';
    expect(await statuses(await post(name, late))).toEqual([400]);
    expect(keptBy(name)).toEqual([]);
  });
});

const AT = Date.UTC(2026, 10, 20, 12);
const RECORD = `{"EventTimestampMs":${AT},"id":"a"}`;
const BAD = `{"EventTimestampMs":${AT},"id":"poison"}`;
const INSERT =
  "/?query=INSERT%20INTO%20%60logs%60.%60traces%60%20FORMAT%20JSONEachRow&async_insert=0&wait_end_of_query=1";

const push = (line: string, ms = AT): string =>
  JSON.stringify({ streams: [{ stream: { a: "b" }, values: [[`${ms}000000`, withId(line)]] }] });
const withId = (line: string): string => line.replace("{", '{"logship_id":"i",');
const logs = (line: string, more: object = {}): string => {
  const attributes = { "logship.record.id": "i", "logship.record": line };
  const list = Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } }));
  const logRecords = [{ timeUnixNano: `${AT}000000`, attributes: list, ...more }];
  return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
};

interface Spoken {
  path: string;
  headers: Record<string, string>;
  /** A body with a record. */
  of(line: string): string;
  /** What it is answered, and again, and with a record that is refused. */
  answers: [first: number, again: number, poisoned: number];
  /** How often the record is there after the second request. */
  times: number;
  /** Bodies, addresses and headers that it takes for wrong. */
  wrong: readonly (readonly [status: number, request: Partial<Omit<Spoken, "of">> & { text?: string }])[];
}

const JSON_TYPE = { "content-type": "application/json" };
const HEC = { authorization: "Splunk x" };
const CLICKHOUSE = { "x-clickhouse-key": "x" };

/** Services whose dialects are strict in ways of their own. */
const SPOKEN: Readonly<Record<string, Spoken>> = {
  newrelic: {
    path: "/log/v1",
    headers: { ...JSON_TYPE, "api-key": "x" },
    of: (line) =>
      JSON.stringify([
        {
          logs: [
            { timestamp: AT, message: "m", attributes: { "logship.id": "i", level: "info", ...JSON.parse(line) } },
          ],
        },
      ]),
    answers: [202, 202, 400],
    times: 2,
    wrong: [
      [403, { headers: JSON_TYPE }],
      [404, { path: "/log/v1?Api-Key=x" }],
      [413, { text: `[{"logs":[],"pad":"${"x".repeat(1_000_000)}"}]` }],
      [400, { text: '{"logs":[]}' }],
    ],
  },
  splunkraw: {
    path: "/services/collector/raw?channel=c&source=i",
    headers: HEC,
    of: (line) => `${line}\n`,
    answers: [200, 200, 400],
    times: 2,
    wrong: [
      [401, { headers: {} }],
      [400, { path: "/services/collector/raw?source=i" }],
      [400, { path: "/services/collector/raw?channel=c&source=i&insecure-skip-verify=false" }],
      [413, { text: `${"x".repeat(1_000_001)}\n` }],
    ],
  },
  splunkevent: {
    path: "/services/collector/event",
    headers: HEC,
    of: (line) => `{"time":${AT / 1_000},"fields":{"logship_id":"i"},"event":${line}}`,
    answers: [200, 200, 400],
    times: 2,
    wrong: [
      [400, { text: '{"fields":{"logship_id":"i"}}' }],
      [400, { text: '{"event":{}}' }],
      [400, { text: "" }],
      [404, { path: "/services/collector" }],
    ],
  },
  sumo: {
    path: "/receiver/v1/http/x",
    headers: { "x-sumo-name": "i" },
    of: (line) => `${line}\n`,
    answers: [200, 200, 400],
    times: 2,
    wrong: [
      [401, { path: "/receiver/v2/http/x" }],
      [400, { path: "/receiver/v1/http/x?a=b" }],
      [400, { headers: {} }],
      [413, { text: `${"x".repeat(1_000_001)}\n` }],
    ],
  },
  loki: {
    path: "/loki/api/v1/push",
    headers: JSON_TYPE,
    of: push,
    answers: [204, 204, 400],
    times: 1,
    wrong: [
      [422, { text: '{"streams":[]}' }],
      [400, { text: push(RECORD, AT + 1) }],
      [400, { text: push(`{"a":"${"x".repeat(262_144)}"}`) }],
      [400, { text: push(RECORD).replace(`"${AT}000000"`, `${AT}000000`) }],
      [429, { text: push(`{"a":"${"x".repeat(6_000_000)}"}`) }],
    ],
  },
  otlp: {
    path: "/v1/logs",
    headers: JSON_TYPE,
    of: logs,
    answers: [200, 200, 400],
    times: 2,
    wrong: [
      [404, { path: "/v1/traces" }],
      [415, { headers: {} }],
      [400, { text: logs(RECORD, { timeUnixNano: AT }) }],
      [400, { text: logs(RECORD, { time_unix_nano: "0" }) }],
    ],
  },
  clickhouse: {
    path: `${INSERT}&insert_deduplication_token=i`,
    headers: CLICKHOUSE,
    of: (line) => `${line.replace("{", '{"logship_id":"i","timestamp":"2026-11-20T12:00:00.000Z",')}\n`,
    // Of a token that it knows it does not look at the rows, but here they are read first.
    answers: [200, 200, 400],
    times: 1,
    wrong: [
      [403, { headers: {} }],
      [404, { path: `${INSERT}&unknown_setting=1` }],
      [404, { path: "/?query=SELECT%201" }],
      [400, { text: withId(`${RECORD}\n`) }],
      [400, { text: RECORD }],
    ],
  },
  axiom: {
    path: "/v1/ingest/traces",
    headers: { authorization: "Bearer x" },
    of: (line) => `${withId(line).replace("{", '{"_time":"2026-11-20T12:00:00.000Z",')}\n`,
    answers: [200, 200, 200],
    times: 2,
    wrong: [
      [403, { headers: {} }],
      [404, { path: "/v1/datasets/traces" }],
      [413, { text: "{}\n".repeat(10_001) }],
      [400, { text: "{}" }],
    ],
  },
};

describe.each(Object.entries(SPOKEN))("%s", (dialect, { path, headers, of, answers, times, wrong }) => {
  const send = async (name: string, text: string, to = path, more = headers): Promise<number> =>
    (await post(name, text, "id-1", more, to)).status;

  it("keeps the records of a body, tells a repeat if it can, and refuses a bad one", async () => {
    const name = fresh(dialect);
    const sent = [await send(name, of(RECORD)), await send(name, of(RECORD)), await send(name, of(BAD))];
    expect(sent).toEqual(answers);
    expect(keptBy(name).map((text) => JSON.parse(text))).toEqual(Array(times).fill(JSON.parse(RECORD)));
  });

  it("refuses what is not in its form", async () => {
    const name = fresh(dialect);
    for (const [status, request] of wrong)
      expect(await send(name, request.text ?? of(RECORD), request.path, request.headers)).toBe(status);
    expect(keptBy(name)).toEqual([]);
  });
});

it("forgets inserts, drops what is old, and rejects records, as it is told", async () => {
  const { path, headers, of } = SPOKEN.clickhouse as Spoken;
  const table = fresh("clickhouse");
  const tokens = ["a", "b", "a", "c", "a"].map((token) => `${path.slice(0, -1)}${token}`);
  for (const [n, to] of tokens.entries()) {
    if (n === 3) server.script(table, [rule({ do: "window", inserts: 1 })]);
    await post(table, of(RECORD), "id-1", headers, to);
  }
  // "a", "b", "c", and "a" once more.
  expect(keptBy(table)).toHaveLength(4);
  const intake = fresh("newrelic");
  server.script(intake, [rule({ do: "past", beforeMs: AT + 1 })]);
  const spoken = SPOKEN.newrelic as Spoken;
  expect((await post(intake, spoken.of(RECORD), "id-1", spoken.headers, spoken.path)).status).toBe(202);
  expect(keptBy(intake)).toEqual([]);
  const collector = fresh("otlp");
  server.script(collector, [rule({ do: "refuse", each: 1, status: 400 })]);
  const answer = await post(collector, logs(RECORD), "id-1", JSON_TYPE, "/v1/logs");
  expect(await answer.json()).toMatchObject({ partialSuccess: { rejectedLogRecords: "1" } });
});

it("is audited by record: missing, there twice, and not owed", () => {
  const oracle = new Oracle();
  const events = oracle.mint(3);
  oracle.acknowledged(1, events);
  const body = (of: readonly { record: object }[]) =>
    new TextEncoder().encode(of.map(({ record }) => `${JSON.stringify(record)}\n`).join(""));
  const audit = (...bodies: (readonly { record: object }[])[]) =>
    oracle.audit(
      1,
      bodies.map((of, n) => ({ key: `/in/${n}`, bytes: body(of) })),
      { areBodies: true },
    );
  expect(() => assertClean(audit(events))).not.toThrow();
  const report = audit(events.slice(0, 2), events.slice(1, 2), oracle.mint(1));
  expect([report.missing.length, report.duplicated.length, report.invented.length]).toEqual([1, 1, 1]);
});
