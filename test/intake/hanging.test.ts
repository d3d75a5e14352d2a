import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GATHER_MS } from "../../src/intake/company.ts";
import { type Keys, RegisterError } from "../../src/intake/first-copy.ts";
import { Gatherer } from "../../src/intake/gather.ts";
import { randomIds } from "../../src/intake/ids.ts";
import { OutboxFullError } from "../../src/intake/outbox.ts";
import { outboxShardOf } from "../../src/intake/outboxes.ts";
import { type HandedPart, PACKER_MS } from "../../src/intake/packer.ts";
import { type PackedMessage, packRecords } from "../../src/intake/packing.ts";
import { type EventQueue, SendError, sendMessages } from "../../src/intake/send.ts";
import { handleTail, keepable, type TailContext } from "../../src/intake/tail.ts";
import { takeEvents } from "../../src/intake/take.ts";
import { KEEP_MAX_BYTES } from "../../src/limits.ts";
import { Memory } from "../../src/memory.ts";
import { IN_FLIGHT_MS } from "../../src/pipeline/in-flight.ts";
import { platform, TimeoutError } from "../../src/platform.ts";
import { noise, noisyLine, TAKEN } from "../record/samples.ts";
import { type ScriptedQueue, scriptedBlobs, scriptedPlatform, scriptedQueue } from "./scripted.ts";

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

/** Messages of some 125 kB: two go into a call. */
function messages(count: number): PackedMessage[] {
  const lines = Array.from({ length: count }, (_, i) => noisyLine(125_000, i));
  const packed = packRecords(lines, { takenInMs: TAKEN, idOf: randomIds(), keyed: true });
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
  const failure = (sending: Promise<void>) => sending.catch((error: unknown) => error as SendError);

  it.each([
    [1, 5],
    [2, 3],
    [3, 1],
  ])("ends after ten seconds, with what is not known to be taken: call %i", async (hanging, left) => {
    const all = messages(5);
    const queue = hangingQueue((call) => call === hanging);
    const sending = failure(sendMessages(all, { queue, blobs: scriptedBlobs(), platform: scriptedPlatform(TAKEN) }));
    expect(await lasts(sending)).toBe(10_000);
    const error = (await sending) as SendError;
    expect(error).toBeInstanceOf(SendError);
    expect(error.cause).toBeInstanceOf(TimeoutError);
    expect(ids(error.unsent)).toEqual(ids(all.slice(5 - left)));
    // Not retried: it would take as long again.
    expect(queue.calls.length).toBe(hanging);
  });

  it("ends the same way where the blob store does not answer, and sends nothing", async () => {
    const packed = packRecords([noisyLine(500_000, 1)], { takenInMs: TAKEN, idOf: randomIds(), keyed: true });
    if (!packed.ok) throw new Error("not the message this test is about");
    const queue = scriptedQueue();
    const blobs = { ...scriptedBlobs(), put: () => never<void>() };
    const sending = failure(sendMessages(packed.messages, { queue, blobs, platform: scriptedPlatform(TAKEN) }));
    expect(await lasts(sending)).toBe(10_000);
    expect(((await sending) as SendError).unsent).toEqual(packed.messages);
    expect(queue.calls).toEqual([]);
  });

  it("is bounded as a whole as well, where each call is merely slow", async () => {
    const all = messages(40);
    const sending = failure(
      sendMessages(all, { queue: slowQueue(9_000), blobs: scriptedBlobs(), platform: scriptedPlatform(TAKEN) }),
    );
    expect(await lasts(sending)).toBe(45_000);
    expect(ids(((await sending) as SendError).unsent)).toEqual(ids(all.slice(10 - 2)));
    // The call under way.
    await vi.advanceTimersByTimeAsync(60_000);
  });

  it("goes on as before where the queue answers in time", async () => {
    const queue = slowQueue(9_000);
    const all = messages(4);
    const sending = sendMessages(all, { queue, blobs: scriptedBlobs(), platform: scriptedPlatform(TAKEN) });
    expect(await lasts(sending)).toBe(18_000);
    expect(ids(queue.taken())).toEqual(ids(all));
  });
});

