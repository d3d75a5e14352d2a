import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RETRY_AFTER_MAX_S } from "../../../src/base/limits.ts";
import type { FailureKind } from "../../../src/ship/destinations/failure.ts";
import { failureWords, type Standing, stepAfter, waitAfter } from "../../../src/ship/reader/disposition.ts";

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
  return waitAfter(error, failures, chance).delayMs;
}

describe("the delay after a failed upload", () => {
  it("is from half to all of a doubling one, in whole milliseconds, and no shorter than the store asked for", () => {
    fc.assert(
      fc.property(later, attempt, random, (error, failures, chance) => {
        const what = waitAfter(error, failures, chance);
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
        expect(waitAfter(error, failures, chance).do).toBe("park");
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

  it("is said in words, whatever it is", () => {
    fc.assert(
      fc.property(fc.oneof(later, parked), attempt, (error, failures) => {
        expect(failureWords(error.words, waitAfter(error, failures, 0).do)).toContain(error.words);
      }),
    );
  });
});

/** Whether the test record may still be sent: before it parks a job, it is. */
const canAsk = ({ othersPass = false, isSetAsideLast = false, test = null }: Partial<Standing>): boolean =>
  !othersPass && !isSetAsideLast && test === null;

describe("what is done with an object that failed", () => {
  const LONG = { tries: 5, failingMs: 0 };
  const failing: Standing = {
    failure: "busy",
    ...LONG,
    of: "records",
    othersPass: false,
    isSetAsideLast: false,
    othersRecover: false,
    test: null,
  };
  const kinds = ["busy", "unreachable", "misconfigured"] as const;

  it.each<[what: string, standing: Partial<Standing>, step: ReturnType<typeof stepAfter>]>([
    ["others pass, and it has failed three times", { othersPass: true, tries: 3 }, "divide"],
    ["others pass, and it has failed twice", { othersPass: true, tries: 2 }, "wait"],
    ["others pass, and it has failed twice in a minute", { othersPass: true, tries: 2, failingMs: 60_000 }, "divide"],
    ["others pass, and it failed once, a day ago by a clock that leapt", { tries: 1, failingMs: 86_400_000 }, "wait"],
    ["nothing else was sent", {}, "ask"],
    ["nothing else was sent, and the test record passes", { test: "taken" }, "divide"],
    ["nothing else was sent, and the test record is refused", { test: "refused" }, "wait"],
    ["others pass, and it is one record", { othersPass: true, of: "record" }, "set_aside"],
    ["others pass, and it is one record of four failures", { othersPass: true, of: "record", tries: 4 }, "wait"],
    [
      "others pass, and it is one record that fails for two minutes",
      { othersPass: true, of: "record", tries: 3, failingMs: 120_000 },
      "set_aside",
    ],
    ["others pass by chance, and it is one record", { othersPass: true, othersRecover: true, of: "record" }, "wait"],
    [
      "others pass by chance, and it is one record of many failures",
      { othersPass: true, othersRecover: true, of: "record", tries: 20 },
      "set_aside",
    ],
    ["others pass by chance, and it has several", { othersPass: true, othersRecover: true, tries: 3 }, "divide"],
    ["nothing else was sent to a store", { of: "object", tries: 9, test: "none" }, "wait"],
    ["others pass, and a store has refused it six times", { othersPass: true, of: "object", tries: 6 }, "wait"],
    ["others pass, and a store has refused it seven times", { othersPass: true, of: "object", tries: 7 }, "set_aside"],
    ["it is one record, and nothing else was sent", { of: "record" }, "ask"],
    ["it is one record, and the test record passes", { of: "record", test: "taken" }, "set_aside"],
    ["it follows one that was set aside", { isSetAsideLast: true }, "wait"],
    ["it follows one that was set aside, and others pass", { isSetAsideLast: true, othersPass: true }, "divide"],
  ])("where %s", (_what, standing, step) => {
    for (const failure of kinds) {
      const what = failure === "misconfigured" && step === "wait" && canAsk(standing) ? "ask" : step;
      expect(stepAfter({ ...failing, failure, ...standing }), failure).toBe(what);
    }
  });

  it("where what would park the job says something of it alone: not at once, if it is one record", () => {
    const first = { ...failing, failure: "misconfigured", tries: 1 } as const;
    expect(stepAfter(first)).toBe("ask");
    expect(stepAfter({ ...first, test: "taken" })).toBe("divide");
    expect(stepAfter({ ...first, test: "taken", of: "record" })).toBe("wait");
    expect(stepAfter({ ...first, test: "refused" })).toBe("wait");
    expect(stepAfter({ ...first, test: "none" })).toBe("wait");
    expect(stepAfter({ ...first, isSetAsideLast: true })).toBe("wait");
  });

  it("where its destination has tried that already, or cannot be read", () => {
    for (const of of ["records", "record", "object"] as const) {
      const first = { ...failing, failure: "refused", tries: 1, of } as const;
      expect(stepAfter(first)).toBe("set_aside");
      expect(stepAfter({ ...first, isSetAsideLast: true })).toBe("wait");
      expect(stepAfter({ ...first, isSetAsideLast: true, othersPass: true })).toBe("set_aside");
      expect(stepAfter({ ...failing, failure: "unusable", othersPass: true, of })).toBe("wait");
    }
  });

  it("never touches an object while everything fails", () => {
    const standing = fc.record({
      failure: fc.constantFrom(...kinds),
      tries: attempt,
      failingMs: fc.nat(),
      of: fc.constantFrom("records" as const, "record" as const, "object" as const),
      othersPass: fc.constant(false),
      isSetAsideLast: fc.boolean(),
      othersRecover: fc.boolean(),
      test: fc.constantFrom("refused" as const, "none" as const, null),
    });
    fc.assert(fc.property(standing, (all) => ["wait", "ask"].includes(stepAfter(all))));
  });
});
