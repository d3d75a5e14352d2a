import { describe, expect, it } from "vitest";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { compareBreadth } from "../../../src/operate/search/breadth.ts";

type Job = Parameters<typeof compareBreadth>[0];

const FEW: Job["output"]["fieldNames"] & {} = ["EventTimestampMs", "Outcome"];

const job = (id: number, more: Partial<Omit<Job, "output">>, fieldNames: Job["output"]["fieldNames"] = null): Job => ({
  ...{ id, filter: null, sampleRate: 1, sketches: true, output: { ...NDJSON, fieldNames } },
  ...more,
});

const JOBS = [
  job(1, { sketches: false }),
  job(2, { filter: '{"where":{"key":"Outcome","operator":"!eq","value":"ok"}}' }),
  job(3, { sampleRate: 0.5 }),
  job(4, {}, FEW),
  job(5, {}, FEW),
  job(6, {}, ["Outcome"]),
];

const ordered = (...counted: (ReadonlySet<string> | null)[]): number[] =>
  JOBS.toReversed()
    .sort((a, b) => compareBreadth(a, b, counted))
    .map(({ id }) => id);

describe("the order of jobs", () => {
  it("begins with the one that has most records, of those whose records are known for such", () => {
    expect(ordered()).toEqual([4, 5, 3, 2, 1, 6]);
  });

  it("begins, for a count, with those that ship what is asked for", () => {
    expect(ordered(new Set(FEW))).toEqual([4, 5, 3, 2, 1, 6]);
    expect(ordered(new Set(["Outcome", "ScriptName"]))).toEqual([3, 2, 4, 5, 1, 6]);
    expect(ordered(null)).toEqual([3, 2, 4, 5, 1, 6]);
  });
});
