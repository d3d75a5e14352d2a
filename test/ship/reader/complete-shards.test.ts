/** `last_complete` of a log of several shards, which answer one after another. */
import { describe, expect, it } from "vitest";
import type { ShardStatus } from "../../../src/ship/log/shard-answers.ts";
import { jobStatus } from "../../../src/ship/reader/job-status.ts";

const JOB = 1;

/**
 * Two shards that answer as they are told; no reader has been created yet but the first, which
 * claims.
 */
function log(status: (shard: number, jobs: readonly number[]) => ShardStatus, unnotedMs: number | null = null) {
  const claimed: number[] = [];
  const env = {
    CONTROL: { getByName: () => ({ standing: async () => ({ shards: [0, 1], unnotedMs }) }) },
    TRACE_LOG: {
      getByName: (name: string) => ({
        status: async (jobs: readonly number[]) => status(Number(name.slice("log ".length)), jobs),
      }),
    },
    READERS: {
      getByName: () => ({
        status: async () => null,
        claimComplete: async (ms: number) => {
          claimed.push(ms);
          return ms;
        },
      }),
    },
  } as unknown as Env;
  return { env, claimed };
}

const ALL_READ = { received: 0, unread: null, isDiscarded: false, isOnHold: false, hasPast: false, lost: null };

it.each([
  [null, [2_000]],
  [1_500, [1_500]],
  [0, []],
])("what no shard knows of is not passed: %j", async (unnotedMs, expected) => {
  const { env, claimed } = log(
    () => ({ jobs: { [JOB]: ALL_READ }, queueDoneMs: 2_000, oldestUnfinishedMs: null }),
    unnotedMs,
  );
  await jobStatus(env, JOB, { claims: true });
  expect(claimed).toEqual(expected);
});

describe("a claim of one shard", () => {
  it("does not count for what another shard got after it had answered", async () => {
    let isAnswered = false;
    const { env, claimed } = log((shard, jobs): ShardStatus => {
      // What waited in the queue comes to the first shard, and the second one is told that all is
      // done.
      const queueDoneMs = shard === 1 && isAnswered ? 2_000 : 1_000;
      if (shard === 0 && jobs.includes(JOB)) isAnswered = true;
      return { jobs: Object.fromEntries(jobs.map((job) => [job, ALL_READ])), queueDoneMs, oldestUnfinishedMs: null };
    });
    await jobStatus(env, JOB, { claims: true });
    expect(isAnswered).toBe(true);
    expect(claimed).toEqual([1_000]);
  });
});
