import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dayOf } from "../../../src/base/time.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { acceptEvents, type Located } from "../../../src/ship/intake/events.ts";
import { anyRecord, NOON, TAKEN } from "../../formats/record/samples.ts";
import { foundIn } from "./found.ts";

const CONTEXT = { takenInMs: TAKEN, defaultScriptName: "unnamed", lenient: false };

/** An event, whether it is valid, and its unknown keys. */
interface Sample {
  value: unknown;
  good: boolean;
  unknown: string[];
}
const unknownKey = fc.constantFrom("zone", "__proto__", "toString", "é", "a/b~c", "Event.a");
const good: fc.Arbitrary<Sample> = fc.oneof(
  anyRecord.map((value) => ({ value, good: true, unknown: [] })),
  fc.tuple(fc.array(unknownKey, { maxLength: 2 }), fc.nat({ max: 40 })).map(([unknown, day]) => ({
    value: { ...asOwn(unknown), outcome: "ok", eventTimestamp: NOON + day * 86_400_000 },
    good: true,
    unknown,
  })),
);
const bad: fc.Arbitrary<Sample> = fc
  .constantFrom<unknown>(
    {},
    [],
    null,
    5,
    "x",
    { zone: 1 },
    { Outcome: 1 },
    { cpuTime: -1, wallTime: -1 },
    { logs: [5] },
  )
  .map((value) => ({ value, good: false, unknown: [] }));

/** Keys as own properties, as JSON.parse makes them. */
function asOwn(keys: readonly string[]): object {
  return JSON.parse(`{${keys.map((key) => `${JSON.stringify(key)}:1`).join(",")}}`) as object;
}

const located = (samples: readonly Sample[]): Located[] => samples.map(({ value }, i) => ({ pointer: `/${i}`, value }));

describe("events of one request", () => {
  it("are all taken, in order, or none is, and then every bad one is named and no good one", () => {
    const answers = { taken: 0, refused: 0 };
    const samples = fc.array(fc.oneof({ weight: 9, arbitrary: good }, { weight: 1, arbitrary: bad }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(samples, (all) => {
        const accepted = acceptEvents(located(all), CONTEXT);
        const wrong = all.flatMap((sample, i) => (sample.good ? [] : [`/${i}`]));
        answers[accepted.ok ? "taken" : "refused"] += 1;
        if (accepted.ok) {
          expect(wrong).toEqual([]);
          expect(accepted.lines.length).toBe(all.length);
          accepted.lines.forEach((line, i) => {
            const alone = acceptEvents(located(all.slice(i, i + 1)), CONTEXT);
            expect(alone).toMatchObject({ ok: true, lines: [line] });
            expect(line).not.toContain("\n");
          });
          const keys = all.flatMap(({ unknown }) => unknown);
          expect(accepted.unknownKeys).toEqual([...new Set(keys)].sort());
          return;
        }
        expect(accepted.status).toBe(400);
        const named = accepted.faults.map(({ pointer }) => `/${pointer.split("/")[1]}`);
        expect([...new Set(named)]).toEqual(wrong);
      }),
      { numRuns: 500 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(50);
  });

  it("may be of thirty-one days, counted by the days of their records, and of no more", () => {
    const answers = { taken: 0, refused: 0 };
    const moments = fc
      .tuple(fc.uniqueArray(fc.nat({ max: 60 }), { minLength: 28, maxLength: 35 }), fc.integer({ min: 1, max: 3 }))
      .map(([days, times]) => days.flatMap((day) => [0, 86_399_999, 5].slice(0, times).map((ms) => ({ day, ms }))));
    fc.assert(
      fc.property(moments, (all) => {
        const midnight = dayOf(NOON) * 86_400_000;
        const events = all.map(({ day, ms }) => ({ eventTimestamp: midnight + day * 86_400_000 + ms }));
        const days = new Set(all.map(({ day }) => day)).size;
        const accepted = acceptEvents(located(events.map((value) => ({ value, good: true, unknown: [] }))), CONTEXT);
        answers[accepted.ok ? "taken" : "refused"] += 1;
        expect(accepted.ok).toBe(days <= 31);
      }),
      { numRuns: 200 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(20);
  });

  it("that are records already come out as the lines they were", () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { maxLength: 6 }), (records) => {
        const lines = records.map((record) => recordLine({ ...record, ScriptName: record.ScriptName || "shop" }));
        const parsed = foundIn(lines.join("\n"), true);
        // A time may be one that can only be in seconds.
        const { oddTimes: _, ...accepted } = { oddTimes: [], ...(parsed.ok && acceptEvents(parsed.events, CONTEXT)) };
        expect(accepted).toEqual({ ok: true, lines, unknownKeys: [] });
      }),
      { numRuns: 300 },
    );
  });
});
