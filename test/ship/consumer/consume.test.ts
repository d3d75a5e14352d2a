import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { APPEND_MAX_RAW_BYTES, APPEND_MIXED_RAW_BYTES } from "../../../src/base/limits.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { retryDelayS } from "../../../src/formats/queue/retries.ts";
import { consumeDead, consumeEvents } from "../../../src/ship/consumer/consume.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { NOON } from "../../formats/record/samples.ts";
import { deliver, id, job, linesOf, one, record, STATE, shipped, type World, world } from "./scripted.ts";

let errors: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(() => {
  vi.useRealTimers();
});

const again = (attempts = 1): string => `retry after ${retryDelayS(attempts)} s`;

/** Numbers of the parts that each append brought. */
const parts = (it_: World): number[][] =>
  it_.appends.map(({ append }) => append.parts.map((part) => Number.parseInt(part.id, 16)));

const fat = (n: number) => one(n, { records: [record(`${n}`.padEnd(400_000, "x"))] });

async function consumed(it_: World, bodies: readonly unknown[], attempts = 1): Promise<(string | undefined)[]> {
  const { batch, fates } = deliver(bodies, { attempts, log: it_.log });
  await consumeEvents(batch, it_);
  return fates();
}

describe("a batch of the queue", () => {
  it("is appended to the log with what every job ships of it, and only then acknowledged", async () => {
    const it_ = world([job(1), job(2)]);
    const { batch, fates } = deliver([one(1), one(2)], { log: it_.log });
    const go = Promise.withResolvers<void>();
    const append = it_.append.bind(it_);
    it_.append = (...args) => go.promise.then(() => append(...args));
    const done = consumeEvents(batch, it_);
    // Enough turns for anything that does not wait for the log.
    for (let turn = 0; turn < 1_000; turn++) await Promise.resolve();
    expect(fates()).toEqual([undefined, undefined]);
    go.resolve();
    await done;
    expect(shipped(it_)).toEqual([
      [1, ["event 1", "event 2"]],
      [2, ["event 1", "event 2"]],
    ]);
    expect(it_.log).toEqual(["append 0", "ack m0", "ack m1"]);
    expect(errors).not.toHaveBeenCalled();
  });

  it("says of each part what the account counts, and what the messages hold of it", async () => {
    const it_ = world([job(1, { version: 7 })]);
    const early = { takenInMs: NOON - 60_000, keyed: true };
    const bodies = [one(1, { records: [record("a"), record("b")] }), one(2, early)];
    await consumed(it_, bodies);
    const went = (invocations: number) => ({
      ...{
        outcomes: expect.any(Array),
        failed: invocations,
        firstFailureMs: NOON,
        serverErrors: 0,
        statuses: [],
        errors: expect.any(Array),
      },
      ...{ wall: [expect.any(Number), invocations], cpu: [expect.any(Number), invocations] },
    });
    const kinds = [{ kind: "fetch", lastMs: NOON }];
    const shop = (records: number) => ({
      scriptName: "shop",
      records,
      lastEventMs: NOON,
      health: went(records),
      kinds,
    });
    const share = { filtered: 0, sampledOut: 0 };
    expect(it_.appends).toEqual([
      {
        shard: 0,
        append: {
          ...{ v: 1, state: STATE },
          queue: expect.objectContaining({ backlog: 0, backlogBytes: 0, doneMs: NOON - 120_000 }),
          parts: [
            { id: id(1), takenInMs: NOON, keyed: false, bytes: bodies[0]?.byteLength, functions: [shop(2)] },
            { id: id(2), ...early, bytes: bodies[1]?.byteLength, functions: [shop(1)] },
          ],
          records: bodies.map((body, i) => ({ body: new Uint8Array(body), parts: [id(i + 1)] })),
          prepared: [
            {
              ...{ output: NDJSON, template: { hour: false, script: false } },
              ...{ jobs: [{ id: 1, stamp: "7.mark", received: 2, ...share }], parts: [id(1)] },
              fragments: [expect.objectContaining({ records: 2 })],
            },
          ],
          work: { batches: 1, entries: 1, offered: 2 },
        },
      },
    ]);
  });

  it("goes into appends of a bounded size, each message whole in one of them", async () => {
    const it_ = world([job(1)]);
    expect(
      await consumed(
        it_,
        Array.from({ length: 25 }, (_, n) => fat(n)),
      ),
    ).toEqual(Array(25).fill("ack"));
    expect(parts(it_).map(({ length }) => length)).toEqual([9, 9, 7]);
    expect(parts(it_).flat()).toEqual([...Array(25).keys()]);
    const sizes = it_.appends.map(({ append: { prepared } }) => prepared.flatMap(linesOf).join("").length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(APPEND_MAX_RAW_BYTES);
    // Its work begins with the first.
    expect(it_.appends.map(({ append }) => append.work.batches)).toEqual([1, 0, 0]);
  });

  it("goes into smaller ones where jobs of many rules make much of each record", async () => {
    const sampled = (n: number) => Array.from({ length: n }, (_, i) => job(i + 1, { sampleRate: 0.5 }));
    const groups = async (jobs: JobConfig[]) => {
      const it_ = world(jobs);
      await consumed(
        it_,
        Array.from({ length: 9 }, (_, n) => fat(n)),
      );
      return parts(it_).map(({ length }) => length);
    };
    expect(await groups(sampled(4))).toEqual([9]);
    expect(await groups(sampled(5))).toEqual([2, 2, 2, 2, 1]);
    expect(APPEND_MIXED_RAW_BYTES).toBeLessThan(3 * 400_000);
  });

  it("that fails in one such append is still taken in the others, and noted as coming again", async () => {
    const it_ = world([job(1)]);
    it_.script = ["take", "fail"];
    const fates = await consumed(
      it_,
      Array.from({ length: 25 }, (_, n) => fat(n)),
      3,
    );
    expect(fates).toEqual([...Array(9).fill("ack"), ...Array(9).fill(again(3)), ...Array(7).fill("ack")]);
    const noted = it_.noted.filter(({ how }) => how === "returned");
    expect(noted.map((each) => Number.parseInt(each.id, 16))).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17]);
    expect(errors).toHaveBeenCalled();
  });

  it.each([1, 9, 89])("comes again after a delay that grows: delivery %i", async (attempts) => {
    const it_ = world([job(1)]);
    it_.script = ["fail"];
    expect(await consumed(it_, [one(1)], attempts)).toEqual([again(attempts)]);
  });

  it("waits for a shard that is busy, and spends no attempt on it", async () => {
    const it_ = world([job(1)]);
    it_.script = ["busy", "busy", "busy"];
    expect(await consumed(it_, [one(1)])).toEqual(["ack"]);
    expect([it_.tries, it_.nowMs]).toEqual([4, NOON + 60_000 + 4_200]);
    it_.script = ["busy", "busy", "busy", "busy"];
    expect(await consumed(it_, [one(2)])).toEqual([again()]);
  });

  it("whose answer was lost is known when it comes again, and nothing is made of it", async () => {
    const it_ = world([job(1)]);
    it_.script = ["lost"];
    expect(await consumed(it_, [one(1), one(2, { keyed: true })])).toEqual([again(), again()]);
    // What has a key goes to the log with each copy: other jobs may have been enabled then.
    expect(await consumed(it_, [one(1), one(2, { keyed: true }), one(3)], 2)).toEqual(["ack", "ack", "ack"]);
    expect(parts(it_)).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });

  it.each([["no list"], [{}], [undefined], [[null, 7]]])(
    "is asked for once at its first delivery, and appended whole where the answer is none: %j",
    async (answer) => {
      vi.spyOn(console, "warn").mockImplementation(() => {});
      const it_ = world([job(1)]);
      const known = vi.fn(async () => answer);
      it_.known = known;
      expect(await consumed(it_, [one(1)])).toEqual(["ack"]);
      expect(known).not.toHaveBeenCalled();
      expect(await consumed(it_, [one(1), one(2)], 2)).toEqual(["ack", "ack"]);
      expect(known).toHaveBeenCalledExactlyOnceWith(0, [
        expect.objectContaining({ id: id(1) }),
        expect.objectContaining({ id: id(2) }),
      ]);
      expect(parts(it_)).toEqual([[1], [1, 2]]);
    },
  );

  it("holds two copies of a part: it is made once, and both are acknowledged, or neither", async () => {
    const it_ = world([job(1)]);
    expect(await consumed(it_, [one(1), one(2), one(1)])).toEqual(["ack", "ack", "ack"]);
    expect(shipped(it_)).toEqual([[1, ["event 1", "event 2"]]]);
    it_.script = ["fail"];
    expect(await consumed(it_, [one(3), one(3)])).toEqual([again(), again()]);
  });
});

