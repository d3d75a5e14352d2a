/** Hashes of words that an object must hold to hold a match. */
export type Wanted = number | { readonly all: readonly Wanted[] } | { readonly any: readonly Wanted[] };

/** Every object, a bit each. */
export const ALL = -1n;

/**
 * Which objects may hold what is wanted, a bit each. One whose bit is 0 certainly does not.
 * @param holders which objects may hold a word.
 */
export function heldBy(wanted: Wanted, holders: (hash: number) => bigint): bigint {
  if (typeof wanted === "number") return holders(wanted);
  if ("any" in wanted) return wanted.any.reduce<bigint>((held, each) => held | heldBy(each, holders), 0n);
  // Where none is left, no other word is looked up.
  return wanted.all.reduce<bigint>((held, each) => (held === 0n ? held : held & heldBy(each, holders)), ALL);
}

/** All hashes in it, each once. */
export function hashesIn(wanted: Wanted): number[] {
  if (typeof wanted === "number") return [wanted];
  const parts = "all" in wanted ? wanted.all : wanted.any;
  return [...new Set(parts.flatMap(hashesIn))];
}
