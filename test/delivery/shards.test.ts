/**
 * Races of the shards of a log, as docs/delivery.md numbers them: whatever its callers know, a
 * message has one place that takes it.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import { JobReader } from "../../src/delivery/job-reader.ts";
import { KnownLog } from "../../src/delivery/known-logs.ts";
import { LOG_STEPS } from "../../src/delivery/schema.ts";
import { migrate } from "../../src/storage/migrate.ts";
import { nodeOf } from "../../src/trace-log/nodes.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import { builder, countCalls, MINUTE_MS, message, ShardedLog } from "./sharded.ts";

const CHILD = nodeOf(1, 0);

describe("a shard hands half of its messages on", () => {
  it("of those that are taken in a minute later, and tells a consumer that does not know", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    const before = [message(1, 0), message(2, 1)];
    await log.offer(before);
    await log.split();
    const [split] = await log.splitsOf(0);
    expect(split).toEqual({ bit: 0, fromMs: NOON + MINUTE_MS });
    const at = NOON + MINUTE_MS;
    const later = [message(3, 0, at), message(4, 1, at), message(5, 1, at - 1)];
    const calls = countCalls(["append", "holds", "configure"]);
    const known = new KnownLog();
    await log.offer(later, { known });
    // The shard that is asked first says so; then both are asked side by side.
    const [first, ...both] = calls.read();
    expect([first, ...both.sort()]).toEqual(["append 0", "append 0", "append 1000"]);
    expect(await log.received()).toEqual({ 0: 4, [CHILD]: 1 });
    // From then on it goes there at once, to both side by side.
    await log.offer([message(6, 0, at), message(7, 1, at)], { known });
    expect(calls.read().sort()).toEqual(["append 0", "append 1000"]);
    await log.offer([message(8, 1, at)], { known });
    expect(calls.read()).toEqual(["append 1000"]);
  });

  it("a consumer that works with what it knew before the split takes nothing twice", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    const known = new KnownLog();
    await log.offer([message(1, 1)], { known });
    await log.split();
    const at = await log.beyond();
    const batch = [message(2, 0, at), message(3, 1, at)];
    // (1) One that knows, (2) one that does not, (3) both again.
    await log.offer(batch);
    await log.offer(batch, { known });
    await log.offer(batch, { isSuspect: true });
    expect(await log.received()).toEqual({ 0: 2, [CHILD]: 1 });
  });

  it("an append whose answer was lost is known after the split, where it was taken", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    const lost = [message(1, 0), message(2, 1), message(3, 255)];
    await log.offer(lost);
    await log.split();
    await log.split();
    const at = await log.beyond();
    for (const isSuspect of [false, true]) {
      await log.offer([...lost, message(4, 0, at), message(5, 1, at), message(6, 2, at)], { isSuspect });
      expect(await log.received()).toEqual({ 0: 4, [CHILD]: 1, [nodeOf(2, 0)]: 1 });
    }
  });

  it("splits beyond all that it has taken, however far its clocks were ahead", async ({ expect }) => {
    const clock = setClock(NOON);
    const log = await ShardedLog.create();
    const ahead = message(1, 1, NOON + 3_600_000 + 1);
    await log.offer([ahead]);
    await log.split();
    expect(await log.beyond()).toBe(NOON + 3_600_000 + MINUTE_MS);
    clock.advance(3_600_000);
    await log.offer([ahead, message(2, 1, clock.nowMs())]);
    expect(await log.received()).toEqual({ 0: 2, [CHILD]: 0 });
  });

  it("keyed messages stay, as a repeat has another time of intake", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    await log.offer([message(1, 1, NOON, true)]);
    await log.split();
    const at = await log.beyond();
    await log.offer([message(1, 1, at, true), message(2, 1, at, true), message(3, 1, at)]);
    expect(await log.received()).toEqual({ 0: 2, [CHILD]: 1 });
  });
});

describe("while a shard hands on", () => {
  /** Runs something once the child has the job; after it, the split is to be stored. */
  function between(run: () => Promise<unknown>): void {
    const { configure } = JobReader.prototype;
    const spy = vi.spyOn(JobReader.prototype, "configure");
    const paused = async function (this: JobReader, ...args: Parameters<typeof configure>) {
      const answer = configure.apply(this, args);
      if (args[1] !== CHILD) return answer;
      spy.mockRestore();
      await run();
      return answer;
    };
    spy.mockImplementation(paused as never);
  }

  it.for([
    ["changed", { output: { ...new ShardedLog().job.output }, outputVersion: 2 }],
    ["disabled", { windows: [{ fromMs: NOON - 1, untilMs: NOON }] }],
    ["deleted", { deletedMs: NOON }],
    ["discarded", { deletedMs: NOON, discard: true }],
  ] as const)(
    "a job that is %s meanwhile does not split, and the child learns it with the next",
    async ([what, fields], { expect }) => {
      setClock(NOON);
      const log = await ShardedLog.create();
      await log.offer([message(1, 1)]);
      between(() => log.change(fields as never));
      await log.split();
      expect(await log.splitsOf(0)).toEqual([]);
      await log.split();
      const splits = await log.splitsOf(0);
      if (what === "deleted" || what === "discarded") return expect(splits).toEqual([]);
      expect(splits).toHaveLength(1);
      expect(await log.versions()).toEqual([2, 2]);
      expect(await log.offer([message(2, 1, NOON + MINUTE_MS)], { job: { ...log.job, version: 1 } })).toMatchObject({
        kind: "stale",
        job: { version: 2 },
      });
    },
  );

  it("a change that comes after the split reaches the child, too", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    await log.split();
    await log.split(CHILD);
    await log.change({ outputVersion: 2 });
    expect(await log.versions()).toEqual([2, 2, 2]);
    const late = message(1, 1, NOON + MINUTE_MS);
    const stale = { ...log.job, version: 1 };
    const known = new KnownLog();
    await log.offer([message(2, 1, NOON + MINUTE_MS)], { known });
    // It knows the child, and not the change.
    expect(await log.offer([late], { known, job: stale })).toMatchObject({ kind: "stale" });
  });

  it("everything dies between the two steps: nothing is split, and it can be again", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    let isReached = false;
    between(() => {
      isReached = true;
      return new Promise(() => {});
    });
    const dying = log.split().catch(() => {});
    await vi.waitUntil(() => isReached, { interval: 2 });
    await abortAllDurableObjects();
    await dying;
    expect(await log.splitsOf(0)).toEqual([]);
    const at = NOON + 10 * MINUTE_MS;
    await log.offer([message(1, 1, at)]);
    expect(await log.received()).toEqual({ 0: 1 });
    await log.split();
    await log.offer([message(1, 1, at), message(2, 1, at + MINUTE_MS)]);
    expect(await log.received()).toEqual({ 0: 1, [CHILD]: 1 });
  });

  it("a child that hangs stops nothing", async ({ expect }) => {
    const clock = setClock(NOON);
    const log = await ShardedLog.create();
    const { configure } = JobReader.prototype;
    const spy = vi.spyOn(JobReader.prototype, "configure").mockImplementation(function (this: JobReader, ...args) {
      return args[1] === CHILD ? (new Promise(() => {}) as never) : configure.apply(this, args);
    });
    const splitting = log.run(0, async ({ splitting }) => {
      splitting.childMs = 20;
      await splitting.split();
    });
    await log.offer([message(1, 1, NOON + MINUTE_MS)]);
    expect(await nodeAt(env.READERS, log.job.id, 0).drive("manual", 0)).toBeDefined();
    await splitting;
    expect(await log.splitsOf(0)).toEqual([]);
    spy.mockRestore();
    clock.advance(MINUTE_MS);
    await log.split();
    await log.offer([message(1, 1, NOON + MINUTE_MS)]);
    expect(await log.received()).toEqual({ 0: 1, [CHILD]: 0 });
  });
});

