import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Outbox, outbox } from "../../src/intake/outbox.ts";
import { driveOutboxes, outboxes, outboxShardOf, outboxStatus } from "../../src/intake/outboxes.ts";
import { type PackedMessage, packRecords } from "../../src/intake/packing.ts";
import { OUTBOX_MAX_BYTES, OUTBOX_SHARDS, SUBREQUESTS } from "../../src/limits.ts";
import { accountLedger, TraceLog } from "../../src/trace-log/trace-log.ts";
import { noisyLine } from "../record/samples.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import {
  blobBinding,
  type ScriptedBlobs,
  type ScriptedQueue,
  scriptedBlobs,
  scriptedQueue,
  unpacked,
} from "./scripted.ts";

let nextId = 1;

function messages(lines: readonly string[], takenInMs = NOON): PackedMessage[] {
  const idOf = () => (nextId++).toString(16).padStart(32, "0");
  const packed = lines.flatMap((line) => {
    const result = packRecords([line], { takenInMs, idOf, keyed: false });
    if (!result.ok) throw new Error("not the messages this test is about");
    return result.messages;
  });
  return packed;
}

/** The outbox with another queue: the binding of the running object is replaced. */
async function withQueue(queue: ScriptedQueue, blobs?: ScriptedBlobs): Promise<DurableObjectStub> {
  const stub = outbox(env.OUTBOX);
  await runInDurableObject(stub, (instance) => {
    const replaced = { ...env, EVENTS: queue, ...(blobs !== undefined && { BLOBS: blobBinding(blobs) }) };
    Object.defineProperty(instance, "env", { value: replaced, configurable: true });
  });
  return stub;
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("the outbox", () => {
  it("holds nothing until it is given something, and has no tables until then, however it is asked", async () => {
    const stub = outbox(env.OUTBOX);
    const tables = (): Promise<number> =>
      runInDurableObject(
        stub,
        (_, { storage }) =>
          storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray().length,
      );
    expect(await stub.status()).toMatchObject({ messages: 0, events: 0, oldestTakenMs: null });
    await stub.drive();
    await runInDurableObject(stub, (instance) => instance.alarm());
    expect(await runDurableObjectAlarm(stub)).toBe(false);
    expect(await tables()).toBe(0);
    await stub.keep(messages(['"a"']));
    expect(await tables()).toBeGreaterThan(0);
    expect(await stub.status()).toMatchObject({ messages: 1 });
  });

  it("sends what it was given as soon as the queue takes it, in order, with the ids it had", async () => {
    setClock(NOON);
    const kept = messages(['"a"', '"b"', '"c"']);
    const queue = scriptedQueue();
    const stub = await withQueue(queue);
    await outbox(env.OUTBOX).keep(kept);
    expect(await outbox(env.OUTBOX).status()).toMatchObject({ messages: 3, events: 3, oldestTakenMs: NOON });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(queue.taken()).toEqual(kept.map(unpacked));
    expect(await outbox(env.OUTBOX).status()).toMatchObject({ messages: 0, events: 0, oldestTakenMs: null });
    expect(await runDurableObjectAlarm(stub)).toBe(false);
  });

  it("tries again later and later while the queue fails, never more than five minutes apart, and loses nothing", async () => {
    const clock = setClock(NOON);
    const kept = messages(['"a"', '"b"']);
    let down = true;
    const queue = scriptedQueue(() => down);
    const stub = await withQueue(queue);
    await outbox(env.OUTBOX).keep(kept);
    const waits: number[] = [];
    for (let tries = 0; tries < 8; tries++) {
      waits.push(
        await runInDurableObject(stub, async (_, { storage }) => ((await storage.getAlarm()) ?? 0) - clock.nowMs()),
      );
      expect(await runDurableObjectAlarm(stub)).toBe(true);
    }
    expect(waits).toEqual([15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000]);
    expect((await outbox(env.OUTBOX).status()).messages).toBe(2);
    down = false;
    await runDurableObjectAlarm(stub);
    expect(queue.taken()).toEqual(kept.map(unpacked));
    // Later messages do not inherit the delay.
    await outbox(env.OUTBOX).keep(messages(['"c"']));
    expect(
      await runInDurableObject(stub, async (_, { storage }) => ((await storage.getAlarm()) ?? 0) - clock.nowMs()),
    ).toBe(15_000);
  });

  it("sends what the queue took and whose answer was lost again, under the same id, and goes on", async () => {
    setClock(NOON);
    const kept = messages(['"a"', '"b"']);
    // Three tries for a group; the answers to the first alarm's are lost.
    const queue = scriptedQueue(
      () => false,
      scriptedBlobs(),
      (call) => call <= 3,
    );
    const stub = await withQueue(queue);
    await outbox(env.OUTBOX).keep(kept);
    await runDurableObjectAlarm(stub);
    expect((await outbox(env.OUTBOX).status()).messages).toBe(2);
    await runDurableObjectAlarm(stub);
    expect((await outbox(env.OUTBOX).status()).messages).toBe(0);
    const [a, b] = kept.map(({ id }) => id);
    expect(queue.taken().map(({ id }) => id)).toEqual([a, b, a, b, a, b, a, b]);
  });

  it("keeps once what is handed over twice, as whoever lost the answer does", async () => {
    setClock(NOON);
    const kept = messages(['"a"', '"b"']);
    await outbox(env.OUTBOX).keep(kept.slice(0, 1));
    await outbox(env.OUTBOX).keep(kept);
    expect(await outbox(env.OUTBOX).status()).toMatchObject({ messages: 2, events: 2, oldestTakenMs: NOON });
  });

  it("sends the others when one's records cannot be stored: a big neighbour harms nobody", async () => {
    setClock(NOON);
    const [large] = messages([noisyLine(800_000, 1)]) as [PackedMessage];
    const kept = [large, ...messages(['"a"', '"b"'])];
    const blobs = scriptedBlobs((call) => call === 1);
    const queue = scriptedQueue(() => false, blobs);
    const stub = await withQueue(queue, blobs);
    await outbox(env.OUTBOX).keep(kept);
    await runDurableObjectAlarm(stub);
    expect(queue.taken().map(({ lines }) => lines[0])).toEqual(['"a"', '"b"']);
    await runDurableObjectAlarm(stub);
    expect(queue.taken().length).toBe(3);
    expect((await outbox(env.OUTBOX).status()).messages).toBe(0);
  });

  it("has the ledger know what it sends before it does, until that is counted", async () => {
    setClock(NOON);
    const kept = messages(['"a"'], NOON - 900_000);
    const queue = scriptedQueue();
    const stub = await withQueue(queue);
    await outbox(env.OUTBOX).keep(kept);
    await runDurableObjectAlarm(stub);
    const ledger = accountLedger(env.TRACE_LOG);
    expect(await ledger.oldestUnfinishedMs()).toBe(NOON - 900_000);
    const taken = kept.map(({ id, takenInMs }) => ({ id, takenInMs, keyed: false }));
    await ledger.count({
      done: taken.map((each) => ({ ...each, events: 1, routed: 0, notEnabled: 0, notRouted: 1, functions: [] })),
      failed: [],
      backlog: null,
      state: "other.1",
    });
    expect(await ledger.oldestUnfinishedMs()).toBeNull();
    // Sent again, as an answer was lost. It is counted, so it is not noted.
    await ledger.expectAgain(taken);
    expect(await ledger.oldestUnfinishedMs()).toBeNull();
  });

  it("has what it answered for after a crash, what is too large for the queue as well", async () => {
    setClock(NOON);
    const kept = messages([noisyLine(800_000, 1)]);
    expect(kept[0]?.blob).not.toBeNull();
    await outbox(env.OUTBOX).keep(kept);
    await abortAllDurableObjects();
    const blobs = scriptedBlobs();
    const queue = scriptedQueue(() => false, blobs);
    const stub = await withQueue(queue, blobs);
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(queue.taken()[0]?.lines[0] === kept.map(unpacked)[0]?.lines[0]).toBe(true);
  });

  it("sends full groups, a few side by side, and notes each few in one call", async () => {
    setClock(NOON);
    const kept = messages(Array.from({ length: 850 }, (_, i) => `"${i}"`));
    const queue = scriptedQueue();
    const stub = await withQueue(queue);
    await outbox(env.OUTBOX).keep(kept);
    const noted = vi.spyOn(TraceLog.prototype, "expectAgain");
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(queue.calls.map((call) => call.messages.length)).toEqual([100, 100, 100, 100, 100, 100, 100, 100, 50]);
    expect(noted.mock.calls.map(([of]) => of.length)).toEqual([400, 400, 50]);
    expect(queue.taken().flatMap(({ lines }) => lines)).toEqual(Array.from({ length: 850 }, (_, i) => `"${i}"`));
    expect(await runDurableObjectAlarm(stub)).toBe(false);
  });

  it("keeps to the bytes of one send, too", async () => {
    setClock(NOON);
    const queue = scriptedQueue();
    const stub = await withQueue(queue);
    await outbox(env.OUTBOX).keep(messages(Array.from({ length: 30 }, (_, i) => noisyLine(90_000, i))));
    await runDurableObjectAlarm(stub);
    const sizes = queue.calls.map(({ bodies }) => bodies.reduce((sum, { length }) => sum + length, 0));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256_000);
    expect(queue.taken().length).toBe(30);
  });

  it("takes no more once it is full, keeps what it has, and takes again when there is room", async () => {
    setClock(NOON);
    const stub = outbox(env.OUTBOX);
    await stub.keep(messages(['"a"']));
    const fill = (maxBytes: number) => runInDurableObject(stub, (instance) => Object.assign(instance, { maxBytes }));
    await fill(1);
    let told: unknown;
    try {
      await outbox(env.OUTBOX).keep(messages(['"b"']));
    } catch (error) {
      told = error;
    }
    expect(String(told)).toBe("OutboxFullError: the outbox is full");
    expect(await outbox(env.OUTBOX).status()).toMatchObject({ messages: 1 });
    await fill(OUTBOX_MAX_BYTES);
    await outbox(env.OUTBOX).keep(messages(['"c"']));
    expect(await outbox(env.OUTBOX).status()).toMatchObject({ messages: 2 });
  });
});

