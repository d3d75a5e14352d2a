/** Sketches and searches of a day of objects: as many and as large as in earnest, made from one. */
import { constants, crc32, deflateRawSync } from "node:zlib";
import { OBJECT_DEFLATE_LEVEL } from "../../../src/object/fragment.ts";
import { plain } from "../../../src/object/read-object.ts";
import { platform } from "../../../src/platform.ts";
import { compileQuery } from "../../../src/search/query.ts";
import { search } from "../../../src/search/search.ts";
import { HashSet } from "../../../src/sketch/hash-set.ts";
import { joinWords, SKETCH_MAX_WORDS, type Sketch, sketchOf } from "../../../src/sketch/sketch.ts";
import { sketchesOf } from "../../../src/sketch/sketch-store.ts";
import { hashJson, seedOf } from "../../../src/sketch/words.ts";
import type { DaysSketches, FoundText, LookedUp, ObjectSize, TextSearch } from "../protocol.ts";
import { seeded } from "../records.ts";
import { preparedPieces } from "./cpu.ts";

const JOB = 1;
const KEY = "bench.log.gz";

/** The hashes of what is prepared, piece by piece as the pipeline has them. */
export function wordsOfPieces(pieces: readonly Uint8Array[]): Uint32Array<ArrayBuffer>[] {
  return pieces.map((piece) => {
    const words = new HashSet();
    hashJson(piece, seedOf(JOB), words);
    return words.all();
  });
}

/** A sketch of what is prepared, as one object. */
export function sketchOfWords(parts: readonly Uint32Array<ArrayBuffer>[]): Sketch {
  const words = joinWords(parts, SKETCH_MAX_WORDS);
  if (words === null) throw new Error("an object has too many words");
  return sketchOf(words);
}

const bytesOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, { length }) => sum + length, 0);

let object: { bytes: Uint8Array; rawBytes: number; records: number } | null = null;

/** Makes one object of what is prepared. */
export function makeObject(records: number): ObjectSize {
  const raw = new Uint8Array(Buffer.concat(preparedPieces()));
  const deflated = deflateRawSync(raw, { level: OBJECT_DEFLATE_LEVEL, finishFlush: constants.Z_FINISH });
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(raw), 0);
  trailer.writeUInt32LE(raw.length, 4);
  const head = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);
  object = { bytes: new Uint8Array(Buffer.concat([head, deflated, trailer])), rawBytes: raw.length, records };
  const parts = wordsOfPieces(preparedPieces());
  const words = joinWords(parts, SKETCH_MAX_WORDS)?.length ?? 0;
  const sketch = sketchOfWords(parts);
  const { bytes } = object;
  return {
    ...{ records, words, bytes: bytes.length, rawBytes: raw.length },
    ...{ sketchBytes: bytesOf(sketch), segments: sketch.length },
  };
}

/** Keeps sketches of objects of a day, of words that are drawn. */
export async function keepSketches({ day, first, objects, words }: DaysSketches, env: Env): Promise<null> {
  const store = sketchesOf(env.SKETCHES, JOB, 0, day);
  for (let batch = first; batch < first + objects; batch++)
    await store.keep({ batch, mark: "" }, sketchOf(drawn(batch, words)));
  return null;
}

/** Ascending, one in each of as many equal spans. */
function drawn(batch: number, words: number): Uint32Array {
  const random = seeded(batch);
  const hashes = new Uint32Array(words);
  for (let i = 0; i < words; i++) hashes[i] = ((i + random()) / words) * 2 ** 32;
  return hashes;
}

/** Looks words up that one object each has. @returns what all took together. */
export async function lookUp(
  { day, objects, words, tries }: DaysSketches & { tries: number },
  env: Env,
): Promise<LookedUp> {
  const store = sketchesOf(env.SKETCHES, JOB, 0, day);
  const asked = Array.from({ length: objects }, (_, batch) => ({ batch, mark: "" }));
  const looked: LookedUp = { sketchBytes: 0, read: 0, falseHits: 0 };
  for (let i = 0; i < tries; i++) {
    const holder = Math.floor(((i + 0.5) / tries) * objects);
    const word = drawn(holder, words)[i * 7] as number;
    const { out, bytes } = await store.look(asked, word);
    if (out.includes(holder)) throw new Error("a sketch denies what its object has");
    looked.sketchBytes += bytes;
    looked.read += objects - out.length;
    looked.falseHits += objects - out.length - 1;
  }
  return looked;
}

/** Searches that object, as often as there are objects. */
export async function searchText({ objects, text, limit }: TextSearch): Promise<FoundText> {
  const { bytes, rawBytes, records } = object ?? { bytes: new Uint8Array(), rawBytes: 0, records: 0 };
  const query = compileQuery({ filter: null, text, rayId: "", sinceMs: 0, untilMs: Number.MAX_SAFE_INTEGER });
  const list = Array.from({ length: objects }, (_, batch) => ({
    ...{ job: JOB, node: 0, batch, number: batch, bytes: bytes.length, rawBytes, records, isOut: false, isHeld: false },
    ...{ firstMs: 0, lastMs: Number.MAX_SAFE_INTEGER },
    open: async () =>
      plain(
        (async function* () {
          for (let at = 0; at < bytes.length; at += 65_536) yield bytes.slice(at, at + 65_536);
        })(),
        { key: KEY, bytes: bytes.length, rawBytes },
      ),
  }));
  let hits = 0;
  const bounds = { limit, hitUnits: 4e6, rawBytes: Number.POSITIVE_INFINITY, ms: Number.POSITIVE_INFINITY, atOnce: 4 };
  const { progress } = await search(
    { list, listedToMs: null },
    { query, order: "newest", cursor: null, bounds, signal: new AbortController().signal, platform },
    {
      hits: (found) => {
        hits += found.length;
      },
      progress: () => {},
    },
  );
  return { hits, read: progress.read };
}