describe("a shard of several segments", () => {
  it("has handed on what its first segment has, and goes on from there", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    await log.split();
    const at = await log.beyond();
    await log.offer([message(1, 0, at), message(2, 1, at)]);
    await log.fill(0);
    const known = new KnownLog();
    await log.offer([message(3, 0, at), message(4, 1, at)], { known });
    expect(await log.received()).toEqual({ 0: 1, 1: 1, [CHILD]: 2 });
    // Asked directly, it refuses what it has handed on.
    const direct = await nodeAt(env.READERS, log.job.id, 1).append(builder(log.job, [message(5, 1, at)])(new Set()));
    expect(direct).toMatchObject({ kind: "known", ids: [], splits: [{ bit: 0, fromMs: at }] });
    await log.split(1);
    expect((await log.splitsOf(1)).map(({ bit }) => bit)).toEqual([0, 1]);
    // Both segments are the same shard: what either handed on is handed on.
    const then = await log.beyond(1);
    await log.offer([message(6, 1, then), message(7, 2, then), message(8, 0, then)]);
    expect(await log.received()).toEqual({ 0: 1, 1: 2, [CHILD]: 3, [nodeOf(2, 0)]: 1 });
  });

  it("splits beyond what any segment has taken", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    const ahead = message(1, 1, NOON + 3_600_000);
    await log.offer([ahead]);
    await log.fill(0);
    await log.offer([message(2, 0)]);
    await log.split(1);
    expect(await log.beyond(1)).toBe(NOON + 3_600_000 + MINUTE_MS);
    await log.offer([ahead], { isSuspect: true });
    await log.offer([ahead]);
    expect(await log.received()).toEqual({ 0: 1, 1: 1, [CHILD]: 0 });
  });

  it("splits beyond what they may have taken, if it was not told", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    await log.fill(0);
    await log.offer([message(1, 0)]);
    await log.run(1, (_log, { sql }) => void sql.exec("DELETE FROM reader"));
    // As a consumer of an earlier release does.
    await log.run(1, (segment) => void segment.configure(log.job, 1));
    await log.split(1);
    expect(await log.beyond(1)).toBeGreaterThan(NOON + 2 * 3_600_000);
    // Nor does it say less when it is full itself.
    await log.fill(1);
    await log.offer([message(2, 0)]);
    expect(await log.run(1, (segment) => segment.holds([]).takenUntilMs)).toBeGreaterThan(NOON + 2 * 3_600_000);
  });

  it("asks a sealed one by ids alone, and only for what it may have", async ({ expect }) => {
    const clock = setClock(NOON);
    const log = await ShardedLog.create();
    await log.offer([message(1, 0), message(2, 0, NOON, true)]);
    await log.fill(0);
    const calls = countCalls(["append", "holds", "configure"]);
    const known = new KnownLog();
    await log.offer([message(3, 0)], { known });
    expect(calls.read()).toEqual(["append 0", "append 1", "configure 1", "append 1"]);
    await log.offer([message(1, 0), message(4, 0)], { known });
    expect(calls.read()).toEqual(["holds 0", "append 1"]);
    clock.advance(MINUTE_MS);
    await log.offer([message(5, 0, clock.nowMs())], { known });
    expect(calls.read()).toEqual(["append 1"]);
    // A repeat of a keyed one has another time.
    await log.offer([message(2, 0, clock.nowMs(), true)], { known });
    expect(calls.read()).toEqual(["holds 0"]);
    expect(await log.received()).toEqual({ 0: 2, 1: 3 });
  });
});

