import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Outbox, outbox } from "../../src/intake/outbox.ts";
import { type PackedMessage, packRecords } from "../../src/intake/packing.ts";
import { SUBREQUESTS } from "../../src/limits.ts";
import { splitMessage } from "../../src/queue/message.ts";
import { noisyLine } from "../record/samples.ts";
import { encodeMessage } from "../support/message.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import { blobBinding, type ScriptedBlobs, type ScriptedQueue, scriptedBlobs, scriptedQueue } from "./scripted.ts";

const never = (): Promise<never> => new Promise(() => {});

/**
 * One message for each line. @param digits first of each id, which selects the blob store's shard.
 */
function messages(lines: readonly string[], digits = "0"): PackedMessage[] {
  return lines.flatMap((line, i) => {
    const idOf = () => (digits[i % digits.length] as string) + crypto.randomUUID().replaceAll("-", "").slice(1);
    const packed = packRecords([line], { takenInMs: NOON, idOf, keyed: false });
    if (!packed.ok) throw new Error("not the messages this test is about");
    return packed.messages;
  });
}

/** A reference, though its records are small. @param digit as above. */
function apart(n: number, digit: string): PackedMessage {
  const id = digit + n.toString(16).padStart(31, "0");
  const envelope = { id, takenInMs: NOON, keyed: false, records: 1 };
  const { reference, key, body } = splitMessage(encodeMessage(envelope, new TextEncoder().encode(`"${n}"\n`)));
  return { id, takenInMs: NOON, records: 1, body: reference, blob: { key, body } };
}

interface Bindings {
  queue?: ScriptedQueue;
  blobs?: ScriptedBlobs;
  /** The ledger's `expectAgain`. */
  note?: () => Promise<void>;
}

/** Runs with the outbox, its bindings replaced. */
async function inOutbox<T>(
  { queue = scriptedQueue(), blobs = scriptedBlobs(), note = async () => {} }: Bindings,
  run: (instance: Outbox, storage: DurableObjectStorage) => Promise<T>,
): Promise<T> {
  return runInDurableObject(outbox(env.OUTBOX), async (instance: Outbox, { storage }) => {
    const ledger = { getByName: () => ({ expectAgain: note }) };
    const value = { ...env, EVENTS: queue, BLOBS: blobBinding(blobs), ACCOUNT: ledger };
    Object.defineProperty(instance, "env", { value, configurable: true });
    return run(instance, storage);
  });
}

/** Runs a promise of an object to its end. @returns its duration. */
async function lasts(under: Promise<unknown>): Promise<number> {
  const began = Date.now();
  let ended: number | null = null;
  under.finally(() => {
    ended = Date.now() - began;
  });
  for (let s = 0; s < 1_000 && ended === null; s++) await vi.advanceTimersByTimeAsync(1_000);
  if (ended === null) throw new Error("still under way after a quarter of an hour");
  return ended;
}

const left = async (): Promise<number> => (await outbox(env.OUTBOX).status()).messages;
const LARGE = [1, 2, 3, 4].map((seed) => noisyLine(800_000, seed));

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(() => {
  vi.useRealTimers();
});

