import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { findEvents } from "../../../src/ship/intake/events.ts";
import { cutsOf, keyedIds, randomIds } from "../../../src/ship/intake/ids.ts";

describe("where a request with a key is cut", () => {
  const cuts = (sizes: readonly number[]): number[] => [...cutsOf(sizes)];

  it.each<[what: string, sizes: number[], cuts: number[]]>([
    ["nothing", [], []],
    ["one event, of any size", [1_048_576], [0]],
    ["a hundred events", Array(100).fill(20), [0]],
    ["one more", Array(101).fill(20), [0, 100]],
    ["exactly 100 kB", [50_000, 50_000], [0]],
    ["a byte more", [50_000, 50_001], [0, 1]],
    ["a larger event between small ones, which is a part by itself", [10, 100_001, 10, 10], [0, 1, 2]],
    ["an event of 100 kB after a small one", [1, 100_000, 1], [0, 1, 2]],
    ["both bounds in turn", [...Array(150).fill(900), 90_000, 5_000, 5_001], [0, 100, 150, 152]],
  ])("never changes: %s", (_what, sizes, expected) => {
    expect(cuts(sizes)).toEqual(expected);
  });

  it("goes by the events as they stand in the body, without what is between them", () => {
    const events = ['{"a": 1}', '{"b":"€"}', '{ "c" : [ ] }'];
    const sizes = events.map((event) => encodeUtf8(event).length);
    const sizesIn = (text: string, ndjson: boolean) => {
      const found = findEvents(encodeUtf8(text), ndjson);
      return found.ok && found.sizes;
    };
    expect(sizesIn(`\ufeff[ ${events.join(" ,\n ")} ]`, false)).toEqual(sizes);
    expect(sizesIn(events.join(" \r\n\n  "), true)).toEqual(sizes);
    expect(sizesIn(`  ${events[2]}\n`, false)).toEqual([sizes[2]]);
  });
});

describe("the ids of a request with a key", () => {
  it("never change", () => {
    const idOf = keyedIds("order-42", encodeUtf8('[{"event":null},{"event":null}]'));
    expect([idOf(0), idOf(1), idOf(10)]).toEqual([
      "b9911a50ba7775395632a60db4bc2092",
      "2b0abea7ebcdf20b75bf839b8877f26d",
      "2262b257e8d68212ec4e64ca47b60e9c",
    ]);
    expect(keyedIds("", new Uint8Array())(0)).toBe("c95b3510dc5c3179d01ff1643991f8b8");
  });
});

describe("random ids", () => {
  it("are 16 bytes, and new each time", () => {
    const idOf = randomIds(1);
    const ids = Array.from({ length: 1_000 }, () => idOf(0));
    expect(new Set(ids).size).toBe(1_000);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(ids.map((id) => id.slice(2, 4))).size).toBeGreaterThan(200);
  });
});
