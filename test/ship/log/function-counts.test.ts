import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ROW_MAX_BYTES } from "../../../src/base/limits.ts";
import {
  countsText,
  type FunctionCount,
  FunctionTally,
  joinCounts,
  namedBy,
  nameInText,
  parseCounts,
  type SeenSource,
  sourcesText,
  TALLY_BOUNDS,
} from "../../../src/ship/log/function-counts.ts";

const count = (scriptName: string | null, fields: Partial<FunctionCount> = {}): FunctionCount => ({
  scriptName,
  routed: 0,
  notEnabled: 0,
  notRouted: 0,
  lastEventMs: 0,
  ...fields,
});

const numbers = fc.nat({ max: 1_000_000 });
const anyCount = fc.record({
  scriptName: fc.oneof(
    fc.constantFrom("shop", "billing", "__proto__", "constructor", "", '["shop",', "\u0000", null),
    fc.string({ unit: "binary", maxLength: 300 }),
  ),
  routed: numbers,
  notEnabled: numbers,
  notRouted: numbers,
  lastEventMs: numbers,
});
const anyCounts = fc.array(anyCount, { maxLength: 50 });

const sumOf = (counts: readonly FunctionCount[]): number[] => [
  counts.reduce((sum, { routed }) => sum + routed, 0),
  counts.reduce((sum, { notEnabled }) => sum + notEnabled, 0),
  counts.reduce((sum, { notRouted }) => sum + notRouted, 0),
  counts.reduce((last, { lastEventMs }) => Math.max(last, lastEventMs), 0),
];

const tallied = (counts: readonly FunctionCount[], bounds = TALLY_BOUNDS): FunctionCount[] => {
  const tally = new FunctionTally(bounds);
  for (const each of counts) tally.add(each);
  return tally.counts();
};

const namesOf = (counts: readonly FunctionCount[]): (string | null)[] => counts.map(({ scriptName }) => scriptName);

describe("counts by function", () => {
  it("lose nothing of the sum, within any bounds, joined or not, written and read", () => {
    fc.assert(
      fc.property(anyCounts, fc.nat({ max: 60 }), fc.nat({ max: 600 }), (counts, names, chars) => {
        const bounds = { names, chars };
        for (const result of [tallied(counts, bounds), joinCounts(counts, bounds)]) {
          expect(sumOf(result)).toEqual(sumOf(counts));
          expect(parseCounts(countsText(result))).toEqual(result);
          const kept = namesOf(result).filter((name) => name !== null);
          expect(new Set(kept).size).toBe(kept.length);
          expect(kept.length).toBeLessThanOrEqual(names);
          expect(kept.join("").length).toBeLessThanOrEqual(chars);
        }
      }),
    );
  });

  it("keep a name of 255 characters, and sum up what has a longer one", () => {
    const counts = tallied([255, 256, 400_000].map((length) => count("n".repeat(length), { routed: 1 })));
    expect(counts).toEqual([count("n".repeat(255), { routed: 1 }), count(null, { routed: 2 })]);
  });

  it("sum up the 2,001st name and those after it, while known ones go on by themselves", () => {
    const names = Array.from({ length: 2_005 }, (_, i) => `f-${i}`);
    const counts = tallied([...names, "f-0", "f-1999", "f-2000"].map((name) => count(name, { routed: 1 })));
    expect(counts).toHaveLength(2_001);
    expect(counts[0]).toMatchObject({ scriptName: "f-0", routed: 2 });
    expect(counts[1_999]).toMatchObject({ scriptName: "f-1999", routed: 2 });
    expect(counts[2_000]).toMatchObject({ scriptName: null, routed: 6 });
  });

  it("fit a row whatever the names are", () => {
    // Each is six bytes of JSON.
    const names = Array.from({ length: 3_000 }, (_, i) => "\u0001".repeat(250) + String(i).padStart(5, "\u0002"));
    const large = {
      routed: Number.MAX_SAFE_INTEGER,
      notEnabled: Number.MAX_SAFE_INTEGER,
      lastEventMs: 253_402_300_799_999,
    };
    const short = Array.from({ length: 3_000 }, (_, i) => String(i).padStart(64, "\u0001"));
    for (const each of [names, short]) {
      const text = countsText(tallied(each.map((name) => count(name, large))));
      expect(text.length).toBeGreaterThan(500_000);
      expect(new TextEncoder().encode(text).length).toBeLessThan(ROW_MAX_BYTES / 2);
    }
  });

  it("leave the names of those with the most events when there are too many", () => {
    const counts = [
      count("flood-1", { routed: 1 }),
      count("shop", { notEnabled: 50, routed: 50 }),
      count("flood-2", { routed: 2 }),
      count("shop", { routed: 1 }),
      count("billing", { notRouted: 70 }),
    ];
    const joined = joinCounts(counts, { names: 2, chars: 1_000 });
    expect(joined).toEqual([
      count("shop", { routed: 51, notEnabled: 50 }),
      count("billing", { notRouted: 70 }),
      count(null, { routed: 3 }),
    ]);
  });

  it("are found in their text by name, and by nothing that looks like one", () => {
    fc.assert(
      fc.property(
        anyCounts,
        fc.oneof(fc.constantFrom("shop", '["shop",', "\u0000", ""), fc.string()),
        (counts, name) => {
          const result = tallied(counts);
          expect(countsText(result).includes(nameInText(name))).toBe(namesOf(result).includes(name));
        },
      ),
    );
  });
});