describe("an hour's outage of the queue at 250 messages a second", () => {
  const EACH = (3_600 * 250) / OUTBOX_SHARDS;

  it("is worked off in minutes, alarm after alarm, while the queue takes everything", async () => {
    const clock = setClock(NOON);
    const stub = outbox(env.OUTBOX);
    await stub.keep([]);
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec(
        `INSERT INTO message (id, taken_in_ms, records, body)
           WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
           SELECT format('%032x', i), ? + i * 16, 1, x'00' FROM n`,
        EACH,
        NOON - 3_600_000,
      );
      storage.setAlarm(NOON);
    });
    const calls = { queue: 0, ledger: 0, messages: 0 };
    /** Both answer in 100 ms; what is asked for side by side is answered together. */
    const takes = async (): Promise<void> => clock.advance(100);
    const EVENTS = {
      sendBatch: async (batch: readonly unknown[]) => {
        calls.queue += 1;
        calls.messages += batch.length;
        if (calls.queue % GROUPS === 0) await takes();
      },
    };
    const ACCOUNT = {
      getByName: () => ({
        expectAgain: async () => {
          calls.ledger += 1;
          await takes();
        },
      }),
    };
    const GROUPS = 4;
    await runInDurableObject(stub, (instance) => {
      Object.defineProperty(instance, "env", { value: { ...env, EVENTS, ACCOUNT }, configurable: true });
    });
    let alarms = 0;
    for (; (await outbox(env.OUTBOX).status()).messages > 0; alarms++) {
      expect(alarms).toBeLessThan(10);
      // The next alarm is due at once.
      const dueMs = await runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
      expect(dueMs).toBeLessThanOrEqual(clock.nowMs());
      const made = calls.queue + calls.ledger;
      await runDurableObjectAlarm(stub);
      expect(calls.queue + calls.ledger - made).toBeLessThanOrEqual(SUBREQUESTS.min);
    }
    expect(calls).toEqual({ queue: EACH / 100, ledger: Math.ceil(EACH / 400), messages: EACH });
    expect(alarms).toBe(4);
    expect(clock.nowMs() - NOON).toBeLessThan(3 * 60_000);
  });
});

