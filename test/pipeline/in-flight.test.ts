import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { consumeDead, consumeEvents } from "../../src/pipeline/consume.ts";
import { retryDelayS } from "../../src/queue/delivery.ts";
import { splitMessage } from "../../src/queue/message.ts";
import { recordLine } from "../../src/record/encode.ts";
import { NOON } from "../record/samples.ts";
import { encodeMessage } from "../support/message.ts";
import { type Delivered, deliver, id, job, one, record, shipped, type World, world } from "./scripted.ts";

const never = <T>(): Promise<T> => new Promise<T>(() => {});
const AGAIN = `retry after ${retryDelayS(1)} s`;
const expected = (it_: World): string[] => it_.expected.map((taken) => taken.id);
const NOBODY = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "nobody" } });
/** Truncated: its header is readable, its records are not. */
const cut = (n: number) => one(n).slice(0, -1);

/** A reference, its records in a blob store shard of its own. */
function apart(it_: World, n: number): ArrayBuffer {
  const raw = new TextEncoder().encode(`${recordLine(record(`event ${n}`))}\n`);
  const envelope = { id: `${n}${id(n).slice(1)}`, takenInMs: NOON, keyed: false, records: 1 };
  const { reference, key, body } = splitMessage(encodeMessage(envelope, raw));
  it_.blobs.bodies.set(key, body);
  return reference.buffer;
}

/** A world whose clock is this far after {@link NOON}, in ms. Notes appear in its log. */
function worldAfter(ms: number, jobs = [job(1)]): World {
  const it_ = world(jobs);
  it_.nowMs = NOON + ms;
  const { expectAgain } = it_;
  it_.expectAgain = async (messages, ...rest) => {
    await expectAgain(messages, ...rest);
    it_.log.push("note");
  };
  return it_;
}

