import { beforeEach, describe, expect, it, vi } from "vitest";
import { QUEUE_MESSAGE_MAX_BYTES } from "../../../src/base/limits.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import { type PackedMessage, type PackingContext, packRecords } from "../../../src/ship/intake/packing.ts";
import { QueueBackoff } from "../../../src/ship/intake/queue-backoff.ts";
import { REQUEST_DEADLINES, SendError, type Sending, sendMessages } from "../../../src/ship/intake/send.ts";
import { SHARD_BUSY, SHARD_FULL, SHARD_NOT_READY } from "../../../src/ship/log/append-types.ts";
import { noisyLine, TAKEN } from "../../formats/record/samples.ts";
import {
  noLog,
  noQueue,
  type ScriptedLog,
  type ScriptedQueue,
  scriptedLog,
  scriptedPlatform,
  scriptedQueue,
} from "./scripted.ts";

const CONTEXT: PackingContext = { takenInMs: TAKEN, source: "tail", idOf: randomIds(1), keyed: false, shards: 1 };

function packed(lines: readonly string[], context: PackingContext = CONTEXT): PackedMessage[] {
  const result = packRecords(lines, context);
  if (!result.ok) throw new Error("not the messages this test is about");
  return result.messages;
}

/** Five messages of some 100 kB: three calls, of two, two and one. */
function fiveMessages(): PackedMessage[] {
  const messages = packed(Array.from({ length: 5 }, (_, i) => noisyLine(125_000, i)));
  expect(messages.length).toBe(5);
  return messages;
}

/** Three, of which the queue cannot carry the second. */
function withLarge(context = CONTEXT): PackedMessage[] {
  const small = (n: number) => packed([noisyLine(500, n)], context);
  const messages = [...small(1), ...packed([noisyLine(500_000, 2)], context), ...small(3)];
  expect(messages.map(({ body }) => body.length > QUEUE_MESSAGE_MAX_BYTES)).toEqual([false, true, false]);
  return messages;
}

const send = (
  messages: readonly PackedMessage[],
  sending: Sending,
  taken?: (group: readonly PackedMessage[]) => void,
) => sendMessages(messages, sending, REQUEST_DEADLINES, taken);

const to = (queue: ScriptedQueue, log: ScriptedLog = noLog(), platform = scriptedPlatform(TAKEN)) => ({
  queue,
  append: log.append,
  platform,
});

const failure = (sending: Promise<unknown>) => sending.catch((error: unknown) => error) as Promise<SendError>;

/** Bytes as a text of as many characters, which is compared faster. */
const textOf = (bytes?: Uint8Array): string => new TextDecoder("latin1").decode(bytes);

const ids = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);

let warned: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  warned = vi.spyOn(console, "warn").mockImplementation(() => {});
});

