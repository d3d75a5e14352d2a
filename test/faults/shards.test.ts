/**
 * Shards of the log come and go while events are on their way: LOG_SHARDS is raised and lowered.
 */
import { env } from "cloudflare:workers";
import { describe, expect } from "vitest";
import { TraceLog } from "../../src/index.ts";
import { shardsOf } from "../../src/ship/log/log-shards.ts";
import { cells, variants } from "../support/matrix.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { breaks } from "./fault.ts";
import { summedJobRow, summedRow } from "./row.ts";
import { arrive, controlOf, countsOf, deliver } from "./stores.ts";

const HOUR_MS = 3_600_000;

function setShards(world: World, shards: number): void {
  Object.assign(world.env, { LOG_SHARDS: String(shards) });
  world.injected();
}

/** Forty events are in the log, in four shards; their messages. */
async function spread(world: World): Promise<HeldMessage[]> {
  setShards(world, 4);
  const messages: HeldMessage[] = [];
  while ((await shardsOf(env)).length < 4) {
    await world.take(world.mint(10, { days: 2 }), 1);
    messages.push(...world.queue.held);
    await world.deliverDue();
  }
  await world.read();
  return messages;
}

describe("the log", () => {
  for (const steps of variants([
    [4, 1],
    [64, 2, 8],
    [2, 4, 8, 1],
  ])) {
    summedJobRow(
      `has ${steps.join(", then ")} shards, while each message comes twice, and late`,
      async (world, job) => {
        const earlier: HeldMessage[] = [];
        let taken = 0;
        for (const shards of [1, ...steps]) {
          setShards(world, shards);
          if (shards !== 2) world.coldIsolate();
          await world.take(world.mint(40, { days: 2 }), 2);
          taken += 40;
          const messages = [...world.queue.held];
          await deliver(world, [...messages.slice(0, 15), ...earlier.slice(0, 5)], () => true);
          world.clock.advance(HOUR_MS);
          await deliver(world, [...messages, ...earlier]);
          earlier.push(...messages);
          await world.runAlarms();
          expect((await countsOf(job)).received).toBe(taken);
        }
        expect((await shardsOf(env)).length).toBeGreaterThan(1);
        expect(await world.accountCounts()).toMatchObject({ processed: taken, routed: taken });
      },
    );
  }

  summedJobRow("knows a request that is repeated after LOG_SHARDS has changed", async (world, job) => {
    const events = world.mint(10);
    for (const shards of [1, 8, 2]) {
      setShards(world, shards);
      await arrive(world, [...events], 10, { key: "once" });
      world.clock.advance(HOUR_MS);
    }
    expect((await countsOf(job)).received).toBe(10);
  });

  for (const [breakage, shard] of cells(["refused", "hangs", "dies before"] as const, [1, 0])) {
    summedRow(
      `has four shards, and append() of number ${shard} ${breakage} for a while: the others take all`,
      async (world) => {
        const job = await world.createJob();
        await spread(world);
        const { received } = await countsOf(job);
        const how = breakage === "hangs" ? "refused" : breakage;
        breaks(world, TraceLog, "append", (_n, name) => (name === `log ${shard}` ? how : null));
        await world.take(world.mint(40), 1);
        const all = world.queue.held.length;
        for (let times = 0; times < 3; times++) {
          await world.deliverDue();
          world.clock.advance(600_000);
        }
        const left = world.queue.held.length;
        expect([left > 0, left < all, (await countsOf(job)).received]).toEqual([true, true, received + 40 - left]);
      },
    );
  }

  summedJobRow(
    "comes to four shards while a change is on its way: each shard has it, or is told",
    async (world, job) => {
      setShards(world, 4);
      world.jobs.tries = 5;
      await world.take(world.mint(40), 1);
      world.clock.advance(1_000);
      await Promise.all([world.deliverDue(), world.jobs.change(job, { enabled: false })]);
      world.clock.advance(1_000);
      await arrive(world, world.mint(40), 1);
      expect((await countsOf(job)).received).toBe(40);
    },
  );
});

describe("a job that reads four shards", () => {
  /** The most telling first. */
  const acts: readonly (readonly [what: string, act: (world: World, job: WorldJob) => Promise<unknown>])[] = [
    ["is deleted with what it holds", (world, job) => world.jobs.remove(job, { discard: true })],
    ["gets another destination", (world, job) => world.jobs.move(job)],
    ["is disabled", (world, job) => world.jobs.change(job, { enabled: false })],
    ["gets another format", (world, job) => world.jobs.change(job, { output_options: { field_names: ["Logs"] } })],
    ["is deleted", (world, job) => world.jobs.remove(job)],
  ];
  for (const [what, act] of variants(acts, 3)) {
    summedJobRow(`${what}, its store being down, and messages come again`, async (world, job) => {
      await controlOf(job).script([rule({ do: "answer", status: 503 })]);
      const messages = await spread(world);
      const { received } = await countsOf(job);
      await world.take(world.mint(20), 2);
      world.clock.advance(1_000);
      await act(world, job);
      world.clock.advance(1_000);
      await deliver(world, [...messages, ...world.queue.due()]);
      await controlOf(job).script([]);
      await world.settle();
      const counts = await countsOf(job);
      if (what.endsWith("holds")) expect(counts).toMatchObject({ delivered: 0, pending: 0, discarded: received });
      else expect(counts).toMatchObject({ received: received + 20, delivered: received + 20, pending: 0 });
    });
  }

  summedJobRow("is forgotten after fifteen days, with all of its readers", async (world, job) => {
    await spread(world);
    await world.jobs.remove(job);
    await world.settle();
    await world.audit();
    world.clock.advance(16 * 24 * HOUR_MS);
    await world.createJob();
    setShards(world, 1);
    await arrive(world, world.mint(1));
    await world.runCron();
    await world.runCron();
    expect(await world.nodes(job.id)).toEqual([0, 1_000, 2_000, 3_000]);
    for (const reader of await world.segments(job.id)) expect(await reader.status()).toBe(null);
  });
});
