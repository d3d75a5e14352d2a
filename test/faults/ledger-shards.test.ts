/**
 * The account's ledger in shards: it splits while events flow and parts break, and what breaks it
 * as one object breaks it as several. Every world begins with an isolate that knows of no shards:
 * what the deployed one would learn stays in its memory beyond the test.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, vi } from "vitest";
import { headOf } from "../../src/queue/message.ts";
import { KnownSplits } from "../../src/trace-log/known-splits.ts";
import { LogShards } from "../../src/trace-log/log-shards.ts";
import { TraceLog } from "../../src/trace-log/trace-log.ts";
import { oldRegister } from "../support/runtime/keys.ts";
import type { World } from "../support/runtime/world.ts";
import { MINUTE_MS, processed, split, splitAt, splitsOf } from "../trace-log/ledger-nodes.ts";
import { changed, large, rows, shipped, steps, unloaded, unreadable } from "./crashes.ts";
import type { Fault } from "./fault.ts";
import { row } from "./row.ts";

const KEY = { key: "order-42" };

/** The shards that there are now. */
async function shards(): Promise<number[]> {
  const known = new KnownSplits();
  await new LogShards(env.TRACE_LOG, known).status();
  return known.shards();
}

type Scene = (world: World, fault: Fault) => Promise<void>;

/** The same with a ledger of three shards, in two generations. */
const sharded =
  (scene: Scene): Scene =>
  async (world, fault) => {
    world.coldIsolate();
    await split(0);
    world.clock.advance(5 * MINUTE_MS);
    await split(1);
    world.clock.advance(5 * MINUTE_MS);
    await scene(world, fault);
    expect(await shards()).toEqual([0, 1, 3]);
  };

/** Events for some minutes, more than a shard may take. Each message is delivered twice. */
async function grow(world: World, minutes: number, deliver: (run: () => Promise<unknown>) => Promise<unknown>) {
  // A message a minute.
  splitAt({ perSecond: 1 / 60, childMs: 20 });
  for (let minute = 0; minute < minutes; minute++) {
    await world.take(world.mint(16), 2);
    const copies = world.queue.held.map((message) => ({ ...message }));
    await deliver(() => world.deliverDue());
    await deliver(() => world.queue.deliver(copies, world.isolate.queue, world.env));
    // The split is not awaited by what it follows from.
    await scheduler.wait(5);
    world.clock.advance(MINUTE_MS);
  }
}

const growing: Scene = async (world, fault) => {
  world.coldIsolate();
  await world.createJob();
  fault.begin();
  await grow(world, 10, (run) => fault.meet(run));
};

/** A shard counts nothing. @returns what ends that. */
function breaks(world: World, shard: number): () => void {
  const { count } = TraceLog.prototype;
  const broken = vi.spyOn(TraceLog.prototype, "count").mockImplementation(function (this: TraceLog, ...args) {
    const { ctx } = this as unknown as { ctx: DurableObjectState };
    if (ctx.id.name !== `account shard ${shard}`) return count.apply(this, args);
    world.injected();
    throw new Error("this shard is broken");
  });
  return () => broken.mockRestore();
}

/** The bit of a message's id by which the first shard is split. */
const hashBit = (body: Uint8Array): number =>
  Number.parseInt(headOf(body.slice().buffer)?.id.slice(2, 4) ?? "", 16) & 1;

describe("a ledger that grows", () => {
  row("grows to many shards, while old and new isolates deliver everything twice, and late", async (world) => {
    world.coldIsolate();
    await world.createJob();
    const old = world.isolate;
    const late: Parameters<typeof world.queue.deliver>[0][number][] = [];
    for (let turn = 0; turn < 5; turn++) {
      await grow(world, 7, async (run) => {
        late.push(...world.queue.held.slice(0, 2).map((message) => ({ ...message })));
        await run();
      });
      if (turn % 2 === 0) world.coldIsolate();
      else world.isolate = old;
      await world.runCron();
    }
    await world.queue.deliver(late, world.isolate.queue, world.env);
    world.injected(late.length);
    const all = await shards();
    expect(all.length).toBeGreaterThan(4);
    // Each has its part of what came late in the growth.
    expect((await processed(...all)).filter((events) => events > 0).length).toBeGreaterThan(4);
  });

  row("and all objects die again and again", async (world) => {
    world.coldIsolate();
    await world.createJob();
    await grow(world, 20, async (run) => {
      await run();
      if (world.clock.nowMs() % (7 * MINUTE_MS) === 0) {
        await abortAllDurableObjects();
        world.injected();
      }
    });
    expect((await shards()).length).toBeGreaterThan(1);
  });

  rows("growing ledger", steps(TraceLog, ["begin", "count"], growing));
});

describe("a ledger of three shards", () => {
  rows("ledger in shards", [
    ...steps(TraceLog, ["count"], sharded(shipped("the caller"))),
    ...steps(TraceLog, ["counted"], sharded(large)),
    ...steps(TraceLog, ["expectAgain"], sharded(unloaded)),
    ...steps(TraceLog, ["setAside"], sharded(unreadable)),
    ...steps(TraceLog, ["keepJobs"], sharded(changed)),
  ]);

  row("of which one is out of reach for an hour: the others count, and nothing is lost", async (world) => {
    world.coldIsolate();
    await world.createJob();
    await split(0);
    world.clock.advance(5 * MINUTE_MS);
    const mend = breaks(world, 1);
    for (let minutes = 0; minutes < 60; minutes += 10) {
      await world.take(world.mint(40), 2);
      await world.deliverDue();
      world.clock.advance(10 * MINUTE_MS);
    }
    const [first = 0, second = 0] = await processed(0, 1);
    expect(second).toBe(0);
    expect(first).toBeGreaterThan(40);
    expect(world.queue.held.length * 2).toBe(240 - first);
    mend();
    expect((await splitsOf(0)).length).toBe(1);
  });

  // Numbered in docs/delivery.md: "A request is repeated while shards grow".
  row("that grew between a request and its repeat counts it once", async (world) => {
    await oldRegister(world.clock);
    world.coldIsolate();
    await world.createJob();
    const events = world.mint(2_000);
    world.queue.sendFault = () => "half";
    expect(await world.post(events, KEY)).toBe(503);
    world.queue.sendFault = () => null;
    world.injected();
    await world.deliverDue();
    const counted = await processed(0);
    world.clock.advance((await split(0)) + MINUTE_MS - world.clock.nowMs());
    await world.take(events, events.length, KEY);
    const repeats = [...world.queue.held];
    expect(repeats.some(({ body }) => hashBit(body) === 1)).toBe(true);
    await world.deliverDue();
    // All of it is where its first copy is, or would have been.
    expect([...counted, ...(await processed(0, 1))]).toEqual([expect.any(Number), 2_000, 0]);
    expect(counted[0]).toBeLessThan(2_000);
    world.coldIsolate();
    await world.queue.deliver(repeats, world.isolate.queue, world.env);
    expect(await processed(0, 1)).toEqual([2_000, 0]);
  });
});
