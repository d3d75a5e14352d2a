import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { retryDelayS } from "../../../src/formats/queue/retries.ts";
import { consumeDead, consumeEvents } from "../../../src/ship/consumer/consume.ts";
import { NOON } from "../../formats/record/samples.ts";
import { damaged, deliver, id, job, one, record, type World, world } from "./scripted.ts";

const never = <T>(): Promise<T> => new Promise<T>(() => {});
const AGAIN = `retry after ${retryDelayS(1)} s`;
const noted = (it_: World): string[] => it_.noted.map((note) => note.id);

/** A world whose clock is this far after {@link NOON}, in ms. Notes appear in its log. */
function worldAfter(ms: number): World {
  const it_ = world([job(1)]);
  it_.nowMs = NOON + ms;
  const { expectAgain } = it_;
  it_.expectAgain = async (...note) => {
    await expectAgain(...note);
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
    const go = held(it_);
    const done = consumeEvents(deliver([one(1), one(2, { takenInMs: NOON + 200_000 })]).batch, it_);
    await vi.advanceTimersByTimeAsync(notedAfterMs - 1);
    expect(noted(it_)).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(noted(it_)).toEqual([id(1), id(2)]);
    go();
    await done;
  });

  it("is noted before anything of it is appended, if it is older when it comes", async () => {
    const it_ = worldAfter(40_000);
    const delivered = deliver([one(1), one(2, { takenInMs: it_.nowMs })]);
    await consumeEvents(delivered.batch, it_);
    expect([it_.log, noted(it_)]).toEqual([
      ["note", "append 0"],
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
    expect(it_.tries).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await done;
    expect([it_.tries, delivered.fates()]).toEqual([1, ["ack"]]);
  });

  it.each<[string, () => Promise<void>, everyMs: number]>([
    ["fails", () => Promise.reject(new Error("the log does not answer")), 10_000],
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
    expect(noted(it_)).toEqual([id(1)]);
  });

  it("is no longer noted when it is done", async () => {
    const it_ = worldAfter(100_000);
    const asked = vi.fn(() => Promise.reject(new Error("the log does not answer")));
    it_.expectAgain = asked;
    await consumeEvents(deliver([one(1)]).batch, it_);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toHaveBeenCalledOnce();
  });

  it("is noted in each of its shards; where one fails, the other is not asked with it again and again", async () => {
    const it_ = worldAfter(100_000);
    const go = held(it_);
    const asked: [number, string[]][] = [];
    it_.expectAgain = async (shard, parts) => {
      asked.push([shard, parts.map((part) => part.id)]);
      if (shard === 1) throw new Error("this shard is broken");
    };
    const done = consumeEvents(deliver([one(1), one(2, { shards: 2, shard: 1 })]).batch, it_);
    await vi.advanceTimersByTimeAsync(25_000);
    go();
    await done;
    const again: [number, string[]] = [1, [id(2, 1)]];
    expect(asked).toEqual([[0, [id(1)]], again, again, again]);
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
  it("is put on hold when its note has landed, not before: what is put on hold takes back only what is there", async () => {
    const it_ = worldAfter(39_000);
    const go = held(it_);
    const landed = Promise.withResolvers<void>();
    const { expectAgain } = it_;
    it_.expectAgain = async (...note) => {
      await landed.promise;
      await expectAgain(...note);
    };
    const delivered = deliver([damaged(one(9))]);
    const done = consumeEvents(delivered.batch, it_);
    await vi.advanceTimersByTimeAsync(2_000);
    go();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(it_.log).toEqual([]);
    landed.resolve();
    await done;
    expect([it_.log, noted(it_), delivered.fates()]).toEqual([["note", "hold"], [id(9)], ["ack"]]);
  });

  it("is not noted by a note that is sent while it is put on hold", async () => {
    const it_ = worldAfter(31_000);
    const { hold } = it_;
    it_.hold = async (...message) => {
      await new Promise((resolve) => setTimeout(resolve, 9_500));
      await hold(...message);
    };
    const delivered = deliver([damaged(one(9)), one(1)]);
    const done = consumeEvents(delivered.batch, it_);
    await vi.advanceTimersByTimeAsync(9_500);
    await done;
    expect([noted(it_), delivered.fates()]).toEqual([[id(1)], ["ack", "ack"]]);
  });

  it("comes again where its note hangs, and may land at any time", async () => {
    const it_ = worldAfter(100_000);
    it_.expectAgain = never;
    const delivered = deliver([damaged(one(9)), one(1)]);
    const done = consumeEvents(delivered.batch, it_);
    // The note of the batch, and that it comes again.
    await vi.advanceTimersByTimeAsync(10_000);
    await done;
    expect([it_.held, delivered.fates()]).toEqual([[], [AGAIN, "ack"]]);
  });
});

describe("what a batch may ask in all", () => {
  /** With so many calls, of which a tenth is in reserve. Every message makes a group of its own. */
  const worldOf = (callsMax: number): World => Object.assign(worldAfter(0), { callsMax });
  const fat = (n: number) => one(n, { records: [record(`${n}`.padEnd(3_000_000, "x"))] });

  it("is less than the platform allows: what is left then comes again soon, and is noted", async () => {
    const it_ = worldOf(7);
    const delivered = deliver([fat(1), fat(2), fat(3), fat(4), fat(5), fat(6), fat(7)]);
    await consumeEvents(delivered.batch, it_);
    // Six calls: for the configuration, and five appends.
    expect([delivered.fates(), it_.tries]).toEqual([[...Array(5).fill("ack"), AGAIN, AGAIN], 5]);
    expect(it_.noted).toEqual([6, 7].map((n) => ({ shard: 0, id: id(n), how: "untried" })));
  });

  it("is never passed: what is not asked has failed, and is noted", async () => {
    const it_ = worldOf(2);
    const delivered = deliver([one(1)]);
    await consumeEvents(delivered.batch, it_);
    expect([delivered.fates(), noted(it_), it_.tries]).toEqual([[AGAIN], [id(1)], 0]);
  });

  it("holds for dead letters, too: each is kept, as there are a hundred at most", async () => {
    const it_ = worldAfter(0);
    const delivered = deliver(Array.from({ length: 100 }, (_, n) => one(n)));
    await consumeDead(delivered.batch, it_);
    expect([delivered.fates(), it_.held.length]).toEqual([Array(100).fill("ack"), 100]);
  });
});
