import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sampler } from "../../../src/ship/job/build.ts";
import { id } from "../../ship/consumer/scripted.ts";

/** Ids as they are in earnest: nothing in one says anything of another. The same in every run. */
const scattered = (i: number): string => createHash("sha256").update(`${i}`).digest("hex").slice(0, 32);

const MESSAGES_MAX = 50_000;
const SCATTERED = Array.from({ length: MESSAGES_MAX }, (_, i) => scattered(i));
const COUNTED = Array.from({ length: MESSAGES_MAX }, (_, i) => id(i));

const hex = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString("hex"));

const job = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.maxSafeNat());
const rate = fc.oneof(
  fc.double({ min: 0, minExcluded: true, max: 1, noNaN: true }),
  fc.constantFrom(Number.MIN_VALUE, 2 ** -53, 0.5, 1 - 2 ** -53, 1),
);

/** The indices of the first `n` records of some messages that are kept. */
function kept(jobId: number, rate: number, messages: readonly string[], n: number): string[] {
  const keeps = sampler(jobId, rate);
  return messages.flatMap((message) => {
    const inMessage = keeps(message);
    return Array.from({ length: n }, (_, i) => i)
      .filter((i) => inMessage(i))
      .map((i) => `${message} ${i}`);
  });
}

describe("a sample", () => {
  it("is the same whenever it is drawn: these answers never change, or redelivered records would", () => {
    expect(kept(1, 0.25, [id(0), id(7), "0123456789abcdef0123456789abcdef"], 12)).toMatchInlineSnapshot(`
      [
        "00000000000000000000000000000000 3",
        "00000000000000000000000000000007 5",
        "00000000000000000000000000000007 10",
        "00000000000000000000000000000007 11",
        "0123456789abcdef0123456789abcdef 11",
      ]
    `);
    expect(kept(2, 0.25, [id(0), id(7), "0123456789abcdef0123456789abcdef"], 12)).toMatchInlineSnapshot(`
      [
        "00000000000000000000000000000000 2",
        "00000000000000000000000000000000 8",
        "00000000000000000000000000000000 9",
        "00000000000000000000000000000000 11",
        "00000000000000000000000000000007 2",
        "00000000000000000000000000000007 6",
        "0123456789abcdef0123456789abcdef 6",
        "0123456789abcdef0123456789abcdef 8",
      ]
    `);
  });

  it("is everything at 1", () => {
    fc.assert(fc.property(hex, fc.nat(20_000), (message, index) => sampler(3, 1)(message)(index)));
  });

  it("of a higher rate holds that of a lower one", () => {
    const rates = fc.tuple(
      fc.double({ min: 1e-9, max: 1, noNaN: true }),
      fc.double({ min: 1e-9, max: 1, noNaN: true }),
    );
    fc.assert(
      fc.property(hex, fc.nat(20_000), fc.integer({ min: 1 }), rates, (message, index, job, [a, b]) => {
        const inLower = sampler(job, Math.min(a, b))(message)(index);
        return !inLower || sampler(job, Math.max(a, b))(message)(index);
      }),
    );
  });

  it.each([0.5, 0.1, 0.01, 0.001])("of %f is that share of the records, to within five standard deviations", (rate) => {
    for (const [messages, n] of [
      [400, 500],
      // A record a message, as a quiet function sends them; and ids that differ in their last
      // digits alone.
      [MESSAGES_MAX, 1],
    ] as const) {
      for (const ids of [SCATTERED.slice(0, messages), COUNTED.slice(0, messages)]) {
        const total = messages * n;
        const spread = 5 * Math.sqrt(total * rate * (1 - rate));
        expect(Math.abs(kept(1, rate, ids, n).length - total * rate)).toBeLessThan(spread);
      }
    }
  });

  it("of one job says nothing of that of another", () => {
    const messages = SCATTERED.slice(0, 100);
    const first = new Set(kept(1, 0.1, messages, 1_000));
    const both = kept(2, 0.1, messages, 1_000).filter((record) => first.has(record)).length;
    // A hundredth of 100,000, to within five standard deviations.
    expect(Math.abs(both - 1_000)).toBeLessThan(5 * Math.sqrt(1_000));
  });

  it("is the same in whatever order, group or isolate the records are asked about", () => {
    const answers = { true: 0, false: 0 };
    const asked = fc.array(fc.tuple(hex, fc.nat({ max: 200 })), { minLength: 1, maxLength: 12 });
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
      fc.property(job, hex, place, (jobId, message, [at, change]) => {
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
