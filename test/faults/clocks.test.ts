/** Alarms and crons that fire late or never, and clocks that disagree. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, vi } from "vitest";
import { ControlPlane, JobReader, TraceLog } from "../../src/index.ts";
import { traceLog } from "../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../src/ship/reader/job-nodes.ts";
import { cells, variants } from "../support/matrix.ts";
import { destinationConf } from "../support/runtime/api.ts";
import { freshBucket } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { breaks } from "./fault.ts";
import { jobRow, row } from "./row.ts";
import { arrive, attempts, controlOf, countsOf, deliver, PUTS, pass, said } from "./stores.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Some in the first five, then at ticks of the cron: some of them fail to come. */
const MINUTES = [1, 2, 5, 10, 40, 60];

/** One hour: the queue delivers, and only the named clocks fire. */
async function hour(world: World, clocks: { alarms?: boolean; cron?: boolean }): Promise<void> {
  let before = 0;
  for (const minute of MINUTES) {
    world.clock.advance((minute - before) * MINUTE_MS);
    before = minute;
    await world.deliverDue();
    if (clocks.alarms) await world.runAlarms();
    if (clocks.cron && minute % 5 === 0) await world.runCron();
  }
}

/** Deletes an object's alarm behind its back, as if the platform had lost it. */
async function forgetAlarm(world: World, object: DurableObjectStub): Promise<void> {
  await runInDurableObject(object, (_object, { storage }) => storage.deleteAlarm());
  world.injected();
}

describe("one of the two clocks", () => {
  for (const [what, clocks] of [
    ["no alarm ever fires", { cron: true }],
    ["no cron ever ticks", { alarms: true }],
  ] as const) {
    jobRow(`${what}, for a day, through an outage of the store`, async (world, job) => {
      for (let hours = 0; hours < 24; hours++) {
        if (hours === 6) await controlOf(job).script([rule({ do: "answer", status: 503 }, PUTS)]);
        if (hours === 9) await controlOf(job).script([]);
        await world.take(world.mint(6, { days: 2 }), 3);
        if (hours % 6 === 1) {
          world.queue.sendFault = () => "refused";
          await world.tail(world.mint(2, { form: "trace" }));
          world.queue.sendFault = () => null;
        }
        await hour(world, clocks);
        const { delivered, pending, received } = await countsOf(job);
        expect(delivered + pending).toBe(received);
        // The remaining clock does the work of the other within the hour.
        if (hours < 6 || hours > 9) expect([received > 0, pending]).toEqual([true, 0]);
        else if (hours < 9) expect(await said(job)).toContain("HTTP 503");
      }
    });
  }

  jobRow("both clocks come six hours late", async (world, job) => {
    for (const late of ["alarms", "cron"]) {
      await arrive(world, world.mint(20, { days: 3 }), 5);
      world.clock.advance(6 * HOUR_MS);
      world.injected();
      if (late === "alarms") await world.runAlarms();
      else await world.runCron();
      expect((await countsOf(job)).pending).toBe(0);
    }
  });

  jobRow("an event comes alone, and nothing but the alarm follows, not before its time", async (world, job) => {
    await arrive(world, world.mint(1));
    await pass(world, 29_999);
    expect((await countsOf(job)).pending).toBe(1);
    await pass(world, 1);
    expect((await countsOf(job)).delivered).toBe(1);
    world.injected();
  });

  jobRow("an event comes alone, and nothing but the cron follows", async (world, job) => {
    await arrive(world, world.mint(1));
    world.clock.advance(5 * MINUTE_MS);
    world.injected();
    expect((await countsOf(job)).pending).toBe(1);
    await world.runCron();
    expect((await countsOf(job)).delivered).toBe(1);
  });
});

