/**
 * The control plane or the log does not answer, or answers nonsense. The log decides by its copy of
 * the configuration, whatever the consumer knows. No job is skipped.
 */
import { env } from "cloudflare:workers";
import { describe, expect, vi } from "vitest";
import { ControlPlane, TraceLog } from "../../src/index.ts";
import { controlPlane } from "../../src/state/control/plane.ts";
import { cells, variants } from "../support/matrix.ts";
import type { World } from "../support/runtime/world.ts";
import { breaks } from "./fault.ts";
import { impatiently } from "./impatience.ts";
import { restorable } from "./restoring.ts";
import { jobRow, row } from "./row.ts";
import { arrive, countsOf, expectSettled } from "./stores.ts";

const HOUR_MS = 3_600_000;

/** Delivers the messages that are due, even if calls hang. */
async function deliverImpatiently(world: World, ...stuck: readonly (() => number)[]): Promise<void> {
  const silent = (): number => stuck.reduce((sum, count) => sum + count(), 0);
  await impatiently(silent, () => world.deliverDue());
}

/** Makes a method return garbage. */
function answers(world: World, prototype: object, method: string, garbage: unknown): void {
  vi.spyOn(prototype as Record<string, () => unknown>, method).mockImplementation(() => {
    world.injected();
    return garbage;
  });
}

/** The most telling first. */
const GARBAGE: readonly (readonly [name: string, garbage: unknown])[] = [
  ["nothing", undefined],
  ["jobs that are none", { state: "e.9.m", jobs: [null, 7, {}], optOuts: [], optOutVersion: 0 }],
  ["that nothing has changed, though the caller knows nothing yet", { state: "e.9.m", jobs: null }],
  ["null", null],
  ["a text", "jobs"],
  ["a number", 7],
  ["an empty object", {}],
  ["an empty array", []],
  ["jobs that are a text", { state: "e.9.m", jobs: "x", optOuts: [], optOutVersion: 0 }],
  ["jobs without their windows", { state: "e.9.m", jobs: [{ id: 1, version: 9 }], optOuts: [], optOutVersion: 0 }],
  ["no jobs, and no opt-outs", { state: "e.9.m", jobs: [] }],
  ["no state", { jobs: [], optOuts: [], optOutVersion: 0 }],
  ["opt-outs that are none", { state: "e.9.m", jobs: [], optOuts: [{ scriptName: 7 }], optOutVersion: "x" }],
];

/** `cold`: the isolate has read no configuration; `warm`: it read one before the fault. */
const ISOLATES = ["cold", "warm"] as const;

const LASTING = ["refused", "lost", "dies before", "dies after", "hangs", "late"] as const;

for (const isolate of ISOLATES) {
  /** Which of these faults the isolate meets. */
  const met = <T>(faults: readonly T[]): T[] =>
    cells(ISOLATES, faults).flatMap(([each, fault]) => (each === isolate ? [fault] : []));

  /** Two jobs, one with a filter; a warm isolate also gets some events before the fault. */
  async function begin(world: World): Promise<void> {
    await world.createJob();
    const exceptions = '{"where":{"key":"Outcome","operator":"eq","value":"exception"}}';
    await world.createJob({
      fields: { filter: exceptions },
      keeps: ({ record }) => record.Outcome === "exception",
    });
    // The log has asked for the configuration.
    await world.read();
    world.coldIsolate();
    if (isolate === "warm") {
      await arrive(world, world.mint(5));
    }
  }
  async function more(world: World): Promise<void> {
    await world.take([...world.mint(5), ...world.mint(5, { outcome: "exception" })], 2);
  }

  describe(`an isolate that is ${isolate}`, () => {
    for (const breakage of met(LASTING)) {
      row(`the control plane: ${breakage}, for a day; the isolate is ${isolate}`, async (world) => {
        await begin(world);
        const stuck = breaks(world, ControlPlane, "configSince", breakage);
        await more(world);
        await deliverImpatiently(world, stuck);
        expect(world.queue.held).toEqual([]);
        for (let hours = 0; hours < 24; hours += 6) {
          world.clock.advance(6 * HOUR_MS);
          await more(world);
          await deliverImpatiently(world, stuck);
        }
        const { received } = await countsOf(world.jobs.all[0] as never);
        expect(received).toBe(isolate === "warm" ? 55 : 50);
      });
    }

    for (const [name, garbage] of met(variants(GARBAGE, 3))) {
      row(`the control plane answers ${name}; the isolate is ${isolate}`, async (world) => {
        await begin(world);
        answers(world, ControlPlane.prototype, "configSince", garbage);
        await more(world);
        await world.deliverDue();
        expect(world.queue.held).toEqual([]);
      });
    }

    for (const breakage of met(LASTING)) {
      row(`the log's append(): ${breakage}, for hours; the isolate is ${isolate}`, async (world) => {
        await begin(world);
        const stuck = breaks(world, TraceLog, "append", breakage);
        await more(world);
        for (let hours = 0; hours < 4; hours++) {
          await deliverImpatiently(world, stuck);
          world.clock.advance(HOUR_MS);
        }
        // What it took and did not say, it knows when that comes again.
        const isTaken = ["lost", "dies after", "late"].includes(breakage);
        expect(world.queue.held).toHaveLength(isTaken ? 0 : 5);
        const before = isolate === "warm" ? 5 : 0;
        expect((await countsOf(world.jobs.all[0] as never)).received).toBe(before + (isTaken ? 10 : 0));
      });
    }

    for (const [name, garbage] of met(variants(GARBAGE, 3))) {
      row(`the log answers ${name} to an append; the isolate is ${isolate}`, async (world) => {
        await begin(world);
        answers(world, TraceLog.prototype, "append", garbage);
        await more(world);
        await world.deliverDue();
        expect(world.queue.held).toHaveLength(5);
      });
    }

    row(`control plane and log are both out of reach; the isolate is ${isolate}`, async (world) => {
      await begin(world);
      breaks(world, ControlPlane, "configSince", "refused");
      breaks(world, TraceLog, "append", "refused");
      await more(world);
      for (let hours = 0; hours < 4; hours++) {
        await world.deliverDue();
        world.clock.advance(HOUR_MS);
      }
      expect(world.queue.held).toHaveLength(5);
    });

    row(`control plane and log both hang; the isolate is ${isolate}`, async (world) => {
      await begin(world);
      const plane = breaks(world, ControlPlane, "configSince", "hangs");
      const log = breaks(world, TraceLog, "append", "hangs");
      await more(world);
      await deliverImpatiently(world, plane, log);
      expect(world.queue.held).toHaveLength(5);
    });
  });
}

