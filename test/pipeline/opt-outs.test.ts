import { beforeEach, describe, expect, it, vi } from "vitest";
import type { OptOut } from "../../src/job/config.ts";
import { consumeEvents } from "../../src/pipeline/consume.ts";
import { retryDelayS } from "../../src/queue/delivery.ts";
import { NOON, traceRecord } from "../record/samples.ts";
import { deliver, id, job, one, shipped, world } from "./scripted.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("functions whose logging is off", () => {
  const from = (scriptName: string, outcome: string, at = NOON) =>
    traceRecord({ ScriptName: scriptName, Outcome: outcome, EventTimestampMs: at });
  const mixed = [from("shop", "a"), from("till", "b", NOON + 5), from("shop", "c"), from("till", "d", NOON + 3)];
  const off = (scriptName: string, fromMs: number, untilMs: number | null = null): OptOut => ({
    scriptName,
    windows: [{ fromMs, untilMs }],
  });

  it("have their records left out of every job, and counted by function", async () => {
    const it_ = world([job(1), job(2)]);
    it_.optOuts = [off("till", 0)];
    const { batch, fates } = deliver([one(1, { records: mixed })]);
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([
      [1, ["a", "c"]],
      [2, ["a", "c"]],
    ]);
    expect(it_.commits[0]?.append.messages).toMatchObject([{ id: id(1), received: 2 }]);
    expect(it_.counts[0]?.done).toMatchObject([
      {
        ...{ id: id(1), events: 4, routed: 2, notEnabled: 2, notRouted: 0 },
        functions: [
          { scriptName: "shop", routed: 2, notEnabled: 0, notRouted: 0, lastEventMs: NOON },
          { scriptName: "till", routed: 0, notEnabled: 2, notRouted: 0, lastEventMs: NOON + 5 },
        ],
      },
    ]);
    expect(fates()).toEqual(["ack"]);
  });

  it("leave nothing to offer of a message that is theirs alone, and it is acknowledged", async () => {
    const it_ = world([job(1)]);
    it_.optOuts = [off("shop", 0), off("till", 0)];
    const { batch, fates } = deliver([one(1, { records: mixed })]);
    await consumeEvents(batch, it_);
    expect([fates(), it_.offers]).toEqual([["ack"], 0]);
    expect(it_.counts[0]?.done).toMatchObject([{ events: 4, routed: 0, notEnabled: 4, notRouted: 0 }]);
  });

  it("are judged by when an event was taken in: what came before or after ships", async () => {
    const it_ = world([job(1)]);
    it_.optOuts = [off("shop", NOON + 1_000, NOON + 2_000)];
    const at = [999, 1_000, 2_000, 2_001].map((ms, n) => one(n, { takenInMs: NOON + ms }));
    await consumeEvents(deliver(at).batch, it_);
    expect(shipped(it_)).toEqual([[1, ["event 0", "event 3"]]]);
  });

  it("count as off where no job would have had them either", async () => {
    const it_ = world([]);
    it_.optOuts = [off("till", 0)];
    await consumeEvents(deliver([one(1, { records: mixed })]).batch, it_);
    expect(it_.counts[0]?.done).toMatchObject([{ events: 4, routed: 0, notEnabled: 2, notRouted: 2 }]);
  });

  it("that a log knows of and this consumer does not, send the messages back to the queue", async () => {
    const it_ = world([job(1)]);
    it_.script[1] = [{ stale: job(1, { version: 2, optOutVersion: 2 }) }];
    const first = deliver([one(1)]);
    await consumeEvents(first.batch, it_);
    expect([first.fates(), it_.commits]).toEqual([[`retry after ${retryDelayS(1)} s`], []]);
    it_.config = [job(1, { version: 2, optOutVersion: 2 })];
    it_.optOuts = [off("shop", 0)];
    it_.optOutVersion = 2;
    const again = deliver([one(1)], { attempts: 2 });
    await consumeEvents(again.batch, it_);
    expect([again.fates(), it_.commits]).toEqual([["ack"], []]);
  });

  it("that only the ledger knows of, change nothing of what a log has taken: it counts as shipped", async () => {
    const it_ = world([job(1)]);
    it_.newer.push([job(1), job(2)]);
    const count = it_.count.bind(it_);
    it_.count = (outcome) => {
      // From the first answer on.
      it_.optOuts = [off("till", 0)];
      return count(outcome);
    };
    const { batch, fates } = deliver([one(1, { records: mixed })]);
    await consumeEvents(batch, it_);
    expect(shipped(it_)[0]).toEqual([1, ["a", "b", "c", "d"]]);
    expect(it_.counts[0]?.done).toMatchObject([{ events: 4, routed: 4, notEnabled: 0, notRouted: 0 }]);
    expect(fates()).toEqual(["ack"]);
  });

  it("count as what a job has taken, when two copies of a message come in one batch and only the later one ships", async () => {
    const it_ = world([job(1)]);
    it_.optOuts = [off("shop", NOON, NOON + 1_000)];
    const copies = [one(1, { takenInMs: NOON, keyed: true }), one(1, { takenInMs: NOON + 2_000, keyed: true })];
    const { batch, fates } = deliver(copies);
    await consumeEvents(batch, it_);
    expect([fates(), shipped(it_)]).toEqual([["ack", "ack"], [[1, ["event 1"]]]]);
    expect(it_.counts[0]?.done).toMatchObject([{ id: id(1), events: 1, routed: 1, notEnabled: 0, notRouted: 0 }]);
  });

  it("that this consumer knows of as well, hold nothing up when a job has changed", async () => {
    const it_ = world([job(1)]);
    it_.optOutVersion = 2;
    it_.script[1] = [{ stale: job(1, { version: 3, optOutVersion: 2 }) }];
    const { batch, fates } = deliver([one(1)]);
    await consumeEvents(batch, it_);
    expect([fates(), shipped(it_)]).toEqual([["ack"], [[1, ["event 1"]]]]);
  });
});