describe("an alarm that the platform has forgotten", () => {
  const WAITING = {
    log: [TraceLog, async () => {}],
    reader: [JobReader, (world: World) => world.read()],
  } as const;
  for (const [who, [of, reach]] of Object.entries(WAITING)) {
    row(`the ${who}'s alarm throws until the platform forgets it, and the next event brings it back`, async (world) => {
      const job = await world.createJob();
      await world.runAlarms();
      await arrive(world, world.mint(10));
      await reach(world);
      world.clock.advance(MINUTE_MS);
      // The first run and the platform's six retries.
      breaks(world, of, "alarm", (n) => (n <= 7 ? "refused" : null));
      for (let times = 0; times < 7; times++) await world.runAlarms();
      await forgetAlarm(world, who === "log" ? traceLog(env.TRACE_LOG, 0) : nodeAt(env.READERS, job.id, 0));
      await world.runAlarms();
      expect((await countsOf(job)).pending).toBe(10);
      world.clock.advance(MINUTE_MS);
      await arrive(world, world.mint(1));
      await pass(world, MINUTE_MS);
      expect((await countsOf(job)).delivered).toBe(11);
    });
  }

  jobRow("a reader's alarm is forgotten, and the cron brings it back", async (world, job) => {
    await controlOf(job).script([rule({ do: "answer", status: 503 }, PUTS, 1)]);
    await arrive(world, world.mint(10));
    await forgetAlarm(world, nodeAt(env.READERS, job.id, 0));
    world.clock.advance(5 * MINUTE_MS);
    await world.runCron();
    expect(await countsOf(job)).toMatchObject({ pending: 10 });
    // From here on, only the alarm fires.
    await pass(world, 5 * MINUTE_MS);
    expect(await countsOf(job)).toMatchObject({ delivered: 10 });
  });
});

describe("the control plane's alarm never fires after a change that was not confirmed, and", () => {
  /** A job with a change that its log did not receive, so the change is not confirmed. */
  async function unheard(world: World, change: (job: WorldJob) => Promise<unknown>): Promise<WorldJob> {
    const job = await world.createJob();
    await arrive(world, world.mint(10));
    world.clock.advance(1_000);
    vi.spyOn(ControlPlane.prototype, "alarm").mockImplementation(async () => world.injected());
    breaks(world, TraceLog, "configure", (n) => (n === 1 ? "refused" : null));
    await expect(change(job)).rejects.toThrow("503");
    return job;
  }

  row("whoever made the change asks again", async (world) => {
    const change = (job: WorldJob) => world.jobs.change(job, { output_options: { field_names: ["Logs"] } });
    const job = await unheard(world, change);
    await change(job);
    await world.take(world.mint(10));
    await hour(world, { alarms: true });
    expect((await countsOf(job)).delivered).toBe(20);
    // One object in the old format, one in the new: formats never share an object.
    expect(await attempts(controlOf(job))).toBe(2);
  });

  row("a consumer brings the change to the log, with the next event", async (world) => {
    const job = await unheard(world, (job) => world.jobs.change(job, { output_options: { field_names: ["Logs"] } }));
    await world.take(world.mint(10));
    await hour(world, { alarms: true });
    expect((await countsOf(job)).delivered).toBe(20);
    expect(await attempts(controlOf(job))).toBe(2);
  });

  row("the cron brings a new destination to a log that waits for nothing else", async (world) => {
    const elsewhere = freshBucket();
    const job = await unheard(world, async (job) => {
      await controlOf(job).script([rule({ do: "answer", status: 403 }, PUTS)]);
      await pass(world, MINUTE_MS);
      job.buckets.push(elsewhere);
      await world.jobs.change(job, { destination_conf: destinationConf(elsewhere.name, job.path) });
    });
    expect((await countsOf(job)).pending).toBe(10);
    await hour(world, { alarms: true, cron: true });
    expect((await countsOf(job)).delivered).toBe(10);
  });

  row("a later change of another job is confirmed all the same", async (world) => {
    await unheard(world, (job) => world.jobs.change(job, { output_options: { field_names: ["Logs"] } }));
    const other = await world.createJob();
    await world.take(world.mint(10));
    await hour(world, { alarms: true });
    expect((await countsOf(other)).delivered).toBe(10);
  });
});

