/** What the made-up errors promise to those who group them. */
import { describe, expect, it } from "vitest";
import { HARD_PAIRS, THIRD_CAUSES, type ThirdError, thirdErrors, VARYING } from "./third-errors.ts";

const ERRORS = thirdErrors(1);

const ofCause = (cause: number): ThirdError[] => ERRORS.filter((error) => error.cause === cause);
const distinct = (values: readonly unknown[]): number => new Set(values).size;
const shared = (one: ReadonlySet<string>, other: ReadonlySet<string>): string[] =>
  [...one].filter((each) => other.has(each));
/** The lines of frames. */
const framesOf = ({ stack }: ThirdError): string =>
  (stack ?? "")
    .split("\n")
    .filter((line) => /^ {4}at \S/.test(line))
    .join("\n");
/** Punctuation and words, without what a value may be. */
const skeletonOf = ({ message }: ThirdError): string => message.replace(/[\w.:/@-]*\d[\w.:/@-]*|"[^"]*"/g, "#");

describe("thirdErrors", () => {
  it.for([1, 2, 3, 99])("deals each of 30 causes at least 5 times in 1,000 (seed %i)", (seed) => {
    const counts = THIRD_CAUSES.map(() => 0);
    for (const { cause } of thirdErrors(seed)) counts[cause] = (counts[cause] ?? 0) + 1;
    expect(counts).toHaveLength(30);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(5);
    expect(counts.reduce((sum, each) => sum + each, 0)).toBe(1_000);
  });

  it("gives the same errors for a seed, and others for another", () => {
    expect(thirdErrors(1)).toEqual(ERRORS);
    expect(thirdErrors(2)).not.toEqual(ERRORS);
    expect(thirdErrors(1, 10)).toHaveLength(10);
    expect(thirdErrors(1, 0)).toEqual([]);
  });

  it("has ten Workers, each with the same two or three versions for every seed", () => {
    const workers = Map.groupBy(ERRORS, ({ worker }) => worker);
    expect(workers.size).toBe(10);
    const versions = (errors: readonly ThirdError[]): Set<string> => new Set(errors.map(({ version }) => version));
    for (const errors of workers.values()) expect([2, 3]).toContain(versions(errors).size);
    expect(versions(thirdErrors(2))).toEqual(versions(ERRORS));
  });

  it("writes stacks as V8 does", () => {
    for (const { name, message, stack } of ERRORS.filter((error) => error.stack !== null)) {
      const text = stack ?? "";
      const head = [name, "Error"].map((each) => `${each}: ${message}\n`).find((each) => text.startsWith(each)) ?? "-";
      const lines = text.slice(head.length).split("\n");
      for (const line of lines)
        expect(line).toMatch(/^ {4}at (?:(?:async )?(?:new )?[\w$.#-]+ \([^)]+\)|(?:async )?[\w.:/@-]+:\d+:\d+)$/);
      expect(lines.length).toBeLessThanOrEqual(14);
    }
    const bare = ERRORS.filter(({ stack }) => stack === null).length;
    expect(bare).toBeGreaterThan(20);
    expect(bare).toBeLessThan(100);
    expect(distinct(ERRORS.map(({ kind }) => kind))).toBe(2);
  });

  it.for(THIRD_CAUSES.map((_, cause) => cause))("moves the frames of cause %i with its version", (cause) => {
    const stacks = Map.groupBy(
      ofCause(cause).filter(({ stack }) => stack !== null),
      ({ version }) => version,
    );
    expect(stacks.size).toBeGreaterThan(1);
    const seen = [...stacks.values()].map((errors) => new Set(errors.map(framesOf)));
    const [first = new Set<string>(), ...others] = seen;
    for (const other of others) expect(shared(first, other)).toEqual([]);
  });

  it.for(HARD_PAIRS)("makes causes %i and %i hard to tell apart", ([one, other]) => {
    const [first, second] = [ofCause(one), ofCause(other)];
    expect(distinct([...first, ...second].map(({ name }) => name))).toBe(1);
    expect(distinct([...first, ...second].map((error) => skeletonOf(error).split(/\s+/).length))).toBeLessThan(4);
    expect(new Set(first.map(framesOf)).size + new Set(second.map(framesOf)).size).toBeGreaterThan(2);
  });

  it("tells the pairs apart by one thing each", () => {
    const messages = (cause: number): Set<string> => new Set(ofCause(cause).map(skeletonOf));
    const frames = (cause: number): Set<string> => new Set(ofCause(cause).map(framesOf));
    const workers = (cause: number): Set<string> => new Set(ofCause(cause).map(({ worker }) => worker));
    expect(frames(1)).toEqual(frames(2));
    expect(shared(messages(1), messages(2))).toEqual([]);
    expect(shared(messages(5), messages(6))).toEqual([]);
    expect(messages(9)).toEqual(messages(10));
    expect(shared(frames(9), frames(10))).toEqual([]);
    expect(messages(18)).toEqual(messages(21));
    expect(shared(workers(18), workers(21))).toEqual([]);
    for (const error of [...ofCause(9), ...ofCause(10)]) expect(error.stack).not.toBeNull();
  });

  it.for(VARYING)("gives messages of cause %i several structures", (cause) => {
    expect(distinct(ofCause(cause).map(({ message }) => message.split(/[,;]/).length))).toBeGreaterThan(3);
  });
});