describe("sending messages", () => {
  it("hands all of them to the queue as bytes, in order, and waits for nothing", async () => {
    const messages = fiveMessages();
    const queue = scriptedQueue();
    const log = scriptedLog();
    const platform = scriptedPlatform(TAKEN);
    expect(await send(messages, to(queue, log, platform))).toEqual(new Set());
    expect(queue.calls.map((call) => call.messages.length)).toEqual([2, 2, 1]);
    expect(ids(queue.taken())).toEqual(ids(messages));
    expect(new Set(queue.calls.flatMap(({ contentTypes }) => contentTypes))).toEqual(new Set(["bytes"]));
    expect([platform.slept, log.calls]).toEqual([[], []]);
  });

  it("asks nothing of queue or log when there is nothing", async () => {
    const queue = noQueue();
    await send([], to(queue));
    expect(queue.calls).toEqual([]);
  });

  it("sends a group again that the queue refused, the very same bytes, and goes on with the next", async () => {
    const messages = fiveMessages();
    const queue = scriptedQueue((call) => call === 2);
    const platform = scriptedPlatform(TAKEN);
    await send(messages, to(queue, noLog(), platform));
    expect(queue.calls.map(({ taken, messages: sent }) => [taken, sent.length])).toEqual([
      [true, 2],
      [false, 2],
      [true, 2],
      [true, 1],
    ]);
    expect(queue.calls[2]?.bodies.map(textOf)).toEqual(queue.calls[1]?.bodies.map(textOf));
    expect(ids(queue.taken())).toEqual(ids(messages));
    expect(platform.slept).toEqual([100]);
  });

  it("waits longer before the third try than before the second", async () => {
    const queue = scriptedQueue((call) => call <= 2);
    const platform = scriptedPlatform(TAKEN);
    await send(fiveMessages(), to(queue, noLog(), platform));
    expect(platform.slept).toEqual([100, 400]);
    expect(queue.taken().length).toBe(5);
  });

  it.each([
    [1, 5],
    [2, 3],
    [3, 1],
  ])("appends what is left when call %i is the one that fails, and tells of each group once", async (failing, left) => {
    const queue = scriptedQueue((call) => call >= failing);
    const log = scriptedLog();
    const messages = fiveMessages();
    const told: string[] = [];
    const fresh = await send(messages, to(queue, log), (group) => void told.push(...ids(group)));
    expect(ids(queue.taken())).toEqual(ids(messages.slice(0, 5 - left)));
    expect(ids(log.taken())).toEqual(ids(messages.slice(5 - left)));
    expect(fresh).toEqual(new Set(ids(messages.slice(5 - left))));
    expect(told.toSorted()).toEqual(ids(messages).toSorted());
    expect(warned).toHaveBeenCalledExactlyOnceWith({
      message: "the queue did not take events; they go to the log",
      error: "Error: Unknown Internal Error (15000)",
    });
  });

  it("appends ten at once, however small: a reader has the records of one append in memory", async () => {
    const messages = Array.from({ length: 25 }, (_, n) => packed([noisyLine(500, n)])).flat();
    const log = scriptedLog();
    await send(messages, to(noQueue(), log));
    expect(log.calls.map(({ append }) => append.parts.length)).toEqual([10, 10, 5]);
  });

  it("says which messages neither took, and why the log did not", async () => {
    const messages = fiveMessages();
    const error = await failure(send(messages, to(scriptedQueue((call) => call > 1))));
    expect(error).toBeInstanceOf(SendError);
    expect(ids(error.unsent)).toEqual(ids(messages.slice(2)));
    expect(error.cause).toEqual(new Error("the log does not answer"));
  });
});

