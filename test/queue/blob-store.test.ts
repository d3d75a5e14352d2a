import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ID_MEMORY_MS, ROW_MAX_BYTES } from "../../src/limits.ts";
import { blobBytes, blobStore } from "../../src/queue/blob-store.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";

const DAY_MS = 86_400_000;
const id = (first: string, n: number): string => first + n.toString(16).padStart(31, "0");
const bytes = (length: number, fill: number): Uint8Array<ArrayBuffer> => new Uint8Array(length).fill(fill);
const shard = (first: string) => env.BLOBS.getByName(`blobs ${first}`);

describe("the blob store", () => {
  it("gives back what was put under an id, until it is dropped", async () => {
    const blobs = blobStore(env.BLOBS);
    for (const digit of "0123456789abcdef") await blobs.put(id(digit, 1), bytes(10, Number.parseInt(digit, 16)));
    for (const digit of "0123456789abcdef")
      expect(await blobs.get(id(digit, 1))).toEqual(bytes(10, Number.parseInt(digit, 16)));
    await blobs.drop(id("a", 1));
    expect(await blobs.get(id("a", 1))).toBeNull();
    expect(await blobs.get(id("b", 1))).not.toBeNull();
    await blobs.drop(id("a", 1));
  });

  it("takes the same again, as who lost the answer will send it", async () => {
    const blobs = blobStore(env.BLOBS);
    await blobs.put(id("0", 1), bytes(10, 1));
    await blobs.put(id("0", 1), bytes(10, 1));
    expect(await blobs.get(id("0", 1))).toEqual(bytes(10, 1));
  });

  it("takes as much as a row may hold, and carries no more than the view it is given", async () => {
    const blobs = blobStore(env.BLOBS);
    await blobs.put(id("0", 1), bytes(ROW_MAX_BYTES, 7));
    await blobs.put(id("0", 2), bytes(ROW_MAX_BYTES, 9).subarray(100, 110));
    expect((await blobs.get(id("0", 1)))?.length).toBe(ROW_MAX_BYTES);
    expect(await blobs.get(id("0", 2))).toEqual(bytes(10, 9));
  });

  it("takes no more when it is full, and gives back what it has", async () => {
    const blobs = blobStore(env.BLOBS);
    await blobs.put(id("4", 1), bytes(1_000, 3));
    expect(await blobBytes(env.BLOBS)).toBeGreaterThan(0);
    // Called inside: what a stub rejects with is also told to the runtime as unhandled.
    await runInDurableObject(shard("4"), async (store) => {
      store.maxBytes = 1;
      await expect(store.put(id("4", 2), bytes(1, 1).buffer)).rejects.toThrow("the blob store is full");
    });
    expect([await blobs.get(id("4", 1)), await blobs.get(id("4", 2))]).toEqual([bytes(1_000, 3), null]);
  });

  it("has what it answered for after a crash", async () => {
    const blobs = blobStore(env.BLOBS);
    await blobs.put(id("3", 1), bytes(1_000, 3));
    await abortAllDurableObjects();
    expect(await blobStore(env.BLOBS).get(id("3", 1))).toEqual(bytes(1_000, 3));
  });

  it("sweeps what nobody dropped after fifteen days, and nothing before, once a day while there is anything", async () => {
    const clock = setClock(NOON);
    const blobs = blobStore(env.BLOBS);
    await blobs.put(id("5", 1), bytes(1, 1));
    clock.advance(10 * DAY_MS);
    await blobs.put(id("5", 2), bytes(1, 2));
    expect(await runDurableObjectAlarm(shard("5"))).toBe(true);
    expect([await blobs.get(id("5", 1)), await blobs.get(id("5", 2))]).toEqual([bytes(1, 1), bytes(1, 2)]);
    clock.advance(ID_MEMORY_MS - 10 * DAY_MS + 1);
    expect(await runDurableObjectAlarm(shard("5"))).toBe(true);
    expect([await blobs.get(id("5", 1)), await blobs.get(id("5", 2))]).toEqual([null, bytes(1, 2)]);
    clock.advance(10 * DAY_MS);
    expect(await runDurableObjectAlarm(shard("5"))).toBe(true);
    expect(await blobs.get(id("5", 2))).toBeNull();
    // Nothing is left, so no alarm is set.
    expect(await runDurableObjectAlarm(shard("5"))).toBe(false);
    await blobs.put(id("5", 3), bytes(1, 3));
    expect(await runDurableObjectAlarm(shard("5"))).toBe(true);
  });

  it("costs one billed row for each that is put, and one for its end", async () => {
    const blobs = blobStore(env.BLOBS);
    await blobs.put(id("6", 1), bytes(10, 1));
    const written = await runInDurableObject(shard("6"), (_store, { storage }) => {
      const put = storage.sql.exec("INSERT INTO blob VALUES (?, 0, ?)", bytes(16, 6).buffer, bytes(500_000, 1).buffer);
      const dropped = storage.sql.exec("DELETE FROM blob WHERE key = ?", bytes(16, 6).buffer);
      return [put.rowsWritten, dropped.rowsWritten];
    });
    expect(written).toEqual([1, 1]);
  });
});
