import { describe, expect, it, vi } from "vitest";
import { JobReader, TraceLog } from "../../../src/index.ts";
import { impatiently } from "../../faults/impatience.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { breakable } from "../../support/runtime/breakage.ts";
import { deliver, freshBucket, NOON, pack, setClock } from "../../support/runtime/pipeline.ts";
import { call } from "./harness.ts";

interface Draining {
  id: number;
  deleted_at: string;
  pending: number | null;
  error_message: string | null;
}

const draining = async (): Promise<Draining[]> => {
  const answer = await call<{ draining: Draining[] }>("GET", "/logship/ledger");
  expect(answer.status).toBe(200);
  return answer.body.result.draining;
};

/** Deleted jobs with waiting records. */
async function deletedJobs(n: number): Promise<number[]> {
  const clock = setClock(NOON);
  const ids: number[] = [];
  for (let i = 0; i < n; i++) ids.push(await createJob(freshBucket().name));
  await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
  for (const id of ids) await call("DELETE", `/logship/jobs/${id}`);
  return ids;
}

/** What the log of a job does instead of answering. */
const SILENCE = ["refused", "hangs"] as const;

describe("the account's ledger", () => {
  it.each(SILENCE)("is shown though the log of a deleted job does not answer, which says so: %s", async (breakage) => {
    const [silent, other] = await deletedJobs(2);
    const { stuck } = breakable(JobReader.prototype, "status", (log) => {
      const { ctx } = log as unknown as { ctx: DurableObjectState };
      return ctx.id.name === `job ${silent} log 0` ? breakage : null;
    });
    const deleted_at = expect.stringMatching(/^2100-11-20T12:00:0/);
    expect(await impatiently(stuck, draining)).toEqual([
      { id: silent, deleted_at, pending: null, error_message: "the job's log does not answer" },
      { id: other, deleted_at, pending: 5, error_message: null },
    ]);
  });
});

it("a list of jobs asks the ledger once, however many there are", async () => {
  setClock(NOON);
  for (let i = 0; i < 5; i++) await createJob(freshBucket().name);
  const asked = [vi.spyOn(TraceLog.prototype, "oldestUnfinishedMs"), vi.spyOn(JobReader.prototype, "status")];
  expect((await call<unknown[]>("GET", "/logship/jobs")).body.result).toHaveLength(5);
  expect(asked.map((spy) => spy.mock.calls.length)).toEqual([1, 5]);
});

it.each(SILENCE)("a job's ledger is 503, and in time, while its log does not answer: %s", async (breakage) => {
  const id = await createJob(freshBucket().name);
  const { stuck } = breakable(JobReader.prototype, "status", () => breakage);
  const answer = await impatiently(stuck, () => call("GET", `/logship/jobs/${id}/ledger`));
  expect([answer.status, answer.body.errors]).toEqual([
    503,
    [{ code: 1053, message: "the job's log does not answer" }],
  ]);
});
