import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { consumeDead, consumeEvents } from "../../src/pipeline/consume.ts";
import { retryDelayS } from "../../src/queue/delivery.ts";
import { splitMessage } from "../../src/queue/message.ts";
import { recordLine } from "../../src/record/encode.ts";
import { DAY_MS, NOON } from "../record/samples.ts";
import { encodeMessage } from "../support/message.ts";
import { type Delivered, deliver, id, job, one, record, shipped, type World, world as worldLater } from "./scripted.ts";

/** A world in which messages are delivered at their time of intake. */
const world = (config: Parameters<typeof worldLater>[0]): World => Object.assign(worldLater(config), { nowMs: NOON });
const never = <T>(): Promise<T> => new Promise<T>(() => {});
const AGAIN = `retry after ${retryDelayS(1)} s`;

/** A message of which this many make a group. */
const fat = (n: number) => one(n, { records: [record(`${n}`.padEnd(900_000, "x"))] });

/**
 * A reference, its records in the blob store. @param digit first of its id, which selects the
 * shard.
 */
function apart(it_: World, n: number, digit = "0"): ArrayBuffer {
  const raw = new TextEncoder().encode(`${recordLine(record(`event ${n}`))}\n`);
  const envelope = { id: digit + id(n).slice(1), takenInMs: NOON, keyed: false, records: 1 };
  const { reference, key, body } = splitMessage(encodeMessage(envelope, raw));
  it_.blobs.bodies.set(key, body);
  return reference.buffer;
}

/** Runs a batch to its end. @returns its duration, in ms. */
async function lasts(under: Promise<unknown>): Promise<number> {
  const began = Date.now();
  let ended: number | null = null;
  under.finally(() => {
    ended = Date.now() - began;
  });
  for (let s = 0; s < 900 && ended === null; s++) await vi.advanceTimersByTimeAsync(1_000);
  if (ended === null) throw new Error("still under way when the platform ends it");
  return ended;
}

const consumed = ({ batch }: Delivered, it_: World): Promise<number> => lasts(consumeEvents(batch, it_));
const expected = (it_: World): string[] => it_.expected.map((taken) => taken.id);

let errors: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  vi.useFakeTimers();
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("a ledger that does not answer", () => {
  it("when it counts, holds a batch for ten seconds, however many groups it is; all comes again, and is noted as that", async () => {
    const it_ = world([job(1)]);
    const count = vi.fn(never);
    it_.count = count;
    const delivered = deliver(Array.from({ length: 12 }, (_, n) => fat(n)));
    expect(await consumed(delivered, it_)).toBe(10_000);
    expect(delivered.fates()).toEqual(Array(12).fill(AGAIN));
    // It hung once and is not asked again. The logs have the rest, and will know it.
    expect(count).toHaveBeenCalledOnce();
    expect(it_.commits.length).toBe(3);
    expect(expected(it_)).toEqual(Array.from({ length: 12 }, (_, n) => id(n)));
  });

  it("when it counts for the second time, is left to a later delivery as well", async () => {
    const it_ = world([job(1)]);
    it_.newer = [[job(1), job(2)]];
    const count = it_.count;
    it_.count = (outcome) => (it_.newer.length > 0 ? count(outcome) : never());
    const delivered = deliver([one(1)]);
    expect(await consumed(delivered, it_)).toBe(10_000);
    expect([delivered.fates(), expected(it_)]).toEqual([[AGAIN], [id(1)]]);
  });

  it("when it is to keep what nobody can read, holds all of these for ten seconds together, and their neighbours no longer", async () => {
    const it_ = world([job(1)]);
    const setAside = vi.fn(never<void>);
    it_.setAside = setAside;
    const delivered = deliver(["bad", one(1), "worse", "worst"]);
    // The neighbour cannot be counted either: the ledger timed out.
    expect(await consumed(delivered, it_)).toBe(10_000);
    expect(delivered.fates()).toEqual([AGAIN, AGAIN, AGAIN, AGAIN]);
    expect(setAside).toHaveBeenCalledOnce();
    expect(shipped(it_)).toEqual([[1, ["event 1"]]]);
  });

  it("when it is to keep what failed too often, holds the dead letters for ten seconds; they come again", async () => {
    const it_ = world([job(1)]);
    it_.setAside = never;
    const delivered = deliver(Array.from({ length: 10 }, (_, n) => one(n)));
    expect(await lasts(consumeDead(delivered.batch, it_))).toBe(10_000);
    expect(delivered.fates()).toEqual(Array(10).fill(AGAIN));
  });

  it("when it is asked whether a message was counted, lets nothing be decided", async () => {
    const it_ = world([job(1)]);
    const bodies = [1, 2, 3].map((n) => apart(it_, n));
    it_.blobs.bodies.clear();
    const counted = vi.fn(never<string[]>);
    it_.counted = counted;
    const delivered = deliver(bodies);
    expect(await consumed(delivered, it_)).toBe(10_000);
    expect([delivered.fates(), it_.aside, counted.mock.calls.length]).toEqual([[AGAIN, AGAIN, AGAIN], [], 1]);
  });

  it("when it is to note what comes again, delays the end by five seconds, and changes nothing", async () => {
    const it_ = world(null);
    it_.expectAgain = never;
    const delivered = deliver([one(1), one(2)]);
    expect(await consumed(delivered, it_)).toBe(5_000);
    expect(delivered.fates()).toEqual([AGAIN, AGAIN]);
  });
});

