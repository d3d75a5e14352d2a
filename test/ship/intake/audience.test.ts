/** What a sender knows of live viewers, and what it shows them before the consumer does. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LIVE_PUSH_MAX_BYTES, LIVE_PUSH_MAX_RECORDS } from "../../../src/base/limits.ts";
import { Memory } from "../../../src/base/memory.ts";
import { type TakeContext, takeEvents } from "../../../src/ship/intake/take.ts";
import { ASK_MS, type EarlyPart, Viewers } from "../../../src/ship/intake/viewers.ts";
import { noise, TAKEN } from "../../formats/record/samples.ts";
import { untilPasses } from "../../support/until.ts";
import {
  noLog,
  type ScriptedLog,
  scriptedLog,
  scriptedPlatform,
  scriptedQueue,
  scriptedTail,
  tailed,
} from "./scripted.ts";

let warned: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});

const part = (n: number, entries = [`record ${n}`]): EarlyPart => ({
  id: n.toString(16).padStart(32, "0"),
  takenInMs: TAKEN,
  source: "tail",
  entries,
});

/** A sender, and what it calls. @param answer of each call. */
function sender(answer: (parts: readonly EarlyPart[]) => unknown, viewers = new Viewers()) {
  const calls: EarlyPart[][] = [];
  const living: Promise<void>[] = [];
  const clock = { nowMs: TAKEN };
  const early = viewers.by({
    call: async (parts) => {
      calls.push([...parts]);
      return answer(parts);
    },
    waitUntil: (promise) => void living.push(promise),
    platform: { now: () => clock.nowMs },
  });
  const show = async (...parts: EarlyPart[]): Promise<void> => {
    early.show(parts);
    await Promise.all(living);
  };
  return { calls, early, show, clock, living };
}

describe("a sender", () => {
  it("asks, shows nothing if no page is open, and does not ask again for five seconds", async () => {
    const { calls, early, show, clock } = sender(() => false);
    expect(early.mayWatch()).toBe(true);
    for (const waitMs of [0, 0, ASK_MS - 1]) {
      clock.nowMs += waitMs;
      await show(part(1));
    }
    expect([calls, early.mayWatch()]).toEqual([[[]], false]);
    clock.nowMs += 1;
    await show(part(2));
    expect(calls).toEqual([[], []]);
  });

  it("asks once for all that comes meanwhile", async () => {
    const { calls, early, living } = sender(() => true);
    for (const n of [1, 2, 3]) early.show([part(n)]);
    await Promise.all(living);
    expect(calls).toEqual([[], [part(1)]]);
  });

  it("shows every part while a page is open, without another question, until the answer is no", async () => {
    let watched = true;
    const { calls, show, clock } = sender(() => watched);
    await show(part(1));
    clock.nowMs += 3_600_000;
    await show(part(2), part(3));
    watched = false;
    await show(part(4));
    await show(part(5));
    expect(calls).toEqual([[], [part(1)], [part(2), part(3)], [part(4)]]);
  });

  it.each<[string, () => unknown]>([
    ["nothing", () => undefined],
    ["what is no answer", () => ({ watched: true })],
    ["a number", () => 1],
  ])("takes %s for a no", async (_what, answer) => {
    const { calls, show } = sender(answer);
    await show(part(1));
    expect(calls).toEqual([[]]);
  });

  it("leaves them alone for a minute after a failure, and names no more than its kind", async () => {
    const { calls, show, clock } = sender(() => Promise.reject(new RangeError("secret text")));
    await show(part(1));
    clock.nowMs += 59_999;
    await show(part(2));
    expect(calls.length).toBe(1);
    clock.nowMs += 1;
    await show(part(3));
    expect(calls.length).toBe(2);
    const line = { message: "live viewers get records later", error: "RangeError" };
    expect(warned.mock.calls).toEqual([[line], [line]]);
  });

  it("is quiet no longer than that where its clock is set back", async () => {
    const { early, show, clock } = sender(() => false);
    clock.nowMs += 3_600_000;
    await show(part(1));
    clock.nowMs -= 3_600_000;
    expect(early.mayWatch()).toBe(true);
  });

  it("waits two seconds for an answer, and its caller not at all", async () => {
    vi.useFakeTimers();
    try {
      const { calls, early, living } = sender(() => new Promise(() => {}));
      early.show([part(1)]);
      await vi.advanceTimersByTimeAsync(2_000);
      await Promise.all(living);
      expect([calls, early.mayWatch()]).toEqual([[[]], false]);
    } finally {
      vi.useRealTimers();
    }
    expect(warned.mock.calls).toEqual([[{ message: "live viewers get records later", error: "TimeoutError" }]]);
  });
});

