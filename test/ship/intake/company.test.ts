import { describe, expect, it } from "vitest";
import { GATHER_MS, PackingPolicy } from "../../../src/ship/intake/packing-policy.ts";

/** A multiple of five minutes. */
const AT = 300_000 * 5_000_000;

describe("the policy of an isolate", () => {
  it("is asked for at first, at a whole interval of the clock", () => {
    const policy = new PackingPolicy();
    expect(policy.asksPacker(AT)).toBe(true);
    expect([0, 1, 1_999, 2_000].map((ms) => policy.gatherMs(AT + ms))).toEqual([GATHER_MS, 1_999, 1, GATHER_MS]);
  });

  it("is none where its message had its part alone: it goes directly until the next five minutes", () => {
    const policy = new PackingPolicy();
    policy.packed(1, AT + 1_000);
    expect([1_000, 299_999, 300_000].map((ms) => policy.asksPacker(AT + ms))).toEqual([false, false, true]);
    // It gathers as long as it may, wherever the clock stands.
    expect(policy.gatherMs(AT + 1_500)).toBe(GATHER_MS);
    // What it sends after them goes to the packer, with that of all others.
    expect([297_999, 298_001, 299_999].map((ms) => policy.gatherMs(AT + ms))).toEqual([GATHER_MS, 1_999, 1]);
  });

  it("is forgotten with that: the next message decides anew", () => {
    const policy = new PackingPolicy();
    for (let n = 0; n < 20; n++) policy.packed(30, AT);
    policy.failed(AT);
    policy.packed(1, AT + 60_000);
    expect(policy.asksPacker(AT + 60_000)).toBe(false);
  });

  it("is judged by the mean: a small message among large ones changes nothing, a row of them does", () => {
    const policy = new PackingPolicy();
    policy.packed(10, AT);
    policy.packed(1, AT);
    expect(policy.asksPacker(AT)).toBe(true);
    for (let n = 0; n < 20; n++) policy.packed(1, AT);
    expect(policy.asksPacker(AT)).toBe(false);
  });

  it("pays from two parts in a message on", () => {
    const policy = new PackingPolicy();
    for (let n = 0; n < 100; n++) policy.packed(2, AT);
    expect(policy.asksPacker(AT)).toBe(true);
  });

  it("is left alone for a minute after a failure", () => {
    const policy = new PackingPolicy();
    policy.failed(AT + 5);
    expect([5, 60_004, 60_005].map((ms) => policy.asksPacker(AT + ms))).toEqual([false, false, true]);
  });

  it("is asked for again where a clock was set back", () => {
    const policy = new PackingPolicy();
    policy.failed(AT + 3_600_000);
    expect(policy.asksPacker(AT)).toBe(true);
  });
});
