/** What the fourth made errors promise: else what is measured with them would mean nothing. */
import { describe, expect, it } from "vitest";
import { type FourthError, fourthErrors } from "./fourth-errors.ts";

const ALL = [1, 2, 38].map((seed) => fourthErrors(seed));
const FIRST = ALL[0] as FourthError[];
const distinct = (values: Iterable<unknown>): number => new Set(values).size;
const byCause = (errors: readonly FourthError[]): FourthError[][] => [
  ...Map.groupBy(errors, ({ cause }) => cause).values(),
];

describe("the fourth made errors", () => {
  it("are of 30 causes over six Workers, each cause at least eight times", () => {
    for (const errors of ALL) {
      expect(errors).toHaveLength(1_000);
      expect(byCause(errors)).toHaveLength(30);
      expect(Math.min(...byCause(errors).map(({ length }) => length))).toBeGreaterThanOrEqual(8);
      expect(distinct(errors.map(({ worker }) => worker))).toBe(6);
      for (const its of byCause(errors)) expect(distinct(its.map(({ worker, name }) => worker + name))).toBe(1);
    }
  });

  it("are the same for the same seed, and others for another", () => {
    expect(fourthErrors(1)).toEqual(FIRST);
    const seen = new Set(ALL[1]?.map(({ message }) => message));
    expect(FIRST.filter(({ message }) => !seen.has(message)).length).toBeGreaterThan(500);
  });

  it("differ within a cause, in the message or the stack", () => {
    for (const its of byCause(FIRST).filter(([first]) => first?.stack !== ""))
      expect(distinct(its.map(({ message, stack }) => message + stack)), `cause ${its[0]?.cause}`).toBeGreaterThan(1);
    expect(distinct(FIRST.filter(({ stack }) => stack === "").map(({ cause }) => cause))).toBe(2);
  });

  it("are not told apart by Worker and name alone", () => {
    const shapes = byCause(FIRST).map(([first]) => `${first?.worker} ${first?.name}`);
    expect(distinct(shapes)).toBeLessThan(30);
  });
});
