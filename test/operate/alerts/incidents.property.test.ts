/**
 * For any sequence of looks: opened and over alternate, in this order, and the number of incidents
 * is bounded.
 */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { advance, CONFIRM_MS, ROOM, SETTLE_MS, type Tracked } from "../../../src/operate/alerts/incidents.ts";
import { type Finding, keyOf } from "../../../src/operate/status/finding.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { finding } from "../status/findings.ts";

const KINDS = ["failing", "parked", "lagging"] as const;

interface AnyLook {
  waitMs: number;
  findings: Finding[];
  blind: readonly string[];
}

const anyLook: fc.Arbitrary<AnyLook> = fc.record({
  waitMs: fc.constantFrom(-3_600_000, 0, 1, 10_000, CONFIRM_MS - 1, CONFIRM_MS, 300_000, SETTLE_MS),
  findings: fc.array(
    fc
      .record({
        kind: fc.constantFrom(...KINDS),
        id: fc.integer({ min: 1, max: 3 }),
        severity: fc.constantFrom("error" as const, "warning" as const),
        sinceMs: fc.option(fc.integer({ min: NOON - 1e9, max: NOON + 1e9 })),
      })
      .map(({ id, ...fields }) => finding({ ...fields, subject: { type: "job", id } })),
    { maxLength: 6 },
  ),
  blind: fc.subarray([...KINDS]),
});

it("of each finding, opened and over alternate, whatever the looks and the clock", () => {
  fc.assert(
    fc.property(fc.array(anyLook, { maxLength: 40 }), (looks) => {
      let tracked: readonly Tracked[] = [];
      let now = NOON;
      let ids = 0;
      const open = new Map<string, string>();
      const used = new Set<string>();
      for (const { waitMs, findings, blind } of looks) {
        now += waitMs;
        const isUnknown = ({ kind }: Finding): boolean => (blind as readonly string[]).includes(kind);
        const before = tracked;
        const step = advance(before, { atMs: now, findings, isUnknown }, () => `i${ids++}`);
        tracked = step.tracked;
        for (const each of step.opened) {
          const key = keyOf(each.finding);
          expect([open.has(key), used.has(each.id)]).toEqual([false, false]);
          // CheckResult before, and now.
          expect(before.some(({ id, openedMs }) => id === each.id && openedMs === null)).toBe(true);
          expect(findings.some((seen) => keyOf(seen) === key)).toBe(true);
          open.set(key, each.id);
          used.add(each.id);
        }
        for (const each of step.over) {
          const key = keyOf(each.finding);
          expect(open.get(key)).toBe(each.id);
          expect(findings.some((seen) => keyOf(seen) === key) || isUnknown(each.finding)).toBe(false);
          expect(each.overMs).toBeLessThanOrEqual(now - SETTLE_MS);
          open.delete(key);
        }
        for (const each of tracked) {
          expect(each.firstSeenMs).toBeLessThanOrEqual(now);
          expect(each.sinceMs).toBeLessThanOrEqual(each.firstSeenMs);
        }
        // Open incidents are tracked, each key once.
        const followed = new Map(tracked.map((each) => [keyOf(each.finding), each.id]));
        expect(followed.size).toBe(tracked.length);
        for (const [key, id] of open) expect(followed.get(key)).toBe(id);
        // Each finding is tracked.
        for (const seen of findings) expect(followed.has(keyOf(seen))).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});

it("never are more followed than there is room for, and one that counts the rest", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ from: fc.nat(400), count: fc.nat(300), waitMs: fc.nat(SETTLE_MS) }), { maxLength: 12 }),
      (looks) => {
        let tracked: readonly Tracked[] = [];
        let now = NOON;
        for (const { from, count, waitMs } of looks) {
          now += waitMs;
          const findings = Array.from({ length: count }, (_, i) => finding({ subject: { type: "job", id: from + i } }));
          tracked = advance(tracked, { atMs: now, findings, isUnknown: () => false }, () =>
            crypto.randomUUID(),
          ).tracked;
          expect(tracked.length).toBeLessThanOrEqual(2 * ROOM.errors + 1);
        }
      },
    ),
    { numRuns: 60 },
  );
});
