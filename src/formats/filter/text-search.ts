/**
 * Up to this length, in UTF-16 units, the runtime's own search is used. Its worst case is the
 * product of both lengths: 8,000 units in a megabyte of nearly the same text take 2 s, and a filter
 * runs for every record of every job.
 */
const NATIVE_MAX = 250;

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
