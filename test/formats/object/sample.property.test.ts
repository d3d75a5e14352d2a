import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sampler } from "../../../src/ship/job/build.ts";

const id = fc.stringMatching(/^[0-9a-f]{32}$/);
const job = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.maxSafeNat());
const rate = fc.oneof(
  fc.double({ min: 0, minExcluded: true, max: 1, noNaN: true }),
  fc.constantFrom(Number.MIN_VALUE, 2 ** -53, 0.5, 1 - 2 ** -53, 1),
);

describe("a sample", () => {
  it("is the same in whatever order, group or isolate the records are asked about", () => {
    const answers = { true: 0, false: 0 };
    const asked = fc.array(fc.tuple(id, fc.nat({ max: 200 })), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(job, rate, asked, (jobId, share, records) => {
        const one = sampler(jobId, share);
        const inOrder = records.map(([message, index]) => one(message)(index));
        const open = records.map(([message]) => one(message));
        const reversed = records.map(([, index], i) => [index, i] as const).reverse();
        const again: boolean[] = [];
        for (const [index, i] of reversed) again[i] = open[i]?.(index) ?? false;
        expect(again).toEqual(inOrder);
        expect(records.map(([message, index]) => sampler(jobId, share)(message)(index))).toEqual(inOrder);
        for (const kept of inOrder) answers[`${kept}`] += 1;
      }),
      { numRuns: 500 },
    );
    expect(Math.min(answers.true, answers.false)).toBeGreaterThan(200);
  });

  it("depends on the whole of a message's id: each of its digits moves about half of the answers", () => {
    const place = fc.tuple(fc.nat({ max: 31 }), fc.integer({ min: 1, max: 15 }));
    fc.assert(
      fc.property(job, id, place, (jobId, message, [at, change]) => {
        const digit = (Number.parseInt(message.charAt(at), 16) ^ change).toString(16);
        const other = message.slice(0, at) + digit + message.slice(at + 1);
        const [a, b] = [sampler(jobId, 0.5)(message), sampler(jobId, 0.5)(other)];
        const moved = Array.from({ length: 1_000 }, (_, i) => i).filter((i) => a(i) !== b(i)).length;
        // Eight standard deviations of a thousand tosses of a coin.
        expect(Math.abs(moved - 500)).toBeLessThan(8 * Math.sqrt(250));
      }),
      { numRuns: 300 },
    );
  });
});
