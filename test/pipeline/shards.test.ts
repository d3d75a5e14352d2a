/** Batches whose messages are counted by several shards of the ledger, which answer differently. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { consumeDead, consumeEvents } from "../../src/pipeline/consume.ts";
import { retryDelayS } from "../../src/queue/delivery.ts";
import { recordLine } from "../../src/record/encode.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import type { Outcome } from "../../src/trace-log/trace-log.ts";
import { NOON } from "../record/samples.ts";
import { encodeMessage } from "../support/message.ts";
import { deliver, job, NEWER_STATE, record, shipped, snapshot, type World, world as worldOf } from "./scripted.ts";

const AGAIN = `retry after ${retryDelayS(1)} s`;

/** The id of a message that is counted by shard 0 or 1. */
const idIn = (shard: number, n: number): string => `000${shard}${n.toString(16).padStart(28, "0")}`;

const message = (shard: number, n: number): ArrayBuffer => {
  const raw = new TextEncoder().encode(`${recordLine(record(`event ${n}`))}\n`);
  return encodeMessage({ id: idIn(shard, n), takenInMs: NOON, keyed: false, records: 1 }, raw).buffer;
};

type Count = (outcome: Outcome, shard: number) => Promise<unknown>;

/** A ledger of two shards. @param count of each; by default it has counted. */
function world(count: (shard: number, outcome: Outcome) => Promise<unknown> = async () => null) {
  const it_: World = Object.assign(worldOf([job(1)]), { nowMs: NOON });
  it_.splits.learn(0, [{ bit: 0, fromMs: NOON }]);
  const asked: { shard: number; outcome: Outcome }[] = [];
  const counting: Count = async (outcome, shard) => {
    asked.push({ shard, outcome });
    const answer = await count(shard, outcome);
    if (answer === null) it_.counts.push(outcome);
    return answer;
  };
  it_.count = counting as World["count"];
  const idsOf = (of: "done" | "failed") =>
    asked.map(({ shard, outcome }) => [shard, outcome[of].map(({ id }) => Number.parseInt(id.slice(4), 16))]);
  return { it_, asked, done: () => idsOf("done"), failed: () => idsOf("failed") };
}

const never = <T>(): Promise<T> => new Promise<T>(() => {});

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

describe("a batch with messages of killed ones", () => {
  it("is parted by what all shards know of them, and each is told of its own", async () => {
    const { it_ } = world();
    it_.nowMs = NOON + 60_000;
    const notes: string[] = [];
    it_.expectAgain = async (messages, shard, _known, how) => {
      notes.push(`${shard} ${how} ${messages.map(({ id }) => Number.parseInt(id.slice(4), 16))}`);
      return how === "begun" && shard === 1 ? [{ id: idIn(1, 2), deaths: 1 }] : undefined;
    };
    const delivered = deliver([message(0, 1), message(1, 2), message(1, 3)], { attempts: 3 });
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", AGAIN, "ack"]);
    expect(notes).toEqual(["0 begun 1", "1 begun 2,3", "1 untried 2"]);
  });
});

