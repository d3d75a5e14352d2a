/** What a sender makes up displaces its own alone. */
import { describe, expect, it } from "vitest";
import { fairly } from "../../../src/formats/record/shares.ts";

const of = (source: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${source} ${n}`);
const sourceOf = (entry: string): string => entry.slice(0, entry.lastIndexOf(" "));
const kept = (...all: string[]): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(fairly(all, 40, sourceOf), sourceOf)].map(([source, own]) => [source, own.length]),
  );

describe("of too many names", () => {
  it.each<[string, string[], Record<string, number>]>([
    ["all stay where there is room", [...of("http:a", 39), ...of("tail", 1)], { "http:a": 39, tail: 1 }],
    ["what the platform names stays", [...of("http:a", 400), ...of("tail", 30)], { tail: 30, "http:a": 10 }],
    ["but for a quarter", [...of("tail", 400), ...of("http:a", 400)], { tail: 30, "http:a": 10 }],
    ["of which others take no more than they need", [...of("tail", 400), ...of("rpc", 3)], { tail: 37, rpc: 3 }],
    ["senders have equal parts", [...of("http:a", 400), ...of("http:b", 400)], { "http:a": 20, "http:b": 20 }],
    [
      "and one that is modest all of its own",
      [...of("http:a", 400), ...of("http:b", 3)],
      { "http:a": 37, "http:b": 3 },
    ],
    ["of an unknown one as of any", [...of("http:a", 400), ...of("", 3)], { "http:a": 37, "": 3 }],
  ])("%s", (_what, all, expected) => {
    expect(kept(...all)).toEqual(expected);
  });

  it("the best of each stay", () => {
    expect(fairly([...of("http:a", 5), ...of("http:b", 5)], 4, sourceOf).toSorted()).toEqual([
      "http:a 0",
      "http:a 1",
      "http:b 0",
      "http:b 1",
    ]);
  });
});
