/**
 * Up to here, in UTF-16 units, the runtime's own search is used. Beyond it, its worst case is the product of both lengths: 8,000 units in a megabyte of
 * almost the same took 1.4 s, and a filter runs for every record of every job.
 */
const NATIVE_MAX = 250;

/**
 * Prepares a search for a text, so that each search takes no longer than the text that is searched is long (Knuth, Morris and Pratt, 1977).
 * @returns whether the text has this in it.
 */
export function finder(wanted: string): (text: string) => boolean {
  if (wanted.length <= NATIVE_MAX) return (text) => text.includes(wanted);
  const borders = bordersOf(wanted);
  return (text) => {
    let matched = 0;
    for (let i = 0; i < text.length; i++) {
      matched = extended(wanted, borders, matched, text.charCodeAt(i));
      if (matched === wanted.length) return true;
    }
    return false;
  };
}

/** Of each beginning of a text, how long its longest beginning is that it also ends in, itself left aside. */
function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  let border = 0;
  for (let i = 1; i < text.length; i++) {
    border = extended(text, borders, border, text.charCodeAt(i));
    borders[i] = border;
  }
  return borders;
}

/** How much of the wanted text the last units are, when one more has come. */
function extended(wanted: string, borders: Uint32Array, matched: number, unit: number): number {
  let length = matched;
  while (length > 0 && wanted.charCodeAt(length) !== unit) length = borders[length - 1] as number;
  return wanted.charCodeAt(length) === unit ? length + 1 : length;
}
