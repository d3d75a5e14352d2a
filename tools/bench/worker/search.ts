/** Sketches and searches of days of objects: as many and as large as in earnest, made from one. */
import { gzipSync } from "node:zlib";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { SEARCH_HITS_UNITS, SEARCH_READS_AT_ONCE } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import { OBJECT_DEFLATE_LEVEL } from "../../../src/formats/object/fragment.ts";
import { HashSet } from "../../../src/formats/sketch/hash-set.ts";
import { joinWords, SKETCH_MAX_WORDS, type Sketch, sketchOf } from "../../../src/formats/sketch/sketch.ts";
import { sketchesOf } from "../../../src/formats/sketch/sketch-store.ts";
import { hashJson } from "../../../src/formats/sketch/words.ts";
import { type LookUp, type Sketched, sketchLookUp } from "../../../src/operate/search/look-up.ts";
import { type CompiledQuery, compileQuery } from "../../../src/operate/search/query.ts";
import { type SearchEnd, type Sources, search } from "../../../src/operate/search/search.ts";
import type { Source } from "../../../src/operate/search/source.ts";
import { plain as plainLines } from "../../../src/ship/destinations/read-object.ts";
import type {
  DaysSketches,
  FoundText,
  FoundWord,
  MakeObject,
  ObjectSize,
  TextSearch,
  WordSearch,
} from "../protocol.ts";
import { seeded } from "../records.ts";
import { preparedPieces } from "./cpu.ts";

const JOB = 1;
const KEY = "bench.log.gz";
const MARK = "";

/** The time of the record with the rare words, in ms since the epoch. */
const HIT_MS = Date.parse("2026-11-20T12:00:00Z");

/** From the beginning of an object to that of the next, in ms. */
const OBJECT_MS = 30_000;

/** Of what comes from a store at once, in bytes. */
const PIECE_BYTES = 65_536;

