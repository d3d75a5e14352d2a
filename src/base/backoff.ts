/**
 * The wait after a failure, in ms: `first`, then twice as long after each further failure, up to
 * `last`.
 * @param failures in a row, from 1.
 */
export function backoffMs({ first, last }: { first: number; last: number }, failures: number): number {
  return Math.min(first * 2 ** Math.min(failures - 1, 30), last);
}
