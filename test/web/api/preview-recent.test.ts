import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import type { PackedMessage } from "../../../src/ship/intake/packing.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import type { PreviewResult } from "../../../src/web/api/preview.ts";
import { message, open } from "../../ship/log/shard.ts";
import { readSingleMember } from "../../support/gzip-member.ts";
import type { Minted } from "../../support/oracle.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { keepHours } from "../../support/runtime/keeping.ts";
import { deliver, freshBucket, NOON, pack, redeliver, setClock, settle } from "../../support/runtime/pipeline.ts";

const DAY_MS = 86_400_000;

const ask = async (body: object = {}) => (await api<PreviewResult>("POST", "/logship/preview", body)).body.result;

/** The outcomes of the recent events. */
const recent = async (): Promise<string[]> => {
  const { records } = await ask({ output_options: { record_template: "{{ .Outcome }}", record_suffix: "}" } });
  return records.map(({ text }) => text.slice(2, -2));
};

let clock: ReturnType<typeof setClock>;
let oracle: Oracle;
beforeEach(() => {
  clock = setClock(NOON);
  oracle = new Oracle({ at: clock.nowMs() });
});

/** Messages of one event each, with that outcome. */
const messages = (
  outcomes: readonly string[],
  options: { scriptName?: string; padding?: number } = {},
): PackedMessage[] => outcomes.flatMap((outcome) => pack(oracle.mint(1, { outcome, ...options }), clock.nowMs()));

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
      "as a list in JSON, without any ${",
      {
        filter: WHERE,
        output_options: {
          ...{ batch_prefix: "[$", batch_suffix: "]", record_suffix: "}", record_delimiter: ",\n$" },
          "CVE-2021-44228": true,
        },
      },
    ],
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
    // The log still keeps the same ones.
    expect(await ask(options)).toEqual({ ...given, source: "recent" });
    const { result } = (await api<{ [name: string]: number }>("GET", `/logship/jobs/${id}/ledger`)).body;
    expect([result.received, result.filtered, result.delivered]).toEqual([6, given.filtered, given.kept]);
    expect(given.truncated).toBe(1);
  });
});

describe("recent events", () => {
  it("are those of the last messages, whether any job wants them or not, each once", async () => {
    const first = messages(["a", "b"]);
    await deliver(first);
    await deliver(messages(["c"]));
    expect(await recent()).toEqual(["a", "b", "c"]);
    // An acknowledgement was lost.
    expect((await redeliver(first)).acked.length).toBe(2);
    await deliver([...first, ...messages(["d"])]);
    expect(await recent()).toEqual(["a", "b", "c", "d"]);
  });

  it("are the newest 200, as many of each shard", async () => {
    const many = (name: string) => messages(Array.from({ length: 90 }, (_, i) => `${name}${i}`));
    for (const name of ["b", "c", "d"]) await deliver(many(name));
    const held = await recent();
    expect([held.length, held[0], held.at(-1)]).toEqual([200, "b70", "d89"]);
    await controlPlane(env.CONTROL).join(1, "");
    expect((await recent()).length).toBe(100);
    await traceLog(env.TRACE_LOG, 1).append(open([message(1), message(2)]));
    const both = await recent();
    expect([both.length, both[0], ...both.slice(-3)]).toEqual([102, "c80", "d89", "event 1", "event 2"]);
  });

  it("are none of a function while its logging is off, nor what was taken in then", async () => {
    const set = (logship: boolean) => api("PATCH", "/functions/scripts/till/script-settings", { logship });
    await deliver([...messages(["shop"], { scriptName: "shop" }), ...messages(["till"], { scriptName: "till" })]);
    const late = messages(["late"], { scriptName: "till" });
    expect(await recent()).toEqual(["shop", "till"]);
    clock.advance(60_000);
    expect((await set(false)).status).toBe(200);
    expect(await recent()).toEqual(["shop"]);
    // The first one came earlier and ships, but is not shown now.
    await deliver([...late, ...messages(["off"], { scriptName: "till" })]);
    expect(await recent()).toEqual(["shop"]);
    clock.advance(60_000);
    expect((await set(true)).status).toBe(200);
    clock.advance(60_000);
    await deliver(messages(["on"], { scriptName: "till" }));
    expect(await recent()).toEqual(["shop", "till", "late", "on"]);
  });

  it("are none where the log keeps nothing, and all are read", async () => {
    keepHours(0);
    await deliver(messages(["a"]));
    const { body } = await api<PreviewResult>("POST", "/logship/preview", {});
    expect([body.result.events, body.messages.length]).toEqual([0, 1]);
  });
});
