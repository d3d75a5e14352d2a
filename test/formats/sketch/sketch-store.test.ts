import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { concat } from "../../../src/base/bytes.ts";
import { migrate } from "../../../src/base/storage/migrate.ts";
import { membersIn, readHead, segmentsFor, shapeIn, sumOf } from "../../../src/formats/sketch/group.ts";
import { HASHES } from "../../../src/formats/sketch/sketch.ts";
import { type Sealed, type SketchStore, sketchesOf } from "../../../src/formats/sketch/sketch-store.ts";
import { ALL, hashesIn, heldBy, type Wanted } from "../../../src/formats/sketch/wanted.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";

const DAY_MS = 86_400_000;

type Store = DurableObjectStub<SketchStore>;

const at = (batch: number, mark = `${batch}`.padStart(16, "0")) => ({ batch, mark });
const mark = (batch: number) => at(batch).mark;

/** Spread over all parts. */
const many = (count: number, from: number): Uint32Array =>
  Uint32Array.from({ length: count }, (_, i) => Math.imul(i + from, 0x9e3779b1) >>> 0 || 1);

/** Hashes are spread over all 32 bits. */
const spread = (word: number): number => Math.imul(word, 0x9e3779b1) >>> 0;
const add = (store: Store, batch: number, ...words: number[]) =>
  store.add(HASHES, at(batch), Uint32Array.from(words, spread));
const count = (store: Store, table: string) =>
  runInDurableObject(store, (_store, { storage }) => storage.sql.exec(`SELECT count(*) AS n FROM ${table}`).one().n);

/** What a search makes of the answers of a store: which objects are out, and the bytes read. */
async function looked(store: Store, batches: number[], wanted: Wanted): Promise<{ out: string[]; bytes: number }> {
  const asked = await store.ask(
    HASHES,
    batches.map((batch) => at(batch)),
    wanted,
  );
  const out = [...asked.out];
  let { bytes } = asked;
  for (const { id, head: file } of asked.groups) {
    const head = readHead(file);
    if (head === null) throw new Error("the head cannot be read");
    const holders = new Map<number, bigint>();
    for (const segment of segmentsFor(head, hashesIn(wanted))) {
      const read = await store.read(id, segment.from, segment.bytes);
      expect(sumOf(read)).toBe(segment.sum);
      bytes += read.length;
      for (const hash of segment.hashes) holders.set(hash, membersIn(read, shapeIn(head), hash));
    }
    const held = heldBy(wanted, (hash) => holders.get(hash) ?? ALL);
    out.push(...head.members.filter((_, i) => (held & (1n << BigInt(i))) === 0n));
  }
  return { out: out.filter((one) => batches.some((batch) => mark(batch) === one)), bytes };
}

const out = async (store: Store, batches: number[], wanted: Wanted) => (await looked(store, batches, wanted)).out;

async function fileOf(store: Store, { id, bytes }: Sealed): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < bytes; ) {
    const piece = await store.read(id, from, bytes);
    if (piece.length === 0) throw new Error("it has a gap");
    from += piece.length;
    pieces.push(piece);
  }
  return concat(pieces);
}

