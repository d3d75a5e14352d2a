import { mayHold, nodeAt } from "./sketch.ts";

/** Hashes of words that an object must hold to hold a match. */
export type Wanted = number | { readonly all: readonly Wanted[] } | { readonly any: readonly Wanted[] };

/**
 * Whether an object may hold what is wanted. False is certain.
 * @param segments how many its sketch has. @param read reads one of them.
 */
export function isHeld(wanted: Wanted, segments: number, read: (segment: number) => Uint8Array): boolean {
  if (typeof wanted === "number") return mayHold(read(nodeAt(wanted, segments)), wanted);
  if ("all" in wanted) return wanted.all.every((each) => isHeld(each, segments, read));
  return wanted.any.some((each) => isHeld(each, segments, read));
}
