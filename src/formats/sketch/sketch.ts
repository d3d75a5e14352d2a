import { HashSet } from "./hash-set.ts";

/**
 * What an object holds, in short: a Bloom filter (Bloom, 1970) over the hashes of its words, in
 * segments by the first bits of a hash, so that one word is looked up in a few kilobytes.
 */
export type Sketch = Uint8Array<ArrayBuffer>[];

/**
 * With so many bits a word and so many probes, one word in 250 that an object does not hold seems
 * to be in it: (1 − e^(−8/11.6))^8 = 0.39 %.
 */
const BITS_A_WORD = 11.6;
const PROBES = 8;

/**
 * A segment has no more words than this, if hashes are spread evenly: some 47 kB, a row. Smaller
 * ones cost more rows, larger ones more reading.
 */
const WORDS_A_SEGMENT = 32_768;

/** At most this many segments, so that no sketch takes more rows. */
export const SEGMENTS_MAX = 256;

/** Words of an object of which a sketch is made; of one with more there is none. */
export const SKETCH_MAX_WORDS = 1_500_000;

/**
 * Words of a fragment of a thousand records that are kept for its object's sketch; of more, none
 * are.
 */
export const FRAGMENT_MAX_WORDS = 65_536;

/** The distinct hashes of these parts, in any order; null: too many. */
export function joinWords(parts: Iterable<Uint32Array>, most: number): Uint32Array<ArrayBuffer> | null {
  const joined = new HashSet();
  for (const part of parts) {
    joined.addAll(part);
    if (joined.size > most) return null;
  }
  return joined.all();
}

/** @param words distinct. */
export function sketchOf(words: Uint32Array): Sketch {
  let segments = 1;
  while (segments < SEGMENTS_MAX && words.length / segments > WORDS_A_SEGMENT) segments *= 2;
  const counts = new Uint32Array(segments);
  for (let i = 0; i < words.length; i++) {
    const segment = nodeAt(words[i] as number, segments);
    counts[segment] = (counts[segment] as number) + 1;
  }
  const sketch: Sketch = Array.from(counts, (count) => new Uint8Array(Math.ceil((count * BITS_A_WORD) / 8)));
  for (let i = 0; i < words.length; i++) {
    const hash = words[i] as number;
    put(sketch[nodeAt(hash, segments)] as Uint8Array, hash);
  }
  return sketch;
}

/** The segment in which a hash is looked up. @param segments how many the sketch has: 2^n. */
export function nodeAt(hash: number, segments: number): number {
  return segments === 1 ? 0 : hash >>> Math.clz32(segments - 1);
}

/** Whether the word may be in the object. False is certain. */
export function mayHold(segment: Uint8Array, hash: number): boolean {
  const bits = segment.length * 8;
  let place = firstPlace(hash);
  for (let i = 0; i < PROBES; i++) {
    const bit = bitAt(place, bits);
    if (((segment[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
    place = (place + stepOf(hash)) | 0;
  }
  return true;
}

function put(filter: Uint8Array, hash: number): void {
  const bits = filter.length * 8;
  const step = stepOf(hash);
  let place = firstPlace(hash);
  for (let i = 0; i < PROBES; i++) {
    const bit = bitAt(place, bits);
    filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7));
    place = (place + step) | 0;
  }
}

// Double hashing (Kirsch and Mitzenmacher, 2006). Of one segment, all hashes begin with the same
// bits: place and step are drawn from all of them.

function firstPlace(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
}

function stepOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 12), 0x297a2d39) | 1;
}

/** Scales a place of 32 bits to those of a filter: a remainder takes five times as long. */
function bitAt(place: number, bits: number): number {
  return (((place >>> 0) * bits) / 2 ** 32) | 0;
}
