import { describe, expect, it, vi } from "vitest";
import { JobReader, TraceLog } from "../../../src/index.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock } from "../../support/runtime/pipeline.ts";

interface Draining {
  id: number;
  deleted_at: string;
  pending: number | null;
  error_message: string | null;
}

const draining = async (): Promise<Draining[]> => {
  const answer = await api<{ draining: Draining[] }>("GET", "/logship/ledger");
  expect(answer.status).toBe(200);
  return answer.body.result.draining;
};

/** Deleted jobs with waiting records. */
async function deletedJobs(n: number): Promise<number[]> {
  const clock = setClock(NOON);
  const ids: number[] = [];
  for (let i = 0; i < n; i++) ids.push(await createJob(freshBucket().name));
  await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
  for (const id of ids) await api("DELETE", `/logship/jobs/${id}`);
  return ids;
}

describe("the account's ledger", () => {
  it.each([
    [
      "fails",
      () => {
        throw new Error("out of reach");
      },
    ],
    ["does not answer", () => new Promise<never>(() => {})],
  ])("is shown though the log of a deleted job %s, which says so", async (_how, silence) => {
    const [silent, other] = await deletedJobs(2);
    const status = JobReader.prototype.status;
    vi.spyOn(JobReader.prototype, "status").mockImplementation(function (this: JobReader, ...args) {
      const own = status.apply(this, args);
      return this.ctx.id.name === `job ${silent} log 0` ? (silence() as never) : own;
    });
    const deleted_at = expect.stringMatching(/^2100-11-20T12:00:0/);
    expect(await draining()).toEqual([
      { id: silent, deleted_at, pending: null, error_message: "the job's log does not answer" },
      { id: other, deleted_at, pending: 5, error_message: null },
    ]);
  });
});

describe("a list of jobs", () => {
  it("asks the ledger once, however many there are", async () => {
    setClock(NOON);
    for (let i = 0; i < 5; i++) await createJob(freshBucket().name);
    const asked = [vi.spyOn(TraceLog.prototype, "oldestUnfinishedMs"), vi.spyOn(JobReader.prototype, "status")];
    expect((await api<unknown[]>("GET", "/logship/jobs")).body.result).toHaveLength(5);
    expect(asked.map((spy) => spy.mock.calls.length)).toEqual([1, 5]);
  });
});

describe("a job's ledger", () => {
  it.each([
    [
      "fails",
      () => {
        throw new Error("out of reach");
      },
    ],
    ["hangs", () => new Promise<never>(() => {})],
  ])("is 503, and in time, while its log %s", async (_how, silence) => {
    const id = await createJob(freshBucket().name);
    vi.spyOn(JobReader.prototype, "status").mockImplementation(silence as never);
    const answer = await api("GET", `/logship/jobs/${id}/ledger`);
    expect([answer.status, answer.body.errors]).toEqual([
      503,
      [{ code: 1053, message: "the job's log does not answer" }],
    ]);
  });
});
