/** All objects die at once, or the object at work dies between two steps. */
import { abortAllDurableObjects, evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect } from "vitest";
import { JobReader, TraceLog } from "../../src/index.ts";
import { Attempts } from "../../src/ship/reader/attempts.ts";
import { nodeAt } from "../../src/ship/reader/job-nodes.ts";
import { cells } from "../support/matrix.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { until } from "../support/until.ts";
import { breaks, Fault, overOrStuck } from "./fault.ts";
import { largeEvent } from "./large-event.ts";
import { summedJobRow, summedRow } from "./row.ts";
import { arrive, controlOf, countsOf, deliver, PUTS } from "./stores.ts";

async function everythingDies(world: World): Promise<void> {
  world.injected();
  await abortAllDurableObjects();
}

describe("everything dies while a change is brought", () => {
  type Change = (world: World, job: WorldJob) => Promise<unknown>;
  const CHANGES: Record<string, Change> = {
    "a new job": (world) => world.createJob(),
    "another format": (world, job) => world.jobs.change(job, { output_options: { batch_suffix: "" } }),
    "another destination": (world, job) => world.jobs.move(job),
    "a job that is disabled": (world, job) => world.jobs.change(job, { enabled: false }),
    "a job that is deleted": (world, job) => world.jobs.remove(job),
    "a job that is discarded": (world, job) => world.jobs.remove(job, { discard: true }),
    "a function whose logging is off": (world) => world.jobs.setLogging("shop", false),
  };
  const PLACES = {
    "the log is told of": [TraceLog, "configure"],
    "a reader is told of": [JobReader, "pull"],
  } as const;
  for (const [[place, [of, method]], [what, change]] of cells(Object.entries(PLACES), Object.entries(CHANGES))) {
    summedJobRow(`everything dies while ${place} ${what}`, async (world, job) => {
      await world.createJob();
      await arrive(world, world.mint(20, { days: 2 }), 10);
      await world.take(world.mint(10));
      world.clock.advance(1_000);
      const stuck = breaks(world, of, method, (n) => (n === 1 ? "hangs" : null));
      world.jobs.tries = 5;
      world.jobs.patience = async (answer) => {
        if ((await overOrStuck(answer, stuck)) === "stuck") await everythingDies(world);
        return answer.catch(() => null);
      };
      await change(world, job);
      // A reader is told by the alarm.
      const alarms = world.runAlarms();
      await until(() => stuck() > 0, 2);
      await everythingDies(world);
      await alarms;
      // A change that is confirmed, even at the second try, takes effect at once.
      await world.take(world.mint(10));
    });
  }
});

describe("everything dies while the store has an object in hand", () => {
  const moments = [
    ["before it is stored", "hold"],
    ["after it was stored", "withhold"],
  ] as const;
  for (const [[when, action], how] of cells(moments, ["the log is evicted", "everything dies"])) {
    summedJobRow(`${how} while the store has an object in hand, ${when}`, async (world, job) => {
      await arrive(world, world.mint(30, { days: 3 }), 10);
      const control = controlOf(job);
      await control.script([rule({ do: action }, PUTS, 2)]);
      world.clock.advance(60_000);
      const alarm = world.runAlarms();
      await control.whenHeld(2);
      if (how === "everything dies") await everythingDies(world);
      else {
        // Eviction does not wait for calls in flight.
        const evicted = evictDurableObject(nodeAt(env.READERS, job.id, 0));
        await control.release();
        await evicted;
        world.injected();
      }
      await alarm;
      const { delivered, pending } = await countsOf(job);
      expect(delivered + pending).toBe(30);
      await control.release();
      await world.mend();
      await world.settle();
      expect((await control.puts()).filter(({ version }) => version > 1)).toEqual([]);
    });
  }

  summedJobRow("everything dies again and again during the cut and the upload of thirty days", async (world, job) => {
    const control = controlOf(job);
    await arrive(world, world.mint(300, { days: 30 }), 100);
    world.clock.advance(60_000);
    for (let times = 0; times < 4; times++) {
      await control.script([rule({ do: "hold" }, PUTS)]);
      const alarm = world.runAlarms();
      await control.whenHeld(4);
      await everythingDies(world);
      await alarm;
      // The held uploads still reach the store.
      await control.script([]);
      await control.release();
      const { delivered, pending } = await countsOf(job);
      expect(delivered + pending).toBe(300);
      world.clock.advance(60_000);
    }
  });

  summedJobRow("everything dies before the cut of thirty days is on disk", async (world, job) => {
    await arrive(world, world.mint(300, { days: 30 }), 100);
    world.clock.advance(60_000);
    const fault = new Fault(world, Attempts.prototype, "uploadOne", "dies before");
    fault.begin();
    await world.runAlarms();
    expect(fault.took()).toBe(true);
    // What the runtime tries again by itself may be quicker than this question.
    const { received, delivered, pending } = await countsOf(job);
    expect([received, delivered + pending]).toEqual([300, 300]);
  });
});