describe("a segment that follows", () => {
  it("is told what its shard has handed on, though the consumer forgets meanwhile", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    await log.split();
    const at = await log.beyond();
    const known = new KnownLog();
    await log.offer([message(1, 0, at), message(2, 1, at)], { known });
    await log.fill(0);
    await log.fill(CHILD);
    // Two nodes are new at once; the answer of one comes when the other one's had all forgotten.
    const forgot = Promise.withResolvers<void>();
    const forget = vi.spyOn(known, "forget").mockImplementation(() => {
      KnownLog.prototype.forget.call(known);
      forgot.resolve();
    });
    const { append } = JobReader.prototype;
    vi.spyOn(JobReader.prototype, "append").mockImplementation(function (this: JobReader, request) {
      const { ctx } = this as unknown as { ctx: DurableObjectState };
      const result = append.call(this, request);
      const waits = result.kind === "behind" && ctx.id.name?.endsWith(" segment 1");
      return (waits ? forgot.promise.then(() => result) : result) as never;
    });
    await log.offer([message(3, 0, at), message(4, 1, at)], { known });
    expect(forget).toHaveBeenCalledOnce();
    expect(await log.received()).toEqual({ 0: 1, 1: 1, [CHILD]: 1, [nodeOf(1, 1)]: 1 });
    expect(await log.splitsOf(1)).toEqual([{ bit: 0, fromMs: at }]);
  });

  it("and was not told may hand on again: the earlier time counts, in whatever order both are heard of", async ({
    expect,
  }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    await log.split();
    const at = await log.beyond();
    await log.fill(0);
    await log.offer([message(1, 0, at)]);
    await log.run(1, (_log, { sql }) => void sql.exec("DELETE FROM split"));
    await log.split(1);
    const again = await log.beyond(1);
    expect(await log.splitsOf(1)).toEqual([{ bit: 0, fromMs: again }]);
    expect(again).toBeGreaterThan(at);
    const between = message(2, 1, at);
    const known = new KnownLog();
    known.learn(1, { sealed: false, splits: await log.splitsOf(1) });
    await log.offer([between], { known });
    await log.offer([between]);
    expect(await log.received()).toEqual({ 0: 0, 1: 1, [CHILD]: 1 });
    // A change of the job tells it.
    await log.change({ outputVersion: 2 });
    expect(await log.splitsOf(1)).toEqual([{ bit: 0, fromMs: at }]);
  });
});