describe("the alarm of the outbox", () => {
  it("is not held by a queue that does not answer: one group is waited for, all are kept, and it is set again", async () => {
    setClock(NOON);
    await outbox(env.OUTBOX).keep(messages(['"a"', '"b"', '"c"']));
    const queue = { ...scriptedQueue(), sendBatch: vi.fn(never) };
    await inOutbox({ queue }, async (instance, storage) => {
      vi.useFakeTimers();
      expect(await lasts(instance.alarm())).toBe(10_000);
      expect(vi.getTimerCount()).toBe(0);
      vi.useRealTimers();
      expect(await storage.getAlarm()).toBe(NOON + 30_000);
    });
    expect(queue.sendBatch).toHaveBeenCalledOnce();
    expect(await left()).toBe(3);
    // What may have been taken is sent again under its id.
    const well = scriptedQueue();
    await inOutbox({ queue: well }, (instance) => instance.alarm());
    expect([well.taken().length, await left()]).toEqual([3, 0]);
  });

  it.each([
    ["does not answer", never, 5_000],
    ["fails", () => Promise.reject(new Error("the ledger does not answer")), 0],
  ])(
    "ends where the ledger %s, whatever the messages are, and nothing is sent that it does not know of",
    async (_, note, ms) => {
      setClock(NOON);
      await outbox(env.OUTBOX).keep([...messages(LARGE.slice(0, 2)), ...messages(['"a"'])]);
      const queue = scriptedQueue();
      const asked = vi.fn(note);
      await inOutbox({ queue, note: asked }, async (instance, storage) => {
        vi.useFakeTimers();
        expect(await lasts(instance.alarm())).toBe(ms);
        vi.useRealTimers();
        expect(await storage.getAlarm()).toBe(NOON + 30_000);
      });
      expect([asked.mock.calls.length, queue.calls.length, await left()]).toEqual([1, 0, 3]);
    },
  );

  it("waits once for a part of the blob store that hangs, after the small ones, and sends what lies in others", async () => {
    setClock(NOON);
    await outbox(env.OUTBOX).keep([...messages(LARGE, "1121"), ...messages(['"a"', '"b"'])]);
    const blobs = scriptedBlobs();
    const put = blobs.put;
    blobs.put = (key, body) => (key.startsWith("1") ? never() : put(key, body));
    const queue = scriptedQueue(() => false, blobs);
    await inOutbox({ queue, blobs }, async (instance) => {
      vi.useFakeTimers();
      expect(await lasts(instance.alarm())).toBe(10_000);
    });
    expect(queue.taken().map(({ lines }) => lines[0]?.slice(0, 3))).toEqual(['"a"', '"b"', LARGE[2]?.slice(0, 3)]);
    expect(await left()).toBe(3);
  });

  it("is not filled by what waits for a part that hangs: what lies behind 250 of these is sent at once", async () => {
    setClock(NOON);
    await outbox(env.OUTBOX).keep(Array.from({ length: 251 }, (_, n) => apart(n, n < 250 ? "1" : "e")));
    const blobs = scriptedBlobs();
    const put = blobs.put;
    const asked = vi.fn<ScriptedBlobs["put"]>((key, body) => (key.startsWith("1") ? never() : put(key, body)));
    blobs.put = asked;
    const queue = scriptedQueue(() => false, blobs);
    await inOutbox({ queue, blobs }, async (instance) => {
      vi.useFakeTimers();
      expect(await lasts(instance.alarm())).toBe(10_000);
    });
    expect(queue.taken().map(({ lines }) => lines)).toEqual([['"250"']]);
    expect([asked.mock.calls.length, await left()]).toEqual([2, 250]);
    // The next alarm tries that shard again.
    const well = scriptedBlobs();
    const later = scriptedQueue(() => false, well);
    await inOutbox({ queue: later, blobs: well }, (instance) => instance.alarm());
    expect([later.taken().length, await left()]).toEqual([250, 0]);
  });

  it("ends before it has made more calls than it may, and goes on at once", async () => {
    setClock(NOON);
    await outbox(env.OUTBOX).keep(Array.from({ length: 800 }, (_, n) => apart(n, "0123456789abcdef".charAt(n % 16))));
    const blobs = scriptedBlobs();
    const queue = scriptedQueue(() => false, blobs);
    const note = vi.fn(async () => {});
    await inOutbox({ queue, blobs, note }, async (instance, storage) => {
      await instance.alarm();
      expect(await storage.getAlarm()).toBe(NOON);
    });
    const made = note.mock.calls.length + blobs.calls.length + queue.calls.length;
    expect(made).toBeGreaterThan(SUBREQUESTS.min / 2);
    expect(made).toBeLessThanOrEqual(SUBREQUESTS.min);
    expect(queue.taken().length + (await left())).toBe(800);
    await inOutbox({ queue, blobs }, (instance) => instance.alarm());
    expect([queue.taken().length, await left()]).toEqual([800, 0]);
  });

  it("waits before it goes on where the blob store fails, however much waits", async () => {
    setClock(NOON);
    await outbox(env.OUTBOX).keep(Array.from({ length: 1_100 }, (_, n) => apart(n, "1")));
    const blobs = scriptedBlobs(() => true);
    await inOutbox({ blobs }, async (instance, storage) => {
      await instance.alarm();
      expect(await storage.getAlarm()).toBe(NOON + 30_000);
    });
    expect(blobs.calls.length).toBeLessThanOrEqual(SUBREQUESTS.min);
  });

  it("ends after five minutes, where everything is merely slow, and goes on at once", async () => {
    setClock(NOON);
    await outbox(env.OUTBOX).keep(Array.from({ length: 400 }, (_, n) => apart(n, "0123456789abcdef".charAt(n % 16))));
    const blobs = scriptedBlobs();
    const queue = scriptedQueue(() => false, blobs);
    const sendBatch = queue.sendBatch.bind(queue);
    queue.sendBatch = async (batch) => {
      await new Promise((resolve) => setTimeout(resolve, 9_000));
      await sendBatch(batch);
    };
    await inOutbox({ queue, blobs }, async (instance, storage) => {
      vi.useFakeTimers();
      expect(await lasts(instance.alarm())).toBe(34 * 9_000);
      vi.useRealTimers();
      expect(await storage.getAlarm()).toBe(NOON);
    });
    expect([queue.taken().length, await left()]).toEqual([34 * 8, 400 - 34 * 8]);
  });
});

