import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { RECENT_MAX_BYTES } from "../../../src/base/limits.ts";
import type { OpenMessage } from "../../../src/ship/log/blocks.ts";
import { TraceLog, traceLog } from "../../../src/ship/log/trace-log.ts";
import type { PreviewResult } from "../../../src/web/api/preview.ts";
import { NOON, traceRecord } from "../../formats/record/samples.ts";
import { damaged, id, record } from "../../ship/consumer/scripted.ts";
import { message, open } from "../../ship/log/shard.ts";
import { setClock } from "../../support/runtime/pipeline.ts";
import { type CallOptions, call, errorsOf, expectRefused, intake } from "./harness.ts";

const ask = (body: unknown, options?: CallOptions) => call<PreviewResult>("POST", "/logship/preview", body, options);

const where = (node: object) => JSON.stringify({ where: node });
const FAILED = where({ key: "Outcome", operator: "!eq", value: "ok" });

describe("a preview of events that are given", () => {
  it("shows what is kept, what is not and why, and the objects that it would make", async () => {
    const { status, body } = await ask({
      filter: FAILED,
      output_options: {
        field_names: ["EventTimestampMs", "Outcome"],
        output_type: "csv",
        batch_prefix: "EventTimestampMs,Outcome\n",
      },
      events: [
        { EventTimestampMs: NOON, Outcome: "ok" },
        { EventTimestampMs: NOON + 1, Outcome: "exception" },
        { eventTimestamp: NOON + 86_400_000, outcome: "canceled", event: null },
      ],
    });
    expect([status, body.messages]).toEqual([200, []]);
    expect(body.result).toEqual({
      source: "given",
      ...{ events: 3, kept: 2, filtered: 1, sampled_out: 0, truncated: 0, left_out: 0 },
      records: [
        { index: 1, text: `${NOON + 1},"exception"\n`, source: "http:Admin token", truncated: false },
        { index: 2, text: `${NOON + 86_400_000},"canceled"\n`, source: "http:Admin token", truncated: false },
      ],
      not_kept: [{ index: 0, reason: "filtered" }],
      objects: [
        { day: "20261120", text: `EventTimestampMs,Outcome\n${NOON + 1},"exception"\n`, bytes: 51 },
        { day: "20261121", text: `EventTimestampMs,Outcome\n${NOON + 86_400_000},"canceled"\n`, bytes: 50 },
      ].map((object) => ({ ...object, content_type: "text/csv", records: 1, complete: true })),
    });
  });

  it("fills in what is missing as intake does", async () => {
    setClock(NOON);
    const events = [{ outcome: "ok" }, { ScriptName: "shop" }];
    const options = { settings: { DEFAULT_SCRIPT_NAME: "nameless" } };
    const field_names = ["EventTimestampMs", "ScriptName", "Outcome"];
    const { result } = (await ask({ output_options: { field_names }, events }, options)).body;
    expect(result.records.map(({ text }) => JSON.parse(text))).toEqual([
      { EventTimestampMs: NOON, ScriptName: "nameless", Outcome: "ok" },
      { EventTimestampMs: NOON, ScriptName: "shop", Outcome: "" },
    ]);
  });

  it("names keys that no event has, and says that a sample is an example", async () => {
    const { body } = await ask({
      output_options: { sample_rate: 0.5 },
      events: Array.from({ length: 100 }, () => ({ Outcome: "ok", extra: 1 })),
    });
    expect(body.messages).toEqual([
      { code: 1001, message: 'unknown key "extra" was dropped' },
      { code: 1003, message: "the sample is an example: a job samples other records, at the same rate" },
    ]);
    const { kept, sampled_out, filtered } = body.result;
    expect([kept + sampled_out, filtered]).toEqual([100, 0]);
    expect(Math.min(kept, sampled_out)).toBeGreaterThan(25);
  });

  it("names times that can only be in another unit", async () => {
    const { body } = await call<PreviewResult>("POST", "/logship/preview", {
      events: [{ EventTimestampMs: 1_795_176_000 }],
    });
    expect(body.messages.map(({ message }) => message)).toEqual([
      "/events/0/EventTimestampMs can only be in seconds, not in milliseconds; it is kept as it was sent",
    ]);
    expect(body.result.objects).toMatchObject([{ day: "19700121" }]);
  });

  it("of none is empty, and asks nobody for recent ones", async () => {
    const records = vi.spyOn(TraceLog.prototype, "records");
    const { body } = await ask({ events: [] });
    expect([body.result.source, body.result.events, body.messages]).toEqual(["given", 0, []]);
    expect(records).not.toHaveBeenCalled();
  });

  it("shows half a megabyte of text, and says how many records that leaves out", async () => {
    const record_suffix = "x".repeat(2_048);
    const output_options = { field_names: ["Outcome"], record_prefix: "", record_suffix };
    const events = Array.from({ length: 1_000 }, () => ({ Outcome: "" }));
    const { body } = await ask({ output_options, events });
    const each = 12 + record_suffix.length;
    const shown = Math.floor((512 * 1024) / each);
    const { records, objects, left_out, kept } = body.result;
    expect([records.length, left_out, kept]).toEqual([shown, 1_000 - shown, 1_000]);
    expect(objects.map(({ text, ...object }) => [text.length, object.bytes, object.complete])).toEqual([
      [shown * each, 1_000 * each, false],
    ]);
    expect(body.messages).toEqual([
      {
        code: 1003,
        message: `the last ${1_000 - shown} kept records are not shown: the output is longer than 524288 bytes`,
      },
    ]);
  });

  it("stores nothing, queues nothing, and is not in the audit", async () => {
    const { options, queue } = intake();
    const events = [{ Outcome: "ok" }];
    expect((await ask({ events }, { settings: options.settings ?? {} })).status).toBe(200);
    expect(queue.calls).toEqual([]);
    expect((await call<unknown[]>("GET", "/logship/audit")).body.result).toEqual([]);
    expect((await call("GET", "/logship/ledger")).body.result).toMatchObject({ processed: 0 });
    expect((await ask({})).body.result.events).toBe(0);
  });
});