describe("a message that fails for long", () => {
  it("is sent anew before the platform's retries are used up, once the log has it as unfinished", async () => {
    const it_ = world([job(1)]);
    it_.script = ["fail"];
    const message = one(1);
    expect(await consumed(it_, [message], 90)).toEqual(["ack"]);
    expect(it_.sent).toEqual([message]);
    expect(it_.noted).toContainEqual({ shard: 0, id: id(1), how: "returned" });
  });

  it.each(["expectAgain", "sendAnew"] as const)("is not acknowledged where it cannot be: %s", async (call) => {
    const it_ = world([job(1)]);
    it_.script = ["fail"];
    it_[call] = async () => {
      throw new Error("no");
    };
    expect(await consumed(it_, [one(1)], 90)).toEqual([again(90)]);
    expect(it_.sent).toEqual([]);
  });
});

describe("a message that is late, and that its shard does not know of", () => {
  const early = NOON - 5_000;
  const away = (config: JobConfig[] = [job(1)]): World => {
    const it_ = world(config);
    it_.script = Array(9).fill("fail");
    it_.holdFails = () => true;
    it_.expectAgain = async () => {
      throw new Error("the log does not answer");
    };
    return it_;
  };

  it("is told to the control plane before it may be a dead letter, once for a batch: the oldest", async () => {
    const it_ = away();
    expect(await consumed(it_, [one(1), one(2, { takenInMs: early })], 90)).toEqual([again(90), again(90)]);
    expect(it_.unknown).toEqual([early]);
  });

  it("is told of as a dead letter that cannot be put on hold, of an unknown time if it has no head", async () => {
    const it_ = away();
    const { batch, fates } = deliver([one(1)], { queue: "logship-events-dead" });
    await consumeDead(batch, it_);
    await consumeDead(deliver([one(1), "no message"], { queue: "logship-events-dead" }).batch, it_);
    expect([fates(), it_.unknown]).toEqual([[again()], [NOON, 0]]);
  });

  it("is not told of while the queue keeps it for long, once its shard has it, or when it is done", async () => {
    const it_ = away();
    await consumed(it_, [one(1)], 89);
    const { expectAgain } = world([]);
    it_.expectAgain = expectAgain;
    it_.sendAnew = () => Promise.reject(new Error("no"));
    await consumed(it_, [one(2)], 95);
    it_.script = [];
    await consumed(it_, [one(3)], 95);
    expect(it_.unknown).toEqual([]);
  });

  it("is kept where the control plane does not answer either", async () => {
    const it_ = away();
    it_.unnoted = () => Promise.reject(new Error("no"));
    expect(await consumed(it_, [one(1)], 90)).toEqual([again(90)]);
  });
});

