import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEDUP_MS } from "../../../src/base/limits.ts";
import { CLOCK_SKEW_MS, isLost, type Window, wasIn } from "../../../src/ship/job/config.ts";
import { enabledWindows, isOpen } from "../../../src/ship/job/windows.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const DAY_MS = 86_400_000;

interface Switch {
  atMs: number;
  enabled: boolean;
}

/** A job switched in this order, each time so long after the last switch. */
const switches = (gapMs: fc.Arbitrary<number>): fc.Arbitrary<Switch[]> =>
  fc.array(fc.record({ gapMs, enabled: fc.boolean() }), { minLength: 1, maxLength: 14 }).map((gaps) => {
    let atMs = NOON;
    return gaps.map(({ gapMs, enabled }) => {
      atMs += gapMs;
      return { atMs, enabled };
    });
  });

/** Moments, seconds, and days, some longer than ids are remembered. */
const anyGap = fc.oneof(
  fc.integer({ min: 0, max: 3 * CLOCK_SKEW_MS }),
  fc.integer({ min: 0, max: 20_000 }),
  fc.integer({ min: 1, max: 9 }).map((days) => days * DAY_MS),
);
/** The shortest delay of an answer. */
const answered = anyGap.map((gapMs) => gapMs + 2 * CLOCK_SKEW_MS);
const skew = fc.constantFrom(-CLOCK_SKEW_MS, -1, 0, 1, CLOCK_SKEW_MS);
const place = fc.double({ min: 0, max: 1, noNaN: true });

const windowsAfter = (made: readonly Switch[]): Window[] =>
  made.reduce<Window[]>((windows, { enabled, atMs }) => enabledWindows(windows, enabled, atMs), []);

/** The setting between two changes, and after the last one. */
function* spans(made: readonly Switch[]): Generator<{ fromMs: number; untilMs: number; enabled: boolean }> {
  for (const [i, { atMs, enabled }] of made.entries())
    yield { fromMs: atMs, untilMs: made[i + 1]?.atMs ?? atMs + DAY_MS, enabled };
}

describe("the windows of a job", () => {
  it("hold every event that is still remembered and was taken in while it was enabled, by whatever clock", () => {
    fc.assert(
      fc.property(switches(anyGap), skew, place, (made, off, at) => {
        const windows = windowsAfter(made);
        const nowMs = made.at(-1)?.atMs ?? NOON;
        for (const { fromMs, untilMs, enabled } of spans(made)) {
          const stamped = fromMs + Math.floor(at * (untilMs - fromMs)) + off;
          if (!enabled || stamped <= nowMs - DEDUP_MS) continue;
          expect(wasIn({ windows }, stamped)).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("hold none that was taken in after it was said to be disabled, and well before it was enabled again", () => {
    fc.assert(
      fc.property(switches(answered), skew, place, (made, off, at) => {
        const windows = windowsAfter(made);
        for (const { fromMs, untilMs, enabled } of spans(made)) {
          const [from, until] = [fromMs + 2 * CLOCK_SKEW_MS + 1, untilMs - 2 * CLOCK_SKEW_MS - 1];
          if (enabled || from > until) continue;
          expect(wasIn({ windows }, from + Math.floor(at * (until - from)) + off)).toBe(false);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("are open while it is enabled, in order, and never meet where each answer is waited for", () => {
    fc.assert(
      fc.property(switches(answered), (made) => {
        let windows: Window[] = [];
        for (const { enabled, atMs } of made) {
          windows = enabledWindows(windows, enabled, atMs);
          expect(isOpen(windows)).toBe(enabled);
          windows.forEach(({ fromMs, untilMs }, i) => {
            const next = windows[i + 1];
            expect(fromMs).toBeLessThanOrEqual(untilMs ?? Number.POSITIVE_INFINITY);
            if (next !== undefined) expect(next.fromMs).toBeGreaterThan(untilMs ?? Number.POSITIVE_INFINITY);
          });
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("stay as they are if nothing is switched, and are not changed in place", () => {
    fc.assert(
      fc.property(switches(anyGap), (made) => {
        const windows = windowsAfter(made);
        const copy = structuredClone(windows);
        const { atMs, enabled } = made.at(-1) ?? { atMs: NOON, enabled: false };
        expect(enabledWindows(windows, enabled, atMs)).toEqual(windows);
        enabledWindows(windows, !enabled, atMs + 1);
        expect(windows).toEqual(copy);
      }),
    );
  });

  it("are the newest two hundred, however often a job is switched", () => {
    const made = Array.from({ length: 1_001 }, (_, i) => ({ atMs: NOON + i * 1_000, enabled: i % 2 === 0 }));
    const windows = windowsAfter(made);
    expect(windows.length).toBe(200);
    expect(isOpen(windows)).toBe(true);
    expect(windows[0]?.fromMs).toBe(NOON + 602_000 - CLOCK_SKEW_MS);
  });
});

describe("one state of the control plane", () => {
  const epoch = fc.constantFrom("a", "b");
  const version = fc.oneof(fc.nat({ max: 12 }), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
  const state = fc.oneof(
    { weight: 1, arbitrary: fc.constant("") },
    {
      weight: 9,
      arbitrary: fc.tuple(epoch, version, fc.constantFrom("x", "y")).map((parts) => parts.join(".")),
    },
  );

  it("is lost where another part was told as many changes, within an epoch; never by itself, or by what was told nothing", () => {
    fc.assert(
      fc.property(state, state, (told, own) => {
        const [[epochA, a1 = ""], [epochB, b1 = ""]] = [told.split("."), own.split(".")] as [string[], string[]];
        const isTold = told !== "" && told !== own && epochA === epochB;
        expect(isLost(told, own)).toBe(isTold && BigInt(a1) >= BigInt(b1));
      }),
      { numRuns: 2_000 },
    );
  });
});