describe("clocks that are apart", () => {
  for (const skewMs of variants([-250, 250])) {
    const who = `the clock of intake is ${Math.abs(skewMs)} ms ${skewMs < 0 ? "behind" : "ahead"}`;

    /** Events stamped by a machine with another clock. */
    const takeElsewhere = async (world: World): Promise<void> => {
      world.clock.advance(skewMs);
      await world.take(world.mint(5));
      world.clock.advance(-skewMs);
      world.injected();
    };

    jobRow(`${who} when a job is created, disabled and enabled again`, async (world, job) => {
      await takeElsewhere(world);
      world.clock.advance(MINUTE_MS);
      await takeElsewhere(world);
      await world.jobs.change(job, { enabled: false });
      world.clock.advance(1);
      await takeElsewhere(world);
      world.clock.advance(1_000);
      await world.jobs.change(job, { enabled: true });
      await takeElsewhere(world);
      world.clock.advance(MINUTE_MS);
      await takeElsewhere(world);
      await world.jobs.remove(job);
      world.clock.advance(1);
      await takeElsewhere(world);
    });

    row(`${who} when logging of a function is switched off and on again`, async (world) => {
      await world.createJob();
      world.clock.advance(MINUTE_MS);
      for (const on of [false, true, false, true]) {
        await takeElsewhere(world);
        await world.jobs.setLogging("shop", on);
        world.clock.advance(1);
      }
      await takeElsewhere(world);
    });
  }
});

describe("a clock that jumps", () => {
  row("the control plane's clock jumps back between the enabling and the disabling of a job", async (world) => {
    const other = await world.createJob();
    const job = await world.createJob();
    world.clock.advance(-2_000);
    world.injected();
    await world.jobs.change(job, { enabled: false });
    world.clock.advance(MINUTE_MS);
    world.coldIsolate();
    await arrive(world, world.mint(3));
    // An invalid enabled window of one job does not affect the other jobs.
    expect((await countsOf(other)).received).toBe(3);
  });

  row(
    "all clocks leap a month ahead while an upload fails, and back: it is tried again within the hour",
    async (world) => {
      const job = await world.createJob();
      await controlOf(job).script([rule({ do: "answer", status: 503 }, PUTS, 2)]);
      await arrive(world, world.mint(10));
      world.clock.advance(30 * 24 * HOUR_MS);
      await world.runCron();
      expect(await said(job)).toContain("HTTP 503");
      world.clock.advance(-30 * 24 * HOUR_MS);
      world.injected();
      // No alarm fires: those were set for a time in a month.
      for (let times = 0; times < 12; times++) {
        world.clock.advance(5 * MINUTE_MS);
        await world.runCron();
      }
      expect(await countsOf(job)).toMatchObject({ delivered: 10, pending: 0 });
    },
  );

  type Step = "the intake" | "the first append" | "the second append" | "the cut" | "the upload" | "the redelivery";
  const STEPS: Step[] = [
    "the intake",
    "the first append",
    "the second append",
    "the cut",
    "the upload",
    "the redelivery",
  ];
  const jumps = [
    ["back a minute", -MINUTE_MS],
    ["back an hour", -HOUR_MS],
    ["ahead an hour", HOUR_MS],
  ] as const;
  for (const [[jump, ms], where] of cells(jumps, STEPS)) {
    row(`the clock jumps ${jump} before ${where}`, async (world) => {
      const jumpBefore = (step: Step): void => {
        if (step !== where) return;
        world.clock.advance(ms);
        world.injected();
      };
      const job = await world.createJob();
      // The job is not owed events stamped before its creation; no jump reaches back that far.
      world.clock.advance(2 * HOUR_MS);
      await world.take(world.mint(10), 5);
      jumpBefore("the intake");
      await world.take(world.mint(10), 5);
      const messages = [...world.queue.held];
      for (const [i, half] of [messages.slice(0, 2), messages.slice(2)].entries()) {
        jumpBefore(i === 0 ? "the first append" : "the second append");
        await deliver(world, half);
      }
      world.clock.advance(MINUTE_MS);
      jumpBefore("the cut");
      const control = controlOf(job);
      if (where === "the upload") await control.script([rule({ do: "hold" }, PUTS, 1)]);
      const alarms = world.runAlarms();
      if (where === "the upload") await control.whenHeld(1);
      jumpBefore("the upload");
      await control.release();
      await alarms;
      jumpBefore("the redelivery");
      await deliver(world, messages);
      // Ages are counted from the intake. If the intake is in the future, alarms wait; the cron
      // does not.
      for (let minute = 0; minute < 5; minute++) {
        await pass(world, MINUTE_MS);
      }
      await world.runCron();
      expect(await countsOf(job)).toMatchObject({ delivered: 20, pending: 0 });
    });
  }
});