describe("a cron that meets a control plane that does not answer", () => {
  for (const breakage of ["refused", "hangs"] as const) {
    jobRow(`the control plane, when the cron asks: ${breakage}; the isolate is warm`, async (world, job) => {
      await arrive(world, world.mint(5));
      const stuck = breaks(world, ControlPlane, "configSince", breakage);
      world.clock.advance(300_000);
      await impatiently(stuck, () => world.runCron());
      expect(await countsOf(job)).toMatchObject({ delivered: 5, pending: 0 });
    });
  }

  row(
    "the control plane, when the cron asks: refused; the isolate is cold: the run fails, the alarms deliver",
    async (world) => {
      const job = await world.createJob();
      await arrive(world, world.mint(5));
      world.coldIsolate();
      breaks(world, ControlPlane, "configSince", "refused");
      world.clock.advance(300_000);
      await expect(world.runCron()).rejects.toThrow("the control plane does not answer");
      await world.runAlarms();
      expect(await countsOf(job)).toMatchObject({ delivered: 5, pending: 0 });
    },
  );
});

describe("a control plane that is restored to an earlier time", () => {
  const save = () => restorable(() => controlPlane(env.CONTROL));

  for (const isolate of ["cold", "warm"] as const) {
    jobRow(`it forgets some changes, with events on their way; the isolate is ${isolate}`, async (world, job) => {
      await arrive(world, world.mint(5));
      const restore = await save();
      for (let i = 0; i < 4; i++) await world.jobs.change(job, { name: `name ${i}` });
      await arrive(world, world.mint(5));
      await world.take(world.mint(5));
      await restore();
      world.injected();
      if (isolate === "cold") world.coldIsolate();
      world.clock.advance(60_000);
      await world.deliverDue();
      await expectSettled(world, job, { received: 15, delivered: 15 });
      // Later changes take effect: another filter, and another bucket.
      await world.jobs.move(job);
      await world.take(world.mint(5));
      await expectSettled(world, job, { received: 20, delivered: 20 });
    });

    row(`it forgets a disabling: its owner disables the job again; the isolate is ${isolate}`, async (world) => {
      const job = await world.createJob();
      await arrive(world, world.mint(5));
      const restore = await save();
      world.clock.advance(1_000);
      await world.jobs.change(job, { enabled: false });
      await restore();
      world.injected();
      if (isolate === "cold") world.coldIsolate();
      world.clock.advance(60_000);
      await world.jobs.change(job, { enabled: false });
      world.clock.advance(1_000);
      await world.take(world.mint(5));
      await expectSettled(world, job, { received: 5, delivered: 5 });
    });
  }

  row("it forgets a job: its log delivers what it holds, and the next job is another", async (world) => {
    await world.createJob();
    const restore = await save();
    const forgotten = await world.createJob();
    await arrive(world, world.mint(5));
    await restore();
    world.injected();
    forgotten.enabled = false;
    world.coldIsolate();
    world.clock.advance(60_000);
    const fresh = await world.createJob();
    expect(fresh.id).toBeGreaterThan(forgotten.id);
    world.clock.advance(1_000);
    await world.take(world.mint(5));
    await expectSettled(world, forgotten, { received: 5, delivered: 5 });
    expect(await countsOf(fresh)).toMatchObject({ received: 5, delivered: 5 });
  });
});
