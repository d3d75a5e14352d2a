import { describe, expect, it } from "vitest";
import { getsAgain, optedOut, wasIn } from "../../src/job/config.ts";
import { InForce } from "../../src/set-aside/in-force.ts";
import { job, snapshot } from "../pipeline/scripted.ts";
import { NOON } from "../record/samples.ts";

const LATER = [{ fromMs: NOON + 1_000, untilMs: null }];

const JOBS = [
  job(1),
  job(2, { windows: LATER }),
  job(3, { windows: LATER }),
  job(4, { windows: [], deletedMs: NOON, discard: true }),
];
const OPT_OUTS = { optOuts: [{ scriptName: "shop", windows: LATER }], optOutVersion: 3 };
const NOTED = { jobs: [1, 2, 4, 5], off: ["shop", "till"], kept: [] };

describe("what was in force when a message was taken in", () => {
  const before = snapshot("epoch.1", JOBS, OPT_OUTS);
  const copy = structuredClone(before);
  const terms = new InForce(NOTED, NOON, () => true);
  const adjusted = terms.snapshotOf(before);

  it("is in force again for it alone, where windows were forgotten; jobs that were discarded, or enabled later, stay out", () => {
    expect(adjusted.jobs.map((each) => wasIn(each, NOON))).toEqual([true, true, false, false]);
    expect(adjusted.jobs.map((each) => wasIn(each, NOON + 1))).toEqual([true, false, false, false]);
    const isOff = optedOut(adjusted.optOuts);
    expect([isOff("shop", NOON), isOff("till", NOON), isOff("other", NOON)]).toEqual([true, true, false]);
    expect([isOff("shop", NOON + 1), isOff("shop", NOON + 1_000), isOff("till", NOON + 1)]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it("changes nothing of what others see, and no log is told of it", () => {
    expect(before).toEqual(copy);
    expect(adjusted.jobs.map((each) => terms.original(each))).toEqual(JOBS);
    const stale = terms.jobOf(job(2, { version: 9, windows: LATER })) as (typeof JOBS)[0];
    expect([wasIn(stale, NOON), terms.original(stale).windows]).toEqual([true, LATER]);
  });

  it("says which of its jobs are gone", () => {
    expect(terms.gone(before, new Set([1, 2]))).toEqual([4, 5]);
    expect(terms.gone(before, new Set([1]))).toEqual([4, 5]);
  });

  it("is what is known by now, where nothing was noted", () => {
    const unknown = new InForce(null, NOON, () => true);
    expect(unknown.snapshotOf(before)).toEqual(before);
    expect(unknown.gone(before, new Set())).toEqual([]);
  });

  it("says nothing of jobs that were deleted so long ago that their logs may have gone: they are gone", () => {
    const hours = (count: number): number => count * 3_600_000;
    const jobs = [359, 358].map((ago, i) => job(i + 1, { deletedMs: NOON + hours(400 - ago) }));
    const late = new InForce(NOTED, NOON, (each) => getsAgain(each, NOON + hours(400)));
    const there = snapshot("epoch.1", jobs, OPT_OUTS);
    expect(late.snapshotOf(there).jobs.map(({ id }) => id)).toEqual([2]);
    expect(late.gone(there, new Set([2]))).toEqual([1, 4, 5]);
  });

  it("is never read out of what is no configuration", () => {
    expect(() => terms.snapshotOf({ jobs: [] })).toThrow("not a configuration");
    expect(terms.jobOf({ id: 2 })).toEqual({ id: 2 });
  });
});
