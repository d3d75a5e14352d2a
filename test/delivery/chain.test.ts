import { describe, expect, it } from "vitest";
import { appendToChain } from "../../src/delivery/append-to-chain.ts";
import type { JobReader } from "../../src/delivery/job-reader.ts";
import { jobStatus } from "../../src/delivery/job-status.ts";
import type { JobStatus } from "../../src/delivery/types.ts";
import type { Append, AppendResult } from "../../src/object/append.ts";
import { id, job } from "../pipeline/scripted.ts";
import { NOON } from "../record/samples.ts";

const MESSAGES = [1, 2, 3].map((n) => ({
  id: id(n),
  takenInMs: NOON,
  keyed: false,
  received: 1,
  filtered: 0,
  sampledOut: 0,
}));

const CANDIDATES = MESSAGES.map((message) => ({ ...message, isSuspect: false }));

/** Logs that answer appends as the script says, and repeat its last answer. */
function logs(script: AppendResult[]): { namespace: DurableObjectNamespace<JobReader>; calls: string[] } {
  const calls: string[] = [];
  const getByName = (name: string) => ({
    async append({ messages }: Append): Promise<AppendResult> {
      calls.push(`${name}: ${messages.length}`);
      const [answer] = script.length > 1 ? script.splice(0, 1) : script;
      return answer ?? { kind: "taken" };
    },
    configure: async () => ({ sealed: false, version: 1 }),
  });
  return { namespace: { getByName } as unknown as DurableObjectNamespace<JobReader>, calls };
}

const build = (without: ReadonlySet<string>): Append => ({
  version: 1,
  messages: MESSAGES.filter((message) => !without.has(message.id)),
  fragments: [],
  queueDoneMs: 0,
});

describe("an append", () => {
  it.for<[string, AppendResult]>([
    ["that it is behind, however often it is configured", { kind: "behind" }],
    ["of every segment that it is full", { kind: "full", ids: [] }],
    ["that it knows messages, and not which", { kind: "known", ids: [] }],
    ["that it knows messages that it was not asked about", { kind: "known", ids: ["another"] }],
  ])("is given up where the log says %s", async ([_what, answer]) => {
    const { namespace, calls } = logs([answer]);
    await expect(appendToChain(namespace, job(1), build, CANDIDATES)).rejects.toThrow("no answer that leads on");
    expect(calls.length).toBeLessThan(1_010);
  });

  it("of nothing asks no log", async () => {
    const { namespace, calls } = logs([{ kind: "taken" }]);
    const nothing = (): Append => ({ ...build(new Set()), messages: [] });
    expect(await appendToChain(namespace, job(1), nothing, [])).toEqual({ kind: "taken" });
    expect(calls).toEqual([]);
  });

  it("goes on as long as each answer leads on, over as many segments as there are", async () => {
    const full = (...ids: string[]): AppendResult => ({ kind: "full", ids });
    const { namespace, calls } = logs([
      { kind: "behind" },
      full(id(1)),
      ...Array.from({ length: 20 }, () => [{ kind: "behind" } as const, full()]).flat(),
      { kind: "known", ids: [id(2)] },
      { kind: "taken" },
    ]);
    expect(await appendToChain(namespace, job(1), build, CANDIDATES)).toEqual({ kind: "taken" });
    expect(calls.slice(0, 3)).toEqual(["job 1 segment 0: 3", "job 1 segment 0: 3", "job 1 segment 1: 2"]);
    expect(calls.slice(-2)).toEqual(["job 1 segment 21: 2", "job 1 segment 21: 1"]);
  });
});

describe("the status of a log", () => {
  /** A segment whose numbers are all this one, or follow from it. */
  const segment = (n: number, fields: Partial<JobStatus> = {}): JobStatus => ({
    counts: {
      ...{ received: n, filtered: 2 * n, sampled_out: 3 * n, delivered: 4 * n },
      ...{ pending: 0, set_aside: 5 * n, discarded: 6 * n },
    },
    ...{ pendingObjects: n, oldestPendingTakenMs: NOON + n, deliveredRawBytes: n, deliveredBytes: n },
    ...{ lastCompleteMs: NOON + n, lastErrorMs: NOON + n, errorMessage: `error ${n}`, lastReceivedMs: NOON + n },
    ...{ failingSinceMs: NOON + n, parked: false, storedBytes: n, segments: 1, openBytes: n },
    ...{ oldestHeldTakenMs: null, wholeCompleteMs: null, lastDay: { objects: n, bytes: 2 * n }, manifests: null },
    setAside: { objects: 0, records: 0, oldestMs: null },
    canary: { state: "ok", sinceMs: n, lastOkMs: null, why: null },
    replayed: { objects: n, records: 2 * n, bytes: 3 * n },
    resentInDoubt: n,
    sealed: true,
    ...fields,
  });

  const statusOf = (...segments: (JobStatus | null)[]): Promise<JobStatus | null> => {
    const getByName = (name: string) => ({ status: async () => segments[Number(name.split(" ").at(-1))] });
    return jobStatus({ getByName } as unknown as DurableObjectNamespace<JobReader>, 1);
  };

  it("is that of all its segments", async () => {
    const setAside = (n: number) => ({ objects: n, records: 2 * n, oldestMs: NOON + n });
    const first = segment(1, { setAside: setAside(1), canary: null });
    const last = segment(20, { setAside: setAside(20), parked: true, sealed: false });
    expect(await statusOf(first, last)).toEqual({
      ...segment(21, { setAside: { objects: 21, records: 42, oldestMs: NOON + 1 } }),
      ...{ oldestPendingTakenMs: NOON + 1, lastCompleteMs: NOON + 1, failingSinceMs: NOON + 1 },
      ...{ lastErrorMs: NOON + 20, errorMessage: "error 20", lastReceivedMs: NOON + 20 },
      ...{ parked: true, segments: 2, canary: last.canary, sealed: false },
    });
  });

  it("names the latest error, the oldest of what waits, and what is complete, whichever segment has it", async () => {
    const nothing = { oldestPendingTakenMs: null, failingSinceMs: null, lastErrorMs: null, errorMessage: null };
    const quiet = segment(20, { ...nothing, canary: null, lastReceivedMs: null, lastCompleteMs: null });
    const said = { oldestPendingTakenMs: NOON + 1, failingSinceMs: NOON + 1, lastErrorMs: NOON + 1 };
    const expected = { ...said, errorMessage: "error 1", lastReceivedMs: NOON + 1, lastCompleteMs: NOON + 1 };
    expect(await statusOf(segment(1), { ...quiet, sealed: false })).toMatchObject(expected);
    expect(await statusOf(quiet, segment(1, { sealed: false }))).toMatchObject(expected);
    expect(await statusOf(segment(1), segment(20, { sealed: false }))).toMatchObject({ lastCompleteMs: NOON + 20 });
  });

  it("ends with the first segment that is not sealed, or is not there", async () => {
    expect(await statusOf(segment(1, { sealed: false }), segment(2))).toMatchObject({ segments: 1 });
    expect(await statusOf(segment(1), null)).toMatchObject({ segments: 1, sealed: true });
    expect(await statusOf(null)).toBeNull();
  });
});