describe("a preview that cannot be shown", () => {
  it("says all that is wrong, in the words of a job's creation and of intake, each with its place", async () => {
    const answer = await ask({
      filter: '{"where":{"and":[{"key":"Outcome","operator":"eq"}]}}',
      output_options: { field_names: ["Outcome", "outcome"], record_template: "{{ .Outcome" },
      logpull_options: "fields=Nothing",
      events: [{}, { Outcome: "ok" }, 7, { EventTimestampMs: -1, Outcome: 1 }],
    });
    expect(answer.status).toBe(400);
    const job = await call("POST", "/logship/jobs", {
      destination_conf: "s3://bucket/logs?region=auto&access-key-id=a&secret-access-key=b",
      filter: '{"where":{"and":[{"key":"Outcome","operator":"eq"}]}}',
      output_options: { field_names: ["Outcome", "outcome"], record_template: "{{ .Outcome" },
      logpull_options: "fields=Nothing",
    });
    const not = "creating a new job is not allowed: ";
    const ofJob = errorsOf(job).map(([code, pointer, message]) => [code, pointer, message.replace(not, "")]);
    expect(ofJob.map(([, pointer]) => pointer)).toEqual([
      "/output_options/field_names/1",
      "/output_options/record_template",
      "/logpull_options",
      "/filter",
    ]);
    const time = "must be a time in milliseconds since the epoch, from 0 to 253402300799999";
    expect(errorsOf(answer)).toEqual([
      ...ofJob,
      [1001, "/events/0", "neither a trace item nor a record: none of its keys is known"],
      [1001, "/events/2", "an event is a JSON object"],
      [1001, "/events/3/EventTimestampMs", time],
      [1001, "/events/3/Outcome", "must be a string"],
    ]);
  });

  it.each([
    ["with a key that is none", { event: [] }, [[1001, "/event", 'unknown key "event"']]],
    ["with events that are none", { events: {} }, [[1001, "/events", expect.stringContaining("array")]]],
    [
      "with too many events",
      { events: Array.from({ length: 1_001 }, () => ({ Outcome: "" })) },
      [[1001, "/events", expect.stringContaining("1000")]],
    ],
    [
      "with events of too many days",
      { events: Array.from({ length: 32 }, (_, day) => ({ EventTimestampMs: day * 86_400_000 })) },
      [[1001, "/events", "at most 31 distinct UTC days a request; these events span 32"]],
    ],
  ])("is one whose body is %s", async (_what, body, errors) => {
    const answer = await ask(body);
    expectRefused(answer, 400, ...errors);
  });

  const deep = (levels: number, [open, close]: [string, string]) => open.repeat(levels) + close.repeat(levels);

  it("is one whose events are nested too deeply for intake, and no other", async () => {
    const events = [
      `{"Event":{"a":${deep(1_000, ["[", "]"])}}}`,
      `{"Event":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}}`,
      `{"event":null,"logs":[{"message":[${deep(60_000, ["[", "]"])}]}]}`,
      deep(100_000, ["[", "]"]),
    ];
    for (const event of events) {
      const { options } = intake();
      const sent = await call("POST", "/logship/datasets/functions_trace_events/events", `[${event}]`, options);
      const previewed = await ask(`{"events":[${event}]}`);
      expect(previewed.status).toBe(sent.status === 202 ? 200 : 400);
      const below = errorsOf(sent).map(([code, pointer, message]) => [code, `/events${pointer}`, message]);
      expect(errorsOf(previewed)).toEqual(below);
    }
  });
});

