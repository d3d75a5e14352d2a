import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { EVENT_MAX_BYTES, EVENTS_BODY_MAX_BYTES } from "../../../src/base/limits.ts";
import { shardOf } from "../../../src/formats/queue/shard.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { DAY_MS, NOON, noise, traceRecord } from "../../formats/record/samples.ts";
import { type ScriptedQueue, scriptedLog } from "../../ship/intake/scripted.ts";
import vectors from "../../support/tail-vectors.ts";
import { type CallOptions, call, errorsOf, expectRefused, intake } from "./harness.ts";

const PATH = "/logship/datasets/functions_trace_events/events";
const NDJSON = { "content-type": "application/x-ndjson" };
const GZIP = { "content-encoding": "gzip" };

let world: ReturnType<typeof intake>;
beforeEach(() => {
  world = intake();
});

const post = (body: unknown, headers: CallOptions["headers"] = {}, { options } = world) =>
  call<{ accepted: number }>("POST", PATH, body, { ...options, headers });

const records = (way: Pick<ScriptedQueue, "taken"> = world.queue): TraceRecord[] =>
  way.taken().flatMap(({ lines }) => lines.map((line) => JSON.parse(line) as TraceRecord));

const gzip = (text: string) => new Uint8Array(gzipSync(text));

/** Posts a body that must be refused as a whole. */
async function refused(body: unknown, headers: CallOptions["headers"] = {}) {
  const answer = await post(body, headers);
  expect(world.queue.calls).toEqual([]);
  return answer;
}