describe("what goes to the log directly", () => {
  it("is what the queue cannot carry; the rest goes to the queue", async () => {
    const messages = withLarge();
    const [queue, log] = [scriptedQueue(), scriptedLog()];
    expect(await send(messages, to(queue, log))).toEqual(new Set(ids(messages.slice(1, 2))));
    expect(ids(queue.taken())).toEqual([messages[0]?.id, messages[2]?.id]);
    expect(ids(log.taken())).toEqual([messages[1]?.id]);
  });

  it("is told with its heads, and nothing that is made for jobs", async () => {
    const [, large] = withLarge();
    const log = scriptedLog();
    await send([large as PackedMessage], to(scriptedQueue(), log));
    const [{ shard, append } = { shard: -1, append: undefined }] = log.calls;
    expect(shard).toBe(0);
    expect(append).toMatchObject({ v: 1, prepared: [], queue: null, work: { batches: 0, offered: 0 }, state: "" });
    expect(append?.parts).toMatchObject([
      { id: large?.id, takenInMs: TAKEN, keyed: false, source: "tail", bytes: 0, functions: [{ records: 1 }] },
    ]);
    const records = append?.records.map(({ body, parts }) => [textOf(body), parts]);
    expect(records).toEqual([[textOf(large?.body), [large?.id]]]);
  });

  it("goes to its own shard, in calls of no more than a reader has in memory at once", async () => {
    const [a, b] = [1, 2].map((n) => ({ ...CONTEXT, shards: 64, idOf: () => `00${n}0`.padEnd(32, "0") }));
    const one = fiveMessages().map((message) => ({ ...message, shard: 5 }));
    expect([a, b].flatMap((context) => packed([noisyLine(500, 1)], context)).map(({ shard }) => shard)).toEqual([
      0x10, 0x20,
    ]);
    const many = Array.from({ length: 4 }, () => one).flat();
    const other = packed([noisyLine(500, 1)], a);
    const log = scriptedLog();
    await send([...many, ...other], to(noQueue(), log));
    const calls = log.calls.map(({ shard, append }) => ({
      shard,
      bytes: append.records.reduce((sum, { body }) => sum + body.length, 0),
    }));
    expect(new Set(calls.map(({ shard }) => shard))).toEqual(new Set([5, 0x10]));
    for (const { bytes } of calls) expect(bytes).toBeLessThanOrEqual(850_000);
    expect(calls.filter(({ shard }) => shard === 5).length).toBe(Math.ceil(20 / Math.floor(850_000 / 100_000)));
  });

  it.each([SHARD_BUSY, SHARD_NOT_READY, "Network connection lost."])(
    "is tried four times where it answers %s",
    async (why) => {
      const platform = scriptedPlatform(TAKEN);
      const log = scriptedLog((call) => (call < 4 ? new Error(`${why}: later`) : null));
      await send(withLarge(), to(scriptedQueue(), log, platform));
      expect([platform.slept, log.taken().length]).toEqual([[200, 1_000, 3_000], 1]);
      const never = scriptedLog(() => new Error(`${why}: later`));
      const error = await failure(send(withLarge(), to(scriptedQueue(), never)));
      expect([never.calls.length, error.unsent.length]).toEqual([4, 1]);
    },
  );

  it("is not tried again where the shard is full, and costs no other shard its messages", async () => {
    const small = packed([noisyLine(500, 1)]);
    const messages = [...small, ...packed([noisyLine(500, 2)]).map((message) => ({ ...message, shard: 1 }))];
    const log = scriptedLog((_call, shard) => (shard === 0 ? new Error(`${SHARD_FULL}: 8 GB`) : null));
    const error = await failure(send(messages, to(noQueue(), log)));
    expect([log.calls.length, ids(error.unsent), ids(log.taken())]).toEqual([2, ids(small), [messages[1]?.id]]);
  });

  it.each([[undefined], [null], [{}], [{ fresh: "all" }], [{ fresh: [1] }]])(
    "is not known to be there where the answer is %j",
    async (answer) => {
      const sending = { ...to(scriptedQueue()), append: async () => answer };
      expect((await failure(send(withLarge(), sending))).unsent.length).toBe(1);
    },
  );

  it("is named new only as the log says", async () => {
    const log = scriptedLog();
    const messages = withLarge();
    expect((await send(messages, to(scriptedQueue(), log))).size).toBe(1);
    expect((await send(messages, to(scriptedQueue(), log))).size).toBe(0);
  });
});

describe("an isolate that knows that the queue refuses", () => {
  it("leaves it alone for ten seconds, then tries it, and believes it again when it takes", async () => {
    let nowMs = TAKEN;
    let refuses = true;
    const queue = scriptedQueue(() => refuses);
    const log = scriptedLog();
    const sending = {
      ...to(queue, log),
      backoff: new QueueBackoff(),
      platform: { now: () => nowMs, sleep: async () => {} },
    };
    const tries = async () => {
      const before = queue.calls.length;
      await send(packed([noisyLine(500, 1)], { ...CONTEXT, idOf: randomIds(1) }), sending);
      return queue.calls.length - before;
    };
    expect([await tries(), await tries()]).toEqual([3, 0]);
    nowMs += 9_999;
    expect(await tries()).toBe(0);
    nowMs += 1;
    expect([await tries(), await tries()]).toEqual([3, 0]);
    refuses = false;
    nowMs += 10_000;
    expect([await tries(), await tries()]).toEqual([1, 1]);
    expect([log.taken().length, queue.taken().length]).toEqual([5, 2]);
  });

  it("tries it at once where its clock was set back", () => {
    const backoff = new QueueBackoff();
    backoff.refused(TAKEN);
    expect([backoff.holdMs(TAKEN + 1), backoff.holdMs(TAKEN - 1)]).toEqual([9_999, 0]);
  });
});
