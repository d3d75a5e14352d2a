/** What holds of Datadog, New Relic, Splunk or Sumo Logic alone; of all: receivers.test.ts. */
import { describe, expect, it } from "vitest";
import { termsOf } from "../../../src/ship/destinations/kinds.ts";
import {
  isMasked,
  maskDestination,
  parseDestination,
  unmaskDestination,
} from "../../../src/ship/destinations/parse.ts";
import { buildBody } from "../../../src/ship/destinations/receiver/body.ts";
import { datadog } from "../../../src/ship/destinations/receiver/datadog.ts";
import { newrelic } from "../../../src/ship/destinations/receiver/newrelic.ts";
import type {
  Options,
  Receiver,
  ReceiverAnswer,
  ReceiverDestination,
} from "../../../src/ship/destinations/receiver/receiver.ts";
import { messageOf, severityOf } from "../../../src/ship/destinations/receiver/records.ts";
import { splunkEvent, splunkRaw } from "../../../src/ship/destinations/receiver/splunk.ts";
import { sumo } from "../../../src/ship/destinations/receiver/sumo.ts";
import { PRODUCTION, refusal } from "./context.ts";
import { receiverAnswer } from "./receiver-answer.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const HOUR = 3_600_000;
const RECORD = {
  EventTimestampMs: NOW - 1,
  EventType: "fetch",
  Event: { Request: { URL: "https://shop.example/a", Method: "GET" }, Response: { Status: 500 } },
  Exceptions: [{ name: "TypeError", message: "no", TimestampMs: NOW }],
  Logs: [{ Level: "warn", Message: ["one", "two"], TimestampMs: NOW }],
  Outcome: "exception",
  ScriptName: "shop",
};
const MESSAGE = "fetch GET https://shop.example/a 500 exception\nTypeError: no\none two";

function read(conf: string): { url: string; options: Options } {
  const parsed = parseDestination(conf, PRODUCTION);
  if (!parsed.ok) throw new Error(parsed.why);
  return (parsed.value as ReceiverDestination).credentials;
}

function built(receiver: Receiver, records: readonly object[], parameters: Record<string, string> = {}) {
  const options = { path: "", parameters: new Map(Object.entries(parameters)), headers: new Map<string, string>() };
  const form = receiver.form?.(options);
  if (form === undefined) throw new Error("objects are sent as they are");
  const lines = records.map((record) => JSON.stringify(record));
  return buildBody(lines, "id", form, receiver.name, NOW);
}

/** The one record of a body. @throws if it is refused. */
function textOf(receiver: Receiver, record: object, parameters: Record<string, string> = {}): string {
  const body = built(receiver, [record], parameters);
  if (body.kind !== "body") throw new Error(JSON.stringify(body));
  return body.text;
}

/** Why records are refused before anything is sent; []: they are not. */
function wordsOf(receiver: Receiver, ...records: object[]): string[] {
  const body = built(receiver, records);
  return body.kind === "refused" ? body.refused.map(({ record, words }) => `${record}: ${words}`) : [];
}

const answer = (status: number, body = ""): ReceiverAnswer => ({ ...receiverAnswer({ status, body }), retryAfterS: 7 });