describe("the second clock of the outbox", () => {
  const drive = (bindings: Bindings) => inOutbox(bindings, (instance) => instance.drive());

  it("sends nothing while the alarm is set, and is not late", async () => {
    const clock = setClock(NOON);
    await outbox(env.OUTBOX).keep(messages(['"a"']));
    const queue = scriptedQueue();
    clock.advance(75_000);
    await drive({ queue });
    expect([queue.calls.length, await left()]).toEqual([0, 1]);
  });

  it.each([
    ["was forgotten", (storage: DurableObjectStorage) => storage.deleteAlarm(), 0],
    ["did not fire when it should have", async () => {}, 75_001],
  ])("sends what waits when the alarm %s", async (_what, change, ms) => {
    const clock = setClock(NOON);
    await outbox(env.OUTBOX).keep(messages(['"a"', '"b"']));
    await runInDurableObject(outbox(env.OUTBOX), (_outbox, { storage }) => change(storage));
    clock.advance(ms);
    const queue = scriptedQueue();
    await drive({ queue });
    expect([queue.taken().length, await left()]).toEqual([2, 0]);
  });

  it("sets the alarm again where the queue still does not take it", async () => {
    setClock(NOON);
    await outbox(env.OUTBOX).keep(messages(['"a"']));
    await inOutbox({ queue: scriptedQueue(() => true) }, async (instance, storage) => {
      await storage.deleteAlarm();
      await instance.drive();
      expect(await storage.getAlarm()).not.toBeNull();
    });
    expect(await left()).toBe(1);
  });

  it("asks nothing of anybody when nothing waits", async () => {
    setClock(NOON);
    const note = vi.fn(async () => {});
    await drive({ note });
    expect(note).not.toHaveBeenCalled();
    expect(await runDurableObjectAlarm(outbox(env.OUTBOX))).toBe(false);
  });

  it("does not send beside an alarm that is under way, which sets itself again", async () => {
    setClock(NOON);
    await outbox(env.OUTBOX).keep(messages(['"a"']));
    const go = Promise.withResolvers<void>();
    const queue = scriptedQueue();
    const sendBatch = queue.sendBatch.bind(queue);
    queue.sendBatch = async (batch) => {
      await go.promise;
      await sendBatch(batch);
    };
    await inOutbox({ queue }, async (instance, storage) => {
      await storage.deleteAlarm();
      const first = instance.alarm();
      await instance.drive();
      await instance.alarm();
      go.resolve();
      await first;
    });
    expect([queue.calls.length, await left()]).toEqual([1, 0]);
  });
});
