import { beforeEach, describe, expect, it, vi } from "vitest";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { GATHER_MS } from "../../../src/ship/intake/packing-policy.ts";
import { HOLD_MS } from "../../../src/ship/intake/queue-backoff.ts";
import { handleTail } from "../../../src/ship/intake/tail.ts";
import { noise, TAKEN } from "../../formats/record/samples.ts";
import vectors from "../../support/tail-vectors.ts";
import { noLog, type ScriptedTail, type Sent, scriptedLog, scriptedQueue, scriptedTail, tailed } from "./scripted.ts";

/** To the next whole interval of the clock, when isolates hand over to the packer. */
const TO_INTERVAL_MS = GATHER_MS - (TAKEN % GATHER_MS);

const context = (
  fails?: (call: number) => boolean,
  config: Partial<ScriptedTail["config"]> = {},
  log = scriptedLog(),
): ScriptedTail => scriptedTail({ queue: scriptedQueue(fails), config, log });

const records = (way: { taken(): Sent[] }): TraceRecord[] =>
  way.taken().flatMap(({ lines }) => lines.map((line) => JSON.parse(line) as TraceRecord));

/** An item that fills a message. */
const large = (n: number) => ({
  event: null,
  scriptName: `large-${n}`,
  logs: [{ level: "log", message: [noise(150_000, n)], timestamp: 1 }],
});
/** An item too large for the queue. */
const huge = (characters = 900_000) => ({
  event: null,
  outcome: "huge",
  logs: [{ level: "log", message: [noise(characters, 99)], timestamp: 1 }],
});

let errors: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

