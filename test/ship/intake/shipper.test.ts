import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { EVENT_MAX_BYTES, EVENTS_MAX_COUNT } from "../../../src/base/limits.ts";
import { isolateMemory } from "../../../src/base/memory.ts";
import { platform } from "../../../src/base/platform.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { Shipper } from "../../../src/index.ts";
import { NOON, traceRecord } from "../../formats/record/samples.ts";
import vectors from "../../support/tail-vectors.ts";
import { logBinding, noLog, type ScriptedQueue, scriptedQueue } from "./scripted.ts";

function shipper(fails?: (call: number) => boolean): { entrypoint: Shipper; queue: ScriptedQueue } {
  const queue = scriptedQueue(fails);
  vi.spyOn(platform, "now").mockReturnValue(NOON);
  vi.spyOn(platform, "sleep").mockResolvedValue();
  const bindings = { ...env, EVENTS: queue, TRACE_LOG: logBinding(noLog()) } as unknown as Env;
  return { entrypoint: new Shipper(createExecutionContext() as ExecutionContext<unknown>, bindings), queue };
}

const records = (queue: ScriptedQueue): TraceRecord[] =>
  queue.taken().flatMap(({ lines }) => lines.map((line) => JSON.parse(line) as TraceRecord));

describe("ship()", () => {
  it("can be called over a service binding, and answers when the real queue has the events", async () => {
    expect(await exports.Shipper.ship([{ event: null }, { Outcome: "ok" }])).toEqual({ accepted: 2, unknownKeys: [] });
  });

  it("tells its caller what was wrong over a service binding, too", async () => {
    let told: unknown;
    try {
      await exports.Shipper.ship([{ event: null }, {}]);
    } catch (error) {
      told = error;
    }
    expect(told).toBeInstanceOf(TypeError);
    expect((told as TypeError).message).toMatch(/^\/1: neither a trace item nor a record/);
  });

  it("takes one event or many, of either form, as they are mapped everywhere", async () => {
    const { entrypoint, queue } = shipper();
    expect(await entrypoint.ship({ event: null })).toEqual({ accepted: 1, unknownKeys: [] });
    expect(await entrypoint.ship(vectors.map(({ item }) => item))).toMatchObject({ accepted: vectors.length });
    expect(records(queue).slice(1)).toEqual(vectors.map(({ record }) => record));
    expect(await entrypoint.ship([])).toEqual({ accepted: 0, unknownKeys: [] });
  });

  it("takes what only a call can carry as JSON would have had it", async () => {
    const { entrypoint, queue } = shipper();
    const at = new Date("2026-11-20T12:00:00.250Z");
    await entrypoint.ship({ event: { scheduledTime: at }, scriptName: undefined, eventTimestamp: NOON });
    expect(records(queue)[0]).toMatchObject({
      EventType: "alarm",
      Event: { ScheduledTimeMs: at.getTime() },
      ScriptName: "unnamed",
    });
  });

  it("takes an event of 1 MiB", async () => {
    const { entrypoint, queue } = shipper();
    const record = traceRecord({ Outcome: "" });
    const Outcome = "x".repeat(EVENT_MAX_BYTES - JSON.stringify(record).length);
    await entrypoint.ship([traceRecord(), { ...record, Outcome }]);
    expect(records(queue).map((taken) => taken.Outcome.length)).toEqual([2, Outcome.length]);
  });

  /** A list that is twice in a list, and so on. */
  const doubled = (times: number): unknown => (times === 0 ? [{ event: null }] : twice(doubled(times - 1)));
  const twice = (value: unknown): unknown[] => [value, value];
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;

  it.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /the events are not JSON/],
    ["a function", () => {}, /the events are not JSON/],
    ["a cycle", cyclic, /the events are not JSON/],
    ["a BigInt", { CPUTimeMs: 1n }, /the events are not JSON/],
    ["text", "event", /^\/: an event is a JSON object/],
    ["null", null, /^\/: an event is a JSON object/],
    ["a bad time", [{ event: null }, { EventTimestampMs: -1 }], /^\/1\/EventTimestampMs: must be a time/],
    ["two faults", [{ EventTimestampMs: -1 }, {}], /^\/0\/EventTimestampMs: .*; \/1: /],
    ["more events than a call may carry", Array(EVENTS_MAX_COUNT + 1).fill({ event: null }), /at most 20000 events/],
    [
      "more bytes than a call may carry",
      Array(17).fill({ Outcome: "x".repeat(1_000_000) }),
      /larger than 16777216 bytes/,
    ],
    ["what is in itself so often that its JSON fits no memory", doubled(40), /larger than 16777216 bytes/],
    ["bytes", new Uint8Array(20_000_000), /larger than 16777216 bytes/],
    ["what is larger only with its escapes", { Outcome: "\u0001".repeat(4_000_000) }, /larger than 16777216 bytes/],
  ])("refuses %s, and takes nothing of it", async (_, events, message) => {
    const { entrypoint, queue } = shipper();
    const error = await entrypoint.ship(events).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
    expect(queue.calls).toEqual([]);
  });

  it("makes no JSON before there is room for it, and gives the room back", async () => {
    const held: number[] = [];
    const stringify = vi.spyOn(JSON, "stringify");
    const take = vi.spyOn(isolateMemory, "take").mockImplementation(async (bytes) => {
      held.push(bytes);
      stringify.mockClear();
      return null;
    });
    const { entrypoint } = shipper();
    await expect(entrypoint.ship([{ Outcome: "x".repeat(900_000) }])).rejects.toThrow("too much is under way");
    expect(stringify).not.toHaveBeenCalled();
    expect(held[0]).toBeGreaterThan(900_000);
    vi.mocked(take).mockRestore();
    const before = isolateMemory.held;
    await expect(entrypoint.ship({ CPUTimeMs: 1n })).rejects.toThrow(TypeError);
    expect(isolateMemory.held).toBe(before);
  });

  it("gives the same events the same ids when it is called again with the same key, and only then", async () => {
    const { entrypoint, queue } = shipper();
    await entrypoint.ship({ event: null }, { idempotencyKey: "k" });
    await entrypoint.ship({ event: null }, { idempotencyKey: "k" });
    await entrypoint.ship({ event: null }, { idempotencyKey: "other" });
    await entrypoint.ship({ event: null });
    const [first, again, ...others] = queue.taken().map(({ id, keyed }) => `${id} ${keyed}`);
    expect(first).toBe(again);
    expect(new Set([first, ...others]).size).toBe(3);
  });

  it.each(["x", "x".repeat(255)])("takes %j as a key", async (idempotencyKey) => {
    const { entrypoint, queue } = shipper();
    await entrypoint.ship({ event: null }, { idempotencyKey });
    expect(queue.taken()).toMatchObject([{ keyed: true }]);
  });

  it.each(["", "x".repeat(256), 5, {}])("refuses %j as a key", async (idempotencyKey) => {
    const { entrypoint, queue } = shipper();
    await expect(entrypoint.ship({ event: null }, { idempotencyKey } as object)).rejects.toThrow(
      /idempotencyKey must have/,
    );
    expect(queue.calls).toEqual([]);
  });

  it.each(["k", 5, null, true])(
    "refuses %j as options: a key that is not heard would be worse than none",
    async (options) => {
      const { entrypoint, queue } = shipper();
      await expect(entrypoint.ship({ event: null }, options as unknown as object)).rejects.toThrow(
        "options must be an object",
      );
      expect(queue.calls).toEqual([]);
    },
  );

  it("names times that can only be in another unit", async () => {
    const { entrypoint, queue } = shipper();
    const EventTimestampMs = NOON / 1_000;
    expect(await entrypoint.ship([{ event: null }, { EventTimestampMs }])).toEqual({
      ...{ accepted: 2, unknownKeys: [] },
      oddTimes: ["/1/EventTimestampMs can only be in seconds, not in milliseconds; it is kept as it was sent"],
    });
    expect(records(queue)[1]).toMatchObject({ EventTimestampMs });
  });

  it("names no more dropped keys than anybody reads", async () => {
    const { entrypoint } = shipper();
    const keys = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`${"k".repeat(100)}${i}`, 1]));
    const { unknownKeys } = await entrypoint.ship({ event: null, ...keys });
    expect([unknownKeys.length, Math.max(...unknownKeys.map((key) => key.length))]).toEqual([100, 64]);
  });

  it("fails when neither the queue nor the log takes everything, with an error that says so", async () => {
    const { entrypoint } = shipper(() => true);
    await expect(entrypoint.ship({ event: null })).rejects.toThrow("neither the queue nor the log took all messages");
  });
});
