import { describe, expect, it } from "vitest";
import { randomIds } from "../../src/intake/ids.ts";
import { type PackedMessage, packRecords } from "../../src/intake/packing.ts";
import { SendError, sendMessages } from "../../src/intake/send.ts";
import { noisyLine, TAKEN } from "../record/samples.ts";
import { type ScriptedQueue, scriptedBlobs, scriptedPlatform, scriptedQueue, unpacked } from "./scripted.ts";

/** Five messages of some 100 kB: three calls, of two, two and one. */
function fiveMessages(): PackedMessage[] {
  const lines = Array.from({ length: 5 }, (_, i) => noisyLine(125_000, i));
  const packed = packRecords(lines, { takenInMs: TAKEN, idOf: randomIds(), keyed: true });
  if (!packed.ok || packed.messages.length !== 5) throw new Error("not the messages this test is about");
  return packed.messages;
}

const sending = (queue: ScriptedQueue, platform = scriptedPlatform(TAKEN), blobs = scriptedBlobs()) => ({
  queue,
  blobs,
  platform,
});

const ids = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);

describe("sending messages", () => {
  it("hands all of them to the queue as bytes, in order, and waits for nothing", async () => {
    const messages = fiveMessages();
    const queue = scriptedQueue();
    const platform = scriptedPlatform(TAKEN);
    await sendMessages(messages, sending(queue, platform));
    expect(queue.calls.map((call) => call.messages.length)).toEqual([2, 2, 1]);
    expect(ids(queue.taken())).toEqual(ids(messages));
    expect(new Set(queue.calls.flatMap(({ contentTypes }) => contentTypes))).toEqual(new Set(["bytes"]));
    expect(platform.slept).toEqual([]);
  });

  it("asks nothing of the queue when there is nothing", async () => {
    const queue = scriptedQueue(() => true);
    await sendMessages([], sending(queue, scriptedPlatform(TAKEN)));
    expect(queue.calls).toEqual([]);
  });

  it("sends a group again that the queue refused, the very same bytes, and goes on with the next", async () => {
    const messages = fiveMessages();
    const queue = scriptedQueue((call) => call === 2);
    const platform = scriptedPlatform(TAKEN);
    await sendMessages(messages, sending(queue, platform));
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
    await sendMessages(fiveMessages(), sending(queue, platform));
    expect(platform.slept).toEqual([100, 400]);
    expect(queue.taken().length).toBe(5);
  });

  it("gives up after three tries with the queue's own error", async () => {
    const queue = scriptedQueue(() => true);
    const platform = scriptedPlatform(TAKEN);
    await expect(sendMessages(fiveMessages(), sending(queue, platform))).rejects.toThrow(SendError);
    expect(queue.calls.length).toBe(3);
    expect(platform.slept).toEqual([100, 400]);
  });

  it("stops at the group that could not be sent; those before it were taken, once", async () => {
    const messages = fiveMessages();
    const queue = scriptedQueue((call) => call > 1);
    await expect(sendMessages(messages, sending(queue, scriptedPlatform(TAKEN)))).rejects.toThrow();
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
  ])("says which messages are left when call %i is the one that fails", async (failing, left) => {
    const queue = scriptedQueue((call) => call >= failing);
    const messages = fiveMessages();
    const error = await sendMessages(messages, sending(queue)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SendError);
    expect((error as SendError).unsent).toEqual(messages.slice(5 - left));
    expect((error as SendError).cause).toEqual(new Error("Unknown Internal Error (15000)"));
  });

  it("can be repeated whole after a failure: the same messages carry the same ids", async () => {
    const messages = fiveMessages();
    await sendMessages(messages, sending(scriptedQueue(() => true))).catch(() => {});
    const queue = scriptedQueue();
    await sendMessages(messages, sending(queue, scriptedPlatform(TAKEN)));
    expect(ids(queue.taken())).toEqual(ids(messages));
  });

  describe("with a record that is too large for the queue", () => {
    function withLarge(): PackedMessage[] {
      const lines = ['"small"', noisyLine(500_000, 1), '"another"'];
      const packed = packRecords(lines, { takenInMs: TAKEN, idOf: randomIds(), keyed: true });
      if (!packed.ok || packed.messages.length !== 3) throw new Error("not the messages this test is about");
      return packed.messages;
    }

    it("puts it into the blob store before its reference is sent", async () => {
      const messages = withLarge();
      const blobs = scriptedBlobs();
      // It decodes at once, so a dangling reference would throw.
      const queue = scriptedQueue(() => false, blobs);
      await sendMessages(messages, sending(queue, undefined, blobs));
      expect(queue.taken().map(({ lines }) => lines[0]?.length)).toEqual(
        messages.map((message) => unpacked(message).lines[0]?.length),
      );
      expect(messages.map(({ blob }) => blob !== null)).toEqual([false, true, false]);
      expect(blobs.calls).toEqual([`put ${messages[1]?.blob?.key}`]);
    });

    it("tries again when the store does not answer, and sends nothing meanwhile", async () => {
      const blobs = scriptedBlobs((call) => call < 3);
      const queue = scriptedQueue(() => false, blobs);
      const platform = scriptedPlatform(TAKEN);
      await sendMessages(withLarge(), sending(queue, platform, blobs));
      expect([queue.calls.length, platform.slept]).toEqual([1, [100, 400]]);
    });

    it("fails as if the queue had, when the store never answers", async () => {
      const blobs = scriptedBlobs(() => true);
      const queue = scriptedQueue(() => false, blobs);
      await expect(sendMessages(withLarge(), sending(queue, undefined, blobs))).rejects.toThrow(SendError);
      expect(queue.calls).toEqual([]);
    });
  });
});