describe("a request of events", () => {
  /** A register in which every request is a first copy at {@link TAKEN}. */
  const keys: Keys = { first: async (_hash, copy) => ({ ...copy, takenInMs: TAKEN, keyed: false }) };

  const memory = new Memory(platform);
  const requestOf = (text: string, ndjson: boolean) => {
    const bytes = new TextEncoder().encode(text);
    return { room: bytes.length, read: async () => bytes.slice(), ndjson, idempotencyKey: "k" };
  };

  it("fails as if the queue had refused it, and is the same messages when it is repeated", async () => {
    const queue = hangingQueue((call) => call === 1);
    const request = requestOf('{"event":null}', false);
    const context = {
      ...{ queue, blobs: scriptedBlobs(), platform: scriptedPlatform(TAKEN) },
      ...{ keys, memory, defaultScriptName: "unnamed", source: "rpc" },
    };
    const first = takeEvents(request, context).catch((error: unknown) => error);
    expect(await lasts(first)).toBe(10_000);
    expect(await first).toBeInstanceOf(SendError);
    expect(await takeEvents(request, { ...context, platform: scriptedPlatform(TAKEN + 10_000) })).toMatchObject({
      ok: true,
      accepted: 1,
    });
    // The first try was taken after all. The logs know its id.
    expect(new Set(ids(queue.taken())).size).toBe(1);
    expect(queue.taken().length).toBe(2);
  });

  it("is not sent where the register of keys does not answer, and ends after five seconds", async () => {
    const queue = scriptedQueue();
    const silent: Keys = { first: never };
    const request = requestOf('{"event":null}', false);
    const taken = takeEvents(request, {
      ...{ queue, blobs: scriptedBlobs(), platform: scriptedPlatform(TAKEN) },
      ...{ keys: silent, memory, defaultScriptName: "unnamed", source: "rpc" },
    }).catch((error: unknown) => error);
    expect(await lasts(taken)).toBe(5_000);
    expect(await taken).toBeInstanceOf(RegisterError);
    expect(queue.calls).toEqual([]);
  });

  it("with a key takes no longer than any other, though both the register and the queue are slow", async () => {
    const slow: Keys = { first: (hash, copy) => platform.sleep(4_900).then(() => keys.first(hash, copy)) };
    const lines = Array.from({ length: 40 }, (_, i) => JSON.stringify({ Outcome: noise(110_000, i) }));
    const request = requestOf(lines.join("\n"), true);
    const taken = takeEvents(request, {
      ...{ queue: slowQueue(9_000), blobs: scriptedBlobs(), platform: scriptedPlatform(TAKEN) },
      ...{ keys: slow, memory, defaultScriptName: "unnamed", source: "rpc" },
    }).catch((error: unknown) => error);
    expect(await lasts(taken)).toBeLessThanOrEqual(45_000);
    expect(await taken).toBeInstanceOf(SendError);
    // The call under way.
    await vi.advanceTimersByTimeAsync(60_000);
  });
});

/** To the next whole interval of the clock, when isolates hand over to the packer. */
const TO_INTERVAL_MS = GATHER_MS - (TAKEN % GATHER_MS);

interface Scripted extends TailContext {
  queue: ScriptedQueue;
  lost: number[];
  kept: PackedMessage[];
  living: Promise<void>[];
}

