/**
 * The words of records, by which a sketch tells what an object cannot hold. A word is a UUID, or
 * else a run of ASCII letters and digits and of all that is not ASCII, case-folded, in a string of
 * a record; the names of fields are no words.
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

const WORD = /[a-z0-9\u0080-\uffff]+/.source;
const WORDS = new RegExp(`${UUID_GROUPS.map((n) => `[0-9a-f]{${n}}`).join("-")}(?!${WORD})|${WORD}`, "g");
const RUNS = new RegExp(WORD, "g");

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

const FNV_PRIME = 0x01000193;

/**
 * What hashes begin with: the same in all jobs, so that those with equal rules share the hashes of
 * a fragment.
 */
const SEED = mixed(0x811c9dc5);

/** Hash of a folded word, 32 bits: FNV-1a over its UTF-8, begun with the seed, then mixed. */
export function termHash(word: string): number {
  let hash = SEED;
  for (const byte of encoder.encode(word)) hash = Math.imul(hash ^ byte, FNV_PRIME);
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

/** The last hexadecimal digit: "f". */
const LAST_DIGIT = 0x66;

/** What each byte is: the folded byte of a word, or 0: it stands between words. */
const WORD_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte).toLowerCase();
  return byte < 0x80 && /[a-z0-9]/.test(char) ? char.charCodeAt(0) : 0;
});

/**
 * The hashes of all words in lines of JSON, found in one pass over their bytes, without parsing.
 * Strings that have anything but ASCII are read one by one.
 * @param json as `JSON.stringify` writes it: nothing stands between a name and its colon.
 * @param into gets them.
 */
export function hashJson(json: Uint8Array, into: HashSet): void {
  for (let at = 0; at < json.length; at++) {
    if (json[at] !== QUOTE) continue;
    const before = json[at - 1];
    if (before !== COLON && before !== BRACKET) {
      const end = endOfString(json, at);
      if (json[end] === COLON) {
        at = end;
        continue;
      }
    }
    at = hashString(json, at, into);
  }
}

/** Where a string ends. @param from its first quote. @returns the place after its last one. */
function endOfString(json: Uint8Array, from: number): number {
  let at = from + 1;
  for (; at < json.length && json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at += 1;
  return at + 1;
}

/** Of the string in hand, until it is known to be ASCII. Of the largest record it takes 2 MB. */
let held = new Int32Array(1_024);

/** @param from its first quote. @returns where its last one is. */
function hashString(json: Uint8Array, from: number, into: HashSet): number {
  let count = 0;
  let isPlain = true;
  /** How many groups of a UUID, one after the other, end where the last of them does. */
  let groups = 0;
  let groupEnd = 0;
  let at = from + 1;
  while (at < json.length) {
    const byte = json[at] as number;
    let folded = WORD_BYTE[byte] as number;
    if (folded === 0) {
      if (byte === QUOTE) break;
      if (byte >= 0x80) isPlain = false;
      if (byte === BACKSLASH) {
        at += 1;
        if (json[at] === U) {
          // JSON.stringify escapes control characters alone so; whatever else it is, is read.
          if (json[at + 1] !== 0x30 || json[at + 2] !== 0x30 || (json[at + 3] as number) > 0x31) isPlain = false;
          at += 4;
        }
      }
      at += 1;
      continue;
    }
    const begin = at;
    let hash = SEED;
    do {
      hash = Math.imul(hash ^ folded, FNV_PRIME);
      at += 1;
      folded = WORD_BYTE[json[at] as number] as number;
    } while (folded > 0);
    if (count === held.length) held = grown(held);
    held[count++] = hash;
    const digits = at - begin;
    if (digits === UUID_GROUPS[0]) groups = 1;
    else if (groups === 0) continue;
    else if (begin === groupEnd + 1 && json[groupEnd] === HYPHEN && digits === UUID_GROUPS[groups]) groups += 1;
    else groups = 0;
    groupEnd = at;
    if (groups < UUID_GROUPS.length) continue;
    groups = 0;
    const uuid = uuidHash(json, at - UUID_LENGTH);
    if (uuid === null) continue;
    count -= UUID_GROUPS.length - 1;
    held[count - 1] = uuid;
  }
  if (isPlain) {
    for (let i = 0; i < count; i++) held[i] = mixed(held[i] as number);
    into.addAll(held, count);
  } else hashText(JSON.parse(decoder.decode(json.subarray(from, at + 1))) as string, into);
  return at;
}

function grown(full: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * full.length);
  larger.set(full);
  return larger;
}

/** Of bytes in the groups of a UUID; null: they are letters beyond those of one. Not mixed. */
function uuidHash(bytes: Uint8Array, from: number): number | null {
  let hash = SEED;
  for (let i = 0; i < UUID_LENGTH; i++) {
    const byte = bytes[from + i] as number;
    const folded = byte === HYPHEN ? HYPHEN : (WORD_BYTE[byte] as number);
    if (folded > LAST_DIGIT) return null;
    hash = Math.imul(hash ^ folded, FNV_PRIME);
  }
  return hash;
}

function hashText(text: string, into: HashSet): void {
  for (const { word } of termsIn(fold(text))) into.add(termHash(word));
}