describe("a consumer that dies", () => {
  const handle = (world: World) => world.isolate.queue;
  type Handler = ReturnType<typeof handle>;
  const dead = (): never => {
    throw new Error("Worker exceeded CPU time limit.");
  };
  const DEATHS: Record<string, (world: World) => Handler> = {
    "before it has done anything": () => dead,
    "after all appends and the count, before any acknowledgement": (world) => async (batch, bindings) => {
      await world.isolate.queue(batch, bindings);
      dead();
    },
  };
  for (const [when, handlerOf] of Object.entries(DEATHS)) {
    summedRow(`the consumer dies ${when}, three times`, async (world) => {
      await world.createJob();
      await world.createJob();
      await world.take([...world.mint(20, { days: 2 }), largeEvent(world), ...world.mint(20)], 5);
      const messages = world.queue.held.length;
      for (let times = 0; times < 3; times++) {
        const { acked } = await world.queue.deliver(world.queue.due(), handlerOf(world), world.env);
        expect(acked).toBe(0);
        world.injected();
        world.clock.advance(300_000);
      }
      expect(world.queue.held).toHaveLength(messages);
    });
  }

  summedRow("the consumer dies in an append, with everything else", async (world) => {
    const [first, second] = [await world.createJob(), await world.createJob()];
    await world.take(world.mint(40, { days: 2 }), 10);
    const stuck = breaks(world, TraceLog, "append", (n) => (n === 1 ? "late" : null));
    const batch = deliver(world, world.queue.due(), () => true);
    await until(() => stuck() > 0, 2);
    await everythingDies(world);
    await batch;
    for (const job of [first, second]) expect((await countsOf(job)).received).toBe(40);
    expect((await world.accountCounts()).processed).toBe(40);
  });

  for (const [nth, breakage] of cells([0, 1], ["refused", "lost", "dies before", "dies after"] as const)) {
    summedRow(`of the appends of two batches, number ${nth + 1} fails: ${breakage}`, async (world) => {
      for (let i = 0; i < 3; i++) await world.createJob();
      const fault = new Fault(world, TraceLog.prototype, "append", breakage);
      await world.take(world.mint(40, { days: 2 }), 10);
      fault.begin(nth);
      const messages = world.queue.due();
      await deliver(world, messages.slice(0, 2));
      await deliver(world, messages.slice(2));
      expect(fault.took()).toBe(true);
    });
  }
});

describe("everything dies all the time", () => {
  summedJobRow("everything dies every minute for an hour, with events coming in", async (world, job) => {
    for (let minute = 0; minute < 60; minute++) {
      if (minute % 4 === 0) await world.take(world.mint(10, { days: 2 }), 5);
      world.clock.advance(60_000);
      // Alternates between death after a step and death during one.
      const working = [() => world.deliverDue(), () => world.runAlarms(), () => world.runCron()][minute % 3]?.();
      if (minute % 2 === 0) await working;
      await everythingDies(world);
      await working?.catch(() => {});
      const { received, delivered, pending } = await countsOf(job);
      expect(delivered + pending).toBe(received);
    }
  });
});
