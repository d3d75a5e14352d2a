/** The sketch of an object is kept with its delivery, and nothing of the delivery depends on it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../src/bytes.ts";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import type { Chunks, Words } from "../../src/delivery/chunks.ts";
import { keepSketch } from "../../src/delivery/object-sketch.ts";
import { SketchStore } from "../../src/index.ts";
import { FragmentBuilder } from "../../src/object/fragment.ts";
import { HashSet } from "../../src/sketch/hash-set.ts";
import { sketchesOf } from "../../src/sketch/sketch-store.ts";
import { fold, hashJson, seedOf, WORD_SEED, wordHash, wordsIn } from "../../src/sketch/words.ts";
import { Oracle } from "../support/oracle.ts";
import { api, createJob } from "../support/runtime/api.ts";
import { deliver, freshBucket, jobObjects, NOON, pack, setClock, settle } from "../support/runtime/pipeline.ts";

afterEach(() => void vi.restoreAllMocks());

const { finish } = FragmentBuilder.prototype;

const DAY = Math.floor(NOON / 86_400_000);

async function shipped(
  fields: object = {},
  appends = 3,
  before: (storage: DurableObjectStorage, job: number) => void = () => {},
) {
  const clock = setClock(NOON);
  const bucket = freshBucket();
  const job = await createJob(bucket.name, fields);
  const oracle = new Oracle({ at: NOON });
  const minted = [];
  for (let i = 0; i < appends; i++) {
    const some = oracle.mint(4, { at: clock.nowMs(), scriptName: `shop-${i}`, padding: i * 100_000 });
    minted.push(...some);
    await deliver(pack(some, clock.nowMs()));
  }
  await runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) => before(storage, job));
  await settle(job, clock);
  return { job, minted, store: sketchesOf(env.SKETCHES, job, 0, DAY) };
}

const strings = (value: unknown): string[] =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
      ? Object.values(value).flatMap(strings)
      : [];

const sketches = (job: number) =>
  runInDurableObject(sketchesOf(env.SKETCHES, job, 0, DAY), (_store, { storage }) =>
    storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'segment'").toArray().length === 0
      ? 0
      : Number(storage.sql.exec("SELECT count(*) AS n FROM segment").one().n),
  );

/** The objects of a job, as its sketches know them. */
const marked = (job: number) =>
  runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) =>
    storage.sql
      .exec<{ batch: number; sha256: string }>("SELECT batch, sha256 FROM object")
      .toArray()
      .map(({ batch, sha256 }) => ({ batch, mark: sha256.slice(0, 8) })),
  );

