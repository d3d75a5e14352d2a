/**
 * The words of records, by which a sketch tells what an object cannot hold. A word is a UUID, or
 * else a run of letters and digits, case-folded, in a string of a record; the names of fields are
 * no words.
 */

import type { HashSet } from "./hash-set.ts";

/**
 * Text as it is compared without regard to case. The fold of two texts, joined, is that of the
 * joined texts: a final sigma, the one letter whose lower case depends on what follows, is none.
 */
export function fold(text: string): string {
  return text.toLowerCase().replaceAll("ς", "σ");
}

/** How many digits the groups of a UUID have (RFC 9562). */
export const UUID_GROUPS = [8, 4, 4, 4, 12] as const;

/** How long a UUID is, its hyphens included. */
export const UUID_LENGTH = 36;

/** Scripts that are written without spaces have no words: a part of a text stands anywhere. */
const UNSPACED = ["Hani", "Hira", "Kana", "Khmr", "Laoo", "Mymr", "Thai"]
  .map((script) => `\\p{scx=${script}}`)
  .join("");

/** What words are made of, in folded text; in no part a pair of surrogates. */
export const OF_WORD = new RegExp(`[[\\p{Alphabetic}\\p{N}]--[${UNSPACED}\\u{10000}-\\u{10ffff}]]`, "v");

const WORD = `${OF_WORD.source}+`;
const WORDS = new RegExp(`${UUID_GROUPS.map((n) => `[0-9a-f]{${n}}`).join("-")}(?!${WORD})|${WORD}`, "gv");
const RUNS = new RegExp(WORD, "gv");

/** A word of a text, and where it begins. */
export interface Word {
  word: string;
  at: number;
}

/** The words of a folded text. */
export function termsIn(folded: string): Word[] {
  return Array.from(folded.matchAll(WORDS), ({ 0: word, index: at }) => ({ word, at }));
}

/** The runs of a folded text, where a UUID is five. */
export function runsIn(folded: string): Word[] {
  return Array.from(folded.matchAll(RUNS), ({ 0: word, index: at }) => ({ word, at }));
}

/** Odd, so that a step loses nothing (MurmurHash3). */
const FACTOR = 0xcc9e2d51;
const SECOND_FACTOR = 0x1b873593;

/**
 * What hashes begin with: the same in all jobs, so that those with equal rules share the hashes of
 * a fragment.
 */
const SEED = 0x811c9dc5 | 0;

/** With the next four bytes of a word; with zeros where it ends. @returns signed. */
function step(hash: number, four: number): number {
  const spread = Math.imul(((hash << 13) | (hash >>> 19)) ^ four, FACTOR);
  // Else texts that differ in two places, as counted ids do, have equal hashes too often.
  return Math.imul(spread ^ (spread >>> 15), SECOND_FACTOR);
}

/** Hash of a folded word, 32 bits: of its UTF-8, four bytes a step, and a last one of 0 to 3. */
export function termHash(word: string): number {
  const { buffer } = encoder.encode(word);
  const view = new DataView(buffer);
  const end = view.byteLength;
  let hash = SEED;
  for (let at = 0; at <= end; at += 4) hash = step(hash, fourAt(view, at, end));
  // As in a `HashSet`, which has no 0.
  return mixed(hash) >>> 0 || 1;
}

/**
 * Spreads over all 32 bits (the last step of MurmurHash3).
 * @returns signed: half of the unsigned ones are numbers on the heap.
 */