describe("a preview of recent events", () => {
  const asked = () => vi.spyOn(TraceLog.prototype, "records");
  const append = (...messages: ArrayBuffer[]) => traceLog(env.TRACE_LOG, 0).append(open(messages));

  it("shows those that the log keeps, oldest first, and how many are too large", async () => {
    const large = traceRecord({ Entrypoint: "x".repeat(32 * 1024) });
    await append(message(1, { records: [record("old"), large, large] }));
    await append(message(2, { records: [record("new")] }));
    const records = asked();
    const output_options = { field_names: ["Outcome"] };
    for (const events of [undefined, null]) {
      const { body } = await ask({ events, output_options });
      expect([body.result.source, body.result.records.map(({ text }) => text)]).toEqual([
        "recent",
        ['{"Outcome":"old"}\n', '{"Outcome":"new"}\n'],
      ]);
      expect(body.messages).toEqual([{ code: 1003, message: "2 recent events are too large to be shown" }]);
      expect(records).toHaveBeenLastCalledWith(0, RECENT_MAX_BYTES, true);
    }
  });

  it("is empty, and says why, where there are none", async () => {
    const { status, body } = await ask({ filter: FAILED });
    expect([status, body.result.source, body.result.events, body.result.objects]).toEqual([200, "recent", 0, []]);
    const words = "the log has no events to show; send some as events";
    expect(body.messages).toEqual([{ code: 1003, message: words }]);
  });

  it("is empty, and asks nobody, where none are to be shown", async () => {
    const records = asked();
    const { body } = await ask({}, { settings: { PREVIEW_RECENT: "false" } });
    const words = 'recent events are not shown, because PREVIEW_RECENT is "false"; send some as events';
    expect([body.result.events, body.messages]).toEqual([0, [{ code: 1003, message: words }]]);
    expect(records).not.toHaveBeenCalled();
  });

  it("passes over a message that this code cannot read", async () => {
    const [good, bad] = [message(1), damaged(message(2))].map((body, n) => ({
      ...{ body: new Uint8Array(body), parts: [id(n + 1)], off: {} },
    })) as [OpenMessage, OpenMessage];
    asked().mockImplementation(() => ({ messages: [bad, good], end: 1 }));
    const { status, body } = await ask({ output_options: { field_names: ["Outcome"] } });
    expect([status, body.result.records.map(({ text }) => text)]).toEqual([200, ['{"Outcome":"event 1"}\n']]);
  });
});