/** The vendor's documented strings, with its own examples in their places. */
describe("a string of the vendor's documentation", () => {
  const KEY = "20e6d94e8c57924ad1be3c29bcaee0197d";
  const TOKEN = "Splunk%20e6d94e8c-5792-4ad1-be3c-29bcaee0197d";
  const CHANNEL = "fe0ecfad-13d5-401b-847d-77833bd77131";
  const rows: [conf: string, url: string, once: string][] = [
    [
      `datadog://http-intake.logs.datadoghq.com/v1/input?header_DD-API-KEY=${KEY}&ddsource=cloudflare&service=shop&host=h&ddtags=a%3Ab`,
      "https://http-intake.logs.datadoghq.com/v1/input?ddsource=cloudflare&service=shop&host=h&ddtags=a%3Ab",
      KEY,
    ],
    [
      `datadog://http-intake.logs.datadoghq.com/api/v2/logs?header_DD-API-KEY=${KEY}&ddsource=cloudflare`,
      "https://http-intake.logs.datadoghq.com/api/v2/logs?ddsource=cloudflare",
      KEY,
    ],
    [
      `https://log-api.newrelic.com/log/v1?Api-Key=${KEY}&format=cloudflare`,
      "https://log-api.newrelic.com/log/v1",
      KEY,
    ],
    [
      `splunk://splunk.cf-analytics.com:8088/services/collector/raw?channel=${CHANNEL}&insecure-skip-verify=false&sourcetype=cloudflare:json&header_Authorization=${TOKEN}`,
      `https://splunk.cf-analytics.com:8088/services/collector/raw?channel=${CHANNEL}&sourcetype=cloudflare:json`,
      TOKEN,
    ],
    [
      `sumo://endpoint1.collection.sumologic.com/receiver/v1/http/${KEY}==`,
      `https://endpoint1.collection.sumologic.com/receiver/v1/http/${KEY}==`,
      `${KEY}==`,
    ],
  ];

  it.each(rows)("leads to its address, and is masked and unmasked: %s", (conf, url, secret) => {
    expect(read(conf).url).toBe(url);
    const masked = maskDestination(conf);
    expect(masked).toBe(conf.replace(secret, "****"));
    expect([isMasked(masked), unmaskDestination(masked, conf)]).toEqual([true, conf]);
  });

  it.each(["datadoghq.eu", "us3.datadoghq.com", "us5.datadoghq.com", "ap1.datadoghq.com", "ddog-gov.com"])(
    "leads to the site %s, to v2 if it names no path",
    (site) => {
      const { url } = read(`datadog://http-intake.logs.${site}?header_dd-api-key=${KEY}`);
      expect(url).toBe(`https://http-intake.logs.${site}/api/v2/logs`);
    },
  );

  const AUTH = `header_Authorization=${TOKEN}`;
  const RAW = "splunk://splunk.example:8088/services/collector/raw";
  it.each([
    ["datadog://in.example/api/v2/logs?ddsource=cloudflare", "header_DD-API-KEY is missing"],
    [`datadog://in.example/v1/input/${KEY}?header_DD-API-KEY=x`, "the path must be api/v2/logs or v1/input"],
    [
      "datadog://in.example/?dd-api-key=x",
      "unknown parameter; known for this scheme are ddsource, service, host, ddtags, header_<Name>",
    ],
    ["https://log-api.newrelic.com/log/v1?format=cloudflare", "Api-Key is missing"],
    ["https://log-api.newrelic.com/log/v1?Api-Key=", "Api-Key is missing"],
    ["https://log-api.newrelic.com/log/v1?Api-Key=%C3%BC", "Api-Key must be printable ASCII"],
    ["https://log-api.newrelic.com/log/v1?Api-Key=x&header_api-key=y", "Api-Key is given twice"],
    ["https://log-api.newrelic.com/log/v1?Api-Key=x&format=json", "format must be cloudflare"],
    [
      `${RAW}?insecure-skip-verify=true&${AUTH}`,
      "insecure-skip-verify must be false: the certificate has to be signed by a public authority",
    ],
    [`${RAW}?insecure-skip-verify=1&${AUTH}`, "insecure-skip-verify must be false"],
    [RAW, "header_Authorization must be Splunk%20 and the token"],
    [`${RAW}?header_Authorization=${KEY}`, "header_Authorization must be Splunk%20 and the token"],
    [`${RAW}?channel=1&${AUTH}`, "channel must be a GUID"],
    [`splunk://splunk.example:8088/?${AUTH}`, "the path must be services/collector/raw or services/collector/event"],
    ["sumo://endpoint1.collection.sumologic.com/receiver/v1/http/", "the path must end with the receiver's code"],
    [
      "sumo://endpoint1.collection.sumologic.com/receiver/v1/x",
      "the path must be receiver/v1/http/ followed by the code of the source",
    ],
    [
      "sumo://endpoint1.collection.sumologic.com/receiver/v1/http/x?category=a",
      "unknown parameter; known for this scheme are header_<Name>",
    ],
  ])("is refused in words: %s", (conf, why) => {
    expect(refusal(conf)).toBe(why);
  });

  it.each([
    ["https://LOG-API.newrelic.com/log/v1", "attribute logship.id"],
    ["https://log%2Dapi.newrelic.com:443/log/v1", "attribute logship.id"],
    ["https://gov-log-api.newrelic.com/log/v1/", "attribute logship.id"],
    ["https://log-api.newrelic.com/other", "header Idempotency-Key"],
    ["https://log-api.newrelic.com.evil.example/log/v1", "header Idempotency-Key"],
  ])("is New Relic's by host and path: %s", (conf, id) => {
    const parsed = parseDestination(`${conf}?Api-Key=x`, PRODUCTION);
    if (!parsed.ok) throw new Error(parsed.why);
    expect(termsOf(parsed.value).repeats).toEqual({ once: false, id });
    const { url } = (parsed.value as ReceiverDestination).credentials;
    expect(url.includes("Api-Key")).toBe(id.startsWith("header"));
  });
});

