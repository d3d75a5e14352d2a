import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { accountLedger } from "../../src/account/ledger.ts";
import { outbox } from "../../src/intake/outbox.ts";
import { type PackedMessage, packRecords } from "../../src/intake/packing.ts";
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
    // Later messages do not inherit the delay.
    await outbox(env.OUTBOX).keep(messages(['"c"']));
    expect(
      await runInDurableObject(stub, async (_, { storage }) => ((await storage.getAlarm()) ?? 0) - clock.nowMs()),
    ).toBe(15_000);
  });

  it("sends what the queue took and whose answer was lost again, under the same id, and goes on", async () => {
    setClock(NOON);
    const kept = messages(['"a"', '"b"']);
    // Three tries for each message; the answers to the first message's are lost.
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
    expect(queue.taken().map(({ id }) => id)).toEqual([a, a, a, a, b]);
  });

  it("keeps once what is handed over twice, as whoever lost the answer does", async () => {
    setClock(NOON);
    const kept = messages(['"a"', '"b"']);
    await outbox(env.OUTBOX).keep(kept.slice(0, 1));
    await outbox(env.OUTBOX).keep(kept);
    expect(await outbox(env.OUTBOX).status()).toEqual({ messages: 2, events: 2, oldestTakenMs: NOON });
  });

  it("sends the others when one's records cannot be stored: a big neighbour harms nobody", async () => {
    setClock(NOON);
    const [large] = messages([noisyLine(800_000, 1)]) as [PackedMessage];
    const kept = [large, ...messages(['"a"', '"b"'])];
    const blobs = scriptedBlobs((call) => call <= 3);
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
    const ledger = accountLedger(env.ACCOUNT);
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

  it("works off a flood in steps", async () => {
    setClock(NOON);
    const queue = scriptedQueue();
    const stub = await withQueue(queue);
    await outbox(env.OUTBOX).keep(messages(Array.from({ length: 700 }, (_, i) => `"${i}"`)));
    await runDurableObjectAlarm(stub);
    expect(queue.taken().length).toBe(250);
    await runDurableObjectAlarm(stub);
    await runDurableObjectAlarm(stub);
    expect(queue.taken().flatMap(({ lines }) => lines)).toEqual(Array.from({ length: 700 }, (_, i) => `"${i}"`));
  });
});