describe("the sources of a function", () => {
  const seen = (...names: string[]): SeenSource[] => names.map((source, i) => ({ source, lastMs: NOON_S - i * 1_000 }));
  const NOON_S = 4_130_395_200_000;
  const stored = (counts: readonly FunctionCount[]) => parseCounts(countsText(counts), sourcesText(counts));

  it("are the eight latest, each once, with the time of its latest", () => {
    const names = Array.from({ length: 12 }, (_, i) => `http:${i}`);
    const once = tallied(seen(...names).map((each) => count("shop", { sources: [each] })));
    expect(once[0]?.sources).toEqual(seen(...names.slice(0, 8)));
    const later = { source: "http:11", lastMs: NOON_S + 5_000 };
    expect(tallied([...once, count("shop", { sources: [later] })])[0]?.sources).toEqual([
      later,
      ...seen(...names.slice(0, 7)),
    ]);
  });

  it("are read as they were written, beside counts whose sources are unknown", () => {
    const counts = [
      count("shop", { routed: 1, sources: seen("tail", "http:ci") }),
      count("billing"),
      count("till", { sources: seen("http:ci") }),
      count(null),
    ];
    expect(stored(counts)).toEqual(counts);
    expect(sourcesText([count("shop")])).toBeNull();
    // A row that an earlier release has replaced.
    expect(parseCounts(countsText(counts), null)).toEqual(counts.map(({ sources: _, ...each }) => each));
  });

  it("are not kept of a name that is too long", () => {
    const counts = [count("x".repeat(300), { sources: seen("tail") }), count(null, { sources: seen("rpc") })];
    expect(tallied(counts)).toEqual([count(null, { sources: seen("rpc") })]);
  });

  it("fit a row beside the counts whatever they are called, and those that have room go on", () => {
    const long = (i: number) => "\u0001".repeat(250) + String(i).padStart(9, "\u0002");
    const short = (i: number) => String(i).padStart(3, "x");
    for (const nameOf of [long, short]) {
      const counts = Array.from({ length: 2_000 }, (_, i) =>
        count(`f${i}`, { sources: seen(...Array.from({ length: 8 }, (_each, n) => nameOf(8 * i + n))) }),
      );
      const kept = tallied(counts);
      const bytes = new TextEncoder().encode(sourcesText(kept) ?? "").length;
      expect(bytes).toBeLessThan(800_000);
      expect(kept.flatMap(({ sources = [] }) => sources).length).toBeGreaterThan(200);
      const [first] = kept;
      const again = { source: first?.sources?.[3]?.source ?? "", lastMs: NOON_S + 9_000 };
      expect(tallied([...kept, count("f0", { sources: [again] })])[0]?.sources?.[0]).toEqual(again);
    }
  });
});

describe("of too many names", () => {
  const seen = (source: string): SeenSource[] => [{ source, lastMs: 4_130_395_200_000 }];
  const many = (source: string, n: number) =>
    Array.from({ length: n }, (_, i) => count(`${source} ${i}`, { routed: 9, sources: seen(source) }));
  const bounds = { names: 100, chars: 10_000 };
  const namesOf = (counts: readonly FunctionCount[]): Record<string, number> =>
    Object.fromEntries([...Map.groupBy(counts, namedBy)].map(([source, own]) => [source, own.length]));

  it("names that Cloudflare traced are kept, in any order and beside busier ones; the sum is the same", () => {
    const tally = new FunctionTally(bounds);
    for (const each of [...many("http:ci", 500), ...many("tail", 60), ...many("rpc", 5)]) tally.add(each);
    const counts = tally.counts();
    expect(namesOf(counts.filter(({ scriptName }) => scriptName !== null))).toEqual({
      "http:ci": 35,
      tail: 60,
      rpc: 5,
    });
    expect(counts.reduce((sum, { routed }) => sum + routed, 0)).toBe(565 * 9);
    expect(counts.at(-1)).toMatchObject({ scriptName: null, routed: 465 * 9, sources: seen("http:ci") });
  });

  it("so it is where counts are joined, and that it is traced is kept of each, beside any other sources", () => {
    const joined = joinCounts([...many("http:ci", 500), ...many("tail", 60)], bounds);
    expect(namesOf(joined.filter(({ scriptName }) => scriptName !== null))).toEqual({ "http:ci": 40, tail: 60 });
    const tail = { source: "tail", lastMs: 1_000 };
    const later = Array.from({ length: 20 }, (_, n) => ({ source: `http:${"x".repeat(200)}${n}`, lastMs: 2_000 + n }));
    const shop = joinCounts([count("shop", { sources: [tail] }), count("shop", { sources: later })], bounds);
    expect(namedBy(shop[0] as FunctionCount)).toBe("tail");
  });
});