describe("a ledger that answers nonsense", () => {
  const { filter: _filter, ...unfiltered } = job(2);
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["an empty object", {}],
    ["jobs that are text", { state: "e.2", jobs: "secret-of-a-customer", optOuts: [], optOutVersion: 0 }],
    ["a job that has lost its filter", { state: "e.2", jobs: [unfiltered], optOuts: [], optOutVersion: 0 }],
    ["yes", true],
  ])("when it counts, has not counted: %s", async (_what, answer) => {
    const it_ = world([job(1)]);
    it_.count = async () => answer;
    const delivered = deliver([one(1)]);
    await consumed(delivered, it_);
    expect([delivered.fates(), expected(it_)]).toEqual([[AGAIN], [id(1)]]);
    expect(it_.commits.map(({ job: to }) => to)).toEqual([1]);
    expect(JSON.stringify(errors.mock.calls)).not.toContain("secret-of-a-customer");
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["text", "yes"],
    ["a number", 1],
  ])("when it is asked what it has counted, lets nothing be decided: %s", async (_what, answer) => {
    const it_ = world([job(1)]);
    const reference = apart(it_, 1);
    it_.blobs.bodies.clear();
    it_.counted = async () => answer as string[];
    const delivered = deliver([reference]);
    await consumed(delivered, it_);
    expect([delivered.fates(), it_.aside]).toEqual([[AGAIN], []]);
  });

  it("is not believed to have counted a message when it names another", async () => {
    const it_ = world([job(1)]);
    const reference = apart(it_, 1);
    it_.blobs.bodies.clear();
    it_.counted = async () => [id(2)];
    const delivered = deliver([reference]);
    await consumed(delivered, it_);
    expect(it_.aside).toMatchObject([{ why: "refers to records that are not there" }]);
  });
});

describe("a log", () => {
  it("that does not answer, holds a batch for two seconds, however many groups it is; the other jobs get all of it", async () => {
    const it_ = world([job(1), job(2)]);
    const append = it_.append.bind(it_);
    let asked = 0;
    it_.append = (offered, build, messages) => {
      if (offered.id === 2) return append(offered, build, messages);
      asked += 1;
      return never();
    };
    const delivered = deliver(Array.from({ length: 12 }, (_, n) => fat(n)));
    expect(await consumed(delivered, it_)).toBe(2_000);
    expect([delivered.fates(), asked]).toEqual([Array(12).fill(AGAIN), 1]);
    expect(it_.commits.map(({ job: to, append: { messages } }) => [to, messages.length])).toEqual([
      [2, 4],
      [2, 4],
      [2, 4],
    ]);
  });

  it("that does not answer, is owed what it could not take: all is acknowledged, and later batches pass it over", async () => {
    const it_ = world([job(1), job(2)]);
    it_.debts = [];
    const append = it_.append.bind(it_);
    const asked = vi.fn();
    it_.append = (offered, build, messages) => {
      if (offered.id === 2) return append(offered, build, messages);
      asked();
      return never();
    };
    const delivered = deliver([one(1), one(2)]);
    expect(await consumed(delivered, it_)).toBe(2_000);
    expect(delivered.fates()).toEqual(["ack", "ack"]);
    expect(it_.debts.map(({ taken, jobs }) => [taken.id, jobs])).toEqual([
      [id(1), [{ id: 1, records: 1 }]],
      [id(2), [{ id: 1, records: 1 }]],
    ]);
    expect(it_.counts).toMatchObject([{ owes: true, done: [{ routed: 1 }, { routed: 1 }] }]);
    // Half a minute later one batch tries again, and only one.
    for (const [laterMs, lasts, times] of [
      [1_000, 0, 1],
      [30_000, 2_000, 2],
      [1_000, 0, 2],
    ] as const) {
      it_.nowMs += laterMs;
      expect(await consumed(deliver([one(3)]), it_)).toBe(lasts);
      expect(asked).toHaveBeenCalledTimes(times);
    }
    expect(it_.debts).toHaveLength(5);
  });

  const { limits: _limits, ...unlimited } = job(1, { version: 2 });
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["an empty object", {}],
    ["a job whose limits were lost on the way", unlimited],
    ["a job of a version that is no number", job(1, { version: Number.NaN })],
    ["another job", job(2, { version: 2 })],
  ])("that names as its job %s, has failed, and nothing is built by that", async (_what, garbage) => {
    const it_ = world([job(1)]);
    it_.script[1] = [{ stale: garbage as never }];
    const delivered = deliver([one(1)]);
    await consumed(delivered, it_);
    expect([delivered.fates(), it_.commits, it_.offers]).toEqual([[AGAIN], [], 1]);
  });

  it.each([undefined, null, {}, { kind: "done" }, "taken"])("that answers %j has taken nothing", async (answer) => {
    const it_ = world([job(1)]);
    it_.append = async () => answer as never;
    const delivered = deliver([one(1)]);
    await consumed(delivered, it_);
    expect([delivered.fates(), it_.counts]).toMatchObject([[AGAIN], [{ done: [], failed: [{ id: id(1) }] }]]);
  });
});