describe("Datadog", () => {
  it("gets what it indexes a log by, and the record's own fields", () => {
    const own = {
      message: MESSAGE,
      timestamp: NOW - 1,
      status: "error",
      service: "shop",
      logship: { id: "id-0" },
      ddsource: "cloudflare",
    };
    expect(JSON.parse(textOf(datadog, RECORD))).toEqual([{ ...own, ...RECORD }]);
  });

  it("gets service, source and host of its string instead", () => {
    const [log] = JSON.parse(textOf(datadog, RECORD, { service: "s", ddsource: "d", host: "h" }));
    expect(log).toMatchObject({ service: "s", ddsource: "d", hostname: "h" });
  });

  it("is not sent what it would drop for its age, or cut", () => {
    const at = (timeMs: number) => ({ EventTimestampMs: timeMs });
    expect(wordsOf(datadog, at(NOW - 18 * HOUR), at(NOW + 2 * HOUR), at(0))).toEqual([]);
    const long = { EventTimestampMs: NOW, Event: { text: "x".repeat(1_000_000) } };
    expect(wordsOf(datadog, at(NOW - 18 * HOUR - 1), at(NOW), at(NOW + 2 * HOUR + 1), long)).toEqual([
      "0: older than the 18 hours that Datadog takes",
      "2: further ahead than the 120 minutes that Datadog takes",
      expect.stringMatching(/^3: a record of 1000\d{3} bytes; Datadog takes 1000000$/),
    ]);
  });

  it.each([200, 202])("has taken what it answers with HTTP %i", (status) => {
    expect(datadog.judge(answer(status, "{}"), 1)).toMatchObject({ kind: "taken" });
  });

  it.each([
    [403, "misconfigured"],
    [408, "busy"],
    [413, "refused"],
  ])("answers HTTP %i: %s, with its name for the advice", (status, kind) => {
    expect(datadog.judge(answer(status), 1)).toMatchObject({ error: { kind, words: `HTTP ${status} Datadog` } });
  });
});

