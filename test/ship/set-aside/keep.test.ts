import { beforeEach, describe, expect, it, vi } from "vitest";
import { retryDelayS } from "../../../src/formats/queue/retries.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { consumeDead, consumeEvents } from "../../../src/ship/consumer/consume.ts";
import { DAY_MS, NOON } from "../../formats/record/samples.ts";
import { bodyOfLines, damaged, deliver, id, job, one, record, shipped, world } from "../consumer/scripted.ts";

const TEN_DAYS_MS = 10 * DAY_MS;

let errors: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("a message that cannot be read", () => {
  const good = one(9);
  const GOOD_LINE = recordLine(record("good"));
  const bodies: [what: string, body: unknown, why: string, records?: number][] = [
    ["a text", "hello", "not a message of bytes"],
    ["no bytes", new ArrayBuffer(0), "shorter than a header"],
    ["cut short", good.slice(0, -1), "is of another length than it says"],
    ["damaged", damaged(good), "fails its checksum", 1],
    ["a record that is not JSON", bodyOfLines(9, [GOOD_LINE, "{"]), "holds a line that is no record", 2],
    ["an object that is no record", bodyOfLines(9, [GOOD_LINE, "{}"]), "holds a line that is no record", 2],
  ];

  it.each(bodies)("is put on hold whole, acknowledged, and in nothing's way: %s", async (_what, bad, why, records) => {
    const it_ = world([job(1)]);
    const { batch, fates } = deliver([one(1), bad, one(2)]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack", "ack", "ack"]);
    expect(shipped(it_)).toEqual([[1, ["event 1", "event 2"]]]);
    const parts = records === undefined ? [] : [{ id: id(9), takenInMs: NOON, keyed: false, records }];
    expect(it_.held).toMatchObject([{ queue: "logship-events", why, unreadable: why, parts }]);
    if (bad instanceof ArrayBuffer) expect(it_.held[0]?.message).toEqual(bad);
  });

  it("and says that it was taken in at a time yet to come is not believed", async () => {
    const it_ = world([job(1)]);
    const ahead = one(1, { takenInMs: it_.nowMs + DAY_MS + 1 });
    const { batch, fates } = deliver([ahead]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack"]);
    expect(it_.held).toMatchObject([{ why: "says that it was taken in at a time yet to come", message: ahead }]);
  });

  it("without an id gets one from its bytes: the same whenever it comes, another for other bytes", async () => {
    const it_ = world([job(1)]);
    await consumeEvents(deliver(["hello", "world"]).batch, it_);
    await consumeEvents(deliver(["hello"], { attempts: 2 }).batch, it_);
    const ids = it_.held.map(({ hash }) => hash.id);
    expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(ids[2]).toBe(ids[0]);
    expect(ids[1]).not.toBe(ids[0]);
  });

  it("is tried again when even that fails, and its neighbours go on", async () => {
    const it_ = world([job(1)]);
    it_.holdFails = () => true;
    const { batch, fates } = deliver([one(1), "bad", one(2)], { attempts: 4 });
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack", `retry after ${retryDelayS(4)} s`, "ack"]);
    expect(shipped(it_)).toEqual([[1, ["event 1", "event 2"]]]);
  });

  it("leaves none of its text in our own log", async () => {
    const it_ = world([job(1)]);
    it_.holdFails = () => true;
    await consumeEvents(deliver(["secret-of-a-customer", bodyOfLines(1, ["secret-of-a-customer"])]).batch, it_);
    expect(JSON.stringify(errors.mock.calls)).not.toContain("secret-of-a-customer");
  });
});

describe("a message of a newer version", () => {
  const newer = (takenInMs = NOON): ArrayBuffer => {
    const body = one(1, { takenInMs }).slice();
    new Uint8Array(body)[2] = 200;
    return body;
  };

  it("goes back to the queue, and is noted by its first part", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const it_ = world([job(1)]);
    const { batch, fates } = deliver([newer(), one(2)], { attempts: 3 });
    await consumeEvents(batch, it_);
    expect(fates()).toEqual([`retry after ${retryDelayS(3)} s`, "ack"]);
    expect(it_.noted).toContainEqual({ shard: 0, id: id(1), how: "returned" });
  });

  it("is put on hold after ten days in the queue, by its bytes", async () => {
    const it_ = world([job(1)]);
    it_.nowMs = NOON + TEN_DAYS_MS + 1;
    const { batch, fates } = deliver([newer()]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack"]);
    expect(it_.held).toMatchObject([{ why: "of unknown version 200", parts: [], hash: { takenInMs: NOON } }]);
  });
});

describe("a message that has failed for ten days", () => {
  const old = one(1, { takenInMs: NOON - TEN_DAYS_MS });
  const always = job(1, { windows: [{ fromMs: 0, untilMs: null }] });

  it("is put on hold rather than left to expire, whole, and acknowledged", async () => {
    const it_ = world([always]);
    it_.script = ["fail"];
    const { batch, fates } = deliver([old, one(2)], { attempts: 50 });
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack", `retry after ${retryDelayS(50)} s`]);
    const parts = [{ id: id(1), takenInMs: NOON - TEN_DAYS_MS, keyed: false, records: 1 }];
    const why = "could not be processed for ten days";
    expect(it_.held).toMatchObject([{ why, queue: "logship-events", parts, message: old }]);
    expect(it_.held[0]).not.toHaveProperty("unreadable");
  });

  it("is tried on when it is a moment younger", async () => {
    const it_ = world([always]);
    it_.script = ["fail"];
    it_.nowMs = NOON;
    const { batch, fates } = deliver([old], { attempts: 50 });
    await consumeEvents(batch, it_);
    expect([fates(), it_.held]).toEqual([[`retry after ${retryDelayS(50)} s`], []]);
  });

  it("is delivered if it can be, however old", async () => {
    const it_ = world([always]);
    const { batch, fates } = deliver([old], { attempts: 50 });
    await consumeEvents(batch, it_);
    expect([fates(), shipped(it_)]).toEqual([["ack"], [[1, ["event 1"]]]]);
  });
});

describe("the dead-letter queue", () => {
  const queue = "logship-events-dead";

  it("has every message put on hold and acknowledged, readable or not: none is read", async () => {
    const it_ = world(null);
    const two = one(1, { records: [record("a"), record("b")] });
    const { batch, fates } = deliver([two, "bad", damaged(one(3))], { queue });
    await consumeDead(batch, it_);
    expect(fates()).toEqual(["ack", "ack", "ack"]);
    const why = "failed too often";
    expect(it_.held).toMatchObject([
      { queue, why, message: two, parts: [{ id: id(1), records: 2 }] },
      { queue, why, parts: [] },
      { queue, why, parts: [{ id: id(3), records: 1 }] },
    ]);
    expect(it_.held.every(({ unreadable }) => unreadable === undefined)).toBe(true);
  });
});
