import { describe, expect, it } from "vitest";
import { homeOf, isBeyond, ROOT } from "../../src/storage/splits.ts";
import { NOON } from "../record/samples.ts";

/** The third digit decides the split by bit 0 of these hashes: 01. */
const id = "00010000000000000000000000000000";
const splits = new Map([[ROOT, [{ bit: 0, fromMs: NOON }]]]);
const message = (takenInMs: number, fields = {}) => ({ id, takenInMs, keyed: false, ...fields });

describe("the shard of a repeated request's message", () => {
  it("is that of its first copy, whenever a shard splits in between", () => {
    const before = message(NOON - 1);
    expect(homeOf(before, splits)).toBe(ROOT);
    expect(homeOf(message(NOON), splits)).toBe(1);
    expect(homeOf(message(NOON + 1, { firstMs: NOON - 1 }), splits)).toBe(ROOT);
    expect(homeOf(message(NOON + 2, { firstMs: NOON }), splits)).toBe(1);
    expect(isBeyond(message(NOON + 1, { firstMs: NOON - 1 }), { bit: 0, fromMs: NOON })).toBe(false);
  });

  it("is the first one where its id is remembered by itself", () => {
    expect(homeOf(message(NOON + 1, { keyed: true }), splits)).toBe(ROOT);
    expect(homeOf(message(NOON + 1, { keyed: true, firstMs: NOON }), splits)).toBe(ROOT);
  });
});
