/** The gate of `npm run bench -- --gate`, with made measurements: nothing here is timed. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  compare,
  FIGURES,
  type Figure,
  figureOf,
  gateText,
  type Kept,
  keep,
  passes,
  RATIOS,
  runGate,
  type Sample,
} from "../../../tools/bench/gate.ts";
import { EVERYTHING, FILTERED } from "../../../tools/bench/job-shapes.ts";
import { quartiles } from "../../../tools/bench/table.ts";
import { measureByTurns, prepareData, WORK_NAMES } from "../../../tools/bench/works.ts";
import { folderOf } from "../project-files/temporary.ts";

/** Nine rounds around a ratio, with this noise. */
function sample(ratio: number, noise = 0, name = "a"): Sample {
  const quartile = (noise * 3) / 1.57 / 2;
  const rounds = [-2, -1, -1, -0.5, 0, 0.5, 1, 1, 2].map((step) => ratio * (1 + step * quartile));
  return { name, rounds, microseconds: 1 };
}

function figure(ratio: number, { noise = 0, least = ratio } = {}): { a: Figure } {
  return { a: { ratio, noise, least } };
}

const verdictOf = (now: Sample, kept: Kept["figures"]) => compare([now], kept)[0]?.verdict;

it("the quartiles are the medians of both halves", () => {
  expect(quartiles([7, 1, 3, 5])).toEqual([2, 6]);
  expect(quartiles([9, 1, 3, 7, 5])).toEqual([3, 7]);
  expect(quartiles([4])).toEqual([4, 4]);
});

it("a figure is the median, and its noise the notch of a box plot", () => {
  expect(figureOf({ rounds: [1, 1.5, 2, 2.5] })).toEqual({ ratio: 1.75, noise: (1.57 * 1) / 2 / 1.75 });
  const { ratio, noise } = figureOf(sample(2, 0.04));
  expect(ratio).toBe(2);
  expect(noise).toBeCloseTo(0.04, 9);
});

describe("a ratio", () => {
  it.each([
    ["as slow as 3 % allow", 1.029, ""],
    ["slower than that", 1.031, "slower"],
    ["much slower", 1.2, "slower in all"],
    ["a little faster", 0.971, ""],
    ["much faster", 0.969, "faster"],
  ] as const)("%s", (_what, now, verdict) => {
    expect(verdictOf(sample(now), figure(1))).toBe(verdict);
    expect(passes(compare([sample(now)], figure(1)))).toBe(!verdict.startsWith("slower"));
  });

  it("has the room of its noise beyond that, and of the noise of what was kept", () => {
    expect(verdictOf(sample(1.07), figure(1))).toBe("slower");
    expect(verdictOf(sample(1.07, 0.05), figure(1))).toBe("");
    expect(verdictOf(sample(1.07), figure(1, { noise: 0.05 }))).toBe("");
    // The root of both squares: 5 % of 3 % and 4 %.
    expect(verdictOf(sample(1.079, 0.03), figure(1, { noise: 0.04 }))).toBe("");
    expect(verdictOf(sample(1.081, 0.03), figure(1, { noise: 0.04 }))).toBe("slower");
  });

  it("is slower in all after many small steps", () => {
    expect(verdictOf(sample(1.1), figure(1.08, { least: 1.01 }))).toBe("");
    expect(verdictOf(sample(1.12), figure(1.1, { least: 1.01 }))).toBe("slower in all");
  });

  it("that was not kept, or is not measured any more, does not pass", () => {
    const rows = compare([sample(1, 0, "b")], figure(1));
    expect(rows.map(({ name, verdict }) => [name, verdict])).toEqual([
      ["b", "not kept"],
      ["a", "not measured"],
    ]);
    for (const row of rows) expect(passes([row])).toBe(false);
  });
});