describe("a batch is counted by two shards", () => {
  it("each its own messages, and one of them the work", async () => {
    const { it_, asked, done } = world();
    const delivered = deliver([message(0, 1), message(1, 2), message(0, 3)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", "ack", "ack"]);
    expect(done()).toEqual([
      [0, [1, 3]],
      [1, [2]],
    ]);
    expect(asked.map(({ outcome }) => outcome.work)).toEqual([
      { batches: 1, appends: 1, offered: 3 },
      { batches: 0, appends: 0, offered: 0 },
    ]);
  });

  it("of which one has newer jobs: what the other has counted is not offered again, and not shown twice", async () => {
    let behind = true;
    const { it_, asked, done } = world(async (shard, { done }) => {
      if (shard === 1 && behind) {
        behind = false;
        return snapshot(NEWER_STATE, [job(1), job(2)]);
      }
      return { watched: done.map(({ id }) => id) };
    });
    const delivered = deliver([message(0, 1), message(1, 2), message(0, 3)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", "ack", "ack"]);
    expect(done()).toEqual([
      [0, [1, 3]],
      [1, [2]],
      [1, [2]],
    ]);
    expect(shipped(it_)).toEqual([
      [1, ["event 1", "event 2", "event 3"]],
      [1, ["event 2"]],
      [2, ["event 2"]],
    ]);
    expect(asked.map(({ outcome }) => [outcome.state, outcome.work?.batches])).toEqual([
      ["epoch.1", 1],
      ["epoch.1", 0],
      [NEWER_STATE, 0],
    ]);
    expect(it_.shown.map(({ lines }) => lines.length)).toEqual([2, 1]);
  });

  it("of which the one that is told of the work has newer jobs: it is told again", async () => {
    let behind = true;
    const { it_, asked } = world(async (shard) => {
      if (shard === 1 || !behind) return null;
      behind = false;
      return snapshot(NEWER_STATE, [job(1)]);
    });
    await consumeEvents(deliver([message(0, 1), message(1, 2)]).batch, it_);
    expect(asked.map(({ shard, outcome }) => [shard, outcome.work?.batches])).toEqual([
      [0, 1],
      [1, 0],
      [0, 1],
    ]);
  });

  it("of which one fails: its messages come again, and are noted as that", async () => {
    const { it_ } = world(async (shard) => {
      if (shard === 1) throw new Error("this shard is broken");
      return null;
    });
    const delivered = deliver([message(0, 1), message(1, 2), message(0, 3)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", AGAIN, "ack"]);
    expect(it_.expected.map(({ id }) => id)).toEqual([idIn(1, 2)]);
  });

  it("of which one fails, and the other has newer jobs: it is asked again", async () => {
    let behind = true;
    const { it_, done } = world(async (shard) => {
      if (shard === 1) throw new Error("this shard is broken");
      if (!behind) return null;
      behind = false;
      return snapshot(NEWER_STATE, [job(1), job(2)]);
    });
    const delivered = deliver([message(0, 1), message(1, 2)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", AGAIN]);
    expect(done()).toEqual([
      [0, [1]],
      [1, [2]],
      [0, [1]],
      [1, [2]],
    ]);
  });

  it("of which one hangs: it holds the batch for ten seconds, and what the other has counted is done", async () => {
    vi.useFakeTimers();
    const { it_, asked } = world((shard) => (shard === 1 ? never() : Promise.resolve(null)));
    const fat = (shard: number, n: number): ArrayBuffer => {
      const raw = new TextEncoder().encode(`${recordLine(record(`${n}`.padEnd(900_000, "x")))}\n`);
      return encodeMessage({ id: idIn(shard, n), takenInMs: NOON, keyed: false, records: 1 }, raw).buffer;
    };
    // Three groups.
    const delivered = deliver(Array.from({ length: 12 }, (_, n) => fat(n % 2, n)));
    const consumed = consumeEvents(delivered.batch, it_);
    await vi.advanceTimersByTimeAsync(10_000);
    await consumed;
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    expect(delivered.fates()).toEqual(Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? "ack" : AGAIN)));
    expect(asked.map(({ shard }) => shard)).toEqual([0, 1, 0, 0]);
  });

  it("of which the first learns of a debt before the other counts what is owed", async () => {
    const { it_, asked, done } = world();
    it_.debts = [];
    it_.script = { 1: ["fail"] };
    const delivered = deliver([message(1, 1), message(1, 2)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", "ack"]);
    expect(done()).toEqual([
      [0, []],
      [1, [1, 2]],
    ]);
    expect(asked.map(({ outcome }) => outcome.owes)).toEqual([true, undefined]);
  });

  it("of which the first does not learn of a debt: nothing is counted that is owed", async () => {
    const { it_, asked } = world(async (shard) => {
      if (shard === 0) throw new Error("this shard is broken");
      return null;
    });
    it_.debts = [];
    it_.script = { 1: ["fail"] };
    const delivered = deliver([message(1, 1)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual([AGAIN]);
    expect(asked.map(({ shard }) => shard)).toEqual([0]);
  });

  it("and what fails is noted by the shard that will count it", async () => {
    const { it_, failed } = world();
    it_.script = { 1: ["fail"] };
    const delivered = deliver([message(0, 1), message(1, 2)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual([AGAIN, AGAIN]);
    expect(failed()).toEqual([
      [0, [1]],
      [1, [2]],
    ]);
  });
});

describe("a shard that was split", () => {
  it("says so: its messages go where they belong, within the same group", async () => {
    const asked: [shard: number, known: number, ids: number][] = [];
    const it_ = worldOf([job(1)]);
    const counting = async ({ done }: Outcome, shard: number, known: number): Promise<unknown> => {
      asked.push([shard, known, done.length]);
      return known === 0 && shard === 0 ? { splits: [{ bit: 0, fromMs: NOON }] } : null;
    };
    it_.count = counting as World["count"];
    const delivered = deliver([message(0, 1), message(1, 2), message(1, 3)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", "ack", "ack"]);
    expect(asked).toEqual([
      [0, 0, 3],
      [0, 1, 1],
      [1, 0, 2],
    ]);
  });

  it.each([
    ["nothing new", []],
    ["what is no list", "bit 0"],
    ["another bit", [{ bit: 1, fromMs: NOON }]],
    ["no time", [{ bit: 0 }]],
    ["null", [null]],
  ])("and names %s: nothing is counted, all comes again", async (_what, splits) => {
    const it_ = worldOf([job(1)]);
    it_.count = async () => ({ splits });
    const delivered = deliver([message(1, 2)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual([AGAIN]);
    expect(it_.splits.shards()).toEqual([0]);
  });

  it("and keeps a message that cannot be read: what was noted elsewhere under its header is taken back", async () => {
    const it_ = worldOf([job(1)]);
    it_.splits.learn(0, [{ bit: 0, fromMs: NOON }]);
    const notes: unknown[] = [];
    it_.asideAs = async (taken, shard) => void notes.push([shard, taken]);
    const delivered = deliver([message(1, 2).slice(0, -1), message(0, 3).slice(0, -1)], { queue: "dead" });
    await consumeDead(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", "ack"]);
    expect(notes).toEqual([[1, [{ id: idIn(1, 2), takenInMs: NOON, keyed: false }]]]);
    expect(it_.aside.map(({ noted }) => noted?.id)).toEqual([undefined, idIn(0, 3)]);
  });
});

describe("a batch that is noted in two shards", () => {
  it("of which one fails: the other is asked once, and not with it again and again", async () => {
    vi.useFakeTimers();
    const { it_ } = world();
    it_.nowMs = NOON + 100_000;
    const asked: [number, string[]][] = [];
    it_.expectAgain = async (messages: readonly TakenId[], shard?: number) => {
      asked.push([shard ?? 0, messages.map(({ id }) => id)]);
      if (shard === 1) throw new Error("this shard is broken");
    };
    const go = Promise.withResolvers<void>();
    const { jobs } = it_;
    it_.jobs = () => go.promise.then(jobs);
    const done = consumeEvents(deliver([message(0, 1), message(1, 2)]).batch, it_);
    await vi.advanceTimersByTimeAsync(25_000);
    go.resolve();
    await done;
    vi.useRealTimers();
    const again: [number, string[]] = [1, [idIn(1, 2)]];
    expect(asked).toEqual([[0, [idIn(0, 1)]], again, again, again]);
  });
});
