/** How much of the fault matrix runs; see docs/faults.md. */
import { inject } from "vitest";

/**
 * Whether every row runs, as in `npm run faults`. Elsewhere the most telling do: at least one for
 * each kind of breakage and each part that breaks, and for each line of docs/faults.md.
 */
export const isWhole = inject("wholeMatrix");

/**
 * Variants of one row, by duration, status code, seed and the like, the most telling first.
 * @returns those whose rows run: all of them, or `telling` many.
 */
export function variants<T>(all: readonly T[], telling = 1): readonly T[] {
  return isWhole ? all : all.slice(0, telling);
}

/**
 * The cells of a table of two dimensions, as parts and breakages are.
 * @returns those whose rows run: all of them, or a diagonal.
 */
export function cells<R, C>(rows: readonly R[], columns: readonly C[]): (readonly [R, C])[] {
  return isWhole ? rows.flatMap((row) => columns.map((column) => [row, column] as const)) : diagonal(rows, columns);
}

/** The fewest cells in which each of `rows` and each of `columns` occurs. */
export function diagonal<R, C>(rows: readonly R[], columns: readonly C[]): (readonly [R, C])[] {
  return rows.flatMap((row, r) =>
    columns.flatMap((column, c) => {
      const isIn = rows.length < columns.length ? c % rows.length === r : r % columns.length === c;
      return isIn ? [[row, column] as const] : [];
    }),
  );
}
