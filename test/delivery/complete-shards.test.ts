/** `last_complete` of a log of several shards, which answer one after another. */
import { describe, expect, it } from "vitest";
import { jobStatus } from "../../src/delivery/job-status.ts";
import type { ShardStatus } from "../../src/trace-log/trace-log.ts";

const JOB = 1;

/** Two shards that answer as they are told; no reader has been created yet but the first, which claims. */
function log(status: (shard: number, jobs: readonly number[]) => ShardStatus) {
  const claimed: number[] = [];
  const env = {
    CONTROL: { getByName: () => ({ shards: async () => [0, 1] }) },
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

describe("a claim of one shard", () => {
  it("does not count for what another shard got after it had answered", async () => {
    let isAnswered = false;
    const { env, claimed } = log((shard, jobs): ShardStatus => {
      // What waited in the queue comes to the first shard, and the second one is told that all is done.
      const queueDoneMs = shard === 1 && isAnswered ? 2_000 : 1_000;
      if (shard === 0 && jobs.includes(JOB)) isAnswered = true;
      const of = { received: 0, unread: null, isDiscarded: false, isOnHold: false };
      return { jobs: Object.fromEntries(jobs.map((job) => [job, of])), queueDoneMs, oldestUnfinishedMs: null };
    });
    await jobStatus(env, JOB, { claims: true });
    expect(isAnswered).toBe(true);
    expect(claimed).toEqual([1_000]);
  });
});
