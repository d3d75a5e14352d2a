import { beforeEach, describe, expect, it, vi } from "vitest";
import { consumeDead, consumeEvents } from "../../src/pipeline/consume.ts";
import { retryDelayS } from "../../src/queue/delivery.ts";
import { splitMessage } from "../../src/queue/message.ts";
import { recordLine } from "../../src/record/encode.ts";
import { bodyOfLines, deliver, id, job, one, record, type Sent, shipped, world } from "../pipeline/scripted.ts";
import { DAY_MS, NOON } from "../record/samples.ts";

const TEN_DAYS_MS = 10 * DAY_MS;

let errors: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("a message that cannot be read", () => {
  const good = one(9);
  const GOOD_LINE = recordLine(record("good"));
  const bodies: [what: string, body: unknown, why: string, aside: { keyed: boolean; events: number }][] = [
    ["a text", "hello", "not a message of bytes", { keyed: true, events: 1 }],
    ["an object", { a: 1 }, "not a message of bytes", { keyed: true, events: 1 }],
    ["nothing", null, "not a message of bytes", { keyed: true, events: 1 }],
    ["no bytes", new ArrayBuffer(0), "shorter than a header", { keyed: true, events: 1 }],
    [
      "another's bytes",
      new TextEncoder().encode("x".repeat(100)).buffer,
      "not a logship message",
      { keyed: true, events: 1 },
    ],
    ["cut short", good.slice(0, -1), "does not inflate", { keyed: true, events: 1 }],
    [
      "a record that is not JSON",
      bodyOfLines(9, [GOOD_LINE, "{"]),
      "holds a line that is no record",
      { keyed: false, events: 2 },
    ],
    [
      "a record that is no object",
      bodyOfLines(9, [GOOD_LINE, "null"]),
      "holds a line that is no record",
      { keyed: false, events: 2 },
    ],
    [
      "an object that is no record",
      bodyOfLines(9, [GOOD_LINE, "{}"]),
      "holds a line that is no record",
      { keyed: false, events: 2 },
    ],
  ];

  it.each(bodies)(
    "is set aside whole, counted, acknowledged, and in nobody's way: %s",
    async (_what, bad, why, aside) => {
      const it_ = world([job(1)]);
      const { batch, fates } = deliver([one(1), bad, one(2)]);
      await consumeEvents(batch, it_);
      expect(fates()).toEqual(["ack", "ack", "ack"]);
      expect(shipped(it_)).toEqual([[1, ["event 1", "event 2"]]]);
      expect(it_.aside).toMatchObject([
        { queue: "logship-events", why, events: aside.events, taken: { keyed: aside.keyed } },
      ]);
      if (bad instanceof ArrayBuffer)
        expect(new Uint8Array(it_.aside[0]?.message ?? new ArrayBuffer(1))).toEqual(new Uint8Array(bad));
    },
  );

  it("is not believed what it says of itself: neither how many events it holds nor who it is", async () => {
    const it_ = world([job(1)]);
    const cut = one(5, { takenInMs: NOON + 7, keyed: true, records: [record("a"), record("b"), record("c")] }).slice(
      0,
      -9,
    );
    await consumeEvents(deliver([cut]).batch, it_);
    expect(it_.aside[0]).toMatchObject({ taken: { id: expect.not.stringContaining(id(5)), keyed: true }, events: 1 });
  });

  it("without an id gets one from its bytes: the same whenever it comes, another for other bytes", async () => {
    const it_ = world([job(1)]);
    await consumeEvents(deliver(["hello", "world"]).batch, it_);
    await consumeEvents(deliver(["hello"], { attempts: 2 }).batch, it_);
    const ids = it_.aside.map(({ taken }) => taken.id);
    expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(ids[2]).toBe(ids[0]);
    expect(ids[1]).not.toBe(ids[0]);
  });

  it("is tried again when even setting aside fails, and its neighbours go on", async () => {
    const it_ = world([job(1)]);
    it_.asideFails = () => true;
    const { batch, fates } = deliver([one(1), "bad", one(2)], { attempts: 4 });
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack", `retry after ${retryDelayS(4)} s`, "ack"]);
    expect(shipped(it_)).toEqual([[1, ["event 1", "event 2"]]]);
  });

  it("does not keep another of its kind from being set aside when the ledger fails once", async () => {
    const it_ = world([job(1)]);
    it_.asideFails = (n) => n === 1;
    const { batch, fates } = deliver(["bad", "worse"]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual([`retry after ${retryDelayS(1)} s`, "ack"]);
  });

  it("leaves none of its text in our own log", async () => {
    const it_ = world([job(1)]);
    it_.asideFails = () => true;
    await consumeEvents(deliver(["secret-of-a-customer", bodyOfLines(1, ["secret-of-a-customer"])]).batch, it_);
    expect(JSON.stringify(errors.mock.calls)).not.toContain("secret-of-a-customer");
  });
});

describe("a message that has failed for ten days", () => {
  const old = one(1, { takenInMs: NOON - TEN_DAYS_MS });
  const always = job(1, { windows: [{ fromMs: 0, untilMs: null }] });

  it("is set aside rather than left to expire, whole, and acknowledged", async () => {
    const it_ = world([always]);
    it_.script[1] = ["fail"];
    const { batch, fates } = deliver([old, one(2)], { attempts: 90 });
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack", `retry after ${retryDelayS(90)} s`]);
    expect(it_.aside).toMatchObject([
      {
        why: "could not be processed for ten days",
        events: 1,
        taken: { id: id(1), takenInMs: NOON - TEN_DAYS_MS, keyed: false },
      },
    ]);
    expect(new Uint8Array(it_.aside[0]?.message ?? new ArrayBuffer(0))).toEqual(new Uint8Array(old));
  });

  it("is set aside with the name of its queue", async () => {
    const it_ = world([always]);
    it_.script[1] = ["fail"];
    await consumeEvents(deliver([old]).batch, it_);
    expect(it_.aside[0]?.queue).toBe("logship-events");
  });

  it("is tried on when it is a moment younger", async () => {
    const it_ = world([always]);
    it_.script[1] = ["fail"];
    it_.nowMs = NOON;
    const { batch, fates } = deliver([old], { attempts: 90 });
    await consumeEvents(batch, it_);
    expect([fates(), it_.aside]).toEqual([[`retry after ${retryDelayS(90)} s`], []]);
  });

  it("is delivered if it can be, however old", async () => {
    const it_ = world([always]);
    const { batch, fates } = deliver([old], { attempts: 90 });
    await consumeEvents(batch, it_);
    expect([fates(), shipped(it_)]).toEqual([["ack"], [[1, ["event 1"]]]]);
  });

  it("stays in the queue when it cannot be set aside", async () => {
    const it_ = world([always]);
    it_.script[1] = ["fail"];
    it_.asideFails = () => true;
    const { batch, fates } = deliver([old], { attempts: 90 });
    await consumeEvents(batch, it_);
    expect(fates()).toEqual([`retry after ${retryDelayS(90)} s`]);
  });
});

describe("the dead-letter queue", () => {
  it("has every message set aside and acknowledged, readable or not", async () => {
    const it_ = world(null);
    const { batch, fates } = deliver([one(1, { records: [record("a"), record("b")] }), "bad"], {
      queue: "logship-events-dead",
    });
    await consumeDead(batch, it_);
    expect(fates()).toEqual(["ack", "ack"]);
    expect(it_.aside).toMatchObject([
      { queue: "logship-events-dead", why: "failed too often", events: 2, taken: { id: id(1) } },
      { queue: "logship-events-dead", why: "failed too often", events: 1 },
    ]);
  });

  it("keeps what comes for the fourth time without reading it, as that may be what kills the handler", async () => {
    const kept = async (attempts: number) => {
      const it_ = world(null);
      const cut = one(1).slice(0, -1);
      const { batch, fates } = deliver([cut], { queue: "logship-events-dead", attempts });
      await consumeDead(batch, it_);
      expect(fates()).toEqual(["ack"]);
      expect(new Uint8Array(it_.aside[0]?.message ?? new ArrayBuffer(0))).toEqual(new Uint8Array(cut));
      return it_.aside[0]?.unreadable;
    };
    expect([await kept(3), await kept(4)]).toEqual(["does not inflate", undefined]);
  });

  it("keeps what cannot be set aside", async () => {
    const it_ = world(null);
    it_.asideFails = (n) => n === 1;
    const { batch, fates } = deliver([one(1), one(2)], { queue: "logship-events-dead", attempts: 2 });
    await consumeDead(batch, it_);
    expect(fates()).toEqual([`retry after ${retryDelayS(2)} s`, "ack"]);
  });
});

describe("a message that looks like records, and is none inside", () => {
  // Only another producer of the queue can make one: its checksum is right.
  const broken = recordLine(record("good")).replace('"Outcome":"good"', '"Outcome":oops');
  const filter = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "good" } });

  it("is set aside at its first delivery, and its neighbours go on", async () => {
    const it_ = world([job(1, { filter })]);
    const first = deliver([bodyOfLines(1, [recordLine(record("good"))]), bodyOfLines(2, [broken])]);
    await consumeEvents(first.batch, it_);
    expect(first.fates()).toEqual(["ack", "ack"]);
    expect(shipped(it_)).toEqual([[1, ["good"]]]);
    expect(it_.aside).toMatchObject([{ why: "holds a line that is no record", taken: { id: id(2) }, events: 1 }]);
  });
});

