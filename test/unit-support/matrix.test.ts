import { expect, it } from "vitest";
import { diagonal } from "../support/matrix.ts";

const numbers = (length: number): number[] => Array.from({ length }, (_, i) => i);

it.for<[number, number]>([
  [1, 1],
  [1, 7],
  [7, 1],
  [2, 7],
  [9, 7],
  [6, 6],
  [4, 2],
])("a diagonal of %i × %i has each row and each column, in the fewest cells", ([rows, columns]) => {
  const cells = diagonal(numbers(rows), numbers(columns));
  expect(cells).toHaveLength(Math.max(rows, columns));
  expect(new Set(cells.map(([row]) => row)).size).toBe(rows);
  expect(new Set(cells.map(([, column]) => column)).size).toBe(columns);
});