describe("a store of sketches", () => {
  it("names the objects that cannot hold what is wanted, and none that it does not know, grouped or not", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 5);
    await add(store, 1, 10, 20);
    await add(store, 2, 20, 30);
    for (const groups of [0, 1]) {
      expect(await count(store, "object_group")).toBe(groups);
      expect(await out(store, [1, 2, 3], { all: [10, 20].map(spread) })).toEqual([mark(2)]);
      expect(await out(store, [1, 2], { any: [10, 30].map(spread) })).toEqual([]);
      expect(await out(store, [2], spread(99_999))).toEqual([mark(2)]);
      await store.seal();
    }
    expect(await count(store, "words")).toBe(0);
  });

  it("makes a group of a hundred objects, which loses no word of them", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 13);
    for (let i = 0; i < 99; i++) await store.add(HASHES, at(i), many(500, 10_000 * i));
    expect(await count(store, "object_group")).toBe(0);
    await store.add(HASHES, at(99), many(500, 990_000));
    expect([await count(store, "object_group"), await count(store, "words")]).toEqual([1, 0]);
    const all = Array.from({ length: 100 }, (_, i) => i);
    for (const i of [0, 7, 99]) {
      const words = [...many(500, 10_000 * i)];
      expect(await out(store, all, { all: words })).toEqual(all.filter((other) => other !== i).map(mark));
    }
    // The next ones are asked beside it.
    await add(store, 100, 4_711);
    expect(await out(store, [0, 100], spread(4_711))).toEqual([mark(0)]);
  });

  it("reads a part of a large object, and a segment of a group", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 6);
    const words = many(400_000, 1);
    await store.add(HASHES, at(7), words);
    const word = words[50_000] as number;
    const some = [...words.filter((_, i) => i % 5_000 === 0)];
    for (const most of [132_000, 48_000]) {
      const one = await looked(store, [7], word);
      expect([one.out, one.bytes > 10_000, one.bytes < most]).toEqual([[], true, true]);
      const all = await looked(store, [7], { all: some });
      // Each part once.
      expect([all.out, all.bytes <= 1_600_000]).toEqual([[], true]);
      await store.seal();
    }
  });

  it("says nothing of an object that has another one's batch, nor to and by another version of hashes", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 12);
    await add(store, 1, 10);
    await runInDurableObject(store, (object) => {
      expect(() => object.add(HASHES + 1, at(2), Uint32Array.of(10))).toThrow("another version");
    });
    for (let groups = 0; groups < 2; groups++) {
      expect(await out(store, [1], spread(99))).toEqual([mark(1)]);
      expect(await store.ask(HASHES, [at(1, "00c0ffee00c0ffee")], 99)).toEqual(NOTHING);
      expect(await store.ask(HASHES + 1, [at(1)], 99)).toEqual(NOTHING);
      await store.seal();
    }
  });

  it("says of an object what its own words are where another one of more parts had its batch", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 15);
    const [before, after] = [many(100_000, 1), many(40_000, 900_000)];
    await store.add(HASHES, at(1, "before".padStart(16, "0")), before);
    await store.add(HASHES, at(1), after);
    await store.seal();
    for (const word of after.filter((_, i) => i % 4_000 === 0)) expect(await out(store, [1], word)).toEqual([]);
    const { groups } = await store.ask(HASHES, [at(1, "before".padStart(16, "0"))], before[0] as number);
    expect(groups).toEqual([]);
    expect((await store.ask(HASHES, [at(1)], 99)).groups).toHaveLength(1);
  });

  it("makes nothing of words that another version has left", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 14);
    await add(store, 1, 10);
    await runInDurableObject(store, (_store, { storage }) => void storage.sql.exec("UPDATE words SET hashes = 0"));
    expect(await out(store, [1], spread(99))).toEqual([]);
    await add(store, 2, 10);
    expect((await store.seal()).map(({ objects }) => objects)).toEqual([1]);
    expect(await out(store, [1, 2], spread(99))).toEqual([mark(2)]);
  });

  it("keeps the last words of an object that is kept twice", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 7);
    for (let i = 0; i < 2; i++) await add(store, 1, 10);
    expect(await out(store, [1], spread(10))).toEqual([]);
    await store.seal();
    await add(store, 1, 10);
    await store.seal();
    expect([await out(store, [1], spread(10)), await out(store, [1], spread(11))]).toEqual([[], [mark(1)]]);
  });

  it("gives a group as a file, and where its segments are once they are there", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 15);
    await store.add(HASHES, at(1), many(100_000, 1));
    await store.add(HASHES, at(2), many(10, 500_000));
    const [group, ...others] = await store.seal();
    if (group === undefined) throw new Error("there is no group");
    expect(others).toEqual([]);
    expect(await store.seal()).toEqual([group]);
    const file = await fileOf(store, group);
    const sha256 = async (bytes: Uint8Array) =>
      Buffer.from(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes))).toString("hex");
    expect([file.length, await sha256(file)]).toEqual([group.bytes, group.sha256]);
    const head = file.slice(-group.head.bytes);
    expect(await sha256(head)).toBe(group.head.sha256);
    expect(readHead(head)?.members).toEqual([mark(1), mark(2)]);
    await store.moved(group.id, "key", "place");
    expect(await store.read(group.id, 0, 1_000)).toHaveLength(0);
    expect(await count(store, "group_bytes")).toBe(0);
    expect(await store.seal()).toEqual([{ ...group, key: "key", place: "place" }]);
    const asked = await store.ask(HASHES, [at(1), at(3)], 5);
    expect(asked).toEqual({ out: [], bytes: 0, groups: [{ id: group.id, key: "key", head }] });
    // Of objects that are in no group, nothing is read there.
    expect(await store.ask(HASHES, [at(3)], 1)).toEqual(NOTHING);
  });

  it("drops words of which it cannot make a group, and goes on", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 16);
    await runInDurableObject(store, (object) => {
      object.groupObjects = 2;
      object.rowMaxBytes = 1_000;
      for (let i = 0; i < 2; i++) object.add(HASHES, at(i), many(2_000, 40_000 * i));
    });
    expect(JSON.stringify(warn.mock.calls)).toContain("spread unevenly");
    warn.mockRestore();
    expect([await count(store, "words"), await count(store, "object_group")]).toEqual([0, 0]);
    await add(store, 100, 6);
    expect(await out(store, [0, 100], spread(7))).toEqual([mark(100)]);
  });

  it("drops what the release before has left, and its objects are read", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 17);
    const before =
      "CREATE TABLE segment (id INTEGER PRIMARY KEY, segments INTEGER NOT NULL, mark TEXT NOT NULL, body BLOB NOT NULL) STRICT;";
    await runInDurableObject(store, (_store, { storage }) => {
      migrate(storage, [{ id: 1, why: "", sql: before }]);
      storage.sql.exec("INSERT INTO segment VALUES (256, 1, '00000000', zeroblob(9))");
    });
    await evictDurableObject(store);
    expect(await store.ask(HASHES, [at(1)], 5)).toEqual(NOTHING);
    await add(store, 2, 10);
    expect(await out(store, [1, 2], spread(11))).toEqual([mark(2)]);
    expect(await count(store, "sqlite_master WHERE name = 'segment'")).toBe(0);
  });

  it("is written in a row for each part, and one alarm a day", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 8);
    await add(store, 1, 10);
    await store.add(HASHES, at(2), many(100_000, 1));
    expect(await count(store, "words")).toBe(5);
    await runInDurableObject(store, async (_store, { storage }) => {
      expect(await storage.getAlarm()).toBe(NOON + 30 * DAY_MS);
    });
  });

  it("leaves nothing behind when it is only asked, and nothing after 30 days", async () => {
    const clock = setClock(NOON);
    const tables = (of: Store) =>
      runInDurableObject(of, (_store, { storage }) =>
        storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray(),
      );
    const asked = sketchesOf(env.SKETCHES, 1, 0, 9);
    expect(await asked.ask(HASHES, [at(1)], 10)).toEqual(NOTHING);
    expect(await asked.seal()).toEqual([]);
    expect(await tables(asked)).toEqual([]);
    const kept = sketchesOf(env.SKETCHES, 1, 0, 10);
    await add(kept, 1, 10);
    await kept.seal();
    clock.advance(30 * DAY_MS);
    expect(await runDurableObjectAlarm(kept)).toBe(true);
    expect(await tables(kept)).toEqual([]);
    await add(kept, 2, 10);
    expect(await out(kept, [1, 2], spread(99))).toEqual([mark(2)]);
  });

  it("refuses more when it is full", async () => {
    setClock(NOON);
    const store = sketchesOf(env.SKETCHES, 1, 0, 11);
    await runInDurableObject(store, (object) => {
      object.add(HASHES, at(1), Uint32Array.of(10));
      object.maxBytes = 1;
      expect(() => object.add(HASHES, at(2), Uint32Array.of(10))).toThrow("full");
    });
  });
});

const NOTHING = { out: [], bytes: 0, groups: [] };
