import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEDUP_MS } from "../../../src/base/limits.ts";
import { CLOCK_SKEW_MS, optedOut, type Window, wasIn } from "../../../src/ship/job/config.ts";
import { isOpen, isSettling, optOutWindows, remembered } from "../../../src/ship/job/windows.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const SKEWS = [-CLOCK_SKEW_MS, -1, 0, 1, CLOCK_SKEW_MS];
const ANSWER_MS = 2 * CLOCK_SKEW_MS;

const isIn = (windows: readonly Window[], timeMs: number): boolean => wasIn({ windows }, timeMs);

/** Switches in order, each so long after the last one. */
const switches = (minGapMs: number) =>
  fc.array(fc.record({ gapMs: fc.integer({ min: minGapMs, max: 5_000 }), off: fc.boolean() }), { maxLength: 12 });

/** The time of each switch. */
const timed = (gaps: readonly { gapMs: number; off: boolean }[]): { atMs: number; off: boolean }[] => {
  let atMs = NOON;
  return gaps.map(({ gapMs, off }) => {
    atMs += gapMs;
    return { atMs, off };
  });
};

describe("the windows in which logging of a function is off", () => {
  it("hold exactly what was accepted while it was off, however often it is switched", () => {
    const skews = fc.constantFrom(...SKEWS);
    const places = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(switches(ANSWER_MS + 1), skews, places, (gaps, skew, place) => {
        const made = timed(gaps);
        const windows = made.reduce<Window[]>((kept, { off, atMs }) => optOutWindows(kept, off, atMs), []);
        made.forEach(({ off, atMs }, i) => {
          // Taken in after this answer and before the next change.
          const from = atMs + ANSWER_MS + 1;
          const until = made[i + 1]?.atMs ?? from + 10_000;
          const accepted = from + Math.floor(place * (until - from));
          expect(isIn(windows, accepted + skew)).toBe(off);
        });
      }),
    );
  });

  it("are in order, never meet, and are open while it is off, even if it is switched by several at the same time", () => {
    fc.assert(
      fc.property(switches(-CLOCK_SKEW_MS), (gaps) => {
        let windows: Window[] = [];
        for (const { off, atMs } of timed(gaps)) {
          windows = optOutWindows(windows, off, atMs);
          expect(isOpen(windows)).toBe(off);
        }
        windows.forEach(({ fromMs, untilMs }, i) => {
          const next = windows[i + 1];
          expect(untilMs === null).toBe(next === undefined && isOpen(windows));
          expect(untilMs ?? fromMs).toBeGreaterThanOrEqual(fromMs);
          if (next !== undefined) expect(next.fromMs).toBeGreaterThan(untilMs ?? Number.POSITIVE_INFINITY);
        });
      }),
    );
  });

  it("are remembered as long as a queue can hold an event of theirs, and open ones for ever", () => {
    const closed = { fromMs: NOON, untilMs: NOON + 1_000 };
    const open = { fromMs: NOON + 5_000, untilMs: null };
    expect(remembered([closed, open], NOON + 1_000 + DEDUP_MS - 1)).toEqual([closed, open]);
    expect(remembered([closed, open], NOON + 1_000 + DEDUP_MS)).toEqual([open]);
    expect(optOutWindows([closed], true, NOON + 2 * DEDUP_MS)).toHaveLength(1);
  });

  it("settle exactly twice the clocks' difference after either edge was set", () => {
    const off = optOutWindows([], true, NOON);
    const on = optOutWindows(off, false, NOON + 60_000);
    for (const [windows, changed] of [
      [off, NOON],
      [on, NOON + 60_000],
    ] as const) {
      expect(isSettling(windows, changed + ANSWER_MS - 1)).toBe(true);
      expect(isSettling(windows, changed + ANSWER_MS)).toBe(false);
    }
    expect(isSettling([], NOON)).toBe(false);
  });
});

describe("opt-outs, compiled", () => {
  it("know functions by their exact names, whatever these are", () => {
    const windows = [
      { fromMs: NOON, untilMs: NOON + 10 },
      { fromMs: NOON + 20, untilMs: null },
    ];
    const isOff = optedOut(["shop", "__proto__", ""].map((scriptName) => ({ scriptName, windows })));
    for (const name of ["shop", "__proto__", ""]) {
      expect([-1, 0, 10, 11, 20, 1_000].map((ms) => isOff(name, NOON + ms))).toEqual([
        false,
        true,
        true,
        false,
        true,
        true,
      ]);
    }
    for (const name of ["Shop", "shop ", "constructor", "toString"]) expect(isOff(name, NOON)).toBe(false);
  });
});
