/**
 * Up to this length, in UTF-16 units, the runtime's own search is used. Its worst case is the
 * product of both lengths: 8,000 units in a megabyte of nearly the same text take 2 s, and a filter
 * runs for every record of every job.
 */
const NATIVE_MAX = 250;

/** What words are made of, in folded text: as in ../sketch/terms.ts. */
const OF_WORD = /[a-z0-9\u0080-\uffff]/;

/**
 * Prepares a search for a text that begins and ends where words do, if that is wanted; what it has
 * at its own ends that is of no word may stand anywhere. Linear, too.
 * @param wanted folded. @returns whether a folded text contains it.
 */
export function wordFinder(wanted: {
  readonly text: string;
  readonly begins: boolean;
  readonly ends: boolean;
}): (text: string) => boolean {
  const { text: sought } = wanted;
  const isIn = finder(sought);
  const begins = wanted.begins && OF_WORD.test(sought.charAt(0));
  const ends = wanted.ends && OF_WORD.test(sought.charAt(sought.length - 1));
  if (!begins && !ends) return isIn;
  const rest = new RegExp(`${OF_WORD.source}*`, "y");
  return (text) => {
    if (!isIn(text)) return false;
    for (let at = text.indexOf(sought); at !== -1; ) {
      const isWhole =
        !(begins && OF_WORD.test(text.charAt(at - 1))) && !(ends && OF_WORD.test(text.charAt(at + sought.length)));
      if (isWhole) return true;
      // What is wanted begins a word: the next one is the first that may be it.
      rest.lastIndex = at;
      if (begins) rest.test(text);
      at = text.indexOf(sought, Math.max(at + 1, rest.lastIndex));
    }
    return false;
  };
}

/**
 * Prepares a search whose time is linear in the searched text (Knuth, Morris and Pratt, 1977).
 * @returns whether a text contains `wanted`.
 */
export function finder(wanted: string): (text: string) => boolean {
  if (wanted.length <= NATIVE_MAX) return (text) => text.includes(wanted);
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
    let matched = 0;
    for (let i = 0; i < text.length; i++) {
      matched = extended(matched, text.charCodeAt(i));
      if (matched === wanted.length) return true;
    }
    return false;
  };
}
