/** The sketch of an object is kept with its delivery, and nothing of the delivery depends on it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { HASHES } from "../../../src/formats/sketch/sketch.ts";
import { sketchesOf } from "../../../src/formats/sketch/sketch-store.ts";
import { fold, termHash, termsIn } from "../../../src/formats/sketch/terms.ts";
import { SketchStore, TraceLog } from "../../../src/index.ts";
import type { Chunks } from "../../../src/ship/reader/chunks.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { keepSketch } from "../../../src/ship/reader/object-sketch.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import {
  deliver,
  freshBucket,
  jobObjects,
  NOON,
  pack,
  readAll,
  setClock,
  settle,
} from "../../support/runtime/pipeline.ts";

afterEach(() => void vi.restoreAllMocks());

const DAY = Math.floor(NOON / 86_400_000);

/** @param isReadOnce the reader reads all appends when they are due, and cuts with it. */
async function shipped(fields: object = {}, appends = 3, isReadOnce = false) {
  const clock = setClock(NOON);
  const bucket = freshBucket();
  const job = await createJob(bucket.name, fields);
  const oracle = new Oracle({ at: NOON });
  const minted = [];
  await readAll();
  const unread = isReadOnce ? vi.spyOn(TraceLog.prototype, "drive").mockResolvedValue() : null;
  for (let i = 0; i < appends; i++) {
    const some = oracle.mint(4, { at: clock.nowMs(), scriptName: `shop-${i}`, padding: i * 100_000 });
    minted.push(...some);
    await deliver(pack(some, clock.nowMs()));
  }
  unread?.mockRestore();
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
    storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'words'").toArray().length === 0
      ? 0
      : Number(storage.sql.exec("SELECT count(*) AS n FROM words").one().n),
  );

/** The objects of a job, as its sketches know them. */
const marked = (job: number) =>
  runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) =>
    storage.sql
      .exec<{ batch: number; sha256: string }>("SELECT batch, sha256 FROM object")
      .toArray()
      .map(({ batch, sha256 }) => ({ batch, mark: sha256.slice(0, 16) })),
  );

describe("a sketch", () => {
  it.each([
    ["by and by", false],
    ["at once", true],
  ])("holds every word of every record of its object, in whatever form they joined it %s", async (_how, isReadOnce) => {
    const { job, minted, store } = await shipped({}, 3, isReadOnce);
    const objects = await jobObjects(job);
    expect(objects.map(({ records }) => records)).toEqual([12]);
    const words = new Set(
      minted
        .flatMap(({ record }) => strings(record))
        .flatMap((text) => [...termsIn(fold(text))].map(({ word }) => word)),
    );
    expect(words.size).toBeGreaterThan(20);
    const all = [...words].map((word) => termHash(word));
    const known = await marked(job);
    expect((await store.ask(HASHES, known, { all })).out).toEqual([]);
    expect((await store.ask(HASHES, known, termHash("nowhere"))).out).toEqual(known.map(({ mark }) => mark));
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

  it.each<[string, (Uint32Array | null)[]]>([
    ["whose chunks are gone: it would exclude all", []],
    ["of which some words are unknown: it would exclude those", [Uint32Array.of(HASHES, 4711), null]],
    ["of which some words are of another version", [Uint32Array.of(HASHES, 4711), Uint32Array.of(HASHES - 1, 4712)]],
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
    const { add } = SketchStore.prototype;
    SketchStore.prototype.add = () => {
      throw new Error("the disk is full");
    };
    try {
      const { job } = await shipped({}, 1);
      expect((await jobObjects(job)).map(({ state }) => state)).toEqual(["delivered"]);
      const lines = warn.mock.calls.map(([line]) => line);
      expect(JSON.stringify(lines)).toContain("a sketch was dropped");
    } finally {
      SketchStore.prototype.add = add;
    }
  });

  it("whose store hangs is waited for five seconds, and dropped", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const words = function* () {
        yield Uint32Array.of(HASHES, 4711);
      };
      const sketches = { getByName: () => ({ add: () => new Promise(() => {}) }) };
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
