import { describe, expect, it } from "vitest";
import { randomIds } from "../../src/intake/ids.ts";
import { type PackedMessage, packRecords } from "../../src/intake/packing.ts";
import { SendError, sendMessages } from "../../src/intake/send.ts";
import { noisyLine, TAKEN } from "../record/samples.ts";
import { scriptedPlatform, scriptedQueue } from "./scripted.ts";

/** Five messages of some 100 kB: three calls, of two, two and one. */
function fiveMessages(): PackedMessage[] {
  const lines = Array.from({ length: 5 }, (_, i) => noisyLine(125_000, i));
  const packed = packRecords(lines, { takenInMs: TAKEN, idOf: randomIds(), keyed: true });
  if (!packed.ok || packed.messages.length !== 5) throw new Error("not the messages this test is about");
  return packed.messages;
}

const ids = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);

describe("sending messages", () => {
  it("hands all of them to the queue as bytes, in order, and waits for nothing", async () => {
    const messages = fiveMessages();
    const queue = scriptedQueue();
    const platform = scriptedPlatform(TAKEN);
    await sendMessages(messages, queue, platform);
    expect(queue.calls.map((call) => call.messages.length)).toEqual([2, 2, 1]);
    expect(ids(queue.taken())).toEqual(ids(messages));
    expect(new Set(queue.calls.flatMap(({ contentTypes }) => contentTypes))).toEqual(new Set(["bytes"]));
    expect(platform.slept).toEqual([]);
  });

  it("asks nothing of the queue when there is nothing", async () => {
    const queue = scriptedQueue(() => true);
    await sendMessages([], queue, scriptedPlatform(TAKEN));
    expect(queue.calls).toEqual([]);
  });

  it("sends a group again that the queue refused, the very same bytes, and goes on with the next", async () => {
    const messages = fiveMessages();
    const queue = scriptedQueue((call) => call === 2);
    const platform = scriptedPlatform(TAKEN);
    await sendMessages(messages, queue, platform);
    expect(queue.calls.map(({ taken, messages: sent }) => [taken, sent.length])).toEqual([
      [true, 2],
      [false, 2],
      [true, 2],
      [true, 1],
    ]);
    expect(queue.calls[2]?.bodies).toEqual(queue.calls[1]?.bodies);
    expect(ids(queue.taken())).toEqual(ids(messages));
    expect(platform.slept).toEqual([100]);
  });

  it("waits longer before the third try than before the second", async () => {
    const queue = scriptedQueue((call) => call <= 2);
    const platform = scriptedPlatform(TAKEN);
    await sendMessages(fiveMessages(), queue, platform);
    expect(platform.slept).toEqual([100, 400]);
    expect(queue.taken().length).toBe(5);
  });

  it("gives up after three tries with the queue's own error", async () => {
    const queue = scriptedQueue(() => true);
    const platform = scriptedPlatform(TAKEN);
    await expect(sendMessages(fiveMessages(), queue, platform)).rejects.toThrow(SendError);
    expect(queue.calls.length).toBe(3);
    expect(platform.slept).toEqual([100, 400]);
  });

  it("stops at the group that could not be sent; those before it were taken, once", async () => {
    const messages = fiveMessages();
    const queue = scriptedQueue((call) => call > 1);
    await expect(sendMessages(messages, queue, scriptedPlatform(TAKEN))).rejects.toThrow();
    expect(ids(queue.taken())).toEqual(ids(messages.slice(0, 2)));
    expect(queue.calls.map(({ messages: sent }) => ids(sent))).toEqual([
      ids(messages.slice(0, 2)),
      ids(messages.slice(2, 4)),
      ids(messages.slice(2, 4)),
      ids(messages.slice(2, 4)),
    ]);
  });

  it.each([
    [1, 5],
    [2, 3],
    [3, 1],
  ])("says how many records are left when call %i is the one that fails", async (failing, left) => {
    const queue = scriptedQueue((call) => call >= failing);
    const error = await sendMessages(fiveMessages(), queue, scriptedPlatform(TAKEN)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SendError);
    expect((error as SendError).unsentRecords).toBe(left);
    expect((error as SendError).cause).toEqual(new Error("Unknown Internal Error (15000)"));
  });

  it("can be repeated whole after a failure: the same messages carry the same ids", async () => {
    const messages = fiveMessages();
    await sendMessages(
      messages,
      scriptedQueue(() => true),
      scriptedPlatform(TAKEN),
    ).catch(() => {});
    const queue = scriptedQueue();
    await sendMessages(messages, queue, scriptedPlatform(TAKEN));
    expect(ids(queue.taken())).toEqual(ids(messages));
  });
});
