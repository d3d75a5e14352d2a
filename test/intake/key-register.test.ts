import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Copy } from "../../src/intake/first-copy.ts";
import { KEYED_FOR_MS, type KeyRegister, keyRegister, keyShard } from "../../src/intake/key-register.ts";
import { KEYS_SHARDS } from "../../src/limits.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";

const DAY_MS = 86_400_000;
const copy = (fields: Partial<Copy> = {}): Copy => ({ takenInMs: NOON, packing: 2, settings: "unnamed", ...fields });
/** A hash that belongs to the shard, and begins with these digits. */
const hash = (n: number, shard = 0, begin = "00"): string =>
  begin + n.toString(16).padStart(28, "0") + shard.toString(16).padStart(2, "0");
const keys = () => keyRegister(env.KEYS);
const shard = (n = 0) => keyShard(env.KEYS, n);
const requests = (n = 0): Promise<number> =>
  runInDurableObject(shard(n), (_register, { storage }) =>
    Number(storage.sql.exec("SELECT count(*) AS n FROM request").one().n),
  );

let clock: ReturnType<typeof setClock>;
beforeEach(() => {
  clock = setClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("the register of keys", () => {
  it("says of every copy what the first one was, whatever comes with the others, and after it died", async () => {
    const first = { ...copy(), keyed: true };
    expect(await keys().first(hash(1), copy())).toEqual(first);
    const later = copy({ takenInMs: NOON + DAY_MS, packing: 3, settings: "renamed" });
    expect(await keys().first(hash(1), later)).toEqual(first);
    await evictDurableObject(shard());
    expect(await keys().first(hash(1), later)).toEqual(first);
    await abortAllDurableObjects();
    expect(await keys().first(hash(1), later)).toEqual(first);
    expect(await keys().first(hash(2), later)).toEqual({ ...later, keyed: true });
  });

  it("says the same to copies that come at once", async () => {
    const times = Array.from({ length: 20 }, (_, n) => NOON + n);
    const told = await Promise.all(times.map((takenInMs) => keys().first(hash(1), copy({ takenInMs }))));
    expect(new Set(told.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(await requests()).toBe(1);
  });

  it("is spread over its shards by the end of the hash, where each has its own", async () => {
    for (let n = 0; n < KEYS_SHARDS; n++) {
      await keys().first(hash(1, n), copy());
      await keys().first(hash(2, n + KEYS_SHARDS), copy());
    }
    expect(await Promise.all(Array.from({ length: KEYS_SHARDS }, (_, n) => requests(n)))).toEqual(
      Array(KEYS_SHARDS).fill(2),
    );
  });

  it("has ids remembered as the release before does for sixteen days from its first use, then by their time", async () => {
    const isKeyed = async (n: number) => ((await keys().first(hash(n), copy())) as { keyed: boolean }).keyed;
    expect(await isKeyed(1)).toBe(true);
    clock.advance(KEYED_FOR_MS - 1);
    expect(await isKeyed(2)).toBe(true);
    clock.advance(1);
    expect([await isKeyed(3), await isKeyed(2)]).toEqual([false, true]);
    // What was fixed stays, and a shard that is used for the first time now begins anew.
    clock.advance(DAY_MS);
    expect([await isKeyed(2), await isKeyed(3)]).toEqual([true, false]);
    expect(await keys().first(hash(4, 1), copy())).toMatchObject({ keyed: true });
  });

  it("remembers a request for fifteen days from its latest copy, and not much longer", async () => {
    await keys().first(hash(1), copy());
    await keys().first(hash(2), copy());
    const days = async (count: number) => {
      for (let n = 0; n < count; n++) {
        clock.advance(DAY_MS);
        await runDurableObjectAlarm(shard());
      }
    };
    await days(10);
    const later = copy({ takenInMs: clock.nowMs() });
    expect(await keys().first(hash(2), later)).toMatchObject({ takenInMs: NOON });
    await days(5);
    expect(await requests()).toBe(2);
    await days(1);
    expect(await requests()).toBe(1);
    expect(await keys().first(hash(1), later)).toMatchObject({ takenInMs: later.takenInMs });
    await days(9);
    // Sixteen days after its latest copy.
    expect([await requests(), (await keys().first(hash(1), copy())) as object]).toMatchObject([2, later]);
    await days(1);
    expect(await requests()).toBe(1);
  });

  it("sweeps all of it, whatever the hashes begin with, and rests when nothing is left", async () => {
    const begins = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, "0"));
    for (const begin of begins) await keys().first(hash(1, 0, begin), copy());
    await keys().first(`${"f".repeat(30)}00`, copy());
    expect(await requests()).toBe(257);
    clock.advance(16 * DAY_MS);
    expect(await runDurableObjectAlarm(shard())).toBe(true);
    expect(await requests()).toBe(0);
    expect(await runDurableObjectAlarm(shard())).toBe(false);
    await keys().first(hash(1), copy());
    expect(await runDurableObjectAlarm(shard())).toBe(true);
  });

  it("goes on sweeping after a sweep that failed", async () => {
    await keys().first(hash(1), copy());
    clock.advance(16 * DAY_MS);
    const sleep = vi.mocked((await import("../../src/platform.ts")).platform.sleep);
    sleep.mockRejectedValueOnce(new Error("a bad moment"));
    expect(await runDurableObjectAlarm(shard())).toBe(true);
    await keys().first(hash(2), copy());
    clock.advance(DAY_MS);
    expect(await runDurableObjectAlarm(shard())).toBe(true);
    expect(await requests()).toBe(1);
  });

  it("takes no new request when it is full, and still knows those it has", async () => {
    await keys().first(hash(1), copy());
    await runInDurableObject(shard(), (register: KeyRegister) => {
      register.maxBytes = 1;
      expect(() => register.first(hash(2), copy())).toThrow("the register of keys is full");
    });
    expect(await keys().first(hash(1), copy({ takenInMs: NOON + 1 }))).toMatchObject({ takenInMs: NOON });
    expect(await requests()).toBe(1);
  });

  it("writes one row for a request, one for each further day of it, and one alarm a day", async () => {
    await keys().first(hash(1), copy());
    const written = await runInDurableObject(shard(), async (register: KeyRegister, { storage }) => {
      const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
      const { exec } = storage.sql;
      const prototype = Object.getPrototypeOf(storage.sql) as SqlStorage;
      vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, query, ...values) {
        const cursor = exec.call(this, query, ...values);
        cursors.push(cursor);
        return cursor;
      });
      const alarms = vi.spyOn(Object.getPrototypeOf(storage) as DurableObjectStorage, "setAlarm");
      const rows = (run: () => unknown): number => {
        run();
        return cursors.splice(0).reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
      };
      const found = [rows(() => register.first(hash(2), copy())), rows(() => register.first(hash(2), copy()))];
      clock.advance(DAY_MS);
      found.push(
        rows(() => register.first(hash(2), copy())),
        rows(() => register.first(hash(2), copy())),
      );
      return [...found, alarms.mock.calls.length];
    });
    expect(written).toEqual([1, 0, 1, 0, 0]);
  });
});
