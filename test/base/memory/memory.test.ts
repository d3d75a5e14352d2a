import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EVENTS_BODY_MAX_BYTES, GROUP_HELD_BYTES, HELD_MAX_BYTES, MEMORY_MAX_BYTES } from "../../../src/base/limits.ts";
import { LEASE_MS, Memory, type Share } from "../../../src/base/memory.ts";
import { bodyRoom } from "../../../src/ship/intake/body.ts";

/** A clock that moves when all that sleep are woken. */
class Steps {
  nowMs = 1_000_000;
  #asleep: { wake: () => void; atMs: number }[] = [];
  now = () => this.nowMs;
  sleep = (ms: number) => new Promise<void>((wake) => this.#asleep.push({ wake, atMs: this.nowMs + ms }));

  async pass(ms: number): Promise<void> {
    for (const untilMs = this.nowMs + ms; this.nowMs < untilMs; ) {
      this.nowMs += 10;
      await Promise.resolve();
      const due = this.#asleep.filter(({ atMs }) => atMs <= this.nowMs);
      this.#asleep = this.#asleep.filter(({ atMs }) => atMs > this.nowMs);
      for (const { wake } of due) {
        wake();
        for (let turns = 0; turns < 5; turns++) await Promise.resolve();
      }
    }
  }
}

const given = async (taking: Promise<Share | null>): Promise<Share> => {
  const share = await taking;
  if (share === null) throw new Error("not in time");
  return share;
};

/** What became of something that waits: `null` while it does. */
function outcome(taking: Promise<Share | null>): { of: "let in" | "refused" | null; share: Share | null } {
  const it: ReturnType<typeof outcome> = { of: null, share: null };
  void taking.then((share) => Object.assign(it, { of: share === null ? "refused" : "let in", share }));
  return it;
}

describe("the memory of an isolate", () => {
  it("lets in what fits, and the next once something is given back", async () => {
    const steps = new Steps();
    const memory = new Memory(steps, 100);
    const first = await given(memory.take(40));
    await given(memory.take(25));
    const third = outcome(memory.take(30));
    await steps.pass(1_000);
    expect([third.of, memory.held]).toEqual([null, 65]);
    first.set(10);
    await steps.pass(30);
    expect([third.of, memory.held]).toEqual(["let in", 65]);
    first.release();
    first.release();
    first.set(40);
    expect(memory.held).toBe(55);
  });

  it("refuses after ten seconds", async () => {
    const steps = new Steps();
    const memory = new Memory(steps, 100);
    await given(memory.take(60));
    const second = outcome(memory.take(60));
    await steps.pass(9_900);
    expect(second.of).toBeNull();
    await steps.pass(200);
    expect([second.of, memory.held]).toEqual(["refused", 60]);
  });

  it("lets what never fits in alone: beside what was there in any case, and beside nothing that waited", async () => {
    const steps = new Steps();
    const memory = new Memory(steps, 100);
    memory.hold(90);
    const small = await given(memory.take(1));
    const large = outcome(memory.take(1_000));
    await steps.pass(1_000);
    expect(large.of).toBeNull();
    small.release();
    await steps.pass(30);
    expect([large.of, memory.held]).toEqual(["let in", 1_090]);
  });

  it("has a third for small ones, which pass those that wait", async () => {
    const steps = new Steps();
    const memory = new Memory(steps, 100);
    await given(memory.take(65));
    const large = outcome(memory.take(4));
    for (let i = 0; i < 11; i++) await given(memory.take(3));
    await steps.pass(100);
    expect([large.of, memory.held]).toEqual([null, 98]);
    const small = outcome(memory.take(3));
    await steps.pass(100);
    expect(small.of).toBeNull();
  });

  it("frees what is not heard of any more", async () => {
    const steps = new Steps();
    const memory = new Memory(steps, 100);
    const silent = await given(memory.take(40));
    const heard = await given(memory.take(25));
    memory.hold(5, 2 * LEASE_MS);
    steps.nowMs += LEASE_MS - 1;
    heard.set(30);
    const waiting = outcome(memory.take(30));
    await Promise.resolve();
    expect(waiting.of).toBeNull();
    await steps.pass(30);
    expect([waiting.of, memory.held]).toEqual(["let in", 65]);
    // The end of a dead one changes nothing.
    silent.set(40);
    silent.release();
    expect(memory.held).toBe(65);
  });

  it("runs what must go on when there is room, or after the wait for it, and gives back, whatever fails", async () => {
    const steps = new Steps();
    const memory = new Memory(steps, 100);
    const share = await given(memory.take(60));
    const order: string[] = [];
    const first = memory.during(50, async () => order.push(`first: ${memory.held}`));
    await steps.pass(5_000);
    expect(order).toEqual([]);
    share.release();
    await steps.pass(30);
    await first;
    await given(memory.take(60));
    const second = memory.during(50, () => Promise.reject(new Error(`second: ${memory.held}`)));
    const failed = expect(second).rejects.toThrow("second: 110");
    await steps.pass(10_100);
    await failed;
    expect([order, memory.held]).toEqual([["first: 50"], 60]);
  });

  it("is never more than there is where all wait for room, whatever comes and goes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ bytes: fc.integer({ min: 0, max: 100 }), forMs: fc.integer({ min: 0, max: 900 }) }), {
          maxLength: 15,
        }),
        async (comers) => {
          const steps = new Steps();
          const memory = new Memory(steps, 100);
          const ends = comers.map(async ({ bytes, forMs }) => {
            const share = await memory.take(bytes);
            if (bytes <= 66) expect(memory.held).toBeLessThanOrEqual(100);
            if (share === null) return;
            await steps.sleep(forMs);
            share.release();
          });
          await steps.pass(11_500);
          await Promise.all(ends);
          expect(memory.held).toBe(0);
        },
      ),
      { numRuns: 15 },
    );
  });

  it("has room for one of the largest bodies, and for small ones beside two full batches and a group", () => {
    const batch = 100 * 128_000;
    expect(EVENTS_BODY_MAX_BYTES).toBeLessThanOrEqual((2 / 3) * HELD_MAX_BYTES);
    expect(2 * batch + GROUP_HELD_BYTES + 5_000_000).toBeLessThanOrEqual(HELD_MAX_BYTES);
    expect(HELD_MAX_BYTES).toBe(MEMORY_MAX_BYTES / 2);
  });
});

describe("what a body takes at most", () => {
  const MAX = 1_000_000;
  const room = (headers: Record<string, string>, body: string | null = "x"): number =>
    bodyRoom(new Request("http://logship.test", { method: "POST", headers, body }), MAX);

  it.each<[string, Record<string, string>, number]>([
    ["its length", { "content-length": "5000" }, 5_000],
    ["nothing, if it is refused for its length", { "content-length": "1000001" }, 0],
    ["all that is read of one, without a length", {}, MAX],
    ["the same, where the length is none", { "content-length": "5e3" }, MAX],
    ["what it may become, if it is packed", { "content-length": "100", "content-encoding": "gzip" }, 103_200],
    ["no more than is read of that", { "content-length": "5000", "content-encoding": "gzip" }, MAX],
  ])("is %s", (_what, headers, bytes) => {
    expect(room(headers)).toBe(bytes);
  });

  it("is nothing without a body", () => {
    expect(room({}, null)).toBe(0);
  });
});
