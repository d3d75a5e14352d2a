import { beforeEach, describe, expect, it, vi } from "vitest";
import { handleTail, type TailContext } from "../../src/intake/tail.ts";
import type { TraceRecord } from "../../src/record/fields.ts";
import vectors from "../fixtures/tail-vectors.json";
import { noise, TAKEN } from "../record/samples.ts";
import { type ScriptedQueue, scriptedPlatform, scriptedQueue } from "./scripted.ts";

interface Scripted extends TailContext {
  queue: ScriptedQueue;
  lost: number[];
}

function context(queue = scriptedQueue(), config: Partial<TailContext["config"]> = {}): Scripted {
  const lost: number[] = [];
  return {
    queue,
    config: { selfName: "logship", defaultScriptName: "unnamed", ...config },
    platform: scriptedPlatform(TAKEN),
    lost,
    countLost: async (events) => {
      lost.push(events);
    },
  };
}

const records = (queue: ScriptedQueue): TraceRecord[] =>
  queue.taken().flatMap(({ lines }) => lines.map((line) => JSON.parse(line) as TraceRecord));

/** An item that fills a message of its own. */
const large = (n: number) => ({
  event: null,
  scriptName: `large-${n}`,
  logs: [{ level: "log", message: [noise(150_000, n)], timestamp: 1 }],
});
/** An item that fits none. */
const huge = () => ({
  event: null,
  scriptName: "huge",
  logs: [{ level: "log", message: [noise(900_000, 99)], timestamp: 1 }],
});

let errors: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("tail()", () => {
  it("sends the events of an invocation, stamped with the time of intake", async () => {
    const scripted = context();
    await handleTail(
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
    await handleTail(items, scripted);
    expect(records(scripted.queue).map(({ ScriptName }) => ScriptName)).toEqual(["shop", "unnamed", "logship-2"]);
    expect(scripted.lost).toEqual([]);
  });

  it("asks nothing of the queue when all events are its own, or there are none", async () => {
    const scripted = context();
    await handleTail([{ event: null, scriptName: "logship" }], scripted);
    await handleTail([], scripted);
    expect(scripted.queue.calls).toEqual([]);
    expect(scripted.lost).toEqual([]);
  });

  it("takes every name for another's when it does not know its own", async () => {
    const scripted = context(scriptedQueue(), { selfName: null });
    await handleTail([{ event: null, scriptName: "logship" }], scripted);
    expect(records(scripted.queue).length).toBe(1);
  });

  it("names what has no name as it is told to", async () => {
    const scripted = context(scriptedQueue(), { defaultScriptName: "lab" });
    await handleTail([{ event: null, scriptName: null }], scripted);
    expect(records(scripted.queue)[0]?.ScriptName).toBe("lab");
  });

  it("makes the best of an odd event, and counts what is no event at all", async () => {
    const scripted = context();
    await handleTail([{ event: null, outcome: 5, logs: "none" }, null, "text", {}, { event: null }], scripted);
    expect(records(scripted.queue).map(({ Outcome }) => Outcome)).toEqual(["5", ""]);
    expect(scripted.lost).toEqual([3]);
  });

  it("counts an event that throws when it is looked at, and sends its neighbours", async () => {
    const scripted = context();
    const hostile = {
      get event() {
        throw new Error("no");
      },
    };
    await handleTail([{ event: null }, hostile, { event: null }], scripted);
    expect(records(scripted.queue).length).toBe(2);
    expect(scripted.lost).toEqual([1]);
  });

  it("counts an event that fits no message, and sends its neighbours", async () => {
    const scripted = context();
    await handleTail([{ event: null, outcome: "before" }, huge(), { event: null, outcome: "after" }], scripted);
    expect(records(scripted.queue).map(({ Outcome }) => Outcome)).toEqual(["before", "after"]);
    expect(scripted.lost).toEqual([1]);
  });

  it("tries again when the queue refuses, and loses nothing", async () => {
    const scripted = context(scriptedQueue((call) => call <= 2));
    await handleTail([{ event: null }], scripted);
    expect(records(scripted.queue).length).toBe(1);
    expect(scripted.lost).toEqual([]);
  });

  it("counts what the queue refuses for good, and does not throw", async () => {
    const scripted = context(scriptedQueue(() => true));
    await handleTail([{ event: null }, { event: null }, null], scripted);
    expect(scripted.lost).toEqual([3]);
    expect(errors).toHaveBeenCalled();
  });

  it("counts as lost only what the queue has not taken", async () => {
    const scripted = context(scriptedQueue((call) => call > 1));
    await handleTail([large(1), large(2), large(3)], scripted);
    expect(records(scripted.queue).map(({ ScriptName }) => ScriptName)).toEqual(["large-1", "large-2"]);
    expect(scripted.lost).toEqual([1]);
  });

  it("does not throw even when the loss cannot be counted", async () => {
    const scripted = context(scriptedQueue(() => true));
    scripted.countLost = () => Promise.reject(new Error("the ledger does not answer"));
    await expect(handleTail([{ event: null }], scripted)).resolves.toBeUndefined();
    expect(errors).toHaveBeenCalled();
  });

  it("writes no text of an event into its own log", async () => {
    const scripted = context(scriptedQueue(() => true));
    await handleTail(
      [{ event: null, logs: [{ level: "log", message: ["secret-of-a-customer"] }] }, "secret-of-a-customer"],
      scripted,
    );
    expect(JSON.stringify(errors.mock.calls)).not.toContain("secret-of-a-customer");
  });
});
