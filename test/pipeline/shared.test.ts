/** Jobs with equal rules share what is made of a message; what differs stays theirs. */
import { describe, expect, it } from "vitest";
import type { JobConfig } from "../../src/job/config.ts";
import type { Append } from "../../src/object/append.ts";
import { NDJSON } from "../../src/output/format.ts";
import { consumeEvents } from "../../src/pipeline/consume.ts";
import { NOON } from "../record/samples.ts";
import { deliver, id, job, linesOf, one, outcomes, type Step, shipped, type World, world } from "./scripted.ts";

const BODIES = [one(1), one(2, { takenInMs: NOON + 10 }), one(3, { takenInMs: NOON + 20 })];
const ALL = ["event 1", "event 2", "event 3"];

async function consumed(jobs: JobConfig[], fields: Partial<World> = {}): Promise<World> {
  const it = Object.assign(world(jobs), fields);
  const delivered = deliver(BODIES);
  await consumeEvents(delivered.batch, it);
  expect(delivered.fates()).toEqual(["ack", "ack", "ack"]);
  return it;
}

const appendOf = ({ commits }: World, to: number): Append => {
  const append = commits.find(({ job: each }) => each === to)?.append;
  if (append === undefined) throw new Error(`nothing was committed to job ${to}`);
  return append;
};

const FILTER = JSON.stringify({ where: { key: "Outcome", operator: "contains", value: "event" } });

describe("jobs with equal rules", () => {
  it("get the same fragments, made once, each with its own version", async () => {
    const it = await consumed([
      job(1),
      job(2, { version: 7, destination: "elsewhere", path: "more/{DATE}", limits: job(2).limits, floor: 3 }),
      job(3, { filter: "" }),
    ]);
    const [first, second, third] = [1, 2, 3].map((to) => appendOf(it, to)) as [Append, Append, Append];
    expect(second.fragments[0]).toBe(first.fragments[0]);
    expect(third.fragments[0]).toBe(first.fragments[0]);
    expect([first.version, second.version]).toEqual([1, 7]);
    expect(shipped(it)).toEqual([1, 2, 3].map((to) => [to, ALL]));
  });

  it.each<[string, Partial<JobConfig>]>([
    ["filters", { filter: FILTER }],
    ["samples", { sampleRate: 0.999_999 }],
    ["writes otherwise", { output: { ...NDJSON, recordDelimiter: " " } }],
    ["tells hours apart", { path: "{DATE}/{HOUR}", floor: 3 }],
    ["tells scripts apart", { path: "{DATE}/{SCRIPT}", floor: 3 }],
    ["has no sketches", { sketches: false }],
  ])("do not share with one that %s", async (_what, fields) => {
    const it = await consumed([job(1), job(2, fields), job(3)]);
    expect(appendOf(it, 2).fragments[0]).not.toBe(appendOf(it, 1).fragments[0]);
    expect(appendOf(it, 3).fragments[0]).toBe(appendOf(it, 1).fragments[0]);
  });

  it("get each what was taken in while it was enabled", async () => {
    const it = await consumed([
      job(1),
      job(2, { windows: [{ fromMs: NOON + 5, untilMs: null }] }),
      job(3),
      job(4, { windows: [{ fromMs: NOON + 5, untilMs: null }] }),
    ]);
    expect(new Map(shipped(it))).toEqual(
      new Map([
        [1, ALL],
        [2, ALL.slice(1)],
        [3, ALL],
        [4, ALL.slice(1)],
      ]),
    );
    expect(appendOf(it, 4).fragments[0]).toBe(appendOf(it, 2).fragments[0]);
    expect(appendOf(it, 3).fragments[0]).toBe(appendOf(it, 1).fragments[0]);
  });

  it("get each what its log does not have yet", async () => {
    const knows = (...numbers: number[]): Step => ({ known: numbers.map(id) });
    const it = await consumed([job(1), job(2), job(3), job(4)], {
      script: { 2: [knows(1)], 3: [knows(3)], 4: [knows(1)] },
    });
    expect(new Map(shipped(it))).toEqual(
      new Map([
        [1, ALL],
        [2, ALL.slice(1)],
        [3, ALL.slice(0, 2)],
        [4, ALL.slice(1)],
      ]),
    );
    expect(appendOf(it, 2).messages.map((message) => message.id)).toEqual([id(2), id(3)]);
  });

  it("get each what its own newest rules say", async () => {
    const none = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "event 2" } });
    const it = await consumed([job(1), job(2), job(3)], {
      script: { 2: [{ stale: job(2, { version: 2, filter: none }) }] },
    });
    expect(new Map(shipped(it))).toEqual(
      new Map([
        [1, ALL],
        [2, ["event 2"]],
        [3, ALL],
      ]),
    );
    expect(appendOf(it, 2)).toMatchObject({
      version: 2,
      messages: [{ filtered: 1 }, { filtered: 0 }, { filtered: 1 }],
    });
    expect(outcomes(linesOf(appendOf(it, 3)))).toEqual(ALL);
  });
});
