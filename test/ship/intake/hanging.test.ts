import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { platform, TimeoutError } from "../../../src/base/platform.ts";
import { IN_FLIGHT_MS } from "../../../src/ship/consumer/in-flight.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import { type HandedPart, PACKER_MS } from "../../../src/ship/intake/packer.ts";
import { type PackedMessage, packRecords } from "../../../src/ship/intake/packing.ts";
import { GATHER_MS } from "../../../src/ship/intake/packing-policy.ts";
import { HOLD_MS } from "../../../src/ship/intake/queue-backoff.ts";
import { type EventQueue, REQUEST_DEADLINES, SendError, sendMessages } from "../../../src/ship/intake/send.ts";
import { handleTail } from "../../../src/ship/intake/tail.ts";
import { noisyLine, TAKEN } from "../../formats/record/samples.ts";
import {
  noLog,
  type ScriptedLog,
  type ScriptedQueue,
  type ScriptedTail,
  scriptedLog,
  scriptedPlatform,
  scriptedQueue,
  scriptedTail,
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

/** It answers nothing. */
const silentQueue = (): ScriptedQueue => hangingQueue(() => true);

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
});

/** To the next whole interval of the clock, when isolates hand over to the packer. */
const TO_INTERVAL_MS = GATHER_MS - (TAKEN % GATHER_MS);

/** Delays are as the real ones. */
const context = (queue: ScriptedQueue, log: ScriptedLog, fields: Partial<ScriptedTail> = {}): ScriptedTail =>
  scriptedTail({ queue, log, platform: { now: () => TAKEN, sleep: platform.sleep }, ...fields });

describe("tail(), which the platform ends thirty seconds after the invocation", () => {
  const toTheEnd = async (items: readonly unknown[], scripted: ScriptedTail): Promise<number> => {
    await handleTail(items, scripted);
    return lasts(Promise.all(scripted.living));
  };

  it("appends what the queue does not answer for, under the ids it had, and counts nothing as lost", async () => {
    const log = scriptedLog();
    const scripted = context(silentQueue(), log);
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
      expect(scripted.lost).toEqual(["lost 2"]);
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
    const scripted = context(silentQueue(), hangingLog(), { countLost: never });
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
