import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { assertClean, Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import {
  deliver,
  freshBucket,
  logStatus,
  NOON,
  pack,
  runAlarm,
  runCron,
  setClock,
} from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { until } from "../../support/until.ts";

describe("a store that takes its time", () => {
  it("holds up neither the next cut nor anything else, and is waited for", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    await runInDurableObject(nodeAt(env.READERS, job, 0), (log) => {
      log.alarmWaitMs = 0;
    });
    await control.script([rule({ do: "hold" }, { method: "PUT", keyIncludes: ".log.gz" }, 1)]);
    for (let i = 0; i < 2; i++) {
      const events = oracle.mint(5);
      oracle.acknowledged("job", events);
      await deliver(pack(events, clock.nowMs()));
      clock.advance(30_000);
      expect(await runAlarm(job)).toBe(true);
      if (i === 0) await control.whenHeld(1);
    }
    await until(async () => (await logStatus(job)).counts.delivered === 5);
    expect((await logStatus(job)).pendingObjects).toBe(1);
    // However often the log looks, the object that is under way is not sent a second time.
    clock.advance(15_000);
    expect(await runAlarm(job)).toBe(true);
    const drive = vi.spyOn(JobReader.prototype, "drive");
    const cron = runCron();
    await until(() => drive.mock.calls.length > 0);
    await control.release();
    await cron;
    await until(async () => (await logStatus(job)).counts.delivered === 10);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
    expect((await control.requests()).filter(({ key }) => key.endsWith(".log.gz"))).toHaveLength(2);
  });

  it("is waited for no longer than until the next cut: no alarm runs beside another", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    await runInDurableObject(nodeAt(env.READERS, job, 0), (log) => {
      // Longer than this test may take: only the next cut can end the wait.
      log.alarmWaitMs = 600_000;
    });
    await control.script([rule({ do: "hold" }, { method: "PUT", keyIncludes: ".log.gz" }, 1)]);
    const today = oracle.mint(5);
    const tomorrow = oracle.mint(5, { at: NOON + 86_400_000 });
    oracle.acknowledged("job", [...today, ...tomorrow]);
    await deliver(pack(today, clock.nowMs()));
    clock.advance(50);
    await deliver(pack(tomorrow, clock.nowMs()));
    clock.advance(29_950);
    expect(await runAlarm(job)).toBe(true);
    expect((await logStatus(job)).counts).toMatchObject({ delivered: 0, pending: 10 });
    clock.advance(50);
    // The other day's batch is cut and uploaded while the first upload still hangs; its own wait
    // has no next cut to end it.
    await runInDurableObject(nodeAt(env.READERS, job, 0), (log) => {
      log.alarmWaitMs = 0;
    });
    expect(await runAlarm(job)).toBe(true);
    await until(async () => (await logStatus(job)).counts.delivered === 5);
    await control.release();
    await until(async () => (await logStatus(job)).counts.delivered === 10);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
  });
});
