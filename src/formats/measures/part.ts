import type { StateWriter } from "./state-bytes.ts";

/** What of the values of some records is kept. The order in which they come makes no difference. */
export interface Part {
  /** @param value of a record; undefined: it has none. */
  add(value: unknown): void;
  /** @param other of the same kind. */
  merge(other: this): void;
  /** About as many bytes of memory. */
  readonly weight: number;
  write(into: StateWriter): void;
}

/** Numbers from here on are none: sums of a million of them would have no value. */
export const NUMBER_MAX = 1e292;

export function isNumber(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) < NUMBER_MAX;
}