describe("a blob store", () => {
  it("of which one part does not answer, holds a batch for ten seconds, and only what lies in that part comes again", async () => {
    const it_ = world([job(1)]);
    const get = it_.blobs.get;
    it_.blobs.get = (key) => (key.startsWith("a") ? never() : get(key));
    const delivered = deliver([...[1, 2, 3].map((n) => apart(it_, n, "a")), apart(it_, 4, "b"), one(5)]);
    expect(await consumed(delivered, it_)).toBe(10_000);
    expect(delivered.fates()).toEqual([AGAIN, AGAIN, AGAIN, "ack", "ack"]);
    expect(shipped(it_)).toEqual([[1, ["event 4", "event 5"]]]);
  });

  it("that does not say that it has dropped what all jobs have, delays by five seconds, and all is acknowledged", async () => {
    const it_ = world([job(1)]);
    const drop = vi.fn(never<void>);
    it_.blobs.drop = drop;
    const delivered = deliver([...[1, 2, 3].map((n) => apart(it_, n, "a")), one(4)]);
    expect(await consumed(delivered, it_)).toBe(5_000);
    expect([delivered.fates(), drop.mock.calls.length]).toEqual([["ack", "ack", "ack", "ack"], 1]);
  });

  it.each([undefined, "body", {}])("that answers %j has not answered", async (answer) => {
    const it_ = world([job(1)]);
    const reference = apart(it_, 1);
    it_.blobs.get = async () => answer as never;
    const delivered = deliver([reference]);
    await consumed(delivered, it_);
    expect([delivered.fates(), it_.aside]).toEqual([[AGAIN], []]);
  });
});

describe("a batch", () => {
  it("is given back after four minutes, as far as it is not done: the platform would end it, and believe nothing of it", async () => {
    // Thirty jobs, three at a time, and a slow ledger: 28.9 seconds a group. They keep nothing,
    // which spares this test the compression.
    const filter = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "none" } });
    const it_ = world(Array.from({ length: 30 }, (_, n) => job(n + 1, { filter })));
    const afterMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    const append = it_.append.bind(it_);
    const count = it_.count.bind(it_);
    it_.append = (offered, build, messages) => afterMs(1_900).then(() => append(offered, build, messages));
    it_.count = (outcome) => afterMs(9_900).then(() => count(outcome));
    const delivered = deliver(Array.from({ length: 100 }, (_, n) => fat(n)));
    expect(await consumed(delivered, it_)).toBe(240_000);
    expect(delivered.fates()).toEqual([...Array(32).fill("ack"), ...Array(68).fill(AGAIN)]);
    expect(expected(it_).slice(-68).sort()).toEqual(Array.from({ length: 68 }, (_, n) => id(32 + n)));
    // The append under way.
    await vi.advanceTimersByTimeAsync(30_000);
  });

  it("that is in hand for long is noted, so that nobody claims to be complete beyond it; what was set aside is not", async () => {
    const it_ = world([job(1)]);
    // The ledger is slow, and knows of newer jobs four times: it is asked five times.
    it_.newer = Array.from({ length: 4 }, () => [job(1)]);
    const count = it_.count.bind(it_);
    it_.count = async (outcome) => {
      await new Promise((resolve) => setTimeout(resolve, 9_900));
      return count(outcome);
    };
    const cut = one(3).slice(0, -1);
    const delivered = deliver([one(1), cut, one(2)]);
    const done = consumeEvents(delivered.batch, it_);
    await vi.advanceTimersByTimeAsync(39_999);
    expect(expected(it_)).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(expected(it_)).toEqual([id(1), id(2)]);
    await vi.advanceTimersByTimeAsync(10_000);
    await done;
    expect(delivered.fates()).toEqual(["ack", "ack", "ack"]);
  });

  it("that nobody holds up notes nothing", async () => {
    const it_ = world([job(1)]);
    await consumed(deliver([one(1)]), it_);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(expected(it_)).toEqual([]);
  });

  it("that cannot be routed, as no configuration is known, is noted", async () => {
    const it_ = world(null);
    await consumed(deliver([one(1), "bad", one(2)]), it_);
    expect(expected(it_)).toEqual([id(1), id(2)]);
  });
});

describe("a message that cannot be read", () => {
  it("says who it may have been noted as, which is not who it is remembered by", async () => {
    const it_ = world([job(1)]);
    const takenInMs = NOON - DAY_MS;
    await consumed(deliver([one(7, { takenInMs, keyed: true }).slice(0, -1), "no message at all"]), it_);
    expect(it_.aside[0]).toMatchObject({ noted: { id: id(7), takenInMs, keyed: true } });
    expect(it_.aside[0]?.taken.id).not.toBe(id(7));
    expect(it_.aside[1]).not.toHaveProperty("noted");
  });
});
