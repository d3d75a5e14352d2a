import { createExecutionContext, getQueueResult } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { JobConfig } from "../../src/job/config.ts";
import { APPEND_MAX_RAW_BYTES } from "../../src/limits.ts";
import { NDJSON } from "../../src/output/format.ts";
import { consumeEvents } from "../../src/pipeline/consume.ts";
import { retryDelayS } from "../../src/queue/delivery.ts";
import { NOON } from "../record/samples.ts";
import { deliver, id, job, linesOf, NEWER_STATE, one, outcomes, record, STATE, shipped, world } from "./scripted.ts";

let errors: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(() => {
  vi.useRealTimers();
});

describe("a batch of the queue", () => {
  it("is committed to every job, then counted, and only then acknowledged", async () => {
    const log: string[] = [];
    const it_ = world([job(1), job(2)], log);
    const { batch, fates } = deliver([one(1), one(2)], { log });
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack", "ack"]);
    expect(shipped(it_)).toEqual([
      [1, ["event 1", "event 2"]],
      [2, ["event 1", "event 2"]],
    ]);
    expect(log.slice(0, 2).sort()).toEqual(["commit 1", "commit 2"]);
    expect(log.slice(2)).toEqual(["count", "ack m0", "ack m1"]);
    expect(errors).not.toHaveBeenCalled();
  });

  it("is not acknowledged while one job has not committed", async () => {
    const it_ = world([job(1), job(2)]);
    const held = Promise.withResolvers<{ kind: "taken" }>();
    const append = it_.append.bind(it_);
    it_.append = (offered, build, messages) => (offered.id === 2 ? held.promise : append(offered, build, messages));
    const { batch, fates } = deliver([one(1)]);
    const done = consumeEvents(batch, it_);
    // Enough turns for anything that does not wait for job 2.
    for (let turn = 0; turn < 1_000; turn++) await Promise.resolve();
    expect(shipped(it_)).toEqual([[1, ["event 1"]]]);
    expect([fates(), it_.counts]).toEqual([[undefined], []]);
    held.resolve({ kind: "taken" });
    await done;
    expect(fates()).toEqual(["ack"]);
  });

  it("is acknowledged as the platform sees it, too", async () => {
    const { batch } = deliver([one(1), "not ours", one(3)]);
    vi.restoreAllMocks();
    vi.spyOn(console, "error").mockImplementation(() => {});
    const it_ = world([job(1)]);
    it_.asideFails = () => true;
    await consumeEvents(batch, it_);
    const result = await getQueueResult(batch, createExecutionContext());
    expect(result.explicitAcks).toEqual(["m0", "m2"]);
    expect(result.retryMessages.map(({ msgId }) => msgId)).toEqual(["m1"]);
    expect(result.ackAll).toBe(false);
  });

  it("of nothing asks nothing of anyone", async () => {
    const it_ = world([job(1)]);
    await consumeEvents(deliver([]).batch, it_);
    expect([it_.offers, it_.counts, it_.aside]).toEqual([0, [], []]);
  });

  it("says of each append who its messages are, and what the queue says of itself", async () => {
    const it_ = world([job(1, { version: 7 })]);
    const records = [record("a"), record("b")];
    await consumeEvents(deliver([one(1, { records, takenInMs: NOON + 5, keyed: true }), one(2)]).batch, it_);
    expect(it_.commits[0]?.append).toMatchObject({
      version: 7,
      messages: [
        { id: id(1), takenInMs: NOON + 5, keyed: true, received: 2, filtered: 0, sampledOut: 0 },
        { id: id(2), takenInMs: NOON, keyed: false, received: 1, filtered: 0, sampledOut: 0 },
      ],
    });
  });

  it("is counted by message: events, routed or not, under the ids that dedupe", async () => {
    const it_ = world([job(1)]);
    const early = { takenInMs: NOON - 60_000, keyed: true };
    const went = (invocations: number) => ({
      ...{ outcomes: expect.any(Array), failed: invocations, serverErrors: 0, errors: expect.any(Array) },
      ...{ wall: [expect.any(Number), invocations], cpu: [expect.any(Number), invocations] },
    });
    await consumeEvents(deliver([one(1, { records: [record("a"), record("b")] }), one(2, early)]).batch, it_);
    expect(it_.counts.map(({ done }) => done)).toEqual([
      [
        {
          ...{ id: id(1), takenInMs: NOON, keyed: false, events: 2, routed: 2, notEnabled: 0, notRouted: 0 },
          functions: [
            { scriptName: "shop", routed: 2, notEnabled: 0, notRouted: 0, lastEventMs: NOON, health: went(2) },
          ],
          bytes: expect.any(Number),
        },
        {
          ...{ id: id(2), ...early, events: 1, routed: 0, notEnabled: 0, notRouted: 1 },
          functions: [
            { scriptName: "shop", routed: 0, notEnabled: 0, notRouted: 1, lastEventMs: NOON, health: went(1) },
          ],
          bytes: expect.any(Number),
        },
      ],
    ]);
  });

  it("tells the ledger how many messages wait behind it, where the queue says so", async () => {
    const it_ = world([job(1)]);
    await consumeEvents(
      withMetrics([one(1)], { backlogCount: 42, backlogBytes: 1, oldestMessageTimestamp: new Date(NOON) }),
      it_,
    );
    expect(it_.counts[0]?.backlog).toBe(42);
  });

  it("goes into appends of a bounded size, each message whole in one of them", async () => {
    const line = (n: number) => record(`${n}`.padEnd(400_000, "x"));
    const bodies = Array.from({ length: 25 }, (_, i) => one(i, { records: [line(i)] }));
    const it_ = world([job(1)]);
    const { batch, fates } = deliver(bodies);
    await consumeEvents(batch, it_);
    const sizes = it_.commits.map(({ append }) => linesOf(append).reduce((sum, text) => sum + text.length, 0));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(APPEND_MAX_RAW_BYTES);
    expect(it_.commits.map(({ append }) => append.messages.length)).toEqual([9, 9, 7]);
    expect(
      outcomes(it_.commits.flatMap(({ append }) => linesOf(append))).map((text) => Number.parseInt(text, 10)),
    ).toEqual([...Array(25).keys()]);
    expect(fates()).toEqual(Array(25).fill("ack"));
  });

  it("that fails in one such append is still committed in the others", async () => {
    const bodies = Array.from({ length: 25 }, (_, i) => one(i, { records: [record("x".repeat(400_000))] }));
    const it_ = world([job(1)]);
    it_.script[1] = ["take", "fail"];
    const { batch, fates } = deliver(bodies);
    await consumeEvents(batch, it_);
    const retry = `retry after ${retryDelayS(1)} s`;
    expect(fates()).toEqual([...Array(9).fill("ack"), ...Array(9).fill(retry), ...Array(7).fill("ack")]);
  });
});