describe("events that are taken", () => {
  const two = [{ event: null, outcome: "a" }, { Outcome: "b" }];
  const lines = two.map((event) => JSON.stringify(event)).join("\n");

  const forms: [what: string, body: unknown, headers: Record<string, string | null>, outcomes: string[]][] = [
    ["one trace item", two[0], {}, ["a"]],
    ["one record", two[1], {}, ["b"]],
    ["an array of both", two, {}, ["a", "b"]],
    ["lines", lines, NDJSON, ["a", "b"]],
    ["lines of the other name", lines, { "content-type": "application/ndjson" }, ["a", "b"]],
    [
      "lines that end in CRLF, with blank ones between",
      `\r\n${lines.replace("\n", "\r\n\r\n")}\r\n`,
      NDJSON,
      ["a", "b"],
    ],
    ["lines, gzip", gzip(lines), { ...NDJSON, ...GZIP }, ["a", "b"]],
    ["JSON with its encoding named", two, { "content-type": "application/json; charset=utf-8" }, ["a", "b"]],
    ["JSON that does not say so", new TextEncoder().encode(JSON.stringify(two)), { "content-type": null }, ["a", "b"]],
    ["JSON with a byte order mark", `\ufeff${JSON.stringify(two)}`, {}, ["a", "b"]],
    ["no lines", "\n", NDJSON, []],
  ];

  it.each(forms)("may come as %s", async (_what, body, headers, outcomes) => {
    const answer = await post(body, headers);
    expect([answer.status, answer.body]).toEqual([
      202,
      { errors: [], messages: [], result: { accepted: outcomes.length }, success: true },
    ]);
    expect(records().map(({ Outcome }) => Outcome)).toEqual(outcomes);
  });

  it("are acknowledged when the queue has all of them, stamped with the time of intake", async () => {
    await post(two);
    expect(world.queue.calls.map(({ contentTypes }) => contentTypes)).toEqual([["bytes"]]);
    expect(world.queue.taken()).toMatchObject([{ takenInMs: NOON, keyed: false, records: 2 }]);
    expect(records().map(({ EventTimestampMs }) => EventTimestampMs)).toEqual([NOON, NOON]);
  });

  it("become the records they should: every item of the corpus at once", async () => {
    const answer = await post(vectors.map(({ item }) => item));
    expect(answer.body.result).toEqual({ accepted: vectors.length });
    expect(answer.body.messages.map(({ message }) => message)).toEqual(['unknown key "_trimmed" was dropped']);
    expect(records()).toEqual(vectors.map(({ record }) => record));
  });

  it("have unknown top-level keys dropped, and each of these named once", async () => {
    const answer = await post([
      { event: null, zone: 1, "a/b": 2 },
      { Outcome: "x", zone: 3, Zone: 4 },
    ]);
    expect(answer.body.messages).toEqual(
      ["Zone", "a/b", "zone"].map((name) => ({ code: 1001, message: `unknown key "${name}" was dropped` })),
    );
    expect(JSON.stringify(records())).not.toMatch(/zone|a\/b/i);
  });

  it("name times that can only be in another unit, and keep them as they are", async () => {
    const seconds = NOON / 1_000;
    const answer = await post([
      { EventTimestampMs: seconds, zone: 1 },
      { event: { cron: "* * * * *", scheduledTime: seconds }, eventTimestamp: NOON },
      { EventTimestampMs: NOON, Event: { ScheduledTimeMs: NOON * 1_000 } },
    ]);
    expect([answer.status, answer.body.result]).toEqual([202, { accepted: 3 }]);
    const odd = [
      ["/0/EventTimestampMs", "seconds"],
      ["/1/event/scheduledTime", "seconds"],
      ["/2/Event/ScheduledTimeMs", "microseconds"],
    ].map(([at, unit]) => `${at} can only be in ${unit}, not in milliseconds; it is kept as it was sent`);
    expect(answer.body.messages).toEqual(
      [...odd, 'unknown key "zone" was dropped'].map((message) => ({ code: 1001, message })),
    );
    expect(records()).toMatchObject([
      { EventTimestampMs: seconds },
      { Event: { ScheduledTimeMs: seconds } },
      { Event: { ScheduledTimeMs: NOON * 1_000 } },
    ]);
  });

  it("name at most a hundred unknown keys, and not all of a long one", async () => {
    const keys = Object.fromEntries(
      Array.from({ length: 150 }, (_, i) => [`${`${i}`.padStart(3, "0")}${"k".repeat(1_000)}`, i]),
    );
    const answer = await post({ event: null, ...keys });
    expect(answer.status).toBe(202);
    expect(answer.body.messages.length).toBe(100);
    for (const { message } of answer.body.messages) expect(message.length).toBeLessThan(100);
  });

  it("are taken whatever their size up to 1 MiB: small ones by the queue, large ones by the log", async () => {
    const large = (bytes: number, seed: number) => {
      const record = traceRecord({ Outcome: "" });
      return { ...record, Outcome: noise(bytes - JSON.stringify(record).length, seed).replaceAll(/["\\]/g, "'") };
    };
    const events = [traceRecord(), large(400_000, 1), traceRecord(), large(EVENT_MAX_BYTES, 2), traceRecord()];
    for (const key of [null, "k"]) {
      const again = intake(() => false, scriptedLog());
      const answer = await post(events, { "idempotency-key": key }, again);
      expect([answer.status, answer.body.result]).toEqual([202, { accepted: 5 }]);
      for (const [way, expected] of [
        [again.queue, events.filter((_, i) => i % 2 === 0)],
        [again.log, events.filter((_, i) => i % 2 === 1)],
      ] as const) {
        // Not toEqual: a report of megabytes would be useless.
        expect(records(way).map(({ Outcome }) => Outcome.length)).toEqual(
          expected.map(({ Outcome }) => Outcome.length),
        );
        expect(JSON.stringify(records(way)) === JSON.stringify(expected)).toBe(true);
      }
    }
  });

  it("are taken up to twenty thousand", async () => {
    const answer = await post('{"event":null}\n'.repeat(20_000), NDJSON);
    expect([answer.status, answer.body.result]).toEqual([202, { accepted: 20_000 }]);
    expect(world.queue.taken().reduce((sum, { records: n }) => sum + n, 0)).toBe(20_000);
  });

  it("are taken up to 16 MiB, compressed or not", async () => {
    const body = '{"event":null}'.padEnd(EVENTS_BODY_MAX_BYTES, " ");
    expect((await post(body)).status).toBe(202);
    expect((await post(gzip(body), GZIP)).status).toBe(202);
  });
});

describe("a request that is refused", () => {
  it("names too much: nothing of it is taken, and it may be repeated in the next hour", async () => {
    const { queue, options } = world;
    const full = { getByName: () => ({ admit: async () => false }) };
    const settings = { ...options.settings, TRACE_LOG: full };
    const answer = await call("POST", PATH, { event: null, scriptName: "one too many" }, { ...options, settings });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "3600"]);
    expect(errorsOf(answer)[0]?.[2]).toMatch(/^within an hour, a sender may name 1000 functions and far-away days/);
    expect(queue.calls).toEqual([]);
  });

  const JSON_FAULT = "the body is not JSON: ";
  const FORMS = "send JSON objects, one after the other or in an array";
  const UNKNOWN = "neither a trace item nor a record: none of its keys is known";
  const bodies: [what: string, body: unknown, headers: Record<string, string>, message: string][] = [
    ["nothing", "", {}, `${JSON_FAULT}it is empty; ${FORMS}`],
    ["not JSON", "{", {}, `${JSON_FAULT}it ends too early, at line 1, column 2 (byte 1); ${FORMS}`],
    [
      "an array and more",
      '[{"event":null}]\n{"event":null}',
      {},
      `${JSON_FAULT}line 2, column 1 (byte 17) has what JSON does not allow there; ${FORMS}`,
    ],
    [
      "an indented event with a fault, once and not for each line",
      '{\n  "event": null\n}\n{\n  "event": nil\n}\n',
      NDJSON,
      `${JSON_FAULT}line 5, column 12 (byte 33) has what JSON does not allow there; ${FORMS}`,
    ],
    [
      "indented events that break off",
      '{\n  "event": null\n}\n{\n  "event": null,',
      NDJSON,
      `${JSON_FAULT}it ends too early, at line 5, column 17 (byte 38); ${FORMS}`,
    ],
    ["no event", "5", {}, "an event is a JSON object"],
    ["an empty object", "{}", {}, UNKNOWN],
    ["an object of another kind", { foo: 1 }, {}, UNKNOWN],
    ["not UTF-8", Uint8Array.of(0x7b, 0xff), {}, "the body is not valid UTF-8"],
    ["gzip that is not UTF-8", new Uint8Array(gzipSync(Uint8Array.of(0xff))), GZIP, "the body is not valid UTF-8"],
  ];

  it.each(bodies)("says why, and nothing is taken: %s", async (_what, body, headers, message) => {
    const answer = await refused(body, headers);
    expectRefused(answer, 400, [1001, "", message]);
  });

  const ENCODING = "Content-Encoding must be gzip or absent";
  const TYPE = "Content-Type must be application/json or application/x-ndjson";
  const forms: [headers: Record<string, string>, status: number, code: number, message: string][] = [
    [GZIP, 400, 1001, "the body is not valid gzip"],
    [{ "content-encoding": "br" }, 415, 1015, ENCODING],
    [{ "content-encoding": "gzip, gzip" }, 415, 1015, ENCODING],
    [{ "content-type": "text/plain" }, 415, 1015, TYPE],
    [{ "content-type": "multipart/form-data; boundary=x" }, 415, 1015, TYPE],
    [{ "content-type": "application/jsonl" }, 415, 1015, TYPE],
  ];

  it.each(forms)("is of no form that is taken: %j", async (headers, status, code, message) => {
    const answer = await refused('{"event":null}', headers);
    expectRefused(answer, status, [code, undefined, message]);
  });

  it("has one event too many", async () => {
    const events = '{"event":null}\n'.repeat(20_001);
    const answer = await refused(events, NDJSON);
    expectRefused(answer, 413, [1013, "", "at most 20000 events a request"]);
  });

  it("has one byte too many, compressed or not", async () => {
    const body = '{"event":null}'.padEnd(EVENTS_BODY_MAX_BYTES + 1, " ");
    for (const answer of [await refused(body), await refused(gzip(body), GZIP)]) {
      expectRefused(answer, 413, [1013, undefined, "the body is larger than 16777216 bytes"]);
    }
  });

  const DAYS_OFF = "must be a time in milliseconds since the epoch, from 0 to 253402300799999";

  it("has bad events: each fault is named with its pointer, and the good ones are not taken, either", async () => {
    const events = [
      { event: null },
      { EventTimestampMs: -1 },
      {},
      { Outcome: 5, Logs: [{}, { TimestampMs: "x" }] },
      { event: null, eventTimestamp: 1e15 },
      { Outcome: "fine" },
    ];
    const expected = [
      [1001, "/1/EventTimestampMs", DAYS_OFF],
      [1001, "/2", "neither a trace item nor a record: none of its keys is known"],
      [1001, "/3/Logs/1/TimestampMs", DAYS_OFF],
      [1001, "/3/Outcome", "must be a string"],
      [1001, "/4/eventTimestamp", `${DAYS_OFF}; this one can only be in microseconds`],
    ];
    for (const answer of [
      await refused(events),
      await refused(events.map((event) => JSON.stringify(event)).join("\n\n"), NDJSON),
    ]) {
      expectRefused(answer, 400, ...expected);
    }
  });

  it("does not repeat what was sent", async () => {
    const secret = "SeCrEtOfACustomer";
    const answers = [
      await refused(secret),
      await refused({ Outcome: [secret], CPUTimeMs: secret }),
      await refused(`{"a":"${secret}"`, NDJSON),
      await refused([secret]),
    ];
    expect(JSON.stringify(answers.map(({ body }) => body))).not.toContain(secret);
  });
});

describe("a queue that fails", () => {
  const events = Array.from({ length: 5 }, (_, i) => traceRecord({ Outcome: `${i}`, ScriptName: noise(100_000, i) }));

  it("for good makes it 503: some may have been taken, and the request may be repeated", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    world = intake(() => true);
    const answer = await post(events);
    expectRefused(answer, 503, [
      1053,
      undefined,
      "neither the queue nor the log took all events; some may have been taken. Repeat the request with the same Idempotency-Key: nothing is taken twice",
    ]);
    expect(answer.headers.get("retry-after")).toBe("5");
    expect(world.queue.taken()).toEqual([]);
    expect(logged).toHaveBeenCalled();
  });
});

