/** What a log measures of its load, and that it grows by it. */
import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it } from "vitest";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import { Load } from "../../src/delivery/load.ts";
import { SHARD_LOAD } from "../../src/limits.ts";
import { nodeOf } from "../../src/trace-log/nodes.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import { MINUTE_MS, message, ShardedLog } from "./sharded.ts";

/** 600 a minute are not above it. */
const LIMITS = { messages: 10, bytes: 1_000_000, appends: 5 };

/** Notes appends of so many messages each, taken in at this time. */
function note(load: Load, takenInMs: number, messages: number, { appends = 1, bytes = 0, keyed = false } = {}): void {
  const share = Array.from({ length: messages / appends }, () => ({
    ...{ id: "", takenInMs, keyed, received: 1, filtered: 0, sampledOut: 0 },
  }));
  const fragments = [{ body: new Uint8Array(bytes) }] as never;
  for (let n = 0; n < appends; n++) load.note({ messages: share, fragments });
}

describe("the load of a log", () => {
  it.for([
    ["messages", 601, {}, true],
    ["messages, not one too many", 600, {}, false],
    ["appends", 301, { appends: 301 }, true],
    ["appends, not one too many", 300, { appends: 300 }, false],
    ["bytes", 1, { bytes: 60_000_001 }, true],
    ["bytes, not one too many", 1, { bytes: 60_000_000 }, false],
    ["keyed messages, which no split moves", 6_000, { keyed: true }, false],
  ] as const)("is above the limits by its %s", ([_what, messages, fields, isAbove], { expect }) => {
    const load = new Load();
    for (let minute = 0; minute < 3; minute++) {
      expect(load.exceeds(LIMITS, 0)).toBe(false);
      note(load, NOON + minute * MINUTE_MS, messages, fields);
    }
    expect(load.exceeds(LIMITS, 0)).toBe(isAbove);
  });

  it("is measured in minutes of intake, in a row: what comes late weighs what it weighed", ({ expect }) => {
    const load = new Load();
    for (const minute of [0, 1, 3, 4]) note(load, NOON + minute * MINUTE_MS, 700);
    expect(load.exceeds(LIMITS, 0)).toBe(false);
    note(load, NOON + 2 * MINUTE_MS, 700);
    expect(load.exceeds(LIMITS, 0)).toBe(true);
  });

  it("counts from a time on", ({ expect }) => {
    const load = new Load();
    for (let minute = 0; minute < 3; minute++) note(load, NOON + minute * MINUTE_MS, 700);
    expect(load.exceeds(LIMITS, NOON)).toBe(true);
    expect(load.exceeds(LIMITS, NOON + 1)).toBe(false);
  });

  it("is remembered for half an hour of intake", ({ expect }) => {
    const load = new Load();
    for (let minute = 0; minute < 3; minute++) note(load, NOON + minute * MINUTE_MS, 700);
    for (let minute = 3; minute < 30; minute++) note(load, NOON + minute * MINUTE_MS, 1);
    expect(load.exceeds(LIMITS, 0)).toBe(true);
    note(load, NOON + 30 * MINUTE_MS, 1);
    expect(load.exceeds(LIMITS, 0)).toBe(false);
  });

  it("is remembered for half an hour, though one append is of more", ({ expect }) => {
    const load = new Load();
    for (let minute = 0; minute < 4; minute++) note(load, NOON + minute * MINUTE_MS, 700);
    const messages = Array.from({ length: 30 }, (_, n) => ({
      ...{ id: "", takenInMs: NOON + (n + 4) * MINUTE_MS, keyed: false, received: 1, filtered: 0, sampledOut: 0 },
    }));
    load.note({ messages, fragments: [] });
    expect(load.exceeds(LIMITS, 0)).toBe(false);
  });
});

describe("a log", () => {
  /** One minute of this many messages, from the number `first` on, half of each hash. */
  const minuteOf = (first: number, count: number, takenInMs: number) =>
    Array.from({ length: count }, (_, i) => message(first + i, i % 2, takenInMs));

  /** Runs a shard's alarm, and waits for the split that it may have begun. */
  async function tick(log: ShardedLog, node: number): Promise<void> {
    await log.run(node, (each) => void Object.assign(each.splitting, { limits: LIMITS }));
    await runDurableObjectAlarm(nodeAt(env.READERS, log.job.id, node));
    await log.run(node, ({ splitting }) => splitting.running);
  }

  it("splits after three minutes above the limits, then by what came since, and each shard for itself", async ({
    expect,
  }) => {
    const clock = setClock(NOON);
    const log = await ShardedLog.create();
    let sent = 0;
    const minute = async (count: number): Promise<void> => {
      await log.offer(minuteOf(sent, count, clock.nowMs()));
      sent += count;
      clock.advance(MINUTE_MS);
      for (const node of await log.nodes()) await tick(log, node);
    };
    await minute(700);
    await minute(700);
    expect(await log.nodes()).toEqual([0]);
    await minute(700);
    expect(await log.nodes()).toEqual([0, nodeOf(1, 0)]);
    // The half is not too much for either.
    for (let n = 0; n < 5; n++) await minute(1_100);
    expect(await log.nodes()).toEqual([0, nodeOf(1, 0)]);
    for (let n = 0; n < 3; n++) await minute(1_300);
    expect(await log.nodes()).toEqual([0, nodeOf(1, 0), nodeOf(2, 0), nodeOf(3, 0)]);
    expect(Object.values(await log.received()).reduce((sum, each) => sum + each, 0)).toBe(sent);
  });

  it("measures anew after a restart", async ({ expect }) => {
    const clock = setClock(NOON);
    const log = await ShardedLog.create();
    for (let n = 0; n < 4; n++) {
      await log.offer(minuteOf(n * 700, 700, clock.nowMs()));
      clock.advance(MINUTE_MS);
      if (n === 1) await evictDurableObject(nodeAt(env.READERS, log.job.id, 0));
    }
    await tick(log, 0);
    expect(await log.nodes()).toEqual([0]);
    await log.offer(minuteOf(2_800, 700, clock.nowMs()));
    await tick(log, 0);
    expect(await log.nodes()).toEqual([0, nodeOf(1, 0)]);
  });

  it("splits at 150 messages, 4 MB or 100 appends a second", ({ expect }) => {
    expect(SHARD_LOAD).toEqual({ messages: 150, bytes: 4_000_000, appends: 100 });
  });
});