function context(queue: ScriptedQueue, fields: Partial<TailContext> = {}): Scripted {
  const [lost, kept, living]: [number[], PackedMessage[], Promise<void>[]] = [[], [], []];
  return {
    blobs: scriptedBlobs(),
    config: { selfName: "logship", defaultScriptName: "unnamed" },
    // Delays as the real one.
    platform: { now: () => TAKEN, sleep: platform.sleep },
    gatherer: new Gatherer(),
    waitUntil: (promise) => void living.push(promise),
    pack: async () => ({ refused: "full" }),
    keep: async (of) => void kept.push(...of),
    countLost: async (events) => void lost.push(events),
    ...fields,
    ...{ queue, lost, kept, living },
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

  it("keeps what the queue does not answer for, under the ids it had, and counts nothing as lost", async () => {
    const scripted = context(hangingQueue(() => true));
    expect(await toTheEnd([{ event: null }, { event: null }], scripted)).toBe(TO_INTERVAL_MS + 6_000);
    expect(ids(scripted.kept)).toEqual(ids(scripted.queue.calls[0]?.messages ?? []));
    expect(scripted.lost).toEqual([]);
  });

  it("sends what the packer does not answer for under the id that it has, and leaves the packer alone", async () => {
    const handed: HandedPart[] = [];
    const scripted = context(scriptedQueue(), {
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

  it("keeps only the rest where a part was taken", async () => {
    const scripted = context(hangingQueue((call) => call === 2));
    await toTheEnd([large(1), large(2), large(3)], scripted);
    expect(ids(scripted.kept)).toEqual(ids(scripted.queue.calls[1]?.messages ?? []));
    expect([scripted.kept.length, scripted.lost]).toEqual([1, []]);
  });

  it("hands over again what the outbox does not answer for: the same messages", async () => {
    const tries: string[][] = [];
    const keep = async (of: readonly PackedMessage[]): Promise<void> => {
      tries.push(ids(of));
      if (tries.length < 3) await never();
    };
    const scripted = context(
      hangingQueue(() => true),
      { keep },
    );
    expect(await toTheEnd([{ event: null }], scripted)).toBe(TO_INTERVAL_MS + 6_000 + 2_500 + 200 + 2_500 + 1_000);
    expect(tries.length).toBe(3);
    expect(new Set(tries.flat()).size).toBe(1);
    expect(scripted.lost).toEqual([]);
  });

  it("has counted what nobody answers for, well before it is ended", async () => {
    const scripted = context(
      hangingQueue(() => true),
      { keep: never },
    );
    expect(await toTheEnd([{ event: null }, { event: null }], scripted)).toBeLessThan(23_000);
    expect(scripted.lost).toEqual([2]);
    // The try under way.
    await vi.advanceTimersByTimeAsync(3_000);
  });

  it.each([
    ["hang", 10_000, 0],
    ["fail as late as they may", 3_300, 2_900],
  ])("is done by then even where all of them %s", async (_what, sendMs, keepMs) => {
    const late = (ms: number) => async (): Promise<void> => {
      await platform.sleep(ms);
      throw new Error("late, and no");
    };
    const scripted = context(
      { ...scriptedQueue(), sendBatch: late(sendMs) },
      { pack: never, keep: keepMs === 0 ? never : late(keepMs), countLost: never },
    );
    const took = await toTheEnd([{ event: null }], scripted);
    expect(took).toBeLessThanOrEqual(26_400);
    // What is on its way for so long holds up claims of completeness.
    expect(took).toBeLessThan(IN_FLIGHT_MS);
    await vi.advanceTimersByTimeAsync(60_000);
  });

  it("hands over in parts what one call could not carry", () => {
    const of = (n: number): PackedMessage => ({
      id: `${n}`,
      takenInMs: TAKEN,
      records: 1,
      body: new Uint8Array(40),
      blob: { key: `${n}`, body: new Uint8Array(1_800_000) },
    });
    const all = Array.from({ length: 20 }, (_, n) => of(n));
    const parts = keepable(all);
    expect(parts.map(({ length }) => length)).toEqual([8, 8, 4]);
    expect(parts.flat()).toEqual(all);
    expect(8 * 1_800_040).toBeLessThanOrEqual(KEEP_MAX_BYTES);
  });

  it("hands over to each object of the outbox what is its own: one that is full costs only that", async () => {
    const kept = new Map<number, number>();
    const keep = async (of: readonly PackedMessage[], shard: number): Promise<void> => {
      expect(of.map(({ id }) => outboxShardOf(id))).toEqual(of.map(() => shard));
      if (shard === 0) throw new OutboxFullError("the outbox is full");
      kept.set(shard, of.length);
    };
    const scripted = context(
      hangingQueue(() => true),
      { keep },
    );
    const items = Array.from({ length: 40 }, (_, n) => large(n));
    await toTheEnd(items, scripted);
    const stored = [...kept.values()].reduce((sum, each) => sum + each, 0);
    expect([...kept.keys()].toSorted()).toEqual([1, 2, 3]);
    expect(scripted.lost).toEqual([40 - stored]);
  });

  it("is not kept from counting what it could not read by a ledger that hangs, nor held by it", async () => {
    const scripted = context(scriptedQueue(), { countLost: never });
    expect(await toTheEnd([null], scripted)).toBe(3_000);
  });
});