function mixed(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const QUOTE = 0x22;
const HYPHEN = 0x2d;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const U = 0x75;

/*
 * Four bytes are one number, the first of them its lowest: each is compared with the same values at
 * once (Warren, Hacker's Delight, 6-1). Of what is found of a byte, its highest bit tells. All
 * numbers fit 32 bits with their sign: others are numbers on the heap.
 */
const EACH = 0x01010101;
const HIGHEST = 0x80808080 | 0;
const QUOTES = QUOTE * EACH;
const BACKSLASHES = BACKSLASH * EACH;

/** Makes a letter small, and leaves a digit as it is. */
const SMALL = 0x20 * EACH;

/** What takes the first letter or digit, or what comes after the last, to the highest bit. */
const FROM_A = (0x80 - 0x61) * EACH;
const FROM_0 = (0x80 - 0x30) * EACH;
const AFTER_Z = (0x7f - 0x7a) * EACH;
const AFTER_F = (0x7f - 0x66) * EACH;
const AFTER_9 = (0x7f - 0x39) * EACH;

/** Beyond the end they are 0. @param end of the view: its own length is slow to ask for. */
function fourAt(view: DataView, at: number, end: number): number {
  return at + 4 <= end ? view.getInt32(at, true) : lastAt(view, at, end);
}

function lastAt(view: DataView, at: number, end: number): number {
  let four = 0;
  for (let i = end - 1; i >= at; i--) four = (four << 8) | view.getUint8(i);
  return four;
}

/** Which are neither ASCII letters, up to the last that is one, nor digits. */
function betweenWords(four: number, afterLast: number): number {
  const letters = (four | SMALL) & ~HIGHEST;
  const digits = four & ~HIGHEST;
  const noLetter = ~(letters + FROM_A) | (letters + afterLast);
  const noDigit = ~(digits + FROM_0) | (digits + AFTER_9);
  return ((noLetter & noDigit) | four) & HIGHEST;
}

/** Which are quotes or backslashes. Beyond the first, others may be told to be. */
function delimiters(four: number): number {
  const noQuote = four ^ QUOTES;
  const noBackslash = four ^ BACKSLASHES;
  return (((noQuote - EACH) & ~noQuote) | ((noBackslash - EACH) & ~noBackslash)) & HIGHEST;
}

/** How many bytes come before the first one found. */
function before(found: number): number {
  return (31 - Math.clz32(found & (~found + 1))) >> 3;
}

/** Hashes, not mixed yet: {@link WAITING_MAX}, and those of a string. The largest has 4 MB. */
let waiting = new Int32Array(1_024);

/** So many are added at once. */
const WAITING_MAX = 16_384;

/**
 * The hashes of all words in lines of JSON, found in one pass over their bytes, without parsing.
 * Strings that have anything but ASCII are read one by one.
 * @param json as `JSON.stringify` writes it: nothing stands between a name and its colon.
 * @param into gets them.
 */
export function hashJson(json: Uint8Array, into: HashSet): void {
  const view = new DataView(json.buffer, json.byteOffset, json.byteLength);
  const end = json.length;
  let hashes = waiting;
  let count = 0;
  let at = 0;
  while (at < end) {
    if (json[at] !== QUOTE) {
      at += 1;
      continue;
    }
    const ahead = json[at - 1];
    if (ahead !== COLON && ahead !== BRACKET) {
      const behind = endOfString(view, at, end);
      if (json[behind] === COLON) {
        at = behind + 1;
        continue;
      }
    }
    // What follows is one loop, without calls of large functions: it takes most of the time.
    const from = at;
    const first = count;
    let isPlain = true;
    at += 1;
    while (at < end) {
      let four = fourAt(view, at, end);
      let found = betweenWords(four, AFTER_Z);
      if ((found & 0x80) === 0) {
        const begin = at;
        let hash = SEED;
        while (found === 0) {
          hash = step(hash, four | SMALL);
          at += 4;
          four = fourAt(view, at, end);
          found = betweenWords(four, AFTER_Z);
        }
        const place = found & (~found + 1);
        hash = step(hash, (four | SMALL) & ((place >>> 7) - 1));
        at += (31 - Math.clz32(place)) >> 3;
        if (at - begin === UUID_GROUPS[0] && json[at] === HYPHEN && isUuid(view, begin, end)) {
          hash = uuidHash(view, begin);
          at = begin + UUID_LENGTH;
        }
        if (count === hashes.length) hashes = waiting = grown(hashes);
        hashes[count++] = hash;
      }
      const byte = json[at] as number;
      at += 1;
      if (byte === QUOTE) break;
      if (byte >= 0x80) isPlain = false;
      else if (byte === BACKSLASH) {
        if (json[at] === U) {
          // JSON.stringify escapes control characters alone so; whatever else it is, is read.
          if (json[at + 1] !== 0x30 || json[at + 2] !== 0x30 || (json[at + 3] as number) > 0x31) isPlain = false;
          at += 4;
        }
        at += 1;
      }
    }
    if (!isPlain) {
      count = first;
      hashText(JSON.parse(decoder.decode(json.subarray(from, at))) as string, into);
    }
    if (count < WAITING_MAX) continue;
    addMixed(hashes, count, into);
    count = 0;
  }
  addMixed(hashes, count, into);
}

/** Where a string ends. @param from its first quote. @returns the place after its last one. */
function endOfString(view: DataView, from: number, end: number): number {
  let at = from + 1;
  while (at < end) {
    const found = delimiters(fourAt(view, at, end));
    at += found === 0 ? 4 : before(found);
    if (found === 0) continue;
    if (view.getUint8(at) === QUOTE) break;
    at += 2;
  }
  return at + 1;
}

/** Adds so many hashes. Mixes them where they are. */
function addMixed(hashes: Int32Array, count: number, into: HashSet): void {
  for (let i = 0; i < count; i++) hashes[i] = mixed(hashes[i] as number);
  into.addAll(hashes, count);
}

function grown(full: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * full.length);
  larger.set(full);
  return larger;
}

/** Where the hyphens of a UUID are, in each four bytes of it. */
const UUID_HYPHENS = Int32Array.of(0, 0, 0x80, 0x8000, 0x800000, 0x80000000, 0, 0, 0);

/** Whether it is the word that begins there. */
function isUuid(view: DataView, from: number, end: number): boolean {
  if (from + UUID_LENGTH > end) return false;
  for (let i = 0; i < UUID_HYPHENS.length; i++) {
    const four = view.getInt32(from + 4 * i, true);
    const between = UUID_HYPHENS[i] as number;
    const hyphens = (between >>> 7) * 0xff;
    if (betweenWords(four, AFTER_F) !== between || ((four ^ (HYPHEN * EACH)) & hyphens) !== 0) return false;
  }
  return (betweenWords(fourAt(view, from + UUID_LENGTH, end), AFTER_Z) & 0x80) !== 0;
}

function uuidHash(view: DataView, from: number): number {
  let hash = SEED;
  for (let i = 0; i < UUID_LENGTH; i += 4) hash = step(hash, view.getInt32(from + i, true) | SMALL);
  return step(hash, 0);
}

function hashText(text: string, into: HashSet): void {
  into.addAll(Uint32Array.from(termsIn(fold(text)), ({ word }) => termHash(word)));
}
