import { describe, expect, it } from "vitest";
import { type MadeError, moreErrors } from "./more-errors.ts";

const SEEDS = [1, 2, 77];

/** Distinct values of a field, of the errors of each key. */
function distinct(errors: readonly MadeError[], key: "cause" | "worker", field: keyof MadeError) {
  const groups = Map.groupBy(errors, (error) => error[key]);
  return new Map([...groups].map(([of, each]) => [of, new Set(each.map((error) => error[field]))]));
}

describe("errors of other fields", () => {
  it.each(SEEDS)("have thirty causes in ten Workers, each at least five times (seed %i)", (seed) => {
    const errors = moreErrors(seed);
    expect(errors).toHaveLength(1_000);
    const counts = [...Map.groupBy(errors, ({ cause }) => cause).values()].map(({ length }) => length);
    expect(counts).toHaveLength(30);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(5);
    expect(distinct(errors, "worker", "cause").size).toBe(10);
    expect([...distinct(errors, "cause", "worker").values()].every(({ size }) => size === 1)).toBe(true);
  });

  it("are of all causes already among two hundred", () => {
    const seeds = Array.from({ length: 20 }, (_, seed) => seed);
    expect(seeds.map((seed) => new Set(moreErrors(seed, 200).map(({ cause }) => cause)).size)).toEqual(
      seeds.map(() => 30),
    );
  });

  it("are the same for the same seed, and others for another", () => {
    expect(moreErrors(5, 300)).toEqual(moreErrors(5, 300));
    const [one, other] = [moreErrors(5, 300), moreErrors(6, 300)];
    expect(other.map(({ cause }) => cause)).not.toEqual(one.map(({ cause }) => cause));
    expect(other.filter(({ stack }, i) => stack !== null && stack === one[i]?.stack)).toEqual([]);
  });

  it("are as many as are asked for", () => {
    expect([0, 1, 17, 450].map((count) => moreErrors(3, count).length)).toEqual([0, 1, 17, 450]);
  });

  it.each(SEEDS)("come from two or three versions of a Worker, whose lines moved (seed %i)", (seed) => {
    const errors = moreErrors(seed, 3_000);
    for (const { size } of distinct(errors, "worker", "version").values()) expect([2, 3]).toContain(size);
    const places = Map.groupBy(errors, ({ cause }) => cause);
    for (const [, each] of places) {
      const byVersion = [...Map.groupBy(each, ({ version }) => version).values()];
      const stacks = byVersion.map((some) => new Set(some.map(({ stack }) => stack).filter((stack) => stack !== null)));
      // A stack is of one version alone.
      const all = stacks.flatMap((some) => [...some]);
      expect(new Set(all).size).toBe(all.length);
    }
  });

  it("are thrown and logged, with and without a stack, a text, and more than a value", () => {
    const errors = moreErrors(1);
    const some = (test: (error: MadeError) => boolean) => errors.filter(test).length;
    expect(some(({ kind }) => kind === "logged")).toBeGreaterThan(200);
    expect(some(({ kind }) => kind === "exception")).toBeGreaterThan(200);
    expect(some(({ stack }) => stack === null)).toBeGreaterThan(20);
    expect(some(({ message }) => message === "")).toBeGreaterThan(4);
    expect(some(({ message }) => /^\d+$/.test(message))).toBeGreaterThan(4);
    expect(some(({ message }) => /^<\S+>$/.test(message))).toBeGreaterThan(4);
    expect(some(({ stack }) => stack !== null && !/^ {4}at \S.*(?:\n {4}at \S.*)*$/.test(stack))).toBe(0);
  });

  it("have pairs that only a word, a place or the Worker tells apart", () => {
    const errors = moreErrors(1);
    const causesOf = (text: string) =>
      new Set(errors.filter(({ message }) => message.includes(text)).map((e) => e.cause));
    for (const text of [
      "(reading '",
      "Duplicate entry",
      "invalid_request_error",
      "Player ",
      "not found: ",
      "Too many sub",
    ])
      expect(causesOf(text).size, text).toBe(2);
  });
});
