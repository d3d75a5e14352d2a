/** What a search believes of sketches in a bucket: those of the very bytes that it asks about. */
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { concat } from "../../../src/base/bytes.ts";
import type { ListedSketch } from "../../../src/formats/manifest/manifest.ts";
import { HASHES } from "../../../src/formats/sketch/sketch.ts";
import { sketchesOf } from "../../../src/formats/sketch/sketch-store.ts";
import { termHash } from "../../../src/formats/sketch/terms.ts";
import { identifier } from "../../../src/operate/search/identify.ts";
import { sketchLookUp } from "../../../src/operate/search/look-up.ts";
import { type Sketched, SketchFiles } from "../../../src/operate/search/sketch-files.ts";
import type { Source } from "../../../src/operate/search/source.ts";
import type { ByteRange, ReadAnswer } from "../../../src/ship/destinations/destination.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";

const DAY = 20_000;

/** A bucket with the sketches of some jobs, each of one object with one word. */
async function bucketOf(jobs: Readonly<Record<number, string>>, day = DAY) {
  setClock(NOON);
  const bucket = new Map<string, Uint8Array>();
  const read = async (key: string, range?: ByteRange): Promise<ReadAnswer> => {
    const file = bucket.get(key);
    const gone = { ok: false, why: "gone", words: "HTTP 404", retryAfterS: null, cause: 404 } as const;
    if (file === undefined || range === undefined) return gone;
    const bytes = file.slice(range.from, range.from + range.bytes);
    return { ok: true, body: new Blob([bytes]).stream(), bytes: bytes.length, sha256: null };
  };
  const files: Record<string, ListedSketch> = {};
  for (const [job, word] of Object.entries(jobs)) {
    const store = sketchesOf(env.SKETCHES, Number(job), 0, day);
    await store.add(HASHES, { batch: 1, mark: markOf(Number(job)) }, Uint32Array.of(termHash(word)));
    for (const { id, bytes, sha256, head, objects } of await store.seal()) {
      const key = `sketch of ${job}`;
      bucket.set(key, concat([await store.read(id, 0, bytes)]));
      await store.moved(id, key, "place");
      files[job] = { key, bytes, sha256, head, objects };
    }
  }
  /** Whether the object of a job is out, for a word. @param isOld it has left the list. */
  const isOut = async (job: number, word: string, isOld: boolean): Promise<boolean> => {
    const source = { job, node: 0, batch: 1 } as Source;
    const of: Sketched = { day, mark: markOf(job), store: { read } };
    if (isOld) of.files = Object.values(files);
    const lookUp = sketchLookUp(new SketchFiles(env.SKETCHES, new Map([[source, of]])), word);
    return (await lookUp([source])).out.has(source);
  };
  return { bucket, isOut };
}

const markOf = (job: number): string => `${job}`.padStart(16, "0");

describe.each([
  ["in the list", false],
  ["that has left it", true],
])("the sketch of an object %s", (_where, isOld) => {
  it("excludes it for what it has not, and not for what it has", async () => {
    const { isOut } = await bucketOf({ 1: "alpha", 2: "beta" });
    expect([await isOut(1, "alpha", isOld), await isOut(1, "beta", isOld)]).toEqual([false, true]);
    expect([await isOut(2, "alpha", isOld), await isOut(2, "beta", isOld)]).toEqual([true, false]);
  });

  it("is not believed where the file of another job or day, or a damaged one, stands under its key", async () => {
    const { bucket, isOut } = await bucketOf({ 1: "alpha", 2: "beta" });
    const other = await bucketOf({ 3: "delta" }, DAY + 1);
    const [own, foreign] = [bucket.get("sketch of 1"), bucket.get("sketch of 2")] as [Uint8Array, Uint8Array];
    const damaged = own.map((byte) => byte ^ 1);
    const lost = [
      foreign,
      other.bucket.get("sketch of 3"),
      damaged,
      own.slice(1),
      new Uint8Array(own.length),
      undefined,
    ];
    for (const file of lost) {
      if (file === undefined) bucket.delete("sketch of 1");
      else bucket.set("sketch of 1", file);
      expect([await isOut(1, "alpha", isOld), await isOut(1, "gamma", isOld)]).toEqual([false, false]);
      expect(await isOut(2, "gamma", isOld)).toBe(true);
    }
  });
});

describe("a store of sketches that says which objects it knows, and then nothing more", () => {
  it("is waited for once", async () => {
    let asked = 0;
    const store = {
      identified: async (objects: readonly { mark: string }[]) => ({
        loose: objects.map(({ mark }) => ({ mark, bytes: 30, fields: 1 })),
        groups: [],
      }),
      identities: () => {
        asked += 1;
        return new Promise(() => {});
      },
    };
    const { setTimeout } = globalThis;
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void) => setTimeout(run, 1)) as never);
    const sources = [1, 2, 3].map((batch) => ({ job: 1, node: 0, batch }) as Source);
    const sketched = new Map(sources.map((source) => [source, { day: DAY, mark: `${source.batch}` } as Sketched]));
    const sketches = { getByName: () => store } as unknown as Env["SKETCHES"];
    const found = await identifier(new SketchFiles(sketches, sketched), new Map())(sources);
    expect(found.size).toBe(3);
    for (const source of sources) expect(await found.get(source)?.load()).toBeNull();
    expect(asked).toBe(1);
    vi.restoreAllMocks();
  });
});
