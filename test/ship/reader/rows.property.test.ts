import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UPLOAD_RECORDS } from "../../../src/base/limits.ts";
import { chunkId, chunkRange } from "../../../src/ship/reader/reader-rows.ts";

/** As many batches as a log can number: its chunks' ids stay safe integers. */
const batch = fc.oneof(fc.nat({ max: 1_000 }), fc.integer({ min: 0, max: 2 ** 33 - 2 }));
const n = fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 2 ** 20 - 1 }), fc.constant(2 ** 20 - 1));

describe("the ids of chunks", () => {
  it("lie in the range of their batch and in no other's, and no two are the same", () => {
    fc.assert(
      fc.property(batch, n, batch, n, (a, i, b, j) => {
        const id = chunkId(a, i);
        expect(Number.isSafeInteger(id) && id >= 0).toBe(true);
        const [first, end] = chunkRange(b);
        expect(id >= first && id < end).toBe(a === b);
        expect(id === chunkId(b, j)).toBe(a === b && i === j);
      }),
      { numRuns: 1_000 },
    );
  });

  it("sort by batch and then by place, which is the order in which an object is read", () => {
    fc.assert(
      fc.property(batch, n, batch, n, (a, i, b, j) => {
        fc.pre(a !== b || i !== j);
        expect(chunkId(a, i) < chunkId(b, j)).toBe(a === b ? i < j : a < b);
      }),
      { numRuns: 1_000 },
    );
  });

  it("leave no gap between two batches", () => {
    fc.assert(
      fc.property(batch, (each) => {
        expect(chunkRange(each)[0]).toBe(chunkId(each, 0));
        expect(chunkRange(each)[1]).toBe(chunkRange(each + 1)[0]);
      }),
    );
  });

  it("are enough for a batch of the most records, one a chunk, and are refused rather than taken from the next", () => {
    expect(() => chunkId(1, UPLOAD_RECORDS.max)).not.toThrow();
    fc.assert(
      fc.property(batch, fc.integer({ min: 2 ** 20, max: 2 ** 31 }), (each, over) => {
        expect(() => chunkId(each, over)).toThrow("too many chunks");
      }),
    );
  });
});
