/** Jobs with equal rules share what is made of a message; what differs stays theirs. */
import { describe, expect, it } from "vitest";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { consumeEvents } from "../../../src/ship/consumer/consume.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import type { JobShare, Prepared } from "../../../src/ship/log/append-types.ts";
import { NOON } from "../../formats/record/samples.ts";
import { deliver, job, linesOf, one, outcomes, world } from "./scripted.ts";

const BODIES = [one(1), one(2, { takenInMs: NOON + 10 }), one(3, { takenInMs: NOON + 20 })];
const ALL = ["event 1", "event 2", "event 3"];

async function prepared(jobs: JobConfig[]): Promise<Prepared[]> {
  const it = world(jobs);
  const delivered = deliver(BODIES);
  await consumeEvents(delivered.batch, it);
  expect(delivered.fates()).toEqual(["ack", "ack", "ack"]);
  return it.appends[0]?.append.prepared ?? [];
}

const FILTER = JSON.stringify({ where: { key: "Outcome", operator: "contains", value: "event" } });
const NONE = { received: 3, filtered: 0, sampledOut: 0 };
const ids = ({ jobs }: { jobs: JobShare[] }): number[] => jobs.map(({ id }) => id);

describe("jobs with equal rules", () => {
  it("get what is made once, each by its own version", async () => {
    const made = await prepared([
      job(1),
      job(2, { version: 7, destination: "elsewhere", path: "more/{DATE}", floor: 1 }),
      job(3, { filter: "" }),
    ]);
    expect(made.map(({ jobs }) => jobs)).toEqual([
      [
        { id: 1, stamp: "1.mark", ...NONE },
        { id: 2, stamp: "7.mark", ...NONE },
        { id: 3, stamp: "1.mark", ...NONE },
      ],
    ]);
    expect(made.map((group) => outcomes(linesOf(group)))).toEqual([ALL]);
  });

  it.each<[string, Partial<JobConfig>]>([
    ["filters", { filter: FILTER }],
    ["samples", { sampleRate: 0.999_999 }],
    ["writes otherwise", { output: { ...NDJSON, recordDelimiter: " " } }],
    ["tells hours apart", { path: "{DATE}/{HOUR}" }],
    ["tells scripts apart", { path: "{DATE}/{SCRIPT}" }],
    ["has no sketches", { sketches: false }],
  ])("do not share with one that %s", async (_what, fields) => {
    const made = await prepared([job(1), job(2, fields), job(3)]);
    expect(made.map(ids)).toEqual([[1, 3], [2]]);
  });

  it("that sample share with no other, as each has a sample of its own", async () => {
    const made = await prepared([job(1, { sampleRate: 0.5 }), job(2, { sampleRate: 0.5 })]);
    expect(made.map(ids)).toEqual([[1], [2]]);
  });

  it("share with those that were enabled for the same messages", async () => {
    const later = { windows: [{ fromMs: NOON + 5, untilMs: null }] };
    const made = await prepared([job(1), job(2, later), job(3), job(4, later)]);
    expect(made.map((group) => [ids(group), outcomes(linesOf(group))])).toEqual([
      [[1, 3], ALL],
      [[2, 4], ALL.slice(1)],
    ]);
  });

  it("get each what its own rules say", async () => {
    const none = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "event 2" } });
    const made = await prepared([job(1), job(2, { version: 2, filter: none }), job(3)]);
    expect(made[1]).toMatchObject({ jobs: [{ id: 2, stamp: "2.mark", filtered: 2 }] });
    expect(made.map((group) => outcomes(linesOf(group)))).toEqual([ALL, ["event 2"]]);
  });
});