/** The hashes of what is prepared, piece by piece as the pipeline has them. */
export function wordsOfPieces(pieces: readonly Uint8Array[]): Uint32Array<ArrayBuffer>[] {
  return pieces.map((piece) => {
    const words = new HashSet();
    hashJson(piece, words);
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

/** As stored. */
interface Stored {
  bytes: Uint8Array;
  rawBytes: number;
  records: number;
}

/** Of what is prepared; and one that has a record with rare words in its middle, too. */
let made: { plain: Stored; holder: Stored } | null = null;

/** Makes objects of what is prepared. @param holders of all words that are looked for later. */
export function makeObject({ records, holders }: MakeObject): ObjectSize {
  const pieces = preparedPieces();
  const middle = Math.floor(pieces.length / 2);
  const rare = encodeUtf8(
    `${JSON.stringify({ EventTimestampMs: HIT_MS, a: ` ${holders.map(rareWord).join(" ")} ` })}\n`,
  );
  const plain = stored(pieces, records);
  made = { plain, holder: stored([...pieces.slice(0, middle), rare, ...pieces.slice(middle)], records + 1) };
  const parts = wordsOfPieces(pieces);
  const words = joinWords(parts, SKETCH_MAX_WORDS)?.length ?? 0;
  const sketch = sketchOfWords(parts);
  return {
    ...{ records, words, bytes: plain.bytes.length, rawBytes: plain.rawBytes },
    ...{ sketchBytes: bytesOf(sketch), segments: sketch.length },
  };
}

/** One gzip member. */
function stored(pieces: readonly Uint8Array[], records: number): Stored {
  const raw = Buffer.concat(pieces);
  return { bytes: new Uint8Array(gzipSync(raw, { level: OBJECT_DEFLATE_LEVEL })), rawBytes: raw.length, records };
}

/** A word that one object alone has. */
function rareWord(batch: number): string {
  return `rare${batch}`;
}

/** Keeps sketches of objects of a day, of words that are drawn, and of its rare word each. */
export async function keepSketches({ day, first, objects, words }: DaysSketches, env: Env): Promise<null> {
  const store = sketchesOf(env.SKETCHES, JOB, 0, day);
  for (let batch = first; batch < first + objects; batch++) {
    const rare = wordsOfPieces([encodeUtf8(JSON.stringify({ a: rareWord(batch) }))]);
    await store.keep({ batch, mark: MARK }, sketchOfWords([drawn(batch, words - 1), ...rare]));
  }
  return null;
}

/** Ascending, one in each of as many equal spans. */
function drawn(batch: number, words: number): Uint32Array<ArrayBuffer> {
  const random = seeded(batch);
  const hashes = new Uint32Array(words);
  for (let i = 0; i < words; i++) hashes[i] = ((i + random()) / words) * 2 ** 32;
  return hashes;
}

/** Searches all objects for the rare word of one, newest first. */
export async function findWord({ objects, perDay, firstDay, holder }: WordSearch, env: Env): Promise<FoundWord> {
  const { plain, holder: held } = objectsMade();
  const query = queryOf(` ${rareWord(holder)} `);
  const sketched = new Map<Source, Sketched>();
  const sofar = { read: 0, bytesRead: 0, sketchBytes: 0 };
  let first: FoundWord["first"] | null = null;
  for (let batch = 0; batch < objects; batch++) {
    const source = sourceOf(batch === holder ? held : plain, batch, HIT_MS + (batch - holder - 0.5) * OBJECT_MS);
    const open: Source["open"] = (read) => {
      sofar.read += 1;
      return source.open((bytes) => {
        sofar.bytesRead += bytes;
        read(bytes);
      });
    };
    sketched.set({ ...source, open }, { day: firstDay + Math.floor(batch / perDay), mark: MARK });
  }
  const look = sketchLookUp(env.SKETCHES, query.needed, sketched);
  const lookUp: LookUp = async (sources) => {
    const looked = await look(sources);
    sofar.sketchBytes += looked.bytes;
    return looked;
  };
  let hits = 0;
  const { progress } = await searched({ list: [...sketched.keys()], listedToMs: null, lookUp }, query, 100, (found) => {
    hits += found;
    first ??= { ...sofar };
  });
  if (first === null || hits !== 1) throw new Error(`${hits} hits of a word that one object has`);
  if (progress.bytesRead !== sofar.bytesRead) throw new Error("bytes were read that are not told");
  return { ...sofar, first };
}

/** Searches one object, as often as there are objects. */
export async function searchText({ objects, text, limit }: TextSearch): Promise<FoundText> {
  const { plain } = objectsMade();
  const list = Array.from({ length: objects }, (_, batch) => sourceOf(plain, batch, 0, Number.MAX_SAFE_INTEGER));
  let hits = 0;
  const { progress } = await searched({ list, listedToMs: null }, queryOf(text), limit, (found) => {
    hits += found;
  });
  return { hits, read: progress.read };
}

function objectsMade(): NonNullable<typeof made> {
  if (made === null) throw new Error("makeObject comes first");
  return made;
}

function queryOf(text: string): CompiledQuery {
  return compileQuery({ filter: null, text, rayId: "", sinceMs: 0, untilMs: Number.MAX_SAFE_INTEGER });
}

/** An object whose events reach half into the next one's time. */
function sourceOf(
  { bytes, rawBytes, records }: Stored,
  batch: number,
  firstMs: number,
  lastMs = firstMs + 1.5 * OBJECT_MS,
): Source {
  return {
    ...{ job: JOB, node: 0, batch, number: batch, bytes: bytes.length, rawBytes, records, isHeld: false },
    ...{ firstMs, lastMs },
    open: async (read) =>
      plainLines(
        (async function* () {
          for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
            const piece = bytes.slice(at, at + PIECE_BYTES);
            read(piece.length);
            yield piece;
          }
        })(),
        { key: KEY, bytes: bytes.length, rawBytes },
      ),
  };
}

function searched(
  sources: Sources,
  query: CompiledQuery,
  limit: number,
  onHits: (hits: number) => void,
): Promise<SearchEnd> {
  const unbounded = Number.POSITIVE_INFINITY;
  const bounds = {
    limit,
    hitUnits: SEARCH_HITS_UNITS,
    rawBytes: unbounded,
    ms: unbounded,
    atOnce: SEARCH_READS_AT_ONCE,
  };
  return search(
    sources,
    { query, order: "newest", cursor: null, bounds, signal: new AbortController().signal, platform },
    { hits: ({ length }) => onHits(length), progress: () => {} },
  );
}