describe("a sketch", () => {
  it("holds every word of every record of its object, whatever joined the object in which form", async () => {
    const { job, minted, store } = await shipped();
    const objects = await jobObjects(job);
    expect(objects.map(({ records }) => records)).toEqual([12]);
    const words = new Set(
      minted
        .flatMap(({ record }) => strings(record))
        .flatMap((text) => [...wordsIn(fold(text))].map(({ word }) => word)),
    );
    expect(words.size).toBeGreaterThan(20);
    const all = [...words].map((word) => wordHash(word, WORD_SEED));
    expect((await store.look(await marked(job), 1, { all })).out).toEqual([]);
    expect((await store.look(await marked(job), 1, wordHash("nowhere", WORD_SEED))).out).toEqual([1]);
  });

  it("denies nothing where the release before asks for it, with hashes of another seed", async () => {
    const { job, store } = await shipped();
    // It asks with one argument.
    expect((await store.look(await marked(job), wordHash("nowhere", seedOf(job)))).out).toEqual([]);
  });

  it("has no waiting words that the release before takes for its own", async () => {
    await shipped({}, 3, ({ sql }) => {
      const chunks = sql
        .exec<{ raw_bytes: number; words: ArrayBuffer }>("SELECT raw_bytes, words FROM chunk")
        .toArray();
      expect(chunks.length).toBeGreaterThan(0);
      for (const { raw_bytes: bytes, words } of chunks) expect(new Uint32Array(words)[0]).not.toBe(bytes);
    });
  });

  describe("of words that the release before has left waiting", () => {
    /** As that release stores them. */
    const asBefore = ({ sql }: DurableObjectStorage, job: number, count: number): void => {
      const rows = sql.exec<{ id: number; raw_bytes: number }>("SELECT id, raw_bytes FROM chunk ORDER BY id").toArray();
      for (const { id, raw_bytes: bytes } of rows.slice(0, count)) {
        const words = new HashSet();
        hashJson(encodeUtf8(JSON.stringify({ text: "once upon" })), seedOf(job), words);
        const stored = Uint32Array.of(bytes, ...words.all());
        sql.exec("UPDATE chunk SET words = ? WHERE id = ?", stored.buffer, id);
      }
    };

    it("is kept with their seed, for this release and for that one", async () => {
      const { job, store } = await shipped({}, 1, (storage, of) => asBefore(storage, of, 1));
      const [known, unknown] = ["once", "nowhere"].map((word) => wordHash(word, seedOf(job))) as [number, number];
      expect((await store.look(await marked(job), known)).out).toEqual([]);
      expect((await store.look(await marked(job), unknown)).out).toEqual([1]);
      expect((await store.look(await marked(job), unknown, wordHash("once", WORD_SEED))).out).toEqual([1]);
    });

    it("is not made where this release added others", async () => {
      const { job } = await shipped({}, 3, (storage, of) => asBefore(storage, of, 1));
      expect(await sketches(job)).toBe(0);
    });
  });

  it("is made of what consumers of the release before append, with its seed", async () => {
    const build = vi.spyOn(FragmentBuilder.prototype, "finish");
    build.mockImplementation(function (this: FragmentBuilder) {
      const fragments = finish.call(this);
      for (const fragment of fragments) {
        delete fragment.hashes;
        fragment.words = Uint32Array.of(wordHash("once", seedOf(1)));
      }
      return fragments;
    });
    const { job, store } = await shipped({}, 2);
    expect((await store.look(await marked(job), wordHash("once", seedOf(1)), 1)).out).toEqual([]);
    expect((await store.look(await marked(job), wordHash("nowhere", seedOf(1)), 1)).out).toEqual([1]);
  });

  it("is not made of words that a release before sketches has left beside more records than they are of", async () => {
    // Such a release joins what waits raw, and knows nothing of the column.
    const { job, minted } = await shipped({}, 3, ({ sql }) =>
      sql.exec(
        `CREATE TRIGGER earlier AFTER UPDATE OF body ON chunk BEGIN
           UPDATE chunk SET words = OLD.words WHERE id = OLD.id; END`,
      ),
    );
    expect((await jobObjects(job)).map(({ state, records }) => [state, records])).toEqual([
      ["delivered", minted.length],
    ]);
    expect(await sketches(job)).toBe(0);
  });

  it.each([
    ["is not wanted", { sketches: false }],
    ["is of no format that searches read", { output_options: { output_type: "csv", field_names: ["ScriptName"] } }],
  ])("is not kept where it %s", async (_why, fields) => {
    const { job } = await shipped(fields, 1);
    expect(await sketches(job)).toBe(0);
  });

  it("is kept again once it is wanted again", async () => {
    const { job } = await shipped({ sketches: false }, 1);
    await api("PUT", `/logship/jobs/${job}`, { sketches: true });
    const clock = setClock(NOON + 600_000);
    await deliver(pack(new Oracle({ at: NOON, name: "later" }).mint(2, { at: clock.nowMs() }), clock.nowMs()));
    await settle(job, clock);
    expect(await sketches(job)).toBe(1);
  });

  it.each<[string, Words[]]>([
    ["whose chunks are gone: it would exclude all", []],
    [
      "whose hashes have two seeds: it would exclude what has either",
      [true, false].map((isOfJob) => ({ hashes: Uint32Array.of(4711), isOfJob })),
    ],
  ])("is not made of an object %s", async (_whose, words) => {
    const getByName = vi.fn();
    await keepSketch(
      { number: 7, batch: 7, day: DAY, sha256: "" },
      { words: () => words.values() } as unknown as Chunks,
      { getByName } as unknown as typeof env.SKETCHES,
      { job: 3, node: 0 },
    );
    expect(getByName).not.toHaveBeenCalled();
  });

  it("that cannot be kept is dropped: the object is delivered, and the log says so", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { keep } = SketchStore.prototype;
    SketchStore.prototype.keep = () => {
      throw new Error("the disk is full");
    };
    try {
      const { job } = await shipped({}, 1);
      expect((await jobObjects(job)).map(({ state }) => state)).toEqual(["delivered"]);
      const lines = warn.mock.calls.map(([line]) => line);
      expect(JSON.stringify(lines)).toContain("a sketch was dropped");
    } finally {
      SketchStore.prototype.keep = keep;
    }
  });

  it("whose store hangs is waited for five seconds, and dropped", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const words = function* () {
        yield { hashes: Uint32Array.of(4711), isOfJob: false };
      };
      const sketches = { getByName: () => ({ keep: () => new Promise(() => {}) }) };
      const kept = keepSketch(
        { number: 7, batch: 7, day: DAY, sha256: "" },
        { words } as unknown as Chunks,
        sketches as unknown as typeof env.SKETCHES,
        { job: 3, node: 0 },
      );
      await vi.advanceTimersByTimeAsync(5_000);
      await kept;
      expect(JSON.stringify(warn.mock.calls)).toContain("a sketch was dropped");
    } finally {
      vi.useRealTimers();
    }
  });
});
