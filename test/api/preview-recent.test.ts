/**
 * Previews compared with what is really shipped: the same events through intake, queue, log and
 * destination.
 */
import { createExecutionContext, createMessageBatch, evictDurableObject, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import type { PreviewResult } from "../../src/api/preview.ts";
import worker from "../../src/index.ts";
import type { PackedMessage } from "../../src/intake/packing.ts";
import { traceLog } from "../../src/trace-log/trace-log.ts";
import { readSingleMember } from "../support/gzip-member.ts";
import type { Minted } from "../support/oracle.ts";
import { Oracle } from "../support/oracle.ts";
import { api, createJob } from "../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, redeliver, setClock, settle } from "../support/runtime/pipeline.ts";

const DAY_MS = 86_400_000;

const ask = async (body: object = {}) => (await api<PreviewResult>("POST", "/logship/preview", body)).body.result;

/** The outcomes of the recent events. */
const recent = async (): Promise<string[]> => {
  const { records } = await ask({ output_options: { record_template: "{{ .Outcome }}", record_suffix: "}" } });
  return records.map(({ text }) => text.slice(2, -2));
};

// Each test runs in its own hour: the isolate remembers its last handover.
let hour = 0;
let clock: ReturnType<typeof setClock>;
let oracle: Oracle;
beforeEach(() => {
  hour += 1;
  clock = setClock(NOON + hour * 3_600_000);
  oracle = new Oracle({ at: clock.nowMs() });
});

/** Messages of one event each, with that outcome. */
const messages = (
  outcomes: readonly string[],
  options: { scriptName?: string; padding?: number } = {},
): PackedMessage[] => outcomes.flatMap((outcome) => pack(oracle.mint(1, { outcome, ...options }), clock.nowMs()));

/** Delivers messages once the next handover is due. */
const deliverNow = (sent: readonly PackedMessage[]) => {
  clock.advance(1_000);
  return deliver(sent);
};

const WHERE = JSON.stringify({
  where: {
    or: [
      { key: "Outcome", operator: "!eq", value: "ok" },
      { key: "Logs", operator: "contains", value: "needle" },
    ],
  },
});

describe("a preview", () => {
  const event = (outcome: string, message: string, atMs = 0) => ({
    EventTimestampMs: clock.nowMs() + atMs,
    Outcome: outcome,
    ScriptName: 'sh"op',
    Logs: [{ Level: "log", Message: [message, "€$"], TimestampMs: NOON }],
    Exceptions: [{ Name: "Error", Message: "{", TimestampMs: NOON }],
  });
  const events = () => [
    event("ok", "left out"),
    event("exception", "kept"),
    event("canceled", "yesterday", -DAY_MS),
    event("ok", `${"x".repeat(30_000)}needle`),
    event("exception", "😀".repeat(7_000)),
    event("ok", "left out, too", -DAY_MS),
  ];

  it.each([
    ["as a job ships by default", {}],
    [
      "as CSV with a header",
      {
        output_options: {
          ...{ output_type: "csv", field_names: ["ScriptName", "Logs", "Outcome", "EventTimestampMs"] },
          ...{ batch_prefix: "ScriptName,Logs,Outcome,EventTimestampMs\n", field_delimiter: ";" },
        },
      },
    ],
    [
      "as a list in JSON, without any ${",
      {
        filter: WHERE,
        output_options: {
          ...{ batch_prefix: "[$", batch_suffix: "]", record_suffix: "}", record_delimiter: ",\n$" },
          "CVE-2021-44228": true,
        },
      },
    ],
    [
      "by a template",
      { filter: WHERE, output_options: { record_template: '"at": {{ .EventTimestampMs }}, "why": {{ .Exceptions }}' } },
    ],
    ["by logpull_options", { filter: WHERE, logpull_options: "fields=Outcome,Logs&timestamps=rfc3339" }],
  ])("of the events that a job gets is, byte for byte, what the job writes: %s", async (_how, options) => {
    const { name, control } = freshBucket();
    const id = await createJob(name, options);
    const sent = events();
    const minted = sent.map((each) => ({ event: each })) as unknown as Minted[];
    await deliver(pack(minted, clock.nowMs(), { source: "http:Admin token" }));
    await settle(id, clock);
    const written = (await control.contents()).filter(({ key }) => !key.includes("00010101"));
    const texts = written.map(({ key, bytes }) => {
      const member = readSingleMember(bytes);
      if (!member.ok) throw new Error(member.reason);
      return [
        key.split("/")[1],
        new TextDecoder("utf-8", { ignoreBOM: true, fatal: true }).decode(member.raw),
        member.raw.length,
      ];
    });
    const objects = ({ objects }: PreviewResult) => objects.map(({ day, text, bytes }) => [day, text, bytes]).sort();
    expect(texts.length).toBe(2);
    const given = await ask({ ...options, events: sent });
    expect(objects(given)).toEqual(texts.sort());
    // The same ones are still held.
    expect(await ask(options)).toEqual({ ...given, source: "recent" });
    const { result } = (await api<{ [name: string]: number }>("GET", `/logship/jobs/${id}/ledger`)).body;
    expect([result.received, result.filtered, result.delivered]).toEqual([6, given.filtered, given.kept]);
    expect(given.truncated).toBe(1);
  });
});

describe("recent events", () => {
  it("are those of the last messages, whether any job wants them or not, each once", async () => {
    const first = messages(["a", "b"]);
    await deliverNow(first);
    await deliverNow(messages(["c"]));
    expect(await recent()).toEqual(["a", "b", "c"]);
    // An acknowledgement was lost.
    clock.advance(1_000);
    expect((await redeliver(first)).acked.length).toBe(2);
    await deliverNow([...first, ...messages(["d"])]);
    expect(await recent()).toEqual(["a", "b", "c", "d"]);
  });

  it("are handed over once a second, and the newest remain", async () => {
    await deliverNow(messages(["a"]));
    await deliver(messages(["unseen"]));
    await deliverNow(messages(Array.from({ length: 90 }, (_, i) => `b${i}`)));
    await deliverNow(messages(Array.from({ length: 90 }, (_, i) => `c${i}`)));
    await deliverNow(messages(Array.from({ length: 90 }, (_, i) => `d${i}`)));
    const held = await recent();
    expect([held.length, held[0], held.at(-1)]).toEqual([200, "b70", "d89"]);
  });

  it("are none that are larger than 32 KiB, of which the answer says so", async () => {
    await deliverNow([...messages(["large"], { padding: 40_000 }), ...messages(["small"])]);
    const { body } = await api<PreviewResult>("POST", "/logship/preview", {});
    expect(body.result.events).toBe(1);
    expect(body.messages).toEqual([{ code: 1003, message: "1 recent events were too large to hold" }]);
  });

  it("are none of a function from when its logging is off, nor of one that is forgotten", async () => {
    const set = (logship: boolean) => api("PATCH", "/functions/scripts/till/script-settings", { logship });
    await deliverNow([...messages(["shop"], { scriptName: "shop" }), ...messages(["till"], { scriptName: "till" })]);
    const late = messages(["late"], { scriptName: "till" });
    expect(await recent()).toEqual(["shop", "till"]);
    clock.advance(60_000);
    expect((await set(false)).status).toBe(200);
    expect(await recent()).toEqual(["shop"]);
    // This one came earlier and ships, but is no longer shown.
    await deliverNow([...late, ...messages(["off"], { scriptName: "till" })]);
    expect(await recent()).toEqual(["shop"]);
    clock.advance(60_000);
    expect((await set(true)).status).toBe(200);
    clock.advance(60_000);
    await deliverNow(messages(["on"], { scriptName: "till" }));
    expect(await recent()).toEqual(["shop", "on"]);
    expect((await api("DELETE", "/functions/scripts/till")).status).toBe(200);
    expect(await recent()).toEqual(["shop"]);
  });

  it.each(["false", "no"])("are not held where PREVIEW_RECENT is %s", async (PREVIEW_RECENT) => {
    const bodies = messages(["a"]).map(({ body }, i) => ({
      ...{ id: `${i}`, timestamp: new Date(), attempts: 1 },
      body: body.slice().buffer,
    }));
    const batch = createMessageBatch("logship-events", bodies);
    clock.advance(1_000);
    await worker.queue(batch, { ...env, PREVIEW_RECENT } as Env);
    const { explicitAcks } = await getQueueResult(batch, createExecutionContext());
    expect([explicitAcks.length, await recent()]).toEqual([1, []]);
  });

  it("are gone with the memory that they are in: nothing is stored", async () => {
    await deliverNow(messages(["a"]));
    expect(await recent()).toEqual(["a"]);
    await evictDurableObject(traceLog(env.TRACE_LOG, 0));
    const { body } = await api<PreviewResult>("POST", "/logship/preview", {});
    expect([body.result.events, body.messages.length]).toEqual([0, 1]);
  });
});
