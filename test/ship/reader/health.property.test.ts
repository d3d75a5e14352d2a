import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HOUR_MS, hourOf } from "../../../src/base/time.ts";
import type { FailureCause } from "../../../src/ship/destinations/failure.ts";
import {
  type CountedAttempt,
  emptyHour,
  HEALTH_HOURS,
  type HealthHour,
  seriesOf,
  sumOf,
  withAttempt,
} from "../../../src/ship/reader/upload-health.ts";
import { NOON } from "../../formats/record/samples.ts";

const NOW = hourOf(NOON);

const attempt: fc.Arbitrary<CountedAttempt> = fc.oneof(
  fc.record({
    end: fc.constant("ok" as const),
    records: fc.nat(100_000),
    bytes: fc.nat(1_000_000_000),
    rawBytes: fc.nat(1_000_000_000),
    ms: fc.nat(900_000),
  }),
  fc.record({
    end: fc.constantFrom("retried" as const, "failed" as const),
    cause: fc.oneof(
      fc.integer({ min: 200, max: 999 }),
      fc.constantFrom<FailureCause>("timeout", "connection_failed", "not_kept", "key_taken", "configuration"),
    ),
  }),
);

const total = (causes: HealthHour["causes"]): number => Object.values(causes).reduce((sum, count) => sum + count, 0);

describe("an hour", () => {
  it("has each attempt once, as what it ended as", () => {
    fc.assert(
      fc.property(fc.array(attempt), (attempts) => {
        const hour = attempts.reduce(withAttempt, emptyHour(7));
        const ok = attempts.filter((each) => each.end === "ok");
        const sum = (of: (each: (typeof ok)[number]) => number): number => ok.reduce((n, each) => n + of(each), 0);
        expect(hour).toEqual({
          hour: 7,
          ok: ok.length,
          retried: attempts.filter(({ end }) => end === "retried").length,
          failed: attempts.filter(({ end }) => end === "failed").length,
          causes: expect.any(Object),
          records: sum(({ records }) => records),
          bytes: sum(({ bytes }) => bytes),
          rawBytes: sum(({ rawBytes }) => rawBytes),
          totalMs: sum(({ ms }) => ms),
          longestMs: Math.max(0, ...ok.map(({ ms }) => ms)),
        });
        const failures = attempts.filter((each) => each.end !== "ok");
        const causes = [...Map.groupBy(failures, ({ cause }) => `${cause}`)].map(([cause, of]) => [cause, of.length]);
        expect(hour.causes).toEqual(Object.fromEntries(causes));
        expect(total(hour.causes)).toBe(hour.retried + hour.failed);
      }),
    );
  });

  it("is the same however it is divided among segments", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(attempt, fc.boolean())), (attempts) => {
        const of = (wanted: boolean | null): HealthHour =>
          attempts
            .filter(([, second]) => wanted === null || second === wanted)
            .reduce((hour, [each]) => withAttempt(hour, each), emptyHour(7));
        expect(sumOf(of(false), of(true))).toEqual(of(null));
      }),
    );
  });

  it("begins with its first ms and ends before that of the next", () => {
    expect([hourOf(NOON - 1), hourOf(NOON), hourOf(NOON + 3_599_999), hourOf(NOON + 3_600_000)]).toEqual([
      NOW - 1,
      NOW,
      NOW,
      NOW + 1,
    ]);
    expect(NOW * HOUR_MS).toBe(NOON);
  });
});

describe("a series", () => {
  const hours = (found: readonly HealthHour[], since: number, until: number): number[] =>
    seriesOf(found, since, until, NOON).map(({ hour }) => hour - NOW);

  it.each([
    ["all of those asked for, zeros included", NOW - 3, NOW + 1, [-3, -2, -1, 0]],
    ["none yet to come", NOW - 1, NOW + 9, [-1, 0]],
    ["none at all of the future", NOW + 1, NOW + 9, []],
    ["none that is no longer kept", NOW - 9_999, NOW - HEALTH_HOURS + 3, [1, 2].map((n) => n - HEALTH_HOURS)],
    ["nothing of what is long gone", 0, NOW - HEALTH_HOURS, []],
    ["nothing where the end is before the beginning", NOW, NOW - 1, []],
  ])("has %s", (_what, since, until, expected) => {
    expect(hours([], since, until)).toEqual(expected);
  });

  it("has 720 hours at most, whatever is asked for", () => {
    const all = hours([], Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    expect([all.length, all[0], all.at(-1)]).toEqual([720, -719, 0]);
  });

  it("sums what is found of the same hour, and leaves out what was not asked for", () => {
    const one = (hour: number): HealthHour =>
      withAttempt(emptyHour(hour), { end: "ok", records: 1, bytes: 2, rawBytes: 3, ms: 4 });
    const found = [one(NOW), one(NOW - 1), one(NOW), one(NOW - 2)];
    expect(seriesOf(found, NOW - 1, NOW + 1, NOON)).toEqual([one(NOW - 1), sumOf(one(NOW), one(NOW))]);
  });
});