it("what is kept has the least ratio of all times, so that keeping is no way around 10 %", () => {
  const now = { date: "2026-12-01", node: "24.1.0" };
  const first = keep([sample(1, 0.02)], {}, now);
  expect(first).toEqual({ ...now, figures: figure(1, { noise: 0.02 }) });
  const second = keep([sample(1.15)], first.figures, now);
  expect(second.figures).toEqual(figure(1.15, { least: 1 }));
  expect(verdictOf(sample(1.15), second.figures)).toBe("slower in all");
  expect(keep([sample(0.9)], second.figures, now).figures).toEqual(figure(0.9));
});

it("its text has a row for each, and sums up", () => {
  const before = { date: "2026-12-01", node: "24.1.0" };
  const rows = compare([sample(1.0512, 0.01), sample(2, 0, "b"), sample(0.5, 0, "c")], {
    ...figure(1),
    ...{ b: { ratio: 2, noise: 0, least: 1.5 }, c: { ratio: 1, noise: 0, least: 1 } },
  });
  const [table = "", sum] = gateText(rows, before);
  expect(table.split("\n").map((line) => line.replaceAll(/ +/g, " "))).toEqual([
    "| × gzip alone | kept | now | change | noise | µs/record | verdict |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    "| a | 1.00 | 1.05 | +5.1 % | 1.0 % | 1.00 | slower |",
    "| b | 2.00 | 2.00 | 0.0 % | 0.0 % | 1.00 | slower in all |",
    "| c | 1.00 | 0.50 | -50.0 % | 0.0 % | 1.00 | faster |",
  ]);
  expect(sum?.split("\n")).toEqual([
    `3 ratios, Node ${process.versions.node}, beside those of 2026-12-01, Node 24.1.0.`,
    "More than 10 % slower in all than the least ratio that was kept: b (0.0 %).",
    "More than 3 % slower beyond noise: a (+5.1 %).",
    "Faster beyond noise, to be kept: c (-50.0 %).",
  ]);
  expect(gateText(compare([sample(1)], figure(1)), before)[1]).toMatch(/\nNone is more than 3 % slower/);
  expect(gateText(compare([sample(1)], {}), null)[1]).toMatch(/^No ratios are kept yet/);
});

it("it fails until ratios are kept, and then when one is slower", async () => {
  const file = join(folderOf({}), "figures.json");
  const shown: string[] = [];
  const run = (ratio: number, keeps: boolean) =>
    runGate({
      ...{ file, keeps, now: new Date("2026-12-01T10:00:00Z"), measure: async () => [sample(ratio)] },
      show: (parts) => shown.push(...parts),
    });
  expect(await run(1, false)).toBe(1);
  expect(existsSync(file)).toBe(false);
  expect(await run(1, true)).toBe(0);
  expect(await run(1, false)).toBe(0);
  expect(await run(1.05, false)).toBe(1);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    ...{ date: "2026-12-01", node: process.versions.node, figures: figure(1) },
  });
  expect(shown.at(-1)).toContain("More than 3 % slower beyond noise: a (+5.0 %)");
});

it("the committed ratios are those that it measures", () => {
  const { figures } = JSON.parse(readFileSync(FIGURES, "utf8")) as Kept;
  const names = Object.values(RATIOS).flatMap((ofShape) => Object.values(ofShape));
  expect(Object.keys(figures)).toEqual(names);
  for (const { ratio, noise, least } of Object.values(figures)) {
    expect(least).toBeGreaterThan(0);
    expect(ratio).toBeGreaterThanOrEqual(least);
    expect(noise).toBeLessThan(0.2);
  }
});

it.each([
  ["everything", EVERYTHING],
  ["filtered", FILTERED],
] as const)("each work does the same in each round: %s", async (_name, shape) => {
  const data = await prepareData(40, shape);
  const times = await measureByTurns(data, { records: 40, rounds: 2, warmUpRounds: 1 });
  for (const work of WORK_NAMES) expect(times[work]).toHaveLength(2);
});
