/**
 * The words of records, by which a sketch tells what an object cannot hold. A word is a run of
 * ASCII letters and digits and of all that is not ASCII, case-folded, in a string of a record; the
 * names of fields are no words.
 */

/**
 * Text as it is compared without regard to case. The fold of two texts, joined, is that of the
 * joined texts: a final sigma, the one letter whose lower case depends on what follows, is none.
 */
export function fold(text: string): string {
  return text.toLowerCase().replaceAll("ς", "σ");
}

/** The words of a folded text, with where each begins. */
export function* wordsIn(folded: string): Generator<{ word: string; at: number }> {
  for (const { 0: word, index: at } of folded.matchAll(/[a-z0-9\u0080-\uffff]+/g)) yield { word, at };
}

const FNV_PRIME = 0x01000193;

/** Every job has hashes of its own. @param job its id. */
export function seedOf(job: number): number {
  return mixed(job ^ 0x811c9dc5);
}

/** Hash of a folded word, 32 bits: FNV-1a over its UTF-8, begun with the job's seed, then mixed. */
export function wordHash(word: string, seed: number): number {
  let hash = seed;
  for (const byte of encoder.encode(word)) hash = Math.imul(hash ^ byte, FNV_PRIME);
  // As in a `HashSet`, which has no 0.
  return mixed(hash) || 1;
}

/** Spreads over all 32 bits (the last step of MurmurHash3). */
function mixed(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const U = 0x75;

/** What each byte is: the folded byte of a word, or 0: it stands between words. */
const WORD_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte).toLowerCase();
  return byte < 0x80 && /[a-z0-9]/.test(char) ? char.charCodeAt(0) : 0;
});

/** A set of hashes, in one buffer: far cheaper than a `Set` of a hundred thousand numbers. */
export class HashSet {
  /** 0: free. */
  #slots = new Uint32Array(1_024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(hash: number): void {
    const wanted = hash === 0 ? 1 : hash;
    const mask = this.#slots.length - 1;
    for (let at = wanted & mask; ; at = (at + 1) & mask) {
      const there = this.#slots[at];
      if (there === wanted) return;
      if (there !== 0) continue;
      this.#slots[at] = wanted;
      this.#size += 1;
      if (this.#size > this.#slots.length / 2) this.#grow();
      return;
    }
  }

  /** All of them, in any order: sorting them takes as long as finding them. */
  all(): Uint32Array<ArrayBuffer> {
    const all = new Uint32Array(this.#size);
    let count = 0;
    for (const hash of this.#slots) if (hash !== 0) all[count++] = hash;
    return all;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    const mask = this.#slots.length - 1;
    for (const hash of old) {
      if (hash === 0) continue;
      let at = hash & mask;
      while (this.#slots[at] !== 0) at = (at + 1) & mask;
      this.#slots[at] = hash;
    }
  }
}

/**
 * The hashes of all words in lines of JSON, found in one pass over their bytes, without parsing.
 * Strings that have anything but ASCII are read one by one.
 * @param json as `JSON.stringify` writes it: nothing stands between a name and its colon.
 * @param into gets them.
 */
export function hashJson(json: Uint8Array, seed: number, into: HashSet): void {
  const end = json.length;
  /** Of the string in hand, until it is known to be no name. */
  const held: number[] = [];
  for (let at = 0; at < end; at++) {
    if (json[at] !== QUOTE) continue;
    const from = at;
    let count = 0;
    let hash = seed;
    let inWord = false;
    let isPlain = true;
    for (at += 1; at < end; at++) {
      const byte = json[at] as number;
      const folded = WORD_BYTE[byte] as number;
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
      }
      if (folded !== 0) {
        hash = Math.imul(hash ^ folded, FNV_PRIME);
        inWord = true;
      } else if (inWord) {
        held[count++] = hash;
        hash = seed;
        inWord = false;
      }
    }
    if (inWord) held[count++] = hash;
    if (json[at + 1] === COLON) continue;
    if (isPlain) for (let i = 0; i < count; i++) into.add(mixed(held[i] as number));
    else hashText(JSON.parse(decoder.decode(json.subarray(from, at + 1))) as string, seed, into);
  }
}

function hashText(text: string, seed: number, into: HashSet): void {
  for (const { word } of wordsIn(fold(text))) into.add(wordHash(word, seed));
}