describe("jobs", () => {
  const windows: [what: string, jobs: JobConfig[], expected: [number, string[]][]][] = [
    ["none at all", [], []],
    ["one that never was enabled", [job(1, { windows: [] })], []],
    ["one that is enabled, and one that is not", [job(1, { windows: [] }), job(2)], [[2, ["event 1", "event 2"]]]],
    [
      "one that was disabled between two messages",
      [job(1, { windows: [{ fromMs: NOON, untilMs: NOON + 100 }] })],
      [[1, ["event 1"]]],
    ],
    [
      "one that was enabled between them, clocks being equal",
      [job(1, { windows: [{ fromMs: NOON + 5_000, untilMs: null }] })],
      [[1, ["event 2"]]],
    ],
    [
      "one that was deleted after them, and drains",
      [job(1, { windows: [{ fromMs: NOON, untilMs: NOON + 9_000 }], deletedMs: NOON + 9_000 })],
      [[1, ["event 1", "event 2"]]],
    ],
    ["one that was deleted with what it had", [job(1, { windows: [], deletedMs: NOON + 9_000, discard: true })], []],
  ];

  it.each(windows)(
    "get what was taken in while they were enabled, and everything is acknowledged: %s",
    async (_what, jobs, expected) => {
      const it_ = world(jobs);
      const { batch, fates } = deliver([one(1), one(2, { takenInMs: NOON + 5_000 })]);
      await consumeEvents(batch, it_);
      expect(shipped(it_)).toEqual(expected);
      expect(fates()).toEqual(["ack", "ack"]);
    },
  );

  it("get what they asked for, in their own format", async () => {
    const it_ = world([
      job(1, { output: { ...NDJSON, fieldNames: ["Outcome"] } }),
      job(2, { output: { ...NDJSON, fieldNames: ["ScriptName", "Outcome"] } }),
    ]);
    await consumeEvents(deliver([one(1)]).batch, it_);
    expect(it_.commits.map(({ append }) => linesOf(append))).toEqual([
      ['{"Outcome":"event 1"}'],
      ['{"ScriptName":"shop","Outcome":"event 1"}'],
    ]);
  });

  it("whose format adds much to each record get them in several appends, one of which may fail alone", async () => {
    const text = "x".repeat(4_096);
    const it_ = world([job(1, { output: { ...NDJSON, recordPrefix: text, recordSuffix: text } }), job(2)]);
    it_.script[1] = ["take", "fail"];
    const many = (n: number) => one(n, { records: Array.from({ length: 400 }, (_, i) => record(`${n} ${i}`)) });
    const { batch, fates } = deliver([many(1), many(2), many(3), many(4), many(5)]);
    await consumeEvents(batch, it_);
    expect(it_.commits.map(({ job: to, append }) => [to, append.messages.length])).toEqual([
      [1, 2],
      [1, 1],
      [2, 5],
    ]);
    const again = `retry after ${retryDelayS(1)} s`;
    expect(fates()).toEqual(["ack", "ack", again, again, "ack"]);
  });

  it("whose filter this version cannot read get nothing for now, and nobody else waits for it", async () => {
    const it_ = world([
      job(1, { filter: '{"where":{"key":"Outcome","operator":"from the future","value":1}}' }),
      job(2),
    ]);
    const { batch, fates } = deliver([one(1)]);
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([[2, ["event 1"]]]);
    expect(fates()).toEqual([`retry after ${retryDelayS(1)} s`]);
  });

  it("do not suffer from another that fails: it alone is tried again", async () => {
    const it_ = world([job(1), job(2), job(3)]);
    it_.script[2] = ["fail"];
    const { batch, fates } = deliver([one(1), one(2)], { attempts: 3 });
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([
      [1, ["event 1", "event 2"]],
      [3, ["event 1", "event 2"]],
    ]);
    const again = `retry after ${retryDelayS(3)} s`;
    expect(fates()).toEqual([again, again]);
    // They will be counted once; until then they are noted.
    const failed = [id(1), id(2)].map((each) => ({ id: each, takenInMs: NOON, keyed: false }));
    const work = { batches: 1, appends: 2, offered: 4 };
    expect(it_.counts).toEqual([{ done: [], failed, backlog: 0, backlogBytes: 0, work, state: STATE }]);
    expect(errors).toHaveBeenCalled();
  });

  it("that fail hold up only the messages they wanted", async () => {
    const it_ = world([job(1), job(2, { windows: [{ fromMs: NOON + 5_000, untilMs: null }] })]);
    it_.script[2] = ["fail"];
    const { batch, fates } = deliver([one(1), one(2, { takenInMs: NOON + 5_000 })]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack", `retry after ${retryDelayS(1)} s`]);
    expect(it_.counts.map(({ done, failed }) => [done.map((each) => each.id), failed.map((each) => each.id)])).toEqual([
      [[id(1)], [id(2)]],
    ]);
  });

  it.each([1, 2, 5, 8, 9, 40, 41, 99])(
    "that fail are tried again after a delay that grows: delivery %i",
    async (attempts) => {
      const it_ = world([job(1)]);
      it_.script[1] = ["fail"];
      const { batch, fates } = deliver([one(1)], { attempts });
      await consumeEvents(batch, it_);
      expect(fates()).toEqual([`retry after ${retryDelayS(attempts)} s`]);
    },
  );

  it("that have some of the messages get the rest", async () => {
    const it_ = world([job(1)]);
    it_.script[1] = [{ known: [id(1), id(3)] }];
    const { batch, fates } = deliver([one(1), one(2), one(3)]);
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([[1, ["event 2"]]]);
    expect(fates()).toEqual(["ack", "ack", "ack"]);
  });

  it("are asked first for the messages that came before: those may be in already", async () => {
    const it_ = world([job(1), job(2, { windows: [] })]);
    const { batch } = deliver([one(1), one(2)], { attempts: 2 });
    await consumeEvents(batch, it_);
    await consumeEvents(deliver([one(3)]).batch, it_);
    expect(it_.suspected).toEqual([[id(1), id(2)], []]);
  });

  it("are not waited for for ever: a log that hangs is one that failed", async () => {
    vi.useFakeTimers();
    const it_ = world([job(1), job(2)]);
    const append = it_.append.bind(it_);
    it_.append = (offered, build, messages) =>
      offered.id === 1 ? new Promise(() => {}) : append(offered, build, messages);
    const { batch, fates } = deliver([one(1)]);
    const done = consumeEvents(batch, it_);
    await vi.advanceTimersByTimeAsync(1_999);
    expect(fates()).toEqual([undefined]);
    await vi.advanceTimersByTimeAsync(1);
    await done;
    expect([fates(), shipped(it_)]).toEqual([[`retry after ${retryDelayS(1)} s`], [[2, ["event 1"]]]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("that have changed meanwhile get what they want now", async () => {
    const it_ = world([job(1)]);
    const now = job(1, {
      version: 2,
      output: { ...NDJSON, fieldNames: ["Outcome"] },
      windows: [{ fromMs: NOON, untilMs: NOON + 100 }],
    });
    it_.script[1] = [{ stale: now }];
    const { batch, fates } = deliver([one(1), one(2, { takenInMs: NOON + 5_000 })]);
    await consumeEvents(batch, it_);
    expect(
      it_.commits.map(({ append }) => [append.version, append.messages.map((message) => message.id), linesOf(append)]),
    ).toEqual([[2, [id(1)], ['{"Outcome":"event 1"}']]]);
    expect(fates()).toEqual(["ack", "ack"]);
  });

  it("that changed twice meanwhile are followed", async () => {
    const it_ = world([job(1)]);
    it_.script[1] = [{ stale: job(1, { version: 2 }) }, { stale: job(1, { version: 3 }) }];
    const { batch, fates } = deliver([one(1)]);
    await consumeEvents(batch, it_);
    expect([it_.commits[0]?.append.version, fates()]).toEqual([3, ["ack"]]);
  });

  it("that change without end are left to a later delivery", async () => {
    const it_ = world([job(1), job(2)]);
    it_.script[1] = Array.from({ length: 20 }, (_, i) => ({ stale: job(1, { version: i + 2 }) }));
    const { batch, fates } = deliver([one(1)]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual([`retry after ${retryDelayS(1)} s`]);
    expect(it_.offers).toBeLessThanOrEqual(10);
    expect(shipped(it_)).toEqual([[2, ["event 1"]]]);
  });

  it("that turn out to be gone with all they had get nothing, and nothing counts as routed to them", async () => {
    const it_ = world([job(1)]);
    it_.script[1] = [{ stale: job(1, { version: 2, windows: [], deletedMs: NOON, discard: true }) }];
    const { batch, fates } = deliver([one(1)]);
    await consumeEvents(batch, it_);
    expect([it_.commits, fates()]).toEqual([[], ["ack"]]);
    expect(it_.counts[0]?.done[0]).toMatchObject({ events: 1, routed: 0, notRouted: 1 });
  });

  it("that are unknown have everything tried again, undecodable messages too: nothing is decided", async () => {
    const it_ = world(null);
    const { batch, fates } = deliver([one(1), "not ours", one(3)], { attempts: 2 });
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(Array(3).fill(`retry after ${retryDelayS(2)} s`));
    expect([it_.offers, it_.counts, it_.aside]).toEqual([0, [], []]);
  });

  it("have everything tried again when it cannot be counted; the logs will know it", async () => {
    const it_ = world([job(1)]);
    it_.countFails = true;
    const { batch, fates } = deliver([one(1), one(2)]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(Array(2).fill(`retry after ${retryDelayS(1)} s`));
    expect(it_.commits.length).toBe(1);
  });
});

describe("jobs that the ledger knows better than the control plane said", () => {
  it("get the messages as well, before anything is acknowledged", async () => {
    const log: string[] = [];
    const it_ = world([job(1)], log);
    it_.newer = [[job(1), job(2)]];
    it_.script[1] = ["take", { known: [id(1)] }];
    const { batch, fates } = deliver([one(1)], { log });
    await consumeEvents(batch, it_);
    expect(shipped(it_).filter(([, lines]) => lines.length > 0)).toEqual([
      [1, ["event 1"]],
      [2, ["event 1"]],
    ]);
    expect(fates()).toEqual(["ack"]);
    expect(it_.counts.length).toBe(1);
    expect(log.slice(-2)).toEqual(["count", "ack m0"]);
  });

  it("count as having been routed to, though there were none at first", async () => {
    const it_ = world([]);
    it_.newer = [[job(2)]];
    const { batch, fates } = deliver([one(1)]);
    await consumeEvents(batch, it_);
    expect(it_.counts.map(({ done }) => done)).toMatchObject([[{ id: id(1), routed: 1, notRouted: 0 }]]);
    expect(fates()).toEqual(["ack"]);
  });

  it("count as having been routed to, though they are gone with all they had by then", async () => {
    const it_ = world([job(1)]);
    it_.newer.push([job(1, { windows: [], discard: true, deletedMs: NOON + 9_000 })]);
    const { batch, fates } = deliver([one(1)]);
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([[1, ["event 1"]]]);
    expect(it_.counts[0]?.done).toMatchObject([{ events: 1, routed: 1, notRouted: 0 }]);
    expect(fates()).toEqual(["ack"]);
  });

  it("have the messages tried again when they fail", async () => {
    const it_ = world([job(1)]);
    it_.newer = [[job(1), job(2)]];
    it_.script[2] = ["fail"];
    const { batch, fates } = deliver([one(1)]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual([`retry after ${retryDelayS(1)} s`]);
    expect(it_.counts).toMatchObject([{ done: [], failed: [{ id: id(1) }], state: NEWER_STATE }]);
  });

  it("are followed only so far when they change without end", async () => {
    const it_ = world([job(1)]);
    it_.newer = Array.from({ length: 50 }, () => [job(1)]);
    const { batch, fates } = deliver([one(1), one(2)]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(Array(2).fill(`retry after ${retryDelayS(1)} s`));
    expect(it_.newer.length).toBeGreaterThan(40);
  });

  it("are what the rest of the batch is offered to, as well", async () => {
    const it_ = world([job(1)]);
    it_.newer = [[job(1), job(2)]];
    const bodies = Array.from({ length: 12 }, (_, i) => one(i, { records: [record(`${i}`.padEnd(400_000, "x"))] }));
    const { batch, fates } = deliver(bodies);
    // As the ledger does: each count by the older jobs is answered with the newer ones.
    const count = it_.count;
    it_.count = async (outcome) => {
      const both = outcome.done.every((message) =>
        it_.commits.some(({ job: to, append }) => to === 2 && append.messages.some((each) => each.id === message.id)),
      );
      if (!both) it_.newer = [[job(1), job(2)]];
      return count(outcome);
    };
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(Array(12).fill("ack"));
    const second = it_.commits
      .filter(({ job: to }) => to === 2)
      .flatMap(({ append }) => append.messages.map((each) => each.id));
    expect(second).toEqual(bodies.map((_, i) => id(i)));
  });
});

describe("a message that comes twice in one batch", () => {
  it("is offered once, counted once, and acknowledged both times", async () => {
    const it_ = world([job(1)]);
    const { batch, fates } = deliver([one(1), one(2), one(1)]);
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([[1, ["event 1", "event 2"]]]);
    expect(it_.counts[0]?.done.map((message) => message.id)).toEqual([id(1), id(2)]);
    expect(fates()).toEqual(["ack", "ack", "ack"]);
  });

  it("is tried again both times when a job fails", async () => {
    const it_ = world([job(1)]);
    it_.script[1] = ["fail"];
    const { batch, fates } = deliver([one(1), one(1)]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(Array(2).fill(`retry after ${retryDelayS(1)} s`));
  });

  // A repeated request has the same ids and another time of intake. What was acknowledged while the
  // job was enabled must reach it.
  it.each([
    ["then disabled", [NOON, NOON + 60_000]],
    ["then disabled, the repeat delivered first", [NOON + 60_000, NOON]],
  ])("under one key reaches a job that was enabled when either was taken in: %s", async (_what, times) => {
    const it_ = world([job(1, { windows: [{ fromMs: NOON, untilMs: NOON + 30_000 }] })]);
    const { batch, fates } = deliver(times.map((takenInMs) => one(1, { keyed: true, takenInMs })));
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([[1, ["event 1"]]]);
    expect(fates()).toEqual(["ack", "ack"]);
  });
});

describe("what an append says of the queue", () => {
  const metrics = (backlogCount: number, oldestMs: number): MessageBatchMetrics => ({
    backlogCount,
    backlogBytes: backlogCount * 10,
    oldestMessageTimestamp: new Date(oldestMs),
  });
  const taken = [NOON + 3_000, NOON + 1_000, NOON + 2_000];

  /** Messages in flight elsewhere may be older by this. */
  const IN_FLIGHT_MS = 60_000;
  const cases: [what: string, metrics: MessageBatchMetrics, doneMs: number][] = [
    ["nothing else waiting", metrics(0, 0), NOON + 1_000 - IN_FLIGHT_MS],
    ["something older waiting", metrics(3, NOON), NOON - IN_FLIGHT_MS],
    ["only younger ones waiting", metrics(3, NOON + 9_000), NOON + 1_000 - IN_FLIGHT_MS],
    ["something of unknown age waiting", metrics(3, 0), 0],
  ];

  it.each(cases)(
    "is that nothing older waits than the oldest of the batch, or of what waits: %s",
    async (_what, figures, doneMs) => {
      const it_ = world([job(1)]);
      const bodies = taken.map((takenInMs, i) => one(i, { takenInMs }));
      await consumeEvents(withMetrics(bodies, figures), it_);
      expect(it_.commits.map(({ append }) => append.queueDoneMs)).toEqual([doneMs]);
    },
  );

  it("is told to the ledger, in messages and bytes, where the queue says it", async () => {
    const it_ = world([job(1)]);
    await consumeEvents(withMetrics([one(1)], metrics(3, NOON)), it_);
    const { queue, messages, ackAll, retryAll } = withMetrics([one(2)], metrics(0, 0));
    await consumeEvents({ queue, messages, ackAll, retryAll } as MessageBatch<unknown>, it_);
    expect(it_.counts).toMatchObject([
      { backlog: 3, backlogBytes: 30 },
      { backlog: null, backlogBytes: null },
    ]);
  });

  it("counts a message that failed in the same batch as one that waits", async () => {
    const it_ = world([job(1), job(2, { windows: [{ fromMs: NOON + 2_900, untilMs: null }] })]);
    it_.script[1] = ["fail"];
    await consumeEvents(deliver([one(1, { takenInMs: NOON }), one(2, { takenInMs: NOON + 3_000 })]).batch, it_);
    expect(it_.commits.map(({ job: to, append }) => [to, append.queueDoneMs])).toEqual([[2, NOON - IN_FLIGHT_MS]]);
  });
});

/** A batch with metrics, which `createMessageBatch` does not support. */
function withMetrics(bodies: readonly unknown[], metrics: MessageBatchMetrics): MessageBatch<unknown> {
  const { batch } = deliver(bodies);
  return { queue: batch.queue, messages: batch.messages, metadata: { metrics }, ackAll() {}, retryAll() {} };
}
