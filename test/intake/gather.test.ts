import { describe, expect, it } from "vitest";
import { GATHER_MS } from "../../src/intake/company.ts";
import { Gatherer } from "../../src/intake/gather.ts";
import { MESSAGE_RAW_MAX_BYTES } from "../../src/limits.ts";

describe("gathering", () => {
  const WAIT = { full: [], wait: true };
  const NOTHING = { full: [], wait: false };

  it("has the first caller wait, and the others go", () => {
    const gatherer = new Gatherer();
    expect(gatherer.add(["a"], 1_000)).toEqual(WAIT);
    expect(gatherer.add(["b"], 1_010)).toEqual(NOTHING);
    expect(gatherer.add(["c", "d"], 1_900)).toEqual(NOTHING);
    expect(gatherer.take()).toEqual(["a", "b", "c", "d"]);
    expect(gatherer.take()).toEqual([]);
  });

  it("begins anew once what was gathered is taken", () => {
    const gatherer = new Gatherer();
    gatherer.add(["a"], 1_000);
    gatherer.take();
    expect(gatherer.add(["b"], 2_001)).toEqual(WAIT);
    expect(gatherer.take()).toEqual(["b"]);
  });

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
    expect(gatherer.add(["x"], 1_002)).toEqual({ full: [half, half], wait: false });
    // The first invocation is still waiting, and will take this.
    expect(gatherer.add(["y"], 1_003)).toEqual(NOTHING);
    expect(gatherer.take()).toEqual(["x", "y"]);
  });

  it("leaves an invocation that overfills a message on its own to the packing", () => {
    const gatherer = new Gatherer();
    const large = "x".repeat(MESSAGE_RAW_MAX_BYTES);
    expect(gatherer.add([large, large], 1_000)).toEqual(WAIT);
    expect(gatherer.add(["y"], 1_000)).toEqual({ full: [large, large], wait: false });
    expect(gatherer.take()).toEqual(["y"]);
  });

  it("leaves a caller alone who is about to come", () => {
    const gatherer = new Gatherer();
    gatherer.add(["a"], 1_000);
    expect(gatherer.add(["b"], 1_000 + GATHER_MS + 499)).toEqual(NOTHING);
  });

  it.each([
    ["longer ago than it was to wait", 1_000 + GATHER_MS + 500],
    ["in what is now the future: a clock was set back", 1_000 - GATHER_MS - 500],
  ])("believes a caller gone that began to wait %s", (_, nowMs) => {
    const gatherer = new Gatherer();
    gatherer.add(["a"], 1_000);
    expect(gatherer.add(["b"], nowMs)).toEqual(WAIT);
    expect(gatherer.take()).toEqual(["a", "b"]);
  });
});
