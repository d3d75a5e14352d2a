import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Memory } from "../../../src/base/memory.ts";
import { platform, TimeoutError } from "../../../src/base/platform.ts";
import { IN_FLIGHT_MS } from "../../../src/ship/consumer/in-flight.ts";
import { Gatherer } from "../../../src/ship/intake/gather.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import { type HandedPart, PACKER_MS } from "../../../src/ship/intake/packer.ts";
import { type PackedMessage, packRecords } from "../../../src/ship/intake/packing.ts";
import { GATHER_MS } from "../../../src/ship/intake/packing-policy.ts";
import { HOLD_MS } from "../../../src/ship/intake/queue-backoff.ts";
import { type EventQueue, REQUEST_DEADLINES, SendError, sendMessages } from "../../../src/ship/intake/send.ts";
import { handleTail, type TailContext } from "../../../src/ship/intake/tail.ts";
import { takeEvents } from "../../../src/ship/intake/take.ts";
import { noise, noisyLine, TAKEN } from "../../formats/record/samples.ts";
import {
  noLog,
  type ScriptedLog,
  type ScriptedQueue,
  scriptedLog,
  scriptedPlatform,
  scriptedQueue,
} from "./scripted.ts";

const never = <T>(): Promise<T> => new Promise<T>(() => {});

/**
 * A queue that takes everything, and does not answer some calls. @param hangs whether the n-th call
 * does, from 1.
 */
function hangingQueue(hangs: (call: number) => boolean): ScriptedQueue {
  const queue = scriptedQueue();
  const sendBatch: EventQueue["sendBatch"] = async (messages) => {
    await queue.sendBatch(messages);
    if (hangs(queue.calls.length)) await never();
  };
  return { ...queue, sendBatch };
}

/** A slow queue. */
function slowQueue(ms: number): ScriptedQueue {
  const queue = scriptedQueue();
  const sendBatch: EventQueue["sendBatch"] = async (messages) => {
    await platform.sleep(ms);
    await queue.sendBatch(messages);
  };
  return { ...queue, sendBatch };
}

/** A log that takes everything, and does not answer. */
function hangingLog(): ScriptedLog {
  const log = scriptedLog();
  const append: ScriptedLog["append"] = async (shard, what) => {
    await log.append(shard, what);
    return never();
  };
  return { ...log, append };
}

/** Messages of some 100 kB: two go into a call. */
function messages(count: number): PackedMessage[] {
  const lines = Array.from({ length: count }, (_, i) => noisyLine(125_000, i));
  const packed = packRecords(lines, { takenInMs: TAKEN, idOf: randomIds(1), keyed: false, shards: 1 });
  if (!packed.ok || packed.messages.length !== count) throw new Error("not the messages this test is about");
  return packed.messages;
}

/** Runs a promise to its end. @returns its duration. */
async function lasts(under: Promise<unknown>): Promise<number> {
  const began = Date.now();
  let ended: number | null = null;
  under.finally(() => {
    ended = Date.now() - began;
  });
  for (let s = 0; s < 600 && ended === null; s++) await vi.advanceTimersByTimeAsync(100);
  if (ended === null) throw new Error("still under way after a minute");
  return ended;
}

const ids = (of: readonly { id: string }[]) => of.map(({ id }) => id);

