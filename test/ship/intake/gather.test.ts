import { describe, expect, it } from "vitest";
import { MESSAGE_RAW_MAX_BYTES } from "../../../src/base/limits.ts";
import { Gatherer, HELD_MAX_BYTES } from "../../../src/ship/intake/gather.ts";
import { GATHER_MS } from "../../../src/ship/intake/packing-policy.ts";
import { HOLD_MS } from "../../../src/ship/intake/queue-backoff.ts";

describe("gathering", () => {
  const NOTHING = { full: [], waitMs: null, isHeld: false };
  const wait = (nowMs: number) => ({ ...NOTHING, waitMs: GATHER_MS - (nowMs % GATHER_MS) });
  const WAIT = wait(1_000);

  it("has nobody wait for nothing", () => {
    const gatherer = new Gatherer();
    expect(gatherer.add([], 1_000)).toEqual(NOTHING);
    expect(gatherer.add(["a"], 1_000)).toEqual(WAIT);
    expect(gatherer.add([], 1_000)).toEqual(NOTHING);
  });

  it("has whoever would overfill a message send it at once, and the one who waits the rest", () => {
    const gatherer = new Gatherer();
    // With newlines, exactly a message.
    const half = "é".repeat(MESSAGE_RAW_MAX_BYTES / 4 - 1).concat("x");
    expect(gatherer.add([half], 1_000)).toEqual(WAIT);
    expect(gatherer.add([half], 1_001)).toEqual(NOTHING);
    expect(gatherer.add(["x"], 1_002)).toEqual({ ...NOTHING, full: [half, half] });
    // The first invocation is still waiting, and will take this.
    expect(gatherer.add(["y"], 1_003)).toEqual(NOTHING);
    expect(gatherer.take()).toEqual(["x", "y"]);
  });

  it("leaves an invocation that overfills a message on its own to the packing", () => {
    const gatherer = new Gatherer();
    const large = "x".repeat(MESSAGE_RAW_MAX_BYTES);
    expect(gatherer.add([large, large], 1_000)).toEqual(WAIT);
    expect(gatherer.add(["y"], 1_000)).toEqual({ ...NOTHING, full: [large, large] });
    expect(gatherer.take()).toEqual(["y"]);
  });

  it("leaves a caller alone who is about to come", () => {
    const gatherer = new Gatherer();
    gatherer.add(["a"], 0);
    expect(gatherer.add(["b"], GATHER_MS + 499)).toEqual(NOTHING);
  });

  it.each([
    ["should have come half a second ago", GATHER_MS + 500],
    ["comes in what is now a distant future: a clock was set back", GATHER_MS - HOLD_MS - 1],
  ])("believes a caller gone that %s", (_, nowMs) => {
    const gatherer = new Gatherer();
    gatherer.add(["a"], 0);
    expect(gatherer.add(["b"], nowMs).waitMs).not.toBeNull();
    expect(gatherer.take()).toEqual(["a", "b"]);
  });
});

describe("gathering while the queue refuses", () => {
  /** An isolate that the packer has left. */
  function held(): Gatherer {
    const gatherer = new Gatherer();
    gatherer.policy.failed(0);
    gatherer.backoff.refused(0);
    return gatherer;
  }

  it("goes on until the queue is tried again, for all that comes", () => {
    const gatherer = held();
    expect(gatherer.add(["a"], 3_000)).toEqual({ full: [], waitMs: HOLD_MS - 3_000, isHeld: true });
    expect(gatherer.add(["b"], 9_999)).toEqual({ full: [], waitMs: null, isHeld: true });
    expect(gatherer.take()).toEqual(["a", "b"]);
    expect(gatherer.add(["c"], HOLD_MS)).toEqual({ full: [], waitMs: GATHER_MS, isHeld: false });
  });

  it("has room for what one append takes, and counts what there is none for", () => {
    const gatherer = held();
    const line = "x".repeat(HELD_MAX_BYTES / 2 - 1);
    for (const lines of [[line], [line, "x"], [line]]) expect(gatherer.add(lines, 1).full).toEqual([]);
    expect([gatherer.take(), gatherer.uncounted.lost]).toEqual([[line, line], 2]);
  });

  it("is left to the packer where that is asked", () => {
    const gatherer = new Gatherer();
    gatherer.backoff.refused(0);
    expect(gatherer.add(["a"], 0)).toEqual({ full: [], waitMs: GATHER_MS, isHeld: false });
  });

  it("ends when the queue takes", () => {
    const gatherer = held();
    gatherer.backoff.took();
    expect(gatherer.add(["a"], 1)).toMatchObject({ waitMs: GATHER_MS, isHeld: false });
  });
});
