import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat } from "../../../src/base/bytes.ts";
import { crc32Combine } from "../../../src/formats/object/gzip.ts";

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => new Uint8Array(array));
const crc = fc.integer({ min: 0, max: 0xffffffff });
const length = fc.maxSafeNat().map((n) => Math.floor(n / 2));

describe("the CRC-32 of a concatenation", () => {
  it("is that which zlib computes from all bytes", () => {
    fc.assert(
      fc.property(bytes, bytes, (head, tail) => {
        expect(crc32Combine(crc32(head), crc32(tail), tail.length)).toBe(crc32(concat([head, tail])));
      }),
      { numRuns: 500 },
    );
  });

  it("does not depend on where the parts are joined first, whatever their lengths up to those of safe integers", () => {
    fc.assert(
      fc.property(crc, crc, crc, length, length, (a, b, c, lengthB, lengthC) => {
        const left = crc32Combine(crc32Combine(a, b, lengthB), c, lengthC);
        const right = crc32Combine(a, crc32Combine(b, c, lengthC), lengthB + lengthC);
        expect(left).toBe(right);
        expect(Number.isInteger(left) && left >= 0 && left <= 0xffffffff).toBe(true);
      }),
    );
  });

  // Computed over all the bytes by zlib, through Python: crc32 of so many zeros, and of these and
  // "end".
  it.each([
    [2 ** 32, 3_523_407_757, 3_740_874_175],
    [2 ** 33, 1_104_745_215, 966_729_150],
  ])("is right beyond the lengths that zlib itself is asked for: %i zeros", (size, zeros, andEnd) => {
    const end = new TextEncoder().encode("end");
    expect(zerosOf(size)).toBe(zeros);
    expect(crc32Combine(zerosOf(size), crc32(end), end.length)).toBe(andEnd);
    // The same bytes, cut elsewhere: one zero, and everything else.
    const one = crc32(new Uint8Array(1));
    const rest = Array.from({ length: Math.log2(size) }, (_, k) => k).reduce(
      (sum, k) => crc32Combine(sum, zerosOf(2 ** k), 2 ** k),
      0,
    );
    expect(crc32Combine(crc32Combine(one, rest, size - 1), crc32(end), end.length)).toBe(andEnd);
  });
});

/**
 * CRC-32 of so many zero bytes, a power of two: zlib's own up to a megabyte, and by doubling
 * beyond.
 */
function zerosOf(size: number): number {
  let at = Math.min(size, 2 ** 20);
  let zeros = crc32(new Uint8Array(at));
  for (; at < size; at *= 2) zeros = crc32Combine(zeros, zeros, at);
  return zeros;
}