describe("tail()", () => {
  it("sends the events of an invocation, stamped with the time of intake", async () => {
    const scripted = context();
    await tailed(
      vectors.map(({ item }) => item),
      scripted,
    );
    expect(records(scripted.queue)).toEqual(vectors.map(({ record }) => record));
    for (const message of scripted.queue.taken()) expect(message).toMatchObject({ takenInMs: TAKEN, keyed: false });
    expect(scripted.lost).toEqual([]);
    expect(errors).not.toHaveBeenCalled();
  });

  it("leaves its own events out, or it would feed itself for ever", async () => {
    const scripted = context();
    const items = ["shop", "logship", null, "logship-2"].map((scriptName) => ({ event: null, scriptName }));
    await tailed(items, scripted);
    expect(records(scripted.queue).map(({ ScriptName }) => ScriptName)).toEqual(["shop", "unnamed", "logship-2"]);
    expect(scripted.lost).toEqual([]);
  });

  it("takes every name for another's when it does not know its own", async () => {
    const scripted = context(undefined, { selfName: null });
    await tailed([{ event: null, scriptName: "logship" }], scripted);
    expect(records(scripted.queue).length).toBe(1);
  });

  it("names what has no name as it is told to", async () => {
    const scripted = context(undefined, { defaultScriptName: "lab" });
    await tailed([{ event: null, scriptName: null }], scripted);
    expect(records(scripted.queue)[0]?.ScriptName).toBe("lab");
  });

  it("makes the best of an odd event, and counts what is no event at all", async () => {
    const scripted = context();
    await tailed([{ event: null, outcome: 5, logs: "none" }, null, "text", {}, { event: null }], scripted);
    expect(records(scripted.queue).map(({ Outcome }) => Outcome)).toEqual(["5", ""]);
    expect(scripted.lost).toEqual(["unfit 3"]);
  });

  it("counts an event that throws when it is looked at, and sends its neighbours", async () => {
    const scripted = context();
    const hostile = {
      get event() {
        throw new Error("no");
      },
    };
    await tailed([{ event: null }, hostile, { event: null }], scripted);
    expect(records(scripted.queue).length).toBe(2);
    expect(scripted.lost).toEqual(["unfit 1"]);
  });

  it("appends an event that the queue cannot carry to the log, and sends its neighbours", async () => {
    const scripted = context();
    await tailed([{ event: null, outcome: "before" }, huge(), { event: null, outcome: "after" }], scripted);
    expect(records(scripted.queue).map(({ Outcome }) => Outcome)).toEqual(["before", "after"]);
    expect(records(scripted.log).map(({ Outcome }) => Outcome)).toEqual(["huge"]);
    expect(scripted.lost).toEqual([]);
  });

  it("counts an event that is too large altogether, and sends its neighbours", async () => {
    const scripted = context();
    await tailed([{ event: null, outcome: "before" }, huge(5_000_000), { event: null, outcome: "after" }], scripted);
    expect(records(scripted.queue).map(({ Outcome }) => Outcome)).toEqual(["before", "after"]);
    expect(scripted.lost).toEqual(["unfit 1"]);
  });

  it("gathers the good events of a call before it waits for anything, the count of the bad ones included", async () => {
    const scripted = context();
    scripted.countLost = () => new Promise(() => {});
    await handleTail([null, { event: null, outcome: "good" }], scripted);
    await scripted.living[1];
    expect(records(scripted.queue).map(({ Outcome }) => Outcome)).toEqual(["good"]);
  });

  it("counts as lost what the log does not take either, and does not throw", async () => {
    const scripted = context((call) => call > 1, {}, noLog());
    await tailed([large(1), large(2), large(3), huge(5_000_000)], scripted);
    expect(scripted.lost.toSorted()).toEqual(["lost 1", "unfit 1"]);
    expect(errors).toHaveBeenCalled();
  });

  it("counts a loss with the next one where it cannot be counted, and once the log answers", async () => {
    const scripted = context(() => true, {}, noLog());
    let answers = false;
    scripted.countLost = async (events, why) => {
      if (!answers) throw new Error("the log does not answer");
      scripted.lost.push(`${why} ${events}`);
    };
    await expect(tailed([{ event: null }, null], scripted)).resolves.toBeUndefined();
    expect([scripted.lost, scripted.gatherer.uncounted]).toEqual([[], { lost: 1, unfit: 1 }]);
    answers = true;
    scripted.append = scriptedLog().append;
    await tailed([{ event: null }, null], scripted);
    expect([scripted.lost, scripted.gatherer.uncounted]).toEqual([["unfit 2", "lost 1"], { lost: 0, unfit: 0 }]);
    await tailed([{ event: null }], scripted);
    expect(scripted.lost).toHaveLength(2);
  });

  it("gathers for ten seconds while the queue refuses, makes one append of it, and tries the queue first", async () => {
    const scripted = context(() => true);
    let nowMs = TAKEN;
    const ends: (() => void)[] = [];
    const slept: number[] = [];
    scripted.platform = {
      now: () => nowMs,
      sleep: (ms) => {
        slept.push(ms);
        if (ms < GATHER_MS) return Promise.resolve();
        return new Promise((resolve) => ends.push(resolve));
      },
    };
    scripted.gatherer.policy.failed(nowMs);
    const wake = async (ms: number): Promise<void> => {
      nowMs += ms;
      for (const end of ends.splice(0)) end();
      await Promise.all(scripted.living);
    };
    await handleTail([{ event: null }], scripted);
    await wake(GATHER_MS);
    expect([scripted.queue.calls.length, scripted.log.calls.length]).toEqual([3, 1]);
    for (let n = 0; n < 50; n++) {
      nowMs += 100;
      await handleTail([{ event: null }, large(n)], scripted);
    }
    expect(slept.at(-1)).toBe(HOLD_MS - 100);
    expect([scripted.queue.calls.length, scripted.log.calls.length]).toEqual([3, 1]);
    await wake(5_000);
    expect([scripted.queue.calls.length, records(scripted.log).length, scripted.lost]).toEqual([
      6,
      1 + 2 * 26,
      ["lost 48"],
    ]);
  });

  it("writes no text of an event into its own log", async () => {
    const scripted = context(() => true);
    await tailed(
      [{ event: null, logs: [{ level: "log", message: ["secret-of-a-customer"] }] }, "secret-of-a-customer"],
      scripted,
    );
    expect(JSON.stringify(errors.mock.calls)).not.toContain("secret-of-a-customer");
  });

  it("makes few messages of many invocations: the first one waits a moment, for all", async () => {
    const scripted = context();
    const moment = Promise.withResolvers<void>();
    const slept: number[] = [];
    let nowMs = TAKEN;
    scripted.platform = {
      now: () => nowMs,
      sleep: (ms) => {
        slept.push(ms);
        return moment.promise;
      },
    };
    for (let n = 0; n < 600; n++) await handleTail([{ event: null, outcome: `${n}` }], scripted);
    expect([slept, scripted.living.length, scripted.queue.calls.length]).toEqual([[TO_INTERVAL_MS], 1, 0]);
    nowMs += GATHER_MS;
    moment.resolve();
    await Promise.all(scripted.living);
    expect(records(scripted.queue).map(({ Outcome }) => Outcome)).toEqual(
      Array.from({ length: 600 }, (_, n) => `${n}`),
    );
    expect(scripted.queue.taken().length).toBe(1);
    // Until then only this isolate had it.
    expect(scripted.queue.taken()[0]?.takenInMs).toBe(TAKEN + GATHER_MS);
  });

  it("does not wait for the moment to end when a message is full", async () => {
    const scripted = context();
    const never = new Promise<void>(() => {});
    scripted.platform = { now: () => TAKEN, sleep: () => never };
    const item = (n: number) => ({
      event: null,
      scriptName: `s${n}`,
      logs: [{ level: "log", message: ["x".repeat(10_000)] }],
    });
    for (let n = 0; n < 100; n++) await handleTail([item(n)], scripted);
    await Promise.all(scripted.living.slice(1));
    expect(scripted.living.length).toBe(3);
    expect(scripted.queue.taken().map(({ records }) => records)).toEqual([46, 46]);
    expect(scripted.gatherer.take().length).toBe(8);
  });
});
