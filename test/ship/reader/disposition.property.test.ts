import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RETRY_AFTER_MAX_S } from "../../../src/base/limits.ts";
import type { FailureKind } from "../../../src/ship/destinations/failure.ts";
import { disposition, failureWords } from "../../../src/ship/reader/disposition.ts";

const words = fc.constantFrom("HTTP 503", "timeout");
const retryAfterS = fc.option(fc.integer({ min: 1, max: RETRY_AFTER_MAX_S }));
const later: fc.Arbitrary<FailureKind> = fc.oneof(
  fc.record({ kind: fc.constant("busy" as const), words, retryAfterS }),
  fc.record({ kind: fc.constant("unreachable" as const), words }),
);
const parked: fc.Arbitrary<FailureKind> = fc.record({
  kind: fc.constantFrom("misconfigured" as const, "unusable" as const),
  words,
});

/** Failures in a row: few, or as many as a broken destination makes in years. */
const attempt = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }));
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/**
 * Doubled for each failure, by adding: what a delay would be without chance and without the store's
 * word.
 */
function doubled(firstMs: number, maxMs: number, failures: number): number {
  let ms = firstMs;
  for (let i = 1; i < failures && ms < maxMs; i++) ms += ms;
  return Math.min(ms, maxMs);
}

function delayOf(error: FailureKind, failures: number, chance: number): number {
  const what = disposition(error, failures, chance);
  if (what.do === "set_aside") throw new Error("set aside");
  return what.delayMs;
}

describe("the delay after a failed upload", () => {
  it("is from half to all of a doubling one, in whole milliseconds, and no shorter than the store asked for", () => {
    fc.assert(
      fc.property(later, attempt, random, (error, failures, chance) => {
        const what = disposition(error, failures, chance);
        expect(what.do).toBe("retry");
        const delay = delayOf(error, failures, chance);
        const asked = error.kind === "busy" ? (error.retryAfterS ?? 0) * 1_000 : 0;
        const full = doubled(5_000, 900_000, failures);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(Math.max(asked, full / 2));
        expect(delay).toBeLessThanOrEqual(Math.max(asked, full));
      }),
      { numRuns: 1_000 },
    );
  });

  it("where nothing will change by itself, is never longer than five minutes", () => {
    fc.assert(
      fc.property(parked, attempt, random, (error, failures, chance) => {
        expect(disposition(error, failures, chance).do).toBe("park");
        const delay = delayOf(error, failures, chance);
        const full = doubled(60_000, 300_000, failures);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(full / 2);
        expect(delay).toBeLessThanOrEqual(full);
      }),
      { numRuns: 1_000 },
    );
  });

  it("never shrinks with one more failure, nor with more of chance", () => {
    fc.assert(
      fc.property(fc.oneof(later, parked), attempt, random, random, (error, failures, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        expect(delayOf(error, failures + 1, low)).toBeGreaterThanOrEqual(delayOf(error, failures, low));
        expect(delayOf(error, failures, high)).toBeGreaterThanOrEqual(delayOf(error, failures, low));
      }),
      { numRuns: 1_000 },
    );
  });

  it("is none for an object that is refused for itself, however often, and whatever it is, it is said in words", () => {
    fc.assert(
      fc.property(attempt, random, (failures, chance) => {
        expect(disposition({ kind: "refused", words: "HTTP 413" }, failures, chance)).toEqual({ do: "set_aside" });
      }),
    );
    fc.assert(
      fc.property(fc.oneof(later, parked), attempt, (error, failures) => {
        expect(failureWords(error.words, disposition(error, failures, 0).do)).toContain(error.words);
      }),
    );
  });
});