beforeEach(() => {
  vi.useFakeTimers();
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => {});
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("sending to a queue that does not answer", () => {
  const send = (all: readonly PackedMessage[], queue: ScriptedQueue, log: ScriptedLog = scriptedLog()) =>
    sendMessages(all, { queue, append: log.append, platform: scriptedPlatform(TAKEN) }, REQUEST_DEADLINES).catch(
      (error: unknown) => error as SendError,
    );

  it.each([
    [1, 5],
    [2, 3],
    [3, 1],
  ])("ends after ten seconds; what is not known to be taken is appended: call %i", async (hanging, left) => {
    const all = messages(5);
    const queue = hangingQueue((call) => call === hanging);
    const log = scriptedLog();
    expect(await lasts(send(all, queue, log))).toBe(10_000);
    expect(ids(log.taken())).toEqual(ids(all.slice(5 - left)));
    // Not retried: it would take as long again.
    expect(queue.calls.length).toBe(hanging);
  });

  it("ends where the log does not answer either, with what neither is known to have", async () => {
    const all = messages(5);
    const sending = send(
      all,
      hangingQueue((call) => call === 2),
      hangingLog(),
    );
    expect(await lasts(sending)).toBe(10_000 + REQUEST_DEADLINES.logMs);
    const error = (await sending) as SendError;
    expect(error).toBeInstanceOf(SendError);
    expect(error.cause).toBeInstanceOf(TimeoutError);
    expect(ids(error.unsent)).toEqual(ids(all.slice(2)));
  });

  it("is bounded as a whole as well, where each call is merely slow", async () => {
    const all = messages(40);
    const sending = send(all, slowQueue(9_000), hangingLog());
    expect(await lasts(sending)).toBe(45_000);
    expect(ids(((await sending) as SendError).unsent)).toEqual(ids(all.slice(3 * 2)));
    // The call under way.
    await vi.advanceTimersByTimeAsync(60_000);
  });

  it("goes on as before where the queue answers in time", async () => {
    const queue = slowQueue(9_000);
    const all = messages(4);
    expect(await lasts(send(all, queue))).toBe(18_000);
    expect(ids(queue.taken())).toEqual(ids(all));
  });
});

describe("a request of events", () => {
  const memory = new Memory(platform);
  const request = {
    room: 14,
    read: async () => new TextEncoder().encode('{"event":null}'),
    ndjson: false,
    idempotencyKey: "k",
  };
  const context = (queue: ScriptedQueue, log: ScriptedLog, takenInMs = TAKEN) => ({
    ...{ queue, append: log.append, platform: scriptedPlatform(takenInMs), memory },
    ...{
      defaultScriptName: "unnamed",
      shards: 1,
      source: "rpc" as const,
      keyShards: async () => ({ ok: true, shards: 1 }) as const,
    },
  });

  it("is taken where the queue does not answer and the log does", async () => {
    const queue = hangingQueue(() => true);
    const log = scriptedLog();
    const taken = takeEvents(request, context(queue, log));
    expect(await lasts(taken)).toBe(10_000);
    expect([await taken, ids(log.taken())]).toMatchObject([{ ok: true }, ids(queue.taken())]);
  });

  it("fails where neither answers, and is the same messages when it is repeated", async () => {
    const queue = hangingQueue((call) => call === 1);
    const first = takeEvents(request, context(queue, noLog())).catch((error: unknown) => error);
    expect(await lasts(first)).toBe(10_000);
    expect(await first).toBeInstanceOf(SendError);
    expect(await takeEvents(request, context(queue, noLog(), TAKEN + 10_000))).toMatchObject({ ok: true, accepted: 1 });
    // The first try was taken after all. The log knows its id.
    expect(new Set(ids(queue.taken())).size).toBe(1);
    expect(queue.taken().length).toBe(2);
  });
});

/** To the next whole interval of the clock, when isolates hand over to the packer. */
const TO_INTERVAL_MS = GATHER_MS - (TAKEN % GATHER_MS);

interface Scripted extends TailContext {
  queue: ScriptedQueue;
  lost: number[];
  living: Promise<void>[];
}

function context(queue: ScriptedQueue, log: ScriptedLog, fields: Partial<TailContext> = {}): Scripted {
  const [lost, living]: [number[], Promise<void>[]] = [[], []];
  return {
    append: log.append,
    config: { selfName: "logship", defaultScriptName: "unnamed", shards: 1 },
    // Delays as the real one.
    platform: { now: () => TAKEN, sleep: platform.sleep },
    gatherer: new Gatherer(),
    waitUntil: (promise) => void living.push(promise),
    pack: async () => ({ refused: "full" }),
    countLost: async (events) => void lost.push(events),
    ...fields,
    ...{ queue, lost, living },
  };
}

/** An item that fills a message. */
const large = (n: number, characters = 150_000) => ({
  event: null,
  scriptName: `large-${n}`,
  logs: [{ level: "log", message: [noise(characters, n)], timestamp: 1 }],
});

describe("tail(), which the platform ends thirty seconds after the invocation", () => {
  const toTheEnd = async (items: readonly unknown[], scripted: Scripted): Promise<number> => {
    await handleTail(items, scripted);
    return lasts(Promise.all(scripted.living));
  };

  it("appends what the queue does not answer for, under the ids it had, and counts nothing as lost", async () => {
    const log = scriptedLog();
    const scripted = context(
      hangingQueue(() => true),
      log,
    );
    expect(await toTheEnd([{ event: null }, { event: null }], scripted)).toBe(TO_INTERVAL_MS + 4_000);
    expect(ids(log.taken())).toEqual(ids(scripted.queue.calls[0]?.messages ?? []));
    expect(scripted.lost).toEqual([]);
  });

  it("sends what the packer does not answer for under the id that it has, and leaves the packer alone", async () => {
    const handed: HandedPart[] = [];
    const scripted = context(scriptedQueue(), noLog(), {
      pack: (part) => {
        handed.push(part);
        return never();
      },
    });
    expect(await toTheEnd([{ event: null }], scripted)).toBe(TO_INTERVAL_MS + PACKER_MS);
    expect(ids(scripted.queue.taken())).toEqual(ids(handed));
    await toTheEnd([{ event: null }], scripted);
    expect([handed.length, scripted.queue.taken().length, scripted.lost]).toEqual([1, 2, []]);
  });

  it("appends only the rest where a part was taken", async () => {
    const log = scriptedLog();
    const scripted = context(
      hangingQueue((call) => call === 2),
      log,
    );
    await toTheEnd([large(1), large(2), large(3)], scripted);
    expect(ids(log.taken())).toEqual(ids(scripted.queue.calls[1]?.messages ?? []));
    expect([log.taken().length, scripted.lost]).toEqual([1, []]);
  });

  const late = (ms: number) => async (): Promise<never> => {
    await platform.sleep(ms);
    throw new Error("late, and no");
  };

  it.each<[string, number, () => Promise<unknown>]>([
    ["hang", 10_000, never],
    ["fail as late as they may", 1_200, late(2_600)],
  ])(
    "has counted what nobody answers for, and is done by then, even where all of them %s",
    async (_what, sendMs, append) => {
      const fields = { pack: never<unknown>, append };
      const scripted = context({ ...scriptedQueue(), sendBatch: late(sendMs) }, noLog(), fields);
      await toTheEnd([{ event: null }, { event: null }], scripted);
      expect(scripted.lost).toEqual([2]);
      const silent = context({ ...scriptedQueue(), sendBatch: late(sendMs) }, noLog(), { ...fields, countLost: never });
      const took = await toTheEnd([{ event: null }], silent);
      expect(took).toBeLessThanOrEqual(GATHER_MS + 6_000 + 4_000 + 10_000 + 3_000);
      expect(took).toBeGreaterThan(20_000);
      // What is on its way for so long holds up claims of completeness.
      expect(took).toBeLessThan(IN_FLIGHT_MS);
      await vi.advanceTimersByTimeAsync(60_000);
    },
  );

  it("is done by then where its records were held before", async () => {
    const scripted = context(
      hangingQueue(() => true),
      hangingLog(),
      { countLost: never },
    );
    scripted.gatherer.policy.failed(TAKEN);
    scripted.gatherer.backoff.refused(TAKEN);
    const began = Date.now();
    scripted.platform.now = () => TAKEN + Date.now() - began;
    expect(await toTheEnd([{ event: null }], scripted)).toBe(HOLD_MS + 4_000 + 10_000 + 3_000);
  });

  it("is not kept from counting what it could not read by a log that hangs, nor held by it", async () => {
    const scripted = context(scriptedQueue(), noLog(), { countLost: never });
    expect(await toTheEnd([null], scripted)).toBe(3_000);
  });
});
