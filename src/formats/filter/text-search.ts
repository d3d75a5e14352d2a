import { OF_WORD } from "../sketch/terms.ts";

/**
 * Up to this length, in UTF-16 units, and for so many places of a text, the runtime's own search
 * is used. Its worst case is the product of both lengths: 8,000 units in a megabyte of nearly the
 * same text take 2 s, and a filter runs for every record of every job.
 */
const NATIVE_MAX = 250;
const NATIVE_TRIES = 8;

/**
 * Prepares a search for a text that begins and ends where words do, if that is wanted; what it has
 * at its own ends that is of no word may stand anywhere.
 * @param wanted folded. @returns whether a folded text contains it.
 */
export function wordFinder(wanted: {
  readonly text: string;
  readonly begins: boolean;
  readonly ends: boolean;
}): (text: string) => boolean {
  const { text: sought } = wanted;
  const begins = wanted.begins && OF_WORD.test(sought.charAt(0));
  const ends = wanted.ends && OF_WORD.test(sought.charAt(sought.length - 1));
  if (!begins && !ends) return finder(sought);
  return finder(
    sought,
    (text, at) =>
      !(begins && OF_WORD.test(text.charAt(at - 1))) && !(ends && OF_WORD.test(text.charAt(at + sought.length))),
  );
}

/**
 * Prepares a search whose time is linear in the searched text (Knuth, Morris and Pratt, 1977).
 * @param isIt whether what is found at a place is wanted.
 * @returns whether a text contains `wanted`.
 */
export function finder(
  wanted: string,
  isIt: (text: string, at: number) => boolean = () => true,
): (text: string) => boolean {
  /**
   * For each prefix of `wanted`, the length of its longest proper prefix that is also its suffix.
   */
  const borders = new Uint32Array(wanted.length);
  /** How much of `wanted` ends at a unit, given how much of it ended at the unit before. */
  const extended = (matched: number, unit: number): number => {
    let length = matched;
    while (length > 0 && wanted.charCodeAt(length) !== unit) length = borders[length - 1] as number;
    return wanted.charCodeAt(length) === unit ? length + 1 : length;
  };
  for (let i = 1; i < wanted.length; i++) borders[i] = extended(borders[i - 1] as number, wanted.charCodeAt(i));
  return (text) => {
    let from = 0;
    if (wanted.length <= NATIVE_MAX) {
      from = text.indexOf(wanted);
      for (let tries = NATIVE_TRIES; from !== -1 && tries > 0; tries--) {
        if (isIt(text, from)) return true;
        from = text.indexOf(wanted, from + 1);
      }
      if (from === -1) return false;
    }
    let matched = 0;
    for (let i = from; i < text.length; i++) {
      matched = extended(matched, text.charCodeAt(i));
      if (matched === wanted.length && isIt(text, i + 1 - matched)) return true;
    }
    return false;
  };
}
