/** Which appends wake the watch, how often at most, and that no append suffers by it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { Watch, watch } from "../../../src/operate/alerts/watch.ts";
import type { PackedMessage } from "../../../src/ship/intake/packing.ts";
import type { PartHead } from "../../../src/ship/log/append-types.ts";
import type { CountedPart } from "../../../src/ship/log/counted.ts";
import { NO_HEALTH } from "../../../src/ship/log/function-health.ts";
import { keyOf } from "../../../src/ship/log/health-keys.ts";
import { SLOT_MS, type Slot } from "../../../src/ship/log/health-slots.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { ASK_EVERY_MS, crosses, seenOf, Waker, wakeWatch } from "../../../src/ship/log/wakes.ts";
import { putWebhook, receiver, runWatchAlarm, theWatch } from "../../operate/alerts/receiver.ts";
import { finding } from "../../operate/status/findings.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock } from "../../support/runtime/pipeline.ts";
import { untilPasses } from "../../support/until.ts";
import { headsOf } from "./shard.ts";

const NOW_SLOT = Math.floor(NOON / SLOT_MS);

let warned: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  warned = vi.spyOn(console, "warn").mockImplementation(() => {});
});

const part = (failed: number, events = failed, scriptName: string | null = "shop", source?: string): CountedPart =>
  ({
    ...(source !== undefined && { source }),
    functions: [
      { scriptName, health: { ...NO_HEALTH, outcomes: [{ outcome: "exception", count: events }], failed } },
      { scriptName: "off" },
    ],
  }) as unknown as CountedPart;

/** A waker of a shard in which so much failed in the slot that is under way. */
function waker(settings: object = {}, isBroken = false) {
  const clock = setClock(NOON);
  const rests: { ms: number; end(): void }[] = [];
  vi.spyOn(platform, "sleep").mockImplementation((ms) => new Promise((end) => rests.push({ ms, end })));
  const slots = new Map<string, Slot>();
  const woken: number[] = [];
  const look = async () => void woken.push(clock.nowMs());
  const counts = vi.fn((since: number) => {
    if (isBroken) throw new Error("disk full");
    const seen = [...slots].filter(([, { slot }]) => slot >= since);
    return new Map(seen.map(([scriptName, slot]) => [keyOf({ scriptName, source: "", version: "" }), slot]));
  });
  const it = new Waker({ WATCH: { getByName: () => ({ look }) }, ...settings } as never, counts);
  /** What came is counted first, as in the shard. */
  const append = (failed: number, events = failed, name = "shop", isDue = false): Promise<void> | null => {
    const before = slots.get(name) ?? { slot: NOW_SLOT, events: 0, failed: 0, firstFailedMs: 1 };
    slots.set(name, { ...before, events: before.events + events, failed: before.failed + failed });
    return it.appended([part(failed, events, name)], isDue);
  };
  /** The time that it waits for is over. */
  const rested = async (): Promise<void> => {
    const [rest] = rests.splice(0);
    clock.advance(rest?.ms ?? 0);
    rest?.end();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { ...clock, slots, woken, counts, append, it, rests, rested };
}

describe("a function", () => {
  it("crosses its rule with the failure that makes it fail, and not with what comes before and after", () => {
    const rule = { share: 0.05, least: 20 };
    const cross = (events: number, failed: number, last: [number, number]) =>
      crosses(rule, { events, failed }, { events: last[0], failed: last[1] });
    expect(cross(400, 20, [1, 1])).toBe(true);
    expect(cross(400, 19, [1, 1])).toBe(false);
    expect(cross(401, 20, [1, 1])).toBe(false);
    expect(cross(400, 21, [1, 1])).toBe(false);
    expect(cross(40, 40, [40, 40])).toBe(true);
  });

  it("is judged by the slots by which it fails", () => {
    const slot = (ago: number): Slot => ({ slot: NOW_SLOT - ago, events: 10, failed: 2, firstFailedMs: 1 });
    expect(seenOf([0, 1, 2, 3].map(slot), NOON)).toEqual({ events: 30, failed: 6 });
  });
});

describe("a shard", () => {
  it("asks nothing while nothing fails, and of what fails looks every five seconds at most", async () => {
    const { counts, append, rests, rested } = waker();
    for (let n = 0; n < 100; n++) append(0, 1_000);
    expect(counts).not.toHaveBeenCalled();
    for (let n = 0; n < 100; n++) append(1, 1_000);
    expect([counts.mock.calls.length, rests.map(({ ms }) => ms)]).toEqual([1, [ASK_EVERY_MS]]);
    await rested();
    for (let n = 0; n < 100; n++) append(1, 1_000);
    expect([counts.mock.calls.length, rests.map(({ ms }) => ms)]).toEqual([2, [ASK_EVERY_MS]]);
  });

  it("wakes the watch once when a function begins to fail, also if nothing comes after that, and not while it goes on", async () => {
    const { advance, woken, append, rested } = waker();
    append(19);
    advance(1_000);
    append(1);
    expect(woken).toEqual([]);
    await rested();
    expect(woken).toEqual([NOON + ASK_EVERY_MS]);
    for (let n = 0; n < 4; n++) {
      advance(ASK_EVERY_MS);
      append(10);
    }
    expect(woken).toHaveLength(1);
  });

  it("wakes it for all that begins, every five seconds at most", async () => {
    const { advance, woken, counts, append, rested } = waker();
    for (let n = 0; n < 10; n++) append(0, 1, "shop", true);
    expect(woken).toEqual([NOON]);
    await rested();
    expect(woken).toEqual([NOON, NOON + ASK_EVERY_MS]);
    advance(ASK_EVERY_MS);
    append(0, 1, "shop", true);
    expect([woken.length, counts.mock.calls.length]).toEqual([3, 0]);
  });

  it("needs its share of the failures, by the function's own rule, and knows names from their senders", () => {
    const two = waker({ LOG_SHARDS: "2" });
    expect(two.append(9)).toBeNull();
    two.advance(ASK_EVERY_MS);
    expect(two.append(1)).not.toBeNull();
    expect(waker({ FUNCTION_FAILING: "shop=off" }).append(50)).toBeNull();
    const sent = waker();
    sent.slots.set("shop", { slot: NOW_SLOT, events: 20, failed: 20, firstFailedMs: 1 });
    expect(sent.it.appended([part(20, 20, "shop", "http:ci")])).toBeNull();
    expect(sent.it.appended([part(20, 20, null)])).toBeNull();
  });

  it("never fails by what it asks", () => {
    expect(waker({}, true).append(20)).toBeNull();
    expect(warned).toHaveBeenCalledTimes(1);
  });

  it("waits two seconds for a watch that hangs, and says of a broken one that it is not woken", async () => {
    const wake = (look: () => Promise<void>) => wakeWatch({ WATCH: { getByName: () => ({ look }) } } as never);
    vi.useFakeTimers();
    try {
      const woken = wake(() => new Promise(() => {}));
      await vi.advanceTimersByTimeAsync(2_000);
      await woken;
    } finally {
      vi.useRealTimers();
    }
    await wake(() => Promise.reject(new Error("no such method")));
    expect(warned.mock.calls.map(([line]: unknown[]) => (line as { message: string }).message)).toEqual([
      "the watch is late to wake",
      "the watch is not woken",
    ]);
  });
});

describe("through the service", () => {
  const outcomes = async (count: number, outcome: string, nowMs: number): Promise<void> => {
    const minted = new Oracle({ at: nowMs }).mint(count, { at: nowMs, scriptName: "checkout", outcome });
    await deliver(pack(minted, nowMs));
  };

  it("a function that begins to fail is told within two minutes, once, without the cron", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const post = receiver();
    await putWebhook();
    await theWatch().check();
    await outcomes(200, "ok", clock.nowMs());
    expect(await armed()).toBeGreaterThan(NOON + 5 * 60_000);
    clock.advance(15_000);
    await outcomes(25, "exception", clock.nowMs());
    const crossedMs = clock.nowMs();
    for (let at = await armed(); at <= crossedMs + 120_000; at = await armed()) {
      clock.advance(Math.max(0, at - clock.nowMs()));
      await runWatchAlarm();
    }
    // Its problem is told with it, in one message.
    const told = post.calls.filter(({ body }) => {
      const { kind, also = [] } = body.data as { kind: string; also?: { kind: string }[] };
      return [kind, ...also.map((other) => other.kind)].includes("function_failing");
    });
    expect(told).toHaveLength(1);
    expect((told[0]?.atS ?? 0) * 1_000).toBeLessThanOrEqual(crossedMs + 120_000);
  });

  it("what was on hold and is sent again tells as what is new", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const look = vi.spyOn(Watch.prototype, "look").mockResolvedValue(undefined as never);
    await outcomes(1, "ok", clock.nowMs());
    const minted = new Oracle({ at: NOON }).mint(25, { at: NOON, scriptName: "checkout", outcome: "exception" });
    const [packed] = pack(minted, NOON) as [PackedMessage];
    const body = packed.body.slice().buffer;
    const [head] = headsOf(body) as [PartHead];
    const shard = traceLog(env.TRACE_LOG, 0);
    await shard.hold({
      ...{ message: body, queue: "q", why: "failed too often", hash: { id: head.id, takenInMs: NOON, keyed: true } },
      parts: [{ id: head.id, takenInMs: NOON, keyed: head.keyed, records: 25 }],
    });
    expect(look).not.toHaveBeenCalled();
    expect(await shard.holdResend(1, [head])).not.toBeNull();
    await untilPasses(() => expect(look).toHaveBeenCalledTimes(1));
  });

  it("an append is taken, at once, though the watch hangs", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const look = vi.spyOn(Watch.prototype, "look").mockImplementation(() => new Promise(() => {}) as never);
    await outcomes(25, "exception", clock.nowMs());
    expect(look).toHaveBeenCalledTimes(1);
  });
});

/** When the alarm of the watch is set. */
const armed = async (): Promise<number> =>
  (await runInDurableObject(watch(env.WATCH), (_watch, { storage }) => storage.getAlarm())) ?? Number.POSITIVE_INFINITY;

describe("the watch that is woken", () => {
  it("checks soon, but once for many calls, and again where a check was under way", async () => {
    const clock = setClock(NOON);
    receiver();
    const under = Promise.withResolvers<{ findings: never[]; isUnknown: () => boolean }>();
    const see = vi.spyOn(Watch.prototype, "see").mockReturnValueOnce(under.promise as never);
    see.mockResolvedValue({ findings: [finding()], isUnknown: () => false });
    const first = theWatch().check();
    for (let n = 0; n < 10; n++) await theWatch().look();
    expect(await armed()).toBe(NOON);
    const alarm = runWatchAlarm();
    under.resolve({ findings: [], isUnknown: () => false });
    await Promise.all([first, alarm]);
    expect(see).toHaveBeenCalledTimes(2);
    expect((await theWatch().snapshot())?.findings).toHaveLength(1);
    clock.advance(1_000);
    await theWatch().look();
    expect(await armed()).toBe(NOON + 10_000);
  });
});
