import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { outbox } from "../../src/intake/outbox.ts";
import { type PackedMessage, packRecords } from "../../src/intake/packing.ts";
import { noisyLine } from "../record/samples.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import { type ScriptedQueue, scriptedBlobs, scriptedQueue, unpacked } from "./scripted.ts";

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

/** The outbox with a queue of its own: the binding of the running object is replaced. */
async function withQueue(queue: ScriptedQueue): Promise<DurableObjectStub> {
  const stub = outbox(env.OUTBOX);
  await runInDurableObject(stub, (instance) => {
    const replaced = { ...env, EVENTS: queue };
    Object.defineProperty(instance, "env", { value: replaced, configurable: true });
  });
  return stub;
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("the outbox", () => {
  it("holds nothing until it is given something", async () => {
    expect(await outbox(env.OUTBOX).status()).toEqual({ messages: 0, events: 0, oldestTakenMs: null });
    expect(await runDurableObjectAlarm(outbox(env.OUTBOX))).toBe(false);
  });

  it("sends what it was given as soon as the queue takes it, in order, with the ids it had", async () => {
    setClock(NOON);
    const kept = messages(['"a"', '"b"', '"c"']);
    const queue = scriptedQueue();
    const stub = await withQueue(queue);
    await outbox(env.OUTBOX).keep(kept);
    expect(await outbox(env.OUTBOX).status()).toEqual({ messages: 3, events: 3, oldestTakenMs: NOON });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(queue.taken()).toEqual(kept.map(unpacked));
    expect(await outbox(env.OUTBOX).status()).toEqual({ messages: 0, events: 0, oldestTakenMs: null });
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
    // What comes next is not made to wait for what was.
    await outbox(env.OUTBOX).keep(messages(['"c"']));
    expect(
      await runInDurableObject(stub, async (_, { storage }) => ((await storage.getAlarm()) ?? 0) - clock.nowMs()),
    ).toBe(15_000);
  });

  it("sends what the queue took and whose answer was lost again, under the same id, and goes on", async () => {
    setClock(NOON);
    const kept = messages(['"a"', '"b"']);
    // Three tries each: the second message fails in the first alarm.
    const queue = scriptedQueue((call) => call >= 2 && call <= 4);
    const stub = await withQueue(queue);
    await outbox(env.OUTBOX).keep(kept);
    await runDurableObjectAlarm(stub);
    expect((await outbox(env.OUTBOX).status()).messages).toBe(1);
    await runDurableObjectAlarm(stub);
    expect(queue.taken().map(({ id }) => id)).toEqual(kept.map(({ id }) => id));
  });

  it("has what it answered for after a crash, what is too large for the queue as well", async () => {
    setClock(NOON);
    const kept = messages([noisyLine(800_000, 1)]);
    expect(kept[0]?.blob).not.toBeNull();
    await outbox(env.OUTBOX).keep(kept);
    await abortAllDurableObjects();
    const blobs = scriptedBlobs();
    const queue = scriptedQueue(() => false, blobs);
    const stub = outbox(env.OUTBOX);
    await runInDurableObject(stub, (instance) => {
      const binding = {
        getByName: () => ({ put: (id: string, body: ArrayBuffer) => blobs.put(id, new Uint8Array(body)) }),
      };
      Object.defineProperty(instance, "env", { value: { ...env, EVENTS: queue, BLOBS: binding }, configurable: true });
    });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(queue.taken()[0]?.lines[0] === kept.map(unpacked)[0]?.lines[0]).toBe(true);
  });

  it("works off a flood in steps", async () => {
    setClock(NOON);
    const queue = scriptedQueue();
    const stub = await withQueue(queue);
    await outbox(env.OUTBOX).keep(messages(Array.from({ length: 700 }, (_, i) => `"${i}"`)));
    await runDurableObjectAlarm(stub);
    expect(queue.taken().length).toBe(500);
    await runDurableObjectAlarm(stub);
    expect(queue.taken().flatMap(({ lines }) => lines)).toEqual(Array.from({ length: 700 }, (_, i) => `"${i}"`));
  });
});
