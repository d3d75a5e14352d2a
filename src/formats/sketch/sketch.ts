import { HashSet } from "./hash-set.ts";

/**
 * How words are found and hashed, as terms.ts does: another number with every change there, and
 * below a million, as hardly a hash is. What has another one says nothing of a word.
 */
export const HASHES = 3;

/** Words of an object of which a sketch is made; of one with more there is none. */
export const SKETCH_MAX_WORDS = 1_500_000;

/**
 * Words of a fragment of a thousand records that are kept for its object's sketch; of more, none
 * are.
 */
export const FRAGMENT_MAX_WORDS = 65_536;

/** A part has so many words, if hashes are spread evenly: a row of 131 kB. */
const WORDS_A_PART = 32_768;

/** At most, so that no object takes more rows: enough for {@link SKETCH_MAX_WORDS}. */
export const PARTS_MAX = 64;

/** Words of a part with more were chosen to be there. */
const PART_MAX_WORDS = 2 * WORDS_A_PART;

/**
 * Words as they wait for their object, maybe for code of another release: {@link HASHES}, then
 * their hashes in any order.
 */
export function listOf(words: HashSet): Uint32Array<ArrayBuffer> {
  const list = new Uint32Array(1 + words.size);
  list[0] = HASHES;
  list.set(words.all(), 1);
  return list;
}

/** The hashes in a list; null: they are of another version. */
export function listedHashes(list: Uint32Array): Uint32Array | null {
  return list[0] === HASHES ? list.subarray(1) : null;
}

/** One list of all that is in these; null: it would be longer, or one is of another version. */
export function joinWords(lists: readonly Uint32Array[], most: number): Uint32Array<ArrayBuffer> | null {
  const expected = lists.reduce((sum, { length }) => sum + length, 0);
  const joined = new HashSet(Math.min(expected, most));
  for (const list of lists) {
    const hashes = listedHashes(list);
    if (hashes === null) return null;
    joined.addAll(hashes);
    if (joined.size >= most) return null;
  }
  return listOf(joined);
}

/**
 * The words of an object, by the first bits of their hashes, so that one word is looked up in one
 * part.
 * @param words distinct. @throws if they are spread so unevenly that no one wrote them by chance.
 */
export function partsOf(words: Uint32Array): Uint32Array<ArrayBuffer>[] {
  let count = 1;
  while (count < PARTS_MAX && words.length / count > WORDS_A_PART) count *= 2;
  const sizes = new Uint32Array(count);
  for (let i = 0; i < words.length; i++) {
    const part = partAt(words[i] as number, count);
    sizes[part] = (sizes[part] as number) + 1;
  }
  if (sizes.some((size) => size > PART_MAX_WORDS)) throw new Error("its words are spread unevenly");
  const parts = Array.from(sizes, (size) => new Uint32Array(size));
  for (let i = 0; i < words.length; i++) {
    const hash = words[i] as number;
    const part = partAt(hash, count);
    const left = (sizes[part] as number) - 1;
    sizes[part] = left;
    (parts[part] as Uint32Array)[left] = hash;
  }
  return parts;
}

/** The part, or segment, in which a hash is. @param count of them: 2^n. */
export function partAt(hash: number, count: number): number {
  return count === 1 ? 0 : hash >>> Math.clz32(count - 1);
}