describe("one call has", () => {
  const shown = async (...parts: EarlyPart[]) => {
    const { calls, show } = sender(() => true);
    await show(...parts);
    return calls.slice(1).map((call) => call.map(({ id }) => Number.parseInt(id, 16)));
  };
  const many = (n: number, records: number) =>
    part(
      n,
      Array.from({ length: records }, (_, i) => `${n}.${i}`),
    );

  it("500 records: of more, the newest parts, whole", async () => {
    expect(await shown(many(1, 100), many(2, 300), many(3, 200))).toEqual([[2, 3]]);
    expect(await shown(many(1, 100), many(2, LIVE_PUSH_MAX_RECORDS + 1), many(3, 1))).toEqual([[1, 3]]);
    expect(await shown(many(1, LIVE_PUSH_MAX_RECORDS + 1))).toEqual([]);
  });

  it("2 MiB, as UTF-8", async () => {
    const half = "é".repeat(LIVE_PUSH_MAX_BYTES / 4);
    expect(await shown(part(1, [half]), part(2, [half]), part(3, ["x"]))).toEqual([[2, 3]]);
    expect(await shown(part(1, [half]), part(2, [half]))).toEqual([[1, 2]]);
  });

  it("and so have all that are under way, which are eight", async () => {
    let open = (): void => {};
    const opened = new Promise<true>((resolve) => {
      open = () => resolve(true);
    });
    const large = sender((parts) => (parts.length === 0 ? true : opened));
    large.early.show([part(1, ["x".repeat(LIVE_PUSH_MAX_BYTES - 2)])]);
    await untilPasses(() => expect(large.calls.length).toBe(2));
    await Promise.all([part(2, ["xxx"]), part(3, ["xx"])].map((each) => large.early.show([each])));
    const small = sender((parts) => (parts.length === 0 ? true : opened));
    small.early.show([part(1)]);
    await untilPasses(() => expect(small.calls.length).toBe(2));
    for (let n = 2; n <= 10; n++) small.early.show([part(n)]);
    open();
    await Promise.all([...large.living, ...small.living]);
    expect(large.calls.slice(1).map(([first]) => first?.id)).toEqual([part(1).id, part(3).id]);
    expect(small.calls.length).toBe(1 + 8);
    await small.show(part(11));
    expect(small.calls.length).toBe(1 + 9);
  });
});

const ITEM = { event: null, scriptName: "shop" };

describe("what tail() sends itself", () => {
  /** @param pack the packer's answer. @param fails whether the queue does. */
  function isolate(pack: () => unknown, fails: () => boolean = () => false, log: ScriptedLog = noLog()) {
    const { calls, early } = sender(() => true);
    const context = scriptedTail({ queue: scriptedQueue(fails), log, pack: async () => pack(), early });
    return { calls, queue: context.queue, tail: (items: readonly unknown[]) => tailed(items, context) };
  }

  it("is shown as the consumer would have it, under the same ids", async () => {
    const { calls, queue, tail } = isolate(() => ({ refused: "full" }));
    const large = { ...ITEM, logs: [{ level: "log", message: [noise(150_000, 1)], timestamp: 1 }] };
    await tail([large, ITEM, large]);
    await untilPasses(() => expect(calls.length).toBe(2));
    const taken = queue.taken();
    expect(taken.length).toBeGreaterThan(1);
    expect(calls[1]).toEqual(
      taken.map(({ id, takenInMs, source, lines }) => ({ id, takenInMs, source, entries: lines })),
    );
  });

  it("is shown where the log has it instead of the queue, which no consumer does", async () => {
    const log = scriptedLog();
    const { calls, tail } = isolate(
      () => ({ refused: "full" }),
      () => true,
      log,
    );
    await tail([ITEM]);
    await untilPasses(() => expect(calls.length).toBe(2));
    expect(calls[1]).toMatchObject([{ id: log.taken()[0]?.id, entries: log.taken()[0]?.lines }]);
  });

  it("is not shown where the packer has it, or nobody has", async () => {
    const packed = isolate(() => ({ shared: 2 }));
    await packed.tail([ITEM]);
    const refused = isolate(
      () => ({ refused: "full" }),
      () => true,
    );
    await refused.tail([ITEM]);
    expect([packed.calls, refused.calls]).toEqual([[], []]);
  });
});

describe("what is POSTed or shipped", () => {
  const body = (count: number, text = "") =>
    new TextEncoder().encode(
      JSON.stringify(
        Array.from({ length: count }, (_, n) => ({ EventTimestampMs: TAKEN, Outcome: `${n}`, ScriptName: text })),
      ),
    );

  async function taken(
    bytes: Uint8Array,
    { key = null as string | null, fails = false, log = noLog() as ScriptedLog } = {},
  ) {
    const { calls, early, living } = sender(() => true);
    const queue = scriptedQueue(() => fails);
    const context: TakeContext = {
      ...{ queue, append: log.append, platform: scriptedPlatform(TAKEN), defaultScriptName: "unnamed" },
      ...{ shards: 1, keyShards: async () => ({ ok: true, shards: 1 }) },
      memory: new Memory(scriptedPlatform(TAKEN)),
      source: "http:ci",
      early,
    };
    const request = { room: bytes.length, read: async () => bytes, ndjson: false, idempotencyKey: key };
    const answer = await takeEvents(request, context).catch(() => "failed");
    await Promise.all(living);
    return { calls, queue, answer };
  }

  it("is shown after the queue took it", async () => {
    const { calls, queue } = await taken(body(2));
    const [{ id, lines } = { id: "", lines: [] }] = queue.taken();
    expect(calls).toEqual([[], [{ id, takenInMs: TAKEN, source: "http:ci", entries: lines }]]);
  });

  it("is not with a key, as it may be a repeat, except where the log says that it is new", async () => {
    const queued = await taken(body(2), { key: "k" });
    expect([queued.calls, queued.queue.taken().length]).toEqual([[], 1]);
    const log = scriptedLog();
    const first = await taken(body(2), { key: "k", fails: true, log });
    expect(first.calls[1]).toMatchObject([{ id: log.taken()[0]?.id, entries: { length: 2 } }]);
    expect((await taken(body(2), { key: "k", fails: true, log })).calls).toEqual([]);
  });

  it("is not where it did not, nor are larger requests", async () => {
    expect((await taken(body(1), { fails: true })).calls).toEqual([]);
    expect((await taken(body(LIVE_PUSH_MAX_RECORDS + 1))).calls).toEqual([]);
    expect((await taken(body(3, "x".repeat(900_000)))).calls).toEqual([]);
  });
});