describe("New Relic", () => {
  const attributesOf = (record: object) => JSON.parse(textOf(newrelic, record))[0].logs[0].attributes;

  it("gets its key in a header, and its own format of logs", () => {
    const { options } = read("https://log-api.newrelic.com/log/v1?Api-Key=k%2Bk&format=cloudflare");
    expect(newrelic.request?.(options, "id")).toEqual({ headers: { "Api-Key": "k+k" } });
    expect(JSON.parse(textOf(newrelic, RECORD))).toEqual([
      {
        logs: [
          {
            timestamp: NOW - 1,
            message: MESSAGE,
            attributes: {
              "logship.id": "id-0",
              level: "error",
              EventTimestampMs: NOW - 1,
              EventType: "fetch",
              "Event.Request.URL": "https://shop.example/a",
              "Event.Request.Method": "GET",
              "Event.Response.Status": 500,
              Exceptions: JSON.stringify(RECORD.Exceptions),
              Logs: JSON.stringify(RECORD.Logs),
              Outcome: "exception",
              ScriptName: "shop",
            },
          },
        ],
      },
    ]);
  });

  it.each([
    ["too many members", Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`m${i}`, i]))],
    ["too long a name", { ["n".repeat(250)]: 1 }],
    ["two of one name", { "a.b": 1, a: { b: 2 } }],
  ])("gets an Event with %s as JSON, and all of it", (_what, Event) => {
    expect(attributesOf({ Event })).toEqual({ "logship.id": "id-0", level: "info", Event: JSON.stringify(Event) });
  });

  it("gets what is empty or null, too", () => {
    expect(attributesOf({ Event: { a: null, b: {}, c: [], d: "" }, ScriptTags: [] })).toMatchObject({
      ...{ "Event.a": "null", "Event.b": "{}", "Event.c": "[]", "Event.d": "", ScriptTags: "[]" },
    });
  });

  it("is not sent what it would cut, or drop for its age", () => {
    const of = (bytes: number) => ({ EventTimestampMs: NOW, Event: { text: "x".repeat(bytes) } });
    expect(wordsOf(newrelic, of(128_000), { EventTimestampMs: NOW - 48 * HOUR })).toEqual([]);
    expect(wordsOf(newrelic, of(128_001), of(1), { EventTimestampMs: NOW - 48 * HOUR - 1 })).toEqual([
      "0: a record with a value of 128001 bytes; New Relic takes 128000",
      "2: older than the 48 hours that New Relic takes",
    ]);
  });
});

describe("Splunk", () => {
  it("gets each record with its time, its id and what the string says of all", () => {
    const given = { channel: "c", host: "h", source: "s", sourcetype: "_json", index: "i" };
    expect(JSON.parse(textOf(splunkEvent, RECORD, given))).toEqual({
      time: (NOW - 1) / 1_000,
      ...{ host: "h", source: "s", sourcetype: "_json", index: "i" },
      fields: { logship_id: "id-0" },
      event: RECORD,
    });
    expect(JSON.parse(textOf(splunkEvent, { ScriptName: "a" }))).toEqual({
      fields: { logship_id: "id-0" },
      event: { ScriptName: "a" },
    });
    expect(textOf(splunkEvent, { EventTimestampMs: NOW })).toContain(`"time":${NOW / 1_000}.000,`);
  });

  it("gets the object's id as the source of raw events, unless the string names one", () => {
    const of = (query: string) =>
      read(`splunk://splunk.example/services/collector/raw?header_Authorization=Splunk%20x${query}`).options;
    expect(splunkRaw.request?.(of(""), "id")).toEqual({ query: { source: "id" } });
    expect(splunkRaw.request?.(of("&source=mine"), "id")).toEqual({});
  });

  it.each([
    [200, 0, "taken"],
    [200, 24, "taken"],
    [200, 6, "busy"],
    [200, 7, "busy"],
    [200, 9, "busy"],
    [201, 0, "busy"],
    [200, null, "busy"],
    [400, 5, "refused"],
    [400, 6, "refused"],
    [400, 7, "misconfigured"],
    [400, 10, "misconfigured"],
    [400, 15, "refused"],
    [400, 22, "misconfigured"],
    [400, null, "refused"],
    [401, 2, "misconfigured"],
    [403, 1, "misconfigured"],
    [403, 4, "misconfigured"],
    [404, 404, "misconfigured"],
    [413, null, "refused"],
    [429, 26, "busy"],
    [500, 8, "busy"],
    [503, 9, "busy"],
    [503, 0, "busy"],
  ])("answers HTTP %i with code %s: %s", (status, code, kind) => {
    const text = code === null ? "<html>" : JSON.stringify({ text: "words of its own", code });
    for (const { judge } of [splunkRaw, splunkEvent]) {
      const verdict = judge(answer(status, text), 3);
      expect(verdict.kind === "failed" ? verdict.error.kind : verdict.kind).toBe(kind);
      if (verdict.kind === "failed")
        expect(verdict.error.words).toMatch(
          new RegExp(`^HTTP ${status} Splunk${code === null ? "" : `\\.${code}`}\\b`),
        );
    }
  });

  it("may have what it answers with a success of another kind", () => {
    const odd = '{"text":"Success","code":0,"invalid-event-number":1}';
    for (const text of ["", "<html>", "[]", '{"code":"0"}', '"OK"', odd])
      expect(splunkRaw.judge(answer(200, text), 1)).toMatchObject({ kind: "failed", mayBeThere: true });
  });

  it("names the event that it refuses, and only one that was sent", () => {
    const named = (number: unknown) =>
      answer(400, JSON.stringify({ text: "Invalid data format", code: 6, "invalid-event-number": number }));
    expect(splunkEvent.judge(named(2), 3)).toMatchObject({ entry: 2 });
    for (const number of [3, -1, 1.5, "1", null])
      expect(splunkEvent.judge(named(number), 3)).not.toHaveProperty("entry");
    // What a raw event is, the source type decides.
    expect(splunkRaw.judge(named(0), 3)).not.toHaveProperty("entry");
  });
});