describe("what neither queue nor log", () => {
  it("takes is refused; what the log takes is accepted", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    world = intake(() => true, scriptedLog());
    expect((await post([{ event: null }, { event: null }])).status).toBe(202);
    expect(world.log.taken().map(({ records: n, source }) => [n, source])).toEqual([[2, "http:Admin token"]]);
  });
});

describe("a KEY_SHARDS that is malformed, or another one than at first,", () => {
  it.each([
    ["3", /^KEY_SHARDS is malformed/],
    ["4", /^KEY_SHARDS is 4, but was 1 at first/],
  ])("refuses requests with a key, as a repeat might not be known as one, and no others: %s", async (set, words) => {
    world.options.settings = { ...world.options.settings, KEY_SHARDS: set };
    const answer = await post({ event: null }, { "idempotency-key": "order-5" });
    expect([answer.status, errorsOf(answer)[0]?.[2]]).toEqual([503, expect.stringMatching(words)]);
    expect(world.queue.calls).toEqual([]);
    expect((await post({ event: null })).status).toBe(202);
  });
});

describe("a request that is repeated", () => {
  const events = Array.from({ length: 2_000 }, (_, i) => ({ Outcome: `${i} ${noise(200, i)}` }));

  /** Posts the same again in a fresh world, a day later. */
  async function again(body: unknown, headers: CallOptions["headers"]) {
    const later = intake();
    const options = { ...later.options, platform: { ...later.platform, now: () => NOON + DAY_MS } };
    expect((await call("POST", PATH, body, { ...options, headers })).status).toBe(202);
    return later.queue.taken();
  }

  it("with a key is cut where its body says, whatever the settings make of it", async () => {
    const headers = { "idempotency-key": "order-5" };
    const few = [
      ...Array.from({ length: 101 }, () => ({ event: null })),
      { Outcome: noise(100_000, 1) },
      { event: null },
    ];
    await post(few, headers);
    const first = world.queue.taken();
    expect(first.map(({ records: n, keyed, shards }) => [n, keyed, shards])).toEqual(
      [100, 1, 1, 1].map((n) => [n, true, 1]),
    );
    world = intake();
    world.options.settings = {
      ...world.options.settings,
      ...{ DEFAULT_SCRIPT_NAME: "x".repeat(5_000), LOG_SHARDS: 8 },
    };
    await post(few, headers);
    expect(world.queue.taken().map(({ id, shards }) => [id, shards])).toEqual(first.map(({ id }) => [id, 1]));
    expect(records()[0]?.ScriptName.length).toBe(5_000);
  });

  it("without a key says how many shards there are, and lies in one of them", async () => {
    world.options.settings = { ...world.options.settings, LOG_SHARDS: 8 };
    await post(events);
    const taken = world.queue.taken();
    expect(taken.length).toBeGreaterThan(1);
    expect(new Set(taken.map(({ shards }) => shards))).toEqual(new Set([8]));
    expect(new Set(taken.map(shardOf)).size).toBe(1);
  });

  it("with the same key, compressed or not, sends messages with the same ids and records, marked as such", async () => {
    const headers = { "idempotency-key": "order-5" };
    await post(events, headers);
    const first = world.queue.taken();
    expect(first.length).toBeGreaterThan(1);
    const packed = await again(gzip(JSON.stringify(events)), { ...headers, ...GZIP });
    for (const second of [await again(events, headers), packed]) {
      expect(second.map(({ id, keyed, records: n }) => [id, keyed, n])).toEqual(
        first.map(({ id, records: n }) => [id, true, n]),
      );
      const outcomes = (messages: typeof first) =>
        messages.map(({ lines }) => lines.map((line) => (JSON.parse(line) as TraceRecord).Outcome));
      expect(outcomes(second)).toEqual(outcomes(first));
    }
    expect(new Set(first.map(({ id }) => id)).size).toBe(first.length);
  });

  const others: [what: string, body: unknown, headers: CallOptions["headers"]][] = [
    ["another key", events, { "idempotency-key": "order-6" }],
    ["the same key for other events", [...events, { Outcome: "more" }], { "idempotency-key": "order-5" }],
    ["no key", events, {}],
  ];

  it.each(others)("with %s is another request: not one id is the same", async (_what, body, headers) => {
    await post(events, { "idempotency-key": "order-5" });
    const first = new Set(world.queue.taken().map(({ id }) => id));
    for (const { id, keyed } of await again(body, headers))
      expect([first.has(id), keyed]).toEqual([false, headers?.["idempotency-key"] !== undefined]);
  });

  it.each(["k", "k".repeat(255), 'any "printable" text, even €'.replace("€", "!")])(
    "may have any key of 1 to 255 characters: %s",
    async (key) => {
      expect((await post(events[0], { "idempotency-key": key })).status).toBe(202);
      expect(world.queue.taken()).toMatchObject([{ keyed: true }]);
    },
  );

  it.each(["", "k".repeat(256)])("may not have a key of other lengths: %j", async (key) => {
    const answer = await refused(events[0], { "idempotency-key": key });
    expectRefused(answer, 400, [1001, undefined, "Idempotency-Key must have 1 to 255 characters"]);
  });
});