it.each([-1, 253_402_300_800_000, 2 ** 53 - 1])(
  "a record of the time %i is none: no object could be named after it",
  async (time) => {
    const it_ = world([job(1)]);
    const line = recordLine(record("x")).replace(/"EventTimestampMs":\d+/, `"EventTimestampMs":${time}`);
    const { batch, fates } = deliver([bodyOfLines(1, [line]), one(2)]);
    await consumeEvents(batch, it_);
    expect([fates(), shipped(it_)]).toEqual([["ack", "ack"], [[1, ["event 2"]]]]);
    expect(it_.aside).toMatchObject([{ why: "holds a line that is no record" }]);
  },
);

describe("a message whose records lie elsewhere", () => {
  /** A reference, its records in the blob store. */
  function apart(it_: ReturnType<typeof world>, n: number, fields: Partial<Sent> = {}): ArrayBuffer {
    const { reference, key, body } = splitMessage(new Uint8Array(one(n, fields)));
    it_.blobs.bodies.set(key, body);
    return reference.buffer;
  }

  it("is committed like any other, and what it refers to is dropped before it is acknowledged", async () => {
    const log: string[] = [];
    const it_ = world([job(1)], log);
    const { batch, fates } = deliver([one(1), apart(it_, 2), one(3)], { log });
    it_.blobs.drop = async (dropped) => void log.push(`drop ${dropped.slice(0, 32)}`);
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([[1, ["event 1", "event 2", "event 3"]]]);
    expect(fates()).toEqual(["ack", "ack", "ack"]);
    expect(log).toEqual(["commit 1", "count", "ack m0", `drop ${id(2)}`, "ack m1", "ack m2"]);
  });

  it("keeps what it refers to while a job has not committed", async () => {
    const it_ = world([job(1), job(2)]);
    it_.script[2] = ["fail"];
    const reference = apart(it_, 1);
    await consumeEvents(deliver([reference]).batch, it_);
    expect(it_.blobs.bodies.size).toBe(1);
    const { batch, fates } = deliver([reference], { attempts: 2 });
    await consumeEvents(batch, it_);
    expect([fates(), it_.blobs.bodies.size]).toEqual([["ack"], 0]);
  });

  it("is acknowledged even if what it refers to cannot be dropped: that is swept one day", async () => {
    const it_ = world([job(1)]);
    const reference = apart(it_, 1);
    it_.blobs.drop = () => Promise.reject(new Error("the blob store does not answer"));
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const { batch, fates } = deliver([reference]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack"]);
  });

  it("of a request that is repeated has its own, and leaves that of the other copy", async () => {
    const it_ = world([job(1)]);
    const first = apart(it_, 1, { keyed: true });
    const second = apart(it_, 1, { keyed: true, takenInMs: NOON + 5_000 });
    expect(it_.blobs.bodies.size).toBe(2);
    const early = deliver([first]);
    await consumeEvents(early.batch, it_);
    expect([early.fates(), it_.blobs.bodies.size]).toEqual([["ack"], 1]);
    it_.script[1] = [{ known: [id(1)] }];
    const late = deliver([second]);
    await consumeEvents(late.batch, it_);
    expect([late.fates(), it_.blobs.bodies.size]).toEqual([["ack"], 0]);
    expect(shipped(it_)[0]).toEqual([1, ["event 1"]]);
  });

  it("is waited for ten seconds, and its neighbours no longer than that", async () => {
    vi.useFakeTimers();
    const it_ = world([job(1)]);
    it_.nowMs = NOON;
    const reference = apart(it_, 1);
    it_.blobs.get = () => new Promise(() => {});
    const { batch, fates } = deliver([reference, one(2)]);
    const done = consumeEvents(batch, it_);
    await vi.advanceTimersByTimeAsync(10_000);
    await done;
    expect([fates(), shipped(it_)]).toEqual([[`retry after ${retryDelayS(1)} s`, "ack"], [[1, ["event 2"]]]]);
    expect(it_.expected).toMatchObject([{ id: id(1), takenInMs: NOON }]);
    vi.useRealTimers();
  });

  it("is acknowledged when it comes again after all was done: its records are gone, and it was counted", async () => {
    const it_ = world([job(1)]);
    const reference = apart(it_, 1);
    it_.blobs.bodies.clear();
    it_.done.add(id(1));
    const { batch, fates } = deliver([reference, one(2)], { attempts: 2 });
    await consumeEvents(batch, it_);
    expect([fates(), shipped(it_), it_.aside]).toEqual([["ack", "ack"], [[1, ["event 2"]]], []]);
  });

  it("is set aside when its records are gone and nobody has counted it: that must be seen", async () => {
    const it_ = world([job(1)]);
    const reference = apart(it_, 1);
    it_.blobs.bodies.clear();
    const { batch, fates } = deliver([reference]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack"]);
    expect(it_.aside).toMatchObject([{ why: "refers to records that are not there", taken: { id: id(1) }, events: 1 }]);
  });

  it("is tried again while the blob store does not answer, and its neighbours go on", async () => {
    const it_ = world([job(1)]);
    const reference = apart(it_, 1);
    it_.blobs.get = () => Promise.reject(new Error("the blob store does not answer"));
    const { batch, fates } = deliver([reference, one(2)]);
    await consumeEvents(batch, it_);
    expect([fates(), shipped(it_)]).toEqual([[`retry after ${retryDelayS(1)} s`, "ack"], [[1, ["event 2"]]]]);
  });

  it("is set aside whole, with what it refers to, when it has failed too often", async () => {
    const it_ = world(null);
    const reference = apart(it_, 1);
    const { batch, fates } = deliver([reference], { queue: "logship-events-dead" });
    await consumeDead(batch, it_);
    expect(fates()).toEqual(["ack"]);
    expect(new Uint8Array(it_.aside[0]?.message ?? new ArrayBuffer(0))).toEqual(new Uint8Array(one(1)));
  });
});
