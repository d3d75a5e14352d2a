import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { sketchOf } from "../../../src/formats/sketch/sketch.ts";
import { sketchesOf } from "../../../src/formats/sketch/sketch-store.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";

const DAY_MS = 86_400_000;

const at = (batch: number, mark = "0badf00d") => ({ batch, mark });

/** Ascending, and spread over all segments. */
const many = (count: number, from: number): Uint32Array =>
  Uint32Array.from({ length: count }, (_, i) => Math.imul(i + from, 0x9e3779b1) >>> 0 || 1).sort();

describe("a store of sketches", () => {
  it("names the objects that cannot hold what is wanted, and none that it does not know", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 5);
    await store.keep(at(1), sketchOf(Uint32Array.of(10, 20)));
    await store.keep(at(2), sketchOf(Uint32Array.of(20, 30)));
    expect(await store.look([at(1), at(2), at(3)], { all: [10, 20] })).toEqual({ out: [2], bytes: expect.any(Number) });
    expect((await store.look([at(1), at(2)], { any: [10, 30] })).out).toEqual([]);
    expect((await store.look([at(2)], 99_999)).out).toEqual([2]);
  });

  it("reads one segment of a large sketch, and finds each word of it", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 6);
    const words = many(100_000, 1);
    const sketch = sketchOf(words);
    await store.keep(at(7), sketch);
    const { out, bytes } = await store.look([at(7)], words[50_000] as number);
    expect([out, sketch.length]).toEqual([[], 4]);
    expect(bytes).toBeLessThan(50_000);
    const some = [...words.filter((_, i) => i % 5_000 === 0)];
    const all = await store.look([at(7)], { all: some });
    expect(all.out).toEqual([]);
    // Each segment once.
    expect(all.bytes).toBeLessThanOrEqual(sketch.reduce((sum, { length }) => sum + length, 0));
  });

  it("says nothing of an object that has another one's batch", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 12);
    await store.keep(at(1), sketchOf(Uint32Array.of(10)));
    expect((await store.look([at(1)], 99)).out).toEqual([1]);
    expect((await store.look([at(1, "00c0ffee")], 99)).out).toEqual([]);
  });

  it("keeps the last sketch of an object that is kept twice", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 7);
    for (let i = 0; i < 2; i++) await store.keep(at(1), sketchOf(Uint32Array.of(10)));
    expect((await store.look([at(1)], 10)).out).toEqual([]);
  });

  it("is written in a row for each segment, and one alarm a day", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 8);
    await store.keep(at(1), sketchOf(Uint32Array.of(10)));
    await store.keep(at(2), sketchOf(many(100_000, 1)));
    await runInDurableObject(store, async (_store, { storage }) => {
      expect(storage.sql.exec("SELECT count(*) AS n FROM segment").one().n).toBe(5);
      expect(await storage.getAlarm()).toBe(NOON + 30 * DAY_MS);
    });
  });

  it("leaves nothing behind when it is only asked, and nothing after 30 days", async () => {
    const clock = setClock(NOON);
    const tables = (of: ReturnType<typeof sketchesOf>) =>
      runInDurableObject(of, (_store, { storage }) =>
        storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray(),
      );
    const asked = sketchesOf(env.SKETCHES, 1, 0, 9);
    expect(await asked.look([at(1)], 10)).toEqual({ out: [], bytes: 0 });
    expect(await tables(asked)).toEqual([]);
    const kept = sketchesOf(env.SKETCHES, 1, 0, 10);
    await kept.keep(at(1), sketchOf(Uint32Array.of(10)));
    clock.advance(30 * DAY_MS);
    expect(await runDurableObjectAlarm(kept)).toBe(true);
    expect(await tables(kept)).toEqual([]);
    await kept.keep(at(2), sketchOf(Uint32Array.of(10)));
    expect((await kept.look([at(1), at(2)], 99)).out).toEqual([2]);
  });

  it("refuses more when it is full", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 11);
    await runInDurableObject(store, (object) => {
      object.keep(at(1), sketchOf(Uint32Array.of(10)));
      object.maxBytes = 1;
      expect(() => object.keep(at(2), sketchOf(Uint32Array.of(10)))).toThrow("full");
    });
  });
});
