/** The count of a month's use, and its reset with the next month. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  monthName,
  monthOf,
  monthStartMs,
  parseUse,
  type Used,
  useAt,
  withUse,
} from "../../../src/ship/log/month-use.ts";

const times = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2120, 0) });
const counts = fc.nat(1e9);
const used: fc.Arbitrary<Used> = fc.record({
  ...{ batches: counts, groups: counts, messages: counts, messageUnits: counts, furtherParts: counts },
  ...{ events: counts, entries: counts, offered: counts },
});

const ONE_MESSAGE: Used = {
  ...{ batches: 1, groups: 1, messages: 1, messageUnits: 1, furtherParts: 2 },
  ...{ events: 7, entries: 1, offered: 7 },
};

const NAMES = Object.keys(ONE_MESSAGE) as (keyof Used)[];

describe("a month", () => {
  it("holds every time of it, and no other", () => {
    fc.assert(
      fc.property(times, (ms) => {
        const month = monthOf(ms);
        expect(monthStartMs(month)).toBeLessThanOrEqual(ms);
        expect(monthStartMs(month + 1)).toBeGreaterThan(ms);
        expect(monthName(month)).toBe(new Date(ms).toISOString().slice(0, 7));
      }),
    );
  });
});

describe("the use of a month", () => {
  it("is the sum of what was counted in it, over what a row keeps of it", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(times, used), { minLength: 1, maxLength: 30 }), (counted) => {
        const sorted = counted.toSorted(([a], [b]) => a - b);
        const [last] = sorted.at(-1) ?? [0];
        const [first] = sorted[0] ?? [0];
        let row: string | null = null;
        for (const [atMs, each] of sorted) row = JSON.stringify(withUse(parseUse(row), each, atMs));
        const now = sorted.filter(([atMs]) => monthOf(atMs) === monthOf(last)).map(([, each]) => each);
        const sums = NAMES.map((name) => [name, now.reduce((all, each) => all + each[name], 0)]);
        expect(useAt(parseUse(row), last)).toEqual({
          month: monthOf(last),
          sinceMs: Math.max(first, monthStartMs(monthOf(last))),
          ...Object.fromEntries(sums),
        });
      }),
    );
  });

  it("is nothing at the beginning of the next, and loses nothing to a clock that is behind", () => {
    fc.assert(
      fc.property(times, used, (ms, each) => {
        const use = withUse(null, each, ms);
        const next = monthStartMs(monthOf(ms) + 1);
        expect(useAt(use, next)).toMatchObject({ month: monthOf(next), sinceMs: next, events: 0, batches: 0 });
        expect(useAt(use, monthStartMs(monthOf(ms)) - 1)).toEqual(use);
      }),
    );
  });

  it("does not wait for a month that a clock ran ahead to", () => {
    const [ahead, back] = [Date.UTC(2027, 4, 5), Date.UTC(2026, 10, 20)];
    const each = { ...ONE_MESSAGE };
    const wrong = withUse(null, { ...each, events: 1_000 }, ahead);
    expect(useAt(wrong, back)).toMatchObject({ month: monthOf(back), sinceMs: back, events: 0 });
    expect(withUse(wrong, each, back)).toEqual({ month: monthOf(back), sinceMs: back, ...each });
  });

  it("is not known before anything was counted", () => {
    expect(useAt(parseUse(null), 0)).toBeNull();
  });

  it("never keeps records from being counted, whatever the row holds and whoever counts", () => {
    const each = { ...ONE_MESSAGE };
    const now = Date.UTC(2026, 10, 20);
    const broken = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .record({ month: fc.oneof(fc.jsonValue(), fc.nat()), sinceMs: fc.jsonValue(), events: fc.jsonValue() })
        .map((row) => JSON.stringify(row)),
    );
    fc.assert(
      fc.property(broken, (text) => {
        const use = parseUse(JSON.stringify(withUse(parseUse(text), each, now)));
        expect(use?.month).toBe(monthOf(now));
        for (const name of NAMES) expect(use?.[name]).toBeGreaterThanOrEqual(each[name]);
      }),
    );
    const older = { batches: 1, groups: 1 } as Used;
    const row = JSON.stringify(withUse(withUse(null, each, now), older, now));
    expect(parseUse(row)).toMatchObject({ ...each, batches: 2, groups: 2 });
  });
});