describe("the objects of the outbox", () => {
  it("share messages by id, evenly, and the first one is that of the time when it was alone", () => {
    const counts = new Array<number>(OUTBOX_SHARDS).fill(0);
    for (let i = 0; i < 4_000; i++) {
      const shard = outboxShardOf(crypto.randomUUID().replaceAll("-", ""));
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(4_000 / OUTBOX_SHARDS / 2);
    expect(outboxes(env.OUTBOX)[0]?.id.equals(env.OUTBOX.idFromName("outbox"))).toBe(true);
    expect(new Set(outboxes(env.OUTBOX).map(({ id }) => id.toString())).size).toBe(OUTBOX_SHARDS);
  });

  it("are told of as one: sums, and the oldest of all", async () => {
    setClock(NOON);
    for (let shard = 0; shard < OUTBOX_SHARDS; shard++) {
      await outbox(env.OUTBOX, shard).keep(messages(['"a"', '"b"'], NOON - shard * 1_000));
    }
    expect(await outboxStatus(env.OUTBOX)).toEqual({
      messages: 2 * OUTBOX_SHARDS,
      events: 2 * OUTBOX_SHARDS,
      oldestTakenMs: NOON - (OUTBOX_SHARDS - 1) * 1_000,
      storedBytes: expect.any(Number),
    });
  });

  it("are all driven by the cron, also where one of them fails", async () => {
    const drive = vi.spyOn(Outbox.prototype, "drive").mockRejectedValueOnce(new Error("out of reach"));
    await expect(driveOutboxes(env.OUTBOX)).rejects.toThrow("out of reach");
    expect(drive).toHaveBeenCalledTimes(OUTBOX_SHARDS);
  });
});