describe("Sumo Logic", () => {
  it("gets the object's id as the name of its source, unless the string has one", () => {
    const of = (query: string) => read(`sumo://e.example/receiver/v1/http/code${query}`).options;
    expect(sumo.request?.(of(""), "id")).toEqual({ headers: { "x-sumo-name": "id" } });
    expect(sumo.request?.(of("?header_X-Sumo-Name=mine"), "id")).toEqual({});
  });

  it("may have what it timed out on", () => {
    expect(sumo.judge(answer(408), 1)).toMatchObject({ mayBeThere: true, error: { kind: "busy", retryAfterS: 7 } });
    expect(sumo.judge(answer(401), 1)).toMatchObject({ mayBeThere: false, error: { kind: "misconfigured" } });
    expect(sumo.judge(answer(202), 1)).toMatchObject({ kind: "failed" });
  });
});

describe("a record, for people", () => {
  it.each([
    [{}, "event"],
    [{ EventType: "scheduled", Event: { Cron: "0 * * * *" }, Outcome: "ok" }, "scheduled 0 * * * *"],
    [{ EventType: "queue", Event: { Queue: "jobs", BatchSize: 3 } }, "queue jobs"],
    [{ EventType: "worker_rpc", Event: { RPCMethod: "run" }, Outcome: "canceled" }, "worker_rpc run canceled"],
    [{ EventType: "onHibernate", Event: { Reason: "inactive" }, Outcome: "ok" }, "onHibernate inactive"],
    [{ EventType: '{"a":1}', Event: [], Logs: {}, Exceptions: [null, 1] }, "event\n\n"],
    [{ Logs: [{ Message: ['{"ScriptName":"forged"}'] }, { Message: "x" }] }, 'event\n{"ScriptName":"forged"}\n'],
  ])("is its call, what was thrown and what was logged: %j", (fields, message) => {
    expect(messageOf(fields)).toBe(message);
    expect(() => JSON.parse(messageOf(fields))).toThrow();
  });

  it("is cut, and stays text", () => {
    const message = messageOf({ EventType: "a", Logs: [{ Message: ["😀".repeat(3_000)] }, { Message: ["never"] }] });
    expect([message.length, message.isWellFormed()]).toEqual([4_000, true]);
  });

  it.each([
    [{}, "info"],
    [{ Outcome: "ok", Logs: [{ Level: "log" }, { Level: "debug" }] }, "info"],
    [{ Outcome: "canceled" }, "info"],
    [{ Outcome: "ok", Logs: [{ Level: "warn" }] }, "warn"],
    [{ Outcome: "ok", Logs: [{ Level: "warn" }, { Level: "error" }] }, "error"],
    [{ Outcome: "exceededCpu" }, "error"],
    [{ Outcome: "ok", Exceptions: [{ name: "E" }] }, "error"],
  ])("is as bad as its outcome, exceptions and logs: %j", (fields, severity) => {
    expect(severityOf(fields)).toBe(severity);
  });
});