describe("sealed segments", () => {
  it("of forty days ago, with nothing left in them, are asked once by each isolate, and then no more", async ({
    expect,
  }) => {
    const clock = setClock(NOON);
    const log = await ShardedLog.create();
    for (let node = 0; node < 4; node++) {
      await log.offer([message(node, 0)]);
      await log.fill(node);
    }
    await log.offer([message(4, 0)]);
    clock.advance(40 * 86_400_000);
    for (const node of await log.nodes()) await nodeAt(env.READERS, log.job.id, node).drive("scheduled", 0);
    const known = new KnownLog();
    const calls = countCalls(["append", "holds", "configure"]);
    await log.offer([message(5, 0, clock.nowMs())], { known });
    expect(calls.read()).toEqual(["append 0", "append 1", "append 2", "append 3", "append 4"]);
    for (let n = 6; n < 9; n++) {
      clock.advance(MINUTE_MS);
      await log.offer([message(n, 0, clock.nowMs())], { known });
      expect(calls.read()).toEqual(["append 4"]);
    }
  });

  it("are asked for a late repeat, whose own memory outlives that of its first copy's minute", async ({ expect }) => {
    const clock = setClock(NOON);
    const log = await ShardedLog.create();
    const late = { ...message(1, 0), firstMs: NOON - 14 * 86_400_000 };
    await log.offer([late]);
    clock.advance(2 * 86_400_000);
    await nodeAt(env.READERS, log.job.id, 0).drive("scheduled", 0);
    await log.fill(0);
    for (const known of [new KnownLog(), new KnownLog()]) {
      await log.offer([message(2, 0, clock.nowMs())], { known });
      await log.offer([late], { known });
      await log.offer([late], { known, isSuspect: true });
    }
    expect(await log.received()).toEqual({ 0: 1, 1: 1 });
  });
});

describe("shards of shards", () => {
  it("are found from the first one, whatever is known", async ({ expect }) => {
    const clock = setClock(NOON);
    const log = await ShardedLog.create();
    const stale = new KnownLog();
    for (const node of [0, CHILD, 0, nodeOf(2, 0)]) {
      await log.split(node);
      clock.advance(MINUTE_MS);
      await log.offer([message(clock.nowMs(), 0, clock.nowMs())], { known: stale });
    }
    const at = clock.nowMs();
    const batch = Array.from({ length: 16 }, (_, hash) => message(hash, hash, at));
    await log.offer(batch);
    const shards = { [CHILD]: 4, [nodeOf(3, 0)]: 4, [nodeOf(2, 0)]: 2, [nodeOf(6, 0)]: 2 };
    expect(await log.received()).toEqual({ 0: 4 + 4, ...shards });
    for (const isSuspect of [false, true]) await log.offer(batch, { known: stale, isSuspect });
    expect(await log.received()).toEqual({ 0: 4 + 4, ...shards });
  });

  it("are forgotten where a log was restored to an earlier time", async ({ expect }) => {
    setClock(NOON);
    const log = await ShardedLog.create();
    await log.split();
    const known = new KnownLog();
    const at = await log.beyond();
    await log.offer([message(1, 1, at)], { known });
    for (const node of [0, CHILD]) {
      await log.run(node, async (node, storage) => {
        await storage.deleteAll();
        migrate(storage, LOG_STEPS);
        if ((node as unknown as { ctx: DurableObjectState }).ctx.id.name?.endsWith(" 0")) node.configure(log.job, 0);
      });
    }
    await log.offer([message(2, 1, at)], { known });
    expect(await log.received()).toEqual({ 0: 1 });
  });
});