describe("jobs", () => {
  const windows: [what: string, jobs: JobConfig[], expected: [number, string[]][]][] = [
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
    ["one that was deleted with what it had", [job(1, { windows: [], deletedMs: NOON + 9_000, discard: true })], []],
  ];

  it.each(windows)(
    "get what was taken in while they were enabled, and everything is acknowledged: %s",
    async (_what, jobs, expected) => {
      const it_ = world(jobs);
      expect(await consumed(it_, [one(1), one(2, { takenInMs: NOON + 5_000 })])).toEqual(["ack", "ack"]);
      expect(shipped(it_)).toEqual(expected);
    },
  );

  it("whose format adds much to each record are left to their readers, beyond a bound", async () => {
    const text = "x".repeat(4_096);
    const it_ = world([job(1, { output: { ...NDJSON, recordPrefix: text, recordSuffix: text } }), job(2)]);
    const many = (n: number) => one(n, { records: Array.from({ length: 400 }, (_, i) => record(`${n} ${i}`)) });
    expect(await consumed(it_, [1, 2, 3, 4, 5].map(many))).toEqual(Array(5).fill("ack"));
    expect(shipped(it_).map(([to, { length }]) => [to, length])).toEqual([[2, 2_000]]);
    expect(it_.appends[0]?.append.work).toEqual({ batches: 1, entries: 2, offered: 4_000 });
  });

  it("whose filter this version cannot read are left to their readers, and no other waits", async () => {
    const it_ = world([
      job(1, { filter: '{"where":{"key":"Outcome","operator":"from the future","value":1}}' }),
      job(2),
    ]);
    expect(await consumed(it_, [one(1)])).toEqual(["ack"]);
    expect(shipped(it_)).toEqual([[2, ["event 1"]]]);
    expect(errors).toHaveBeenCalledOnce();
  });

  it("that are unknown are the log's to know: it decides by its copy, and nothing is prepared", async () => {
    const it_ = world(null);
    expect(await consumed(it_, [one(1), "not ours", one(3)], 2)).toEqual(["ack", "ack", "ack"]);
    expect(it_.appends).toMatchObject([{ append: { prepared: [], state: "", parts: [{ id: id(1) }, { id: id(3) }] } }]);
    expect(it_.held).toHaveLength(1);
  });
});

describe("what an append says of the queue", () => {
  const metrics = (backlogCount: number, oldestMs: number): MessageBatchMetrics => ({
    backlogCount,
    backlogBytes: backlogCount * 10,
    oldestMessageTimestamp: new Date(oldestMs),
  });
  const bodies = () => [NOON + 3_000, NOON + 1_000, NOON + 2_000].map((takenInMs, i) => one(i, { takenInMs }));

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
      await consumeEvents(withMetrics(bodies(), figures), it_);
      expect(it_.appends.map(({ append }) => append.queue?.doneMs)).toEqual([doneMs]);
    },
  );

  it("is its backlog in messages and bytes, where it says it", async () => {
    const it_ = world([job(1)]);
    await consumeEvents(withMetrics([one(1)], metrics(3, NOON)), it_);
    const { queue, messages, ackAll, retryAll } = withMetrics([one(2)], metrics(0, 0));
    await consumeEvents({ queue, messages, ackAll, retryAll } as MessageBatch<unknown>, it_);
    expect(it_.appends.map(({ append }) => append.queue)).toMatchObject([
      { backlog: 3, backlogBytes: 30 },
      { backlog: null, backlogBytes: null, doneMs: 0 },
    ]);
  });
});

/** A batch with metrics, which `createMessageBatch` does not support. */
function withMetrics(bodies: readonly unknown[], metrics: MessageBatchMetrics): MessageBatch<unknown> {
  const { batch } = deliver(bodies);
  return { queue: batch.queue, messages: batch.messages, metadata: { metrics }, ackAll() {}, retryAll() {} };
}