/** Holds all appends until the returned function is called. */
function held(it_: World): () => void {
  const go = Promise.withResolvers<void>();
  const { jobs } = it_;
  it_.jobs = () => go.promise.then(jobs);
  return go.resolve;
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("a batch in hand", () => {
  it.each<[string, ageMs: number, notedAfterMs: number]>([
    ["has just been taken in", 0, 40_000],
    ["is fifteen seconds old", 15_000, 25_000],
    ["is younger than the clock, as another machine says", -90_000, 40_000],
  ])("is noted when its oldest message is forty seconds old: it %s", async (_what, ageMs, notedAfterMs) => {
    const it_ = worldAfter(ageMs);
    // The control plane is slow.
    const config = Promise.withResolvers<void>();
    const { jobs } = it_;
    it_.jobs = () => config.promise.then(jobs);
    const done = consumeEvents(deliver([one(1), one(2, { takenInMs: NOON + 200_000 })]).batch, it_);
    await vi.advanceTimersByTimeAsync(notedAfterMs - 1);
    expect(expected(it_)).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(expected(it_)).toEqual([id(1), id(2)]);
    config.resolve();
    await done;
  });

  it("is noted before anything of it is appended, if it is older when it comes", async () => {
    const it_ = worldAfter(40_000);
    const delivered = deliver([one(1), one(2, { takenInMs: it_.nowMs })]);
    await consumeEvents(delivered.batch, it_);
    expect([it_.log.slice(0, 2), expected(it_)]).toEqual([
      ["note", "commit 1"],
      [id(1), id(2)],
    ]);
    expect(delivered.fates()).toEqual(["ack", "ack"]);
  });

  it("that is old waits for its note, and no longer than five seconds", async () => {
    const it_ = worldAfter(100_000);
    it_.expectAgain = never;
    const delivered = deliver([one(1)]);
    const done = consumeEvents(delivered.batch, it_);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(it_.offers).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await done;
    expect([it_.offers, delivered.fates()]).toEqual([1, ["ack"]]);
  });

  it.each<[string, () => Promise<void>, everyMs: number]>([
    ["fails", () => Promise.reject(new Error("the ledger does not answer")), 10_000],
    ["hangs", never, 15_000],
  ])("is noted again and again where the note %s, until it is noted", async (_what, note, everyMs) => {
    const it_ = worldAfter(100_000);
    const go = held(it_);
    const { expectAgain } = it_;
    const asked = vi.fn(note);
    it_.expectAgain = asked;
    const done = consumeEvents(deliver([one(1)]).batch, it_);
    await vi.advanceTimersByTimeAsync(everyMs);
    expect(asked).toHaveBeenCalledTimes(2);
    it_.expectAgain = expectAgain;
    await vi.advanceTimersByTimeAsync(everyMs);
    go();
    await done;
    expect(asked).toHaveBeenCalledTimes(2);
    expect(expected(it_)).toEqual([id(1)]);
  });

  it("is no longer noted when it is done", async () => {
    const it_ = worldAfter(100_000);
    const asked = vi.fn(() => Promise.reject(new Error("the ledger does not answer")));
    it_.expectAgain = asked;
    await consumeEvents(deliver([one(1)]).batch, it_);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toHaveBeenCalledOnce();
  });
});

describe("a batch that is done while its note is under way", () => {
  it("waits for that, so that it does not come after a later delivery, and does not send it again", async () => {
    const it_ = worldAfter(30_000);
    const go = held(it_);
    const asked = vi.fn(never<void>);
    it_.expectAgain = asked;
    const delivered = deliver([one(1)]);
    let ended = false;
    const done = consumeEvents(delivered.batch, it_).then(() => {
      ended = true;
    });
    await vi.advanceTimersByTimeAsync(11_000);
    go();
    await vi.advanceTimersByTimeAsync(3_999);
    expect([delivered.fates(), ended]).toEqual([["ack"], false]);
    await vi.advanceTimersByTimeAsync(1);
    await done;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toHaveBeenCalledOnce();
  });
});

describe("a message that cannot be read", () => {
  it("is set aside when its note has landed, not before: who is set aside takes back only what is there", async () => {
    const it_ = worldAfter(0);
    const gone = Promise.withResolvers<void>();
    const { expectAgain } = it_;
    // Sent at forty seconds, lands four seconds later.
    it_.expectAgain = async (messages, ...rest) => {
      await gone.promise;
      await expectAgain(messages, ...rest);
    };
    // It is loaded after 41 seconds, as its neighbours are in a slow blob store.
    const { get } = it_.blobs;
    it_.blobs.get = async (key) => {
      await new Promise((resolve) => setTimeout(resolve, 8_200));
      return get(key);
    };
    const delivered = deliver([...[0, 1, 2, 3, 4].map((n) => apart(it_, n)), cut(9)]);
    const done = consumeEvents(delivered.batch, it_);
    await vi.advanceTimersByTimeAsync(43_000);
    expect(it_.log).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    gone.resolve();
    await done;
    expect(expected(it_)).toContain(id(9));
    expect(it_.log.indexOf("note")).toBeLessThan(it_.log.indexOf("set aside"));
    expect(delivered.fates().at(-1)).toBe("ack");
  });

  it("is not noted by a note that is sent while it is set aside", async () => {
    const it_ = worldAfter(31_000);
    const { setAside } = it_;
    it_.setAside = async (message) => {
      await new Promise((resolve) => setTimeout(resolve, 9_500));
      await setAside(message);
    };
    const delivered = deliver([cut(9), one(1)]);
    const done = consumeEvents(delivered.batch, it_);
    await vi.advanceTimersByTimeAsync(9_500);
    await done;
    expect([expected(it_), delivered.fates()]).toEqual([[id(1)], ["ack", "ack"]]);
  });

  it("comes again where its note hangs, and may land at any time", async () => {
    const it_ = worldAfter(100_000);
    it_.expectAgain = never;
    const delivered = deliver([cut(9), one(1)]);
    const done = consumeEvents(delivered.batch, it_);
    await vi.advanceTimersByTimeAsync(5_000);
    await done;
    expect([it_.aside, delivered.fates()]).toEqual([[], [AGAIN, "ack"]]);
  });
});

describe("what a batch may ask in all", () => {
  /** Counts all calls. */
  function counted(it_: World): () => number {
    let asked = 0;
    const count = <A extends unknown[], R>(call: (...args: A) => R) => {
      return (...args: A): R => {
        asked += 1;
        return call(...args);
      };
    };
    Object.assign(it_, {
      jobs: count(it_.jobs),
      append: count(it_.append.bind(it_)),
      count: count(it_.count),
      counted: count(it_.counted),
      expectAgain: count(it_.expectAgain),
      setAside: count(it_.setAside),
      blobs: { ...it_.blobs, get: count(it_.blobs.get), drop: count(it_.blobs.drop) },
    });
    return () => asked;
  }
  const jobs = Array.from({ length: 100 }, (_, n) => job(n + 1, { filter: NOBODY }));
  /** Four of these make a group. */
  const fat = (n: number) => one(n, { records: [record(`${n}`.padEnd(900_000, "x"))] });
  const fats = Array.from({ length: 36 }, (_, n) => fat(n));
  /** With the calls of the smallest plan. */
  const small = (it_: World): World => Object.assign(it_, { callsMax: 1_000 });

  it.each([1, 2])(
    "is enough for a full batch and a hundred jobs, so that each message is delivered once more at most: delivery %i",
    async (attempts) => {
      const it_ = worldAfter(0, jobs);
      const calls = counted(it_);
      const delivered = deliver(
        Array.from({ length: 100 }, (_, n) => fat(n)),
        { attempts },
      );
      await consumeEvents(delivered.batch, it_);
      expect(delivered.fates()).toEqual(Array(100).fill("ack"));
      expect([calls(), it_.counts.length]).toEqual([1 + 25 * 101, 25]);
    },
  );

  it("is less than the platform allows: what is left then comes again soon, and is noted", async () => {
    const it_ = small(worldAfter(0, jobs));
    const calls = counted(it_);
    const delivered = deliver(fats);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual([...Array(32).fill("ack"), ...Array(4).fill(AGAIN)]);
    expect(expected(it_)).toEqual([32, 33, 34, 35].map(id));
    // Whole groups: a hundred appends and a count for each.
    expect(calls()).toBe(1 + 8 * 101 + 1);
    // For the month's use they are one batch.
    expect(it_.counts.map(({ work }) => work?.batches)).toEqual([1, ...Array(7).fill(0)]);
  });

  it("holds for what is shown to those who watch, which is not shown where no call is left for it", async () => {
    const shown = async (count: number, bodies: ArrayBuffer[]) => {
      const some = Array.from({ length: count }, (_, n) => job(n + 1, { filter: NOBODY }));
      const it_ = Object.assign(small(worldAfter(0, some)), { watched: true });
      const delivered = deliver(bodies);
      await consumeEvents(delivered.batch, it_);
      return [it_.counts.length, it_.shown.length, delivered.fates().filter((fate) => fate === "ack").length];
    };
    // After the configuration and the count, one call of 900 is left, or none.
    expect(await shown(897, [one(1)])).toEqual([1, 1, 1]);
    expect(await shown(898, [one(1)])).toEqual([1, 0, 1]);
    // A group takes 450 calls, and only 449 are left for the next.
    expect(await shown(448, fats.slice(0, 8))).toEqual([1, 1, 4]);
  });

  it("is reached by half as much of what comes again, as the logs are asked first what they know; it comes again soon all the same", async () => {
    const it_ = small(worldAfter(0, jobs));
    const delivered = deliver(fats.slice(0, 20), { attempts: 30 });
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual([...Array(16).fill("ack"), ...Array(4).fill(AGAIN)]);
  });

  it("is never passed, though one group should need more: what is not asked has failed, and is noted", async () => {
    const many = Array.from({ length: 1_200 }, (_, n) => job(n + 1, { filter: NOBODY }));
    const it_ = small(worldAfter(0, many));
    const delivered = deliver([one(1)]);
    await consumeEvents(delivered.batch, it_);
    expect([delivered.fates(), expected(it_)]).toEqual([[AGAIN], [id(1)]]);
    // With the call for the configuration these are 900; a hundred are in reserve.
    expect([it_.commits.length, it_.counts.length]).toEqual([899, 0]);
  });

  it("holds for dead letters, too: each is kept, as there are a hundred at most", async () => {
    const it_ = worldAfter(0);
    const delivered = deliver(Array.from({ length: 100 }, (_, n) => one(n)));
    await consumeDead(delivered.batch, it_);
    expect([delivered.fates(), it_.aside.length]).toEqual([Array(100).fill("ack"), 100]);
  });
});

describe("a queue that does not say what waits", () => {
  it.each([
    ["no metadata", undefined],
    ["no figures", {}],
  ])("is not taken to be empty: %s", async (_what, metadata) => {
    const it_ = worldAfter(0);
    const { batch }: Delivered = deliver([one(1)]);
    const bare = { queue: batch.queue, messages: batch.messages, metadata, ackAll() {}, retryAll() {} };
    await consumeEvents(bare as MessageBatch<unknown>, it_);
    expect(shipped(it_)).toEqual([[1, ["event 1"]]]);
    expect(it_.commits.map(({ append }) => append.queueDoneMs)).toEqual([0]);
  });
});
