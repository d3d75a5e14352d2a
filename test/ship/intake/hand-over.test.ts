/** The two ways from `tail()` to the queue. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { macKeyOf, macOfLines } from "../../../src/formats/queue/mac.ts";
import type { HandedPart } from "../../../src/ship/intake/packer.ts";
import { noise, TAKEN } from "../../formats/record/samples.ts";
import { noLog, scriptedTail, tailed } from "./scripted.ts";

const SEAL = macKeyOf(new Uint8Array(32));
const ITEM = { event: null, scriptName: "shop" };

let warned: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  warned = vi.spyOn(console, "warn").mockImplementation(() => {});
});

/** An isolate whose packer answers so, or fails. */
function isolate(answer: () => unknown) {
  const handed: HandedPart[] = [];
  const context = scriptedTail({
    log: noLog(),
    config: { seal: SEAL },
    pack: async (part) => {
      handed.push(part);
      return answer();
    },
  });
  return { handed, queue: context.queue, tail: (items: readonly unknown[]) => tailed(items, context) };
}

describe("what an isolate gathered", () => {
  it("goes to the packer, and is done when that has sent it", async () => {
    const { handed, queue, tail } = isolate(() => ({ shared: 7 }));
    await tail([ITEM, ITEM]);
    await tail([ITEM]);
    expect(queue.calls).toEqual([]);
    expect(handed).toMatchObject([
      { takenInMs: TAKEN, source: "tail", records: 2 },
      { takenInMs: TAKEN, source: "tail", records: 1 },
    ]);
    expect(new Set(handed.map(({ id }) => id)).size).toBe(2);
    expect(handed[0]?.seal).toEqual(macOfLines(handed[0]?.raw as Uint8Array, SEAL));
  });

  it.each<[string, () => unknown]>([
    ["fails", () => Promise.reject(new Error("no"))],
    ["is full", () => ({ refused: "full" })],
    ["refuses it", () => ({ refused: "malformed" })],
    ["answers nothing", () => undefined],
    ["answers null", () => null],
    ["answers nonsense", () => ({ shared: "many" })],
    ["says that nothing shared", () => ({ shared: 0 })],
  ])("goes to the queue under the same id, time and source where the packer %s", async (_how, answer) => {
    const { handed, queue, tail } = isolate(answer);
    await tail([ITEM, ITEM]);
    const [part] = handed;
    expect(queue.taken()).toMatchObject([
      { id: part?.id, takenInMs: part?.takenInMs, source: "tail", records: 2, keyed: false },
    ]);
    expect(`${queue.taken()[0]?.lines.join("\n")}\n`).toBe(new TextDecoder().decode(part?.raw));
    // And so does the next one, without a word to the packer.
    await tail([ITEM]);
    expect([handed.length, queue.taken().length, warned.mock.calls.length]).toEqual([1, 2, 1]);
  });

  it("goes to the queue directly where it is large, and all of it", async () => {
    const { handed, queue, tail } = isolate(() => ({ shared: 7 }));
    const large = { ...ITEM, logs: [{ level: "log", message: [noise(130_000, 1)], timestamp: 1 }] };
    await tail([large, ITEM]);
    expect([handed.length, queue.taken().reduce((sum, { records }) => sum + records, 0)]).toEqual([0, 2]);
  });

  it("is no secret to the log, nor is it in the answer's error", async () => {
    const { tail } = isolate(() => Promise.reject(new Error("no")));
    await tail([{ ...ITEM, logs: [{ level: "log", message: ["secret-of-a-customer"], timestamp: 1 }] }]);
    expect(JSON.stringify(warned.mock.calls)).not.toContain("secret-of-a-customer");
  });
});
